"""Compiles ``.cu`` texts, and the scheduler library they share, to shared objects kept in a cache on disk."""

from __future__ import annotations

import functools
import hashlib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kgen.diagnostics import error
from kgen.runtime import cache
from kgen.runtime.cpu import driver, toolchain

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
    "-fno-trapping-math",
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
class Built:
    """A kernel library and the scheduler library that must be loaded before it."""

    library: Path
    scheduler: Path


def build(text: str, kernels: Sequence[str], *, name: str = "kernel.cu", sanitize: str | None = None) -> Built:
    """The shared object of ``text``, compiled now or found in the cache."""
    kernel_flags, scheduler_flags = _sanitizer_flags(sanitize)
    chain = toolchain.find()
    extra = tuple(shlex.split(os.environ.get("KGEN_CXXFLAGS", "")))
    scheduler = _scheduler(chain, (*_FLAGS, *scheduler_flags, *extra))
    flags = (*_FLAGS, *kernel_flags, *extra, f"-I{_INCLUDE}")
    # ThreadSanitizer tells CUDA threads apart only if each is a fiber.
    source = driver.wrap(text, kernels, name, always_fibers=sanitize == "thread")
    key = _digest("kernel", source, _digest_of(_INCLUDE), chain.identity, *chain.command, *flags, scheduler.name)
    library = _folder() / f"{name.removesuffix('.cu')}.{key}.so"
    if not library.exists():
        # -x none: zig was told that all its inputs are C++.
        _compile(chain, flags, {"kernel.cpp": source}, library, ("-x", "none", str(scheduler), "-lm"))
    return Built(library, scheduler)


def _sanitizer_flags(sanitize: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if sanitize is None:
        return (), ()
    if sanitize not in _SANITIZERS:
        raise ValueError(f"sanitize={sanitize!r}: one of {', '.join(map(repr, _SANITIZERS))}")
    return _SANITIZERS[sanitize]


def _scheduler(chain: toolchain.Toolchain, flags: tuple[str, ...]) -> Path:
    sources = sorted(_SCHEDULER.glob("*.cpp"))
    includes = (f"-I{_INCLUDE}", f"-I{_SCHEDULER}")
    contents = (_digest_of(_SCHEDULER), _digest_of(_INCLUDE))
    key = _digest("scheduler", *contents, chain.identity, *chain.command, *flags)
    library = _folder() / f"{cache.SCHEDULER}{key}.so"
    if not library.exists():
        # Kernel libraries name the scheduler by its soname, and find it because it is loaded already.
        named = (f"-Wl,-soname,{library.name}",)
        together = "".join(f'#include "{source.name}"\n' for source in sources)
        _compile(chain, (*flags, *includes), {"scheduler.cpp": together}, library, named)
    return library


def _compile(
    chain: toolchain.Toolchain, flags: Sequence[str], files: dict[str, str], library: Path, tail: Sequence[str]
) -> None:
    """Compiles in a folder of its own and moves the result into place, so that any number of processes may race."""
    with tempfile.TemporaryDirectory(prefix="build-", dir=library.parent) as folder:
        sources = []
        for file, content in files.items():
            path = Path(folder, file)
            path.write_text(content, encoding="utf-8")
            sources.append(str(path))
        output = Path(folder, "out.so")
        command = [*chain.command, *flags, *sources, "-o", str(output), *tail]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        except OSError as problem:
            raise error("cpu-compile-failed", f"cannot run {chain.command[0]}: {problem}") from problem
        if ran.returncode != 0 or not output.exists():
            raise error(
                "cpu-compile-failed",
                f"the host compiler refused the text (exit status {ran.returncode})\n"
                f"{shlex.join(command)}\n{ran.stderr or ran.stdout}",
            )
        os.replace(output, library)


def _folder() -> Path:
    folder = cache.cache_dir() / "cpu"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        hint = "set KGEN_CACHE_DIR to a folder that can be written"
        raise error("no-cache", f"cannot make the cache folder {folder}: {problem.strerror}", hint) from problem
    return folder


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
