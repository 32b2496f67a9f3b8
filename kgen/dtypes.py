"""The element types of the language: one row each, at the end of this file, and what follows from it.

Pure data: no NumPy here, so that ``import kgen`` stays cheap.  How CUDA converts to and from a narrow float is in
``kgen/codegen/conversions.py``.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from enum import IntEnum

from kgen.records import dataclass


class Kind(IntEnum):
    """Kinds in promotion order: a weak value never lifts an array to a lower kind."""

    BOOL = 0
    INT = 1
    FLOAT = 2
    COMPLEX = 3


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """One element type.  ``name`` is its name here and in NumPy (or ml_dtypes), torch, CuPy and JAX.

    ``short``: the short form of the name (``f16``).  ``aliases``: its other names in a program.  ``size``: in bytes.
    ``mantissa``: the stored significand bits of a float, and ``exponent`` its exponent bits; 0 of other kinds.
    ``infinity``: False for a float whose top exponent holds numbers, and one NaN, but no infinity.
    ``code``: the ``struct`` code of a value, or of one part of a complex value; empty where ``struct`` has none.
    ``dlpack``: its ``DLDataTypeCode``, which names the dtype together with the width.
    ``ml_dtypes``: whether NumPy has it from the package ml_dtypes.
    ``storage``: the C type in memory, and ``headers`` what declares that.
    ``intrinsic``: its name in CUDA's conversion intrinsics (``__float2half_rn``), where it has one.
    ``suffix``: the suffix of a C literal; of a float also that of CUDA's math functions (``expf``).
    """

    name: str
    short: str
    size: int
    kind: Kind
    signed: bool = True
    mantissa: int = 0
    exponent: int = 0
    _: KW_ONLY
    infinity: bool = True
    code: str = ""
    dlpack: int
    ml_dtypes: bool = False
    storage: str
    headers: tuple[str, ...] = ()
    intrinsic: str = ""
    suffix: str = ""
    aliases: tuple[str, ...] = ()

    def __reduce__(self) -> str:
        """Pickled as the name of the constant: dtypes are compared by identity."""
        return self.name.upper()

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
        """Stored only: computed in float32 (floats of 8 and 16 bits)."""
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
    def integer(self) -> DType:
        """The signed integer dtype of the same width."""
        return BY_NAME[f"int{self.bits}"]

    @property
    def unsigned(self) -> DType:
        """The unsigned integer dtype of the same width."""
        return BY_NAME[f"uint{self.bits}"]

    @property
    def register(self) -> str:
        """The C type of a value in an expression."""
        return "bool" if self.is_bool else self.storage

    @property
    def struct_format(self) -> str:
        """How ``struct`` packs a value; as raw bytes where it has no code."""
        return ("2" if self.is_complex else "") + self.code if self.code else f"{self.size}s"

    # --- integers ---------------------------------------------------------------------------------

    @property
    def int_min(self) -> int:
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def int_max(self) -> int:
        return (1 << (self.bits - 1)) - 1 if self.signed else (1 << self.bits) - 1

    # --- the format of a float --------------------------------------------------------------------

    @property
    def least_exponent(self) -> int:
        """The smallest subnormal is 2 to this."""
        return 2 - (1 << (self.exponent - 1)) - self.mantissa

    @property
    def infinity_bits(self) -> int | None:
        """The bits of +inf; None where there is none."""
        return ((1 << self.exponent) - 1) << self.mantissa if self.infinity else None

    @property
    def nan_bits(self) -> int:
        """The bits of the quiet NaN."""
        infinity = self.infinity_bits
        return (1 << (self.bits - 1)) - 1 if infinity is None else infinity | 1 << (self.mantissa - 1)

    @property
    def largest_bits(self) -> int:
        """The bits of the largest finite number, which come right before those of infinity or NaN."""
        infinity = self.infinity_bits
        return (self.nan_bits if infinity is None else infinity) - 1

    @property
    def largest(self) -> float:
        """The largest finite number."""
        significand, exponent = self._top()
        return math.ldexp(significand, exponent)

    @property
    def overflow(self) -> int | float:
        """Halfway from the largest finite number to the next one, which the dtype lacks."""
        significand, exponent = self._top()
        twice: int | float = (2 * significand + 1) * 2 ** (exponent - 1)  # an int where that is exact
        return twice

    def _top(self) -> tuple[int, int]:
        """The largest finite number is ``significand * 2**exponent``."""
        field, fraction = divmod(self.largest_bits, 1 << self.mantissa)
        return fraction | 1 << self.mantissa, field - 1 + self.least_exponent

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"kgen.{self.name}"

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DType) and self.name == other.name)

    def __hash__(self) -> int:
        return hash(self.name)


# fmt: off
# A new dtype is a row here, its name in `kgen/__init__.py` and, of a narrow float, its conversions.
BOOL = DType("bool", "bool", 1, Kind.BOOL, False, code="?", dlpack=6, storage="unsigned char")  # any non-zero is true
INT8 = DType("int8", "i8", 1, Kind.INT, code="b", dlpack=0, storage="signed char")
INT16 = DType("int16", "i16", 2, Kind.INT, code="h", dlpack=0, storage="short")
INT32 = DType("int32", "i32", 4, Kind.INT, code="i", dlpack=0, storage="int", intrinsic="int", aliases=("int",))
INT64 = DType("int64", "i64", 8, Kind.INT, code="q", dlpack=0, storage="long long", intrinsic="ll", suffix="ll")
UINT8 = DType("uint8", "u8", 1, Kind.INT, False, code="B", dlpack=1, storage="unsigned char")
UINT16 = DType("uint16", "u16", 2, Kind.INT, False, code="H", dlpack=1, storage="unsigned short")
UINT32 = DType(
    "uint32", "u32", 4, Kind.INT, False, code="I", dlpack=1, storage="unsigned int", intrinsic="uint", suffix="u"
)
UINT64 = DType(
    "uint64", "u64", 8, Kind.INT, False, code="Q", dlpack=1, storage="unsigned long long", intrinsic="ull", suffix="ull"
)
FLOAT16 = DType(
    "float16", "f16", 2, Kind.FLOAT, mantissa=10, exponent=5, code="e", dlpack=2,
    storage="__half", headers=("cuda_fp16.h",), intrinsic="half", aliases=("half",),
)
BFLOAT16 = DType(
    "bfloat16", "bf16", 2, Kind.FLOAT, mantissa=7, exponent=8, dlpack=4, ml_dtypes=True,
    storage="__nv_bfloat16", headers=("cuda_bf16.h",), intrinsic="bfloat16",
)
FLOAT32 = DType(
    "float32", "f32", 4, Kind.FLOAT, mantissa=23, exponent=8, code="f", dlpack=2,
    storage="float", intrinsic="float", suffix="f", aliases=("float",),
)
FLOAT64 = DType(
    "float64", "f64", 8, Kind.FLOAT, mantissa=52, exponent=11, code="d", dlpack=2,
    storage="double", intrinsic="double", aliases=("double",),
)
FLOAT8_E4M3FN = DType(
    "float8_e4m3fn", "e4m3fn", 1, Kind.FLOAT, mantissa=3, exponent=4, infinity=False, dlpack=10, ml_dtypes=True,
    storage="__nv_fp8_e4m3", headers=("cuda_fp8.h",),
)
FLOAT8_E5M2 = DType(
    "float8_e5m2", "e5m2", 1, Kind.FLOAT, mantissa=2, exponent=5, dlpack=12, ml_dtypes=True,
    storage="__nv_fp8_e5m2", headers=("cuda_fp8.h",),
)
COMPLEX64 = DType("complex64", "c64", 8, Kind.COMPLEX, code="f", dlpack=5, storage="float2")
COMPLEX128 = DType("complex128", "c128", 16, Kind.COMPLEX, code="d", dlpack=5, storage="double2")
# fmt: on

#: Every row, in this order.
DTYPES: tuple[DType, ...] = tuple(row for row in globals().values() if isinstance(row, DType))

#: Every spelling the language accepts -> its dtype.
BY_NAME: dict[str, DType] = {
    **{t.name: t for t in DTYPES},
    **{t.short: t for t in DTYPES},
    **{alias: t for t in DTYPES for alias in t.aliases},
}

#: What a weak (literal or Python) value of a kind becomes when it stands alone.
DEFAULT_OF_KIND: dict[Kind, DType] = {
    Kind.BOOL: BOOL,
    Kind.INT: INT64,
    Kind.FLOAT: FLOAT32,
    Kind.COMPLEX: COMPLEX64,
}
