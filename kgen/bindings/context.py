"""What every binding knows of the launcher that it calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from kgen.codegen import names
from kgen.codegen.kernels import Entry
from kgen.codegen.lines import wrapped
from kgen.codegen.templates import environment
from kgen.launcher.interface import Interface
from kgen.lowering import Covered, Lowered
from kgen.program import Program, Weak
from kgen.records import dataclass


@dataclass(frozen=True)
class Binding:
    """``base``: the start of the launcher's names, and of those of its files.

    ``banner``: lines of the first comment.  ``namespace``: of a torch operator.  ``defaults``: of the program's params.
    ``sets``: what the program is lowered to for each set of dtypes.  ``has_buffers``: whether calls on aligned arrays
    need a workspace; those on others may need one for copies.
    """

    base: str
    banner: tuple[str, ...]
    namespace: str
    defaults: Mapping[str, Weak | None]
    sets: tuple[Lowered | Covered, ...]
    has_buffers: bool

    @staticmethod
    def of(
        base: str,
        banner: Sequence[str],
        namespace: str,
        program: Program,
        sets: Mapping[str, Lowered | Covered],
        entries: Sequence[Entry],
    ) -> Binding:
        """``entries``: the kernels of the file."""
        buffers = any(o.role == "buffer" for one in sets.values() for o in one.specialised.graph.operands)
        lines = tuple(map(names.comment, banner))
        defaults = {p.name: p.default for p in program.parameters}
        has_buffers = buffers or any(e.scratch for e in entries)
        return Binding(base, lines, namespace, defaults, tuple(sets.values()), has_buffers)

    @property
    def has_workspace(self) -> bool:
        """Whether calls may need one."""
        return self.has_buffers or any(isinstance(one, Lowered) for one in self.sets)

    @cached_property
    def interfaces(self) -> tuple[Interface, ...]:
        """Of each set; they differ in dtypes alone."""
        return tuple(Interface.of(self.base, one.specialised.graph) for one in self.sets)

    @property
    def interface(self) -> Interface:
        return self.interfaces[0]

    @property
    def array_arguments(self) -> list[str]:
        return [a.argument for a in self.interface.arrays]

    @property
    def launched(self) -> list[str]:
        """The arguments of the launcher, without workspace and stream: arrays, scalars."""
        return [d.rpartition(" ")[2] for d in self.interface.declarations[:-2]]


def rendered(name: str, binding: Binding, context: object) -> str:
    """The text of a template, which sees both.  Lines of Python end in brackets only."""
    text = environment().get_template(f"bindings/{name}.j2").render(m=binding, k=context)
    return wrapped(text, brackets=1 if name.endswith(".py") else 0)
