"""What is known about a step when its schedule is chosen: frozen data, with derived values computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from math import prod

from kgen.ir.graph import Op
from kgen.ir.ops import BRANCHING
from kgen.layout.iterator import IterationSpace
from kgen.layout.kinds import LayoutKind, classify
from kgen.partition.step import Step
from kgen.records import dataclass
from kgen.schedule.schedule import Schedule
from kgen.schedule.step_layout import Source
from kgen.schedule.target import LONG, PORTABLE, SECTOR, Target
from kgen.schedule.trace import keyed, leading, reaches
from kgen.schedule.tuning import Tuning


@dataclass(frozen=True)
class Facts:
    """A step and the layouts of its operands; sequences have one entry per access.

    ``itemsizes``: in bytes.  ``addresses``: modulo the size of the widest access.  ``offsets``: of views, in elements
    from the first one of their base.  ``aliased``: whether another access may overlap the same memory.  ``bounded``:
    whether all extents are known.  ``sources``: operands read at computed
    places.
    """

    step: Step
    space: IterationSpace
    itemsizes: Sequence[int]
    addresses: Sequence[int]
    offsets: Sequence[int]
    aliased: Sequence[bool]
    target: Target = PORTABLE
    bounded: bool = True
    sources: Sequence[Source] = field(default=(), kw_only=True)

    @property
    def tuning(self) -> Tuning:
        return self.target.tuning

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.step.graph.operands[t.operand].name for t in self.step.accesses)

    @cached_property
    def classes(self) -> tuple[LayoutKind, ...]:
        """How each access walks the space."""
        return tuple(classify(self.space, i) for i in range(len(self.step.accesses)))

    @cached_property
    def strided(self) -> tuple[str, ...]:
        """The names of the operands that are neither dense in the order of the space nor a single element."""
        return tuple(n for n, c in zip(self.names, self.classes, strict=True) if c is LayoutKind.STRIDED)

    @cached_property
    def group(self) -> int:
        """Consecutive elements per thread.

        The operands that vary along the fastest dimension decide; those that many rows share only where there are no
        others, because they come from caches, which serve a warp that reads them in wide steps slowly.
        """
        along = [i for i in range(len(self.itemsizes)) if self.step_along(i, 0) != 0]
        streamed = [i for i in along if self.is_streamed(i)]
        found = group_size([self.itemsizes[i] for i in streamed or along], self.target)
        widest = max((self.itemsizes[i] for i in along), default=1)
        most = self.tuning.elementwise.shared_group_bytes // (1 if widest <= LONG else 2)
        return max(1, min(found, most // widest))

    def is_streamed(self, access: int) -> bool:
        """Whether an operand differs between rows, and is not broadcast along most of them."""
        outer = range(1, len(self.space.shape))
        if not any(self.step_along(access, d) for d in outer):
            return False
        if not self.bounded:
            return True
        shared = prod(self.space.shape[d] for d in outer if not self.step_along(access, d))
        return shared < self.tuning.elementwise.shared

    @cached_property
    def streamed(self) -> tuple[int, ...]:
        """The accesses that are dense or streamed: what many rows share comes from caches."""
        dense = (c is LayoutKind.CONTIGUOUS for c in self.classes)
        return tuple(i for i, is_dense in enumerate(dense) if is_dense or self.is_streamed(i))

    @property
    def streamed_bytes(self) -> int:
        """Bytes of them per element."""
        return sum(self.itemsizes[i] for i in self.streamed)

    @cached_property
    def takes_long(self) -> bool:
        """Whether an element takes a function or a quotient."""
        return any(_takes_long(op, converts=not self.sources) and _varies(op) for op in self.step.graph.ops)

    def by_two_accesses(self, group: int) -> int:
        """Elements per thread in groups of at least ``group``: twice as many where only inputs of 8 bytes, which then
        move by two accesses, keep groups from being larger.  Not where they lie at a step.
        """
        wide = [i for i, size in enumerate(self.itemsizes) if size == LONG]
        reads = all(t.reads and not t.writes for i, t in enumerate(self.step.accesses) if i in wide)
        if group != group_size([LONG], self.target) or not wide or not reads:
            return group
        if any(self.step_along(i, 0) not in (0, 1) for i in wide):
            return group
        width = self.space.shape[0]
        fits = reaches(width, self.tuning.elementwise.shortest_row_of_long) or width % (2 * group) == 0
        return 2 * group if fits else group

    def spread(self, group: int, *, one_by_one: bool = False) -> int:
        """Elements per thread in groups of at most ``group``: fewer where elements take long and threads are few.

        Then the device has room for more threads, and what a thread computes for one element after the other counts.
        ``one_by_one``: whether offsets are computed for each element, which takes long, too.
        """
        takes_long, few = one_by_one or self.takes_long, self.tuning.elementwise.few_threads
        while takes_long and self.bounded and group > 1 and not reaches(self.space.numel, few * (group // 2) + 1):
            group //= 2
        return group

    def threads(self, group: int) -> int:
        """Threads of a block: twice as many where many blocks would move so little each that the rate at which a device
        begins blocks bounds the kernel.
        """
        tuning = self.tuning.elementwise
        moved = group * tuning.block * self.streamed_bytes
        little = self.bounded and moved < tuning.block_bytes
        many = little and reaches(self.space.numel, tuning.many_blocks * group * tuning.block)
        return 2 * tuning.block if many else tuning.block

    @cached_property
    def coordinates(self) -> tuple[tuple[int, int], ...]:
        """For each axis that an ``index()`` of the step reads, counted from the right, its merged dimension."""
        rank = len(self.step.shape)
        return tuple((axis - rank, self.space.dim_of(axis)) for axis in sorted(self.step.index_axes()))

    def step_along(self, access: int, dimension: int) -> int:
        """The stride of an access along a dimension, 0 where the dimension has one element."""
        return self.space.strides[access][dimension] if self.space.shape[dimension] > 1 else 0

    @cached_property
    def misaligned(self) -> tuple[bool, ...]:
        """For each access, whether its rows begin anywhere in a sector of memory."""
        return tuple(map(self._is_misaligned, range(len(self.itemsizes))))

    def _is_misaligned(self, access: int) -> bool:
        size = self.itemsizes[access]
        steps = [abs(s) * size for n, s in zip(self.space.shape, self.space.strides[access], strict=True) if n > 1]
        rests = [self.addresses[access], *(step for step in steps if leading(step, 1) >= SECTOR)]
        return any(keyed((rest % SECTOR + SECTOR - 1) // SECTOR) for rest in rests)


@dataclass(frozen=True, slots=True)
class Choice:
    """A schedule, the space in the order in which the kernel walks it, and the reasons for the decisions.

    ``seconds``: of one launch, as predicted where several ways were compared; None elsewhere.  ``others``: predicted
    seconds of the other families that apply, the least first.
    """

    schedule: Schedule
    space: IterationSpace
    reasons: tuple[str, ...]
    seconds: float | None = None
    others: tuple[tuple[str, float], ...] = ()


def _takes_long(op: Op, *, converts: bool) -> bool:
    """Whether an op has branches, or ``converts`` to fp8, which takes less than to find a row at a computed place."""
    return op.name in BRANCHING or (converts and op.name == "cast" and op.dtype.is_fp8)


def _varies(op: Op) -> bool:
    """Whether an op has a value for each element, not for each row only, such as the page of a token's slot."""
    return bool(op.shape) and op.shape[-1] != 1


def group_size(itemsizes: Sequence[int], target: Target = PORTABLE) -> int:
    """Consecutive elements per thread: the widest operand fills one vector access, narrower ones part of one."""
    return max(1, target.vector_bytes // max(itemsizes, default=1))
