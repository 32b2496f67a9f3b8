"""The element types of the language: names, sizes, kinds, C spellings and promotion.

Pure data: no NumPy here, so that ``import kgen`` stays cheap.  The promotion lattice is PyTorch's
(``torch.result_type``), extended where PyTorch refuses: ``docs/language.md``, "Types".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Kind(IntEnum):
    """Kinds in promotion order: a weak value never lifts an array to a lower kind."""

    BOOL = 0
    INT = 1
    FLOAT = 2
    COMPLEX = 3


@dataclass(frozen=True, slots=True)
class DType:
    """One element type.

    ``name`` is canonical (``float16``), ``short`` the two-letter form (``f16``), ``size`` in bytes.
    ``mantissa`` counts stored significand bits and ``exponent`` exponent bits of a float (0 otherwise).
    """

    name: str
    short: str
    size: int
    kind: Kind
    signed: bool = True
    mantissa: int = 0
    exponent: int = 0

    @property
    def bits(self) -> int:
        return self.size * 8

    @property
    def is_int(self) -> bool:
        return self.kind is Kind.INT

    @property
    def is_float(self) -> bool:
        return self.kind is Kind.FLOAT

    @property
    def is_complex(self) -> bool:
        return self.kind is Kind.COMPLEX

    @property
    def is_bool(self) -> bool:
        return self.kind is Kind.BOOL

    @property
    def is_narrow(self) -> bool:
        """Stored only: computed in float32 (float16, bfloat16 and the two fp8 formats)."""
        return self.kind is Kind.FLOAT and self.size < 4

    @property
    def is_fp8(self) -> bool:
        return self.kind is Kind.FLOAT and self.size == 1

    @property
    def compute(self) -> DType:
        """The dtype that arithmetic on this dtype runs in."""
        return FLOAT32 if self.is_narrow else self

    @property
    def complex(self) -> DType:
        """The complex dtype whose parts hold this one (itself when complex)."""
        return self if self.is_complex else COMPLEX128 if self.size == 8 else COMPLEX64

    @property
    def real(self) -> DType:
        """The dtype of the real and imaginary parts (itself when not complex)."""
        if not self.is_complex:
            return self
        return FLOAT32 if self.size == 8 else FLOAT64

    @property
    def int_min(self) -> int:
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def int_max(self) -> int:
        return (1 << (self.bits - 1)) - 1 if self.signed else (1 << self.bits) - 1

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"kgen.{self.name}"

    def __hash__(self) -> int:
        return hash(self.name)


def _int(bits: int, signed: bool) -> DType:
    prefix = "" if signed else "u"
    return DType(f"{prefix}int{bits}", f"{prefix or ''}{'i' if signed else ''}{bits}", bits // 8, Kind.INT, signed)


BOOL = DType("bool", "bool", 1, Kind.BOOL, signed=False)
INT8, INT16, INT32, INT64 = (_int(bits, True) for bits in (8, 16, 32, 64))
UINT8, UINT16, UINT32, UINT64 = (_int(bits, False) for bits in (8, 16, 32, 64))
FLOAT16 = DType("float16", "f16", 2, Kind.FLOAT, mantissa=10, exponent=5)
BFLOAT16 = DType("bfloat16", "bf16", 2, Kind.FLOAT, mantissa=7, exponent=8)
FLOAT32 = DType("float32", "f32", 4, Kind.FLOAT, mantissa=23, exponent=8)
FLOAT64 = DType("float64", "f64", 8, Kind.FLOAT, mantissa=52, exponent=11)
FLOAT8_E4M3FN = DType("float8_e4m3fn", "e4m3fn", 1, Kind.FLOAT, mantissa=3, exponent=4)
FLOAT8_E5M2 = DType("float8_e5m2", "e5m2", 1, Kind.FLOAT, mantissa=2, exponent=5)
COMPLEX64 = DType("complex64", "c64", 8, Kind.COMPLEX)
COMPLEX128 = DType("complex128", "c128", 16, Kind.COMPLEX)

DTYPES: tuple[DType, ...] = (
    BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64,
    FLOAT16, BFLOAT16, FLOAT32, FLOAT64, FLOAT8_E4M3FN, FLOAT8_E5M2, COMPLEX64, COMPLEX128,
)  # fmt: skip

_ALIASES = {"half": FLOAT16, "float": FLOAT32, "double": FLOAT64, "int": INT32}

#: Every spelling the language accepts -> its dtype.
BY_NAME: dict[str, DType] = {
    **{t.name: t for t in DTYPES},
    **{t.short: t for t in DTYPES},
    **_ALIASES,
}

#: What a weak (literal or Python) value of a kind becomes when it stands alone.
DEFAULT_OF_KIND: dict[Kind, DType] = {
    Kind.BOOL: BOOL,
    Kind.INT: INT64,
    Kind.FLOAT: FLOAT32,
    Kind.COMPLEX: COMPLEX64,
}


def promote(a: DType, b: DType) -> DType | None:
    """The common dtype of two array operands, or None where a cast has to be written.

    None: uint64 with a signed integer; fp8 with an integer array or with the other fp8 format.
    """
    if a is b:
        return a
    if a.kind > b.kind or (a.kind == b.kind and a.size < b.size):
        a, b = b, a  # from here: b has the higher kind, or the same kind and a's size >= b's
    if a.kind is Kind.BOOL:
        return b
    if a.kind is Kind.INT:
        if b.kind is Kind.INT:
            return _promote_ints(a, b)
        return None if b.is_fp8 else b  # an integer never widens a float
    if a.kind is Kind.FLOAT:
        if b.kind is Kind.COMPLEX:
            return COMPLEX128 if a is FLOAT64 else b
        return _promote_floats(a, b)
    return COMPLEX128  # two different complex dtypes


def _promote_ints(wide: DType, narrow: DType) -> DType | None:
    if wide.signed == narrow.signed:
        return wide
    signed, unsigned = (wide, narrow) if wide.signed else (narrow, wide)
    if signed.size > unsigned.size:
        return signed
    if unsigned is UINT64:
        return None
    return BY_NAME[f"int{unsigned.bits * 2}"]


def _promote_floats(wide: DType, narrow: DType) -> DType | None:
    if wide.size > narrow.size:
        return wide
    return FLOAT32 if wide.size == 2 else None  # float16 with bfloat16; the two fp8 formats
