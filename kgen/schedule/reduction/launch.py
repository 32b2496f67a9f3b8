"""Launch rules of kernels with reductions: how rows are assigned to blocks, and the layout struct."""

from __future__ import annotations

from kgen.records import dataclass
from kgen.schedule.expressions import (
    Expr,
    Int,
    Name,
    Op,
    ceil_div,
    extent,
    maximum,
    minimum,
    product,
    stride,
    walked,
    where,
)
from kgen.schedule.launch import CLUSTERS, Field, FieldType, Labels, Rule, divisor_fields
from kgen.schedule.reduction.schedule import (
    BoxColumnSchedule,
    ColumnSchedule,
    NarrowColumnSchedule,
    RowSchedule,
    are_apart,
)

#: Named values of rules.  ``row_blocks``: blocks along x.  Where rows are split, blocks along y share rows or columns:
#: each leaves ``partials`` for each reduction, and the last one to arrive merges them.
ROW_BLOCKS, PARTIALS = Name("row_blocks"), Name("partials")

_ONE = Int(1)


@dataclass(frozen=True, slots=True)
class _Spans:
    """Goals where several blocks share a row.  ``each``: elements of a block, at least.  ``blocks``: for a row at
    most, however many rows there are, so that its bits do not depend on that.

    ``is_limit``: for columns: there are no more than ``blocks`` in all, so that all start at once.  Each SM should
    then get as many, so such kernels wait until the kernel ahead of them has left all SMs.
    """

    each: int
    blocks: int
    is_limit: bool = False

    def of_each(self, row_blocks: Expr) -> Expr:
        """Blocks along y, where so many lie along x."""
        return ceil_div(Int(self.blocks) - row_blocks + 1, row_blocks) if self.is_limit else Int(self.blocks)


def rows_rule(schedule: RowSchedule, labels: Labels) -> Rule:
    """One block or cluster for one or more rows, or several blocks per row."""
    tuning = schedule.target.tuning.rows
    blocks = tuning.split_blocks if schedule.reduced == 1 else tuning.split_blocks_pieces
    spans = _Spans(schedule.threads * schedule.group * schedule.span_groups, blocks)
    row_blocks = ceil_div(Name("rows"), schedule.rows) * schedule.cluster
    return _rule(schedule, row_blocks, row_fields(schedule, labels), spans)


def row_fields(schedule: RowSchedule, labels: Labels) -> list[Field]:
    """The fields of the struct of kernels that go along rows."""
    reduced, rank = schedule.reduced, schedule.rank
    fields = _strides(labels, range(reduced, rank))
    if schedule.has_width:
        fields.append(_field(schedule, "width", Name("width"), "elements of a row"))
    if schedule.split:
        fields.append(_field(schedule, "span", Name("span"), "elements of a row that a block takes"))
    if schedule.chunk:
        chunked = extent(reduced + schedule.chunked)
        fields.append(_field(schedule, "chunked", chunked, "rows along the dimension that is taken in chunks"))
    for i in range(len(schedule.accesses)):
        beyond = ", beyond its fastest dimension" if 0 not in steps_of(schedule, i) else ""
        fields += _steps(schedule, labels, i, f"along a row{beyond}")
    places = "of places in a row" if schedule.counts_places else ""
    fields += _divisors(schedule, places, _row_units(schedule), "of rows")
    return fields


def _row_units(schedule: RowSchedule) -> list[Expr]:
    """What rows are numbered through: the kept dimensions, of which one may be taken in chunks."""
    units: list[Expr] = [extent(d) for d in range(schedule.reduced, schedule.rank)]
    if schedule.chunk:
        units.append(ceil_div(units[schedule.chunked], schedule.chunk))
        units[schedule.chunked] = Int(schedule.chunk)
    return units


def columns_rule(schedule: ColumnSchedule, labels: Labels) -> Rule:
    """One block, or several, for so many groups of columns as it has threads across."""
    spans = _Spans(schedule.down * schedule.vectors, schedule.target.tuning.columns.split_blocks, is_limit=True)
    across = ceil_div(extent(schedule.reduced), schedule.group)
    counted = [_field(schedule, "columns", extent(schedule.reduced), "")] if schedule.chunk or schedule.apart else []
    if schedule.apart:
        counted.append(_field(schedule, "apart", across, "from one of a thread's columns to the next"))
    if not schedule.chunk:
        return _rule(schedule, *_groups(schedule, labels, [across, *_others(schedule)], counted), spans)
    chunks = ceil_div(extent(schedule.reduced), schedule.group * schedule.chunk)
    units = [Int(schedule.chunk), *_others(schedule), chunks]
    return _rule(schedule, *_groups(schedule, labels, units, counted), spans)


def column_boxes_rule(schedule: BoxColumnSchedule, labels: Labels) -> Rule:
    """One block for a box of columns, through all of their elements."""
    columns, *others = (extent(d) for d in range(schedule.reduced, schedule.rank))
    counted = [_field(schedule, "columns", columns, "")]
    units: list[Expr] = [ceil_div(columns, schedule.columns), *others]
    if schedule.places > 1:
        counted.append(_field(schedule, "beside", others[0], "columns along the second kept dimension"))
        units[1] = ceil_div(others[0], schedule.places)
    return _rule(schedule, product(units), _column_fields(schedule, labels, counted, units, "of boxes"), None)


def narrow_columns_rule(schedule: NarrowColumnSchedule, labels: Labels) -> Rule:
    """One block, or several, for all columns that lie side by side."""
    blocks = schedule.target.tuning.narrow_columns.multiprocessors * schedule.blocks_per_sm
    spans = _Spans(schedule.down * schedule.vectors, blocks, is_limit=True)
    others = _others(schedule)
    return _rule(schedule, product(others), _column_fields(schedule, labels, [], [_ONE, *others]), spans)


def resident_columns_rule(schedule: RowSchedule, labels: Labels) -> Rule:
    """One block for several groups of columns, which it keeps in registers."""
    across = ceil_div(extent(schedule.reduced), schedule.group)
    return _rule(schedule, *_groups(schedule, labels, [across, *_others(schedule)], []), None)


def _groups(schedule: RowSchedule, labels: Labels, units: list[Expr], more: list[Field]) -> tuple[Expr, list[Field]]:
    """Blocks, where groups of columns are numbered through ``units``; and the fields of the struct, with ``more``."""
    kind: FieldType = "long long" if schedule.index_bits == 64 else "unsigned int"
    near = "" if are_apart(schedule) else " neighbouring"
    each = f"of {schedule.group}{near} columns" if schedule.group > 1 else "of one column each"
    counted = Field(kind, "groups", (product(units),), each, is_array=False)
    return ceil_div(product(units), schedule.rows // schedule.group), _column_fields(
        schedule, labels, [counted, *more], units
    )


def steps_of(schedule: RowSchedule, number: int) -> tuple[int, ...]:
    """The dimensions whose strides the struct holds for an operand: along the row; or down columns, then across."""
    kind, along = schedule.accesses[number].kind, tuple(range(schedule.reduced))
    if schedule.is_column:
        if kind == "transposed":
            return (*along[1:], schedule.reduced)
        if isinstance(schedule, NarrowColumnSchedule) and kind == "vector":
            return ()
        return (*(along if number in schedule.columnwise else ()), *((schedule.reduced,) if kind == "gather" else ()))
    if number in schedule.dense:
        return ()
    return along if kind in ("gather", "spaced") else along[1:] if kind in ("vector", "column") else ()


def _rule(schedule: RowSchedule, row_blocks: Expr, fields: list[Field], spans: _Spans | None) -> Rule:
    """``row_blocks``: blocks along x if each block or cluster has rows or columns of its own."""
    lets = [*counts(schedule), (ROW_BLOCKS.of, row_blocks)]
    blocks: Expr = ROW_BLOCKS
    shared: Expr = _ONE
    if schedule.shared_operand is not None:
        blocks = minimum(blocks, maximum(CLUSTERS, 1) * schedule.cluster)
    if schedule.split and spans is not None:
        most = minimum(ceil_div(Name("width"), spans.each), spans.of_each(maximum(ROW_BLOCKS, 1)))
        span = ceil_div(Name("width"), Name("most_spans") * spans.each) * spans.each
        shared = Name("spans")
        lets += [("most_spans", maximum(most, 1)), ("span", span), (shared.of, ceil_div(Name("width"), Name("span")))]
        lets.append((PARTIALS.of, ROW_BLOCKS * shared * schedule.rows))
    return Rule(
        (blocks, shared, _ONE),
        schedule.block,
        Name("rows"),
        tuple(fields),
        tuple(lets),
        persistent_cluster=schedule.cluster if schedule.shared_operand is not None else 0,
        starts_early=not schedule.split or spans is None or not spans.is_limit,
    )


def counts(schedule: RowSchedule) -> list[tuple[str, Expr]]:
    """The named values of every rule: the rows or columns, and the elements of each."""
    reduced, rank = schedule.reduced, schedule.rank
    units = [extent(d) for d in range(reduced, rank)] if schedule.is_column else _row_units(schedule)
    rows, width = product(units), product(extent(d) for d in range(reduced))
    return [("rows", rows), ("width", width)]


# --- the layout struct --------------------------------------------------------------------------------


def _field(schedule: RowSchedule, name: str, value: Expr, comment: str) -> Field:
    return Field(schedule.signed, name, (value,), comment, is_array=False)


def _strides(labels: Labels, dimensions: range, comment: str = "") -> list[Field]:
    """The strides that give the offsets of rows."""
    return [
        Field(
            "long long",
            f"{label}_stride",
            tuple(walked(access, d) for d in dimensions),
            comment,
            () if comment else owners,
        )
        for label, access, owners in labels.of_patterns()
    ]


def _steps(schedule: RowSchedule, labels: Labels, access: int, comment: str) -> list[Field]:
    """The strides of one operand along a row, or down a column and across."""
    values = tuple(where(Op(">", (extent(d), _ONE)), stride(access, d), 0) for d in steps_of(schedule, access))
    return [Field(schedule.signed, f"{labels.labels[access]}_step", values, comment)] if values else []


def _divisors(schedule: RowSchedule, places: str, units: list[Expr], of: str) -> list[Field]:
    """The divisors of places within a row, described as ``places`` if there are any, and of row numbers."""
    is_64bit, inner = schedule.index_bits == 64, range(schedule.reduced - 1 if places else 0)
    return [
        *divisor_fields([extent(d) for d in inner], is_64bit, places, "place_"),
        *divisor_fields(units[:-1], is_64bit, of),
    ]


def _others(schedule: RowSchedule) -> list[Expr]:
    """The extents of all kept dimensions but the fastest."""
    return [extent(d) for d in range(schedule.reduced + 1, schedule.rank)]


def _column_fields(
    schedule: RowSchedule, labels: Labels, counted: list[Field], units: list[Expr], of: str = "of groups of columns"
) -> list[Field]:
    """``counted``: the fields that bound column numbers.  ``units``: what blocks or groups are numbered through."""
    reduced = schedule.reduced
    fields = _strides(labels, range(reduced + 1, schedule.rank), "of the other kept dimensions")
    fields += [_field(schedule, "height", Name("width"), "elements of a column"), *counted]
    if schedule.split:
        fields.append(_field(schedule, "span", Name("span"), "elements of a column that a block takes"))
    for i in range(len(schedule.accesses)):
        down, crosses = 0 in steps_of(schedule, i), reduced in steps_of(schedule, i)
        ways = (*(["down a column"] if down else []), *(["across"] if crosses else []))
        fields += _steps(schedule, labels, i, ", then ".join(ways))
    return fields + _divisors(schedule, "of places in a column", units, f"{of}, then of other kept dimensions")
