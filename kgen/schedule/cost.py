"""What an elementwise kernel costs: predicted from the memory that its warps, blocks and waves of blocks touch.

Four things bound a kernel: bytes from memory, sectors between L2 and the SMs, lines that loads and stores touch, and
instructions.  Each is counted for the walk of a schedule; ``CostModel`` (``kgen/schedule/rates.py``) has the rates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from kgen.layout.iterator import IterationSpace
from kgen.records import dataclass
from kgen.schedule.rates import CostModel
from kgen.schedule.search import overlapped
from kgen.schedule.target import LINE, SECTOR, WARP
from kgen.schedule.trace import leading

Extents = tuple[float, ...]  #: how far something reaches along each dimension of the space


@dataclass(frozen=True, slots=True)
class Traffic:
    """How the warps of a kernel move one operand.

    ``warp``: what a warp covers before it goes on.  ``requests``: accesses that it takes for that.  ``size``: of an
    element, in bytes.  ``strides``: in elements.  ``misaligned``: whether runs begin anywhere in a sector.
    ``each``: how often a warp covers that, with all loads in flight.  ``between``: elements along the first dimension
    between places where groups of lanes begin, if fewer than a lane has: groups of 8 begin anywhere in rows of 13.
    """

    warp: Extents
    requests: float
    size: int
    strides: Sequence[float]
    misaligned: bool
    reads: bool
    each: int = 1
    between: int = 0


@dataclass(frozen=True, slots=True)
class Walk:
    """How a kernel walks its space.

    ``block``: what a block covers.  ``order``: in which order of dimensions blocks follow each other.  ``traffic``: of
    each operand.  ``instructions``: for each element.  ``used``: the fraction of lanes with work.  ``threads``: of a
    block.  ``waits``: how often a block waits for memory before it ends.  ``shared``: accesses of shared memory for
    each element.  ``times``: how often a block covers that, one after the other.
    """

    space: IterationSpace
    block: Extents
    order: Sequence[int]
    traffic: Sequence[Traffic]
    instructions: float
    used: float
    threads: int
    waits: int = 1
    shared: float = 0
    times: float = 1


def coarse(space: IterationSpace) -> IterationSpace:
    """The space with extents and strides of two significant bits, without signs: all spaces that are alike in these
    have the same cost.  An empty dimension has one element.
    """
    strides = tuple(tuple(leading(abs(s), 2) for s in of_operand) for of_operand in space.strides)
    return IterationSpace(tuple(max(1, leading(n, 2)) for n in space.shape), strides, space.axes)


#: Elements of a space for each one of its coarse space: on average, as rates are fitted to predictions for coarse ones
#: (*Predictions for coarse extents*).
_OF_COARSE = 1.3


def refinement(space: IterationSpace) -> float:
    """The factor from a time that was predicted for the coarse space to that of the space: that of their elements."""
    return space.numel / (coarse(space).numel * _OF_COARSE)


def refined(seconds: float, space: IterationSpace, model: CostModel) -> float:
    """Seconds for the space, from those for the coarse one: a launch takes as long for any."""
    fixed = model.launch + model.wait
    return fixed + (seconds - fixed) * refinement(space)


def run(extents: Sequence[float], order: Iterable[int], shape: Sequence[int], elements: float) -> Extents:
    """How far ``elements`` reach that begin with a box of ``extents`` and go on in an order of dimensions."""
    found = list(extents)
    left = elements / prod(extents)
    for d in order:
        more = min(max(left, 1.0), shape[d] / found[d])
        found[d] *= more
        left /= more
    return tuple(found)


def pieces(t: Traffic, extents: Extents, unit: int) -> float:
    """The aligned pieces of ``unit`` bytes that an operand has in a box."""
    span, count = float(t.size), 1.0
    for step, n in sorted([(s * t.size, n) for s, n in zip(t.strides, extents, strict=True) if s and n > 1]):
        if step <= max(span, unit):
            span = max(span, (n - 1) * step + span)
        else:
            count *= n
    whole = max(1.0, span / unit)
    return count * (whole + (1 - t.size / unit if t.misaligned and span < 64 * unit else 0))


def touched(t: Traffic) -> float:
    """Lines that each access of a warp touches: its lanes are as far apart as the elements of a group reach."""
    first = t.warp[0]
    across = min(WARP, max(1.0, first / (t.between or max(1.0, prod(t.warp) / WARP))))
    steps = (t.strides[0] * first / across, *t.strides[1:])
    lanes = (across, *t.warp[1:])
    return max(
        1.0,
        min(WARP, pieces(Traffic(t.warp, t.requests, t.size, steps, t.misaligned, t.reads), lanes, LINE)),
        t.size * prod(t.warp) / t.requests / LINE,
    )


@dataclass(frozen=True, slots=True)
class Counts:
    """What a launch takes: bytes from memory, bytes between L2 and the SMs, lines of loads and stores, instructions of
    warps, and those that access shared memory; how often all resident threads wait for what they load at once; how
    often a block waits; and blocks.
    """

    memory: float
    l2: float
    lines: float
    requests: float
    instructions: float
    shared: float
    rounds: float
    waits: int
    blocks: float


def moved_bytes(
    traffic: Sequence[Traffic], shape: Sequence[int], block: Extents, order: Iterable[int], model: CostModel
) -> float:
    """Bytes that a launch moves from and to memory, whose blocks follow each other in an order of dimensions: what
    blocks share is in L2 if they follow soon."""
    total, covered = prod(shape), prod(block)
    chunk = run(block, order, shape, max(covered, model.cache / sum(t.size for t in traffic)))
    blocks, chunks = max(1.0, total / covered), max(1.0, total / prod(chunk))
    moved = (min(pieces(t, chunk, model.burst) * chunks, pieces(t, block, model.burst) * blocks) for t in traffic)
    return sum(moved) * model.burst


def count(walk: Walk, model: CostModel) -> Counts:
    """What a launch takes of a device."""
    shape = walk.space.shape
    total = prod(shape)
    blocks = max(1.0, total / prod(walk.block))
    memory = moved_bytes(walk.traffic, shape, walk.block, walk.order, model)
    l2 = lines = requests = flying = loaded = 0.0
    for t in walk.traffic:
        of_block = pieces(t, walk.block, SECTOR) * blocks * SECTOR
        l2 += of_block
        of_warps = t.requests * touched(t) * total / prod(t.warp)
        # Warps that read parts of a line share it in L1; what each writes goes to L2 by itself.
        requests += pieces(t, walk.block, LINE) * blocks if t.reads else of_warps
        lines += of_warps / walk.used
        flying += t.size * prod(t.warp) / WARP * t.each if t.reads else 0
        loaded += t.size * total if t.reads else 0
    instructions = walk.instructions * total / walk.used / WARP
    shared = walk.shared * total / walk.used / WARP
    return Counts(
        memory,
        l2,
        lines,
        requests,
        instructions,
        shared,
        loaded / (flying * min(model.threads, blocks / walk.times * walk.threads)) if flying else 0.0,
        walk.waits,
        blocks,
    )


def predict(walk: Walk, model: CostModel) -> float:
    """Seconds of one launch."""
    c = count(walk, model)
    parts = (
        max(c.memory / model.memory, c.rounds * model.latency),
        c.l2 / model.l2,
        c.lines / model.lines,
        c.requests / model.requests,
        c.instructions / model.issue,
        c.shared / model.shared,
    )
    busy = max(overlapped(parts, model.overlap) * max(1.0, model.filling / c.blocks), c.blocks / model.starts)
    return model.launch + c.waits * model.wait + busy
