"""How each kind of reduction accumulates: the structs of ``templates/device/accumulators``, and how kernels use them.

Sums of floats first add the elements of each group, which makes the chain of additions shorter.  A thread that walks a
long row also sums the rounding errors (compensated summation).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from kgen.codegen.c_types import register_type
from kgen.codegen.helpers import accumulator_struct as struct
from kgen.dtypes import FLOAT32, INT32, INT64, DType
from kgen.ir.graph import Reduction
from kgen.records import dataclass, replace
from kgen.schedule.reduction.states import BYTES

#: direct  the state takes each element
#: part    a partial result takes the elements of a group, then the state takes the partial result
#: group   an array collects the elements of a group, then the state takes them together
Mode = Literal["direct", "part", "group"]

_EXACT_PARTS = frozenset({"GroupSum", "ByteMoments"})

_SIZES = {"float": 4, "int": 4, "unsigned int": 4, "float2": 8, "double2": 16}


@dataclass(frozen=True, slots=True)
class Local:
    """A thread's own accumulator, which becomes a state when the thread, or its warp (``by_warp``), is done.

    ``init``: its first value.  ``take``: the call that takes what the state would take.  ``total``: the call that gives
    the state.  ``counts``: the type of the number of elements seen, if the thread's loop has to count them.
    """

    word: str
    type: str
    init: str
    take: str
    total: str
    helpers: tuple[str, ...]
    by_warp: bool = False
    counts: str = ""


@dataclass(frozen=True, slots=True)
class Accumulator:
    """The struct ``type`` of the C types ``members``.  It has ``identity()``, ``merge(other)`` and ``shuffle_xor(d)``.

    ``add``: the member that takes an element.  ``result``: the call that gives the reduction's value; ``{count}``
    stands for the number of elements of a row.  ``part``: the struct that takes the elements of a group, with the first
    value ``start``; then the state takes it (``{x}``, of ``{group}`` elements) by the call ``take``.  ``collects``: the
    type of the elements, if the state takes a group together.

    Threads that merge each other's states must end with the same bits.  ``merge`` is commutative to the bit, even if
    the compiler contracts to FMA.  Where it is not, ``agrees`` is set: ``broadcast_first<n>()`` then gives all lanes
    the first lane's state.  ``lanes``: the struct has ``merge_lanes<n>()``, which merges n lanes at once.
    """

    type: str
    members: tuple[str, ...]
    helpers: tuple[str, ...]
    add: str = "add"
    result: str = "result()"
    part: str = ""
    part_helpers: tuple[str, ...] = ()
    start: str = ""
    take: str = ""
    collects: str = ""
    local: Local | None = None
    lanes: bool = False
    agrees: bool = False
    places: str = ""  # the type of an element's index in its row, if `add` needs that
    at_once: str = ""  # a function that reduces a whole group as loaded (of a dtype in `at_once_of`), for `add`
    at_once_of: tuple[str, ...] = ()  # short names of dtypes
    mean: str = "mean"  # the member, or the call, that gives the mean, if the state has that
    takes_source: bool = False  # whether it takes elements before their conversion to the dtype that is reduced
    takes_group: str = ""  # the call that takes a whole group `{x}`, which begins at `{at}`, if not `add(at_once(x))`

    @property
    def mode(self) -> Mode:
        return "part" if self.part else "group" if self.collects else "direct"

    @property
    def in_order(self) -> bool:
        """Whether results depend on the order in which a thread takes groups."""
        return self.mode == "group" or (self.mode == "part" and self.part not in _EXACT_PARTS)

    @property
    def initial(self) -> str:
        """The first state."""
        return f"{self.type}::identity()"

    @property
    def size(self) -> int:
        """Bytes of a state."""
        sizes = [_SIZES.get(member, 8) for member in self.members]
        widest = max(sizes)
        return -(-sum(sizes) // widest) * widest

    @property
    def of_element(self) -> str:
        """The type that takes an element: of the part, the collecting array, the thread's accumulator or the state."""
        return self.part or self.collects or (self.type if self.local is None else self.local.type)

    @property
    def all_helpers(self) -> tuple[str, ...]:
        """The device functions and structs that kernels need."""
        return self.helpers + (() if self.local is None else self.local.helpers)

    def value(self, state: str, count: str) -> str:
        """The reduction's value."""
        return f"{state}.{self.result.format(count=count)}"


def accumulator(attr: Reduction, source: DType, target: DType) -> Accumulator:
    """The accumulator of a reduction of ``source`` values that gives ``target``."""
    return _KINDS[attr.kind](attr, source, target)


def _plain(name: str, file: str, c_type: str, members: str = "", *functions: str) -> Accumulator:
    """A struct that takes one element at a time."""
    return Accumulator(f"{name}<{c_type}>" if c_type else name, (members or c_type,), (*functions, struct(file)))


def _sum_of_floats(dtype: DType, *, add: str = "add", result: str = "result()") -> Accumulator:
    c_type = register_type(dtype)
    compensated = f"CompensatedSum<{c_type}>"
    return replace(
        _plain("Sum", "sum", c_type),
        add=add,
        result=result,
        part=f"Sum<{c_type}>",
        start=f"Sum<{c_type}>::identity()",
        take="merge({x})",
        local=Local(
            "compensated", compensated, f"{compensated}::identity()", "merge({x})", "total()",
            (struct("compensated_sum"),),
        ),
    )  # fmt: skip


def _sum(attr: Reduction, source: DType, target: DType) -> Accumulator:
    if target.is_float:
        return _sum_of_floats(target)
    whole = _plain("IntegerSum", "integer_sum", register_type(target), "unsigned long long")
    if source.size > 2:
        return whole
    # The sum of a group fits 31 bits; bytes are added four at a time.
    return replace(
        whole, part="GroupSum", part_helpers=(struct("group_sum"),), start="GroupSum::identity()",
        take="add({x}.result())", at_once="group_sum" if source.size == 1 else "", at_once_of=(source.short,),
    )  # fmt: skip


def _prod(attr: Reduction, source: DType, target: DType) -> Accumulator:
    c_type = register_type(target)
    if target.is_complex:
        return _plain("ComplexProduct", "complex_product", c_type, "", f"times_{target.short}")
    if target.is_float:
        return _plain("Product", "product", c_type)
    return _plain("IntegerProduct", "integer_product", c_type, "unsigned long long")


def _mean(attr: Reduction, source: DType, target: DType) -> Accumulator:
    if source in BYTES:
        return replace(_sum(attr, source, INT64), result="mean({count})", takes_source=True)
    return _sum_of_floats(target, result="mean({count})")


def _norm(attr: Reduction, source: DType, target: DType) -> Accumulator:
    return _sum_of_floats(target, add="add_square", result="norm()")


def _grouped(whole: Accumulator, c_type: str) -> Accumulator:
    return replace(whole, collects=c_type, take="add({x})")


def _var(attr: Reduction, source: DType, target: DType) -> Accumulator:
    c_type = register_type(target)
    name = "deviation" if attr.kind == "std" else "variance"
    arguments = f"{{count}}, {attr.correction!r}" if attr.correction else "{count}"
    if source in BYTES:
        return Accumulator(
            "IntegerMoments", ("long long",) * 2, (struct("integer_moments"),), result=f"{name}({arguments})",
            part="ByteMoments", start="ByteMoments::identity()", take="merge({x})", mean="mean({count})",
            takes_source=True,
        )  # fmt: skip
    return replace(
        _grouped(_plain("Moments", "moments", c_type), c_type),
        members=(c_type,) * 3, result=f"{name}({arguments})", agrees=True,
    )  # fmt: skip


def _logsumexp(attr: Reduction, source: DType, target: DType) -> Accumulator:
    return _complex_logsumexp(target) if target.is_complex else _log_sum(target, "result()")


def _complex_logsumexp(target: DType) -> Accumulator:
    c_type = register_type(target)
    whole = _grouped(_plain("ComplexLogSum", "complex_log_sum", c_type), c_type)
    return replace(whole, members=(register_type(target.real), c_type))


def _exp_sum(attr: Reduction, source: DType, target: DType) -> Accumulator:
    return _log_sum(target, "exp_sum()")


def _log_sum(target: DType, result: str) -> Accumulator:
    c_type, short = register_type(target), target.short
    whole = _plain("LogSum", "log_sum", c_type, "", f"nan_max_{short}", f"exp_approx_{short}")
    return replace(_grouped(whole, c_type), members=(c_type,) * 2, result=result, lanes=True)


def with_shared_count(whole: Accumulator) -> Accumulator:
    """``whole`` for a thread with several states of equally many elements, which it counts once for all.

    Its loop has ``seen``, the number of elements before a group, and ``weight``, the group's part of all elements up to
    its end.
    """
    if not whole.agrees:
        return whole
    spread = f"Spread<{whole.collects}>"
    local = Local(
        "spread", spread, f"{spread}::identity()", "add({x}, seen, weight)", "moments(seen)", (struct("spread"),),
        counts=whole.collects,
    )  # fmt: skip
    return replace(whole, local=local)


def with_32bit_index(whole: Accumulator) -> Accumulator:
    """``whole`` for rows of fewer than 2^31 elements: indices within a row have 32 bits, except for the result."""
    if not whole.places:
        return whole
    c_type = whole.type.removesuffix(f"{whole.places}>") + "int>"
    return replace(whole, type=c_type, members=(whole.members[0], "int"), places="int")


def without_partial(whole: Accumulator) -> Accumulator:
    """``whole`` for threads that take one element at a time: a part of the same type would be of no use."""
    own = whole.type if whole.local is None else whole.local.type
    return replace(whole, part="", start="", take="") if whole.part == own else whole


def without_compensation(whole: Accumulator) -> Accumulator:
    """``whole`` for threads that take few elements: without compensation of rounding errors."""
    return whole if whole.local is None or whole.local.by_warp else replace(whole, local=None)


def _extreme(attr: Reduction, source: DType, target: DType) -> Accumulator:
    low, file = attr.kind == "min", attr.kind
    name = "Min" if low else "Max"
    if source.is_bool:
        return _logical("All" if low else "Any")
    c_type = register_type(source)
    if source.is_float:
        found = _plain(name, file, c_type, "", f"nan_{file}_{source.short}")
    else:
        return _plain(f"Integer{name}", f"integer_{file}", c_type, "int" if source.size < 4 else c_type)
    at_once = ("group_min" if low else "group_max") if source is FLOAT32 else ""
    return replace(found, at_once=at_once, at_once_of=("f16", "bf16"))


def _logical(name: str) -> Accumulator:
    return _plain(name, name.lower(), "", "int")


def _count(attr: Reduction, source: DType, target: DType) -> Accumulator:
    return _plain("Count", "count", "", "long long")


def _place(attr: Reduction, source: DType, target: DType) -> Accumulator:
    low = attr.kind == "argmin"
    c_type = register_type(INT32 if not source.is_float and source.size < 4 else source)
    found = _plain("ArgMin" if low else "ArgMax", "arg_min" if low else "arg_max", f"{c_type}, long long")
    return replace(found, members=(c_type, "long long"), places="long long")


_Row = Callable[[Reduction, DType, DType], Accumulator]

_KINDS: Mapping[str, _Row] = {
    "sum": _sum,
    "prod": _prod,
    "mean": _mean,
    "var": _var,
    "std": _var,
    "min": _extreme,
    "max": _extreme,
    "argmin": _place,
    "argmax": _place,
    "any": lambda attr, source, target: _logical("Any"),
    "all": lambda attr, source, target: _logical("All"),
    "count_nonzero": _count,
    "norm": _norm,
    "logsumexp": _logsumexp,
    "exp_sum": _exp_sum,
}
