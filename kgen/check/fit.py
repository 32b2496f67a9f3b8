"""Messages about operands whose shapes do not broadcast, or broadcast in another way than was probably meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgen.check.dims import Dims
from kgen.check.values import Typed, Value
from kgen.ir.graph import Op, Reduction
from kgen.records import dataclass

_MOST_SEEN = 64  # the most ops that a lint inspects
_LONGEST = 24  # characters of an operand that a message quotes


@dataclass(frozen=True, slots=True)
class Fit:
    """What a program's values are computed by (``ops``), their dimensions, and the program's text."""

    dims: Dims
    ops: Sequence[Op]
    text: str

    def mismatch(self, left: Value, right: Value, axis: int, *, is_inlined: bool) -> tuple[str, str]:
        """The message and the hint for two operands that differ along ``axis``, which counts from the right.

        ``is_inlined``: whether the operands' own text is the prelude's.
        """
        here, there = self.dims.extent(left.shape[axis]), self.dims.extent(right.shape[axis])
        shapes = self.dims.show(left.shape), self.dims.show(right.shape)
        if is_inlined:
            who = f"shapes {shapes[0]} and {shapes[1]} do not broadcast"
        else:
            who = f"{self._name(left, 'first')} is {shapes[0]} and {self._name(right, 'second')} is {shapes[1]}"
        number = max(len(left.shape), len(right.shape)) + axis
        hint = self._hint_of_reduction(left) or self._hint_of_reduction(right) or self._hint_of_rank(left, right)
        return (
            f"{who}: dimension {number} is {here} here and {there} there",
            hint or "broadcasting needs equal sizes or 1",
        )

    def misaligned(self, values: Sequence[Typed]) -> Iterator[tuple[Typed, Typed, str]]:
        """Reductions beside their own operand: without keepdims they broadcast along the wrong axes.

        Gives the reduction, the operand and a message.  Reductions of the leading axes are right.
        """
        which = ("first", "second", "third")
        for place, value in enumerate(values if len(values) > 1 else ()):
            op = self._reduction_in(value)
            if op is None or not isinstance(op.attr, Reduction) or op.attr.keepdims:
                continue
            if op.attr.axes == tuple(range(len(op.attr.axes))):
                continue
            for there, other in enumerate(values):
                if other is not value and other.shape == self.ops[op.args[0]].shape:
                    reduced, operand = self._name(value, which[place]), self._name(other, which[there])
                    yield value, other, f"{reduced} has fewer axes and is aligned with the last axes of {operand}"

    def _hint_of_rank(self, left: Value, right: Value) -> str | None:
        """A hint for an operand whose axes are the leading axes of the other."""
        low, high = sorted((left, right), key=lambda v: len(v.shape))
        rank = len(low.shape)
        pairs = zip(low.shape, high.shape, strict=False)
        if not 0 < rank < len(high.shape) or any(self.dims.extent(a) != self.dims.extent(b) for a, b in pairs):
            return None
        axes = tuple(range(rank, len(high.shape)))
        text = self.text[low.span.start : low.span.end]
        call = f"`expand({text if text.isidentifier() else 'array'}, axis={axes[0] if len(axes) == 1 else axes})`"
        return f"broadcasting aligns the last dimensions: {call} appends axes of size 1"

    def _hint_of_reduction(self, value: Value) -> str | None:
        attr = self.ops[value.id].attr if isinstance(value, Typed) else None
        if isinstance(attr, Reduction) and not attr.keepdims and value.shape:
            return "broadcasting needs equal sizes or 1: keepdims=true keeps the reduced axis as one of size 1"
        return None

    def _name(self, value: Value, which: str) -> str:
        """The text of an operand in quotes if it is short, else which operand it is."""
        text = " ".join(self.text[value.span.start : value.span.end].split())
        return f"`{text}`" if len(text) <= _LONGEST else f"the {which} operand"

    def _reduction_in(self, value: Typed) -> Op | None:
        """The first reduction of the same shape that a value is computed from elementwise."""
        seen: set[int] = set()
        stack = [value.id] if value.shape else []
        while stack and len(seen) < _MOST_SEEN:
            number = stack.pop()
            op = self.ops[number]
            if isinstance(op.attr, Reduction):
                return op
            seen.add(number)
            stack += [a for a in op.args if a not in seen and self.ops[a].shape == value.shape]
        return None
