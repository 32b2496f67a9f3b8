"""What an expression is while it is being typed: a literal, a weak scalar, or a typed value."""

from __future__ import annotations

from dataclasses import dataclass

from kgen.dtypes import DType, Kind
from kgen.ir.kernel import Shape
from kgen.program import Weak
from kgen.source import Span


@dataclass(frozen=True, slots=True)
class ArrayArg:
    """An array argument: its dtype and the extents that are known (None: any size)."""

    dtype: DType
    shape: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class ScalarArg:
    """A by-value argument of a fixed dtype: a typed ``param``, or a 0-d array of the host."""

    dtype: DType


@dataclass(frozen=True, slots=True)
class WeakArg:
    """A by-value Python scalar: it takes the dtype of what it meets."""

    kind: Kind


ArgType = ArrayArg | ScalarArg | WeakArg


@dataclass(frozen=True, slots=True)
class Literal:
    """An expression of literals only: one Python value, exact."""

    value: Weak
    span: Span

    @property
    def kind(self) -> Kind:
        return kind_of(self.value)


@dataclass(frozen=True, slots=True)
class WeakScalar:
    """A weak value known only at the call: a Python scalar, or an operation on weak values.

    ``op`` is ``scalar`` (``name`` says which) or a row of the op table; it gets a dtype when it meets one.
    """

    kind: Kind
    op: str
    span: Span
    name: str = ""
    args: tuple[WeakScalar | Literal, ...] = ()


@dataclass(frozen=True, slots=True)
class Typed:
    """A value of the language dtype ``dtype``, held in the op ``id`` (and ``imag`` when complex).

    The op has dtype ``dtype.compute`` (``dtype.real`` for the parts of a complex value): a float16 value, say,
    is held unrounded in float32 until it is stored or cast.
    """

    dtype: DType
    id: int
    shape: Shape
    span: Span
    imag: int | None = None


Value = Literal | WeakScalar | Typed


def kind_of(value: object) -> Kind:
    """The weak kind of a Python scalar."""
    if isinstance(value, bool):
        return Kind.BOOL
    if isinstance(value, int):
        return Kind.INT
    if isinstance(value, float):
        return Kind.FLOAT
    return Kind.COMPLEX
