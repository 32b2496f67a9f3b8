"""Where the elements of boxes lie in memory: coordinates, and offsets by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kgen.codegen import names
from kgen.codegen.elementwise.context import OffsetContext
from kgen.codegen.elementwise.writer import ElementWriter
from kgen.codegen.family import Unit
from kgen.codegen.layouts import member
from kgen.codegen.lines import sum_lines, times
from kgen.records import dataclass
from kgen.schedule.elementwise.boxes import BoxSchedule

#: For each side, the names of an element's coordinate and of its place in the box.
COORDINATES, PLACES = ("p", "q", "r"), ("u", "v", "w")


@dataclass(frozen=True)
class BoxPlaces(ElementWriter):
    """Names of the coordinates of kernels in which a block has a box, and offsets."""

    unit: Unit[BoxSchedule]  # type: ignore[assignment]

    @property
    def schedule(self) -> BoxSchedule:
        return self.unit.schedule

    def place(self, side: int, order: tuple[int, ...]) -> str:
        """The place of group ``k`` along a side of the box, or of a thread's only group."""
        moves = side == order[-1] and self.schedule.each(order) > 1
        return f"{PLACES[side]} + {times(self.schedule.step(order), 'k')}" if moves else PLACES[side]

    def coordinate(self, dimension: int) -> str:
        """The name of the coordinate of a dimension."""
        for side, count in enumerate(self.schedule.sides):
            dims = self.schedule.dims(side)
            if dimension in dims:
                return COORDINATES[side] + (str(dims.index(dimension)) if count > 1 else "")
        return f"c{len(self.schedule.sides) + self.schedule.rest.index(dimension)}"

    def strides(self, access: int) -> Iterator[tuple[int | None, str, str]]:
        """For each stride of an access: the side (None: no side has the dimension), the coordinate, the stride."""
        schedule, planned = self.schedule, self.schedule.accesses[access]
        if planned.pattern is None:
            return
        walked = schedule.walked(access)
        for number, d in enumerate(walked):
            side = next((s for s in range(len(schedule.sides)) if d in schedule.dims(s)), None)
            own = side is not None and side == schedule.along[access]
            name = COORDINATES[side] if own and side is not None else self.coordinate(d)
            yield side, name, member(f"{self.pattern(planned.pattern)}_stride", number, len(walked))

    def is_even(self, access: int, moving: int) -> bool:
        """Whether an access has one stride along the side of a loop."""
        return len([side for side, _, _ in self.strides(access) if side == moving]) <= 1

    def patterns(self, accesses: Iterable[int]) -> list[tuple[str, int]]:
        """The distinct stride patterns of some accesses: their names, and an access that has each."""
        found: dict[int, int] = {}
        for i in accesses:
            pattern = self.schedule.accesses[i].pattern
            if pattern is not None:
                found.setdefault(pattern, i)
        return [(self.pattern(pattern), i) for pattern, i in found.items()]

    def box_offsets(self) -> tuple[OffsetContext, ...]:
        """The offsets of boxes along the dimensions that no side has."""
        found: list[OffsetContext] = []
        for label, access in self.patterns(range(len(self.schedule.accesses))):
            terms = [f"{name} * {stride}" for side, name, stride in self.strides(access) if side is None]
            if terms:
                start = f"const {self.schedule.signed} {names.box(label)} = "
                found.append(OffsetContext(sum_lines(start, terms)))
        return tuple(found)

    def starts(self, used: Sequence[int], order: tuple[int, ...]) -> list[str]:
        """Lines with the offset of a thread's first group in each access, and the way from one group to the next."""
        schedule, moving, lines = self.schedule, order[-1], list[str]()
        for i in used:
            terms = self.start_terms(i, moving)
            lines += sum_lines(f"const {schedule.signed} {self.labels[i]}_from = ", terms or ["0"])
        for label, access in self.patterns(used):
            along = [stride for side, _, stride in self.strides(access) if side == moving]
            if len(along) == 1 and schedule.each(order) > 1:
                lines.append(f"const {schedule.signed} {label}_next = {times(schedule.step(order), along[0])};")
        return lines

    def start_terms(self, access: int, moving: int) -> list[str]:
        """The terms of the offset of a thread's first group, in a loop along a side."""
        strides, planned = list(self.strides(access)), self.schedule.accesses[access]
        terms = [COORDINATES[0]] if planned.kind == "linear" else []
        if planned.pattern is not None and any(side is None for side, _, _ in strides):
            terms.append(names.box(self.pattern(planned.pattern)))
        terms += [f"{name} * {stride}" for side, name, stride in strides if side not in (None, moving)]
        along = [stride for side, _, stride in strides if side == moving]
        if len(along) == 1:
            terms.append(f"({COORDINATES[moving]}_first + {PLACES[moving]}) * {along[0]}")
        return terms

    def inner_offsets(self, used: Sequence[int], order: tuple[int, ...]) -> list[str]:
        """Lines with the offsets along a side of several dimensions that an access does not run along."""
        moving, lines = order[-1], list[str]()
        for label, access in self.patterns(used):
            if not self.is_even(access, moving):
                terms = [f"{name} * {stride}" for side, name, stride in self.strides(access) if side == moving]
                lines += sum_lines(f"const {self.schedule.signed} {names.offset(label)} = ", terms)
        return lines

    def offset(self, access: int, order: tuple[int, ...]) -> str:
        """The offset of group ``k``."""
        pattern, found = self.schedule.accesses[access].pattern, f"{self.labels[access]}_from"
        if pattern is None or not any(side == order[-1] for side, _, _ in self.strides(access)):
            return found
        label = self.pattern(pattern)
        if not self.is_even(access, order[-1]):
            return f"{found} + {names.offset(label)}"
        return f"{found} + k * {label}_next" if self.schedule.each(order) > 1 else found

    def address(self, access: int, order: tuple[int, ...]) -> str:
        """The address of group ``k``."""
        offset = self.offset(access, order)
        return f"{self.pointer(access)} + {f'({offset})' if ' ' in offset else offset}"

    def element_of(self, access: int, order: tuple[int, ...], element: int | str = "j") -> str:
        """An element of group ``k`` in memory, or its only one."""
        offset = self.offset(access, order)
        if self.schedule.group > 1 and self.schedule.accesses[access].kind == "gather" and element != 0:
            stride = next(stride for side, _, stride in self.strides(access) if side == 0)
            offset += f" + {stride}" if element == 1 else f" + {element} * {stride}"
        return f"{self.pointer(access)}[{offset}]"
