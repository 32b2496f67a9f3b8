"""How torch's operators are said in kgen: for each, the program of one of OpInfo's samples.

In a program ``a`` is the sample's input, and ``b``, ``c``, ... are its further arguments that are tensors or numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

#: The right-hand side for a sample's arguments and keywords; None for a sample that has no program.
Say = Callable[[Sequence[Any], Mapping[str, Any]], "str | None"]

_UNARY = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc erfinv exp exp2 expm1 floor isfinite isinf isnan "
    "lgamma log log10 log1p log2 positive rsqrt sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc angle "
    "reciprocal"
)
_SAME_BINARY = (
    "atan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift copysign eq fmax fmin fmod "
    "floor_divide ge gt heaviside hypot le logaddexp logaddexp2 logical_and logical_or logical_xor lt maximum minimum "
    "ne nextafter ldexp remainder xlogy"
)
_WORDS = {"eq": "equal", "ge": "greater_equal", "gt": "greater", "le": "less_equal", "lt": "less", "ne": "not_equal"}


def _fixed(text: str, *, count: int) -> Say:
    """A program without options, of so many arguments."""

    def say(args: Sequence[Any], named: Mapping[str, Any]) -> str | None:
        return text if len(args) == count and not named else None

    return say


def _with(text: str, **defaults: Any) -> Say:
    """A program with numbers of the sample's keywords, or of its further arguments, written into it."""

    def say(args: Sequence[Any], named: Mapping[str, Any]) -> str | None:
        values = {**defaults, **dict(zip(defaults, args[1:], strict=False)), **named}
        values.pop("inplace", None)
        if set(values) != set(defaults) or not all(isinstance(v, bool | int | float) for v in values.values()):
            return None
        return text.format(**{name: literal(value) for name, value in values.items()})

    return say


def literal(value: complex) -> str:
    """A Python number as kgen writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"({value!r})"


def _scaled(symbol: str, flipped: bool = False) -> Say:
    """``add`` and ``sub`` with ``alpha=``."""

    def say(args: Sequence[Any], named: Mapping[str, Any]) -> str | None:
        if len(args) != 2:
            return None
        one, two = ("b", "a") if flipped else ("a", "b")
        alpha = named.get("alpha", 1)
        return f"{one} {symbol} {two}" if alpha == 1 else f"{one} {symbol} {literal(alpha)} * {two}"

    return say


def _divide(args: Sequence[Any], named: Mapping[str, Any]) -> str | None:
    whole = not any(getattr(a, "is_floating_point", lambda a=a: isinstance(a, float))() for a in args)
    words = {None: "a / b", "floor": "a // b", "trunc": "(a - fmod(a, b)) // b" if whole else "trunc(a / b)"}
    return words[named.get("rounding_mode")] if len(args) == 2 else None


def _reduce(name: str, *, squares: bool = False) -> Say:
    def say(args: Sequence[Any], named: Mapping[str, Any]) -> str | None:
        given: dict[str, Any] = dict(named)
        if len(args) > 1 and "dim" not in given:
            given["dim"] = args[1]
        if len(args) > 2:
            given["keepdim"] = args[2]
        dim, keep, dtype = given.pop("dim", None), given.pop("keepdim", False), given.pop("dtype", None)
        options = ""
        if squares:
            unbiased = given.pop("unbiased", None)
            correction = given.pop("correction", 1 if unbiased is not False else 0)
            if isinstance(dim, bool):  # unbiased
                dim, correction = None, 1 if dim else 0
            options = f", correction={1 if correction is None else correction}"
        if given or dtype is not None or (isinstance(dim, tuple | list) and not dim):
            return None
        axis = tuple(dim) if isinstance(dim, list) else dim
        where = "" if axis is None else f", axis={_axes(axis)}"
        return f"{name}(a{where}{options}{', keepdims=true' if keep else ''})"

    return say


def _axes(axis: Any) -> str:
    return str(axis) if isinstance(axis, int) else "(" + "".join(f"{n}," for n in axis) + ")"


def _softmax(text: str) -> Say:
    """``{axis}`` in ``text``; a dtype is a cast before it."""

    def say(args: Sequence[Any], named: Mapping[str, Any]) -> str | None:
        dim = named.get("dim", args[1] if len(args) > 1 else None)
        if not isinstance(dim, int) or named.get("dtype") is not None or len(args) > 2:
            return None
        return text.replace("{axis}", f"axis={dim}, keepdims=true")

    return say


def _loss(text: str) -> Say:
    """A loss of ``a`` and ``b``, reduced as the sample says."""

    def say(args: Sequence[Any], named: Mapping[str, Any]) -> str | None:
        given = dict(named)
        how = given.pop("reduction", "mean")
        numbers = {"beta": 1.0, "delta": 1.0}
        numbers |= {name: given.pop(name) for name in list(given) if name in numbers}
        if given or len(args) != 2:
            return None
        each = text.format(**{name: literal(value) for name, value in numbers.items()})
        return {"none": each, "sum": f"sum({each})", "mean": f"mean({each})"}[how]

    return say


def _clamp(args: Sequence[Any], named: Mapping[str, Any]) -> str | None:
    if named or len(args) != 3:
        return None
    low, high = args[1] is not None, args[2] is not None
    return {(True, True): "clip(a, b, c)", (True, False): "max(a, b)", (False, True): "min(a, c)"}.get((low, high))


def _where(args: Sequence[Any], named: Mapping[str, Any]) -> str | None:
    return "where(b, a, c)" if len(args) == 3 and not named else None


SPELLINGS: Mapping[str, Say] = {
    **{name: _fixed(f"{name}(a)", count=1) for name in _UNARY.split()},
    **{name: _fixed(f"{_WORDS.get(name, name)}(a, b)", count=2) for name in _SAME_BINARY.split()},
    "add": _scaled("+"),
    "sub": _scaled("-"),
    "rsub": _scaled("-", flipped=True),
    "mul": _fixed("a * b", count=2),
    "pow": _fixed("a ** b", count=2),
    "__rpow__": _fixed("b ** a", count=2),
    "__radd__": _fixed("b + a", count=2),
    "__rsub__": _fixed("b - a", count=2),
    "__rmul__": _fixed("b * a", count=2),
    "__rdiv__": _fixed("b / a", count=2),
    "__rmod__": _fixed("b % a", count=2),
    "__rand__": _fixed("b & a", count=2),
    "__ror__": _fixed("b | a", count=2),
    "__rxor__": _fixed("b ^ a", count=2),
    "true_divide": _fixed("a / b", count=2),
    **{f"div.{mode}": _divide for mode in ("no_rounding_mode", "floor_rounding", "trunc_rounding")},
    "neg": _fixed("-a", count=1),
    "bitwise_not": _fixed("~a", count=1),
    "logical_not": _fixed("not a", count=1),
    "conj": _fixed("conj(a)", count=1),
    "conj_physical": _fixed("conj(a)", count=1),
    "real": _fixed("real(a)", count=1),
    "imag": _fixed("imag(a)", count=1),
    "complex": _fixed("complex(a, b)", count=2),
    "polar": _fixed("complex(a * cos(b), a * sin(b))", count=2),
    "sgn": _fixed("sign(a)", count=1),
    "round": _fixed("round(a)", count=1),
    "frac": _fixed("a - trunc(a)", count=1),
    "deg2rad": _fixed("deg2rad(a)", count=1),
    "rad2deg": _fixed("rad2deg(a)", count=1),
    "isposinf": _fixed("a == inf", count=1),
    "isneginf": _fixed("a == -inf", count=1),
    "lerp": _fixed("lerp(a, b, c)", count=3),
    "where": _where,
    "clamp": _clamp,
    "clamp_min": _fixed("max(a, b)", count=2),
    "clamp_max": _fixed("min(a, b)", count=2),
    "max.binary": _fixed("max(a, b)", count=2),
    "min.binary": _fixed("min(a, b)", count=2),
    "addcmul": _with("a + {value} * b * c", value=1),
    "special.entr": _fixed("isnan(a) ? a : (a > 0 ? -(a * log(a)) : (a == 0 ? 0 : -inf))", count=1),
    "special.erfcx": _fixed("erfcx(a)", count=1),
    "special.i1": _fixed("i1(a)", count=1),
    "i0": _fixed("i0(a)", count=1),
    "special.ndtr": _fixed("ndtr(a)", count=1),
    "special.ndtri": _fixed("ndtri(a)", count=1),
    "special.xlog1py": _fixed("xlog1py(a, b)", count=2),
    "special.bessel_j0": _fixed("j0(a)", count=1),
    "special.bessel_j1": _fixed("j1(a)", count=1),
    "special.bessel_y0": _fixed("y0(a)", count=1),
    "special.bessel_y1": _fixed("y1(a)", count=1),
    "special.modified_bessel_i0": _fixed("i0(a)", count=1),
    "special.modified_bessel_i1": _fixed("i1(a)", count=1),
    "logit": _fixed("logit(a)", count=1),
    "nn.functional.relu": _fixed("relu(a)", count=1),
    "nn.functional.relu6": _fixed("relu6(a)", count=1),
    "nn.functional.silu": _fixed("silu(a)", count=1),
    "nn.functional.silu.complex": _fixed("silu(a)", count=1),
    "nn.functional.mish": _fixed("mish(a)", count=1),
    "nn.functional.selu": _fixed("selu(a)", count=1),
    "nn.functional.softsign": _fixed("softsign(a)", count=1),
    "nn.functional.tanhshrink": _fixed("tanhshrink(a)", count=1),
    "nn.functional.hardsigmoid": _fixed("hardsigmoid(a)", count=1),
    "nn.functional.hardswish": _fixed("hardswish(a)", count=1),
    "nn.functional.logsigmoid": _fixed("logsigmoid(a)", count=1),
    "nn.functional.elu": _with("a > 0 ? a : {alpha} * expm1(a)", alpha=1.0),
    "nn.functional.celu": _with("a > 0 ? a : {alpha} * expm1(a / {alpha})", alpha=1.0),
    "nn.functional.gelu": lambda args, named: (
        {"none": "gelu(a)", "tanh": "gelu_tanh(a)"}[named.get("approximate", "none")] if len(args) == 1 else None
    ),
    "nn.functional.leaky_relu": _with("leaky_relu(a, {negative_slope})", negative_slope=0.01),
    "nn.functional.softshrink": _with("softshrink(a, {lambd})", lambd=0.5),
    "nn.functional.hardshrink": _with("hardshrink(a, {lambd})", lambd=0.5),
    "nn.functional.hardtanh": _with("clip(a, {min_val}, {max_val})", min_val=-1.0, max_val=1.0),
    "nn.functional.threshold": _with("not (a <= {threshold}) ? a : {value}", threshold=0, value=0),
    "nn.functional.softplus": _with(
        "a * {beta} > {threshold} ? a : softplus(a * {beta}) / {beta}", beta=1, threshold=20
    ),
    "nn.functional.mse_loss": _loss("(a - b) ** 2"),
    "nn.functional.l1_loss": _loss("abs(a - b)"),
    "nn.functional.huber_loss": _loss(
        "abs(a - b) <= {delta} ? 0.5 * (a - b) ** 2 : {delta} * (abs(a - b) - 0.5 * {delta})"
    ),
    "nn.functional.smooth_l1_loss": _loss(
        "abs(a - b) < {beta} ? 0.5 * (a - b) ** 2 / {beta} : abs(a - b) - 0.5 * {beta}"
    ),
    **{name: _reduce(name) for name in ("sum", "prod", "mean", "argmax", "argmin", "any", "all", "logsumexp")},
    "count_nonzero": _reduce("count_nonzero"),
    "amax": _reduce("max"),
    "amin": _reduce("min"),
    "max.reduction_no_dim": _reduce("max"),
    "min.reduction_no_dim": _reduce("min"),
    **{name: _reduce(name.partition(".")[0], squares=True) for name in ("var", "var.unbiased", "std", "std.unbiased")},
    "softmax": _softmax("exp(a - max(a, {axis})) / sum(exp(a - max(a, {axis})), {axis})"),
    "log_softmax": _softmax("a - logsumexp(a, {axis})"),
}
