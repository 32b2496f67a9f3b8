"""Elements in registers: their names, and their loads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import field

from kgen.codegen import names
from kgen.codegen.byte_packs import converted_bytes
from kgen.codegen.reduction.calls import AT_ROW, BEFORE_ROWS
from kgen.codegen.reduction.context import Batch, Declared, Read
from kgen.codegen.reduction.facts import Facts
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.parts import HALF, Parts
from kgen.codegen.reduction.places import Places, address
from kgen.codegen.reduction.sections import access_of
from kgen.dtypes import BFLOAT16, FLOAT32
from kgen.records import dataclass, replace
from kgen.schedule.reduction.peel import CACHED_BLOCK_BYTES
from kgen.schedule.reduction.row_columns import RowColumnsSchedule
from kgen.schedule.reduction.schedule import RowSchedule
from kgen.schedule.target import WORD


def kept_values(facts: Facts, parts: Parts, resident: Set[int]) -> Mapping[int, int]:
    """The values of elements that threads keep from one round to another, as in
    :class:`~kgen.codegen.reduction.calls.Values`; none where there are too few registers.

    ``resident``: the register-resident accesses.
    """
    schedule, ops = facts.schedule, facts.step.graph.ops
    sections = [*parts.rounds, *([parts.varying_stores] if parts.varying_stores else [])]
    if facts.step.sums:
        return _converted(facts, parts, sections)
    words = 0 < schedule.vectors * schedule.group <= schedule.target.tuning.rows.kept_values
    sizes = frozenset({*([WORD] if words else []), *([HALF] if _keeps_halves(schedule) else [])})
    loads = (n for n, op in enumerate(ops) if op.name == "load")
    among = frozenset(n for n in loads if access_of(facts.step, n) in resident)
    found = parts.kept(sections, among, sizes) if sizes else {}
    return {n: AT_ROW if place == 0 and ops[n].dtype.size == HALF else place for n, place in found.items()}


def _keeps_halves(schedule: RowSchedule) -> bool:
    """Whether threads keep groups of 16-bit values, two of them in a register."""
    whole = schedule.vectors > 0 and schedule.group > 1 and not schedule.is_column
    return whole and schedule.anchor is None and not schedule.stages


def _converted(facts: Facts, parts: Parts, sections: Sequence[Sequence[int]]) -> Mapping[int, int]:
    """The elements of a block's rows as float32, where several sections need them, and the first one that does; those
    that all rows share are converted before, and those that were loaded ahead when a row begins.

    Blocks that take several rows, which they load ahead, are bound by instructions rather than by registers.
    """
    schedule, ops, found = facts.schedule, facts.step.graph.ops, dict[int, int]()
    if schedule.vectors * schedule.group > schedule.target.tuning.row_columns.elements:
        return {}
    ahead = isinstance(schedule, RowColumnsSchedule) and schedule.reads_ahead
    for section, sinks in enumerate(sections):
        for n in parts.behind(sinks):
            source = ops[ops[n].args[0]] if ops[n].name == "cast" else None
            if source is None or source.name != "load" or ops[n].dtype is not FLOAT32 or n in found:
                continue
            if schedule.accesses[access_of(facts.step, ops[n].args[0])].pattern is None:
                found[n] = BEFORE_ROWS
            elif any(n in parts.behind(later) for later in sections[section + 1 :]):
                found[n] = AT_ROW if ahead else section
    return found


@dataclass(frozen=True, slots=True)
class Registers:
    """The elements in registers.

    ``resident``: the register-resident accesses; others are read where needed.  ``late``: those of them that are loaded
    ahead of the outputs, not of the first round.  ``by_batches``: row operands of which several groups at a time are
    loaded ahead of stores.  ``batch``: groups that a thread which walks a row loads at once; 0 where each is loaded
    where it is used.
    """

    operands: Operands
    places: Places
    resident: set[int]
    late: set[int] = field(default_factory=set)
    by_batches: set[int] = field(default_factory=set)
    batch: int = 0

    def name(self, access: int) -> str:
        several = self.operands.schedule.group > 1 and not self.operands.is_one(access)
        label = self.operands.labels[access]
        return names.vector(label) if several else f"{label}_in"

    def group(self, access: int) -> str:
        """The name of a group; of register-resident groups, that of the current one."""
        if access in self.by_batches:
            return f"{self.name(access)}[u]"
        several = (access in self.resident and self.operands.schedule.vectors > 1) or self.in_batch(access)
        return f"{self.name(access)}{'[v]' if several else ''}"

    @property
    def loaded_ahead(self) -> set[int]:
        """What is in registers where elements are computed."""
        return self.resident | self.by_batches

    def in_batch(self, access: int) -> bool:
        """Whether several groups are loaded at once."""
        return self.batch > 0 and not self.operands.is_of_row(access)

    def element(self, access: int) -> str:
        """An element, at ``j`` of its group."""
        if self.operands.is_one(access):
            return self.group(access)
        if self.is_picked(access):
            return f"{self.extractor(access)}({self.group(access)}, j)"
        return self.group(access) + (".at[j]" if self.operands.schedule.group > 1 else "")

    def is_picked(self, access: int) -> bool:
        """Whether elements are extracted from 32-bit words."""
        several = self.operands.schedule.group > 1 and not self.operands.is_one(access)
        return several and self.extractor(access) != ""

    def extractor(self, access: int) -> str:
        """The function that takes an element out of a word; empty where the compiler does so."""
        if self.operands.operand(access).dtype is BFLOAT16:
            return "extract"
        converted = self.operands.by_words(access) and access in converted_bytes(self.operands.step)
        return "extract_byte" if converted else ""

    def extractors(self, accesses: Iterable[int]) -> tuple[str, ...]:
        """The helpers that take elements of these accesses out of words."""
        return tuple(dict.fromkeys(self.extractor(access) for access in accesses if self.is_picked(access)))

    def declared(self, access: int) -> Declared:
        return self.operands.declared(access, self.name(access))

    def read(self, access: int) -> Read:
        """The load of a group, into registers that are declared before (``resident``) or new ones."""
        operands, schedule, base = self.operands, self.operands.schedule, self.places.base_of(access)
        name, resident = self.group(access), access in self.loaded_ahead or self.in_batch(access)
        if schedule.group == 1 or operands.is_one(access):
            c_type = "" if resident else operands.type_of(access)
            return Read(name, c_type, f"{base}[{self.places.along(access, '')}]")
        if not operands.is_grouped(access):
            c_type = "" if resident else operands.gather_pack(access)
            return Read(name, c_type, each=f"{base}[{self.places.along(access, 'j')}]")
        if operands.planned(access).kind == "shifted":
            blocks, off = names.blocks(operands.labels[access]), names.misalignment(operands.labels[access])
            size = self.block_bytes(access, schedule.group)
            call = f"load_aligned_blocks<{operands.type_of(access)}, {schedule.group}, {size}>"
            value = f"{call}({blocks} + {self.places.along(access, '')}, {off})"
        elif access == schedule.shared_operand:
            value = f"{names.in_shared(operands.labels[access])}[v][threadIdx.x]"
        else:
            value = self.from_memory(access)
        return Read(name, "" if resident else "auto", value)

    def loaded_in_branches(self, accesses: Iterable[int]) -> tuple[str, ...]:
        """What is loaded to registers and converted later, and what the compiler would convert at once: whole groups,
        or each of the elements that are loaded one by one.
        """
        schedule, operands = self.operands.schedule, self.operands
        if schedule.vectors < 2 or schedule.stages:
            return ()
        found: list[str] = []
        for i in accesses:
            dtype = operands.operand(i).dtype
            if dtype is FLOAT32 or operands.is_packed(i):
                continue
            alone = schedule.group == 1 or dtype.size >= WORD or operands.is_one(i) or self.is_loaded_whole(i)
            found += [self.group(i)] if alone else [f"{self.group(i)}.at[{j}]" for j in range(schedule.group)]
        return tuple(found)

    def is_loaded_whole(self, access: int) -> bool:
        """Whether one access loads a group."""
        planned, size = self.operands.planned(access), self.operands.operand(access).dtype.size
        return planned.kind == "vector" and planned.alignment >= self.operands.schedule.group * size

    def from_memory(self, access: int) -> str:
        """The text that loads a group in one access."""
        operands, place = self.operands, address(self.places, access)
        if access in operands.schedule.evict_last and operands.planned(access).kind != "staged":
            return f"load_evict_last<{operands.pack(access)}>({place}, policy)"
        return f"{operands.start_of_load(access)}{place})"

    def again(self, accesses: Iterable[int]) -> tuple[Read, ...]:
        """How a later section gets its elements: by a load, or from the registers that hold them."""
        reads: list[Read] = []
        for access in accesses:
            if access not in self.loaded_ahead and not self.batch:
                reads.append(self.read(access))
            elif self.operands.is_packed(access):
                reads.append(Read(self.group(access), is_resident=True))
        return tuple(reads)

    def batched(self, accesses: Sequence[int]) -> Batch | None:
        """What is loaded ahead of the work on several groups of a row."""
        if not self.batch or not accesses:
            return None
        own = [access for access in accesses if self.in_batch(access)]
        shared = [self.read(access) for access in accesses if not self.in_batch(access)]
        return Batch(self.batch, tuple(map(self.declared, own)), tuple(map(self.read, own)), tuple(shared))

    def ahead_of_stores(self, accesses: Sequence[int], count: int) -> Batch:
        """Row operands of which a thread loads so many groups ahead of the stores of these."""
        self.by_batches.update(accesses)
        declared = (replace(self.declared(access), name=self.name(access)) for access in accesses)
        return Batch(count, tuple(declared), tuple(map(self.read, accesses)), ())

    def block_bytes(self, access: int, group: int) -> int:
        """The bytes of an aligned block by which groups of a shifted operand are loaded."""
        operands, schedule = self.operands, self.operands.schedule
        whole = group * operands.operand(access).dtype.size
        in_smem = access not in self.resident and schedule.vectors and schedule.cluster == 1
        return min(whole, CACHED_BLOCK_BYTES) if in_smem else whole
