"""Sums along rows of terms with factors that all elements of the row share: the factors times the sums of the terms.

The gradient of a mean is a sum of values that depend on other sums along the row, so it would need another round:

    %7 = mul %5, %6            # %5: one for each row, the result of a reduction; %6: an element
    %8 = reduce<sum, axes=1, keepdims> %7

Afterwards, no round waits for another one's result:

    %7 = reduce<sum, axes=1, keepdims> %6
    %8 = mul %5, %7
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from kgen.dtypes import FLOAT32, FLOAT64
from kgen.ir.graph import Graph, Op, Reduction
from kgen.passes.dce import dce
from kgen.records import dataclass, replace

_KINDS = frozenset({"sum", "mean"})


@dataclass(frozen=True, slots=True)
class _Term:
    """``factors``: of a value, each with the op that applies it (``mul`` or ``div``); the first one applies first."""

    value: int
    negative: bool
    factors: tuple[tuple[str, int], ...] = ()


def linear_sums(kernel: Graph) -> Graph:
    """The program with fewer rounds; the same one if there is no such sum."""
    made = _Made()
    moved: list[int] = []
    changed = False
    for op in kernel.ops:
        here = replace(op, args=tuple(moved[a] for a in op.args))
        terms = _terms(made.ops, made.rounds, here)
        changed = changed or terms is not None
        moved.append(made.put(here) if terms is None else made.put_sum(here, terms))
    return dce(replace(kernel, ops=tuple(made.ops))) if changed else kernel


@dataclass(slots=True)
class _Made:
    """The ops so far, and how many rounds each needs."""

    ops: list[Op] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)

    def put(self, op: Op) -> int:
        self.ops.append(op)
        self.rounds.append(max((self.rounds[a] for a in op.args), default=0) + (op.name == "reduce"))
        return len(self.ops) - 1

    def put_sum(self, op: Op, terms: Sequence[_Term]) -> int:
        """The sum ``op``, from those of its terms."""
        sums = dict[int, int]()
        total: int | None = None
        for term in terms:
            if term.value not in sums:
                sums[term.value] = self.put(replace(op, args=(term.value,), label=None))
            part = sums[term.value]
            for name, factor in term.factors:
                part = self.put(Op(name, (part, factor), op.dtype, op.shape, span=op.span))
            name, args = ("sub" if term.negative else "add", (total, part)) if total is not None else ("neg", (part,))
            single = total is None and not term.negative
            total = part if single else self.put(Op(name, args, op.dtype, op.shape, span=op.span))
        assert total is not None
        self.ops[total] = replace(self.ops[total], label=op.label)
        return total


def _terms(ops: Sequence[Op], rounds: Sequence[int], op: Op) -> list[_Term] | None:
    """The terms of a sum, where none needs as many rounds as all together; None for other ops."""
    attr = op.attr
    if not isinstance(attr, Reduction) or attr.kind not in _KINDS or not attr.keepdims:
        return None
    (value,) = op.args
    if op.dtype not in (FLOAT32, FLOAT64) or ops[value].dtype is not op.dtype or not rounds[value]:
        return None
    shape = ops[value].shape
    is_term = [needed < rounds[value] or ops[n].shape != shape for n, needed in enumerate(rounds)]
    found = list(_split(ops, is_term, value, attr))
    fits = all(rounds[t.value] < rounds[value] and ops[t.value].shape == shape for t in found)
    return found if fits else None


def _split(ops: Sequence[Op], is_term: Sequence[bool], number: int, over: Reduction) -> Iterator[_Term]:
    """The terms of a value, as far as those that need fewer rounds; itself where it has none."""
    op = ops[number]
    if is_term[number] or op.name not in ("neg", "add", "sub", "mul", "div"):
        yield _Term(number, negative=False)
        return
    left, right = op.args if len(op.args) == 2 else (op.args[0], op.args[0])
    if op.name == "mul" and _is_shared(ops, left, number, over):
        left, right = right, left
    if op.name == "neg":
        yield from (replace(t, negative=not t.negative) for t in _split(ops, is_term, left, over))
    elif op.name in ("add", "sub"):
        yield from _split(ops, is_term, left, over)
        flips = op.name == "sub"
        yield from (replace(t, negative=t.negative != flips) for t in _split(ops, is_term, right, over))
    elif _is_shared(ops, right, number, over):
        factor = op.name, right
        yield from (replace(t, factors=(*t.factors, factor)) for t in _split(ops, is_term, left, over))
    else:
        yield _Term(number, negative=False)


def _is_shared(ops: Sequence[Op], factor: int, value: int, over: Reduction) -> bool:
    """Whether a factor is the same for all elements of a row of a value."""
    shape, missing = ops[factor].shape, len(ops[value].shape) - len(ops[factor].shape)
    return all(axis < missing or shape[axis - missing] == 1 for axis in over.axes)
