"""Which sinks share a kernel, and in which order kernels run.

Two rules decide the order.  A buffer is written in an earlier kernel than those that read it.  The old value of an
argument that the program updates is read no later than in the kernel that updates it; views of it are so, too, unless
updates would wait for each other.

A kernel may update an operand that it reads only where each thread reads no elements but those that it writes.  Where
all threads of a row read one element and one of them writes it, that is a race.

A unit is a set of sinks with one kernel body.  Units are placed in an order that obeys both rules.  Each is fused
into an existing kernel, if one that is late enough walks the same space and reads a common array; otherwise it becomes
a new kernel at the end.  Units that depend on it are placed later, so fusing never breaks a rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import field
from heapq import heapify, heappop, heappush

from kgen.diagnostics import KgenError, error
from kgen.ir.graph import Gather, IndexMap, Op, Scatter, Shape
from kgen.partition.kernel_body import AxisMap, BodyBuilder, KernelBody, KernelSpace, Read, squeezed
from kgen.records import dataclass

FusionKey = tuple[KernelSpace | Shape, int]  #: a space or its dimensions, and an array that is read there


@dataclass(frozen=True, slots=True)
class Unit:
    """Sinks that are always computed in the same kernel."""

    sinks: tuple[int, ...]
    body: KernelBody


@dataclass(slots=True)
class FusedKernel:
    """A kernel under construction.  ``reads``: by operand."""

    space: KernelSpace
    sinks: list[int] = field(default_factory=list)
    fused: set[int] = field(default_factory=set)
    loaded: set[int] = field(default_factory=set)
    reads: dict[int, set[Read]] = field(default_factory=dict)
    writes: dict[int, AxisMap | None] = field(default_factory=dict)

    def take(self, body: KernelBody, sinks: Iterable[int]) -> None:
        self.sinks += sinks
        self.fused |= body.fused
        self.loaded |= body.buffers
        for read in body.reads:
            self.reads.setdefault(read.operand, set()).add(read)
        self.writes |= body.writes


def races(space: KernelSpace, reads: Iterable[Read], writes: dict[int, AxisMap | None]) -> bool:
    """Whether a thread reads what another one writes."""
    return any(r.operand in writes and _is_elsewhere(space, r, writes[r.operand]) for r in reads)


def _is_elsewhere(space: KernelSpace, read: Read, written: AxisMap | None) -> bool:
    """Whether a thread may read an element that another one writes."""
    if read.axes is None or read.axes != written:
        return True
    return read.by_row and bool(space.reduced) and not _varies(space, read.axes)


def _varies(space: KernelSpace, axes: AxisMap) -> bool:
    """Whether the elements of a segment, or of a row without segments, have different elements of an operand."""
    return any(axes[a] is not None for a in space.inner or space.reduced or ())


def _read(ops: Sequence[Op]) -> list[int | None]:
    """For each value, a bit mask of the operands that it depends on; None where it depends on a reduction."""
    found: list[int | None] = []
    for op in ops:
        bits: int | None = 0
        if isinstance(op.attr, IndexMap | Gather) and op.name != "store":
            bits = 1 << op.attr.operand
        for below in (found[a] for a in op.args):
            bits = None if bits is None or below is None else bits | below
        found.append(None if op.name == "reduce" else bits)
    return found


@dataclass(frozen=True, slots=True)
class Orders:
    """What decides the order of stores.

    ``updated``: the operands that the program reads and then updates.  ``views``: by operand that is written, the
    others of its array that are read.  ``stored``: by operand that is written at computed places, the other stores to
    its array.  ``fills``: by buffer of the program, the stores to it.
    """

    updated: frozenset[int]
    views: Mapping[int, Set[int]]
    stored: Mapping[int, Set[int]]
    fills: Mapping[int, Set[int]]


class Fuser:
    def __init__(self, builder: BodyBuilder, orders: Orders) -> None:
        self.builder = builder
        self.ops = builder.ops
        self.updated = orders.updated
        self.views = orders.views
        self.separates = bool(orders.fills) or any(op.name in ("reduce", "gather") for op in self.ops)
        self.read = _read(self.ops)
        self.stored = orders.stored
        self.fills = orders.fills
        self.filling = frozenset[int]().union(*orders.fills.values())

    def kernels(self, stores: Sequence[int]) -> list[FusedKernel]:
        """The kernels for these stores and for the buffers that they need, in order.

        Raises :class:`~kgen.KgenError` (``overlap``) where updates at computed places wait for each other.
        """
        # Updates that read each other's operands form a cycle.  Those that can walk one space are merged into one unit;
        # for the others, reductions go through buffers.  Such updates read only elements of their own shape or of
        # smaller ones, so placing larger shapes first is a valid order; at computed places there may be none.
        merged: frozenset[int] = frozenset()
        separate: frozenset[int] = frozenset()
        views = self.views
        while True:
            units = self._units(stores, merged, separate)
            kernels, stuck = self._placed(units, views)
            if not stuck:
                return kernels
            if views:
                views = {}
                continue
            waiting = frozenset(n for unit in stuck for n in unit.sinks if self.ops[n].name == "store")
            if waiting <= separate:
                raise self._no_order(waiting)
            merged, separate = merged | waiting, separate | (waiting & merged)

    def _no_order(self, stores: Iterable[int]) -> KgenError:
        """Each update would overwrite what another one reads at computed places, or writes there."""
        attrs = [self.ops[store].attr for store in sorted(stores)]
        written = [attr.operand for attr in attrs if isinstance(attr, IndexMap | Scatter)]
        names = [self.builder.names[operand] for operand in written if operand in self.updated]
        shown = " and ".join(f"`{name}`" for name in dict.fromkeys(names))
        message = f"{shown} are each updated from what the others were before, at computed places: none can be first"
        return error("overlap", message, f"make one of them another array: `input {names[0]}`, and `out = ...`")

    # --- units ----------------------------------------------------------------------------------------

    def _units(self, stores: Sequence[int], merged: frozenset[int], separate: frozenset[int]) -> list[Unit]:
        """One unit for each store and each buffer.  Two kinds of stores share one: those without reductions that have
        the same shape and operands, and ``merged`` updates that can walk the same space.  What fills a buffer of the
        program, or an output that is updated after, shares none with updates: a kernel between them may read what they
        update."""
        units: list[Unit] = []
        alike: dict[tuple[Shape, int, int | None, bool, bool], list[int]] = {}
        refills = any(self.stored.values())
        together: dict[KernelSpace, list[int]] = {}
        for store in stores:
            read = self.read[store]
            if read is not None and store not in merged:
                reads = read if self.separates else 0
                late = refills and self._updates_argument(store)
                key = (self.ops[store].shape, reads, self.refilled(store), store in self.filling, late)
                alike.setdefault(key, []).append(store)
                continue
            body = self.builder.alone(store, separate=store in separate)
            if not self.may_write(store, body.space):
                body = self.builder.alone(store, separate=True)
            if store in merged:
                together.setdefault(body.space, []).append(store)
            else:
                units.append(self._unit((store,), body))
        for (shape, *_), sinks in alike.items():
            units.append(Unit(tuple(sinks), self.builder.build(KernelSpace(shape), sinks)))
        for space, sinks in self._in_rows(together).items():
            body = self.builder.build(space, sinks)
            if races(space, body.reads, self._updates(body)):
                units += [self._unit((n,), self.builder.alone(n, separate=n in separate)) for n in sinks]
            else:
                units.append(Unit(tuple(sinks), body))
        made: set[int] = set()
        for unit in units:  # the list grows: buffers may need other buffers
            for n in sorted(unit.body.buffers - made):
                made.add(n)
                units.append(Unit((n,), self.builder.alone(n)))
        return units

    def may_write(self, sink: int, space: KernelSpace) -> bool:
        """Whether a kernel of this space may write a sink: those that reduce write at computed places only along rows
        of the last axes, and update nothing, as some elements are computed twice."""
        attr = self.ops[sink].attr
        if not isinstance(attr, Scatter) or space.reduced is None:
            return True
        last = not space.kept or max(space.kept) < min(space.reduced, default=len(space.dims))
        return attr.combine == "set" and self.refilled(sink) is None and last and not space.inner

    def refilled(self, sink: int) -> int | None:
        """The operand that a sink writes at computed places after another kernel has written all of it."""
        attr = self.ops[sink].attr
        return attr.operand if isinstance(attr, Scatter) and self.stored.get(attr.operand) else None

    def _updates_argument(self, store: int) -> bool:
        attr = self.ops[store].attr
        return isinstance(attr, IndexMap | Scatter) and attr.operand in self.updated

    def _in_rows(self, together: dict[KernelSpace, list[int]]) -> dict[KernelSpace, list[int]]:
        """The same, with updates that reduce nothing in the space of those that reduce, where it has their axes."""
        rows = [space for space in together if space.reduced is not None]
        found: dict[KernelSpace, list[int]] = {}
        for space, sinks in together.items():
            free = space.reduced is None and all(self.read[n] is not None for n in sinks)
            fitting = (r for r in rows if free and all(r.place(self.ops[n].shape) is not None for n in sinks))
            found.setdefault(next(fitting, space), []).extend(sinks)
        return found

    def _unit(self, sinks: tuple[int, ...], body: KernelBody) -> Unit:
        if races(body.space, body.reads, self._updates(body)):
            (store,) = sinks
            body = self.builder.alone(store, separate=True)
        return Unit(sinks, body)

    def _updates(self, body: KernelBody) -> dict[int, AxisMap | None]:
        return {o: axes for o, axes in body.writes.items() if o in self.updated}

    # --- order ----------------------------------------------------------------------------------------

    def _placed(self, units: Sequence[Unit], views: Mapping[int, Set[int]]) -> tuple[list[FusedKernel], list[Unit]]:
        """The kernels, and the units that could not be placed because they depend on each other."""
        after = self._after(units)
        not_before = self._not_before(units, views)
        needed = [a | b for a, b in zip(after, not_before, strict=True)]
        waiting: dict[int, list[int]] = {}
        missing = list(map(len, needed))
        for i, those in enumerate(needed):
            for j in those:
                waiting.setdefault(j, []).append(i)
        ready = [(self._priority(unit), i) for i, unit in enumerate(units) if not missing[i]]
        heapify(ready)
        placement = _Placement(self, units)
        where: dict[int, int] = {}
        while ready:
            _, i = heappop(ready)
            earliest = max([0, *(where[j] + 1 for j in after[i]), *(where[j] for j in not_before[i])])
            where[i] = placement.put(units[i], earliest)
            for j in waiting.get(i, ()):
                missing[j] -= 1
                if not missing[j]:
                    heappush(ready, (self._priority(units[j]), j))
        return placement.kernels, [unit for i, unit in enumerate(units) if i not in where]

    def _after(self, units: Sequence[Unit]) -> list[set[int]]:
        """For each unit, the units that write the buffers that it reads, and what it then writes at computed places."""
        maker = {n: i for i, unit in enumerate(units) for n in unit.sinks}
        return [{maker[n] for n in unit.body.buffers | self._before(unit) | self._filled(unit)} for unit in units]

    def _before(self, unit: Unit) -> set[int]:
        """The stores to what a unit writes at computed places."""
        refilled = {self.refilled(n) for n in unit.sinks} - {None}
        return {store for operand in refilled if operand is not None for store in self.stored[operand]}

    def _filled(self, unit: Unit) -> set[int]:
        """The stores to the program's buffers that a unit reads."""
        return {store for read in unit.body.reads for store in self.fills.get(read.operand, ())}

    def _not_before(self, units: Sequence[Unit], views: Mapping[int, Set[int]]) -> list[set[int]]:
        """For each unit, the others that read the operands that it updates, or views of them: none of them may run in a
        later kernel."""
        readers: dict[int, set[int]] = {}
        for i, unit in enumerate(units):
            for read in unit.body.reads:
                readers.setdefault(read.operand, set()).add(i)
        updates = [{*self._updates(unit.body)}.union(*(views.get(o, ()) for o in unit.body.writes)) for unit in units]
        return [{i for o in those for i in readers.get(o, ()) if i != me} for me, those in enumerate(updates)]

    def _priority(self, unit: Unit) -> tuple[bool, int, int]:
        """Buffers first, then larger shapes."""
        op = self.ops[unit.sinks[0]]
        if op.name != "store":
            return (False, 0, 0)
        return (True, -len(op.shape), sum(dim == 1 for dim in op.shape))


class _Placement:
    """The kernels in order, indexed by space and array.  Arrays that one unit reads together are linked: they count as
    one for all units (union-find)."""

    def __init__(self, fuser: Fuser, units: Sequence[Unit]) -> None:
        self.fuser = fuser
        self.kernels: list[FusedKernel] = []
        self.latest: dict[FusionKey, int] = {}  # -> kernel
        self.linked: dict[FusionKey, FusionKey] = {}
        for unit in units:
            for shape in _fusion_shapes(unit.body.space):
                keys = [(shape, array) for array in self._arrays(unit.body)]
                for key in keys[1:]:
                    one, other = self._fusion_key(*keys[0]), self._fusion_key(*key)
                    if one != other:
                        self.linked[other] = one
        self.by_shape: dict[KernelSpace, int] = {}  # of kernels without reductions

    def put(self, unit: Unit, earliest: int) -> int:
        """Add a unit to a kernel at ``earliest`` or later, or to a new one, and return the kernel's number."""
        for place in self._candidates(unit):
            found = self._try_fuse(self.kernels[place], unit) if place >= earliest else None
            if found is not None:
                break
        else:
            place, found = len(self.kernels), (FusedKernel(unit.body.space), unit.body)
            self.kernels.append(found[0])
        kernel, body = found
        kernel.take(body, unit.sinks)
        self.kernels[place] = kernel
        shapes = _fusion_shapes(kernel.space)
        for array in self._arrays(body):
            self.latest.update((self._fusion_key(shape, array), place) for shape in shapes)
        if kernel.space.reduced is None:
            self.by_shape[kernel.space] = place
        return place

    def _fusion_key(self, shape: KernelSpace | Shape, array: int) -> FusionKey:
        """The representative of all keys that are linked to this one."""
        key = (shape, array)
        while key in self.linked:
            up = self.linked[key]
            if up in self.linked:
                self.linked[key] = self.linked[up]  # path halving
            key = up
        return key

    def _arrays(self, body: KernelBody) -> set[int]:
        """What kernels that read it share: operands, and the buffers of values that are always read from buffers, which
        count backwards from -1."""
        return {r.operand for r in body.reads} | {~n for n in body.buffers & self.fuser.builder.chain_cuts}

    def _candidates(self, unit: Unit) -> list[int]:
        """Kernels that read a common array, those of exactly this space first; then any of the same shape."""
        space = unit.body.space
        arrays = sorted(self._arrays(unit.body))
        found = [self.latest.get(self._fusion_key(shape, a)) for shape in _fusion_shapes(space) for a in arrays]
        if space.reduced is None:
            found.append(self.by_shape.get(space))
        return [place for place in dict.fromkeys(found) if place is not None]

    def _try_fuse(self, kernel: FusedKernel, unit: Unit) -> tuple[FusedKernel, KernelBody] | None:
        """The kernel, perhaps in a space with reductions now, and the unit's body in it; None if they do not fuse."""
        found = self._in_one_space(kernel, unit)
        if found is None:
            return None
        kernel, body = found
        chained, updated = self.fuser.builder.chained, self.fuser.updated
        if not chained and (kernel.fused & body.buffers or kernel.loaded & body.fused):
            return None  # one kernel would compute a reduction and use its result
        mine = {o: axes for o, axes in body.writes.items() if o in updated}
        theirs = [r for o in mine for r in kernel.reads.get(o, ())]
        clash = races(kernel.space, theirs, mine) or races(kernel.space, body.reads, kernel.writes)
        return None if clash else (kernel, body)

    def _in_one_space(self, kernel: FusedKernel, unit: Unit) -> tuple[FusedKernel, KernelBody] | None:
        """Both in one space: that of the one with reductions, if only one has any; None if spaces differ otherwise.

        Without chains, only kernels that write no elements of rows may share a row among several blocks: spaces stay
        apart.
        """
        builder, body = self.fuser.builder, unit.body
        if body.space == kernel.space:
            return kernel, body
        flat = kernel.space.reduced is None
        if (body.space.reduced is None) == flat or not builder.chained:
            return None
        rows, others = (body.space, kernel.sinks) if flat else (kernel.space, unit.sinks)
        if any(rows.place(builder.ops[n].shape) is None or not self.fuser.may_write(n, rows) for n in others):
            return None
        moved = builder.build(rows, others)
        if moved.fused:  # its reads would differ from those that the order was made for
            return None
        if not flat:
            return kernel, moved
        fused = FusedKernel(rows)
        fused.take(moved, others)
        return fused, body


def _fusion_shapes(space: KernelSpace) -> list[KernelSpace | Shape]:
    """The spaces and shapes under which units that may be fused into a kernel find it."""
    if space.reduced is None:
        return [space, squeezed(space.dims)]
    return [space, space.dims, tuple(space.dims[a] for a in space.kept)]
