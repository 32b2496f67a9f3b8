"""Interleaved operands: every second, third or fourth element, as ``x[..., ::2]`` and ``x[..., 1::2]``.

A thread loads a *wide group*, its group with all that lies between, and takes each operand's elements out of registers.
Views of one base that differ only in the element at which they begin share these loads.  Outputs that together have
every element are put together in registers, and stored at once.
"""

from __future__ import annotations

from collections.abc import Mapping

from kgen.layout.iterator import IterationSpace
from kgen.records import replace
from kgen.schedule.elementwise.groups import outer_strides
from kgen.schedule.facts import Facts
from kgen.schedule.schedule import Interleaved

#: Steps along rows; beyond that, most of what wide accesses load would not be used.
STEPS = (2, 3, 4)
#: For each step, the part of 16 bytes that a thread stores of one output (three bfloat16 0.98 of a copy in accesses
#: of 8 bytes, 0.69 in accesses of 16, 0.55 one by one).
_PART = {2: 2, 3: 2, 4: 4}


def interleaved(facts: Facts, space: IterationSpace, group: int, *, aligned: bool) -> Mapping[int, Interleaved]:
    """The interleaved accesses of groups along the fastest dimension.

    ``aligned``: whether groups begin at the start of rows, so that wide groups can be aligned to whole vectors.
    """
    found: dict[int, Interleaved] = {}
    for access in range(len(facts.step.accesses)):
        alone = _alone(facts, space, access, group, aligned=aligned)
        if alone is not None:
            together = (_beside(facts, space, (i, other), (access, alone)) for i, other in found.items())
            found[access] = next((one for one in together if one is not None), alone)
    phases = {one.first: {o.phase for o in found.values() if o.first == one.first} for one in found.values()}
    whole = {i: replace(one, is_whole=len(phases[one.first]) == one.step) for i, one in found.items()}
    return {i: one for i, one in whole.items() if one.is_whole or not facts.step.accesses[i].writes}


def group_of(facts: Facts, space: IterationSpace) -> int:
    """Elements a thread: interleaved outputs are stored by one access, because two would write parts of the same
    sectors one after the other (pairs in and out 1.00 of a copy, 0.79 with two accesses); those of step 3 by three.
    """
    found = interleaved(facts, space, facts.group, aligned=True) if facts.group > 1 else {}
    stored = [_PART[o.step] * facts.itemsizes[i] for i, o in found.items() if facts.step.accesses[i].writes]
    return min(facts.group, max(2, facts.target.vector_bytes // max(stored, default=1)))


def _alone(facts: Facts, space: IterationSpace, access: int, group: int, *, aligned: bool) -> Interleaved | None:
    """An access by itself, at the widest alignment; None where it is not interleaved, or no wide group is aligned."""
    planned = facts.step.accesses[access]
    steps = [s for s in STEPS if space.shape[0] > 1 and space.strides[access][0] == s]
    if not steps or (planned.reads and planned.writes):
        return None
    (step,) = steps
    size, outer = facts.itemsizes[access], outer_strides("gather", space, access)
    vector = facts.target.vector_bytes
    for wide in (step * group, step) if aligned else (step,):
        unit = min(vector, wide * size & -(wide * size)) // size  # elements of one access
        at = facts.addresses[access] // size % max(unit, 1)
        phases = [p for p in range(step) if at % unit == p] if unit > 1 else []
        if phases and all(s % unit == 0 for s in outer):
            return Interleaved(step, phases[0], unit * size, access)
    return None


def _beside(
    facts: Facts, space: IterationSpace, one: tuple[int, Interleaved], other: tuple[int, Interleaved]
) -> Interleaved | None:
    """An access in the wide groups of an earlier one, where both are views of one base, and close enough."""
    (a, first), (b, alone) = one, other
    if _base(facts, a) != _base(facts, b) or facts.step.accesses[a].writes != facts.step.accesses[b].writes:
        return None
    if any(s != t and n != 1 for n, s, t in zip(space.shape, space.strides[a], space.strides[b], strict=True)):
        return None
    apart = facts.offsets[b] - facts.offsets[a]
    phases = [p for p in range(alone.step) if p - first.phase == apart]
    return replace(first, phase=phases[0]) if phases else None


def _base(facts: Facts, access: int) -> int:
    number = facts.step.accesses[access].operand
    view = facts.step.graph.operands[number].view
    return number if view is None else view.of
