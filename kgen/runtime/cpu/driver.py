"""Wraps a ``.cu`` text into C++ for the host compiler; the text itself is unchanged, line for line."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Names that make one CUDA thread wait for another.  Without fibers they are not declared, so a text that uses others
# does not compile.
_NEEDS_FIBERS = re.compile(r"\b__(?:sync|shfl|ballot|any_sync|all_sync|match|reduce|activemask|nanosleep|cluster)\w*")
_NAMESPACE = re.compile(r"^namespace (\w+) \{$", re.MULTILINE)
_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)

# extern __shared__ __align__(16) float tile[];
_DYNAMIC_SHARED = re.compile(
    r"\bextern\s+(?:__align__\s*\([^()]*\)\s*|alignas\s*\([^()]*\)\s*)?__shared__\s+"
    r"(?:__align__\s*\([^()]*\)\s*|alignas\s*\([^()]*\)\s*)?"
    r"(?P<type>[A-Za-z_][\w:<>, ]*?[\w>])\s+(?P<name>[A-Za-z_]\w*)\s*\[\s*\]\s*;"
)


def wrap(text: str, kernels: Sequence[str], name: str, *, always_fibers: bool = False) -> str:
    """The translation unit: our header, the text under its own file name, one entry point per kernel."""
    # A kernel may have the name of a function of the C library: index, y1, ...
    renamed = "".join(f"#define {kernel} kgen_kernel_{kernel}\n" for kernel in kernels)
    entries = "".join(f"KGEN_KERNEL({kernel})\n" for kernel in kernels)
    used = "".join(f"using namespace {found};\n" for found in _NAMESPACE.findall(text))
    return (
        f"#define KGEN_FIBERS {int(always_fibers or needs_fibers(text))}\n"
        '#include "kgen_cpu.h"\n'
        f"{renamed}"
        f"#line 1 {_quoted(name)}\n"
        f"{_DYNAMIC_SHARED.sub(_dynamic_shared, text)}\n"
        '#line 1 "<entry points>"\n'
        f"{used}{entries}"
    )


def needs_fibers(text: str) -> bool:
    """Whether threads of a block have to be fibers; if not, each runs to its end before the next."""
    return _NEEDS_FIBERS.search(_COMMENT.sub(" ", text)) is not None


def without_comments(text: str) -> str:
    """The same code on the same lines: it compiles to the same bytes."""
    return _COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else "\n" * found[0].count("\n"), text)


def _dynamic_shared(found: re.Match[str]) -> str:
    """A pointer instead of an array whose size is known only at launch, on the same number of lines.

    ``(void)0;`` keeps it out of namespace scope, where the pointer would be read once, before any launch.
    """
    lines = "\n" * found[0].count("\n")
    kind, name = found["type"], found["name"]
    return f"(void)0; {kind}* const {name} = static_cast<{kind}*>(kgen_dynamic_shared());{lines}"


def _quoted(name: str) -> str:
    """A C string literal that holds ``name`` on one line."""
    escaped = []
    for byte in name.encode("utf-8", "replace"):
        plain = 32 <= byte < 127 and byte not in b'"\\?'
        escaped.append(chr(byte) if plain else f"\\{byte:03o}")
    return '"' + "".join(escaped) + '"'
