"""Builds shared objects from ``.cu`` texts, and the scheduler library that they share."""

from __future__ import annotations

import functools
import hashlib
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from kgen.diagnostics import error
from kgen.records import dataclass
from kgen.runtime import cache
from kgen.runtime.cache import summary
from kgen.runtime.cpu import driver, toolchain
from kgen.runtime.cpu.compiler import compile_library
from kgen.runtime.store import StoredEntry, compile_lock, entry_name, store

_HERE = Path(__file__).parent
_INCLUDE = _HERE / "include"
_SCHEDULER = _HERE / "scheduler"

_FLAGS = (
    "-std=c++17",
    "-O2",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-math-errno",
    # Not -fno-trapping-math: GCC 12's ifcombine then replaces !(x < y) by x >= y, which is wrong for NaN.
    "-frounding-math",  # without it GCC 12 replaces 0 - x by -x where x cannot be -0.0: 0 - 0 would be -0.0
    "-fsigned-char",
    "-fno-strict-aliasing",  # vectors of halves move as words
    "-ffp-contract=off",  # no fused multiply-add unless the text has one
    "-fno-tree-vectorize",  # GCC 12's vectoriser drops a rounding in (double)(float)x, and crashes on signbit()
    "-pthread",
    "-w",  # warnings of generated text are not shown
    "-U_FORTIFY_SOURCE",  # its longjmp refuses to leave a fiber's stack
)
_SANITIZED = ("-O1", "-g", "-fno-omit-frame-pointer")
_SANITIZERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # flags of the kernels, and of the scheduler, which is annotated and not instrumented
    "address,undefined": (
        (*_SANITIZED, "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DKGEN_STATIC_SHARED=1"),
        ("-g", "-DKGEN_ADDRESS_SANITIZER=1"),
    ),
    # Shared memory allocated lazily inside a fiber would look like a race: hence initial-exec.
    "thread": ((*_SANITIZED, "-fsanitize=thread", "-ftls-model=initial-exec"), ("-g", "-DKGEN_THREAD_SANITIZER=1")),
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a library is built.  ``key`` is a digest of everything that it depends on."""

    key: str
    chain: toolchain.Toolchain
    flags: tuple[str, ...]
    source: str
    tail: tuple[str, ...] = ()
    text: str = ""  # the .cu text
    needs: Recipe | None = None  # the library that it is linked with, which is loaded first

    def build(self, *, temporary: bool = False) -> StoredEntry:
        """The library, from the cache or compiled; ``temporary``: in a folder of this process."""
        stored = store("cpu")
        with compile_lock(self.key):
            found = stored.find(self.key)
            if found is not None and not temporary:
                return found
            payload = self._compile() if found is None else found.payload
            if temporary:
                path = stored.put_temporary(self.key, payload)
            else:
                path = stored.put(self.key, payload, summary(self.text))
        assert path is not None
        return StoredEntry(path, payload)

    def _compile(self) -> bytes:
        needs = None if self.needs is None else (f"{self.needs.key}.so", self.needs.build().payload)
        return compile_library(self.chain, self.flags, self.source, self.tail, needs)


def recipe(text: str, kernels: Sequence[str], *, name: str = "kernel.cu", sanitize: str | None = None) -> Recipe:
    """The recipe of a ``.cu`` text's library."""
    kernel_flags, scheduler_flags = _sanitizer_flags(sanitize)
    chain = toolchain.find()
    extra = _extra_flags()
    scheduler = _scheduler(chain, (*_FLAGS, *chain.linker, *scheduler_flags, *extra))
    flags = (*_FLAGS, *chain.linker, *kernel_flags, *extra, f"-I{_INCLUDE}")
    # ThreadSanitizer distinguishes CUDA threads only if each is a fiber.
    source = driver.wrap(text, kernels, name, always_fibers=sanitize == "thread")
    # Comments do not change the code, except for line numbers.
    content = (driver.without_comments(source), _digest_of(_INCLUDE))
    key = _digest("kernel", *content, *_machine(chain), *flags, scheduler.key)
    return Recipe(f"{entry_name(name)}.{key}", chain, flags, source, text=text, needs=scheduler)


def _machine(chain: toolchain.Toolchain) -> tuple[str, ...]:
    return os.uname().machine, chain.identity, *chain.command


def _extra_flags() -> tuple[str, ...]:
    chosen = os.environ.get("KGEN_CXXFLAGS", "")
    try:
        return tuple(shlex.split(chosen))
    except ValueError as problem:
        hint = "write it as for a shell: quotes come in pairs"
        raise error("bad-option", f"KGEN_CXXFLAGS={chosen!r}: {problem}", hint) from None


def _sanitizer_flags(sanitize: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if sanitize is None:
        return (), ()
    if sanitize not in _SANITIZERS:
        raise ValueError(f"sanitize={sanitize!r}: one of {', '.join(map(repr, _SANITIZERS))}")
    return _SANITIZERS[sanitize]


@functools.cache
def _scheduler(chain: toolchain.Toolchain, flags: tuple[str, ...]) -> Recipe:
    contents = (_digest_of(_SCHEDULER), _digest_of(_INCLUDE))
    key = f"{cache.SCHEDULER}{_digest('scheduler', *contents, *_machine(chain), *flags)}"
    together = "".join(f'#include "{source.name}"\n' for source in sorted(_SCHEDULER.glob("*.cpp")))
    includes = (f"-I{_INCLUDE}", f"-I{_SCHEDULER}")
    # Kernel libraries refer to the scheduler by its soname; it is loaded before them.
    return Recipe(key, chain, (*flags, *includes), together, (f"-Wl,-soname,{key}.so",))


@functools.cache
def _digest_of(folder: Path) -> str:
    """A digest of kgen's own C++ sources, so that an edit invalidates old libraries."""
    files = sorted(p for p in folder.rglob("*") if p.suffix in {".h", ".cpp"})
    return _digest(*(f"{p.relative_to(folder)}\n{p.read_text(encoding='utf-8')}" for p in files))


def _digest(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:40]
