"""How long a kernel takes that leaves most of a device idle: what one thread does after the other, and what the threads
of an SM share.
"""

from __future__ import annotations

from math import ceil

from kgen.records import dataclass


@dataclass(frozen=True)
class Latency:
    """The cycles of one thread and of one SM of a device.

    Fitted to 501 launches of 116 programs on an H200, which it predicts within 16 to 20% (root mean square, by kind of
    kernel): ``docs/performance-log.md``, *Thread mappings of few elements*.
    """

    #: Until a load arrives; of an instruction that waits for the one before; of a merge of states, and of a barrier.
    load: float = 500
    dependent: float = 3.5
    merge: float = 17
    barrier: float = 70
    #: Until the last of several blocks has the results of all.
    share: float = 3500
    #: Of an SM, for each block.
    block: float = 190
    #: Instructions that an SM issues in a cycle, and bytes that it moves.
    issue: float = 4
    moved: float = 48
    multiprocessors: int = 132


@dataclass(frozen=True, slots=True)
class Work:
    """One way to launch a kernel: ``blocks`` of ``warps``.

    ``waits``: how often a thread waits for memory.  ``elements``: that it computes, one after the other, with
    ``instructions`` each.  ``merges``: of states, one after the other.  ``barriers``: of a block.  ``moved``: bytes of
    the sectors that a block reads and writes.
    """

    blocks: int
    warps: int
    waits: int
    elements: int
    instructions: float
    merges: float
    barriers: int
    moved: float
    shares: bool = False


def cycles(work: Work, model: Latency) -> float:
    """Of a launch, without those of an empty one."""
    computed = work.elements * work.instructions
    alone = work.waits * model.load + computed * model.dependent + work.merges * model.merge
    met = work.barriers * model.barrier + work.shares * model.share
    of_block = model.block + work.warps * computed / model.issue + work.moved / model.moved
    return alone + met + ceil(work.blocks / model.multiprocessors) * of_block


@dataclass(frozen=True)
class RowLatency:
    """The cycles of one thread, and of an SM for each of its blocks, where threads keep rows in registers.

    Fitted to 1,950 launches of 226 programs on an H200, which it predicts within 20% (root mean square):
    ``docs/performance-log.md``, *Threads that share few rows, again*.
    """

    #: Until a load arrives; of a merge of states, and of a barrier.
    load: float = 330
    merge: float = 19.5
    barrier: float = 78
    #: Of an instruction, for a thread's first element, for each further group, which is computed after the one ahead of
    #: it, and for each further element, which the same group has beside another one.
    first: float = 7.7
    group: float = 3.2
    element: float = 0.78
    #: Of a group of rows of several dimensions, to find its place.
    place: float = 50
    #: Of an SM, for each block, and for each of its warps; instructions that it issues in a cycle, where others wait,
    #: and bytes that it moves.
    block: float = 37
    warp: float = 31.5
    issue: float = 18
    moved: float = 62
    multiprocessors: int = 132


@dataclass(frozen=True, slots=True)
class RowWork:
    """One way to launch a kernel that keeps rows in registers: ``blocks`` of ``warps``.

    ``groups``: of a row that a thread has, which are ``elements`` in all, with ``instructions`` each.  ``merges``: of
    states, one after the other.  ``barriers``: of a block.  ``places``: whether the place of each group is computed.
    ``moved``: bytes of the sectors that a block reads and writes.
    """

    blocks: int
    warps: int
    groups: int
    elements: int
    instructions: float
    merges: float
    barriers: int
    places: bool
    moved: float


def row_cycles(work: RowWork, model: RowLatency) -> float:
    """Of a launch, without those of an empty one."""
    each = model.first + model.group * (work.groups - 1) + model.element * (work.elements - 1)
    found = model.load + work.instructions * each + work.places * work.groups * model.place
    met = work.merges * model.merge + work.barriers * model.barrier
    issued = model.warp + work.elements * work.instructions / model.issue
    of_block = model.block + work.warps * issued + work.moved / model.moved
    return found + met + work.blocks / model.multiprocessors * of_block
