"""The IR as text: one op a line, the same bytes for equal kernels.  ``reader.py`` reads it back.

An op prints as ``%number = name<modes> attribute arguments : dtype[shape]``, with the user's name for it after ``#``.
Stores have numbers too.  The type of a store is printed only where it differs from the operand's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kgen.dtypes import DType
from kgen.ir.graph import CastMode, Gather, Graph, IndexMap, Op, Operand, Reduction, Scatter, Shape, from_bits, to_bits
from kgen.ir.views import show, show_bound


def default_mode(target: DType) -> CastMode:
    """The mode of a cast printed without one: towards zero to an integer, else to nearest."""
    return CastMode("rz" if target.is_int else "rne", False)


def print_kernel(kernel: Graph, notes: Mapping[int, Sequence[str]] | None = None) -> str:
    """The text form, ending in a newline.  ``notes`` are lines to put under the op of that number."""
    inputs = [_operand(kernel, operand) for operand in kernel.operands if operand.role != "output"]
    outputs = [_operand(kernel, operand) for operand in kernel.operands if operand.role == "output"]
    # By-value scalars print without a shape, and 0-d arrays with `[]`.
    inputs += [f"{scalar.name}: {scalar.dtype.short}" for scalar in kernel.scalars]
    derived = ", ".join(f"{dim} = {show_bound(bound)}" for dim, bound in kernel.derived)
    lines = [f"kernel({', '.join(inputs)}) -> ({', '.join(outputs)}){' where ' * bool(derived)}{derived}"]
    for number, op in enumerate(kernel.ops):
        line = "  " + _op(kernel, number, op)
        lines.append(f"{line:<40}  # {op.label}" if op.label else line)
        lines += [f"      ^ {note}" for note in (notes or {}).get(number, ())]
    return "\n".join(lines) + "\n"


def _operand(kernel: Graph, operand: Operand) -> str:
    role = f"{operand.role} " if operand.role in ("inout", "buffer") else ""
    view = "" if operand.view is None else f" = {show(operand.view, kernel.operands[operand.view.of].name)}"
    return f"{role}{operand.name}: {_type(operand.dtype, operand.shape)}{view}"


def _type(dtype: DType, shape: Shape) -> str:
    return f"{dtype.short}[{', '.join(map(str, shape))}]"


def _op(kernel: Graph, number: int, op: Op) -> str:
    arguments = ", ".join(f"%{i}" for i in op.args)
    if op.name == "store" and isinstance(op.attr, Scatter):
        name = kernel.operands[op.attr.operand].name if 0 <= op.attr.operand < len(kernel.operands) else "?"
        modes = "scatter" if op.attr.combine == "set" else f"scatter {op.attr.combine}"
        return f"store<{modes}> {arguments}, {name} : {_type(op.dtype, op.shape)}"
    if op.name == "store" and isinstance(op.attr, IndexMap):
        typed = "" if (op.dtype, op.shape) == accessed(kernel.operands, op.attr) else f" : {_type(op.dtype, op.shape)}"
        return f"store {arguments}, {_access(kernel, op)}{typed}"
    words = [op.name + _modes(op), _attribute(kernel, op), arguments]
    return f"%{number} = {' '.join(word for word in words if word)} : {_type(op.dtype, op.shape)}"


def _modes(op: Op) -> str:
    """The text in ``<>``: the rounding of a cast, the kind of a reduction, an exponent, or what places outside mean."""
    match op.attr:
        case CastMode(rounding, saturate):
            if op.attr == default_mode(op.dtype):
                return ""
            return f"<{rounding}, sat>" if saturate else f"<{rounding}>"
        case Reduction(kind, axes, keepdims, correction):
            words = [kind, f"axes={' '.join(map(str, axes))}"]
            words += ["keepdims"] * keepdims + [f"correction={correction}"] * (correction != 0)
            return f"<{', '.join(words)}>"
        case int(exponent) if op.name == "powi":
            return f"<{exponent}>"
        case Gather(outside="fill" | "promise" as outside):
            return f"<{outside}>"
    return ""


def _attribute(kernel: Graph, op: Op) -> str:
    match op.name, op.attr:
        case "load", IndexMap():
            return _access(kernel, op)
        case "gather", Gather(operand, _):
            return kernel.operands[operand].name if 0 <= operand < len(kernel.operands) else f"?{operand}"
        case "const", int(bits):
            return constant(bits, op.dtype)
        case "scalar", int(number):
            return kernel.scalars[number].name if 0 <= number < len(kernel.scalars) else f"?{number}"
        case ("index", int(value)) | ("size", str(value)):
            return str(value)
        case "powi", int():
            return ""
    return "" if op.attr is None or not isinstance(op.attr, int | str) else f"?{op.attr}"


def accessed(operands: Sequence[Operand], access: IndexMap) -> tuple[DType, Shape] | None:
    """The dtype and shape of the elements of an access; None if it is out of range."""
    if not 0 <= access.operand < len(operands):
        return None
    operand = operands[access.operand]
    if any(axis is not None and not 0 <= axis < len(operand.shape) for axis in access.axes):
        return None
    return operand.dtype, tuple(1 if axis is None else operand.shape[axis] for axis in access.axes)


def _access(kernel: Graph, op: Op) -> str:
    """``w``, or ``w[., 0]`` if the value's axes are not the operand's in order (``.``: an axis it lacks)."""
    assert isinstance(op.attr, IndexMap)
    if not 0 <= op.attr.operand < len(kernel.operands):
        return f"?{op.attr.operand}"
    operand = kernel.operands[op.attr.operand]
    if op.attr.axes == tuple(range(len(operand.shape))):
        return operand.name
    return f"{operand.name}[{', '.join('.' if axis is None else str(axis) for axis in op.attr.axes)}]"


def constant(bits: int, dtype: DType) -> str:
    """A constant that reads back to the same bits: ``-0.0``, ``nan``, ``true``; a NaN with a payload in hex."""
    if dtype.is_narrow or dtype.is_complex:  # constants have no such dtype
        return hex(bits)
    try:
        value = from_bits(bits, dtype)
    except OverflowError:
        return hex(bits)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        if math.isnan(value) and bits != to_bits(math.nan, dtype):
            return hex(bits)
        if dtype.size == 4 and math.isfinite(value):
            return _shortest(value, bits, dtype)
    return repr(value)


def _shortest(value: float, bits: int, dtype: DType) -> str:
    """The fewest digits that read back to this float32."""
    for digits in range(6, 10):
        text = repr(float(f"{value:.{digits}g}"))
        if to_bits(float(text), dtype) == bits:
            return text
    return repr(value)
