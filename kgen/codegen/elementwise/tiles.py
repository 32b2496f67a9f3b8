"""The text of ``tiled`` kernels, in which a block has a tile of two dimensions."""

from __future__ import annotations

from kgen.codegen import names
from kgen.codegen.arguments import Argument
from kgen.codegen.elementwise.context import EitherContext, TransposedContext
from kgen.codegen.elementwise.groups import GroupWriter
from kgen.codegen.family import Unit, Written
from kgen.codegen.helpers import FUNNEL_SHIFT_BLOCKS
from kgen.codegen.layouts import elements_skipped, member
from kgen.codegen.spelling import storage_type
from kgen.schedule.schedule import Schedule


def write_tiled(unit: Unit[Schedule]) -> Written:
    """A kernel that transposes tiles in shared memory."""
    is_any = any(t.kind == "either" for t in unit.schedule.accesses)
    return (AnyTilesWriter if is_any else TilesWriter)(unit).write()


class TilesWriter(GroupWriter):
    """Writes kernels in which a block has a tile of two dimensions."""

    template = "tiled.cu.j2"
    first = 2
    alone = "p"

    @property
    def needs_n(self) -> bool:
        return False

    def row_terms(self, number: int, p: str) -> list[str]:
        planned = self.schedule.accesses[number]
        if planned.pattern is None:
            return []
        label = self.pattern(planned.pattern)
        offset = [names.offset(label)] if self.schedule.rank > 2 else []
        return [*offset, f"{p if planned.kind == 'transposed' else 'q'} * {self.stride_across(label)}"]

    def stride_across(self, label: str) -> str:
        """The stride along the second dimension."""
        name = f"{label}_stride"
        return f"layout.{name}[1]" if self.unit.shared_layout else member(name, 0, self.schedule.rank - 1)

    def coordinate(self, dimension: int, p: str) -> str:
        return "q" if dimension == 1 else super().coordinate(dimension, p)

    def prefetched(self, number: int) -> bool:
        if self.schedule.accesses[number].kind != "vector" or self.schedule.anchor is not None:
            return False
        sizes = [
            self.operand(i).dtype.size * self.schedule.group**2
            for i, (t, s) in enumerate(zip(self.step.accesses, self.schedule.accesses, strict=True))
            if t.reads and s.kind == "vector"
        ]
        return sum(sizes) <= 4 * self.schedule.target.tuning.elementwise.prefetch_registers

    def anchor(self, anchor: int) -> str:
        return f"{self.pointer(anchor)} + {self.position(anchor, 'p_first')}"

    def elements_skipped(self, anchor: int) -> str:
        return elements_skipped("anchor", self.operand(anchor).dtype.size, self.schedule.group)

    def transposed(self) -> tuple[TransposedContext, ...]:
        found: list[TransposedContext] = []
        group = self.schedule.group
        for number, planned in enumerate(self.schedule.accesses):
            if planned.kind == "transposed":
                name, size = self.labels[number], self.operand(number).dtype.size
                type_ = storage_type(self.operand(number).dtype)
                place = f"{self.pointer(number)} + {self.position(number, 'p')}"
                pack = f"Pack<{type_}, {group}, {planned.alignment}>"
                alignment = min(16, group * size)
                in_tile = f"Pack<{type_}, {group}, {alignment}>"
                found.append(
                    TransposedContext(
                        name,
                        place,
                        pack,
                        in_tile,
                        f"{name}_in",
                        f"{name}_tile",
                        names.vector(name),
                        size,
                        self.loads_words(number, alignment),
                    )
                )
        return tuple(found)

    def movers(self) -> tuple[str, ...]:
        in_tiles = () if self.schedule.anchor is not None else self.transposed()
        shifts = () if self.schedule.anchor is None else (FUNNEL_SHIFT_BLOCKS,)
        return (*shifts, *self.word_movers(*in_tiles, *self.vectors(written=False)))

    def covered(self, note: str) -> list[str]:
        transposed = names.listed([t.name for t in self.transposed()])
        return [
            f"Tiles of {self.side} x {self.side} elements, one a block; {transposed} transposed through "
            f"shared memory.{note}",
            f"Launch: a block of {self.schedule.block} threads for each tile, the fastest dimension first.",
        ]


class AnyTilesWriter(TilesWriter):
    """Writes kernels for tiles whose inputs run along either dimension, as the strides of a call say."""

    template = "tiled_any.cu.j2"

    def argument(self, argument: Argument, p: str, *, packed: bool) -> str:
        is_transposed = argument.kind == "read" and self.schedule.accesses[int(argument.key)].kind == "either"
        return self.value(int(argument.key)) if is_transposed else super().argument(argument, p, packed=packed)

    def value(self, number: int) -> str:
        return f"{self.labels[number]}_one"

    def either(self) -> tuple[EitherContext, ...]:
        found: list[EitherContext] = []
        for number, planned in enumerate(self.schedule.accesses):
            if planned.kind == "either" and planned.pattern is not None:
                name, step = self.labels[number], self.step_of(number)
                condition = f"{self.stride_across(self.pattern(planned.pattern))} == 1 && {step} != 1"
                place = f"{self.pointer(number)}[{self.position(number, 'p')}]"
                type_ = storage_type(self.operand(number).dtype)
                names_ = self.value(number), f"{name}_read", f"{name}_tile", f"{name}_is_transposed"
                found.append(EitherContext(place, type_, *names_, condition))
        return tuple(found)

    def covered(self, note: str) -> list[str]:
        either = names.listed(self.by_kind("either"))
        return [
            f"Tiles of {self.side} x {self.side} elements, one a block.{note}",
            f"Through shared memory where consecutive along the second dimension: {either}.",
            f"Launch: a block of {self.schedule.block} threads for each tile, the fastest dimension first.",
        ]
