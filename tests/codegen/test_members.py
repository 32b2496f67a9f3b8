"""Files have no member functions of structs that they do not call."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kgen
from kgen.codegen.members import without_unused_members

STRUCT = """// A sum of floats.
template <typename T>
struct Sum {
    T sum;

    static __device__ __forceinline__ Sum identity() { return {0}; }

    __device__ __forceinline__ void add(T x) { sum += x; }
    __device__ __forceinline__ void add(T x, T y) { add(x * y); }

    // The square root.
    __device__ __forceinline__ T norm() const
    {
        return sqrt(sum);
    }

    // Both.
    template <typename... Count>
    __device__ __forceinline__ T deviation(Count... count) const { return sqrt(variance(count...)); }

    template <typename Count>
    __device__ __forceinline__ T variance(Count count) const { return sum / (T)count; }
};"""
FILES = sorted(Path(__file__).parents[2].glob("generated/*.cu"))


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("Sum<float>::identity()", ["identity"]),
        ("Other<float>::identity()", []),
        ("a.add(x);", ["add"]),
        ("a.add(x, f(y, z));", ["add", "add"]),
        ("a.added(x); is_norm(); norm = 1;", []),
        ("a.norm();", ["norm"]),
        ("a.deviation(n);", ["deviation", "variance"]),
        ("a.variance(n);", ["variance"]),
        ("a.variance(n, 1);", []),
    ],
)
def test_what_is_called_stays(code: str, names: list[str]) -> None:
    """By numbers of arguments, with what it calls."""
    text = without_unused_members(f"{STRUCT}\n{code}\n", [STRUCT])
    assert re.findall(r"__forceinline__ \w+ (\w+)\(", text) == names
    assert text.endswith(f"}};\n{code}\n")
    assert "\n\n\n" not in text
    assert "\n\n}" not in text
    assert ("square root" in text) == ("norm" in names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_generated_files(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for name in set(re.findall(r"^    (?:static )?__device__ __forceinline__ [^\n(]*?(\w+)\(", text, re.MULTILINE)):
        assert len(re.findall(rf"\b{name}\b(?:<[^;()]*>)?\(", text)) > 1, f"{path.name}: {name} is never called"


def test_corrections_stay() -> None:
    """What is called with a pack of arguments has any number of them."""
    kernel = kgen.jit("s = std(x, axis=-1)\nc = std(x, axis=-1, correction=1)\nn = norm(x, axis=-1)", device="cpu")
    text = kernel.source(dtypes="f32")
    assert text.count("T variance(") == 3
    assert "T deviation(" in text
    assert "T mean_or_nan(" not in text
