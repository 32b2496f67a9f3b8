"""The text of ``skewed`` kernels, in which a block has a tile whose rows begin at sectors of memory."""

from __future__ import annotations

from collections.abc import Container

from kgen.codegen import names
from kgen.codegen.arguments import Argument
from kgen.codegen.elementwise.context import OperandContext, SkewedContext
from kgen.codegen.elementwise.tiles import TilesWriter
from kgen.codegen.spelling import storage_type
from kgen.records import replace
from kgen.schedule.elementwise.launch import tile_sides
from kgen.schedule.elementwise.skewed import SECTOR_ELEMENTS

#: Elements from one row in shared memory to the next: 66 words, which spreads a warp's reads over the banks.
PITCH = 132
#: Blocks of an SM: 80 registers a thread (*Transposes of an odd number of halves: what bounds them*).
BLOCKS = 3


class SkewedWriter(TilesWriter):
    """Writes kernels in which a block has a tile whose rows begin at sectors of memory."""

    template = "skewed.cu.j2"

    @property
    def blocks_per_sm(self) -> int:
        return BLOCKS

    def prefetched(self, number: int) -> bool:
        return self.schedule.accesses[number].kind == "vector" and self.step.accesses[number].reads

    def anchor(self, anchor: int) -> str:
        return self.pointer(anchor)

    def elements_skipped(self, anchor: int) -> str:
        """From a tile's first element in a row to the next sector."""
        return f"(int)((0 - {self.beyond_sector('begin', self.position(anchor, 'p_first'))}) % {SECTOR_ELEMENTS})"

    def beyond_sector(self, begin: str, position: str) -> str:
        """Elements from some sector to the one at a position.  ``begin``: those to the operand's first one."""
        return f"({begin} + (unsigned int)({position}))"

    def transposed(self) -> tuple[SkewedContext, ...]:
        found: list[SkewedContext] = []
        for number, planned in enumerate(self.schedule.accesses):
            if planned.kind == "transposed":
                name, dtype, group = self.labels[number], self.operand(number).dtype, self.schedule.group
                type_, place = storage_type(dtype), self.position(number, "p")
                before = f"(int)({self.beyond_sector(f'{name}_begin', place)} % {SECTOR_ELEMENTS})"
                packs = f"Pack<{type_}, {group}, 16>", f"Pack<{type_}, {group}, 8>"
                found.append(
                    SkewedContext(
                        name, self.pointer(number), *packs, f"{name}_in", f"{name}_tile", "", dtype.size, False,
                        type_, place, before, PITCH, self.places(name),
                    )
                )  # fmt: skip
        return tuple(found)

    def vectors(self, *, written: bool, among: Container[int] | None = None) -> tuple[OperandContext, ...]:
        """With offsets that are sums of 32 bits, where these suffice."""
        found = super().vectors(written=written, among=among)
        places = (t.pointer.partition(" + ") for t in found)
        return tuple(replace(t, pointer=f"{p} + ({at})") for t, (p, _, at) in zip(found, places, strict=True))

    def movers(self) -> tuple[str, ...]:
        return self.word_movers(*self.vectors(written=False))

    def covered(self, note: str) -> list[str]:
        transposed = names.listed(self.by_kind("transposed"))
        width, height = tile_sides(self.schedule)
        return [
            f"Tiles of {width} x {height} elements, one a block, whose rows begin at sectors of memory.{note}",
            f"Rows as they lie in memory, read from shared memory across: {transposed}.",
            f"Launch: a block of {self.schedule.block} threads for each tile, the fastest dimension first.",
        ]

    def places(self, name: str) -> str:
        return f"{name}_at"

    def argument(self, argument: Argument, p: str, *, packed: bool) -> str:
        if packed and argument.kind == "read" and self.schedule.accesses[int(argument.key)].kind == "transposed":
            name = self.labels[int(argument.key)]
            return f"{name}_tile[{self.places(name)}[j] + {SECTOR_ELEMENTS} * k]"
        return super().argument(argument, p, packed=packed)

    def in_tile(self, name: str) -> str:
        return f"{name}_tile[{PITCH} * u + v]"
