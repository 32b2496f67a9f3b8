"""What ``check_indices=True`` runs ahead of a program: kernels that find indices beyond their axes.

A place is within its axis if it is at least 0 and less than the extent.  For each place that a program computes,
:func:`first_outside` has an output of one element, the number of the first index in C order that is not:

    outside0 = 2^63 - 1
    outside0[0] min= number if place < 0 or place >= extent

:func:`places` has an output for each place, with its value for every index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kgen.dtypes import INT64, UINT64
from kgen.ir.builder import Builder, broadcast
from kgen.ir.graph import Dim, Gather, Graph, IndexMap, Op, Operand, Scatter, Shape, is_within, to_bits
from kgen.passes.dce import dce
from kgen.passes.unread import unread
from kgen.records import dataclass, replace
from kgen.source import Source, Span

NONE = 2**63 - 1  #: the number where every index is within its axis


@dataclass(frozen=True, slots=True)
class IndexCheck:
    """A computed place along an axis of an array.  ``shape``: of the indices, of which the first ``rank`` axes are
    theirs; ``at``: the text that computes it.  ``unsigned``: it was a ``uint64``, and counts from the start.

    ``place`` and ``condition`` are numbers of ops: an update without its condition needs no place.
    """

    array: str
    axis: int
    extent: Dim
    shape: Shape
    rank: int
    at: Span | None
    place: int
    condition: int | None
    unsigned: bool


def index_checks(kernel: Graph) -> tuple[IndexCheck, ...]:
    """The places to check, without those that are within their axes whatever the arrays hold."""
    found: dict[tuple[object, ...], IndexCheck] = {}
    for check in _all_checks(unread(dce(kernel))):
        found.setdefault((check.array, check.axis, check.place, check.condition), check)
    return tuple(found.values())


def _all_checks(kernel: Graph) -> Iterator[IndexCheck]:
    ops = kernel.ops
    for op in ops:
        if not isinstance(op.attr, Gather | Scatter) or op.attr == Gather(op.attr.operand, "fill"):
            continue
        places, condition = list(op.places), None
        operand = kernel.operands[op.attr.operand]
        name = operand.name.removesuffix("_buffer") if operand.view is None else kernel.show_view(operand.view)
        if isinstance(op.attr, Scatter) and places:
            condition, places[0] = _conditional(ops, places[0])
        for axis, number in enumerate(places):
            if not is_within(ops[number], operand.shape[axis]):
                shape = broadcast([ops[n].shape for n in (number, condition) if n is not None])
                rank = _rank(shape, _whole_axes(ops, places, operand))
                at, place = ops[number].span or op.span, ops[number]
                unsigned = place.name == "cast" and ops[place.args[0]].dtype is UINT64
                yield IndexCheck(name, axis, operand.shape[axis], shape, rank, at, number, condition, unsigned)


def _whole_axes(ops: Sequence[Op], places: Sequence[int], operand: Operand) -> int:
    """How many of the last axes of what is read or written walk whole axes, behind those of the indices."""
    pairs = zip(places, operand.shape, strict=True)
    whole = {ops[n].attr for n, dim in pairs if ops[n].name == "index" and is_within(ops[n], dim)}
    return next(count for count in range(len(places) + 1) if -1 - count not in whole)


def _rank(shape: Shape, behind: int) -> int:
    """The rank without so many last axes, as far as they have one element."""
    ones = next((n for n, dim in enumerate(reversed(shape)) if dim != 1), len(shape))
    return len(shape) - min(behind, ones)


def _conditional(ops: tuple[Op, ...], place: int) -> tuple[int | None, int]:
    """The condition of an update, whose place is -1 where that is false (see ``kgen/check/scatters.py``)."""
    op = ops[place]
    if op.name == "where" and ops[op.args[2]].name == "const" and ops[op.args[2]].attr == to_bits(-1, INT64):
        return op.args[0], op.args[1]
    return None, place


def first_outside(kernel: Graph, source: Source) -> Graph:
    """The numbers of the first indices outside."""
    return _outputs(kernel, lambda check: (1,), _store_first)


def places(kernel: Graph, source: Source) -> Graph:
    """The places of all indices."""
    return _outputs(kernel, lambda check: check.shape, _store_place)


def _outputs(
    kernel: Graph, shape: Callable[[IndexCheck], Shape], stores: Callable[[Builder, IndexCheck, int], Iterator[Op]]
) -> Graph:
    """A graph whose outputs are one array for each check."""
    kernel = unread(dce(kernel))
    checks = index_checks(kernel)
    read = [n for n in range(len(kernel.operands)) if kernel.operands[kernel.base(n)].role != "output"]
    whole = [n for n in read if kernel.operands[n].view is None and kernel.operands[n].role != "buffer"]
    views = read[len(whole) :]  # and buffers, which come last
    moved = {n: place for place, n in enumerate(whole)} | {
        n: len(whole) + len(checks) + place for place, n in enumerate(views)
    }
    builder = Builder()
    at = _without_stores(builder, kernel, moved)
    ends: list[Op] = []
    taken = {operand.name for operand in kernel.operands}
    for number, check in enumerate(checks, len(whole)):
        condition = None if check.condition is None else at[check.condition]
        ends += stores(builder, replace(check, place=at[check.place], condition=condition), number)
    operands = (
        *(_read_only(kernel.operands[n], moved) for n in whole),
        *(Operand(_free(f"outside{n}", taken), INT64, shape(check), "output") for n, check in enumerate(checks)),
        *(_read_only(kernel.operands[n], moved) for n in views),
    )
    return unread(dce(replace(kernel, operands=operands, ops=(*builder.ops, *ends))))


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _without_stores(builder: Builder, kernel: Graph, moved: dict[int, int]) -> dict[int, int]:
    """Adds all ops but stores of results; their new numbers.  ``moved``: the new numbers of operands."""
    at: dict[int, int] = {}
    for number, op in enumerate(kernel.ops):
        attr = op.attr
        is_read = op.name == "store" and isinstance(attr, IndexMap | Scatter) and attr.operand in kernel.stored_buffers
        if op.name != "store" or is_read:
            if isinstance(attr, IndexMap | Gather | Scatter):
                attr = replace(attr, operand=moved[attr.operand])
            at[number] = builder.add(replace(op, args=tuple(at[a] for a in op.args), attr=attr))
    return at


def _read_only(operand: Operand, moved: dict[int, int]) -> Operand:
    view = operand.view and replace(operand.view, of=moved[operand.view.of])
    return replace(operand, role="buffer" if operand.role == "buffer" else "input", view=view)


def _store_place(builder: Builder, check: IndexCheck, operand: int) -> Iterator[Op]:
    access = IndexMap(operand, tuple(range(len(check.shape))))
    yield Op("store", (check.place,), INT64, check.shape, access)


def _store_first(builder: Builder, check: IndexCheck, operand: int) -> Iterator[Op]:
    zero = builder.const(0, INT64)
    size = builder.size(check.extent)
    outside = builder.op("or", (builder.op("lt", (check.place, zero)), builder.op("ge", (check.place, size))))
    if check.condition is not None:
        outside = builder.op("and", (check.condition, outside))
    place = builder.op("where", (outside, zero, builder.const(-1, INT64)))
    yield Op("store", (builder.const(NONE, INT64),), INT64, (1,), IndexMap(operand, (0,)))
    yield Op("store", (builder.number(check.shape), place), INT64, check.shape, Scatter(operand, "min"))
