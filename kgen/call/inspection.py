"""Inspection of a call without a launch: metadata of results, text, reasons, machine code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from kgen.aot import aot_module, text_with_launcher
from kgen.argument_types import WeakArg
from kgen.call.arguments import ArrayValue, ScalarValue, Value, bind, describe, operands_of, shape_beside_arrays
from kgen.call.engine import Engine
from kgen.call.outputs import given_outputs
from kgen.compile_spec import CompileSpec
from kgen.explain import Explanation
from kgen.header import UNALIGNED, command_line
from kgen.ir.graph import Graph
from kgen.lowering import Lowered
from kgen.pipeline import ir_after
from kgen.runtime.backend import arch_here, arch_to_explain, compile_for, usage_for
from kgen.runtime.cuda.architectures import target_for
from kgen.runtime.cuda.driver import probe
from kgen.spec import OpenSpec, Shape, Spec, as_open_shape, c_strides, is_open


def lower_call(engine: Engine, args: Sequence[Any], named: Mapping[str, Any], shape: Shape | None = None) -> Lowered:
    """Lower a call on arrays or specs, for aligned arrays and any target; nothing is allocated."""
    return engine.lowering(operands_of(_values(engine, args, named), (), shape))


def typed_call(engine: Engine, args: Sequence[Any], named: Mapping[str, Any]) -> Graph:
    """The typed IR for a call on arrays or specs, before anything is rewritten."""
    return ir_after(engine.program, operands_of(_values(engine, args, named), (), None), "check")


def _values(engine: Engine, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Value]:
    return describe(engine.program, bind(engine.program, args, named))


def _address(engine: Engine, value: ArrayValue) -> int:
    """0 for specs, and for NumPy arrays that are copied to a GPU."""
    copied = value.device is None and engine.device != "cpu" and probe().available
    return 0 if value.adapter is None or copied else value.adapter.pointer(value.array)


def meta(engine: Engine, args: Sequence[Any], named: Mapping[str, Any], shape: Shape | None) -> tuple[Spec, ...]:
    """Shape, dtype and strides of each output."""
    lowered = lower_call(engine, args, named, shape)
    operands = zip(lowered.specialised.graph.operands, lowered.arrays, strict=True)
    return tuple(Spec(a.shape, o.dtype, a.strides) for o, a in operands if o.role == "output" and o.view is None)


def source(engine: Engine, args: Sequence[Any], named: Mapping[str, Any], shape: Any, arch: str | None) -> str:
    """The ``.cu`` text for these arrays; with a launcher, which takes aligned arrays, if it is for such."""
    given = bind(engine.program, args, named)
    if is_open(shape) or any(isinstance(value, OpenSpec) for value in given.values()):
        return aot_module(engine.program, engine.name, engine.options, _open(engine, given, shape, arch)).text
    operands = operands_of(describe(engine.program, given), (), shape, partial(_address, engine))
    lowered = engine.lowering(operands, engine.options.target(target_for(arch)))
    spec = _compile_spec(lowered, arch, engine.options.tuning).with_explicit_dtypes(engine.program, operands.types)
    command = command_line(engine.program, engine.name, engine.options, spec)
    notes = _alignment_notes(lowered)
    return text_with_launcher(engine.program, engine.name, engine.options, lowered, operands, command, notes)


# branches: one for each field
def _open(engine: Engine, given: Mapping[str, Any], shape: object, arch: str | None) -> CompileSpec:
    """What the command line says of arguments with open extents."""
    opened = {n: v for n, v in given.items() if isinstance(v, OpenSpec)}
    # Dtypes are known, so any shape stands for an open one.
    values = describe(engine.program, {**given, **{n: Spec((), v.dtype, ()) for n, v in opened.items()}}).items()
    arrays = {n: v.spec for n, v in values if isinstance(v, ArrayValue)} | opened
    if arrays and shape is not None:
        raise shape_beside_arrays()
    return CompileSpec(
        dtypes={n: a.dtype for n, a in arrays.items()},
        shapes={n: a.shape for n, a in arrays.items()} or {"": as_open_shape(shape)},
        strides={n: a.strides for n, a in arrays.items() if a.strides and a.strides != _c_order(a.shape)},
        scalars={n: v.type.kind for n, v in values if isinstance(v, ScalarValue) and isinstance(v.type, WeakArg)},
        arch=arch,
        tuning=engine.options.tuning,
    )


def _c_order(shape: Sequence[int | None]) -> tuple[int, ...] | None:
    known = [n for n in shape if n is not None]
    return c_strides(known) if len(known) == len(shape) else None


def explain(
    engine: Engine, args: Sequence[Any], named: Mapping[str, Any], shape: Shape | None, out: Any, arch: str | None
) -> Explanation:
    """The schedules for these arrays, and the reasons for them."""
    target = engine.options.target(target_for(arch_to_explain(arch, engine.device)))
    values, outs = _values(engine, args, named), given_outputs(engine.program, out)
    lowered = engine.lowering(operands_of(values, outs, shape, partial(_address, engine)), target)
    module = engine.module(lowered)
    usage = usage_for(module.text, engine.name, engine.options, arch)
    return Explanation.of(engine.program, lowered, module, usage, engine.options.tuning)


def compiled(
    engine: Engine, args: Sequence[Any], named: Mapping[str, Any], shape: Any, kind: str, arch: str | None
) -> bytes:
    """``ptx`` or ``cubin``."""
    arch = arch_here() if arch is None else arch
    return compile_for(source(engine, args, named, shape, arch), engine.name, engine.options, kind, arch)


def _compile_spec(lowered: Lowered, arch: str | None, tuning: int) -> CompileSpec:
    """The shapes and strides of these operands as the command line takes them."""
    operands = list(zip(lowered.specialised.graph.operands, lowered.arrays, strict=True))
    inputs = {o.name: a for o, a in operands if o.role in ("input", "inout") and o.view is None}
    return CompileSpec(
        shapes={n: a.shape for n, a in inputs.items()} or {"": max((a.shape for _, a in operands), key=len)},
        strides={n: a.strides for n, a in inputs.items() if a.strides != c_strides(a.shape)},
        arch=arch,
        tuning=tuning,
    )


def _alignment_notes(lowered: Lowered) -> list[str]:
    """A note on arrays that are not aligned, which no option of the command line expresses."""
    operands = zip(lowered.specialised.graph.operands, lowered.arrays, strict=True)
    off = [f"`{o.name}` {a.pointer % 16}" for o, a in operands if o.view is None and a.pointer % 16]
    return [f"{UNALIGNED}: {', '.join(off)}."] if off else []
