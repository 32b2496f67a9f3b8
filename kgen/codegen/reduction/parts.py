"""Which part of a kernel with reductions computes each op of a step: a round, the elements, or once a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from kgen.dtypes import FLOAT32, FLOAT64
from kgen.ir.graph import Graph, Op
from kgen.ir.ops import BRANCHING, OPS
from kgen.partition.reduction_step import ReductionStep
from kgen.passes.online import approximable_exponentials, is_quotient_by_sum, quotients_by_sums
from kgen.records import dataclass
from kgen.schedule.target import WORD

#: Bytes of values of which two share a register.
HALF = 2

#: Ops that are written where they are used, in every section.
_LEAVES = frozenset({"const", "scalar", "size"})


@dataclass(frozen=True, slots=True)
class Parts:
    """Which section each op belongs to.

    ``rounds``: the reductions of each round: of segments, of rows, or of the values of segments.  ``varies``: whether
    an op is computed for each element of a row; ``of_segment``: for each segment.  ``common``: uniform ops that rounds
    or elements need; stores of one element a row may need further uniform ops.  ``divisors``: the common ops that
    elements are divided by; ``sum_divisors``: divisors that are the sum of their dividends, as in softmax.
    ``narrow_divisors``: those of quotients that are only stored as 8 bits; ``rounded``: the stores of floats that are
    rounded to fp8 by groups.  ``summed_exps``: exponentials that are only summed.  ``scaled_exps``: those that are
    scaled by 2^24, for 16-bit quotients.  ``sum_quotients``: of other values, by the sum of exponentials, for 16-bit
    results.  ``rows``: the ops that move rows at computed places, which are found once a row.  ``once``: in kernels
    that compute all that reductions need for each element, the values that do not vary down a column, which are
    computed ahead of its elements.
    """

    step: ReductionStep
    rounds: tuple[tuple[int, ...], ...]
    phase: tuple[int, ...]
    varies: tuple[bool, ...]
    of_segment: tuple[bool, ...]
    common: frozenset[int]
    varying_stores: tuple[int, ...]
    row_stores: tuple[int, ...]
    divisors: frozenset[int]
    sum_divisors: frozenset[int]
    summed_exps: frozenset[int]
    scaled_exps: frozenset[int]
    sum_quotients: frozenset[int]
    narrow_divisors: frozenset[int] = frozenset()
    rounded: frozenset[int] = frozenset()
    rows: frozenset[int] = frozenset()
    once: frozenset[int] = frozenset()

    @staticmethod
    def of(
        step: ReductionStep, *, is_column: bool = False, fixed: Set[int] = frozenset(), rows: Iterable[int] = ()
    ) -> Parts:
        """``is_column``: a thread has several rows, so all ops that reductions need are computed for each element.
        ``fixed``: the loads of what is then the same for all elements of a column."""
        ops = step.graph.ops
        phase = step.phase()
        of_segment = _computed_per_segment(step, phase)
        varies = _computed_per_element(step) if is_column else _computed_along_rows(step, of_segment)
        once = _computed_once(ops, varies, fixed)
        varies = _without(varies, once)
        needed = _needed_once_a_row(ops, varies, of_segment)
        stores = [n for n, op in enumerate(ops) if op.name == "store"]
        divisors = frozenset() if is_column else _divisors(ops, varies, needed)
        sum_divisors = frozenset(n for n in divisors if _divides_by_sum(step.graph, n))
        none = frozenset[int]()
        summed_exps, scaled_exps = (none, none) if is_column else approximable_exponentials(step.graph)
        sum_quotients = none if is_column else quotients_by_sums(step.graph)
        return Parts(
            step, _rounds(step, phase), _deferred(ops, phase, needed), varies, of_segment, needed,
            tuple(n for n in stores if varies[n]), tuple(n for n in stores if not (varies[n] or of_segment[n])),
            divisors, sum_divisors, summed_exps, scaled_exps, sum_quotients, rows=frozenset(rows), once=once,
        )  # fmt: skip

    def behind(self, sinks: Iterable[int], given: Set[int] = frozenset()) -> list[int]:
        """The ops of one element that ``sinks`` need, with ``sinks``, in order, except those that are ``given``."""
        ops = self.step.graph.ops
        found = set(sinks)
        stack = list(found)
        while stack:
            number = stack.pop()
            for a in self.values_of(number):
                if a not in found and a not in given and (self.varies[a] or ops[a].name in _LEAVES):
                    found.add(a)
                    stack.append(a)
        return sorted(found)

    def values_of(self, number: int) -> tuple[int, ...]:
        """The arguments of an op, without the places of rows."""
        op = self.step.graph.ops[number]
        return op.args[: len(op.args) - len(op.places)] if number in self.rows else op.args

    def kept(
        self, sections: Sequence[Sequence[int]], resident: Set[int] = frozenset(), sizes: Set[int] = frozenset({4})
    ) -> dict[int, int]:
        """Values of an element that later sections need again, and the number of the section that computes each.

        Only values are kept that take more than a few instructions, or that take the place of all they are computed
        from: of several ``resident`` loads, or of other kept values.  ``sections``: the sinks of each.  ``sizes``: of
        the values, in bytes; halves are kept rather than the same converted.
        """
        ops = self.step.graph.ops
        found: dict[int, int] = {}
        for later in range(1, len(sections)):
            known = {n: s for s in range(later - 1, -1, -1) for n in self.behind(sections[s])}
            mine = self.behind(sections[later], set(found))
            for n in mine:
                for arg in ops[n].args:
                    a = self._as_half(arg) if HALF in sizes else arg
                    edge = a in known and (n not in known or ops[n].name == "store")
                    if not edge or not self.varies[a] or ops[a].dtype.size not in sizes or a in found:
                        continue
                    rest = sections[later:]
                    if self.is_expensive(a, set(found)) or self._replaces(a, set(found), rest, resident):
                        found[a] = known[a]
        return found

    def _as_half(self, number: int) -> int:
        """The half of which an op is the conversion; the op itself where it is none."""
        op = self.step.graph.ops[number]
        if op.name != "cast":
            return number
        source = self.step.graph.ops[op.args[0]]
        return op.args[0] if source.dtype.size == HALF and source.name != "load" else number

    def _replaces(self, number: int, given: Set[int], later: Sequence[Sequence[int]], resident: Set[int]) -> bool:
        """Whether keeping op ``number`` frees the registers of what it is computed from: ``given`` values and loads."""
        sources = self._sources([number], given)
        loads = sources - given
        needed = {n for sinks in later for n in self._sources(sinks, {*given, number})}
        free = not (sources & needed) and loads <= resident
        return free and (len(loads) > 1 or bool(sources & given))

    def _sources(self, sinks: Sequence[int], given: Set[int]) -> set[int]:
        """The loads and ``given`` values from which ``sinks`` are computed."""
        ops, behind = self.step.graph.ops, self.behind(sinks, given)
        loads = {n for n in behind if ops[n].name == "load" and n not in given}
        return loads | {a for n in behind for a in ops[n].args if a in given}

    def divides_scaled(self, number: int, by: int) -> bool:
        """Whether op ``number`` divides a scaled exponential by op ``by``."""
        op = self.step.graph.ops[number]
        return is_division(op, by) and op.args[0] in self.scaled_exps

    def by_reciprocal(self, number: int, by: int) -> bool:
        """Whether op ``number`` divides by op ``by``, whose reciprocal is all that it needs."""
        quotient = number in self.sum_quotients and is_division(self.step.graph.ops[number], by)
        return quotient or self.divides_scaled(number, by)

    def inverted(self, number: int, value: str) -> str:
        """The text of a divisor's reciprocal; ``value``: the divisor's name."""
        scaled = any(self.divides_scaled(i, number) for i in range(len(self.step.graph.ops)))
        quotient = f"{'0x1p-24f' if scaled else '1.0f'} / {value}"
        divisions = [i for i, op in enumerate(self.step.graph.ops) if self.varies[i] and is_division(op, number)]
        if number in self.sum_divisors or all(i in self.sum_quotients for i in divisions):
            return quotient
        return f"{'positive_' if number in self.narrow_divisors else ''}reciprocal({value})"

    def is_expensive(self, number: int, given: Set[int] = frozenset()) -> bool:
        """Whether computing the op for an element takes more than a few instructions: functions, and float64, whose
        conversions take as long as several."""
        ops = self.step.graph.ops
        found = set(self.behind([number], given)) - self.summed_exps
        wide = any(ops[n].dtype is FLOAT64 and ops[n].args for n in found)
        return wide or any(OPS[ops[n].name].ulp != (0, 0) for n in found)

    def named(self, late: Set[int] = frozenset()) -> frozenset[int]:
        """The common ops that need a name: all but those that one other uses, where it is computed itself.

        ``late``: the ops that are computed later than others of their phase.
        """
        ops = self.step.graph.ops
        users = _users(ops)

        def where(n: int) -> tuple[bool, int, bool, bool]:
            return n in self.common and ops[n].name != "reduce", self.phase[n], self.of_segment[n], n in late

        return self.common - {n for n in self.common if len(users[n]) == 1 and where(users[n][0]) == where(n)}

    def of_row(self, phase: int) -> list[int]:
        """The ops that all threads compute once a row after round ``phase``."""
        ops = self.step.graph.ops
        excluded = {"load", "reduce", *_LEAVES}
        found = {n for n in self.common if self.phase[n] == phase and ops[n].name not in excluded}
        found = {n for n in found if not self.of_segment[n]}
        return sorted(found | self._leaves(found))

    def of_segments(self, phase: int) -> list[int]:
        """The ops that are computed for each segment after round ``phase``."""
        ops = self.step.graph.ops
        found = {n for n in self.common if self.of_segment[n] and self.phase[n] == phase and ops[n].name != "reduce"}
        return sorted(found | self._leaves(found))

    @property
    def segment_stores(self) -> list[int]:
        """The stores of one element a segment."""
        return [n for n, op in enumerate(self.step.graph.ops) if op.name == "store" and self.of_segment[n]]

    def is_last_of_phase(self, number: int) -> bool:
        """Whether the round with this number, from 0, is the last one whose reductions need equally many others."""
        phases = [self.phase[sinks[0]] for sinks in self.rounds]
        return number + 1 == len(phases) or phases[number + 1] != phases[number]

    def last(self) -> list[int]:
        """The stores of one element a row, and the ops that only these need."""
        ops = self.step.graph.ops
        found: set[int] = set()
        stack = list(self.row_stores)
        while stack:
            n = stack.pop()
            if n not in found and n not in self.common and ops[n].name != "reduce":
                found.add(n)
                stack.extend(ops[n].args)
        return sorted(found | self._leaves(found))

    def _leaves(self, numbers: Iterable[int]) -> set[int]:
        ops = self.step.graph.ops
        return {a for n in numbers for a in ops[n].args if ops[a].name in _LEAVES}


def _computed_per_element(step: ReductionStep) -> tuple[bool, ...]:
    """For each op, whether a reduction needs it: a thread with several rows computes all of these for each element."""
    ops = step.graph.ops
    inner = [op.name == "reduce" for op in ops]
    for n in range(len(ops) - 1, -1, -1):
        if inner[n]:
            for a in ops[n].args:
                inner[a] = True
    return tuple(i and op.name != "reduce" and op.name not in _LEAVES for i, op in zip(inner, ops, strict=True))


def _computed_once(ops: Sequence[Op], varies: Sequence[bool], fixed: Set[int]) -> frozenset[int]:
    """The values of ``fixed`` loads that others of an element need, where these take functions or divisions: the
    compiler finds no equal values across the branches of these."""
    same, users = _made_of(ops, varies, fixed), _users(ops)
    branching: set[int] = set()
    for n in sorted(same):
        if ops[n].name in BRANCHING or not branching.isdisjoint(ops[n].args):
            branching.add(n)
    needed = {n for n in branching if all(varies[u] for u in users[n]) and not same.issuperset(users[n])}
    return frozenset(n for n in needed if ops[n].dtype.size == WORD)


def _made_of(ops: Sequence[Op], varies: Sequence[bool], loads: Set[int]) -> set[int]:
    """The ``loads``, and the values of an element that are computed from them alone."""
    found: set[int] = set()
    for n, op in enumerate(ops):
        computed = varies[n] and bool(op.args) and not op.places
        if n in loads or (computed and all(a in found or ops[a].name in _LEAVES for a in op.args)):
            found.add(n)
    return found


def _without(varies: Sequence[bool], numbers: Set[int]) -> tuple[bool, ...]:
    return tuple(v and n not in numbers for n, v in enumerate(varies))


def _computed_per_segment(step: ReductionStep, phase: Sequence[int]) -> tuple[bool, ...]:
    """For each op, whether it is computed once a segment: what needs a reduction or is stored, and what that needs."""
    ops = step.graph.ops
    found = [False] * len(ops)
    for n in range(len(ops) - 1, -1, -1):
        if step.is_of_segment(n) and ops[n].name != "load":
            found[n] = found[n] or phase[n] > 0 or ops[n].name == "store"
        else:
            found[n] = False
        if found[n] or (ops[n].name == "reduce" and not step.is_of_segment(n)):
            for a in ops[n].args:
                found[a] = True  # unless it is not of a segment
    return tuple(found)


def _computed_along_rows(step: ReductionStep, of_segment: Sequence[bool]) -> tuple[bool, ...]:
    return tuple(step.varies_along_row(n) and not once for n, once in enumerate(of_segment))


def _rounds(step: ReductionStep, phase: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The reductions of each round."""
    return tuple(sinks for p in range(1, max(phase) + 1) for sinks in _reductions(step, phase, p) if sinks)


def _reductions(step: ReductionStep, phase: Sequence[int], p: int) -> tuple[tuple[int, ...], ...]:
    """The reductions that need ``p`` rounds with their own: of segments, of rows, of the values of segments."""
    mine = [n for n, op in enumerate(step.graph.ops) if op.name == "reduce" and phase[n] == p]
    nested = [n for n in mine if step.reduces_segments(n)]
    merged = [n for n in mine if step.merges_segments(n)]
    return tuple(nested), tuple(n for n in mine if n not in (*nested, *merged)), tuple(merged)


def _divides_by_sum(graph: Graph, by: int) -> bool:
    """Whether each division by op ``by`` is a quotient by a sum."""
    return all(is_quotient_by_sum(graph, op) for op in graph.ops if is_division(op, by))


def _divisors(ops: Sequence[Op], varies: Sequence[bool], needed: Set[int]) -> frozenset[int]:
    """The values of a row by which elements are divided."""
    divides = {n for n in needed for i, op in enumerate(ops) if varies[i] and is_division(op, n)}
    return frozenset(n for n in divides if ops[n].name not in _LEAVES)


def _users(ops: Sequence[Op]) -> list[list[int]]:
    """For each op, those that take it as an argument, as often as they do."""
    found: list[list[int]] = [[] for _ in ops]
    for n, op in enumerate(ops):
        for a in op.args:
            found[a].append(n)
    return found


def _deferred(ops: Sequence[Op], phase: Sequence[int], needed: Set[int]) -> tuple[int, ...]:
    """The phases in which ops are computed: those of parameters alone where the one op that needs them is."""
    found, users = list(phase), _users(ops)
    for n in needed:
        args = ops[n].args
        if args and len(users[n]) == 1 and users[n][0] in needed and all(ops[a].name in _LEAVES for a in args):
            found[n] = phase[users[n][0]]
    return tuple(found)


def _needed_once_a_row(ops: Sequence[Op], varies: Sequence[bool], of_segment: Sequence[bool]) -> frozenset[int]:
    """The ops that are the same for all elements of a row or segment, and that elements, segments or rounds need."""
    needed: set[int] = set()
    for n, op in enumerate(ops):
        if varies[n] or of_segment[n] or op.name == "reduce":
            needed |= {a for a in op.args if not varies[a]}
    for n in range(len(ops) - 1, -1, -1):
        if n in needed and ops[n].name != "reduce":
            needed |= {a for a in ops[n].args if not varies[a]}
    return frozenset(needed)


def is_division(op: Op, by: int) -> bool:
    return op.name == "div" and op.args[1] == by and op.dtype is FLOAT32
