"""Type names of other languages and libraries -> what to write in kgen."""

from __future__ import annotations

from kgen.dtypes import BY_NAME, DTYPES

_FP8 = "write " + " or ".join(f"`{t}`" for t in DTYPES if t.is_fp8)
_FOUR_BITS = "no type has 4 bits: two of them are a `uint8` `b`, and `b & 15` and `b >> 4` their bits"

TYPE_HINTS: dict[str, str] = {
    "char": "write `int8` or `uint8`",
    "uchar": "write `uint8`",
    "byte": "write `uint8`",
    "short": "write `int16`",
    "ushort": "write `uint16`",
    "uint": "write `uint32`",
    "unsigned": "write `uint32`",
    "long": "write `int64`",
    "ulong": "write `uint64`",
    "size_t": "write `uint64`",
    "signed": "write `int32`",
    "integer": "write `int32` or `int64`",
    "bf": "write `bf16`",
    "nv_bfloat16": "write `bfloat16`",
    "__nv_bfloat16": "write `bfloat16`",
    "__half": "write `half`",
    "fp16": "write `half`",
    "fp32": "write `float`",
    "fp64": "write `double`",
    "fp8": _FP8,
    "float8": _FP8,
    "int4": _FOUR_BITS,
    "uint4": _FOUR_BITS,
    "fp4": _FOUR_BITS,
    "nf4": _FOUR_BITS,
    "complex": "write `complex64` or `complex128`",
    "cfloat": "write `complex64`",
    "single": "write `float`",
    "string": "there are no strings",
    "void": "every value has a type: write one such as `float`",
}
TYPE_HINTS |= {f"{name}_t": f"write `{name}`" for name in BY_NAME if name.lstrip("u").startswith("int")}
