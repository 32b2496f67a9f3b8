"""What the contract decides otherwise than torch: on these samples of OpInfo kgen is meant to give something else."""

from __future__ import annotations

_ANY = ""
_COMPLEX = "complex"
_HALVES = "float16"  # bfloat16, too
_WHOLE = r"\.u?int|bool"

#: Operator, dtypes (a regular expression), a part of what is found, and the reason.
DECIDED: tuple[tuple[str, str, str, str], ...] = (
    *(
        (name, _COMPLEX, "no-function", "complex functions are those of the array API, and a few more")
        for name in (
            "exp2", "sinc", "sigmoid", "logaddexp", "ldexp", "nn.functional.silu.complex", "nn.functional.softsign",
            "nn.functional.tanhshrink",
        )
    ),
    *((name, "bool", "no-function", "a bool has no sign") for name in ("abs", "sign", "sgn")),
    *((name, "uint8", "literal-out-of-range", "alpha=-3 does not fit uint8") for name in ("add", "sub", "rsub")),
    *(
        (name, _WHOLE, "dtype torch.float32", "beside integers, a literal with a point makes float32")
        for name in ("heaviside", "nn.functional.hardtanh")
    ),
    *((name, "uint8", "dtype torch.bool", "the result is bool") for name in ("any", "all")),
    *(
        (name, _HALVES, "values", "computed in float32 and rounded once; torch rounds on the way")
        for name in ("nn.functional.huber_loss", "nn.functional.tanhshrink", "special.ndtr")
    ),
    *(
        (name, "float64", "values", "torch is off by 1e-7")
        for name in ("special.bessel_j0", "special.bessel_y1")
    ),
    *((name, "complex64", "values", "torch's powers lose digits") for name in ("pow", "__rpow__")),
    ("ldexp", _ANY, "needs an integer exponent", "the exponent is an integer"),
    ("__rmod__", _WHOLE, "values", "x % 0 is 0"),
    ("square", "bool", "dtype torch.bool", "the product of bools is `and`"),
    ("softmax", _ANY, "nothing-to-reduce", "a maximum over nothing is an error, whatever else is empty"),
    ("complex", "float16", "dtype torch.complex64", "there is no complex32"),
)  # fmt: skip
