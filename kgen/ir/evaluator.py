"""The oracle: evaluates an IR program on NumPy arrays, which defines its meaning.

``ROWS`` has one row for each op of ``ir/ops.py``.  Every value has the NumPy dtype of its op, so values are rounded
exactly where ``docs/language.md`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

import numpy as np

from kgen.dtypes import FLOAT64, DType
from kgen.ir import exact, special
from kgen.ir.graph import CastMode, Gather, Graph, IndexMap, Op, Operand, Reduction, Scatter, Shape, odd_float
from kgen.ir.reduction_values import reduce
from kgen.ir.rounding import Array, cast, numpy_dtype
from kgen.ir.views import Bound, Cut, Split, View, evaluate as bound_value, shape_of
from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """One evaluation: the arguments, the extents of the dimension symbols, and the values so far."""

    kernel: Graph
    arrays: Sequence[Array | None]
    scalars: Sequence[object]
    sizes: dict[str, int]
    values: list[Array] = field(default_factory=list)
    stored: dict[int, Array] = field(default_factory=dict)

    def extents(self, shape: Shape) -> tuple[int, ...]:
        return tuple(1 if dim == 1 else self.sizes[str(dim)] for dim in shape)


Row = Callable[..., Array]  #: called with the frame, the op and the values of its arguments


def evaluate(
    kernel: Graph,
    arrays: Sequence[Array | None],
    scalars: Sequence[object] = (),
    shape: tuple[int, ...] | None = None,
) -> list[Array]:
    """Run ``kernel``: one new array per output and inout operand, in operand order.

    ``arrays`` follow ``kernel.operands``, None for an output; ``scalars`` follow ``kernel.scalars``.  ``shape`` is
    the iteration shape of a program without arrays.  Inputs are never written.
    """
    whole = list(arrays)
    frame = Frame(kernel, whole, scalars, _bind(kernel, whole, shape))
    with np.errstate(all="ignore"):
        for op in kernel.ops:
            value = np.asarray(ROWS[op.name](frame, op, *(frame.values[i] for i in op.args)))
            if value.dtype != numpy_dtype(op.dtype):
                raise TypeError(f"%{len(frame.values)}: {op.name} gave {value.dtype}, the IR says {op.dtype}")
            frame.values.append(value)
    return [frame.stored[kernel.operands.index(operand)] for operand in kernel.results]


def _bind(kernel: Graph, arrays: list[Array | None], shape: tuple[int, ...] | None) -> dict[str, int]:
    """The extent of each dimension symbol.  Adds the views to ``arrays``."""
    if len(arrays) != len(kernel.operands):
        raise ValueError(f"{len(arrays)} arrays for {len(kernel.operands)} operands")
    sizes: dict[str, int] = {}

    def bind(what: str, dims: Shape, extents: tuple[int, ...]) -> None:
        if len(dims) != len(extents):
            raise ValueError(f"{what} has {len(extents)} dimensions, the IR says {len(dims)}")
        for dim, extent in zip(dims, extents, strict=True):
            expected = 1 if dim == 1 else sizes.setdefault(str(dim), extent)
            if extent != expected:
                raise ValueError(f"{what} has extent {extent} where {dim} is {expected}")

    for number, operand in enumerate(kernel.operands):
        array = arrays[number]
        if operand.view is not None:
            base = arrays[operand.view.of]
            array = arrays[number] = None if base is None else _viewed(operand.view, base, sizes)
        if array is None:
            own = _shape_of_result(kernel, operand, sizes)
            if own is not None:
                bind(operand.name, operand.shape, own)
            if operand.view is None and operand.role not in ("output", "buffer"):
                raise ValueError(f"no array for the {operand.role} {operand.name}")
            continue
        if operand.role == "output":
            raise ValueError(f"{operand.name} is an output: pass None")
        if array.dtype != numpy_dtype(operand.dtype):
            raise TypeError(f"{operand.name} is {array.dtype}, the IR says {operand.dtype}")
        bind(operand.name, operand.shape, array.shape)
    for dim, bound in kernel.derived:
        bind(dim, (dim,), (int(bound_value(bound, sizes)),))
    if shape is not None:
        for store in kernel.stores:
            bind("shape", store.shape, shape)
    return sizes


def _shape_of_result(kernel: Graph, operand: Operand, sizes: Mapping[str, int]) -> tuple[int, ...] | None:
    """The shape of a view of an output; None of others, and where that of the output is not known."""
    if operand.view is None:
        return None
    whole = kernel.operands[operand.view.of].shape
    if any(dim != 1 and dim not in sizes for dim in whole):
        return None
    return shape_of(operand.view, tuple(1 if dim == 1 else sizes[dim] for dim in whole), sizes)


def _viewed(view: View, base: Array, sizes: dict[str, int]) -> Array:
    """A view, as NumPy takes it."""

    def place(bound: Bound | None) -> int | None:
        return None if bound is None else int(bound_value(bound, sizes))

    if any(isinstance(item, Split) for item in view.items):
        return base.reshape(shape_of(view, base.shape, sizes))
    items = [
        slice(place(item.start), place(item.stop), item.step) if isinstance(item, Cut) else place(item.place)
        for item in view.items
        if not isinstance(item, Split)
    ]
    return base[(*items, ...)]


# --- structure ----------------------------------------------------------------------------------


def _load(frame: Frame, op: Op) -> Array:
    """The array as it was before the kernel ran, with its axes in the order of the access."""
    assert isinstance(op.attr, IndexMap)
    array = _held_by(frame, op.attr.operand)
    walked = [axis for axis in op.attr.axes if axis is not None]
    unwalked = tuple(axis for axis in range(array.ndim) if axis not in walked)
    value = np.transpose(array, (*unwalked, *walked))[(0,) * len(unwalked)]  # axes of one element
    return np.expand_dims(value, tuple(i for i, axis in enumerate(op.attr.axes) if axis is None))


def _store(frame: Frame, op: Op, value: Array, *places: Array) -> Array:
    if isinstance(op.attr, Scatter):
        return _scatter(frame, op.attr, np.broadcast_to(value, frame.extents(op.shape)), places)
    assert isinstance(op.attr, IndexMap)
    result = _written(frame, op.attr.operand)
    walked = [axis for axis in op.attr.axes if axis is not None]
    unwalked = tuple(axis for axis in range(result.ndim) if axis not in walked)
    target = np.transpose(result, (*unwalked, *walked))
    full = np.broadcast_to(value, frame.extents(op.shape))
    target[...] = np.squeeze(full, tuple(i for i, axis in enumerate(op.attr.axes) if axis is None))
    return value


def _gather(frame: Frame, op: Op, *places: Array) -> Array:
    """The elements at these places of the array as it was before the kernel ran; 0 for places outside of it."""
    assert isinstance(op.attr, Gather)
    array = _held_by(frame, op.attr.operand)
    whole = np.broadcast_arrays(*places)
    inside = _all_inside(whole, array.shape)
    value = np.zeros(inside.shape, array.dtype)
    value[inside] = array[tuple(place[inside] for place in whole)]
    return value


def _held_by(frame: Frame, number: int) -> Array:
    """An array as it was before the kernel ran; a buffer as it is after all stores to it."""
    array = frame.arrays[number] if frame.kernel.operands[number].role != "buffer" else frame.stored[number]
    assert array is not None
    return array


def _written(frame: Frame, number: int) -> Array:
    """The memory of an operand that is stored to."""
    operand = frame.kernel.operands[number]
    if operand.view is not None:
        return _viewed(operand.view, _written(frame, operand.view.of), frame.sizes)
    if number not in frame.stored:
        before = frame.arrays[number]
        new = np.empty(frame.extents(operand.shape), numpy_dtype(operand.dtype)) if before is None else before.copy()
        frame.stored[number] = new
    return frame.stored[number]


_COMBINE: dict[str, Callable[..., Array]] = {"add": np.add, "min": exact.minimum, "max": exact.maximum}


def _scatter(frame: Frame, attr: Scatter, value: Array, places: Sequence[Array]) -> Array:
    """Replace some elements, or combine them with values: of several values for one place, one wins, or all count."""
    result = _written(frame, attr.operand)
    found = [np.broadcast_to(place, value.shape) for place in places]
    inside = _all_inside(found, result.shape) if found else np.ones(value.shape, bool)
    at, values = tuple(place[inside] for place in found), value[inside]
    if attr.combine == "set":
        result[at] = values if at else values[-1]
        return value
    for number, element in enumerate(values):  # one by one: a place may be there several times
        one = tuple(place[number] for place in at)
        result[one] = _COMBINE[attr.combine](result[one], element)
    return value


def _all_inside(places: Sequence[Array], shape: tuple[int, ...]) -> Array:
    """Where all places are within their axes."""
    inside = np.ones(np.broadcast_shapes(*(place.shape for place in places)), bool)
    for place, extent in zip(places, shape, strict=True):
        inside &= (place >= 0) & (place < extent)
    return inside


def _scalar(frame: Frame, op: Op) -> Array:
    assert isinstance(op.attr, int)
    return _held(frame.scalars[op.attr], op.dtype)


def _held(value: object, dtype: DType) -> Array:
    """A Python or NumPy scalar as a 0-d array, rounded once."""
    if dtype.is_float and isinstance(value, bool | int | float):
        wide = odd_float(value) if isinstance(value, int) and dtype is not FLOAT64 else float(value)
        return cast(np.asarray(wide), FLOAT64, dtype, CastMode("rne", False))
    return np.asarray(value, numpy_dtype(dtype))


def _const(frame: Frame, op: Op) -> Array:
    assert isinstance(op.attr, int)
    return np.array([op.attr], np.dtype(f"u{op.dtype.size}")).view(numpy_dtype(op.dtype)).reshape(())


def _index(frame: Frame, op: Op) -> Array:
    """The coordinate along one axis of the space that the op's own shape spans."""
    assert isinstance(op.attr, int)
    shape = frame.extents(op.shape)
    along = np.arange(shape[op.attr], dtype=numpy_dtype(op.dtype)).reshape((-1,) + (1,) * (-op.attr - 1))
    return np.broadcast_to(along, shape)


def _size(frame: Frame, op: Op) -> Array:
    return np.asarray(frame.sizes[str(op.attr)], numpy_dtype(op.dtype))


def _reduce(frame: Frame, op: Op, value: Array) -> Array:
    assert isinstance(op.attr, Reduction)
    argument = frame.kernel.ops[op.args[0]]
    # A constant is one element that stands for the argument's whole shape.
    return reduce(np.broadcast_to(value, frame.extents(argument.shape)), argument.dtype, op.dtype, op.attr)


def _expand(frame: Frame, op: Op, value: Array) -> Array:
    argument = frame.kernel.ops[op.args[0]]
    return np.broadcast_to(value, frame.extents(argument.shape)).reshape(frame.extents(op.shape))


def _cast(frame: Frame, op: Op, value: Array) -> Array:
    assert isinstance(op.attr, CastMode)
    return cast(value, frame.kernel.ops[op.args[0]].dtype, op.dtype, op.attr)


def _bitcast(frame: Frame, op: Op, value: Array) -> Array:
    if op.dtype.is_bool:  # any set bit is true, as in a load of a bool from memory
        return np.asarray(value.view(np.uint8) != 0)
    return np.ascontiguousarray(value).reshape(value.shape).view(numpy_dtype(op.dtype))


def _complex(frame: Frame, op: Op, real: Array, imag: Array) -> Array:
    result = np.empty(np.broadcast_shapes(real.shape, imag.shape), numpy_dtype(op.dtype))
    result.real, result.imag = real, imag
    return result


# --- the table ----------------------------------------------------------------------------------


def _pure(function: Callable[..., Array]) -> Row:
    """The row of a function of the arguments alone."""
    return lambda frame, op, *args: function(*args)


def _powi(frame: Frame, op: Op, value: Array) -> Array:
    assert isinstance(op.attr, int)
    return exact.powi(value, op.attr)


def _pow(x: Array, y: Array) -> Array:
    return special.evaluate("pow", x, y) if exact.is_float(x) else exact.int_pow(x, y)


_STRUCTURE: dict[str, Row] = {
    "load": _load,
    "gather": _gather,
    "store": _store,
    "scalar": _scalar,
    "const": _const,
    "index": _index,
    "size": _size,
    "reduce": _reduce,
    "expand": _expand,
    "cast": _cast,
    "bitcast": _bitcast,
    "complex": _complex,
    "powi": _powi,
}

_EXACT: dict[str, Callable[..., Array]] = {
    "real": np.real,
    "imag": np.imag,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "neg": np.negative,
    "abs": np.absolute,
    "sign": exact.sign,
    "pow": _pow,
    "fma": exact.fma,
    "mul_rn": np.multiply,
    "div_rn": np.divide,
    "min": exact.minimum,
    "max": exact.maximum,
    "fmin": exact.fmin,
    "fmax": exact.fmax,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "shl": exact.shl,
    "shr": exact.shr,
    "popcount": exact.popcount,
    "clz": exact.clz,
    "ffs": exact.ffs,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "where": np.where,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "signbit": np.signbit,
    "copysign": np.copysign,
    "nextafter": np.nextafter,
    "fmod": exact.fmod,
    "fdim": exact.fdim,
    "logb": exact.logb,
    "ilogb": exact.ilogb,
    "ldexp": np.ldexp,
    "sqrt": np.sqrt,
}


def _special(name: str) -> Row:
    return lambda frame, op, *args: special.evaluate(name, *args)


#: Op -> its evaluation; the keys are those of ``ir/ops.py``.
ROWS: dict[str, Row] = {
    **_STRUCTURE,
    **{name: _pure(function) for name, function in _EXACT.items()},
    **{name: _special(name) for name in (*special.WIDE, *special.NARROW, "jn", "yn") if name != "pow"},
}
