"""The functions of the language: the name, arity and typing rule of each.

``docs/functions.md`` is generated from this.  Names are NumPy's and the array API's; CUDA's are aliases.
"""

from __future__ import annotations

from typing import Literal

from kgen.records import dataclass

#: How a call is typed and lowered (``check/calls.py`` has one function for each rule):
#: float      promote; integers and bool become float32; the op of that name
#: keep       promote; integers stay integers (the op, or nothing if it is the identity on integers)
#: predicate  like float, the result is bool
#: integer    one integer argument, the result is int32
#: ordered    a float, and an integer as first (``jn``, ``yn``) or second (``ldexp``) argument
#: operator   the binary or unary operator of the same meaning
#: prelude    a ``def`` of ``prelude.k``; ``complex.k`` has the complex versions of ``float`` functions
#: lifted     a ``def`` of ``prelude.k`` on floats: integers and bool become float32
#: special    a function of its own in ``check/calls.py``
#: view       the elements of its arguments in other places (``check/views.py``)
#: reduction  over axes
Rule = Literal[
    "float", "keep", "predicate", "integer", "ordered", "operator", "prelude", "lifted", "special", "view", "reduction"
]


@dataclass(frozen=True, slots=True)
class Function:
    """``target`` is the op, operator, prelude def, or special function; ``arity`` the allowed argument counts.

    ``is_complex``: whether it accepts complex arguments.
    """

    rule: Rule
    target: str
    arity: tuple[int, ...]
    is_complex: bool = False


def _rows(rule: Rule, arity: tuple[int, ...], names: str, *, is_complex: bool = False) -> dict[str, Function]:
    """``names`` is a list of ``name``, or ``name=target`` where they differ."""
    rows: dict[str, Function] = {}
    for entry in names.split():
        name, _, target = entry.partition("=")
        rows[name] = Function(rule, target or name, arity, is_complex)
    return rows


FUNCTIONS: dict[str, Function] = {
    **_rows(
        "float",
        (1,),
        "exp log sqrt sin cos tan sinh cosh tanh rsqrt expm1 log2 log10 log1p asin acos atan asinh acosh atanh "
        "arcsin=asin arccos=acos arctan=atan arcsinh=asinh arccosh=acosh arctanh=atanh",
        is_complex=True,
    ),
    **_rows(
        "float",
        (1,),
        "cbrt rcbrt exp2 exp10 sinpi cospi "
        "erf erfc erfinv erfcinv erfcx lgamma gammaln=lgamma tgamma gamma=tgamma "
        "normcdf ndtr=normcdf normcdfinv ndtri=normcdfinv gelu_derivative "
        "j0 j1 y0 y1 cyl_bessel_i0 cyl_bessel_i1 i0=cyl_bessel_i0 i1=cyl_bessel_i1 logb",
    ),
    **_rows("float", (2,), "atan2 arctan2=atan2 hypot rhypot copysign nextafter fdim mul_rn"),
    **_rows("float", (3,), "fma norm3d rnorm3d"),
    **_rows("float", (4,), "norm4d rnorm4d"),
    **_rows("keep", (1,), "floor ceil trunc fix=trunc"),
    **_rows("keep", (1,), "round rint=round nearbyint=round", is_complex=True),
    **_rows("keep", (1,), "abs fabs=abs absolute=abs sign", is_complex=True),
    **_rows("predicate", (1,), "isnan isinf isfinite", is_complex=True),
    **_rows("predicate", (1,), "signbit"),
    **_rows("integer", (1,), "popcount popc=popcount bitwise_count=popcount clz ffs"),
    **_rows("float", (1,), "ilogb"),
    **_rows("ordered", (2,), "jn yn ldexp scalbn=ldexp scalbln=ldexp"),
    **_rows(
        "operator",
        (2,),
        "add=+ subtract=- multiply=* divide=/ true_divide=/ fdividef=/ floor_divide=// "
        "remainder=% mod=% pow=** power=** "
        "bitwise_and=& bitwise_or=| bitwise_xor=^ "
        "bitwise_left_shift=<< left_shift=<< bitwise_right_shift=>> right_shift=>> "
        "logical_and=and logical_or=or "
        "equal=== not_equal=!= less=< less_equal=<= greater=> greater_equal=>=",
        is_complex=True,
    ),
    **_rows(
        "operator",
        (1,),
        "negative=- positive=+ bitwise_invert=~ invert=~ bitwise_not=~ logical_not=not",
        is_complex=True,
    ),
    **_rows("special", (2,), "logical_xor maximum minimum", is_complex=True),
    **_rows("special", (3,), "where select=where", is_complex=True),
    **_rows("special", (1,), "real imag conj conjugate=conj angle", is_complex=True),
    **_rows("special", (2,), "complex fmod fmin fmax"),
    **_rows("special", (1,), "index"),
    **_rows("special", (1, 2), "size", is_complex=True),
    **_rows("special", (1,), "expand", is_complex=True),
    **_rows("prelude", (1,), "relu relu6 hardtanh"),
    **_rows(
        "lifted",
        (1,),
        "sigmoid expit=sigmoid gelu gelu_tanh silu swish=silu softplus mish selu elu celu softsign tanhshrink "
        "hardsigmoid hardswish logsigmoid log_sigmoid=logsigmoid quick_gelu logit sinc "
        "deg2rad radians=deg2rad rad2deg degrees=rad2deg saturate "
        "lrint llrint=lrint lround llround=lround",
    ),
    **_rows("prelude", (1,), "square reciprocal", is_complex=True),
    **_rows(
        "lifted",
        (2,),
        "logaddexp logaddexp2 leaky_relu prelu=leaky_relu heaviside xlogy xlog1py step softshrink hardshrink",
    ),
    **_rows("prelude", (3,), "clip clamp=clip"),
    **_rows("lifted", (3,), "smoothstep"),
    **_rows("lifted", (3,), "lerp mix=lerp", is_complex=True),
    **_rows(
        "reduction",
        (1,),
        "sum prod mean var std argmin argmax any all count_nonzero norm logsumexp",
        is_complex=True,
    ),
    **_rows("view", (1,), "transpose flip split merge", is_complex=True),
    **_rows("view", (2,), "repeat take", is_complex=True),
    **_rows("view", tuple(range(2, 17)), "concat stack", is_complex=True),
    # One positional argument reduces, two or more are elementwise.
    "min": Function("reduction", "min", tuple(range(1, 17))),
    "max": Function("reduction", "max", tuple(range(1, 17))),
}

#: The functions that take elements in other places.
VIEWS = frozenset(name for name, function in FUNCTIONS.items() if function.rule == "view")

#: Predefined values.
CONSTANTS: dict[str, float] = {
    "pi": 3.141592653589793,
    "e": 2.718281828459045,
    "inf": float("inf"),
    "nan": float("nan"),
}

#: Reserved words.
RESERVED = frozenset({"let", "def", "input", "inout", "param", "and", "or", "not", "true", "false", "cast", "bitcast"})

#: Keywords of a kernel's call, which no input or param may have as its name.
CALL_KEYWORDS = frozenset({"out", "stream", "shape", "check_indices"})

#: What ``take`` does with an index beyond an axis.
MODES = ("clamp", "wrap", "reflect", "fill", "promise")

#: The keywords of each function; their values are literals.
KEYWORDS: dict[str, frozenset[str]] = {
    **{
        name: frozenset({"axis", "keepdims"})
        for name in ("min", "max", "argmin", "argmax", "any", "all", "count_nonzero", "norm", "logsumexp")
    },
    **{name: frozenset({"axis", "keepdims", "dtype"}) for name in ("sum", "prod", "mean")},
    **{name: frozenset({"axis", "keepdims", "correction"}) for name in ("var", "std")},
    "expand": frozenset({"axis"}),
    **{name: frozenset({"axis"}) for name in ("flip", "merge", "repeat", "concat", "stack")},
    "split": frozenset({"axis", "by"}),
    "take": frozenset({"axis", "mode", "value"}),
    "transpose": frozenset({"axes"}),
}
