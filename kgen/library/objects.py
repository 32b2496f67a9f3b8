"""One object file for each program: its kernels for several architectures, and its launcher."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from kgen.codegen.kernels import Module
from kgen.diagnostics import error
from kgen.launcher.images import Image, host_text
from kgen.library.run import run
from kgen.library.toolkit import Toolkit
from kgen.options import Options
from kgen.records import dataclass
from kgen.runtime.cuda.architectures import capability
from kgen.runtime.cuda.compiler import MIN_BLOCKS, SPILLS, compile_cubin, compile_ptx, flags, supported_archs

T = TypeVar("T")

#: One for each generation of devices: with them and PTX of the last one, a library runs on all that kgen supports.
_GENERATIONS = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_110", "sm_120")

#: For the host's compiler.
HOST_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-w")


@dataclass(frozen=True, slots=True)
class Source:
    """A program to compile: the base name of its functions, and the file made of it."""

    base: str
    module: Module


@dataclass(frozen=True, slots=True)
class Work:
    """``archs``: what kernels are compiled for, the oldest first.  ``jobs``: how many compilers run at a time."""

    toolkit: Toolkit
    archs: tuple[str, ...]
    options: Options
    jobs: int
    folder: Path

    def each(self, what: Callable[[T], Path], items: Sequence[T]) -> list[Path]:
        """In parallel, in the order of ``items``."""
        with ThreadPoolExecutor(self.jobs) as pool:
            futures = [pool.submit(what, item) for item in items]
            try:
                return [future.result() for future in futures]
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


def compile_objects(sources: Sequence[Source], work: Work) -> list[Path]:
    """The object file of each program, in ``work.folder``.

    Raises :class:`~kgen.KgenError`: ``build-failed``, ``unknown-arch``, and what compiling with NVRTC raises.
    """
    if work.toolkit.nvcc is not None:
        _refuse_unknown(work.toolkit.nvcc, work.archs, work.folder)
        return work.each(partial(_by_nvcc, work=work), sources)
    kinds = image_kinds(work.archs)
    work.each(partial(_image, work=work), [(source, arch, is_ptx) for source in sources for arch, is_ptx in kinds])
    return work.each(partial(_by_host, work=work), sources)


def image_kinds(archs: Sequence[str]) -> list[tuple[str, bool]]:
    """Each architecture, and whether it is PTX: of the newest for later devices, before the CUBINs.

    PTX with the features of one architecture (``sm_90a``) runs on no later one.
    """
    newest = archs[-1]
    return [*([(newest, True)] if newest[-1].isdigit() else []), *((arch, False) for arch in archs)]


def generations(toolkit: Toolkit, folder: Path) -> tuple[str, ...]:
    """An architecture of each generation that the compiler of kernels knows."""
    known = supported_archs() if toolkit.nvcc is None else _known_to(toolkit.nvcc, folder)
    return tuple(arch for arch in _GENERATIONS if arch in known)


def _devices(arch: str) -> tuple[int, int, int]:
    """The compute capability that a CUBIN is for, and the last minor one that runs it."""
    major, minor = capability(arch)
    return major, minor, minor if arch.endswith("a") else 9


def _known_to(nvcc: str, folder: Path) -> list[str]:
    return run([nvcc, "--list-gpu-code"], folder).split()


def _refuse_unknown(nvcc: str, archs: Sequence[str], folder: Path) -> None:
    """Raises :class:`~kgen.KgenError` (``unknown-arch``) for architectures that this nvcc does not compile for."""
    known = _known_to(nvcc, folder)
    missing = [arch for arch in archs if arch not in known]
    if missing:
        raise error("unknown-arch", f"{nvcc} does not compile for `{missing[0]}`", f"one of {', '.join(known)}")


def _by_nvcc(source: Source, work: Work) -> Path:
    text, made = (work.folder / f"{source.base}.{kind}" for kind in ("cu", "o"))
    text.write_text(source.module.text, encoding="utf-8")
    codes = [f"-gencode=arch={_virtual(arch)},code={arch}" for arch in work.archs]
    codes += [f"-gencode=arch={_virtual(arch)},code={_virtual(arch)}" for arch, ptx in image_kinds(work.archs) if ptx]
    command = [str(work.toolkit.nvcc), "-c", "-std=c++17", "-O3", "-w", "-Xcompiler=-fPIC", "-Xptxas=-v", *codes]
    command += [*work.options.nvrtc_flags, *work.toolkit.host_flags, str(text), "-o", str(made)]
    if SPILLS.search(run(command, work.folder)):
        run([*command, f"-Xptxas={MIN_BLOCKS}"], work.folder)
    return made


def _virtual(arch: str) -> str:
    return arch.replace("sm_", "compute_")


def _image(what: tuple[Source, str, bool], work: Work) -> Path:
    """The file of one image."""
    source, arch, is_ptx = what
    options, name = flags(arch, work.options.fmad, work.options.fast), f"{source.base}.cu"
    text, path = source.module.text, _image_path(source, arch, is_ptx, work.folder)
    if is_ptx:
        path.write_bytes(compile_ptx(text, name=name, arch=arch, options=options) + b"\0")
    else:
        path.write_bytes(compile_cubin(text, name=name, arch=arch, options=options))
    return path


def _image_path(source: Source, arch: str, is_ptx: bool, folder: Path) -> Path:
    return folder / f"{source.base}.{arch}.{'ptx' if is_ptx else 'cubin'}"


def _by_host(source: Source, work: Work) -> Path:
    text, made = (work.folder / f"{source.base}.{kind}" for kind in ("cpp", "o"))
    images = [
        Image(f"kgen_image_{number}", str(_image_path(source, arch, is_ptx, work.folder)), *_devices(arch), is_ptx)
        for number, (arch, is_ptx) in enumerate(image_kinds(work.archs))
    ]
    text.write_text(host_text(source.base, source.module.host, images), encoding="utf-8")
    headers = ("-isystem", str(work.toolkit.include))
    run([*work.toolkit.cxx, "-c", *HOST_FLAGS, *headers, str(text), "-o", str(made)], work.folder)
    return made
