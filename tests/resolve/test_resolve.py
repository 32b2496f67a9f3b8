"""What names mean: arguments and their order, params, outputs, hiding, lints."""

from __future__ import annotations

import pytest

from kgen.diagnostics import KgenError
from kgen.dtypes import FLOAT16, FLOAT32, INT32
from kgen.program import Program
from tests.syntax.test_robust import program_of


def arguments(program: Program) -> list[str]:
    return [argument.name for argument in program.arguments]


def lints(text: str) -> list[str]:
    return [f"{lint.code} {lint.message.split('`')[1]}" for lint in program_of(text).lints]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("out = b * a + b", ["b", "a"]),
        ("out = b * a\ninput a", ["a", "b"]),
        ("inout p\ninput g\np = p - g * h", ["p", "g", "h"]),
        ("input c\nlet t = b\nout = a + t + c", ["c", "b", "a"]),
        ("out = cast<typeof(b)>(a) + b", ["b", "a"]),
        ("let e = exp(x)\nout = e * pi", ["x"]),
        ("input pi\nout = pi * e", ["pi"]),
        ("param k = 2\nout = x * k", ["x"]),
        ("def f(a, b) = a * b\nout = f(y, x)", ["y", "x"]),
        ("out = index(0)", []),
        ("out = (x - mean) * rsqrt(var + 1e-5) * gamma", ["x", "mean", "var", "gamma"]),
        ("out = sum(x, axis=0) * y", ["x", "y"]),
        ("out = half * float", ["half", "float"]),
    ],
)
def test_arguments(text: str, names: list[str]) -> None:
    """Listed inputs come first, the others by first occurrence in the text."""
    assert arguments(program_of(text)) == names


def test_declarations() -> None:
    """Declared dtypes, roles and defaults arrive in the program."""
    program = program_of(
        "input a: half, b\ninout p: float\nparam k: int = 3\nparam s = 1 / 2\nparam n: f32\np = a * k + n"
    )
    assert [(a.name, a.role, a.dtype, a.used) for a in program.arguments] == [
        ("a", "input", FLOAT16, True),
        ("b", "input", None, False),
        ("p", "inout", FLOAT32, True),
    ]
    assert [(p.name, p.dtype, p.default) for p in program.parameters] == [
        ("k", INT32, 3),
        ("s", None, 0.5),
        ("n", FLOAT32, None),
    ]
    assert program.outputs == ()


def test_outputs() -> None:
    """Outputs are in order of assignment; later lines read them; an output may be called `out`."""
    program = program_of("s: half = a + b\nlet t = s * 2\nout = t - s")
    assert [(o.name, o.dtype) for o in program.outputs] == [("s", FLOAT16), ("out", None)]
    assert arguments(program) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 * (3 + 4) ** 2 // 5 % 7", 2 * (3 + 4) ** 2 // 5 % 7),
        ("1 / 2", 0.5),
        ("-128", -128),
        ("2 ** -1", 0.5),
        ("-7 // 2", -4),
        ("-7 % 3", 2),
        ("1 << 40", 1 << 40),
        ("0xff & ~1 | 2 ^ 3", 0xFF & ~1 | 2 ^ 3),
        ("1 < 2 < 3", True),
        ("3 > 2 == 2", True),
        ("1 < 2 > 5", False),
        ("not 0", True),
        ("2 and 3", True),
        ("~true", False),
        ("true + true", 2),
        ("1 > 2 ? 3 : 4.5", 4.5),
        ("1 + 2j", 1 + 2j),
        ("-inf", float("-inf")),
        ("pi / 2", 3.141592653589793 / 2),
        ("2 ** 64 - 1", 2**64 - 1),
    ],
)
def test_literal_expression(text: str, value: complex) -> None:
    """A default of literals is evaluated as Python would."""
    (parameter,) = program_of(f"param k = {text}\nout = x * k").parameters
    assert parameter.default == value
    assert type(parameter.default) is type(value)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("half", "65519.9", 65519.9),
        ("half", "65520", None),
        ("half", "-1e5", None),
        ("half", "-inf", float("-inf")),
        ("float", "3.4028235e38", 3.4028235e38),
        ("float", "2", 2.0),
        ("double", "2 ** 1024", None),
        ("double", "10 ** 308", 1e308),
        ("float8_e4m3fn", "463.0", 463.0),
        ("float8_e4m3fn", "464", None),
        ("u8", "255", 255),
        ("u8", "-1", None),
        ("i8", "-128", -128),
        ("i8", "128", None),
        ("int", "true", 1),
        ("int", "1.0", None),
        ("bool", "true", True),
        ("bool", "0", None),
        ("c64", "1 + 2j", 1 + 2j),
        ("c64", "10 ** 400", None),
        ("c64", "3", 3 + 0j),
    ],
)
def test_typed_default(kind: str, text: str, value: complex | None) -> None:
    """A default becomes a value of its param's type, or is an error where it does not fit."""
    program = f"param k: {kind} = {text}\nout = x * k"
    if value is None:
        with pytest.raises(KgenError) as caught:
            program_of(program)
        assert caught.value.code == "bad-default"
    else:
        default = program_of(program).parameters[0].default
        assert default == value
        assert type(default) is type(value)


@pytest.mark.parametrize(
    "text", ["1 / 0", "1 % 0", "0 ** -1", "1 << -1", "2.5 | 1", "1j < 2", "9 ** 9 ** 9", "10.0 ** 400"]
)
def test_literal_without_value(text: str) -> None:
    """A literal expression without a value is an error, not a crash."""
    with pytest.raises(KgenError) as caught:
        program_of(f"param k = {text}\nout = x * k")
    assert caught.value.code == "bad-literal"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("input a, b\nout = a", ["unused-input b"]),
        ("param k = 1\nout = a", ["unused-param k"]),
        ("let t = a\nout = a", ["unused-let t"]),
        ("inout p\np = a", []),
        ("param k = 1\ndef f(x) = x * k\nout = f(a)", []),
        ("input True\nout = a > 0 ? True : a", []),
        ("let scale = 2 * a\nout = scal * a", ["unused-let scale"]),
        ("out = n + s + w + e", ["letter-e e"]),
        ("out = a * b * c * d * e", ["letter-e e"]),
        ("def f(u) = u - e\nout = f(a)", ["letter-e e"]),
        ("input e\nout = n + s + w + e", []),
        ("let e = exp(a)\nout = e + n", []),
        ("out = e ** x + y", []),
        ("out = log(x) / e + y", []),
        ("out = x * (e - 1)", []),
        ("out = rate * e + bias", []),
        ("out = x > 0 & x < 1", ["binds-tighter &"]),
        ("out = x == 0 | x == 1", ["binds-tighter |"]),
        ("out = 0 < (x & 3) < 2", []),
        ("out = x & 3 == 0", []),
        ("out = (x > 0) & (x < 1)", []),
        ("out = x^2", ["xor-as-power ^"]),
        ("out = a + x^2 + 1", ["xor-as-power ^"]),
        ("out = x ^ 0x2", []),
        ("out = x ^ 21 ^ y", []),
        ("out = x * erf", ["function-as-value erf"]),
        ("input erf\nout = x * erf", []),
        ("out = x * gamma + y0", []),  # names that arrays often have
        ("out = (float) - x", ["type-as-value float"]),
        ("input a: half\nout = cast<typeof(a)>(b)", []),
    ],
)
def test_lints(text: str, expected: list[str]) -> None:
    """What is legal and probably not meant is a lint."""
    assert lints(text) == expected


def test_hiding() -> None:
    """A def hides a built-in function, and any name a constant, in the whole program."""
    program = program_of("def relu(x) = max(x, 0.1 * x)\nlet e = relu(a)\nout = e + pi")
    assert list(program.defs) == ["relu"]
    assert arguments(program) == ["a"]


def test_values_named_as_functions() -> None:
    """They are no functions: what is called is one."""
    program = program_of(
        "input sum\nparam sqrt = 2\nlet max = max(sum, 0)\nabs = sqrt(max) / sum(sum) + sqrt * abs(max)"
    )
    assert arguments(program) == ["sum"]
    assert [o.name for o in program.outputs] == ["abs"]


def test_names_of_other_kinds() -> None:
    """A def's parameter may be called like anything, a function included, without hiding it elsewhere."""
    assert arguments(program_of("def f(max, e, a) = max * e + a\nout = f(max(x, y), e, a)")) == ["x", "y", "a"]


def test_def_may_read_params_declared_later() -> None:
    """Params are declarations: where their line stands does not matter."""
    assert program_of("def f(x) = x * k\nout = f(a)\nparam k = 2").parameters[0].default == 2
