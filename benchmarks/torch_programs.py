"""Programs of kgen as PyTorch functions, translated op by op from the typed IR: the same work for torch.compile.

Where PyTorch has no op of that meaning, there is no function (:class:`Inexpressible`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kgen import pipeline
from kgen.argument_types import ScalarArg, WeakArg
from kgen.dtypes import BY_NAME, DType, Kind
from kgen.ir.graph import CastMode, Dim, Gather, Graph, IndexMap, Op, Reduction, Shape, from_bits
from kgen.operands import ArrayOperand, Operands
from kgen.program import Program

#: Elementwise ops as Python expressions over their arguments.
_ROWS = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "neg": "-{0}",
    "fma": "{0} * {1} + {2}",
    "mul_rn": "{0} * {1}", "floordiv": "torch.div({0}, {1}, rounding_mode='floor')", "mod": "torch.remainder({0}, {1})",
    "min": "torch.minimum({0}, {1})", "max": "torch.maximum({0}, {1})", "pow": "torch.pow({0}, {1})",
    "and": "{0} & {1}", "or": "{0} | {1}", "xor": "{0} ^ {1}", "not": "~{0}",
    "real": "torch.real({0})", "imag": "torch.imag({0})", "complex": "torch.complex({0}, {1})",
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
    "argmin": "torch.argmin({0}, {1[0]}, keepdim={2})", "argmax": "torch.argmax({0}, {1[0]}, keepdim={2})",
    "prod": "torch.prod({0}, {1[0]}, keepdim={2})",
}  # fmt: skip
_OF_ONE_AXIS = ("argmin", "argmax", "prod")  # in PyTorch


class Inexpressible(Exception):
    """PyTorch has no op of this meaning."""


def function(text: str, operands: Mapping[str, ArrayOperand]) -> Callable[..., Any]:
    """The program as a function of ``operands`` in their order; params have their defaults.

    Raises :class:`Inexpressible`.
    """
    import torch

    program = pipeline.load(text)
    scalars = {p.name: WeakArg(Kind.FLOAT) if p.dtype is None else ScalarArg(p.dtype) for p in program.parameters}
    kernel = pipeline.ir_after(program, Operands({**operands, **scalars}, {}), "check")
    known: dict[str, Any] = {"torch": torch}
    exec(source(program, kernel, list(operands)), known)
    found: Callable[..., Any] = known["program"]
    return found


def operand(dtype: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> ArrayOperand:
    return ArrayOperand(BY_NAME[dtype], shape, strides, 16)


def source(program: Program, kernel: Graph, inputs: Sequence[str]) -> str:
    """The text of the function.  Raises :class:`Inexpressible`."""
    if len(inputs) + sum(o.role == "output" for o in kernel.operands) < len(kernel.operands):
        raise Inexpressible("updates")
    defaults = {p.name: p.default for p in program.parameters}
    lines = [f"def program({', '.join(f'{n}_' for n in inputs)}):"]
    lines += [f"    s{n} = {_number(kernel, repr(defaults[s.name]), s.dtype)}" for n, s in enumerate(kernel.scalars)]
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


def _extent(kernel: Graph, dim: Dim) -> str:
    """The extent of a dimension, as an expression."""
    found = ((o.name, o.shape.index(dim)) for o in kernel.operands if o.role == "input" and dim in o.shape)
    return "1" if dim == 1 else next(f"{name}_.shape[{axis}]" for name, axis in found)


def _number(kernel: Graph, value: str, dtype: DType) -> str:
    """A tensor without axes, where the first input is."""
    first = next(o.name for o in kernel.operands if o.role == "input")
    return f"torch.full((), {value}, dtype={_dtype(dtype)}, device={first}_.device)"


def _coordinates(kernel: Graph, op: Op, axis: int) -> str:
    """The coordinates along an axis that is counted from the right."""
    extents = [_extent(kernel, dim) for dim in op.shape]
    first = next(o.name for o in kernel.operands if o.role == "input")
    along = f"torch.arange({extents[axis]}, dtype={_dtype(op.dtype)}, device={first}_.device)"
    return f"{along}.reshape(-1{', 1' * (-axis - 1)}).expand({', '.join(extents)})"


def _dtype(dtype: DType) -> str:
    return f"torch.{dtype.name}"


def _loaded(kernel: Graph, operand: int, axes: tuple[int | None, ...]) -> str:
    """The operand with its axes in the order of the access."""
    whole = kernel.operands[operand]
    walked = [axis for axis in axes if axis is not None]
    unwalked = [axis for axis in range(len(whole.shape)) if axis not in walked]  # of one element
    order = unwalked + walked
    value = f"{whole.name}_" if order == sorted(order) else f"{whole.name}_.permute({order})"
    inserted = [i for i, axis in enumerate(axes) if axis is None]
    return value + "[0]" * len(unwalked) + "".join(f".unsqueeze({i})" for i in inserted)


def _stored(kernel: Graph, op: Op, value: str) -> str:
    assert isinstance(op.attr, IndexMap)
    if op.attr.axes != tuple(range(len(op.attr.axes))):
        raise Inexpressible("an output with its axes in another order")
    stored = f"{value}.to({_dtype(kernel.operands[op.attr.operand].dtype)})"
    if kernel.ops[op.args[0]].shape == op.shape and not _is_single(kernel, op.args[0]):
        return stored
    extents = "".join(f"{_extent(kernel, dim)}, " for dim in op.shape)
    return f"{stored}.expand(({extents})).contiguous()"


def _is_single(kernel: Graph, number: int) -> bool:
    """Whether a value is a tensor without axes, as those of numbers are, whatever its shape in the program."""
    op = kernel.ops[number]
    return op.name not in ("load", "index") and all(_is_single(kernel, i) for i in op.args)


def _value(kernel: Graph, op: Op, values: list[str]) -> str:
    if op.name in _ROWS:
        return _ROWS[op.name].format(*values)
    match op.name, op.attr:
        case "load", IndexMap(operand, axes):
            return _loaded(kernel, operand, axes)
        case "gather", Gather(operand, _):  # places beyond the axes are errors of PyTorch
            extents = "".join(f"{_extent(kernel, dim)}, " for dim in op.shape)
            # not `[...]`, which reads an index without axes on the host: no graph captures that
            table = f"{kernel.operands[operand].name}_"
            return f"torch.ops.aten.index({table}, [{', '.join(values)}]).reshape(({extents}))"
        case "scalar", int(number):
            return f"s{number}"
        case "index", int(axis):
            return _coordinates(kernel, op, axis)
        case "size", str(dim):
            return _number(kernel, _extent(kernel, dim), op.dtype)
        case "shl" | "shr", _:
            return _shifted(op, *values)
        case "const", int(bits):
            value = from_bits(bits, op.dtype)
            return _number(kernel, f"float('{value}')" if isinstance(value, float) else repr(value), op.dtype)
        case "powi", int(power):
            return f"{values[0]} ** {power}"
        case "cast", CastMode(rounding, saturate):
            return _cast(kernel.ops[op.args[0]].dtype, op.dtype, rounding, saturate, values[0])
        case "reduce", Reduction(kind, axes, keepdims, correction):
            counted = kernel.ops[op.args[0]].dtype.is_bool and kind in ("argmin", "argmax")
            return _reduced(op, values[0] + counted * ".to(torch.uint8)", kind, axes, keepdims, correction)
        case "expand", _:
            return _expanded(kernel.ops[op.args[0]].shape, op.shape, values[0])
        case _:
            raise Inexpressible(op.name)


def _shifted(op: Op, value: str, amount: str) -> str:
    """Amounts beyond the width shift everything out."""
    bits, beyond = op.dtype.bits, f"{value} >> {op.dtype.bits - 1}" if op.dtype.signed else f"torch.zeros_like({value})"
    beyond, sign = (f"torch.zeros_like({value})", "<<") if op.name == "shl" else (beyond, ">>")
    inside = f"({amount} >= 0) & ({amount} < {bits})"
    return f"torch.where({inside}, {value} {sign} torch.where({inside}, {amount}, 0), {beyond})"


def _cast(source: DType, target: DType, rounding: str, saturate: bool, value: str) -> str:
    if source.is_float and target.is_int:
        if rounding == "rne":
            value = f"torch.round({value})"
        elif rounding != "rz":
            raise Inexpressible(f"rounding {rounding}")
    elif target.is_float and rounding != "rne":
        raise Inexpressible(f"rounding {rounding}")
    elif target.is_fp8 and not target.infinity and not saturate:
        raise Inexpressible(f"{target} that overflows to NaN")
    if saturate and target.is_int and source.is_int:
        value = f"torch.clamp({value}, {max(source.int_min, target.int_min)}, {min(source.int_max, target.int_max)})"
    elif saturate and target.is_int and source.is_float:
        value = f"torch.clamp({value}, {target.int_min}, {target.int_max})"
    elif saturate and target.is_float and source.is_float:
        value = f"torch.clamp({value}, {-target.largest!r}, {target.largest!r})"
    return f"{value}.to({_dtype(target)})"


def _reduced(op: Op, value: str, kind: str, axes: tuple[int, ...], keepdims: bool, correction: float) -> str:
    """PyTorch takes no axes for all axes; here they are none, so that each element is reduced alone."""
    if kind not in _REDUCTIONS:
        raise Inexpressible(kind)
    if not axes:
        value, axes, keepdims = f"{value}.unsqueeze(-1)", (-1,), False
    inserted: tuple[int, ...] = ()
    if kind in _OF_ONE_AXIS and len(axes) > 1:
        last = tuple(range(-len(axes), 0))
        value, inserted = f"{value}.movedim({axes}, {last}).flatten({-len(axes)})", axes if keepdims else ()
        axes, keepdims = (-1,), False
    found = _REDUCTIONS[kind].format(value, axes, keepdims, correction) + f".to({_dtype(op.dtype)})"
    return found + "".join(f".unsqueeze({axis})" for axis in inserted)


def _expanded(before: Shape, after: Shape, value: str) -> str:
    """Inserts the axes of one element that ``after`` has more."""
    axes, left = [], list(before)
    for axis, dim in enumerate(after):
        if left and left[0] == dim:
            left.pop(0)
        else:
            axes.append(axis)
    return value + "".join(f".unsqueeze({axis})" for axis in axes)
