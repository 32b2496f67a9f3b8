"""Several sets of dtypes in one file: a launcher for each, and one that takes arrays of any of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen.codegen.lines import wrapped
from kgen.codegen.templates import environment
from kgen.dtypes import DType
from kgen.launcher.interface import Interface
from kgen.records import dataclass


@dataclass(frozen=True)
class DispatchContext:
    """What the template sees.  ``sets``: the names of the launchers, each for a set of dtypes."""

    base: str
    sets: tuple[str, ...]
    interface: Interface

    @property
    def parameters(self) -> list[str]:
        return [*self.interface.declarations, "cudaStream_t stream"]

    @property
    def arguments(self) -> list[str]:
        return [_name(d) for d in self.parameters]

    @property
    def sized(self) -> list[str]:
        return [*self.interface.array_declarations, "size_t* bytes"]

    @property
    def sized_arguments(self) -> list[str]:
        return [_name(d) for d in self.sized]


def dispatch_text(base: str, sets: Sequence[str], interface: Interface) -> str:
    """Host code that follows the texts of all sets."""
    made = DispatchContext(base, tuple(sets), interface)
    text = environment().get_template("launcher/dispatch.cu.j2").render(m=made)
    return wrapped(text)


def set_name(base: str, dtypes: Mapping[str, DType]) -> str:
    """The base name of a set's launcher: ``axpy_f16``, or ``mixed_f32_f16_i32`` where inputs differ."""
    shorts = [dtype.short for dtype in dtypes.values()]
    return "_".join([base, *(shorts[:1] if len(set(shorts)) == 1 else shorts)])


def _name(declaration: str) -> str:
    return declaration.rpartition(" ")[2]
