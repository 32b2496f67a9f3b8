"""How ``.cu`` texts, and the scheduler library they share, become shared objects, which the cache keeps."""

from __future__ import annotations

import functools
import hashlib
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kgen.diagnostics import error
from kgen.runtime import cache
from kgen.runtime.cache import summary
from kgen.runtime.cpu import driver, toolchain
from kgen.runtime.cpu.compiler import compile_library
from kgen.runtime.store import Found, entry_name, once, store

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
    # Not -fno-trapping-math: GCC 12's ifcombine then takes the opposite of x < y for x >= y, also for a NaN.
    "-frounding-math",  # without it GCC 12 takes 0 - x for -x where x cannot be -0.0: 0 - 0 would be -0.0
    "-fsigned-char",
    "-fno-strict-aliasing",  # vectors of halves move as words
    "-ffp-contract=off",  # no fused multiply-add that the text does not ask for
    "-fno-tree-vectorize",  # GCC 12's vectoriser drops a rounding in (double)(float)x, and crashes on signbit()
    "-pthread",
    "-w",  # a generated text's warnings help nobody
    "-U_FORTIFY_SOURCE",  # its longjmp refuses to leave a fiber's stack
)
_SANITIZED = ("-O1", "-g", "-fno-omit-frame-pointer")
_SANITIZERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # what the kernels get, and what the scheduler gets: it is annotated, not instrumented
    "address,undefined": (
        (*_SANITIZED, "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DKGEN_STATIC_SHARED=1"),
        ("-g", "-DKGEN_ADDRESS_SANITIZER=1"),
    ),
    # Shared memory allocated lazily inside a fiber would look like a race: hence initial-exec.
    "thread": ((*_SANITIZED, "-fsanitize=thread", "-ftls-model=initial-exec"), ("-g", "-DKGEN_THREAD_SANITIZER=1")),
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a library is made.  ``key`` holds everything that it depends on, and is what it is kept by."""

    key: str
    chain: toolchain.Toolchain
    flags: tuple[str, ...]
    source: str
    tail: tuple[str, ...] = ()
    text: str = ""  # that it was made from
    needs: Recipe | None = None  # the library that it is linked with, which has to be loaded before it

    def build(self, *, aside: bool = False) -> Found:
        """The library, compiled now or found in the cache; ``aside``: in a folder of this process, come what may."""
        kept = store("cpu")
        with once(self.key):
            found = kept.find(self.key)
            if found is not None and not aside:
                return found
            payload = self._compile() if found is None else found.payload
            path = kept.put_aside(self.key, payload) if aside else kept.put(self.key, payload, summary(self.text))
        assert path is not None
        return Found(path, payload)

    def _compile(self) -> bytes:
        needs = None if self.needs is None else (f"{self.needs.key}.so", self.needs.build().payload)
        return compile_library(self.chain, self.flags, self.source, self.tail, needs)


def recipe(text: str, kernels: Sequence[str], *, name: str = "kernel.cu", sanitize: str | None = None) -> Recipe:
    """For the library of a ``.cu`` text."""
    kernel_flags, scheduler_flags = _sanitizer_flags(sanitize)
    chain = toolchain.find()
    extra = _extra_flags()
    scheduler = _scheduler(chain, (*_FLAGS, *chain.linker, *scheduler_flags, *extra))
    flags = (*_FLAGS, *chain.linker, *kernel_flags, *extra, f"-I{_INCLUDE}")
    # ThreadSanitizer tells CUDA threads apart only if each is a fiber.
    source = driver.wrap(text, kernels, name, always_fibers=sanitize == "thread")
    # What comments say changes nothing, but for the lines below them.
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
    # Kernel libraries name the scheduler by its soname, and find it because it is loaded already.
    return Recipe(key, chain, (*flags, *includes), together, (f"-Wl,-soname,{key}.so",))


@functools.cache
def _digest_of(folder: Path) -> str:
    """Of our own C++ sources: an edit of them must never meet an old library."""
    files = sorted(p for p in folder.rglob("*") if p.suffix in {".h", ".cpp"})
    return _digest(*(f"{p.relative_to(folder)}\n{p.read_text(encoding='utf-8')}" for p in files))


def _digest(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:40]
