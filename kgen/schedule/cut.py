"""Cuts a program with reductions into the fewest kernels.

A kernel walks one space: kept axes, and one set of reduced axes that all its reductions share.  Its outputs have either
the kept axes (one element a row) or all of them.  A reduction that fits no such kernel with what uses it goes through a
buffer: a kernel of its own writes it, and later ones read it as they read an input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache

from kgen.diagnostics import Reporter
from kgen.ir.kernel import NO_IDENTITY, Access, Kernel, Op, Operand, Reduction, Shape
from kgen.passes.dce import dce
from kgen.schedule.split import Step, Touch, order_key, step_of
from kgen.source import Source

Places = tuple[int | None, ...]  #: for each axis of a value, the class or axis of the space that it walks


@dataclass(frozen=True, slots=True)
class RowStep(Step):
    """A kernel with reductions.

    ``shape``: the kept axes, ``kept`` of them, then the reduced ones; none of size 1.  ``places``: for each op, the
    axis of ``shape`` that each of its own axes walks, None for one of size 1.  Touches map axes of ``shape``.
    """

    kept: int
    places: tuple[Places, ...]

    def is_wide(self, number: int) -> bool:
        """Whether a value changes along a row.  Where rows have one element, all but the results do."""
        if self.kept == len(self.shape):
            return self.kernel.ops[number].name != "reduce"
        return any(p is not None and p >= self.kept for p in self.places[number])

    def phase(self) -> tuple[int, ...]:
        """For each op, after how many rounds of reductions it is known; a reduction's own round counts."""
        found: list[int] = []
        for op in self.kernel.ops:
            before = max((found[a] for a in op.args), default=0)
            found.append(before + 1 if op.name == "reduce" else before)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Group:
    """Stores and reductions that one kernel writes; ``loaded``: reductions that it reads from buffers."""

    stores: tuple[int, ...]
    buffers: tuple[int, ...]
    loaded: frozenset[int]


def cut(kernel: Kernel, *, chained: bool) -> tuple[tuple[Operand, ...], tuple[Step, ...]]:
    """The operands with buffers added, and the steps in the order in which they have to run.

    ``chained``: whether one kernel may reduce, and then reduce or write a whole row with the result.  That needs each
    row to be the work of one block, which is too little where rows are few and long.
    """
    return _Cutter(kernel, chained).run()


class _Cutter:
    def __init__(self, kernel: Kernel, chained: bool) -> None:
        self.kernel = kernel
        self.chained = chained
        self.buffers: dict[int, int] = {}  # reduction -> operand
        self.operands = list(kernel.operands)

    def run(self) -> tuple[tuple[Operand, ...], tuple[Step, ...]]:
        stores = [n for n, op in enumerate(self.kernel.ops) if op.name == "store"]
        groups = self._with_producers(Group((n,), (), frozenset()) for n in stores)
        ordered = self._ordered(self._joined(groups))
        if ordered is None:  # two kernels would each need the other's argument as it was: reduce first, then write
            groups = self._with_producers(Group((n,), (), self._reductions_behind(n)) for n in stores)
            ordered = self._ordered(self._joined(groups))
            assert ordered is not None, "without reductions, larger shapes read smaller ones only"
        return tuple(self.operands), tuple(self._step(g) for g in ordered)

    # --- which reductions go through buffers --------------------------------------------------------

    def _with_producers(self, groups: Iterable[Group]) -> list[Group]:
        """The groups, made to fit, and one more for each buffer that they read."""
        done: dict[tuple[tuple[int, ...], tuple[int, ...]], Group] = {}
        todo = list(groups)
        while todo:
            group = self._fitted(todo.pop(0))
            done[group.stores, group.buffers] = group
            missing = [n for n in sorted(group.loaded) if ((), (n,)) not in done]
            todo += [Group((), (n,), frozenset()) for n in missing]
        return list(done.values())

    def _fitted(self, group: Group) -> Group:
        while (number := self._misfit(group)) is not None:
            group = replace(group, loaded=group.loaded | {number})
        # Not all of them are read once others are.
        used = self._reachable(group)
        return replace(group, loaded=group.loaded & used)

    def _misfit(self, group: Group) -> int | None:
        """A reduction that has to go through a buffer, or None where the group is one kernel."""
        part, numbers = self._part(group)
        reduces = [n for n, op in enumerate(part.ops) if op.name == "reduce"]
        if not reduces:
            return None
        classes = classes_of(part)
        last = reduces[-1]
        whole, reduced = _spaces(part, classes, last)
        for n in reversed(reduces):
            if _spaces(part, classes, n) != (whole, reduced):
                return numbers[n]
        kept = whole - reduced
        walked = [{c for c in places if c is not None} for places in classes]
        bent = any(len([c for c in p if c is not None]) != len(w) for p, w in zip(classes, walked, strict=True))
        ends = [walked[n] for n, op in enumerate(part.ops) if op.name == "store"]
        if bent or any(end not in (whole, kept) for end in ends) or any(not w <= whole for w in walked):
            return next((numbers[n] for n in reversed(reduces) if numbers[n] not in group.buffers), numbers[last])
        if not self.chained:
            step = RowStep(part, (), (), 0, ())
            phases = step.phase()
            early = [n for n in reduces if phases[n] < max(phases)]
            if early:
                return numbers[early[-1]]
            if reduced and any(
                op.name == "store" and walked[n] == whole and phases[n] for n, op in enumerate(part.ops)
            ):
                return numbers[last]
        return None

    def _reductions_behind(self, store: int) -> frozenset[int]:
        behind = self._reachable(Group((store,), (), frozenset()))
        return frozenset(n for n in behind if self.kernel.ops[n].name == "reduce")

    def _reachable(self, group: Group) -> set[int]:
        found: set[int] = set()
        stack = [*group.stores, *group.buffers]
        while stack:
            number = stack.pop()
            if number not in found:
                found.add(number)
                if number not in group.loaded:
                    stack.extend(self.kernel.ops[number].args)
        return found

    # --- which outputs share a kernel ---------------------------------------------------------------

    def _joined(self, groups: Sequence[Group]) -> list[Group]:
        """Groups that fit one kernel and read an array in common become one."""
        made_by = {n: g for g in groups for n in g.buffers}

        @cache
        def level(group: Group) -> int:
            return 1 + max((level(made_by[n]) for n in group.loaded), default=0)

        result: list[tuple[int, Group]] = []
        for group in groups:
            rank = level(group)
            for i, (other_rank, other) in enumerate(result):
                both = Group(
                    tuple(sorted({*other.stores, *group.stores})),
                    tuple(sorted({*other.buffers, *group.buffers})),
                    other.loaded | group.loaded,
                )
                if rank == other_rank and self._may_join(other, group, both):
                    result[i] = (rank, both)
                    break
            else:
                result.append((rank, group))
        joined = [group for _, group in result]
        # Two that have no array in common may have one with a third.
        return joined if len(joined) == len(groups) else self._joined(joined)

    def _may_join(self, one: Group, two: Group, both: Group) -> bool:
        shapes = {self.kernel.ops[n].shape for n in both.stores}
        reduces = any(self.kernel.ops[n].name == "reduce" for n in self._reachable(both) - both.loaded)
        if not reduces and not both.buffers:
            return len(shapes) == 1  # elementwise: one kernel a shape
        computed = self._reachable(both)
        if both.loaded & set(both.buffers) or not self._loads(one) & self._loads(two):
            return False
        return both.loaded <= computed and self._misfit(both) is None

    def _loads(self, group: Group) -> set[int]:
        return {n for n in self._reachable(group) if self.kernel.ops[n].name == "load"}

    # --- order --------------------------------------------------------------------------------------

    def _ordered(self, groups: Sequence[Group]) -> list[Group] | None:
        """Buffers are written before they are read, and arguments updated after they are read; None if impossible."""
        ops = self.kernel.ops

        def operands(numbers: Iterable[int]) -> set[int]:
            return {a.operand for n in numbers if isinstance(a := ops[n].attr, Access)}

        reads = [operands(self._loads(g)) for g in groups]
        writes = [operands(g.stores) for g in groups]
        waits = [
            {
                j
                for j, other in enumerate(groups)
                if j != i and (set(other.buffers) & group.loaded or reads[j] & writes[i])
            }
            for i, group in enumerate(groups)
        ]
        ready_first = sorted(range(len(groups)), key=lambda i: self._priority(groups[i]))
        result: list[int] = []
        while len(result) < len(groups):
            free = [i for i in ready_first if i not in result and waits[i] <= set(result)]
            if not free:
                return None
            result.append(free[0])
        return [groups[i] for i in result]

    def _priority(self, group: Group) -> tuple[bool, int, int]:
        shapes = [self.kernel.ops[n].shape for n in group.stores]
        return (bool(shapes), *min(map(order_key, shapes), default=(0, 0)))

    # --- steps --------------------------------------------------------------------------------------

    def _part(self, group: Group) -> tuple[Kernel, list[int]]:
        """What a group computes, as a kernel; for each of its ops, the number that it has in the program."""
        ops = [
            Op("load", (), op.dtype, op.shape, self._buffer(n), op.label, op.span) if n in group.loaded else op
            for n, op in enumerate(self.kernel.ops)
        ]
        numbered = [replace(op, span=None, label=str(n)) for n, op in enumerate(ops)]
        kept = [n for n, op in enumerate(ops) if op.name != "store" or n in group.stores]
        stores = [
            Op("store", (n,), self.kernel.ops[n].dtype, self.kernel.ops[n].shape, self._buffer(n), "", None)
            for n in group.buffers
        ]
        # Stores stand last and nothing reads them, so leaving some out renumbers nothing before them.
        operands = tuple(self.operands)
        found = dce(Kernel(operands, self.kernel.scalars, (*(numbered[n] for n in kept), *stores)))
        numbers = [int(op.label) if op.label else -1 for op in found.ops]
        part = dce(Kernel(operands, self.kernel.scalars, (*(ops[n] for n in kept), *stores)))
        return part, numbers

    def _buffer(self, number: int) -> Access:
        op = self.kernel.ops[number]
        if number not in self.buffers:
            self.buffers[number] = len(self.operands)
            name = f"{op.label or getattr(op.attr, 'kind', '')}_buffer"
            taken = {o.name for o in self.operands}
            while name in taken:
                name += "_"
            self.operands.append(Operand(name, op.dtype, op.shape, "buffer"))
        return Access(self.buffers[number], tuple(range(len(op.shape))))

    def _step(self, group: Group) -> Step:
        part, _ = self._part(group)
        part = replace(part, operands=tuple(self.operands))
        if not any(op.name == "reduce" for op in part.ops):
            return step_of(part, part.stores[0].shape)
        classes = classes_of(part)
        last = max(n for n, op in enumerate(part.ops) if op.name == "reduce")
        source = part.ops[last].args[0]
        attr = part.ops[last].attr
        assert isinstance(attr, Reduction)
        walk = [
            (c, dim, axis in attr.axes)
            for axis, (c, dim) in enumerate(zip(classes[source], part.ops[source].shape, strict=True))
            if c is not None
        ]
        ordered = [w for w in walk if not w[2]] + [w for w in walk if w[2]]
        axis_of = {c: axis for axis, (c, _, _) in enumerate(ordered)}
        places = tuple(tuple(None if c is None else axis_of[c] for c in p) for p in classes)
        shape: Shape = tuple(dim for _, dim, _ in ordered)
        kept = sum(not w[2] for w in walk)
        return RowStep(part, shape, touches_of(part, places, len(shape)), kept, places)


def classes_of(kernel: Kernel) -> list[Places]:
    """For each op and axis, a number that it shares with the axes that are walked together; None for size 1."""
    parent: list[int] = []

    def find(x: int) -> int:
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    nodes: list[Places] = []
    for op in kernel.ops:
        own: list[int | None] = []
        for dim in op.shape:
            if dim == 1:
                own.append(None)
            else:
                own.append(len(parent))
                parent.append(len(parent))
        nodes.append(tuple(own))
        for arg in op.args:
            theirs = nodes[arg]
            if op.name == "reduce":
                assert isinstance(op.attr, Reduction)
                kept = [c for axis, c in enumerate(theirs) if axis not in op.attr.axes]
                mine = [c for axis, c in enumerate(own) if not op.attr.keepdims or axis not in op.attr.axes]
            else:
                kept, mine = list(theirs), own[len(own) - len(theirs) :]
            for a, b in zip(kept, mine, strict=True):
                if a is not None and b is not None:
                    parent[find(a)] = find(b)
    return [tuple(None if c is None else find(c) for c in own) for own in nodes]


def _spaces(kernel: Kernel, classes: Sequence[Places], number: int) -> tuple[Set[int], Set[int]]:
    """All classes that a reduction's argument walks, and those that it reduces."""
    op = kernel.ops[number]
    assert isinstance(op.attr, Reduction)
    walked = classes[op.args[0]]
    whole = frozenset(c for c in walked if c is not None)
    return whole, frozenset(c for axis in op.attr.axes if (c := walked[axis]) is not None)


def touches_of(kernel: Kernel, places: Sequence[Places], rank: int) -> tuple[Touch, ...]:
    """What a kernel with reductions touches, over the axes of its space: what it writes first."""
    reads: dict[tuple[int, Places], None] = {}
    writes: dict[tuple[int, Places], None] = {}
    for number, op in enumerate(kernel.ops):
        if isinstance(op.attr, Access):
            key = (op.attr.operand, spread(op, places[number], rank))
            (writes if op.name == "store" else reads)[key] = None
    written = [Touch(operand, axes, (operand, axes) in reads, True) for operand, axes in writes]
    read = [Touch(operand, axes, True, False) for operand, axes in reads if (operand, axes) not in writes]
    return tuple(sorted(written, key=lambda t: t.operand) + sorted(read, key=lambda t: t.operand))


def spread(op: Op, places: Places, rank: int) -> Places:
    """The operand's axis that each axis of the space walks, for a load or store."""
    assert isinstance(op.attr, Access)
    axes: list[int | None] = [None] * rank
    for place, axis in zip(places, op.attr.axes, strict=True):
        if place is not None:
            axes[place] = axis
    return tuple(axes)


# --- what extents decide --------------------------------------------------------------------------------


def refuse_empty(kernel: Kernel, extents: Mapping[str, int], source: Source) -> None:
    """Raises :class:`~kgen.KgenError` (``nothing-to-reduce``) where ``min`` and its like have no element."""
    reporter = Reporter(source)
    for op in kernel.ops:
        if isinstance(op.attr, Reduction) and op.attr.kind in NO_IDENTITY:
            shape = kernel.ops[op.args[0]].shape
            if any(dim != 1 and extents[dim] == 0 for axis, dim in enumerate(shape) if axis in op.attr.axes):
                sizes = ", ".join(str(1 if dim == 1 else extents[dim]) for dim in shape)
                message = f"`{op.attr.kind}` over an axis without elements has no value: its argument is [{sizes}]"
                reporter.error("nothing-to-reduce", message, op.span, hint="`sum`, `prod`, `any` and `all` have one")
    reporter.raise_errors()
