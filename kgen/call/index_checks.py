"""``check_indices=True``: before a call, kernels of their own find the first index beyond its axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kgen import pipeline
from kgen.arrays.base import CPU
from kgen.arrays.generic import item_at
from kgen.call.arguments import operands_of
from kgen.call.engine import Engine, PreparedCall
from kgen.diagnostics import Diagnostic, KgenError, error
from kgen.dtypes import INT64
from kgen.passes.index_checks import NONE, index_checks
from kgen.program import Rewriting
from kgen.records import replace
from kgen.schedule.step_layout import concrete
from kgen.spec import Shape, Spec, counted


class IndexChecker:
    """The checks of one program: two programs made of it, one for every call and one for those that fail."""

    def __init__(self, engine: Engine) -> None:
        self._first, self._places = _made(engine, "first_outside"), _made(engine, "places")

    def check(self, args: tuple[Any, ...], named: Mapping[str, Any], *, stream: Any, shape: Shape | None) -> None:
        """Raises :class:`~kgen.KgenError` (``index-out-of-range``) before the call has changed an array."""
        if shape is not None or not self._first.program.arguments:
            hint = "leave it out: the shape gives all extents"
            raise error("bad-call", "check_indices=True is for programs with array arguments", hint)
        with self._first.prepare(args, named, out=None, stream=stream, shape=None) as call:
            _refuse_capture(call)
            call.launch()
        for number, name in enumerate(_names(call)):
            first = _value(call, name)
            if first != NONE:
                with self._places.prepare(args, named, out=None, stream=stream, shape=None) as other:
                    other.launch()
                raise _outside(other, number, first)


def _made(engine: Engine, rewriting: Rewriting) -> Engine:
    made = Engine(replace(engine.program, rewriting=rewriting), f"{engine.name}_indices", engine.device, engine.options)
    made.lowering.shows_lints = False
    return made


def _refuse_capture(call: PreparedCall) -> None:
    """Raises :class:`~kgen.KgenError` (``bad-call``) where a graph is captured, which cannot wait."""
    module = call.launcher.module
    if module is not None and module.is_capturing(call.session.stream):
        hint = "check the indices of a call outside of the graph"
        raise error("bad-call", "check_indices=True waits for its result, and a graph is being captured", hint)


def _names(call: PreparedCall) -> list[str]:
    """The outputs: one for each check."""
    return [operand.name for operand in call.lowered.specialised.graph.operands if operand.role == "output"]


def _value(call: PreparedCall, name: str, at: Sequence[int] = (0,)) -> int:
    """An element of the output of a check, whose call is complete or queued."""
    session = call.session
    array = session.memory[name]
    offset = sum(place * stride for place, stride in zip(at, array.strides, strict=True))
    device = CPU if session.staging is not None else session.backend.device
    found = item_at(array.pointer + offset * array.itemsize, Spec((), INT64, ()), device, session.stream)
    assert isinstance(found, int)
    return found


def _outside(call: PreparedCall, number: int, first: int) -> KgenError:
    """``index-out-of-range``, where the ``first`` element of the indices of a check is beyond its axis."""
    program, extents = call.engine.program, call.lowered.sizes.extents
    operands = operands_of(call.values, call.outs, None)
    found = index_checks(pipeline.ir_after(replace(program, rewriting=None), operands, "check"))[number]
    size = 1 if found.extent == 1 else extents[found.extent]
    at = tuple(int(i) for i in np.unravel_index(first, concrete(found.shape, extents)))
    place = _value(call, _names(call)[number], at)
    index = place
    if place < 0:  # as it was before it counted from the end, or before its bits became an int64
        index = place + (1 << 64) if found.unsigned else place - size
    of = f" at ({', '.join(map(str, at[: found.rank]))})" if at[: found.rank] else ""
    axis = f"axis {found.axis} of `{found.array}`, which has {counted(size, 'element')}"
    hint = f"indices are from {-size} to {size - 1}" if size else "the axis is empty"
    message = f"the index {index}{of} is beyond {axis}"
    return KgenError([Diagnostic("index-out-of-range", message, hint, found.at, (), program.source)])
