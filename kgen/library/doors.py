"""The sources of ``--abi`` as parts of a library: what each needs of the package whose functions call it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from kgen.diagnostics import error
from kgen.library.objects import HOST_FLAGS, Work
from kgen.library.run import run
from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class Door:
    """``package``: that has the headers.  ``pip``: what installs it.  ``libraries``: of its folder ``lib``, to link.

    ``exports``: the functions of a program called ``{}``.
    """

    package: str
    pip: str
    libraries: tuple[str, ...]
    exports: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Raises :class:`~kgen.KgenError` (``no-package``) if it is not installed."""
        spec = find_spec(self.package)
        if spec is None or spec.origin is None:
            message = f"the headers are in the Python package `{self.package}`, which is not installed"
            raise error("no-package", message, f"pip install {self.pip}")
        return Path(spec.origin).parent


#: By the value of ``--abi``.
DOORS: Mapping[str, Door] = {
    "tvm-ffi": Door(
        "tvm_ffi", "apache-tvm-ffi", ("tvm_ffi",), ("__tvm_ffi_{}", "__tvm_ffi_{}_workspace_size")
    ),
    "torch": Door("torch", "torch", ("torch_cuda", "torch_cpu", "c10"), ()),
    "xla": Door("jaxlib", "jax", (), ("{}_xla",)),
}  # fmt: skip


def compile_doors(sources: Mapping[str, Mapping[str, str | bytes]], abis: Sequence[str], work: Work) -> list[Path]:
    """The object files of all sources.

    ``sources``: by the base name of each program, its header (``h``) and the sources by the ends of their names.
    Raises :class:`~kgen.KgenError`: ``no-package``, ``build-failed``.
    """
    includes = [word for abi in abis for word in ("-isystem", str(DOORS[abi].folder / "include"))]
    found: list[Path] = []
    for base, texts in sources.items():
        for kind, text in texts.items():
            path = work.folder / (f"{base}.h" if kind == "h" else f"{base}_{kind}")
            path.write_text(str(text), encoding="utf-8")
            if path.suffix == ".cpp":
                found.append(path)
    return work.each(partial(_compiled, includes=includes, work=work), found)


def _compiled(source: Path, includes: Sequence[str], work: Work) -> Path:
    made, tools = source.with_suffix(".o"), work.toolkit
    if tools.nvcc is None:
        command = [*tools.cxx, *HOST_FLAGS, *includes, "-isystem", str(tools.include)]
    else:
        command = [tools.nvcc, *tools.host_flags, "-std=c++17", "-O2", "-w", "-Xcompiler=-fPIC", *includes]
    run([*command, "-c", str(source), "-o", str(made)], work.folder)
    return made


def exports(bases: Iterable[str], abis: Sequence[str]) -> list[str]:
    """The functions that the doors of programs add to a library."""
    return [name.format(base) for base in bases for abi in abis for name in DOORS[abi].exports]


def libraries(abis: Sequence[str]) -> list[str]:
    """What a library with these doors is linked to.

    Raises :class:`~kgen.KgenError` (``no-package``) for packages that are made for the CPU alone.
    """
    found: list[str] = []
    for door in map(DOORS.__getitem__, abis):
        folder = door.folder / "lib"
        for name in door.libraries:
            path = folder / f"lib{name}.so"
            if not path.is_file():
                message = f"the Python package `{door.package}` has no {path.name}: it is for the CPU alone"
                raise error("no-package", message, f"install {door.pip} for CUDA")
            found.append(str(path))
    return found
