"""Compiles a generated text for one architecture, or takes it from the cache."""

from __future__ import annotations

import hashlib
import re

from kgen.diagnostics import error
from kgen.runtime.cache import summary
from kgen.runtime.cuda import nvrtc
from kgen.runtime.cuda.nvrtc import CompilerBug, nvrtc_version, supported_archs
from kgen.runtime.store import Store, compile_lock, entry_name, store
from kgen.version import VERSION

__all__ = ["CompilerBug", "assemble", "compile_cubin", "compile_ptx", "flags", "nvrtc_version", "supported_archs"]

#: In ptxas's report.
SPILLS = re.compile(r"\b[1-9]\d* bytes spill stores")
#: ptxas's option for texts that spill (:func:`assemble`).
MIN_BLOCKS = "--minnctapersm=1"


def flags(arch: str, fmad: bool = True, fast: bool = False, *, warnings: bool = False) -> tuple[str, ...]:
    """Options for :func:`compile_cubin`; where the headers are is added there.

    ``-minimal`` omits texture and runtime-API declarations, which kernels do not use, and saves 4 ms of 40.  Warnings
    are off because the log of a success is not shown; tests turn them on, except 1444, which CUDA 13's own fp8 header
    causes.
    """
    chosen = ["-use_fast_math"] if fast else [f"-fmad={'true' if fmad else 'false'}"]
    return (f"-arch={arch}", "-std=c++17", "-minimal", "-diag-suppress=1444" if warnings else "-w", *chosen)


def compile_cubin(text: str, *, name: str, arch: str, options: tuple[str, ...], cache: Store | None = None) -> bytes:
    """The CUBIN of a ``.cu`` text.

    ``options`` are :func:`flags`, ``name`` is the file name in line information, ``cache`` a store other than the
    user's.  Raises :class:`CompilerBug` if NVRTC rejects the text, and :class:`~kgen.KgenError` if NVRTC or its headers
    are missing or do not support ``arch``.
    """
    stored = store("cubin") if cache is None else cache
    key = f"{entry_name(name)}.{arch}.{_key(text, name, arch, options)[:40]}"
    found = stored.get(key)
    if found is not None:
        return found
    require_arch(arch)
    with compile_lock(key):
        found = stored.get(key)
        if found is None:
            found, _ = assemble(text, name=name, options=options)
            stored.put(key, found, summary(text))
    return found


def assemble(text: str, *, name: str, options: tuple[str, ...]) -> tuple[bytes, str]:
    """The CUBIN of a ``.cu`` text and ptxas's report, which lists the registers and spills of each kernel.

    Given a launch bound alone, ptxas lowers the number of registers so that more blocks fit on an SM, even if values
    then spill.  In doing so ptxas 13.0 to 13.5 may give two values of one thread the same place on the stack, and
    results are wrong.  So a text that spills is compiled again for one block an SM.
    """
    report = (*options, "--ptxas-options=-v")
    cubin, log = nvrtc.build(text, "cubin", name=name, options=report)
    if SPILLS.search(log):
        cubin, log = nvrtc.build(text, "cubin", name=name, options=(*report, f"--ptxas-options={MIN_BLOCKS}"))
    return cubin, log


def compile_ptx(text: str, *, name: str, arch: str, options: tuple[str, ...]) -> bytes:
    """The PTX of a ``.cu`` text, to read.  Not to load: a driver older than NVRTC rejects it."""
    require_arch(arch)
    # With a virtual architecture NVRTC does not assemble machine code.
    virtual = tuple(option.replace("-arch=sm_", "-arch=compute_") for option in options)
    return nvrtc.build(text, "ptx", name=name, options=virtual)[0].rstrip(b"\0")


def require_arch(arch: str) -> None:
    """Raises :class:`~kgen.KgenError` (``unknown-arch``)."""
    from kgen.runtime.cuda.architectures import require_known

    require_known(arch)
    known = supported_archs()
    if known and arch.rstrip("af") not in known:
        version = ".".join(map(str, nvrtc_version()))
        raise error("unknown-arch", f"NVRTC {version} does not compile for `{arch}`", f"one of {', '.join(known)}")


def _key(text: str, name: str, arch: str, options: tuple[str, ...]) -> str:
    """A digest of everything that the CUBIN depends on, including headers that the text includes."""
    headers = nvrtc.header_digest() if nvrtc.uses_headers(text) else ""
    parts = ("cubin 5", VERSION, nvrtc.identity(), headers, arch, name, *options, text)
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()
