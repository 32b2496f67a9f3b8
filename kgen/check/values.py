"""The values of expressions during typing: a literal, another weak value, or a typed value."""

from __future__ import annotations

from collections.abc import Callable

from kgen.dtypes import DType, Kind
from kgen.ir.graph import Shape
from kgen.program import Weak as Number
from kgen.records import dataclass
from kgen.source import Span


@dataclass(frozen=True, slots=True)
class Literal:
    """An expression of literals only: one Python value, exact."""

    value: Number
    span: Span

    @property
    def shape(self) -> Shape:
        return ()

    @property
    def kind(self) -> Kind:
        return kind_of(self.value)


@dataclass(frozen=True, slots=True)
class Typed:
    """A value of the language dtype ``dtype``, computed by the op ``id`` (and ``imag`` when complex).

    The op has dtype ``dtype.compute`` (``dtype.real`` for the parts of a complex value): a float16 value, for
    example, is an unrounded float32 until it is stored or cast.
    """

    dtype: DType
    id: int
    shape: Shape
    span: Span
    imag: int | None = None


Rule = Callable[[DType, list[Typed]], "Value | None"]  #: called with the dtype and the operands in that dtype


@dataclass(frozen=True, slots=True, eq=False)
class Deferred:
    """A weak value other than a literal: a Python scalar, or the result of an operation on weak values.

    It has a kind but no width.  Once its dtype is known, ``rule`` computes it from ``args`` in that dtype.  ``whole``:
    exact arithmetic of integers or bools; only its result is converted to the dtype.
    """

    kind: Kind
    rule: Rule
    span: Span
    args: tuple[Weak, ...] = ()
    shape: Shape = ()
    whole: bool = False
    label: str | None = None  # the let's name
    site: Span | None = None  # the call of the prelude function that created it


Weak = Literal | Deferred
Value = Weak | Typed


def kind_of(value: object) -> Kind:
    """The weak kind of a Python scalar."""
    if isinstance(value, bool):
        return Kind.BOOL
    if isinstance(value, int):
        return Kind.INT
    if isinstance(value, float):
        return Kind.FLOAT
    return Kind.COMPLEX
