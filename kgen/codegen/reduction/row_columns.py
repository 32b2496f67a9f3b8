"""Writes the context of kernels that go along rows and also sum over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgen.codegen import names
from kgen.codegen.element import Element
from kgen.codegen.helpers import LOAD_WORDS, PREFETCH_ROW, TAKE_PACKED
from kgen.codegen.layouts import alignment_comment, member, no_overlap_comment
from kgen.codegen.reduction.calls import AT_ROW, BEFORE_ROWS, reads_of
from kgen.codegen.reduction.comment import bound_comment
from kgen.codegen.reduction.context import Value
from kgen.codegen.reduction.facts import Described, Facts
from kgen.codegen.reduction.operands import Operands
from kgen.codegen.reduction.places import RowPlaces, address
from kgen.codegen.reduction.registers import Registers
from kgen.codegen.reduction.row_context import Ahead, ColumnSum, RowsContext, Shared
from kgen.codegen.reduction.row_groups import is_known
from kgen.codegen.reduction.rows import RowKernel
from kgen.codegen.short_results import ShortResults, short_results
from kgen.ir.graph import IndexMap
from kgen.partition.reduction_step import ReductionStep
from kgen.records import dataclass, replace
from kgen.schedule.reduction.row_columns import RowColumnsSchedule

#: What addresses and lengths of prefetches are multiples of, in bytes.
PREFETCHED = 16


def describe_rows_and_columns(facts: Facts) -> Described:
    """As a kernel that goes along rows, with what a block has for all of its rows."""
    kernel, schedule = RowKernel.of(facts, _short(facts.step)), facts.schedule
    assert isinstance(schedule, RowColumnsSchedule)
    before, begin = _converting(kernel, BEFORE_ROWS, "before"), _converting(kernel, AT_ROW, "begin")
    described = kernel.describe()
    rows = described.context
    assert isinstance(rows, RowsContext)
    shared = [t for t in kernel.loads if kernel.operands.planned(t).pattern is None]
    own = [t for t in kernel.loads if t not in shared]
    context = replace(
        rows,
        template="reduction/row_columns.cu.j2",
        comment=_comment(kernel.operands, schedule),
        blocks_per_sm=schedule.blocks_per_sm,
        resident=kernel.resident([t for t in own if begin is None or t in _read_by_others(kernel, begin)]),
        loads=tuple(map(kernel.registers.read, own)),
        kept_loaded=tuple(n for n in rows.kept_loaded if n in map(kernel.registers.group, own)),
        sums=tuple(_sums(kernel.operands, kernel.places.at)),
        shared=_shared(kernel, before, shared),
        prefetched=_prefetched(kernel, own) if schedule.prefetched else (),
        rows_ahead=_rows_ahead(schedule),
    )
    if context.prefetched:
        described = replace(described, helpers=(*described.helpers, PREFETCH_ROW))
    if schedule.reads_ahead:
        return _reading_ahead(kernel, described, context, own, begin)
    return replace(described, context=context)


def _rows_ahead(schedule: RowColumnsSchedule) -> str:
    """How many rows ahead the row is that is prefetched."""
    return "gridDim.x" if schedule.prefetched == 1 else f"{schedule.prefetched} * gridDim.x"


def _prefetched(kernel: RowKernel, own: Sequence[int]) -> tuple[str, ...]:
    """Where the rows begin that are prefetched, and how many bytes they have: of operands that move by 16 bytes."""
    operands, schedule = kernel.operands, kernel.facts.schedule
    assert isinstance(schedule, RowColumnsSchedule)
    found: list[str] = []
    for access in own:
        planned, size = operands.planned(access), operands.operand(access).dtype.size
        if planned.pattern is None or planned.alignment != PREFETCHED:
            continue
        row = f"(row + {_rows_ahead(schedule)}) * {_row_stride(operands, planned.pattern)}"
        bytes_ = f"{schedule.resident * size}" if is_known(schedule) else f"{size} * layout.width"
        found.append(f"{operands.pointer(access)} + {row}, {bytes_}")
    return tuple(found)


def _short(step: ReductionStep) -> ShortResults:
    """The values that need no more than 16 bits."""
    stored = ((n, op.attr) for n, op in enumerate(step.graph.ops) if op.name == "store")
    return short_results(
        step.graph.ops, {n for n, attr in stored if isinstance(attr, IndexMap) and attr.operand in step.short_sums}
    )


def _converting(kernel: RowKernel, place: int, name: str) -> Element | None:
    """The function that converts elements at a place; None where there are none."""
    if place not in kernel.values.kept.values():
        return None
    return kernel.functions.write(place, f"{kernel.facts.base}_{name}", ())


def _read_by_others(kernel: RowKernel, function: Element | None) -> set[int]:
    """The accesses whose elements other functions than this one take."""
    return {t for other in kernel.functions.written if other is not function for t in reads_of(other)}


def _shared(kernel: RowKernel, before: Element | None, accesses: Sequence[int]) -> Shared:
    """What a block loads for all of its rows.  What is only converted stays in no registers."""
    later = _read_by_others(kernel, before)
    registers = replace(kernel.registers, resident=kernel.registers.resident & later)
    return Shared(
        (*map(registers.declared, [t for t in accesses if t in later]), *kernel.calls.kept_arrays(before_rows=True)),
        tuple(map(registers.read, accesses)),
        None if before is None else replace(kernel.calls, element=registers.element).call(before),
    )


def _reading_ahead(
    kernel: RowKernel, described: Described, context: RowsContext, own: Sequence[int], begin: Element | None
) -> Described:
    """The kernel where the next row's ``own`` elements are loaded ahead, and converted by ``begin`` when it begins."""
    registers = _NextRegisters(kernel.operands, kernel.places, kernel.registers.resident)
    call = None if begin is None else replace(kernel.calls, element=registers.element).call(begin)
    taken = _read_by_others(kernel, begin)
    unused = [kernel.places.base_of(t) for t in own if not kernel.facts.step.accesses[t].writes]
    pointers = tuple(p for p in context.pointers if p.name not in unused)
    context = replace(
        context, pointers=pointers, loads=(), ahead=tuple(_ahead(kernel, t, t in taken) for t in own), begin_row=call
    )
    packed = [t for t in own if kernel.operands.is_packed(t)]
    moves = (*([LOAD_WORDS] if packed else []), *([TAKE_PACKED] if taken.intersection(packed) else []))
    return replace(described, context=context, helpers=(*described.helpers, *moves))


@dataclass(frozen=True, slots=True)
class _NextRow(RowPlaces):
    """The elements of the next row."""

    def base_of(self, access: int) -> str:
        return names.ahead(self.operands.labels[access])


@dataclass(frozen=True, slots=True)
class _NextRegisters(Registers):
    """The registers of the next row."""

    def name(self, access: int) -> str:
        return names.next_row(self.operands.labels[access])


def _row_stride(operands: Operands, pattern: int) -> str:
    """The stride from one row to the next."""
    return member(f"{operands.pattern_label(pattern)}_stride", 0, operands.schedule.kept)


def _ahead(kernel: RowKernel, access: int, is_taken: bool) -> Ahead:
    """``is_taken``: whether its elements are needed after they are converted."""
    operands, places = kernel.operands, _NextRow(kernel.operands, kernel.places.at)
    registers = _NextRegisters(operands, places, kernel.registers.resident)
    pattern = operands.planned(access).pattern
    assert pattern is not None
    step = _row_stride(operands, pattern)
    start = f"{operands.pointer(access)} + blockIdx.x * {step}"
    row = Value(f"const {operands.type_of(access)}*", places.base_of(access), start)
    read = registers.read(access)
    if operands.is_packed(access):
        place = address(places, access)
        read = replace(read, value=f"{LOAD_WORDS}<{operands.pack(access)}>({place})")
    here, there = kernel.registers.group(access), registers.group(access)
    packed = f"{TAKE_PACKED}({here}, {there})" if is_taken else f"keep_packed({there})"
    take = packed if operands.is_packed(access) else f"{here} = {there}" if is_taken else ""
    return Ahead(row, f"gridDim.x * {step}", registers.declared(access), read, take)


def _sums(operands: Operands, at: str) -> Iterator[ColumnSum]:
    """``at``: the place of a group in its row."""
    schedule = operands.schedule
    width = f"{schedule.resident}ll" if is_known(schedule) else "(long long)layout.width"
    for access in filter(operands.is_sum, range(len(schedule.accesses))):
        size, name = operands.operand(access).dtype.size, operands.column_sum(access)
        c_type = f"Pack<{operands.type_of(access)}, {schedule.group}, {schedule.group * size}>"
        row = operands.start(access, names.row(operands.labels[access]), [f"blockIdx.x * {width}"])
        array = f"[{schedule.vectors}]" if schedule.vectors > 1 else ""
        yield ColumnSum(c_type, name.removesuffix("[v]") + array, name, row, f"{row.name} + {at}")


def _comment(operands: Operands, schedule: RowColumnsSchedule) -> tuple[str, ...]:
    """What the kernel does, how it is launched, and what it requires of its operands."""
    step = operands.step
    summed = [operands.operand(t).name for t in range(len(schedule.accesses)) if operands.is_sum(t)]
    most = schedule.resident
    least = most - schedule.threads * schedule.group + 1 if schedule.fills else 1
    elements = str(most) if schedule.exact else f"{least} to {most}"
    text = [
        f"Rows of {elements} elements, kept in registers: each block takes every gridDim.x-th row, and adds up "
        "its columns.",
        f"Launch: any number of blocks of {schedule.block} threads, for n rows; each stores one row of "
        f"{names.listed(summed)}.",
        *bound_comment(schedule, schedule.blocks_per_sm),
        "Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31."
        if schedule.index_bits == 32
        else "Indices are 64-bit.",
        *alignment_comment(step, schedule),
        *([f"Vector accesses: row widths and row strides are multiples of {schedule.group} elements."]
          if schedule.group > 1 else []),
    ]  # fmt: skip
    return tuple(names.comment(line) for line in [*text, *no_overlap_comment(step, schedule)])
