"""How each op of the IR is written in CUDA C++.  Only this file, ``casts.py`` and ``conversions.py`` know intrinsics.

``ROWS`` has the keys of ``ir/ops.py`` except the structural ops, which the emitter writes.  A value of an 8- or
16-bit integer dtype may have C's type int, never a value out of the dtype's range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgen.codegen.c_types import headers_of, register_type, storage_type
from kgen.codegen.casts import make_complex, spell_bitcast, spell_cast
from kgen.codegen.expressions import Expr, Level, Spelling, call, conditional, convert, infix, member, prefix
from kgen.codegen.helpers import HELPERS
from kgen.codegen.literals import constant, literal_value
from kgen.dtypes import FLOAT32, INT16, UINT16, DType
from kgen.ir.graph import Attr, CastMode, to_bits
from kgen.records import dataclass

__all__ = ["Expr", "Spelling", "constant", "headers_of", "register_type", "spell", "storage_type"]


@dataclass(frozen=True, slots=True)
class Use:
    """One use of an op: ``of`` is the dtype of its last argument, ``dtype`` of its result."""

    attr: Attr
    dtype: DType
    args: tuple[Expr, ...]
    of: DType


Row = Callable[[Use], Spelling]


def spell(
    name: str, attr: Attr, dtype: DType, args: Sequence[Expr], arg_dtypes: Sequence[DType], *, fast: bool = False
) -> Spelling:
    """The op ``name`` applied to ``args``, giving ``dtype``.  ``fast``: whether functions may be approximate."""
    rows = {**ROWS, **FAST} if fast and dtype is FLOAT32 else ROWS
    spelling = rows[name](Use(attr, dtype, tuple(args), arg_dtypes[-1] if arg_dtypes else dtype))
    headers = {h: None for t in (*arg_dtypes, dtype) for h in headers_of(t)}
    headers |= {h: None for helper in spelling.helpers for h in HELPERS[helper].headers}
    return Spelling(spelling.expr, spelling.helpers, tuple(headers))


# --- rows by shape --------------------------------------------------------------------------------


def _infix(symbol: str) -> Row:
    return lambda use: Spelling(infix(symbol, *use.args))


def _function(name: str) -> Row:
    """A function of CUDA's math library: ``expf`` of float, ``exp`` of double."""
    return lambda use: Spelling(call(name + _real(use).suffix, use.args))


def _real(use: Use) -> DType:
    return use.of if use.of.is_float else use.dtype  # ldexp's last argument is an integer


def _builtin(name: str) -> Row:
    """An overloaded function, the same name for every type."""
    return lambda use: Spelling(call(name, use.args))


def _by_kind(*, ints: Row, floats: Row) -> Row:
    return lambda use: (floats if use.of.is_float else ints)(use)


def _by_bool(*, bools: Row, others: Row) -> Row:
    return lambda use: (bools if use.of.is_bool else others)(use)


def _narrowed(use: Use, expr: Expr) -> Expr:
    """The value, converted to a narrow dtype, which wraps: C computes 8- and 16-bit integers as int."""
    return convert(register_type(use.dtype), expr) if use.dtype.size < 4 else expr


def _suffix(dtype: DType) -> str:
    """The suffix of the overload for an integer dtype; narrow dtypes promote to int."""
    return "i32" if dtype.size < 4 else dtype.short


def _overloaded(name: str) -> Row:
    """A helper with an overload for each integer type; narrow results wrap."""
    return lambda use: Spelling(_narrowed(use, call(name, use.args)), (f"{name}_{_suffix(use.of)}",))


def _template(name: str) -> Row:
    """A helper that is a template over its argument's type."""
    return lambda use: Spelling(call(name, use.args), (name,))


# --- integer arithmetic ---------------------------------------------------------------------------


def _wrapping(symbol: str, helper: str) -> Row:
    """``+ - *``: plain where C wraps or cannot overflow; unsigned arithmetic where overflow would be undefined."""

    def row(use: Use) -> Spelling:
        if use.of.signed and use.of.size >= 4:
            return _overloaded(helper)(use)
        a, b = use.args
        if symbol == "*" and use.of is UINT16:  # 65535 * 65535 is beyond int
            a = convert("unsigned int", a)
        return Spelling(_narrowed(use, infix(symbol, a, b)))

    return row


def _int_neg(use: Use) -> Spelling:
    if use.of.signed and use.of.size >= 4:
        return _overloaded("wrap_neg")(use)
    if use.of is INT16:
        return Spelling(call("wrap_neg_i16", use.args), ("wrap_neg_i16",))
    return Spelling(_narrowed(use, prefix("-", use.args[0])))


def _int_abs(use: Use) -> Spelling:
    if not use.of.signed:
        return Spelling(use.args[0])
    if use.of.size >= 4:
        return _overloaded("wrap_abs")(use)
    return Spelling(_narrowed(use, call("abs", use.args)))


def _int_sign(use: Use) -> Spelling:
    if not use.of.signed:
        is_positive = infix("!=", use.args[0], Expr("0", Level.PRIMARY))
        return Spelling(convert(register_type(use.dtype), is_positive))
    return _template("sign_of")(use)


def _division(symbol: str, signed: str, unsigned: str) -> Row:
    """``//`` and ``%``: C's operators for unsigned values and a nonzero literal divisor, otherwise helpers."""

    def row(use: Use) -> Spelling:
        if use.of.signed:
            return _overloaded(signed)(use)
        if literal_value(use.args[1]):
            return Spelling(infix(symbol, *use.args))
        # Narrow arguments may have type int: name the type.
        name = f"{unsigned}<{register_type(use.of)}>" if use.of.size < 4 else unsigned
        return Spelling(call(name, use.args), (unsigned,))

    return row


def _remainder(use: Use) -> Spelling:
    """``fmod`` of integers: C's ``%``, and a helper where that may be undefined."""
    if literal_value(use.args[1]) not in (None, 0, -1):
        return Spelling(infix("%", *use.args))
    if not use.of.signed:
        return ROWS["mod"](use)
    return Spelling(call(f"trunc_mod<{register_type(use.of)}>", use.args), ("trunc_mod",))


def _shift_left(use: Use) -> Spelling:
    value, amount = use.args
    literal = literal_value(amount)
    if literal is None or not 0 <= literal < use.of.bits:
        return _overloaded("shift_left")(use)
    amount = Expr(str(literal), Level.PRIMARY)
    if not use.of.signed:
        return Spelling(_narrowed(use, infix("<<", value, amount)))
    shifted = infix("<<", convert("unsigned long long" if use.of.size == 8 else "unsigned int", value), amount)
    return Spelling(convert(register_type(use.dtype), shifted))


def _shift_right(use: Use) -> Spelling:
    value, amount = use.args
    literal = literal_value(amount)
    if literal is None or not 0 <= literal < use.of.bits:
        return Spelling(call("shift_right", use.args), (f"shift_right_{_suffix(use.of)}",))
    return Spelling(infix(">>", value, Expr(str(literal), Level.PRIMARY)))


def _int_not(use: Use) -> Spelling:
    complement = prefix("~", use.args[0])
    return Spelling(complement if use.of.signed else _narrowed(use, complement))


def _unsigned_bits(use: Use) -> Expr:
    """A narrow signed value as unsigned, so that promotion adds no sign bits."""
    a = use.args[0]
    return convert("unsigned " + ("char" if use.of.size == 1 else "short"), a) if use.of.signed else a


def _popcount(use: Use) -> Spelling:
    if use.of.size == 8:
        return Spelling(call("__popcll", use.args))
    return Spelling(call("__popc", use.args if use.of.size == 4 else [_unsigned_bits(use)]))


def _clz(use: Use) -> Spelling:
    if use.of.size >= 4:
        return Spelling(call("__clz" if use.of.size == 4 else "__clzll", use.args))
    extra = Expr(str(32 - use.of.bits), Level.PRIMARY)
    return Spelling(infix("-", call("__clz", [_unsigned_bits(use)]), extra))


def _ffs(use: Use) -> Spelling:
    return Spelling(call("__ffsll" if use.of.size == 8 else "__ffs", use.args))


# --- floats ---------------------------------------------------------------------------------------


def _powi(use: Use) -> Spelling:
    """A power with an integer exponent.  Passes usually expand it before; this is for IR without these passes."""
    x, exponent = use.args[0], use.attr
    assert isinstance(exponent, int)
    if exponent == 0:
        return Spelling(constant(to_bits(1, use.dtype), use.dtype))
    if exponent == 1:
        return Spelling(x)
    if use.of.is_float:
        return Spelling(call(f"small_pow<{exponent}>", [x]), ("small_pow",))
    return _overloaded("int_pow")(Use(None, use.dtype, (x, constant(exponent, use.of)), use.of))


def _nan_extremum(name: str) -> Row:
    return lambda use: Spelling(call(f"nan_{name}", use.args), (f"nan_{name}_{use.of.short}",))


def _bessel_jn(use: Use) -> Spelling:
    return Spelling(call("bessel_jn", use.args), (f"bessel_jn_{use.dtype.short}",))


def _normal_cdf(use: Use) -> Spelling:
    """In float32, a helper with half the instructions of ``normcdff``, since ``gelu`` uses it."""
    if use.dtype.size == 4:
        return Spelling(call("normal_cdf", use.args), ("normal_cdf_f32",))
    return Spelling(call("normcdf", use.args))


def _cast(use: Use) -> Spelling:
    assert isinstance(use.attr, CastMode)
    return spell_cast(use.attr, use.dtype, use.args[0], use.of)


_EXACT: dict[str, Row] = {
    "const": lambda use: Spelling(constant(use.attr if isinstance(use.attr, int) else 0, use.dtype)),
    "cast": _cast,
    "bitcast": lambda use: spell_bitcast(use.dtype, use.args[0], use.of),
    "complex": lambda use: Spelling(make_complex(use.dtype, *use.args)),
    "real": lambda use: Spelling(member(use.args[0], "x")),
    "imag": lambda use: Spelling(member(use.args[0], "y")),
    "add": _by_kind(ints=_wrapping("+", "wrap_add"), floats=_infix("+")),
    "sub": _by_kind(ints=_wrapping("-", "wrap_sub"), floats=_infix("-")),
    "mul": _by_kind(ints=_wrapping("*", "wrap_mul"), floats=_infix("*")),
    "div": _infix("/"),
    "floordiv": _by_kind(ints=_division("/", "floor_div", "div_or_zero"), floats=_template("float_floor_div")),
    "mod": _by_kind(ints=_division("%", "floor_mod", "mod_or_zero"), floats=_template("float_floor_mod")),
    "fmod": _by_kind(ints=_remainder, floats=_function("fmod")),
    "neg": _by_kind(ints=_int_neg, floats=lambda use: Spelling(prefix("-", use.args[0]))),
    "abs": _by_kind(ints=_int_abs, floats=_function("fabs")),
    "sign": _by_kind(ints=_int_sign, floats=_template("float_sign")),
    "powi": _powi,
    "pow": _by_kind(ints=_overloaded("int_pow"), floats=_function("pow")),
    "fma": _function("fma"),
    "div_rn": lambda use: Spelling(call("div_rn", use.args), (f"div_rn_{use.dtype.short}",)),
    "mul_rn": lambda use: Spelling(call("__fmul_rn" if use.dtype.size == 4 else "__dmul_rn", use.args)),
    "min": _by_kind(ints=_builtin("min"), floats=_nan_extremum("min")),
    "max": _by_kind(ints=_builtin("max"), floats=_nan_extremum("max")),
    "fmin": _function("fmin"),
    "fmax": _function("fmax"),
    "and": _by_bool(bools=_infix("&&"), others=_infix("&")),
    "or": _by_bool(bools=_infix("||"), others=_infix("|")),
    "xor": _by_bool(bools=_infix("!="), others=_infix("^")),
    "not": _by_bool(bools=lambda use: Spelling(prefix("!", use.args[0])), others=_int_not),
    "shl": _shift_left,
    "shr": _shift_right,
    "popcount": _popcount,
    "clz": _clz,
    "ffs": _ffs,
    "lt": _infix("<"),
    "le": _infix("<="),
    "gt": _infix(">"),
    "ge": _infix(">="),
    "eq": _infix("=="),
    "ne": _infix("!="),
    "where": lambda use: Spelling(conditional(*use.args)),
    "round": _function("rint"),
    "jn": _bessel_jn,
    "normcdf": _normal_cdf,
    "gelu_derivative": lambda use: Spelling(call("gelu_derivative", use.args), (f"gelu_derivative_{use.dtype.short}",)),
    "isnan": _builtin("isnan"),
    "isinf": _builtin("isinf"),
    "isfinite": _builtin("isfinite"),
    "signbit": _builtin("signbit"),
}

#: The ops that have the name of their function in CUDA's math library.
_FUNCTIONS = """
    floor ceil trunc copysign nextafter fdim logb ilogb ldexp sqrt rsqrt cbrt rcbrt
    exp exp2 exp10 expm1 log log2 log10 log1p
    sin cos tan sinpi cospi asin acos atan sinh cosh tanh asinh acosh atanh atan2
    erf erfc erfinv erfcinv erfcx lgamma tgamma normcdfinv
    j0 j1 y0 y1 yn cyl_bessel_i0 cyl_bessel_i1
    hypot rhypot norm3d rnorm3d norm4d rnorm4d
"""

#: Op name -> how it is written.
ROWS: dict[str, Row] = {**_EXACT, **{name: _function(name) for name in _FUNCTIONS.split()}}


def _fast_normal_cdf(use: Use) -> Spelling:
    return Spelling(call("normal_cdf_fast", use.args), ("normal_cdf_fast_f32",))


def _fast_gelu_derivative(use: Use) -> Spelling:
    return Spelling(call("gelu_derivative_fast", use.args), ("gelu_derivative_fast_f32",))


def _fast_erfc(use: Use) -> Spelling:
    """``erfc(x)`` is ``2 normcdf(-sqrt(2) x)``."""
    argument = infix("*", Expr("-1.4142135f", Level.UNARY), use.args[0])
    tail = call("normal_cdf_fast", [argument])
    return Spelling(infix("*", Expr("2.0f", Level.PRIMARY), tail), ("normal_cdf_fast_f32",))


def _fast_log1p(use: Use) -> Spelling:
    one_more = infix("+", Expr("1.0f", Level.PRIMARY), use.args[0])
    return Spelling(call("__logf", [one_more]))


def _fast_expm1(use: Use) -> Spelling:
    return Spelling(infix("-", call("__expf", use.args), Expr("1.0f", Level.PRIMARY)))


#: Approximations in float32 of functions for which ``-use_fast_math`` has none.
FAST: dict[str, Row] = {
    "normcdf": _fast_normal_cdf,
    "gelu_derivative": _fast_gelu_derivative,
    "erfc": _fast_erfc,
    "log1p": _fast_log1p,
    "expm1": _fast_expm1,
}
