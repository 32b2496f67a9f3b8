"""How a kernel accesses its operands along rows: which vary along the row, in what groups, and where groups begin."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cached_property

from kgen.layout.kinds import stride_patterns
from kgen.records import dataclass
from kgen.schedule.elementwise.groups import is_shifted
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.few import few_rows
from kgen.schedule.reduction.peel import choose_anchor
from kgen.schedule.reduction.schedule import segment_stores
from kgen.schedule.reduction.staging import StagedRows, stage, stage_dense
from kgen.schedule.schedule import AccessKind, AccessSchedule
from kgen.schedule.target import LONG


@dataclass(frozen=True)
class RowTraversal:
    """Operands are given as numbers of accesses.  ``threads``: that share a row; None where other rules decide.

    ``stages``: whether these take dense rows out of shared memory.
    """

    facts: RowFacts
    threads: int | None = None
    stages: bool = False

    @cached_property
    def dense(self) -> tuple[int, ...]:
        """The consecutive operands whose rows have several dimensions without gaps between them."""
        space, reduced = self.facts.space, self.facts.reduced
        follows = {
            i: all(space.strides[i][d] == space.strides[i][d - 1] * space.shape[d - 1] for d in range(1, reduced))
            for i in self.facts.consecutive
        }
        return tuple(i for i, dense in follows.items() if dense and reduced > 1)

    @cached_property
    def of_segments(self) -> tuple[bool, ...]:
        """For each access, whether it stores one element for each segment."""
        return segment_stores(self.facts.step)

    @cached_property
    def sharing(self) -> int | None:
        """Threads that share a row, of few elements too; None where the length of rows or segments alone decides."""
        return None if self.facts.segment or self.stages else self.threads or few_rows(self.facts)

    @cached_property
    def vector(self) -> int:
        """Elements that a thread may take at once; 1 where groups do not help."""
        return self._of_any_length(self.widest)

    @cached_property
    def widest(self) -> int:
        """Elements that fill the widest access, or fewer where many threads share a row; 1 where groups do not help."""
        vector = self.facts.vector
        while self.sharing is not None and vector > 1 and vector * self.sharing > self.facts.width:
            vector //= 2
        return vector

    def _of_any_length(self, vector: int) -> int:
        """``vector``, or fewer elements for short rows in files for any length, which are not staged: with fewer edge
        elements, fewer threads share a row."""
        facts, tuning = self.facts, self.facts.tuning.rows
        if facts.along or vector <= 2 or facts.width % vector == 0:
            return vector
        if facts.width <= tuning.open_shortest:
            return 1
        is_short = vector > tuning.open_vector and facts.width * self.facts.largest < tuning.shortest_peeled
        return tuning.open_vector if is_short else vector

    @cached_property
    def has_whole_vectors(self) -> bool:
        """Whether rows are a multiple of the widest access."""
        return self.vector > 1 and self.facts.width % self.vector == 0 and self.facts.reduced == 1

    @cached_property
    def short(self) -> StagedRows | None:
        """How rows would be staged through shared memory, None where that does not pay."""
        may = self.facts.along and self.facts.reduced == 1 and self.sharing is None
        if may and self.stages and self.threads:
            return stage_dense(self.facts, self.facts.consecutive, self.vector, self.threads)
        return stage(self.facts, self.facts.consecutive, self.vector) if may else None

    @cached_property
    def flat(self) -> StagedRows | None:
        """How rows are staged, None where they are not: few rows are read in place."""
        few = self.facts.bounded and self.facts.space.numel <= self.facts.tuning.staging.fewest_elements
        return None if few and self.short is not None and self.short.anchor is None else self.short

    @property
    def staged(self) -> Set[int]:
        """The operands that are staged."""
        return frozenset() if self.flat is None else self.flat.operands

    @cached_property
    def _choose_anchor(self) -> tuple[int | None, Set[int]]:
        if self.short is not None:  # where few rows are read in place, too
            return self.short.anchor, frozenset()
        facts = self.facts
        long = not facts.along or facts.width * self.facts.largest >= facts.tuning.rows.shortest_peeled
        if self.vector > 1 and facts.reduced == 1 and long and self.sharing is None and not self._is_mixed:
            return choose_anchor(facts, self.facts.consecutive, self.widest)  # of multiples of a narrower vector, too
        return None, frozenset()

    @property
    def _is_mixed(self) -> bool:
        """Whether rows fit registers that have elements of 8 bytes beside narrower ones, of which a thread would read
        two at a time."""
        facts, tuning = self.facts, self.facts.tuning.rows
        fits = facts.along and facts.width * facts.bytes_of(facts.reads) <= tuning.most_mixed_bytes
        return fits and self.facts.largest == LONG and any(facts.itemsizes[i] < LONG for i in facts.reads)

    @property
    def anchor(self) -> int | None:
        """The alignment anchor, None where groups begin where rows do."""
        return self._choose_anchor[0]

    @property
    def alike(self) -> Set[int]:
        """The operands that are aligned wherever the anchor is."""
        return self._choose_anchor[1]

    @cached_property
    def group(self) -> int:
        """Elements that a thread takes at once."""
        if self.short is not None:
            return self.short.group
        group = self.vector
        if self.anchor is None:
            while self.facts.space.shape[0] % group:
                group //= 2
        return group

    @cached_property
    def shifted(self) -> tuple[int, ...]:
        """The operands that are shifted."""
        facts = self.facts
        long = not facts.along or facts.width >= facts.tuning.rows.shortest_shifted
        if self.anchor is None or self.flat is not None or not long:
            return ()
        others = [i for i in self.facts.consecutive if i not in self.alike and i not in facts.written]
        return tuple(i for i in others if is_shifted(facts.itemsizes[i], self.group))

    @cached_property
    def patterns(self) -> Mapping[int, int | None]:
        """The stride pattern that gives the offsets of an operand's rows, None where all rows share it."""
        strided = [i for i in range(len(self.facts.varies)) if i not in self.staged]
        return dict(zip(strided, stride_patterns(self.facts.kept, strided)[1], strict=True))

    @cached_property
    def own(self) -> tuple[int, ...]:
        """The operands that are read along rows, without those that all rows share, or all elements of a group."""
        read = [i for i in self.facts.reads if i not in self.facts.repeated] or self.facts.reads
        if any(p is not None for p in self.patterns.values()):
            return tuple(i for i in read if i in self.staged or self.patterns.get(i) is not None)
        return tuple(read)

    @cached_property
    def aligned(self) -> Set[int]:
        """The aligned operands that all rows share, where other operands differ from row to row."""
        several = any(p is not None for p in self.patterns.values())
        numbers = range(len(self.facts.varies))
        return frozenset(
            i for i in numbers if several and self.facts.addresses[i] == 0 and self.patterns.get(i) is None
        )

    @property
    def weights(self) -> int:
        """How many operands are not the rows' own."""
        return len(self.facts.reads) - len(self.own)

    def accesses(self) -> tuple[AccessSchedule, ...]:
        """How each operand is read or written."""
        return tuple(
            AccessSchedule(*self._access(i), self.patterns.get(i), not aliased)
            for i, aliased in enumerate(self.facts.aliased)
        )

    def _access(self, access: int) -> tuple[AccessKind, int]:
        size, widest = self.facts.itemsizes[access], self.facts.target.vector_bytes
        if access in self.staged:
            return "staged", widest if self.facts.addresses[access] == 0 else size
        if self.flat is not None and access in self.flat.spaced:
            return "spaced", 0
        if access in self.shifted:
            return "shifted", widest if access in self.aligned else size
        if access in self.facts.consecutive:
            aligned = self._is_aligned(access) if self.anchor is None else access in self.alike
            return "vector", self.group * size if aligned else size
        if self.of_segments[access]:
            return "column", 0
        if access in self.facts.repeated and (self.group > 1 or self.facts.reduced == 1):
            return "column", 0
        return ("gather" if self.facts.varies[access] else "row"), 0

    def _is_aligned(self, access: int) -> bool:
        """Whether every row of an operand begins at the aligned address of a group."""
        full = self.group * self.facts.itemsizes[access]
        rows = self.facts.other_strides(access, 0)
        return self.facts.addresses[access] % full == 0 and all(s % self.group == 0 for s in rows)
