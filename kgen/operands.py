"""The operands to lower a program for: dtypes, shapes, strides and addresses, but no data."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from math import lcm

from kgen.argument_types import ArgType, ArrayArg, ScalarArg, WeakArg
from kgen.diagnostics import error
from kgen.dtypes import DType
from kgen.ir.graph import Dim, Graph, Operand, Shape
from kgen.ir.views import Split, shape_of
from kgen.records import dataclass, replace
from kgen.schedule.step_layout import Array, Extents, concrete, extents_of, sliced
from kgen.spec import c_strides, counted

Extent = int | None  #: None: unknown
ASSUMED_EXTENTS = (1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049)  # for unknown extents: none divides another


@dataclass(frozen=True, slots=True)
class ArrayOperand:
    """An array.  ``strides`` in elements (None: C order); ``address`` in bytes (0 where it is not known)."""

    dtype: DType
    shape: tuple[Extent, ...]
    strides: tuple[int, ...] | None = None
    address: int = 0


Argument = ArrayOperand | ScalarArg | WeakArg


@dataclass(frozen=True, slots=True)
class Operands:
    """``arguments``: inputs and params, in the program's order.

    ``outputs``: the given output arrays.  ``shape``: of a program without array arguments.
    """

    arguments: Mapping[str, Argument]
    outputs: Mapping[str, ArrayOperand] = field(default_factory=dict)
    shape: tuple[Extent, ...] = ()

    @property
    def types(self) -> dict[str, ArgType]:
        """The types for :func:`kgen.check.check`, with the known extents."""
        return {n: ArrayArg(a.dtype, a.shape) if isinstance(a, ArrayOperand) else a for n, a in self.arguments.items()}

    @property
    def out_dtypes(self) -> dict[str, DType]:
        return {n: o.dtype for n, o in self.outputs.items()}

    @property
    def typing_key(self) -> Hashable:
        """The key of the IR: dtypes, ranks, and which extents are 1."""
        types = [
            (a.dtype.name, _unit_extents(a.shape)) if isinstance(a, ArrayOperand) else a
            for a in self.arguments.values()
        ]
        return (
            tuple(types),
            _unit_extents(self.shape),
            tuple([(n, o.dtype.name) for n, o in self.outputs.items()]),
        )

    def sizes(self, kernel: Graph) -> Sizes | None:
        """The extent of every dimension; None where two arrays disagree."""
        shapes = [self._shape(operand) for operand in kernel.operands]
        found = extents_of(kernel, shapes)
        if found is None:
            return None
        known = frozenset(found)
        views = [o.view for o in kernel.operands if o.view is not None]
        # Multiples of 64 where a program has views, so that the halves of an axis are equal, and of what splits it.
        by = [i.by for v in views for i in v.items if isinstance(i, Split) and isinstance(i.by, int)]
        found = _with_assumed(kernel, found, lcm(64, *by) if views else 1)
        if views:
            given = zip(kernel.operands, shapes, strict=True)
            found = _with_views(kernel, [None if s is None else _known(o.shape, found) for o, s in given])
        return Sizes(found, frozenset(found) - known)

    def _shape(self, operand: Operand) -> tuple[Extent, ...] | None:
        """The shape of an argument, or of a result that is given; None for others."""
        if operand.view is not None or operand.role == "buffer":
            return None
        if operand.role == "output":
            has_arrays = any(isinstance(a, ArrayOperand) for a in self.arguments.values())
            return self.shape if self.shape and not has_arrays else None
        array = self.arguments[operand.name]
        assert isinstance(array, ArrayOperand)
        return array.shape

    def fits(self, kernel: Graph) -> bool:
        """Whether views of a kernel typed for the same :attr:`typing_key` have extents of 1 where it says."""
        if all(operand.view is None for operand in kernel.operands):
            return True
        found: dict[str, int] = {}
        shapes: list[tuple[Extent, ...] | None] = []
        for operand in kernel.operands:
            given = self.arguments.get(operand.name)
            shape = given.shape if isinstance(given, ArrayOperand) else None
            if operand.view is not None and (base := shapes[operand.view.of]) is not None:
                try:
                    shape = shape_of(operand.view, base, found)
                except IndexError:
                    return True  # an error, which finding the sizes reports
                if any((n == 1) != (dim == 1) for n, dim in zip(shape, operand.shape, strict=True)):
                    return False
            shapes.append(shape)
            if shape is not None:
                found.update((d, n) for d, n in zip(operand.shape, shape, strict=True) if d != 1 and n is not None)
        return True

    def arrays(self, kernel: Graph, sizes: Sizes) -> list[Array | None]:
        """The given arrays, one for each operand of the kernel; None for those that a call allocates.

        Raises :class:`~kgen.KgenError`: ``bad-strides``, and ``shape-mismatch`` for a given output.
        """
        found: list[Array | None] = []
        for operand in kernel.operands:
            if operand.view is not None:
                base = found[operand.view.of]
                found.append(None if base is None else sliced(operand.view, base, sizes.extents))
                continue
            given = (self.outputs if operand.role == "output" else self.arguments).get(operand.name)
            if not isinstance(given, ArrayOperand):
                found.append(None)
                continue
            shape = concrete(operand.shape, sizes.extents)
            if operand.role == "output":
                check_output(operand.name, given.shape, shape)
            strides = c_strides(shape) if given.strides is None else given.strides
            if len(strides) != len(shape):
                have = f"{counted(len(shape), 'dimension')} and {counted(len(strides), 'stride')}"
                raise error("bad-strides", f"`{operand.name}` has {have}", "strides are in elements, one a dimension")
            found.append(Array(shape, strides, operand.dtype.size, given.address))
        return found

    def inputs(self, kernel: Graph, sizes: Sizes) -> list[Array | None]:
        """The arrays that are read, without addresses: :func:`kgen.pipeline.select_variant` takes no others."""
        return Operands(self.without_addresses().arguments).arrays(kernel, sizes)

    def without_addresses(self) -> Operands:
        """The same arrays, at addresses that are not known."""
        arguments = {n: _without_address(a) for n, a in self.arguments.items()}
        outputs = {n: replace(o, address=0) for n, o in self.outputs.items()}
        return Operands(arguments, outputs, self.shape)


@dataclass(frozen=True, slots=True)
class Sizes:
    """The extent of every dimension.  ``assumed``: dimensions of unknown extent, for which a number is assumed."""

    extents: Extents
    assumed: frozenset[str] = frozenset()

    def are_known(self, dims: Iterable[Dim]) -> bool:
        return not self.assumed or self.assumed.isdisjoint(dims)

    def hide_assumed(self, reasons: Sequence[str]) -> tuple[str, ...]:
        """The reasons with ``?`` in place of assumed extents."""
        if not self.assumed:
            return tuple(reasons)
        unknown = re.compile(rf"\b({'|'.join(str(self.extents[dim]) for dim in sorted(self.assumed))})\b")
        return tuple(unknown.sub("?", reason) for reason in reasons)


def _with_views(kernel: Graph, shapes: Sequence[tuple[Extent, ...] | None]) -> dict[str, int]:
    """The extents, those of views too.  Raises :class:`~kgen.KgenError` (``shape-needed``) where these do not fit."""
    found = extents_of(kernel, shapes)
    if found is None or any(dim != 1 and dim not in found for o in kernel.operands for dim in o.shape):
        base = next(kernel.operands[o.view.of].name for o in kernel.operands if o.view is not None)
        message = "whether views of unknown extents fit each other depends on these"
        raise error("shape-needed", message, f"give the extents of `{base}`")
    return found


def _with_assumed(kernel: Graph, known: dict[str, int], multiple: int) -> dict[str, int]:
    """The known extents, and assumed ones for the others; those of views follow from them."""
    found, derived = dict(known), dict(kernel.derived)
    for operand in kernel.operands:
        for dim in reversed(operand.shape if operand.view is None else ()):
            if dim != 1 and dim not in found and dim not in derived:
                found[dim] = ASSUMED_EXTENTS[len(found) % len(ASSUMED_EXTENTS)] * multiple
    return found


def _known(dims: Shape, extents: Mapping[str, int]) -> tuple[int | None, ...]:
    """Extents, but for those that follow from others."""
    return tuple(1 if dim == 1 else extents.get(dim) for dim in dims)


def check_output(name: str, given: tuple[Extent, ...], shape: tuple[int, ...]) -> None:
    """Raises :class:`~kgen.KgenError` (``shape-mismatch``)."""
    if given != shape:
        message = f"out= for `{name}` is {given} and the output is {shape}"
        raise error("shape-mismatch", message, "out= is never broadcast or resized")


def _unit_extents(shape: tuple[Extent, ...]) -> tuple[Extent, ...]:
    return tuple([1 if n == 1 else None for n in shape])


def _without_address(argument: Argument) -> Argument:
    if isinstance(argument, ArrayOperand) and argument.address:
        return ArrayOperand(argument.dtype, argument.shape, argument.strides)
    return argument
