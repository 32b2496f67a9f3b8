"""Operands of a kernel with reductions: their types, the packs that they move as, and the accesses that read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kgen.codegen import names
from kgen.codegen.helpers import LOAD_STREAMING, LOAD_WORDS
from kgen.codegen.layouts import sum_lines
from kgen.codegen.reduction.context import Declared, Value
from kgen.codegen.spelling import storage_type
from kgen.ir.kernel import Operand
from kgen.partition.cut import RowStep
from kgen.schedule.reduction.schedule import RowSchedule
from kgen.schedule.schedule import TouchSchedule


@dataclass(frozen=True, slots=True)
class Operands:
    """``labels``: a name for each touch."""

    step: RowStep
    schedule: RowSchedule
    labels: tuple[str, ...]

    def operand(self, touch: int) -> Operand:
        return self.step.kernel.operands[self.step.touches[touch].operand]

    def planned(self, touch: int) -> TouchSchedule:
        return self.schedule.touches[touch]

    def pointer(self, touch: int) -> str:
        return names.pointer(self.operand(touch).name)

    def type_of(self, touch: int) -> str:
        return storage_type(self.operand(touch).dtype)

    def is_grouped(self, touch: int) -> bool:
        """Whether an operand is consecutive along rows, or across columns."""
        return self.planned(touch).access in ("vector", "shifted", "staged")

    def pack(self, touch: int) -> str:
        """The type of a group that one access moves."""
        group, planned = self.schedule.group, self.planned(touch)
        whole = planned.access in ("staged", "shifted")
        alignment = group * self.operand(touch).dtype.size if whole else planned.alignment
        return f"Pack<{self.type_of(touch)}, {group}, {alignment}>"

    def gather_pack(self, touch: int) -> str:
        """The type of a group that is read element by element."""
        size = self.operand(touch).dtype.size
        return f"Pack<{self.type_of(touch)}, {self.schedule.group}, {size}>"

    def register_pack(self, touch: int) -> str:
        """The type of a group in registers."""
        return self.pack(touch) if self.is_grouped(touch) else self.gather_pack(touch)

    def is_packed(self, touch: int) -> bool:
        """Whether several elements of an operand share a register."""
        size, planned = self.operand(touch).dtype.size, self.planned(touch)
        if planned.access == "shifted":
            return True
        return planned.access == "vector" and size < 4 <= min(planned.alignment, self.schedule.group * size)

    def pattern_label(self, pattern: int) -> str:
        """A stride pattern bears the name of the first touch that has it."""
        return next(self.labels[i] for i, t in enumerate(self.schedule.touches) if t.pattern == pattern)

    def written(self, touch: int) -> str:
        """The name of the pack that a group of an output is gathered in."""
        label = self.labels[touch]
        return names.new_vector(label) if self.step.touches[touch].reads else names.vector(label)

    def start(self, touch: int, name: str, terms: Sequence[str]) -> Value:
        """Where an operand's row or column begins, called ``name``."""
        read_only = "" if self.step.touches[touch].writes else "const "
        c_type = f"{read_only}{self.type_of(touch)}* const"
        start = f"{c_type} {name} = "
        lines = sum_lines(f"{start}{self.pointer(touch)} + ", terms)
        return Value(c_type, name, "\n    ".join(lines)[len(start) : -1])

    def declared(self, touch: int, name: str) -> Declared:
        """The registers that keep what is read of an operand."""
        array = f"[{self.schedule.vectors}]" if self.schedule.vectors > 1 else ""
        c_type = self.type_of(touch) if self.schedule.group == 1 else self.register_pack(touch)
        return Declared(c_type, f"{name}{array}")

    # --- accesses -----------------------------------------------------------------------------------

    def start_of_load(self, touch: int) -> str:
        """What stands before the place of a group that one access reads."""
        if touch in self.schedule.streamed:
            return f"{LOAD_STREAMING}<{self.pack(touch)}>("
        if self.by_words(touch):
            return f"{LOAD_WORDS}<{self.pack(touch)}>("
        return f"*reinterpret_cast<const {self.pack(touch)}*>("

    def by_words(self, touch: int) -> bool:
        """Whether groups are bytes that are read four at a time."""
        planned, single = self.planned(touch), self.operand(touch).dtype.size == 1
        return planned.access == "vector" and single and min(planned.alignment, self.schedule.group) >= 4

    def loads_of(self, touches: Iterable[int]) -> tuple[str, ...]:
        """The device functions that read groups of these."""
        schedule = self.schedule
        told = {*schedule.evict_last, *schedule.streamed}
        return (
            *(("load_evict_last",) if schedule.evict_last else ()),
            *((LOAD_STREAMING,) if schedule.streamed else ()),
            *((LOAD_WORDS,) if any(map(self.by_words, {*touches} - told)) else ()),
        )
