"""Row kernels with operands that are consecutive along different kept dimensions.

A block takes rows that are neighbours in one operand, at several places where rows are neighbours in another one, so
that it uses whole sectors of both; what several of its threads read is in L1 meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from kgen.records import dataclass, replace
from kgen.schedule.reduction.facts import RowFacts

Dims = tuple[int, ...]  #: kept dimensions of a space, in an order


@dataclass(frozen=True, slots=True)
class RowTiles:
    """An order of rows: ``facts`` with its dimensions, of which the kept one ``chunked`` is taken in chunks of
    ``chunk`` places, 0 where it is taken as a whole.  ``first``, ``second``: the operands.
    """

    facts: RowFacts
    chunked: int
    chunk: int
    first: int
    second: int


def row_tiles(facts: RowFacts, places: int) -> Iterator[RowTiles]:
    """Orders in which ``places`` neighbours in one operand come first, then those in another one.

    Not where so few would be written at once that most writes end within sectors.
    """
    least = facts.tuning.rows.tile_written_bytes
    near: dict[Dims, int] = {}
    for i in facts.varying(range(len(facts.itemsizes))):
        if order := _neighbours(facts, i):
            near.setdefault(order, i)
    sizes = {i: facts.itemsizes[i] * (facts.width if facts.is_consecutive(i) else 1) for i in facts.written}
    few = {_neighbours(facts, i) for i, size in sizes.items() if places * size < least}
    for (order, first), (other, second) in permutations(near.items(), 2):
        if order not in few and other[0] not in _head(facts, order, places)[0]:
            yield _tiles(facts, first, second, order, other, places)


def _tiles(facts: RowFacts, first: int, second: int, order: Dims, other: Dims, places: int) -> RowTiles:
    head, chunk = _head(facts, order, places)
    walked = facts.space.with_first([*range(facts.reduced), *dict.fromkeys((*head, *other, *order))])
    return RowTiles(replace(facts, space=walked), len(head) - 1, chunk, first, second)


def _neighbours(facts: RowFacts, access: int) -> Dims:
    """The kept dimensions by how near neighbours are in an operand, where these share what memory moves at once."""
    steps = {d: abs(facts.step_along(access, d)) for d in range(facts.reduced, len(facts.space.shape))}
    order = tuple(sorted((d for d, step in steps.items() if step), key=steps.__getitem__))
    return order if order and steps[order[0]] * facts.itemsizes[access] < facts.tuning.traffic.burst else ()


def _head(facts: RowFacts, order: Dims, places: int) -> tuple[Dims, int]:
    """The first dimensions, which have so many places, and how many of these are along the last of them; 0: all."""
    for count, d in enumerate(order, 1):
        if places <= facts.space.shape[d]:
            return order[:count], places if places < facts.space.shape[d] else 0
        places //= facts.space.shape[d]
        if places < 2:
            return order[:count], 0
    return order, 0
