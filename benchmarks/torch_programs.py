"""Programs of kgen as PyTorch functions, translated op by op from the typed IR: the same work for torch.compile.

Where PyTorch has no op of that meaning, there is no function (:class:`Inexpressible`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kgen import pipeline
from kgen.dtypes import BY_NAME, DType
from kgen.ir.graph import CastMode, Graph, IndexMap, Op, Reduction, Shape, from_bits
from kgen.operands import ArrayOperand, Operands

#: Elementwise ops as Python expressions over their arguments.
_ROWS = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "neg": "-{0}",
    "fma": "{0} * {1} + {2}",
    "mul_rn": "{0} * {1}", "floordiv": "torch.div({0}, {1}, rounding_mode='floor')", "mod": "torch.remainder({0}, {1})",
    "min": "torch.minimum({0}, {1})", "max": "torch.maximum({0}, {1})", "pow": "torch.pow({0}, {1})",
    "and": "{0} & {1}", "or": "{0} | {1}", "xor": "{0} ^ {1}", "not": "~{0}",
    "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}", "ge": "{0} >= {1}", "eq": "{0} == {1}",
    "ne": "{0} != {1}", "where": "torch.where({0}, {1}, {2})",
    "normcdf": "torch.special.ndtr({0})", "normcdfinv": "torch.special.ndtri({0})", "erfcx": "torch.special.erfcx({0})",
    "tgamma": "torch.exp(torch.lgamma({0}))", "fdim": "torch.clamp({0} - {1}, min=0)", "cbrt": "torch.pow({0}, 1 / 3)",
    "j0": "torch.special.bessel_j0({0})", "j1": "torch.special.bessel_j1({0})",
    "y0": "torch.special.bessel_y0({0})", "y1": "torch.special.bessel_y1({0})",
    "cyl_bessel_i0": "torch.special.i0({0})", "cyl_bessel_i1": "torch.special.i1({0})",
    **{name: f"torch.{name}({{0}})" for name in (
        "abs", "sign", "floor", "ceil", "trunc", "round", "isnan", "isinf", "isfinite", "signbit", "sqrt", "rsqrt",
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
        "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "lgamma",
    )},
    **{name: f"torch.{name}({{0}}, {{1}})" for name in (
        "fmin", "fmax", "copysign", "nextafter", "fmod", "atan2", "hypot",
    )},
}  # fmt: skip
_REDUCTIONS = {
    "sum": "torch.sum({0}, {1}, keepdim={2})", "mean": "torch.mean({0}, {1}, keepdim={2})",
    "var": "torch.var({0}, {1}, correction={3}, keepdim={2})",
    "std": "torch.std({0}, {1}, correction={3}, keepdim={2})",
    "min": "torch.amin({0}, {1}, keepdim={2})", "max": "torch.amax({0}, {1}, keepdim={2})",
    "any": "torch.any({0}, {1}, keepdim={2})", "all": "torch.all({0}, {1}, keepdim={2})",
    "count_nonzero": "torch.sum({0} != 0, {1}, keepdim={2})",
    "norm": "torch.linalg.vector_norm({0}, dim={1}, keepdim={2})",
    "logsumexp": "torch.logsumexp({0}, {1}, keepdim={2})",
}  # fmt: skip


class Inexpressible(Exception):
    """PyTorch has no op of this meaning."""


def function(text: str, operands: Mapping[str, ArrayOperand]) -> Callable[..., Any]:
    """The program as a function of its inputs in order.  Raises :class:`Inexpressible`."""
    import torch

    kernel = pipeline.ir_after(pipeline.load(text), Operands(dict(operands), {}), "check")
    known: dict[str, Any] = {"torch": torch}
    exec(source(kernel), known)
    found: Callable[..., Any] = known["program"]
    return found


def operand(dtype: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> ArrayOperand:
    return ArrayOperand(BY_NAME[dtype], shape, strides, 16)


def source(kernel: Graph) -> str:
    """The text of the function.  Raises :class:`Inexpressible`."""
    inputs = [o.name for o in kernel.operands if o.role == "input"]
    if kernel.scalars or len(inputs) + sum(o.role == "output" for o in kernel.operands) < len(kernel.operands):
        raise Inexpressible("params or updates")
    lines = [f"def program({', '.join(f'{n}_' for n in inputs)}):"]
    stored: dict[int, str] = {}
    for number, op in enumerate(kernel.ops):
        values = [f"v{i}" for i in op.args]
        if op.name == "store":
            assert isinstance(op.attr, IndexMap)
            stored[op.attr.operand] = _stored(kernel, op, values[0])
        else:
            lines.append(f"    v{number} = {_value(kernel, op, values)}")
    results = ", ".join(stored[i] for i in sorted(stored))
    return "\n".join([*lines, f"    return ({results},)", ""])


def _dtype(dtype: DType) -> str:
    return f"torch.{dtype.name}"


def _plain(axes: tuple[int | None, ...]) -> None:
    if axes != tuple(range(len(axes))):
        raise Inexpressible("an operand with its axes in another order")


def _stored(kernel: Graph, op: Op, value: str) -> str:
    assert isinstance(op.attr, IndexMap)
    _plain(op.attr.axes)
    if kernel.ops[op.args[0]].shape != op.shape:
        raise Inexpressible("an output that is broadcast")
    return f"{value}.to({_dtype(kernel.operands[op.attr.operand].dtype)})"


def _value(kernel: Graph, op: Op, values: list[str]) -> str:
    if op.name in _ROWS:
        return _ROWS[op.name].format(*values)
    match op.name, op.attr:
        case "load", IndexMap(operand, axes):
            _plain(axes)
            return f"{kernel.operands[operand].name}_"
        case "const", int(bits):
            value = from_bits(bits, op.dtype)
            return f"float('{value}')" if isinstance(value, float) else repr(value)
        case "powi", int(power):
            return f"{values[0]} ** {power}"
        case "cast", CastMode(rounding, saturate):
            return _cast(kernel.ops[op.args[0]].dtype, op.dtype, rounding, saturate, values[0])
        case "reduce", Reduction(kind, axes, keepdims, correction):
            return _reduced(op, values[0], kind, axes, keepdims, correction)
        case "expand", _:
            return _expanded(kernel.ops[op.args[0]].shape, op.shape, values[0])
        case _:
            raise Inexpressible(op.name)


def _cast(source: DType, target: DType, rounding: str, saturate: bool, value: str) -> str:
    if source.is_float and target.is_int:
        if rounding == "rne":
            value = f"torch.round({value})"
        elif rounding != "rz":
            raise Inexpressible(f"rounding {rounding}")
        if saturate:
            value = f"torch.clamp({value}, {target.int_min}, {target.int_max})"
    elif saturate or rounding not in ("rne", "rz"):
        raise Inexpressible("saturation or rounding between floats")
    return f"{value}.to({_dtype(target)})"


def _reduced(op: Op, value: str, kind: str, axes: tuple[int, ...], keepdims: bool, correction: float) -> str:
    if kind in ("argmin", "argmax") and len(axes) == 1:
        return f"torch.{kind}({value}, {axes[0]}, keepdim={keepdims})"
    if kind not in _REDUCTIONS:
        raise Inexpressible(kind)
    return _REDUCTIONS[kind].format(value, axes, keepdims, correction) + f".to({_dtype(op.dtype)})"


def _expanded(before: Shape, after: Shape, value: str) -> str:
    """Inserts the axes of one element that ``after`` has more."""
    axes, left = [], list(before)
    for axis, dim in enumerate(after):
        if left and left[0] == dim:
            left.pop(0)
        else:
            axes.append(axis)
    return value + "".join(f".unsqueeze({axis})" for axis in axes)
