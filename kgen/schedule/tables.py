"""Other tables of tuned numbers, by which other schedules are chosen: what ``kernel.tune()`` has to choose among.

Times are predicted, and predictions are wrong by a factor that differs from kernel to kernel.  Where several schedules
are predicted to take about as long, only the clock knows which one is the fastest.  So tables with odd numbers have
numbers as they might be: half of the rates, costs and factors (each ``float``) are multiplied by a number between 1/4
and 4, and some of the sizes in :data:`SIZES` are twice or half as large.  What is multiplied, and by how much, follows
from the table's number and the field's name alone.  Tables with even numbers doubt what searches predict, each time by
itself (:class:`~kgen.schedule.tuning.Tuning`): some schedules are predicted to take longer than others by all numbers.
Limits are the same in all tables, so every schedule is a legal one.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from random import Random
from typing import Any

from kgen.records import replace
from kgen.schedule.target import Target

#: Whole numbers that are no limits, by part of the table: with twice or half of each, kernels are right.
SIZES: dict[str, frozenset[str]] = {
    part: frozenset(names.split())
    for part, names in {
        "elementwise": "block_bytes box_elements few_box_elements few_boxes few_threads flat_itemsize kept_in_l2"
        " many_boxes narrow_box_elements prefetch_registers shared shared_group_bytes shortest_row"
        " shortest_row_of_long shortest_side",
        "rows": "elements few_elements kept_bytes kept_values longest_of_one_block longest_walk read_bytes"
        " read_elements several_elements span_groups split_blocks split_threads walk_threads walked_at_once",
        "staging": "crowded_threads elements longest longest_across most_rows shared_elements",
        "columns": "across_bytes chunks_in_flight enough_threads few_chunked few_each fewest_chunked fewest_each"
        " flying_registers in_flight_bytes in_flight_narrow lone_block most_alone most_alone_single most_apart"
        " most_flying_bytes moved_bytes resident_threads split_blocks",
        "chains": "fewest_split max_one_block_row max_separate_rounds_row rows",
    }.items()
}

_MOST = 4.0  # a rate's factor
_RATES, _SIZES = 0.5, 0.3  # the parts of all that differ


@cache
def with_table(target: Target, number: int) -> Target:
    """The target with the table of this number, 0 for its own; one object for each, as caches need it."""
    if not number:
        return target
    tuning = _varied(target.tuning, number, "") if number % 2 else replace(target.tuning, doubt=number)
    return replace(target, tuning=tuning)


def _varied(numbers: Any, table: int, part: str) -> Any:
    """A dataclass of numbers as another table has them.  ``part``: the name of the field that it is."""
    found: dict[str, Any] = {}
    for field in fields(numbers):
        value, path = getattr(numbers, field.name), f"{part}.{field.name}" if part else field.name
        chosen = Random(f"{table}.{path}")
        power, rank = chosen.uniform(-1, 1), chosen.random()
        if is_dataclass(value):
            found[field.name] = _varied(value, table, path)
        elif isinstance(value, float) and rank < _RATES:
            # A norm's order is 1 where nothing overlaps.
            least = 1.0 if field.name == "overlap" else 0.0
            found[field.name] = least + (value - least) * _MOST**power
        elif field.name in SIZES.get(part, ()) and rank < _SIZES:
            found[field.name] = 2 * value if power > 0 else max(1, value // 2)
    return replace(numbers, **found)
