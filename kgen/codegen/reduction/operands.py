"""Operands of a kernel with reductions: their types, packs, and loads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kgen.codegen import names
from kgen.codegen.byte_packs import are_words
from kgen.codegen.helpers import EVICT_LAST_POLICY, LOAD_SHIFTED_RUN, LOAD_STREAMING, LOAD_WORDS
from kgen.codegen.layouts import member
from kgen.codegen.lines import sum_lines
from kgen.codegen.reduction.context import Declared, Value
from kgen.codegen.spelling import storage_type
from kgen.dtypes import DType
from kgen.ir.graph import Operand
from kgen.partition.reduction_step import ReductionStep
from kgen.records import dataclass
from kgen.schedule.reduction.launch import steps_of
from kgen.schedule.reduction.schedule import ColumnSchedule, RowSchedule
from kgen.schedule.schedule import AccessSchedule
from kgen.schedule.target import WORD


@dataclass(frozen=True, slots=True)
class Operands:
    """The operands of a kernel.  ``labels``: a name for each access."""

    step: ReductionStep
    schedule: RowSchedule
    labels: tuple[str, ...]

    def operand(self, access: int) -> Operand:
        return self.step.graph.operands[self.step.accesses[access].operand]

    def planned(self, access: int) -> AccessSchedule:
        return self.schedule.accesses[access]

    def pointer(self, access: int) -> str:
        return names.pointer(self.operand(access).name)

    def type_of(self, access: int) -> str:
        return storage_type(self.operand(access).dtype)

    def steps(self, access: int) -> dict[int, str]:
        """The strides of an operand along a row, or down a column and across, by dimension."""
        found = steps_of(self.schedule, access)
        return {d: member(f"{self.labels[access]}_step", i, len(found)) for i, d in enumerate(found)}

    def is_grouped(self, access: int) -> bool:
        """Whether an operand is consecutive along a row or across columns, so that it moves by groups."""
        return self.planned(access).kind in ("vector", "shifted", "staged")

    def is_one(self, access: int) -> bool:
        """Whether a group has one element of an operand."""
        return self.planned(access).kind in ("row", "column")

    def is_of_row(self, access: int) -> bool:
        """Whether all elements of a row share an element."""
        return self.planned(access).kind == "column" and self.schedule.reduced == 1

    def is_sum(self, access: int) -> bool:
        """Whether an access stores the sums of a block's rows."""
        return self.step.accesses[access].operand in self.step.sums

    def column_sum(self, access: int) -> str:
        """The sums of a thread's current columns."""
        array = "[v]" if self.schedule.vectors > 1 else ""
        return f"{names.column_sum(self.operand(access).name)}{array}"

    def is_of_segment(self, access: int) -> bool:
        """Whether an operand has one element for each segment, and these lie at one stride."""
        schedule = self.schedule
        return schedule.segment_threads > 0 and schedule.reduced == 2 and self.planned(access).kind == "column"

    def pack(self, access: int) -> str:
        """The type of a group that one load or store moves."""
        group, planned = self.schedule.group, self.planned(access)
        whole = planned.kind in ("staged", "shifted")
        alignment = group * self.operand(access).dtype.size if whole else planned.alignment
        return f"Pack<{self.type_of(access)}, {group}, {alignment}>"

    def gather_pack(self, access: int) -> str:
        """The type of a group that is read element by element."""
        size = self.operand(access).dtype.size
        return f"Pack<{self.type_of(access)}, {self.schedule.group}, {size}>"

    def run_pack(self, access: int, count: int) -> str:
        """The type of a run: ``count`` consecutive elements of one column."""
        alignment = min(self.planned(access).alignment, count * self.operand(access).dtype.size)
        return f"Pack<{self.type_of(access)}, {count}, {alignment}>"

    def load_of_run(self, access: int, count: int, place: str) -> str:
        """The load of a run: by aligned blocks that hold it, or at its own address."""
        if access in self.blocks_of_runs and count == self.schedule.vectors:
            return f"{LOAD_SHIFTED_RUN}<{count}>({place}, 0 < number && number < layout.groups - 1)"
        pack = self.run_pack(access, count)
        if self.run_is_words(access, count):
            return f"{LOAD_WORDS}<{pack}>({place})"
        return f"*reinterpret_cast<const {pack}*>({place})"

    def run_is_words(self, access: int, count: int) -> bool:
        """Whether a run of ``count`` elements is loaded as words."""
        planned = self.planned(access)
        return planned.kind == "transposed" and are_words(self.operand(access).dtype, count, planned.alignment)

    @property
    def blocks_of_runs(self) -> tuple[int, ...]:
        """The operands whose runs are shifted out of aligned blocks."""
        return self.schedule.shifted_runs if isinstance(self.schedule, ColumnSchedule) else ()

    def register_pack(self, access: int) -> str:
        """The type of a group in registers."""
        return self.pack(access) if self.is_grouped(access) else self.gather_pack(access)

    def is_packed(self, access: int) -> bool:
        """Whether several elements of an operand share a register."""
        size, planned = self.operand(access).dtype.size, self.planned(access)
        if planned.kind == "shifted":
            return True
        return planned.kind == "vector" and size < 4 <= min(planned.alignment, self.schedule.group * size)

    def pattern_label(self, pattern: int) -> str:
        """A stride pattern has the name of the first access that uses it."""
        return next(self.labels[i] for i, t in enumerate(self.schedule.accesses) if t.pattern == pattern)

    def written(self, access: int) -> str:
        """The name of the pack that collects a group of an output."""
        label = self.labels[access]
        return names.vector(label, new=self.step.accesses[access].reads)

    def start(self, access: int, name: str, terms: Sequence[str]) -> Value:
        """The variable ``name``: the start of an operand's row or column."""
        read_only = "" if self.step.accesses[access].writes else "const "
        c_type = f"{read_only}{self.type_of(access)}* const"
        start = f"{c_type} {name} = "
        lines = sum_lines(f"{start}{self.pointer(access)} + ", terms)
        code = "\n    ".join(lines)[len(start) : -1]
        return Value(c_type, name, f"keep_address({code})" if self.keeps_address(access) else code)

    def keeps_address(self, access: int) -> bool:
        """Whether the address of an operand's column is kept in registers: loads then add only their place in it.  Not
        where a thread has one column (*Addresses of columns*).
        """
        schedule = self.schedule
        several = schedule.group > 1 and schedule.vectors > 1 and schedule.template == "column_resident"
        return several and access in schedule.columnwise and not self.step.accesses[access].writes

    def declared(self, access: int, name: str) -> Declared:
        """The registers that hold the loaded elements of an operand."""
        array = f"[{self.schedule.vectors}]" if self.schedule.vectors > 1 else ""
        one = self.schedule.group == 1 or self.is_one(access)
        return Declared(self.type_of(access) if one else self.register_pack(access), f"{name}{array}")

    # --- accesses -----------------------------------------------------------------------------------

    def start_of_load(self, access: int) -> str:
        """The text of a group's load, up to the address."""
        if access in self.schedule.streaming:
            return f"{LOAD_STREAMING}<{self.pack(access)}>("
        if self.loads_words(access):
            return f"{LOAD_WORDS}<{self.pack(access)}>("
        return f"*reinterpret_cast<const {self.pack(access)}*>("

    def by_words(self, access: int) -> bool:
        """Whether groups consist of bytes and are loaded as 32-bit words."""
        planned, single = self.planned(access), self.operand(access).dtype.size == 1
        return planned.kind == "vector" and single and min(planned.alignment, self.schedule.group) >= 4

    def loads_words(self, access: int) -> bool:
        """The same, or whether groups in shared memory are."""
        group, is_staged = self.schedule.group, self.planned(access).kind == "staged"
        return self.by_words(access) or (is_staged and are_words(self.operand(access).dtype, group, group))

    def stores_words(self, dtype: DType, alignment: int) -> bool:
        """Whether groups of elements that share words are stored by one access."""
        whole = self.schedule.group * dtype.size
        return dtype.size < WORD and alignment == whole and whole in (4, 8, 16)

    def policies(self) -> tuple[Value, ...]:
        """The L2 policy of loads; those that stage rows make their own."""
        loads = any(self.planned(access).kind != "staged" for access in self.schedule.evict_last)
        return (Value("const unsigned long long", "policy", f"{EVICT_LAST_POLICY}()"),) if loads else ()

    def loads_of(self, accesses: Iterable[int]) -> tuple[str, ...]:
        """The helpers that load groups of these accesses."""
        schedule = self.schedule
        told = {*schedule.evict_last, *schedule.streaming}
        words = any(map(self.loads_words, {*accesses} - told))
        runs = any(self.run_is_words(a, schedule.vectors) for a in {*accesses} - {*self.blocks_of_runs})
        return (
            *(("load_evict_last",) if schedule.evict_last else ()),
            *((LOAD_STREAMING,) if schedule.streaming else ()),
            *((LOAD_WORDS,) if words or runs else ()),
            *((LOAD_SHIFTED_RUN,) if {*accesses} & {*self.blocks_of_runs} else ()),
        )
