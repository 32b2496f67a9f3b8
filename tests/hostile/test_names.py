"""Names and comments of a program never become CUDA of their own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import kgen
from kgen.runtime.cuda import nvrtc
from kgen.runtime.cuda.compiler import flags

WORDS = """
    int float double char short long unsigned signed bool void auto const static extern inline register
    volatile class struct union enum template typename namespace using operator new delete this throw try
    catch virtual public private protected friend mutable explicit constexpr noexcept decltype nullptr sizeof
    alignas alignof typedef if else for while do switch case default break continue return goto asm wchar_t
    char16_t concept requires restrict __restrict__ __global__ __device__ __shared__ __constant__ __host__
    __launch_bounds__ __forceinline__ threadIdx blockIdx blockDim gridDim warpSize dim3 float4 uint2 half
    __half __nv_bfloat16 cudaStream_t clock clock64 NULL EOF INFINITY NAN M_PI __CUDA_ARCH__ __CUDACC__
    __FILE__ __LINE__ assert printf malloc free memcpy memset __umulhi __ldg __shfl_sync atomicAdd
    __syncthreads fmaf expf sinf sqrtf rsqrtf __float2half main std linux unix
"""

GENERATED = """
    a_ptr a_v a_vec a_new a_newvec a_at a_stride x_v x_v2 t layout n i j e c0 c1 q0 q1 at0 at1 index0 size_n0
    a_size0 size_0 Pack element out_v out_ptr kernel kernel_element kernel_contiguous kernel_strided_1d
    kernel_strided_1d_layout extent magic shift stride nan_max nan_min wrap_add floor_div small_pow bit_cast at
    T N Bytes value result
"""


def check_compiles(text: str) -> None:
    """NVRTC takes it; it does not optimise (``-G``), in half of the time."""
    assert nvrtc.build(text, "ptx", name="hostile.cu", options=(*flags("sm_90", True, False), "-G"))[0]


def batches(text: str, size: int) -> list[list[str]]:
    """The words of a text, a few at a time."""
    words = text.split()
    return [words[i : i + size] for i in range(0, len(words), size)]


# NVRTC takes twice as long for 40 inputs as for these, 12 at a time.
@pytest.mark.parametrize("words", batches(WORDS + GENERATED, 12), ids=lambda words: words[0])
def test_names_of_inputs(words: list[str]) -> None:
    """Inputs may be called what they like: keywords, macros, intrinsics, and names that kgen itself makes."""
    text = kgen.jit(f"input {', '.join(words)}\nout = {' + '.join(words)}").source(rank=2)
    check_compiles(text)


@pytest.mark.parametrize("words", batches(WORDS + GENERATED, 12), ids=lambda words: words[0])
def test_names_of_everything_else(words: list[str]) -> None:
    """So may outputs, temporaries, functions, params and updated arrays."""
    lines = ["param {0}: float", "param {1} = 2.0", "inout {2}", "def {3}({4}) = {4} * 2", "let {5} = {3}(a)",
             "let {6} = {5} * {0} + {1}", "{7} = {6} * {6} * b", "{8} = {7} + {2}", "{2} = {2} + {5}"]  # fmt: skip
    names = [*words, *(f"spare{i}" for i in range(9))][:9]
    alpha: dict[str, Any] = {names[0]: 1.0}
    text = kgen.jit("\n".join(lines).format(*names)).source(
        kgen.spec((4, 5), "f32", (1, 4)), kgen.spec((4, 5), "f16"), kgen.spec((4, 1), "i8"), **alpha
    )
    check_compiles(text)


@pytest.mark.parametrize("base", ["int", "main", "template", "__global__", "2nd", "a-b c", "*/", "é", "Pack", "a_ptr"])
def test_names_of_kernels(base: str, tmp_path: Path) -> None:
    """The name of a file is made fit for CUDA; a name that is asked for has to be fit."""
    path = tmp_path / f"{base.replace('/', '-')}.k"
    path.write_text("out = a + index(0)")
    check_compiles(kgen.jit(path=path).source(kgen.spec((4, 5), "f32", (1, 4))))
    if base.isidentifier() and base.isascii() and base == base.strip("_"):
        check_compiles(kgen.jit(path=path, name=base).source(kgen.spec((4, 5), "f32", (1, 4))))
    else:
        with pytest.raises(kgen.KgenError, match="cannot be called"):
            kgen.jit(path=path, name=base)


def test_indices_and_sizes_beside_like_named_inputs() -> None:
    """The coordinates and extents that kgen passes by itself do not meet inputs that are called so."""
    program = (
        "out = index(0) + index(1) * size(0) + index0 + index1 + c0 + n + i + at + index0_size0 + size_n0 + size_0"
    )
    check_compiles(kgen.jit(program).source(*(kgen.spec((4, 5), "i64", (1, 4)) for _ in range(9))))


SENTINEL = "SENTINEL_OUTSIDE"
BIDI = "\u202e\u2066\u2069\u200f"
COMMENTS = [
    f"*/ {SENTINEL} /*", f"\\\n# {SENTINEL}", f"??/\n# {SENTINEL}", f'" {SENTINEL} \'', f"{BIDI} {SENTINEL}",
    f"%{{ {SENTINEL} }}% {{{{ {SENTINEL} }}}} {{% {SENTINEL} %}} {{# {SENTINEL} #}}", f"\t\x0b\x0c{SENTINEL}",
    f"\u2028{SENTINEL}", f"\u2029{SENTINEL}", f"\x85{SENTINEL}", f"//{SENTINEL}\\", f"{SENTINEL}\\ ", f"{SENTINEL}??/",
    f"\x00{SENTINEL}", f"\x1b[31m{SENTINEL}", f"\\u000a{SENTINEL}", f"#line 1 {SENTINEL}", f"${{{SENTINEL}}}", "\ud800",
]  # fmt: skip


def outside_comments(text: str) -> str:
    """The text as the compiler sees it: lines spliced first, as the C++ standard has it, then comments removed."""
    spliced = re.sub(r"(?:\\|\?\?/)[ \t\v\f]*\n", "", text)
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", spliced, flags=re.DOTALL)


def check_inert(text: str) -> None:
    assert SENTINEL not in outside_comments(text)
    unprintable = {c for c in text if not c.isprintable() and c != "\n"}
    assert not unprintable
    text.encode("utf-8")
    check_compiles(text)


@pytest.mark.parametrize("comment", COMMENTS, ids=lambda text: ascii(text))
def test_comments_stay_comments(comment: str) -> None:
    """Whatever a program's comments hold, none of it is code, or hides code from a reader."""
    program = f"# {comment}\nlet t = a  # {comment}\nout = (t +  # {comment}\n b) # {comment}\n# {comment}"
    check_inert(kgen.jit(program).source(layout="contiguous"))


FILE_NAMES = [
    f"*{SENTINEL}.k", f"a\n{SENTINEL};.k", f"a\\\n{SENTINEL}.k", f"{SENTINEL}\\", f'"{SENTINEL}.k', f"'{SENTINEL}'.k",
    f"??-{SENTINEL}??", f"{BIDI}{SENTINEL}.k", f"$({SENTINEL}).k", f"-o {SENTINEL}.k", f"<{SENTINEL}>.k",
]  # fmt: skip


@pytest.mark.parametrize("name", FILE_NAMES, ids=lambda text: ascii(text))
def test_file_names_stay_names(name: str, tmp_path: Path) -> None:
    """The same for the name of the program's file, which the banner and the kernels bear."""
    path = tmp_path / name
    path.write_text("out = a * 2")
    text = kgen.jit(path=path).source(layout="contiguous")
    code = outside_comments(text).replace(kgen.jit(path=path).name, "")
    assert SENTINEL not in code
    assert not {c for c in text if not c.isprintable() and c != "\n"}
    check_compiles(text)
