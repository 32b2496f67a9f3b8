"""What is said of other libraries' functions: names that are none here, and programs that are."""

from __future__ import annotations

import re
import warnings

import pytest

import kgen
from kgen.functions import FUNCTIONS
from kgen.syntax.foreign_functions import FOREIGN_FUNCTIONS, spelling_in_kgen

CALLS = ("k(", "out=", "x[", "shape=", "condition", "cast<typeof(x)>(...)", "typeof(x)")  # no programs


@pytest.mark.parametrize("hint", sorted(set(FOREIGN_FUNCTIONS.values())))
def test_hints_are_programs(hint: str) -> None:
    """Whatever stands in backquotes can be written."""
    lines: list[str] = []
    for n, part in enumerate(re.findall(r"`([^`]+)`", hint)):
        if not part.startswith(CALLS):
            lines.append(part if re.match(r"(let )?\w+ = ", part) else f"result_{n} = {part}")
    if lines and all(line.startswith("let ") for line in lines):
        pytest.fail("nothing is computed")
    if lines:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kgen.jit("\n".join(lines))


@pytest.mark.parametrize("text", ["x.{name}(1)", "torch.{name}(x)", "x.{name}_(1)", "f(x).{name}(1)"])
@pytest.mark.parametrize("name", ["gather", "index_add", "masked_fill", "chunk", "unsqueeze"])
def test_methods_and_modules(text: str, name: str) -> None:
    """What is said of a function is said of the method, and of the module's."""
    with pytest.raises(kgen.KgenError) as caught:
        kgen.jit(f"out = {text.format(name=name)}")
    assert caught.value.diagnostics[0].hint == FOREIGN_FUNCTIONS[name]


def test_no_name_is_a_function_here() -> None:
    """The table never hides what there is."""
    assert not FOREIGN_FUNCTIONS.keys() & FUNCTIONS.keys()


WANTED = (
    "roll shift take gather one_hot histogram arange diff tril triu outer einsum matmul dot reshape permute cumsum "
    "cumprod sort argsort topk unique concatenate chunk tile pad conv softmax"
)


@pytest.mark.parametrize(("name", "meant"), [("silo", "silu"), ("exo", "exp"), ("tahn", "tanh"), ("sigmod", "sigmoid")])
def test_typing_errors(name: str, meant: str) -> None:
    with pytest.raises(kgen.KgenError) as caught:
        kgen.jit(f"out = {name}(x)")
    assert caught.value.diagnostics[0].hint == f"did you mean `{meant}`?"


@pytest.mark.parametrize("name", WANTED.split())
def test_what_numpy_and_pytorch_have(name: str) -> None:
    """Nobody is told to define these first."""
    with pytest.raises(kgen.KgenError) as caught:
        kgen.jit(f"out = {name}(x)")
    hint = caught.value.diagnostics[0].hint or ""
    assert "define it first" not in hint
    assert "did you mean" not in hint


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("__float2half", "cast<half>(x)"),
        ("__double2int_rz", "cast<int, rz>(x)"),
        ("__int2float_rn", "cast<float, rne>(x)"),
        ("__ll2double_rd", "cast<double, rd>(x)"),
        ("__int_as_float", "bitcast<float>(x)"),
        ("float2bfloat16", "cast<bfloat16>(x)"),
    ],
)
def test_conversions_of_cuda(name: str, hint: str) -> None:
    """Their names say the type and the rounding, and the hint is a program."""
    assert spelling_in_kgen(name) == f"write `{hint}`"
    kgen.jit(f"out = {hint}")


def test_many_unknown_functions_take_no_time_each() -> None:
    """Suggestions are looked for as long as somebody reads them."""
    defs = "\n".join(f"def function_{n}(x) = x" for n in range(2000))
    calls = "\n".join(f"y{n} = functoin_{n}(a)" for n in range(2000))
    with pytest.raises(kgen.KgenError) as caught:
        kgen.jit(f"{defs}\n{calls}")
    found = [d for d in caught.value.diagnostics if d.code == "unknown-function"]
    assert len(found) == 2000
    assert "did you mean `function_0`?" in str(found[0].hint)
    assert "did you mean" not in str(found[-1].hint)
