"""Rows at computed places in kernels that reduce: a thread finds their addresses once a row, and moves groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen.codegen import names
from kgen.codegen.element import Element
from kgen.codegen.helpers import LOAD_GATHERED, STORE_SCATTERED, STORE_WORDS
from kgen.codegen.narrow import ROUND_GROUP, rounded
from kgen.codegen.reduction.context import Declared, Read, Stored
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.spelling import storage_type
from kgen.dtypes import BFLOAT16
from kgen.ir.graph import Gather, Operand, Scatter
from kgen.records import dataclass, replace
from kgen.schedule.elementwise.gathers import ops_of_rows
from kgen.schedule.target import WORD


@dataclass(frozen=True, slots=True)
class GatheredRows:
    """``labels``: for each gather or scatter that moves rows, the start of the names of its row and group.  ``at``: the
    index of a group's first element in its row.  ``rounded``: the stores of floats that are rounded by groups."""

    operands: Operands
    labels: Mapping[int, str]
    at: str
    rounded: frozenset[int] = frozenset()

    @staticmethod
    def of(operands: Operands, at: str) -> GatheredRows:
        unique, labels = names.Unique(), dict[int, str]()
        for label in operands.labels:
            unique(label)
        for number in ops_of_rows(operands.step, operands.schedule):
            attr = operands.step.graph.ops[number].attr
            assert isinstance(attr, Gather | Scatter)
            labels[number] = unique(operands.step.graph.operands[attr.operand].name)
        return GatheredRows(operands, labels, at)

    def operand(self, number: int) -> Operand:
        attr = self.operands.step.graph.ops[number].attr
        assert isinstance(attr, Gather | Scatter)
        return self.operands.step.graph.operands[attr.operand]

    def is_read(self, number: int) -> bool:
        return isinstance(self.operands.step.graph.ops[number].attr, Gather)

    @property
    def read(self) -> list[int]:
        """The ops that read rows."""
        return [number for number in self.labels if self.is_read(number)]

    @property
    def written(self) -> list[int]:
        """The ops that write rows."""
        return [number for number in self.labels if not self.is_read(number)]

    def helpers(self) -> tuple[str, ...]:
        """The helpers that move groups and take their elements."""
        picked = any(self.is_read(n) and self.operand(n).dtype is BFLOAT16 for n in self.labels)
        packed = any(self._is_packed(n) for n in self.read)
        return (
            *([LOAD_GATHERED] if self.read else []),
            *([STORE_SCATTERED] if not all(map(self._by_words, self.written)) else []),
            *([STORE_WORDS] if any(map(self._by_words, self.written)) else []),
            *([ROUND_GROUP] if self.rounded & {*self.written} else []),
            *(["extract"] if picked else []),
            *(["keep_packed"] if packed and self.operands.schedule.vectors else []),
        )

    # --- groups -----------------------------------------------------------------------------------------

    def declared(self) -> tuple[Declared, ...]:
        """The registers of groups that are read once."""
        vectors = self.operands.schedule.vectors
        array = f"[{vectors}]" if vectors > 1 else ""
        return tuple(Declared(self._pack(n), names.gathered(self.labels[n]) + array) for n in self.read if vectors)

    def loads(self) -> tuple[Read, ...]:
        """The loads into these registers."""
        return tuple(map(self._load, self.read)) if self.operands.schedule.vectors else ()

    def again(self, function: Element | None) -> tuple[Read, ...]:
        """How an element function gets what it takes of rows."""
        found: list[Read] = []
        for number in () if function is None else rows_of(function):
            if not self.is_read(number):
                continue
            if not self.operands.schedule.vectors:
                found.append(self._load(number))
            elif self._is_packed(number):
                found.append(Read(self._group(number), is_resident=True))
        return tuple(found)

    def stored(self, stores: Sequence[int]) -> tuple[Stored, ...]:
        """The packs that collect groups of the rows that are written."""
        return tuple(self._stored(n) for n in stores if n in self.labels)

    def _stored(self, number: int) -> Stored:
        pack, row = self._group(number), names.row(self.labels[number])
        found = Stored(self._pack(number), pack, self.at, row=row, by_words=self._by_words(number))
        if number not in self.rounded:
            return found
        floats = names.floats(self.labels[number])
        return replace(found, floats=floats, rounded=rounded(self.operand(number).dtype, floats, pack))

    @property
    def elements(self) -> Mapping[int, str]:
        """For each op, the text of element ``j`` of its group."""
        return {number: self._element(number) for number in self.labels}

    def _element(self, number: int) -> str:
        if number in self.rounded:
            return f"{names.floats(self.labels[number])}[j]"
        group = self._group(number)
        picked = self.is_read(number) and self.operand(number).dtype is BFLOAT16
        return f"extract({group}, j)" if picked else f"{group}.at[j]"

    def _load(self, number: int) -> Read:
        resident, row = self.operands.schedule.vectors > 0, names.row(self.labels[number])
        value = f"load_gathered<{self._pack(number)}>({row}, {self.at})"
        return Read(self._group(number), "" if resident else "auto", value)

    def _group(self, number: int) -> str:
        several = self.is_read(number) and self.operands.schedule.vectors > 1
        return f"{names.gathered(self.labels[number])}{'[v]' if several else ''}"

    def _pack(self, number: int) -> str:
        dtype, group = self.operand(number).dtype, self.operands.schedule.group
        return f"Pack<{storage_type(dtype)}, {group}, {self._alignment(number)}>"

    def _alignment(self, number: int) -> int:
        attr = self.operands.step.graph.ops[number].attr
        assert isinstance(attr, Gather | Scatter)
        return dict(self.operands.schedule.gathered)[attr.operand]

    def _by_words(self, number: int) -> bool:
        return self.operands.stores_words(self.operand(number).dtype, self._alignment(number))

    def _is_packed(self, number: int) -> bool:
        """Whether several elements share a register."""
        return self.operand(number).dtype.size < WORD


def rows_of(function: Element) -> list[int]:
    """The ops that move rows of which an element function takes elements."""
    return [int(a.key) for a in function.arguments if a.kind == "gathered"]
