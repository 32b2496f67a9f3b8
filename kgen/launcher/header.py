"""The C header of a launcher: declarations for C99 and C++, with a line for each array and scalar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kgen.codegen import names
from kgen.codegen.templates import environment
from kgen.launcher.context import dtype_rows
from kgen.launcher.interface import ArrayParameter, Interface
from kgen.lowering import Covered, Lowered
from kgen.records import dataclass


@dataclass(frozen=True)
class Functions:
    """The three functions of one launcher.  ``documented``: lines about each parameter."""

    base: str
    documented: tuple[str, ...]
    parameters: tuple[str, ...]
    sized: tuple[str, ...]


@dataclass(frozen=True)
class HeaderContext:
    """What the template sees.  ``functions``: of the file's launchers."""

    base: str
    banner: tuple[str, ...]
    functions: tuple[Functions, ...]

    @property
    def dtypes(self) -> list[tuple[str, int, int]]:
        return dtype_rows()


Sets = Mapping[str, Lowered | Covered]
"""What each set of dtypes is lowered to, by the name of its launcher."""


def header_text(name: str, programs: Mapping[str, Sets], banner: Sequence[str]) -> str:
    """``name``: of the file.  ``programs``: by their base names.  ``banner``: the first comment."""
    functions = tuple(f for base, sets in programs.items() for f in _functions_of(base, sets))
    lines = tuple(names.comment(line).replace("*/", "* /").replace("/*", "/ *") for line in banner)
    return environment().get_template("launcher/header.h.j2").render(m=HeaderContext(name, lines, functions))


def launcher_names(base: str, sets: Sets) -> list[str]:
    """The base names of the functions of a program: with several sets, its own and one for each."""
    return list(sets) if len(sets) == 1 else [base, *sets]


def _functions_of(base: str, sets: Sets) -> list[Functions]:
    return [
        _functions(name, [sets[name]] if name in sets else list(sets.values())) for name in launcher_names(base, sets)
    ]


def _functions(base: str, sets: Sequence[Lowered | Covered]) -> Functions:
    interfaces = [Interface.of(base, one.specialised.graph) for one in sets]
    first = interfaces[0]
    return Functions(
        base,
        tuple(_documented(interfaces, sets[0])),
        (*first.declarations, "struct CUstream_st* stream"),
        (*first.array_declarations, "size_t* bytes"),
    )


def _documented(interfaces: Sequence[Interface], lowered: Lowered | Covered) -> Iterator[str]:
    """``interfaces``: of all sets, which differ in dtypes."""
    for several in zip(*(i.arrays for i in interfaces), strict=True):
        array = several[0]
        dtypes = " or ".join(dict.fromkeys(a.of.dtype.name for a in several))
        yield f"{array.argument}: {dtypes}, {_shape(array, lowered)}, {array.use}"
    for of in zip(*(i.scalars for i in interfaces), strict=True):
        yield f"{', '.join(of[0].arguments)}: {' or '.join(dict.fromkeys(s.of.dtype.name for s in of))}"


def _shape(array: ArrayParameter, lowered: Lowered | Covered) -> str:
    if isinstance(lowered, Covered):
        return "of the shape of the outputs or broadcast to it" if array.of.role == "input" else "of any shape"
    sizes, batch = lowered.sizes, lowered.batch
    extents = (
        "..."
        if batch is not None and d == batch.dim
        else "1"
        if d == 1
        else "?"
        if d in sizes.assumed
        else str(sizes.extents[d])
        for d in array.of.shape
    )
    is_apart = batch is not None and array.name in batch.apart
    return f"of shape ({', '.join(extents)}){' or one row' if is_apart else ''}"
