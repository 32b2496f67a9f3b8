"""How each kind of reduction accumulates: the state of a row, and the lines that update, merge and finish it.

Sums of floats add the elements of one group first, so that long chains of additions are short ones; a thread that
walks a long row also keeps what rounding took away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from kgen.codegen.c_types import register_type
from kgen.codegen.literals import constant, integer
from kgen.dtypes import FLOAT32, INT32, UINT64, DType
from kgen.ir.kernel import Reduction, to_bits

#: direct  each element updates the state
#: part    the elements of a group are combined, then the state takes the result
#: group   the elements of a group are collected, then the state takes them together
Mode = Literal["direct", "part", "group"]


@dataclass(frozen=True, slots=True)
class Accumulator:
    """``{a}`` stands for a state, ``{b}`` for another, ``{x}`` for a value (``{p}``: in
    parentheses where it needs them), ``{count}`` for the elements of a row.

    ``update`` puts ``{x}`` into ``{a}``: the state, a part, or the place in a group, by ``mode``; ``value`` is the type
    of a part or of a group's elements.  ``fold`` takes a finished part or group ``{x}`` into the state.  ``loop_*``
    replace the state within one thread's loop over a long row, and ``collapse`` makes a state of it.  ``within`` merges
    between the threads of a warp where that is simpler than ``merge``, ``lanes`` between so many ``{n}`` at once.

    Threads that merge each other's states end with the same bits: ``merge`` gives the same for a with b as for b with
    a, whatever is contracted.  Where it does not, ``agree`` gives so many lanes ``{n}`` the state of the first.
    """

    type: str
    init: str
    update: str
    merge: str
    result: str
    mode: Mode = "direct"
    value: str = ""
    start: str = ""
    fold: str = ""
    loop_type: str = ""
    loop_init: str = ""
    loop_fold: str = ""
    collapse: str = ""
    within: str = ""
    lanes: str = ""
    agree: str = ""
    helpers: tuple[str, ...] = ()
    merge_helpers: tuple[str, ...] = ()
    lanes_helpers: tuple[str, ...] = ()
    agree_helpers: tuple[str, ...] = ()
    loop_helpers: tuple[str, ...] = ()
    is_struct: bool = False
    places: str = ""  # the type of where an element is, if updates need to know
    at_once: str = ""  # the function of a group as it lies in memory, if of ``at_once_of``; ``{x}`` is then its result
    at_once_of: tuple[str, ...] = ()  # short names of dtypes
    counts: str = ""  # the type of the number of elements seen, where the loop has to know it

    @property
    def initial(self) -> str:
        """The first state, as a value to assign."""
        return f"{self.type}{self.init}" if self.init.startswith("{") else self.init

    @property
    def take(self) -> str:
        """The line that takes one value, of an element or of a whole group, into the state."""
        return self.fold or self.update

    @property
    def size(self) -> int:
        """Bytes of a state."""
        outer, _, inner = self.type.rstrip(">").rpartition("<")
        sizes = {"float": 4, "int": 4, "unsigned int": 4, "double2": 16}
        word = max(sizes.get(t, 8) for t in inner.split(", "))
        return {"Moments": 3, "LogSum": 2, "ComplexLogSum": 2, "Found": 2}.get(outer, 1) * word

    @property
    def shuffled(self) -> str:
        """The state ``{a}`` of the thread whose number differs by the bit ``d``."""
        return "shuffled({a}, d)" if self.is_struct else "__shfl_xor_sync(0xffffffffu, {a}, d)"

    @property
    def shuffle_helpers(self) -> tuple[str, ...]:
        """What :attr:`shuffled` calls."""
        return (_SHUFFLES[self.type.partition("<")[0]],) if self.is_struct else ()


_SHUFFLES = {
    "Moments": "shuffled_moments",
    "LogSum": "shuffled_log_sum",
    "Found": "shuffled_found",
    "ComplexLogSum": "shuffled_complex_log_sum",
    "Counted": "shuffled_counted",
    "float2": "shuffled_c64",
    "double2": "shuffled_c128",
}


def accumulator(attr: Reduction, source: DType, target: DType) -> Accumulator:
    """The accumulator of a reduction of ``source`` values that gives ``target``."""
    return _KINDS[attr.kind](attr, source, target)


def _number(value: float, dtype: DType) -> str:
    return constant(to_bits(value, dtype), dtype).code


def _sum_of_floats(dtype: DType, *, square: bool = False, result: str = "{a}") -> Accumulator:
    c_type, zero = register_type(dtype), _number(0.0, dtype)
    return Accumulator(
        c_type,
        zero,
        "{a} += {p} * {p};" if square else "{a} += {x};",
        "{a} += {b};",
        result,
        mode="part",
        value=c_type,
        start=zero,
        fold="{a} += {x};",
        loop_type=f"Sum<{c_type}>",
        loop_init="{}",
        loop_fold="add({a}, {x});",
        collapse="total({a})",
        loop_helpers=("running_sum",),
    )


def _sum(attr: Reduction, source: DType, target: DType) -> Accumulator:
    if target.is_float:
        return _sum_of_floats(target)
    wide = _integers("{a} += ({t}){p};", "{a} += {b};", "0ull", target)
    if source.size > 2:
        return wide
    # Those of a group add up to less than 2^31; bytes do so four at a time.
    return replace(
        wide, mode="part", value="int", start="0", update="{a} += {x};", fold="{a} += (unsigned long long){x};",
        at_once="added" if source.size == 1 else "", at_once_of=(source.short,),
    )  # fmt: skip


def _prod(attr: Reduction, source: DType, target: DType) -> Accumulator:
    c_type = register_type(target)
    if target.is_complex:
        init = f"{{{_number(1.0, target.real)}, {_number(0.0, target.real)}}}"
        update, merge = "{a} = times({a}, {x});", "{a} = times({a}, {b});"
        return Accumulator(c_type, init, update, merge, "{a}", helpers=(f"times_{target.short}",), is_struct=True)
    if target.is_float:
        return Accumulator(c_type, _number(1.0, target), "{a} *= {x};", "{a} *= {b};", "{a}")
    return _integers("{a} *= ({t}){p};", "{a} *= {b};", "1ull", target)


def _integers(update: str, merge: str, init: str, target: DType) -> Accumulator:
    """In unsigned arithmetic, which wraps."""
    wide = "unsigned long long"
    result = "{a}" if target is UINT64 else f"({register_type(target)}){{a}}"
    return Accumulator(wide, init, update.replace("{t}", wide), merge, result)


def _mean(attr: Reduction, source: DType, target: DType) -> Accumulator:
    return _sum_of_floats(target, result=f"{{a}} / ({register_type(target)}){{count}}")


def _norm(attr: Reduction, source: DType, target: DType) -> Accumulator:
    root = "sqrtf" if target.size == 4 else "sqrt"
    return _sum_of_floats(target, square=True, result=f"{root}({{a}})")


def _grouped(struct: str, init: str, result: str, helper: str, dtype: DType) -> Accumulator:
    c_type = register_type(dtype)
    return Accumulator(
        f"{struct}<{c_type}>",
        init,
        "{a} = {x};",
        "merge({a}, {b});",
        result,
        mode="group",
        value=c_type,
        fold="add_group({a}, {x});",
        helpers=(helper,),
        is_struct=True,
    )


def _var(attr: Reduction, source: DType, target: DType) -> Accumulator:
    c_type = register_type(target)
    degrees = f"({c_type}){{count}}"
    if isinstance(attr.correction, float):
        degrees = f"({c_type})fmax((double){{count}} - {attr.correction!r}, 0.0)"
    elif attr.correction:
        degrees = f"({c_type})max({{count}} - {attr.correction}, {{zero}})"
    result = f"{{a}}.distance / {degrees}"
    if attr.kind == "std":
        result = f"{'sqrtf' if target.size == 4 else 'sqrt'}({result})"
    return replace(
        _grouped("Moments", "{}", result, "moments_group", target),
        agree="{a} = of_first<{n}>({a});",
        agree_helpers=("first_moments",),
    )


def _logsumexp(attr: Reduction, source: DType, target: DType) -> Accumulator:
    if target.is_complex:
        return _complex_logsumexp(target)
    log = "logf" if target.size == 4 else "log"
    return _log_sum(f"{log}({{a}}.sum) + {{a}}.peak", target)


def _complex_logsumexp(target: DType) -> Accumulator:
    zero = _number(0.0, target.real)
    init = f"{{{_number(float('-inf'), target.real)}, {{{zero}, {zero}}}}}"
    whole = _grouped("ComplexLogSum", init, "log_total({a})", "complex_log_sum_group", target)
    return replace(whole, helpers=(*whole.helpers, "complex_log_sum_total"))


def _exp_sum(attr: Reduction, source: DType, target: DType) -> Accumulator:
    found = _log_sum("total({a})", target)
    return replace(found, helpers=(*found.helpers, "exp_sum"))


def _log_sum(result: str, target: DType) -> Accumulator:
    init = f"{{{_number(float('-inf'), target)}, {_number(0.0, target)}}}"
    return replace(
        _grouped("LogSum", init, result, f"log_sum_group_{target.short}", target),
        lanes="merge_lanes<{n}>({a});",
        merge_helpers=(f"log_sum_{target.short}",),
        lanes_helpers=(f"log_sum_lanes_{target.short}",),
    )


def counted_once(whole: Accumulator) -> Accumulator:
    """``whole`` for a thread that takes as many elements into each of several states, and counts them for all.

    Its loop has ``seen``, the elements before a group, and ``weight``, which the group is of all up to it.
    """
    if not whole.type.startswith("Moments"):
        return whole
    return replace(
        whole,
        loop_type=whole.type.replace("Moments", "Spread"),
        loop_init="{}",
        loop_fold="add_group({a}, {x}, seen, weight);",
        collapse="moments({a}, seen)",
        helpers=("moments",),
        loop_helpers=("spread",),
        counts=whole.value,
    )


def near(whole: Accumulator) -> Accumulator:
    """``whole`` for rows of fewer than 2^31 elements: places in them take 32 bits, but for the result."""
    if not whole.places:
        return whole
    c_type = whole.type.removesuffix(f"{whole.places}>") + "int>"
    return replace(whole, type=c_type, result="{a}.at", places="int")


def directly(whole: Accumulator) -> Accumulator:
    """``whole`` for threads that take one element at a time: no part of its own type first."""
    return replace(whole, mode="direct") if whole.mode == "part" and whole.value == whole.type else whole


def briefly(whole: Accumulator) -> Accumulator:
    """``whole`` for threads that take few elements: no need to keep what rounding took away."""
    return replace(whole, loop_type="", loop_init="", loop_fold="", collapse="", loop_helpers=())


def _extreme(attr: Reduction, source: DType, target: DType) -> Accumulator:
    low = attr.kind == "min"
    if source.is_bool:
        return _logical("&" if low else "|", "1" if low else "0")
    if source.is_float:
        name, init = f"nan_{attr.kind}", _number(float("inf") if low else float("-inf"), source)
        held, helpers = source, [f"nan_{attr.kind}_{source.short}"]
    else:
        name, helpers = attr.kind, []
        held = INT32 if source.size < 4 else source
        init = integer(source.int_max if low else source.int_min, held).code
    result = "{a}" if held is source else f"({register_type(source)}){{a}}"
    return Accumulator(
        register_type(held), init, f"{{a}} = {name}({{a}}, {{x}});", f"{{a}} = {name}({{a}}, {{b}});", result,
        helpers=tuple(helpers), at_once=("least" if low else "greatest") if source is FLOAT32 else "",
        at_once_of=("f16", "bf16"),
    )  # fmt: skip


def _logical(symbol: str, init: str) -> Accumulator:
    return Accumulator("int", init, f"{{a}} {symbol}= {{x}};", f"{{a}} {symbol}= {{b}};", "{a} != 0")


def _count(attr: Reduction, source: DType, target: DType) -> Accumulator:
    return Accumulator("long long", "0ll", "{a} += {x};", "{a} += {b};", "{a}")


def _place(attr: Reduction, source: DType, target: DType) -> Accumulator:
    low = attr.kind == "argmin"
    held = INT32 if not source.is_float and source.size < 4 else source
    c_type = "int" if held is INT32 else register_type(held)
    if source.is_float:
        init = _number(float("inf") if low else float("-inf"), source)
    else:
        top = 1 if source.is_bool else source.int_max
        init = integer(top if low else 0 if source.is_bool else source.int_min, held).code
    word = "least" if low else "greatest"
    return Accumulator(
        f"Found<{c_type}, long long>",
        f"{{{init}, 0}}",
        f"take_{word}({{a}}, {'{x}' if held is source else f'({c_type}){{p}}'}, place);",
        f"first_{word}({{a}}, {{b}});",
        "{a}.at",
        helpers=(f"take_{word}", f"first_{word}"),
        is_struct=True,
        places="long long",
    )


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
    "any": lambda attr, source, target: _logical("|", "0"),
    "all": lambda attr, source, target: _logical("&", "1"),
    "count_nonzero": _count,
    "norm": _norm,
    "logsumexp": _logsumexp,
    "exp_sum": _exp_sum,
}
