"""Generated texts declare no integer that nothing reads, and their comments name what is there."""

from __future__ import annotations

import re

import pytest

import kgen
from kgen import KgenError
from tests.codegen.bare import bare
from tests.fuzz.generate import generate
from tests.fuzz.reductions import generate as generate_reduction
from tests.snapshots.cases import CASES, Case

#: A line that declares an integer, and does nothing else: indentation, name.
_DECLARED = re.compile(
    r"( +)const (?:unsigned int|int|long long|bool) (\w+) = (?!.*(?:atomic|shfl|\+\+|, \w+ = ))[^;]*;(?: *//.*)?"
)
_COMMENT = re.compile(r"//.*")
_ABOUT_LAUNCH = re.compile(r"^// (?:Launch|Memory|Bound): .*", re.MULTILINE)

TEXT = """\
{
    const int lane = threadIdx.x;
    const unsigned int row = blockIdx.x;
    const int next = atomicAdd(&taken, 1);
    for (int i = lane; i < n; ++i) {
        const unsigned int s0 = i / 7;  // of row
        const int r0 = (int)(i - s0 * 7);
        total += x[i];
    }
    for (int i = lane; i < n; ++i) {
        const unsigned int s0 = i / 7;
        const int r0 = (int)(i - s0 * 7);
        total += x[r0];
    }
}
"""


def unread(text: str) -> list[str]:
    """The names that are declared and not read before their block ends, last first."""
    kept: list[str] = []  # last line first
    found: list[str] = []
    for line in reversed(text.split("\n")):
        declared = _DECLARED.fullmatch(line)
        if declared is None or _is_read(declared[2], len(declared[1]), kept):
            kept.append(line)
        else:
            found.append(declared[2])
    return found


def _is_read(name: str, indent: int, later: list[str]) -> bool:
    word = re.compile(rf"\b{name}\b")
    for line in reversed(later):
        code = _COMMENT.sub("", line)
        if word.search(code):
            return True
        if code.lstrip().startswith("}") and len(code) - len(code.lstrip()) < indent:
            return False
    return False


def test_unread() -> None:
    """A name counts where its block can see it, not in comments; what does more than declare stays."""
    assert unread(TEXT) == ["r0", "s0", "row"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_generated(case: Case) -> None:
    assert not unread(case.path.read_text(encoding="utf-8"))


def misnamed(text: str) -> list[str]:
    """What comments on memory and launch put in backquotes, and no identifier of the code has or ends with."""
    names = [name for line in _ABOUT_LAUNCH.findall(text) for name in re.findall(r"`\*?(\w+)`", line)]
    code = _COMMENT.sub("", text)
    return [name for name in names if not re.search(rf"{name}\b", code)]


def test_misnamed() -> None:
    text = (
        "// Launch: `span`: any.\n// Memory: `*_partials`, `arrived`.\nvoid k(float* sum_partials, int span) // arrived"
    )
    assert misnamed(text) == ["arrived"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_comments_name_what_is_there(case: Case) -> None:
    assert not misnamed(case.path.read_text(encoding="utf-8"))


def _texts(seed: int) -> list[str]:
    """Of a random program without reductions, and of one with them."""
    found: list[str] = []
    call, program = generate(seed), generate_reduction(seed)
    arguments = call.arguments(False)
    words = {name: value for name, value in arguments.keywords.items() if name != "out"}
    try:
        kernel = kgen.jit(call.text, name="k", fmad=call.fmad, fast=call.fast)
        found.append(kernel.source(*arguments.inputs.values(), **words))
    except KgenError:
        pass
    try:
        reduction = kgen.jit(program.text, name="k")
        found += [reduction.source(**program.arguments(), arch=arch) for arch in (None, "sm_90")]
    except KgenError:
        pass
    return found


def test_random_programs() -> None:
    """Refused programs have no text; most have one."""
    texts = [text for seed in range(60) for text in _texts(seed)]
    assert len(texts) > 100
    assert not {name: text for text in texts for name in unread(text) + misnamed(text)}


def test_values_of_a_row() -> None:
    """They have a line of their own where they are read again, and the name of the user, the output or the function."""
    x = kgen.spec((64, 1000), "f32")
    norm = "y = x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 0.5)"
    assert "const float rsqrt_v = rsqrtf(mean_v + 0.5f);" in kgen.jit(norm).source(x)
    assert "rsqrt_v2" not in kgen.jit(f"let rsqrt = x * 3\n{norm} + rsqrt * rsqrt").source(x)
    quantize = "s = max(abs(x), axis=-1, keepdims=true) / 127\nq = cast<i8, sat, rne>(x / s)"
    assert "const float s_out = divide_by_integer(max_v, 127.0f" in kgen.jit(quantize).source(x)


def test_one_column_a_thread() -> None:
    """It has no arrays or packs of one element, and no loop over them."""
    x = kgen.spec((300, 100001), "f32")
    text = kgen.jit("s = sum(x, axis=0)\nm = max(x, axis=0)", name="k").source(x)
    assert "threads across columns, " in text
    kernel = bare(text.partition("__launch_bounds__")[2].partition("// --- Host code")[0])
    assert "sum_acc" in kernel
    assert not any(text in kernel for text in ("j < 1;", "[1];"))


def test_kernels_of_several_accesses_a_group() -> None:
    """Groups of 32 bytes take two accesses of 16: such a kernel is not called unaligned."""
    text = kgen.jit("out = cast<half>(a + b)", name="k").source(kgen.spec(999, "f64"), kgen.spec(999, "f16"))
    assert "Pack<double, 4, 16>" in text
    assert "unaligned" not in text.partition("// --- Host code")[0]
