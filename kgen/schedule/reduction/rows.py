"""Schedules of kernels that go along rows: how many threads share one, and whether they keep it in registers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from kgen.schedule.facts import Choice
from kgen.schedule.reduction.access import Walk
from kgen.schedule.reduction.evict_last import evicted_last, exceeds_l2
from kgen.schedule.reduction.facts import RowFacts
from kgen.schedule.reduction.peel import NEAR_BLOCK, margins, most_singles
from kgen.schedule.reduction.persistent import kept_near
from kgen.schedule.reduction.reasons import row_reasons
from kgen.schedule.reduction.schedule import RowSchedule
from kgen.schedule.reduction.streaming import streamed
from kgen.schedule.reduction.threads import Demand, Share, few_share, filled, share
from kgen.schedule.schedule import TouchSchedule
from kgen.schedule.target import WARP


def along_rows(facts: RowFacts) -> Choice:
    """The schedule of any kernel with reductions."""
    schedule = _Rows(facts, Walk(facts)).schedule()
    width = facts.width if facts.along else None
    return Choice(schedule, facts.space, row_reasons(schedule, facts.step, width, plain=facts.is_plain))


@dataclass(frozen=True)
class _Rows:
    """The decisions, each made of those before it."""

    facts: RowFacts
    walk: Walk

    @cached_property
    def kept_bytes(self) -> int:
        """Bytes of an element of all that threads keep of a row."""
        return self.facts.bytes_of(self.walk.own)

    @cached_property
    def is_large(self) -> bool:
        """Whether more is read than L2 holds.  Rows that are slow by shared operands, which begin elsewhere in each,
        would lose by what follows from that."""
        facts = self.facts
        read, written = (facts.rows * facts.width * size for size in (self.kept_bytes, facts.bytes_written))
        light = self.walk.lead is None or self.walk.weights < 2
        return facts.bounded and exceeds_l2(facts.target, read, written) and light

    @cached_property
    def share(self) -> Share:
        """Who shares a row.

        More in flight for each exchange: layernorm of 2048 bfloat16 1.03 of a copy and not 1.00, of 8192 1.02 and 0.95.
        """
        shared, group = share_of(self.facts, self.walk), self.walk.group
        kept = 2 * shared.vectors * group * self.kept_bytes
        roomy = shared.cluster == 1 and 0 < kept <= self.facts.tuning.rows.kept_bytes
        if self.is_large and self.walk.weights > 1 and shared.threads > WARP and roomy:
            return shared.halved(-(-self.facts.width // group))
        return shared

    @cached_property
    def bits(self) -> Literal[32, 64]:
        return self.facts.index_bits(self.facts.wide)

    @cached_property
    def touches(self) -> tuple[TouchSchedule, ...]:
        return self.walk.touches()

    @cached_property
    def near(self) -> int | None:
        """The operand that persistent clusters keep in shared memory."""
        one = self.share
        may = one.cluster > 1 and self.walk.lead is None and self.bits == 32 and self.facts.reduced == 1
        each = one.vectors * self.walk.group
        return kept_near(self.facts, self.touches, one.threads, one.cluster, each) if may else None

    @property
    def is_split(self) -> bool:
        """Whether several blocks share a row."""
        facts, one = self.facts, self.share
        blocks = -(-facts.rows // (one.block // one.threads))
        few = blocks < facts.tuning.rows.enough_blocks
        return facts.bounded and not one.vectors and facts.is_plain and few

    @property
    def evict_last(self) -> tuple[int, ...]:
        lasts = self.is_large and self.share.vectors > 0 and self.near is None
        return evicted_last(self.facts, self.touches, self.walk.own, self.walk.group) if lasts else ()

    @property
    def streamed(self) -> tuple[int, ...]:
        facts, one = self.facts, self.share
        once = facts.bounded and not facts.written and (one.vectors > 0 or facts.is_plain)
        short = one.vectors > 0 and one.threads <= WARP
        return streamed(facts, self.touches, self.walk.group, short=short) if once else ()

    def schedule(self) -> RowSchedule:
        facts, walk, one = self.facts, self.walk, self.share
        return RowSchedule(
            "row_reduce",
            one.block,
            walk.group,
            len(facts.space.shape),
            self.bits,
            self.touches,
            facts.coordinates,
            walk.lead,
            target=facts.target,
            threads=one.threads,
            vectors=one.vectors,
            reduced=facts.reduced,
            split=self.is_split,
            cluster=one.cluster,
            repeat=one.repeat,
            near=self.near,
            evict_last=self.evict_last,
            streamed=self.streamed,
        )


def share_of(facts: RowFacts, walk: Walk) -> Share:
    """Who shares a row, as far as its length decides."""
    flat, group, width, tuning = walk.flat, walk.group, facts.width, facts.tuning.rows
    if flat is not None:
        return Share(flat.threads, flat.vectors, 1, flat.block, flat.repeat)
    kept = facts.bytes_of(walk.own)
    as_much = max((facts.itemsizes[i] for i in facts.written), default=0) >= kept
    found: Share | None = None
    if facts.along and walk.has_whole_vectors and walk.lead is None:
        found = few_share(width // group, as_much=as_much, tuning=tuning)
    if found is None:
        grouped = width if walk.lead is None else width // group * group
        largest = 1 if facts.is_plain else facts.target.cluster
        found = share(
            Demand(grouped, group, kept, facts.rounds, _singles(facts, walk), largest, facts.along, as_much, tuning)
        )
    return filled(found, width * (kept + facts.bytes_written), tuning)


def _singles(facts: RowFacts, walk: Walk) -> int:
    """Elements of a row that may be in no group: each goes to a thread."""
    if walk.lead is None:
        return 1
    sizes = facts.itemsizes
    near = [(NEAR_BLOCK // sizes[i], True) if i in walk.aligned else (walk.group, False) for i in walk.shifted]
    return most_singles(walk.group, margins(walk.group, near))
