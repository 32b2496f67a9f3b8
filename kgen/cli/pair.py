"""What ``--grad`` makes of a program: one that also returns what its gradients need, and that of the gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgen import pipeline
from kgen.argument_types import ArgType, ArrayArg
from kgen.call.gradient import as_floats, own_outputs, request_of
from kgen.cli.request import Prepared, prepared
from kgen.compile_spec import CompileSpec
from kgen.diagnostics import error
from kgen.dtypes import DType
from kgen.gradients.derive import check_updates
from kgen.gradients.saved import backward_text, chosen, forward_text
from kgen.ir.graph import Graph
from kgen.ir.views import evaluate
from kgen.load import load
from kgen.program import Program
from kgen.records import replace


def with_backward(made: Prepared, wrt: str | None) -> list[Prepared]:
    """The forward and the backward program of one, for the same dtypes and shapes; the second is ``<base>_backward``.

    ``wrt``: the text of the option, names joined by commas.

    Raises :class:`~kgen.KgenError`: ``bad-option`` beside ``--dtypes`` and ``--strides``, and what deriving raises.
    """
    spec = made.spec
    if len(made.specs) > 1 or spec.strides:
        raise error("bad-option", "--grad is for one set of dtypes, and for arrays in C order", "leave the others out")
    program = made.program
    check_updates(program)
    operands = spec.operands(program)
    names = None if wrt is None else [name.strip() for name in wrt.split(",")]
    request = request_of(program, operands, names)
    types = as_floats(operands.types, list(request.results))
    choice = chosen(program, types, request, None)
    forward = made
    if any(one.name not in {o.name for o in program.outputs} for one in choice.saved):
        text = forward_text(program, types, request, choice.saved)
        forward = _again(made, load(text), made.base, spec)
    backward = load(backward_text(program, types, request, choice.saved))
    known = _results(forward.program, forward.spec)
    known |= {own: known[output] for output, own in request.cotangents.items()}
    return [forward, _again(made, backward, f"{made.base}_backward", _spec_of(backward, spec, operands.types, known))]


def _again(made: Prepared, program: Program, base: str, spec: CompileSpec) -> Prepared:
    """A derived program, by the usual table: that of ``--tuning`` is for the program that it is derived from."""
    return prepared(program, base, replace(made.flags, tuning=0), {"": replace(spec, tuning=0)}, made.namespace)


def _spec_of(
    program: Program, spec: CompileSpec, types: Mapping[str, ArgType], known: Mapping[str, Any]
) -> CompileSpec:
    """The dtypes and shapes of a backward program's inputs.  ``known``: those of results of the forward program."""
    dtypes: dict[str, DType] = {}
    shapes: dict[str, tuple[int | None, ...]] = {}
    for argument in program.arguments:
        type = types.get(argument.name)
        if isinstance(type, ArrayArg):
            dtypes[argument.name], shape = type.dtype, tuple(spec.shapes.get(argument.name, ()))
        else:
            dtypes[argument.name], shape = known[argument.name]
        shapes[argument.name] = shape
    scalars = {name: kind for name, kind in spec.scalars.items() if name not in dtypes}
    return replace(spec, dtypes=dtypes, shapes=shapes if spec.shapes else {}, scalars=scalars)


def _results(program: Program, spec: CompileSpec) -> dict[str, tuple[DType, tuple[int | None, ...]]]:
    """The dtype and shape of each output; extents that are not known are None."""
    graph: Graph = pipeline.ir_after(program, spec.operands(program), "check")
    extents: dict[str, int | None] = {}
    for operand in graph.operands:
        if operand.role == "input" and operand.view is None:
            pairs = zip(operand.shape, spec.shapes.get(operand.name, ()), strict=False)
            extents |= {dim: extent for dim, extent in pairs if isinstance(dim, str)}
    for dim, bound in graph.derived:
        extents.setdefault(dim, evaluate(bound, {d: n for d, n in extents.items() if n is not None}))
    return {
        o.name: (o.dtype, tuple(dim if isinstance(dim, int) else extents.get(dim) for dim in o.shape))
        for o in own_outputs(graph)
    }
