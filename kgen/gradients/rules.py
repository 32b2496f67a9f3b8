"""The derivative of every function, operator and reduction: one row each.

A row has an expression for each operand: what a gradient ``g`` of the result adds to the gradient of that operand.
``a b c d`` are the operands, ``z`` is the result; an empty expression adds nothing.  At ties and at the ends of ranges
they give what PyTorch gives.

Where the result is complex, operands and results are conjugated in a row of :data:`RULES`, which makes it the
conjugate Wirtinger derivative of an analytic function.  :data:`COMPLEX` has functions that are not analytic.
"""

from __future__ import annotations

from functools import reduce

Row = tuple[str, ...]

_NORMAL = "0.3989422804014327 * exp(-0.5 * a * a)"  # the density of the normal distribution
_SINC_TERMS = (
    -3.289868133696453,
    3.246969701133414,
    -1.144510944732505,
    0.20918278254123832,
    -0.023460810354558225,
    0.001781145516372851,
)
#: The derivative of sinc divided by its argument: near 0 the difference of cosine and sinc would lose its digits.
_SINC_SERIES = reduce(lambda inner, term: f"({term} + a * a * {inner})", _SINC_TERMS[-2::-1], str(_SINC_TERMS[-1]))
_TANH_OF_SOFTPLUS = "tanh(softplus(a))"


def _sigmoid_times(slope: str, argument: str) -> Row:
    """Of ``a * sigmoid(argument)``; ``slope`` is the derivative of the argument."""
    gate = f"sigmoid({argument})"
    return (f"g * {gate} * (1 + a * {slope}(1 - {gate}))",)


def _smoothstep(of: str) -> str:
    """Of ``t * t * (3 - 2 * t)`` with ``t = saturate((c - a) / (b - a))``; ``of`` is the derivative of ``t``."""
    t = "saturate((c - a) / (b - a))"
    return f"g * 6 * {t} * (1 - {t}) * {of}"


#: By operator, or by the target of a function (``kgen/functions.py``).
RULES: dict[str, Row] = {
    # operators
    "+": ("g", "g"),
    "-": ("g", "-g"),
    "*": ("g * b", "g * a"),
    "/": ("g / b", "-g * (a / b / b)"),
    "//": ("", ""),
    "%": ("g", "-g * (a // b)"),
    "**": ("b == 0 ? 0 : g * b * a ** (b - 1)", "a == 0 and b >= 0 ? 0 : g * a ** b * log(a)"),
    "negative": ("-g",),
    "positive": ("g",),
    "where": ("", "a ? g : 0", "a ? 0 : g"),
    # exponentials, logarithms, roots
    "exp": ("g * z",),
    "exp2": ("g * z * 0.6931471805599453",),
    "exp10": ("g * z * 2.302585092994046",),
    "expm1": ("g * (z + 1)",),
    "log": ("g / a",),
    "log2": ("g / (a * 0.6931471805599453)",),
    "log10": ("g / (a * 2.302585092994046)",),
    "log1p": ("g / (a + 1)",),
    "sqrt": ("g / (2 * z)",),
    "rsqrt": ("-0.5 * g * z * z * z",),
    "cbrt": ("g / (3 * z * z)",),
    "rcbrt": ("g * z * z * z * z / -3",),
    # circular and hyperbolic functions
    "sin": ("g * cos(a)",),
    "cos": ("-g * sin(a)",),
    "tan": ("g * (1 + z * z)",),
    "sinpi": ("g * pi * cospi(a)",),
    "cospi": ("-g * pi * sinpi(a)",),
    "asin": ("g * rsqrt(1 - a * a)",),
    "acos": ("-g * rsqrt(1 - a * a)",),
    "atan": ("g / (1 + a * a)",),
    "sinh": ("g * cosh(a)",),
    "cosh": ("g * sinh(a)",),
    "tanh": ("g * (1 - z * z)",),
    "asinh": ("g * rsqrt(1 + a * a)",),
    "acosh": ("g * rsqrt(a - 1) * rsqrt(a + 1)",),
    "atanh": ("g / (1 - a * a)",),
    "atan2": (
        "a == 0 and b == 0 ? 0 : g * b / (a * a + b * b)",
        "a == 0 and b == 0 ? 0 : -g * a / (a * a + b * b)",
    ),
    "sinc": (f"abs(a) < 0.125 ? g * a * {_SINC_SERIES} : g * (cospi(a) - z) / a",),
    # special functions
    "erf": ("g * 1.1283791670955126 * exp(-a * a)",),
    "erfc": ("g * -1.1283791670955126 * exp(-a * a)",),
    "erfcx": ("g * (2 * a * z - 1.1283791670955126)",),
    "erfinv": ("g * 0.886226925452758 * exp(z * z)",),
    "erfcinv": ("g * -0.886226925452758 * exp(z * z)",),
    "normcdf": (f"g * {_NORMAL}",),
    "gelu_derivative": (f"g * (2 - a * a) * {_NORMAL}",),
    "normcdfinv": ("g * 2.5066282746310002 * exp(0.5 * z * z)",),
    "j0": ("-g * j1(a)",),
    "j1": ("g * (a == 0 ? 0.5 : j0(a) - z / (a == 0 ? 1 : a))",),
    "y0": ("-g * y1(a)",),
    "y1": ("g * (y0(a) - z / a)",),
    "jn": ("", "g * (a == 0 ? -j1(b) : 0.5 * (jn(a - 1, b) - jn(a + 1, b)))"),
    "yn": ("", "g * (a == 0 ? -y1(b) : 0.5 * (yn(a - 1, b) - yn(a + 1, b)))"),
    "cyl_bessel_i0": ("g * i1(a)",),
    "cyl_bessel_i1": ("g * (a == 0 ? 0.5 : i0(a) - z / (a == 0 ? 1 : a))",),
    # lengths
    "hypot": ("g * (a / z)", "g * (b / z)"),
    "rhypot": ("-g * a * z * z * z", "-g * b * z * z * z"),
    "norm3d": ("g * (a / z)", "g * (b / z)", "g * (c / z)"),
    "rnorm3d": ("-g * a * z * z * z", "-g * b * z * z * z", "-g * c * z * z * z"),
    "norm4d": ("g * (a / z)", "g * (b / z)", "g * (c / z)", "g * (d / z)"),
    "rnorm4d": ("-g * a * z * z * z", "-g * b * z * z * z", "-g * c * z * z * z", "-g * d * z * z * z"),
    # products, remainders, signs
    "mul_rn": ("g * b", "g * a"),
    "fma": ("g * b", "g * a", "g"),
    "fmod": ("g", "-g * trunc(a / b)"),
    "fdim": ("a > b ? g : 0", "a > b ? -g : 0"),
    "ldexp": ("ldexp(g, b)", ""),
    "copysign": ("g * (z / (a == 0 ? 1 : a))", ""),
    "abs": ("g * sign(a)",),
    "sign": ("",),
    "floor": ("",),
    "ceil": ("",),
    "trunc": ("",),
    "round": ("",),
    "logb": ("",),
    "heaviside": ("", "a == 0 ? g : 0"),
    "step": ("", ""),
    "square": ("2 * g * a",),
    "reciprocal": ("-g * z * z",),
    "deg2rad": ("g * 0.017453292519943295",),
    "rad2deg": ("g * 57.29577951308232",),
    # the smaller and the larger of two; ties share
    "max": ("a < b ? 0 : (a == b ? 0.5 * g : g)", "a > b ? 0 : (a == b ? 0.5 * g : g)"),
    "min": ("a > b ? 0 : (a == b ? 0.5 * g : g)", "a < b ? 0 : (a == b ? 0.5 * g : g)"),
    "fmax": ("a == b ? 0.5 * g : (a > b or isnan(b) ? g : 0)", "a == b ? 0.5 * g : (a > b or isnan(b) ? 0 : g)"),
    "fmin": ("a == b ? 0.5 * g : (a < b or isnan(b) ? g : 0)", "a == b ? 0.5 * g : (a < b or isnan(b) ? 0 : g)"),
    "clip": (
        "b < a < c or a == b == c ? g : ((a == b or a == c) and b < c ? 0.5 * g : 0)",
        "a < b <= c ? g : (a == b < c ? 0.5 * g : 0)",
        "a > c or c < b ? g : (a == c > b ? 0.5 * g : 0)",
    ),
    "saturate": ("0 < a < 1 ? g : 0",),
    "lerp": ("g * (1 - c)", "g * c", "g * (b - a)"),
    "smoothstep": (
        _smoothstep("(c - b) / ((b - a) * (b - a))"),
        _smoothstep("(a - c) / ((b - a) * (b - a))"),
        _smoothstep("1 / (b - a)"),
    ),
    # activations
    "relu": ("a <= 0 ? 0 : g",),
    "relu6": ("a <= 0 or a >= 6 ? 0 : g",),
    "hardtanh": ("a <= -1 or a >= 1 ? 0 : g",),
    "leaky_relu": ("a > 0 ? g : g * b", "a > 0 ? 0 : g * a"),
    "sigmoid": ("g * z * (1 - z)",),
    "silu": _sigmoid_times("", "a"),
    "quick_gelu": _sigmoid_times("1.702 * ", "1.702 * a"),
    "gelu": ("g * gelu_derivative(a)",),
    "gelu_tanh": _sigmoid_times(
        "(1.5957691216057308 + 0.21406444881780075 * a * a) * ",
        "a * (1.5957691216057308 + 0.07135481627260025 * a * a)",
    ),
    "softplus": ("g * sigmoid(a)",),
    "mish": (f"g * ({_TANH_OF_SOFTPLUS} + a * sigmoid(a) * (1 - {_TANH_OF_SOFTPLUS} * {_TANH_OF_SOFTPLUS}))",),
    "elu": ("a > 0 ? g : g * exp(a)",),
    "celu": ("a > 0 ? g : g * exp(a)",),
    "selu": ("a > 0 ? g * 1.0507009873554805 : g * 1.7580993408473766 * exp(a)",),
    "softsign": ("g / square(1 + abs(a))",),
    "tanhshrink": ("g * square(tanh(a))",),
    "hardsigmoid": ("-3 < a < 3 ? g / 6 : 0",),
    "hardswish": ("a <= -3 ? 0 : (a < 3 ? g * (a / 3 + 0.5) : g)",),
    "hardshrink": ("-b <= a <= b ? 0 : g", ""),
    "softshrink": ("-b <= a <= b ? 0 : g", "a > b ? -g : (a < -b ? g : 0)"),
    "logsigmoid": ("g * sigmoid(-a)",),
    "logit": ("g / (a * (1 - a))",),
    "logaddexp": ("g * sigmoid(a - b)", "g * sigmoid(b - a)"),
    "logaddexp2": ("g * sigmoid((a - b) * 0.6931471805599453)", "g * sigmoid((b - a) * 0.6931471805599453)"),
    "xlogy": ("a == 0 and b <= 0 ? 0 : g * log(b)", "g * a / b"),
    "xlog1py": ("a == 0 and b <= -1 ? 0 : g * log1p(b)", "g * a / (b + 1)"),
    # parts of complex numbers, of real operands
    "real": ("g",),
    "imag": ("",),
    "conj": ("g",),
    "angle": ("",),
    "complex": ("real(g)", "imag(g)"),
}

#: Of ``clip`` between two numbers.
CLIP_BETWEEN_NUMBERS: Row = ("b < a < c ? g : 0", "", "")

#: Functions of complex operands that are not analytic.
COMPLEX: dict[str, Row] = {
    "abs": ("g * sign(a)",),
    "sign": ("a == 0 ? 0 : (g - z * real(conj(z) * g)) / abs(a)",),
    "real": ("complex(g, 0)",),
    "imag": ("complex(0, g)",),
    "conj": ("conj(g)",),
    "angle": ("a == 0 ? 0 : g * complex(-imag(a), real(a)) / square(abs(a))",),
    "where": ("", "a ? g : 0", "a ? 0 : g"),
    "**": (
        "b == 0 ? 0 : g * conj(b * a ** (b - 1))",
        "a == 0 and real(b) >= 0 ? 0 : g * conj(a ** b * log(a))",
    ),
}

#: The same for a tangent ``g`` of the operand: what it adds to that of the result.  For others, rows are the same.
COMPLEX_TANGENTS: dict[str, Row] = {
    **COMPLEX,
    "abs": ("a == 0 ? 0 : real(conj(a) * g) / z",),
    "real": ("real(g)",),
    "imag": ("imag(g)",),
    "angle": ("a == 0 ? 0 : imag(g / a)",),
    "**": ("b == 0 ? 0 : g * b * a ** (b - 1)", "a == 0 and real(b) >= 0 ? 0 : g * a ** b * log(a)"),
    "complex": ("complex(g, 0)", "complex(0, g)"),
}

#: For an operand that is broadcast: what is summed over the axes that it lacks, and what becomes of the sum ``s``.
SUMMED: dict[str, dict[int, tuple[str, str]]] = {
    "/": {1: ("-g * a", "s / b / b")},
}

#: The other factors of a product, where ``a`` is 0 and where it is not.  ``hidden`` is 0, but has a derivative: that of
#: the only other factor that is 0.
_FACTORS = (
    "(zeros == 1 ? rest : zeros == 2 ? rest * (hidden - a) : 0)",
    "(zeros == 0 ? rest : zeros == 1 ? rest * hidden : 0)",
)

#: A reduction of ``a`` to ``z`` over ``n`` elements; ``k`` is its ``correction``.  :data:`BESIDE` has the other names.
REDUCTIONS: dict[str, str] = {
    "sum": "g",
    "mean": "g / n",
    "prod": f"g * ((a == 0 ? {_FACTORS[0]} : {_FACTORS[1]}) / (a == 0 ? 1 : a))",
    "max": "(a == z ? g : 0) / ties",
    "min": "(a == z ? g : 0) / ties",
    "var": "2 * g * (a - average) / (n - k)",
    "std": "z == 0 ? 0 : g * (a - average) / (z * (n - k))",
    "norm": "z == 0 ? 0 : g * (a / z)",
    "logsumexp": "g * exp(a - z)",
}

#: Tangents of reductions of complex numbers to real ones.
COMPLEX_REDUCTIONS: dict[str, str] = {
    "var": "2 * real(conj(a - average) * g) / (n - k)",
    "std": "z == 0 ? 0 : real(conj(a - average) * g) / (z * (n - k))",
    "norm": "z == 0 ? 0 : real(conj(a) * g) / z",
}

#: Further reductions of the same operand over the same axes, which :data:`REDUCTIONS` name.
BESIDE: dict[str, str] = {
    "average": "mean(a)",
    "ties": "count_nonzero(a == z)",
    "zeros": "count_nonzero(a == 0)",
    "rest": "prod(a == 0 ? 1 : a)",
    "hidden": "sum(a == 0 ? a : 0)",
}

_INTEGERS = (
    "popcount clz ffs ilogb lrint lround argmin argmax count_nonzero index size & | ^ << >> ~",
    "isnan isinf isfinite signbit any all logical_xor and or not == != < <= > >=",
)
#: Their results are integers or truth values, so that no gradient reaches them.
WITHOUT_GRADIENT = frozenset(" ".join(_INTEGERS).split())

#: Functions without a derivative here, and why.
NO_DERIVATIVE: dict[str, str] = {
    "lgamma": "its derivative, digamma, is no function of the language",
    "tgamma": "its derivative has digamma, which is no function of the language",
    "nextafter": "it steps from one number of the dtype to the next",
    "bitcast": "it reads bits",
}
