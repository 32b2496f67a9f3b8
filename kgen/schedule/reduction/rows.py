"""Schedules of kernels that reduce along rows: how many threads share a row, and whether they keep it in registers."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from kgen.ir.graph import Gather, Reduction
from kgen.records import dataclass, replace
from kgen.schedule.elementwise.gathers import gathered_rows, row_axis
from kgen.schedule.facts import Choice
from kgen.schedule.occupancy import bytes_of_two_blocks
from kgen.schedule.reduction.evict_last import POLICY_REGISTERS, evict_last_accesses, exceeds_l2, reduces_shared
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.few import helping_rows
from kgen.schedule.reduction.peel import CACHED_BLOCK_BYTES, margins, max_edge_elements
from kgen.schedule.reduction.persistent import choose_shared_operand
from kgen.schedule.reduction.reasons import row_reasons
from kgen.schedule.reduction.schedule import RowSchedule
from kgen.schedule.reduction.single_row import may_have_rows
from kgen.schedule.reduction.states import has_parts
from kgen.schedule.reduction.streaming import streaming_accesses
from kgen.schedule.reduction.thread_mapping import (
    Order,
    RowDemand,
    ThreadMapping,
    few_mapping,
    filled,
    in_powers,
    map_few_vectors,
    map_row,
    one_row_mapping,
)
from kgen.schedule.reduction.traversal import RowTraversal
from kgen.schedule.schedule import AccessSchedule
from kgen.schedule.target import WARP
from kgen.schedule.trace import reaches

HALF = 2  # bytes


def rows_in_order(facts: RowFacts, threads: int | None = None, *, stages: bool = False) -> Choice:
    """The schedule of rows in the order of the space.  ``threads``: that share a row; None where rules decide.
    ``stages``: whether these take dense rows out of shared memory."""
    traversal = RowTraversal(facts, threads, stages)
    schedule = _Rows(facts, traversal).schedule()
    width = facts.width if facts.along else None
    reasons = row_reasons(schedule, facts.step, width, plain=facts.is_plain)
    more = traversal.sharing is not None and threads is None
    few = ("few elements: more threads share them",) if more else ()
    if schedule.order is not None:
        few = (f"few elements: more threads share them, and add in the order of {schedule.order.threads}",)
    return Choice(schedule, facts.space, (*reasons, *few))


@dataclass(frozen=True)
class _Rows:
    """The decisions, each of which depends on those before it."""

    facts: RowFacts
    traversal: RowTraversal

    @cached_property
    def kept_bytes(self) -> int:
        """Bytes per element of all operands that threads keep in registers."""
        return self.facts.bytes_of(self.traversal.own)

    @cached_property
    def is_large(self) -> bool:
        """Whether more is read than L2 holds, and loads should say so.  With several shared operands most rows would be
        slower then: only long ones, not peeled, that read these after their last round."""
        facts = self.facts
        read, written = (facts.rows * facts.width * size for size in (self.kept_bytes, facts.bytes_written))
        if not facts.bounded or not exceeds_l2(facts.target, read, written):
            return False
        if self.traversal.weights < 2:
            return True
        is_long = self.traversal.anchor is None and facts.width * self.kept_bytes >= facts.tuning.rows.long_bytes
        return is_long and not self.reduces_shared

    @cached_property
    def reduces_shared(self) -> bool:
        """Whether a reduction depends on operands that rows share."""
        return reduces_shared(self.facts, [i for i in self.facts.reads if i not in self.traversal.own])

    @cached_property
    def mapping(self) -> ThreadMapping:
        return row_mapping(self.facts, self.traversal)

    @cached_property
    def bits(self) -> Literal[32, 64]:
        # In files for rows of any length, kernels with 64 bits serve all numbers of rows.
        return self.facts.index_bits(self.facts.varies) if self.facts.along else 64

    @cached_property
    def accesses(self) -> tuple[AccessSchedule, ...]:
        return self.traversal.accesses()

    @cached_property
    def shared_operand(self) -> int | None:
        """The operand that persistent clusters keep in shared memory."""
        one = self.mapping
        may = one.cluster > 1 and self.traversal.anchor is None and self.bits == 32 and self.facts.reduced == 1
        each = one.vectors * self.traversal.group
        return choose_shared_operand(self.facts, self.accesses, one.threads, one.cluster, each) if may else None

    @property
    def is_split(self) -> bool:
        """Whether several blocks share a row."""
        return not self.mapping.vectors and _may_split(self.facts)

    @property
    def span_groups(self) -> int:
        """Groups of a span that each thread takes at least: fewer where that would leave too few blocks."""
        facts, tuning = self.facts, self.facts.tuning.rows
        if not _may_fill(facts):
            return tuning.span_groups
        groups, once = tuning.span_groups_alone, self.mapping.threads * self.traversal.group
        while groups > 1 and facts.along and facts.rows * facts.width <= tuning.few_spans * once * groups:
            groups //= 2
        return groups

    @cached_property
    def segments(self) -> tuple[int, int]:
        """Threads that share a segment, part of a warp, and the groups that each has of it: all of its groups, so that
        values of segments are computed once a thread, else one.  (0, 1) where there are no such numbers."""
        one, counted = self.mapping, any(op.name == "index" for op in self.facts.step.graph.ops)
        apart = any(self.accesses[i].kind == "gather" for i in self.facts.reads)
        if not self.facts.segment or not one.vectors or counted or apart:
            return 0, 1
        for each in (one.vectors, 1):
            for threads in (1 << n for n in range(WARP.bit_length())):
                if self.facts.segment == threads * each * self.traversal.group and one.threads % threads == 0:
                    return threads, each
        return 0, 1

    @property
    def read_bytes(self) -> int:
        """Bytes of all operands that a thread reads of a row."""
        return self.mapping.vectors * self.traversal.group * self.facts.bytes_of(self.facts.reads)

    @property
    def prefetches(self) -> bool:
        """Whether row operands are loaded ahead of the first round: there are registers for them, and rows are written.
        Else a row's own loads are better alone in flight (dot products of 4096 bfloat16 1.065 to 1.085 of a copy)."""
        facts, one = self.facts, self.mapping
        if not one.vectors or self.traversal.anchor is not None or self.traversal.staged:
            return False
        tuning = facts.tuning.rows
        most = min(tuning.most_kept_bytes, bytes_of_two_blocks(one.threads, tuning.other_registers))
        fits = self.read_bytes <= most and not self.is_crowded and (facts.bytes_written > 0 or not self.reduces_shared)
        return fits and self.traversal.weights > 0 and self.shared_operand is None

    @property
    def is_tight(self) -> bool:
        """Whether threads that keep several operands have no registers for L2's policy: then one block fits an SM, not
        two (512 threads, `x + r` and its rmsnorm of 16384 bfloat16, 0.97 of a copy, 0.80 with the hint)."""
        most = bytes_of_two_blocks(self.mapping.threads, self.facts.tuning.rows.other_registers + POLICY_REGISTERS)
        return self.prefetches and len(self.traversal.own) > 1 and self.read_bytes > most

    @property
    def is_crowded(self) -> bool:
        """Whether many rows are beside rows at computed places: registers for row operands would cost more threads on
        an SM than is gained by loading these early."""
        return bool(self.gathered) and reaches(self.facts.space.numel, self.facts.tuning.rows.crowded_elements)

    @property
    def gathered(self) -> tuple[tuple[int, int], ...]:
        """The operands that are accessed by rows at computed places."""
        facts, traversal = self.facts, self.traversal
        plain = facts.bounded and facts.reduced == 1 and traversal.anchor is None and not traversal.staged
        return gathered_rows(facts, traversal.group) if plain else ()

    @property
    def evict_last(self) -> tuple[int, ...]:
        lasts = self.is_large and self.mapping.vectors > 0 and self.shared_operand is None and not self.is_tight
        return evict_last_accesses(self.facts, self.accesses, self.traversal.own, self.traversal.group) if lasts else ()

    @property
    def streaming(self) -> tuple[int, ...]:
        facts, one = self.facts, self.mapping
        once = facts.bounded and not facts.written and (one.vectors > 0 or facts.is_plain)
        short = one.vectors > 0 and one.threads <= WARP
        return streaming_accesses(facts, self.accesses, self.traversal.group, short=short) if once else ()

    @property
    def stores_first(self) -> bool:
        """Whether sums of halves that go on are stored ahead of the first exchange, during which they are on their way:
        in launches that L2 holds, but not of the fewest rows."""
        facts, one, tuning = self.facts, self.mapping, self.facts.tuning.rows
        moved = facts.rows * facts.width * (self.kept_bytes + facts.bytes_written)
        least, most = tuning.stored_first
        may = facts.bounded and one.vectors > 0 and one.threads >= tuning.stored_first_threads
        return may and _stores_what_goes_on(facts) and reaches(moved, least) and not reaches(moved, most)

    @property
    def exact(self) -> bool:
        """Whether rows have just as many elements as threads keep, so that nothing is checked: where a block has
        several rows of one operand of halves, beside at most one that rows share.  Without checks, the compiler moves
        loads of wider or further operands behind the exchange."""
        facts, traversal, one = self.facts, self.traversal, self.mapping
        alone = one.rows_per_thread == 1 and one.order is None and not self.stores_first and not self.segments[0]
        plain = traversal.anchor is None and not traversal.staged and not self.gathered and facts.reduced == 1
        several = one.block > one.threads >= facts.tuning.rows.exact_threads and one.vectors > 1 and traversal.group > 2
        halves = self.kept_bytes == HALF and traversal.weights * HALF == facts.bytes_of(facts.reads) - HALF <= HALF
        kept = one.threads * one.vectors * traversal.group
        return facts.along and several and halves and plain and alone and facts.width == kept

    def schedule(self) -> RowSchedule:
        facts, traversal, one = self.facts, self.traversal, self.mapping
        return RowSchedule(
            "row_reduce",
            one.block,
            traversal.group,
            len(facts.space.shape),
            self.bits,
            self.accesses,
            facts.coordinates,
            traversal.anchor,
            gathered=self.gathered,
            target=facts.target,
            threads=one.threads,
            vectors=one.vectors,
            reduced=facts.reduced,
            split=self.is_split,
            span_groups=self.span_groups if self.is_split else 0,
            cluster=one.cluster,
            rows_per_thread=one.rows_per_thread,
            order=one.order,
            shared_operand=self.shared_operand,
            prefetches=self.prefetches,
            evict_last=self.evict_last,
            streaming=self.streaming,
            dense=traversal.dense,
            segment_threads=self.segments[0],
            segment_vectors=self.segments[1],
            any_length=one.vectors > 1 and not facts.along,
            stores_first=self.stores_first,
            exact=self.exact,
            has_width=not self.exact or _divides_by_width(facts),
        )


def _divides_by_width(facts: RowFacts) -> bool:
    """Whether a reduction is divided by the number of elements.  It is passed: of a constant one the compiler keeps
    converted elements in more registers."""
    reductions = (op.attr for op in facts.step.graph.ops if isinstance(op.attr, Reduction))
    return any(one.kind in ("mean", "var", "std") for one in reductions)


def _stores_what_goes_on(facts: RowFacts) -> bool:
    """Whether a value of 16 bits is stored and read on."""
    ops = facts.step.graph.ops
    stored = {op.args[0] for op in ops if op.name == "store" and op.dtype.size == HALF}
    return any(n in stored and ops[n].name != "load" for op in ops if op.name != "store" for n in op.args)


def row_mapping(facts: RowFacts, traversal: RowTraversal) -> ThreadMapping:
    """The thread mapping: with more threads where rows are few."""
    found = _mapping_of_many(facts, traversal)
    groups = -(-facts.width // traversal.group)
    if not _may_help(facts, traversal, found):
        return found
    threads = helping_rows(facts, found.threads, groups)
    if threads == found.threads:
        return found
    helped = few_mapping(facts.rows, threads, -(-groups // threads), facts.tuning.rows)
    return replace(helped, order=Order(found.threads, found.vectors))


def _may_help(facts: RowFacts, traversal: RowTraversal, found: ThreadMapping) -> bool:
    """Whether more threads may share each of a few rows, which add floats in the order of as many as share many rows:
    part of a warp, that keeps rows in few registers."""
    tuning, group = facts.tuning.rows, traversal.group
    staged = traversal.stages or traversal.flat is not None
    if not facts.is_few or facts.may_depend_on_rows or staged or traversal.anchor is not None or facts.segment:
        return False
    several = found.vectors > 1 and found.threads < WARP and found.cluster == found.rows_per_thread == 1
    keeps = found.vectors * group <= tuning.kept_values  # as with fewer elements: bits may depend on what is kept
    return several and keeps and not facts.step.sums and has_parts(facts.step)


def _mapping_of_many(facts: RowFacts, traversal: RowTraversal) -> ThreadMapping:
    """The thread mapping as far as the length of rows decides it."""
    flat, group, width, tuning = traversal.flat, traversal.group, facts.width, facts.tuning.rows
    if flat is not None:
        return ThreadMapping(flat.threads, flat.vectors, 1, flat.block, flat.rows_per_thread)
    if traversal.short is not None:
        return one_row_mapping(traversal.short.threads, traversal.short.vectors, tuning=tuning)
    row_bytes = width * (facts.bytes_of(traversal.own) + facts.bytes_written)
    if traversal.threads is not None:
        vectors = -(-width // (group * traversal.threads))
        found = one_row_mapping(traversal.threads, vectors, tuning=tuning)
        return filled(found, row_bytes, many=_are_many(facts, found), tuning=tuning)
    found = _mapping_by_length(facts, traversal)
    if not found.vectors and _may_split(facts):
        return _of_spans(facts)
    if traversal.sharing is not None and found.vectors and found.cluster == 1:
        threads = max(found.threads, traversal.sharing)
        return few_mapping(facts.rows, threads, max(1, -(-width // (group * threads))), tuning)
    if not facts.along:
        return found
    if facts.segment and found.vectors and found.cluster == 1:
        found = in_powers(found, -(-width // group), facts.segment // group, tuning)
    return filled(found, row_bytes, many=_are_many(facts, found), tuning=tuning)


def _are_many(facts: RowFacts, mapping: ThreadMapping) -> bool:
    """Whether there are many threads, of which a warp or less shares a row."""
    if mapping.threads > WARP:
        return False
    return not facts.bounded or reaches(facts.rows * mapping.threads, facts.tuning.rows.many_threads)


def _mapping_by_length(facts: RowFacts, traversal: RowTraversal) -> ThreadMapping:
    group, width, tuning = traversal.group, facts.width, facts.tuning.rows
    kept = facts.bytes_of(traversal.own)
    # What several rows share is read from memory once.
    read = facts.bytes_of(facts.varying(traversal.own)) or kept
    as_much = max((facts.itemsizes[i] for i in facts.written), default=0) >= read
    if facts.along and traversal.has_whole_vectors and traversal.anchor is None:
        beside = _beside_places(facts, width // group)
        if beside is not None:
            return beside
        weighted = bool(facts.written) and traversal.weights > 0
        found = map_few_vectors(width // group, in_pairs=as_much or weighted, tuning=tuning)
        if found is not None:
            return found
    grouped = width if traversal.anchor is None else width // group * group
    largest, singles = 1 if facts.is_plain else facts.target.cluster, _singles(facts, traversal)
    return map_row(
        RowDemand(
            grouped,
            group,
            kept,
            facts.rounds,
            max(singles, facts.segment // group),
            largest,
            facts.along,
            bool(facts.written),
            as_much,
            several=len(traversal.own) > 1 and facts.bytes_written >= kept,
            plain=facts.is_plain,
            walks=facts.is_plain and group == 1 and traversal.sharing is None,
            pieces=facts.reduced > 1,
            shared=traversal.weights,
            singles=singles,
            tuning=tuning,
        )
    )


def _beside_places(facts: RowFacts, count: int) -> ThreadMapping | None:
    """The mapping of a row of ``count`` vectors that also reads rows at computed places: a thread for each, which
    leaves registers for those of all rows; None for longer rows, and without such rows.

    Norms of heads of 128 with rotary embedding, 40 heads: 128 tokens 1.83 us, with two vectors 2.22; 16384 93 and 102.
    """
    ops = facts.step.graph.ops
    gathers = any(isinstance(op.attr, Gather) and row_axis(facts.step, n) is not None for n, op in enumerate(ops))
    if not gathers or count > WARP:
        return None
    threads, vectors = 1 << (count - 1).bit_length(), 2 if count > 1 and _takes_pairs(facts) else 1
    return one_row_mapping(threads // vectors, vectors, tuning=facts.tuning.rows)


def _takes_pairs(facts: RowFacts) -> bool:
    """Whether each thread of such rows has two vectors instead: many rows, of which places and addresses take most
    instructions.  A thread then adds what two threads would add first, so that bits are the same.

    The same heads with caches in fp8, 48 heads: 4096 tokens 29.1 us, 26.8 by two; 16384 108.5 and 97.7; 128 alike.
    """
    kinds = {op.attr.kind for op in facts.step.graph.ops if isinstance(op.attr, Reduction)}
    return kinds <= {"sum", "mean", "max", "min"} and reaches(facts.space.numel, facts.tuning.rows.crowded_elements)


def _of_spans(facts: RowFacts) -> ThreadMapping:
    """The threads of each block, where several share a row."""
    tuning = facts.tuning.rows
    threads = tuning.split_threads if _may_fill(facts) else tuning.span_threads
    return ThreadMapping(threads, 0, block=threads)


def _may_fill(facts: RowFacts) -> bool:
    """Whether rows that several blocks share may be cut into as many spans as fill a device: there are no other rows,
    or few, on which results may depend."""
    return not may_have_rows(facts.step) or (facts.is_few and facts.may_depend_on_rows)


def _may_split(facts: RowFacts) -> bool:
    """Whether several blocks should share each row that is walked, however many rows there are.

    In files for rows of any length, single rows of a length that one block walks in as short a time are not split.
    """
    tuning = facts.tuning.rows
    most = tuning.few_sharing * tuning.several_elements if facts.is_few else tuning.longest_of_one_block
    fills = facts.along and _may_fill(facts) and (facts.width > most or not may_have_rows(facts.step))
    return facts.is_plain and (facts.width > tuning.longest_of_one_block or fills)


def _singles(facts: RowFacts, traversal: RowTraversal) -> int:
    """Edge elements of a row, at most: each is one thread's work, so a row needs as many threads."""
    if traversal.anchor is None:
        return 1
    sizes = facts.itemsizes
    shifted = [
        (CACHED_BLOCK_BYTES // sizes[i], True) if i in traversal.aligned else (traversal.group, False)
        for i in traversal.shifted
    ]
    return max_edge_elements(traversal.group, margins(traversal.group, shifted))
