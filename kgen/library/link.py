"""The library of object files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kgen.library.run import run
from kgen.library.toolkit import Toolkit, archiver

#: What cudart needs of the system.
_SYSTEM = ("-ldl", "-lrt", "-lpthread")


def link_shared(
    toolkit: Toolkit,
    objects: Sequence[Path],
    name: str,
    functions: Sequence[str],
    folder: Path,
    libraries: Sequence[str] = (),
) -> bytes:
    """A shared library that needs only the driver and ``libraries``: CUDA's runtime is linked in.

    ``functions``: those that it has.
    """
    made, exports = folder / "library", folder / "exports"
    exports.write_text(f"{{ global: {' '.join(f'{one};' for one in functions)} local: *; }};\n", encoding="utf-8")
    wanted = [f"--version-script={exports}", f"-soname={name}", "--no-undefined", "--as-needed", "--strip-all"]
    inputs = ["-shared", *map(str, objects), *libraries, *(word for option in wanted for word in ("-Xlinker", option))]
    if toolkit.nvcc is None:
        command = [*toolkit.cxx, *inputs, str(toolkit.cudart), *_SYSTEM]
    else:
        command = [toolkit.nvcc, "-Xcompiler=-fPIC", *toolkit.host_flags, *inputs]
    run([*command, "-o", str(made)], folder)
    return made.read_bytes()


def archive(objects: Sequence[Path], folder: Path) -> bytes:
    """A static library, to be linked with CUDA's runtime."""
    made = folder / "library"
    run([archiver(), "rcsD", str(made), *map(str, objects)], folder)
    return made.read_bytes()
