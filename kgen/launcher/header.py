"""The C header of a launcher: declarations for C99 and C++, with a line for each array and scalar."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgen.codegen import names
from kgen.codegen.templates import environment
from kgen.launcher.context import dtype_rows
from kgen.launcher.interface import ArrayParameter, Interface
from kgen.lowering import Covered, Lowered
from kgen.records import dataclass


@dataclass(frozen=True)
class HeaderContext:
    """What the template sees.  ``documented``: lines about each parameter."""

    base: str
    banner: tuple[str, ...]
    documented: tuple[str, ...]
    parameters: tuple[str, ...]
    sized: tuple[str, ...]

    @property
    def dtypes(self) -> list[tuple[str, int, int]]:
        return dtype_rows()


def header_text(base: str, lowered: Lowered | Covered, banner: Sequence[str]) -> str:
    """``banner``: the lines of the first comment."""
    interface = Interface.of(base, lowered.specialised.graph)
    stream = "struct CUstream_st* stream"
    made = HeaderContext(
        base,
        tuple(names.comment(line).replace("*/", "* /").replace("/*", "/ *") for line in banner),
        tuple(_documented(interface, lowered)),
        (*interface.declarations, stream),
        (*interface.array_declarations, "size_t* bytes"),
    )
    return environment().get_template("launcher/header.h.j2").render(m=made)


def _documented(interface: Interface, lowered: Lowered | Covered) -> Iterator[str]:
    for array in interface.arrays:
        yield f"{array.argument}: {array.of.dtype}, {_shape(array, lowered)}, {array.use}"
    for scalar in interface.scalars:
        yield f"{', '.join(scalar.arguments)}: {scalar.of.dtype}"


def _shape(array: ArrayParameter, lowered: Lowered | Covered) -> str:
    if isinstance(lowered, Covered):
        return "of the shape of the outputs or broadcast to it" if array.of.role == "input" else "of any shape"
    sizes = lowered.sizes
    extents = ("1" if d == 1 else "?" if d in sizes.assumed else str(sizes.extents[d]) for d in array.of.shape)
    return f"of shape ({', '.join(extents)})"
