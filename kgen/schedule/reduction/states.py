"""What the reductions of a step accumulate in: which of them share a state, and how many bytes states have."""

from __future__ import annotations

from kgen.dtypes import INT8, UINT8, DType, Kind
from kgen.ir.graph import Op, Reduction
from kgen.partition.reduction_step import ReductionStep

#: Integers whose means and variances are of exact sums.
BYTES = (INT8, UINT8)

#: Kinds whose result is the same in whatever order elements are merged; so are sums and products of integers.
_EXACT = frozenset({"min", "max", "argmin", "argmax", "any", "all", "count_nonzero"})

#: (kind, other kind) -> the member of the first one's state that is the result of the other, for the same elements.
KNOWN = {("exp_sum", "max"): "peak", ("var", "mean"): "mean", ("std", "mean"): "mean"}

_SUMS = frozenset({"sum", "mean", "norm"})

#: The numbers in the state of a reduction, where there are several.
_NUMBERS = {"var": 3, "std": 3, "logsumexp": 2, "exp_sum": 2, "argmin": 2, "argmax": 2}


def known_of(step: ReductionStep) -> dict[int, tuple[int, str]]:
    """For each reduction that needs no state of its own: the one whose state has its result, and the member."""
    ops = step.graph.ops
    kinds = {n: op.attr.kind for n, op in enumerate(ops) if isinstance(op.attr, Reduction)}
    return {
        n: (m, KNOWN[kinds[m], kinds[n]])
        for m in kinds
        for n in kinds
        if (kinds[m], kinds[n]) in KNOWN and _same_elements(ops[m], ops[n]) and ops[m].dtype is ops[n].dtype
    }


def _same_elements(one: Op, two: Op) -> bool:
    axes = [op.attr.axes if isinstance(op.attr, Reduction) else () for op in (one, two)]
    return one.args == two.args and axes[0] == axes[1]


def source_of(step: ReductionStep, op: Op) -> DType:
    """The dtype of the elements that a reduction takes: of means and variances of bytes, before their conversion."""
    ops, kind = step.graph.ops, op.attr.kind if isinstance(op.attr, Reduction) else ""
    value = ops[op.args[0]]
    source = ops[value.args[0]].dtype if kind in ("mean", "var", "std") and value.name == "cast" else value.dtype
    return source if source in BYTES else value.dtype


def is_exact(step: ReductionStep) -> bool:
    """Whether results are the same in whatever order elements are merged."""
    return all(_is_exact(step, op) for op in step.graph.ops if isinstance(op.attr, Reduction))


def _is_exact(step: ReductionStep, op: Op) -> bool:
    kind = op.attr.kind if isinstance(op.attr, Reduction) else ""
    whole = op.dtype.is_int or (kind in ("mean", "var", "std") and source_of(step, op) in BYTES)
    return kind in _EXACT or whole


def has_parts(step: ReductionStep) -> bool:
    """Whether threads may add what other threads have computed, with the same bits: reductions are exact, or add
    floats.
    """
    return all(_has_parts(step, op) for op in step.graph.ops if isinstance(op.attr, Reduction))


def _has_parts(step: ReductionStep, op: Op) -> bool:
    kind = op.attr.kind if isinstance(op.attr, Reduction) else ""
    if op.dtype.is_complex:
        return False
    # Compilers fuse a product with its distance from a mean only where the same thread computes both.
    apart = step.graph.ops[op.args[0]].name not in ("mul", "neg")
    return _is_exact(step, op) or kind in _SUMS or (kind in _NUMBERS and apart)


def state_bytes(step: ReductionStep) -> int:
    """Bytes of the states of all reductions of a kernel in one thread, at most."""
    known = known_of(step)
    return sum(
        _bytes(step, op) for n, op in enumerate(step.graph.ops) if isinstance(op.attr, Reduction) and n not in known
    )


def _bytes(step: ReductionStep, op: Op) -> int:
    kind = op.attr.kind if isinstance(op.attr, Reduction) else ""
    if kind in ("mean", "var", "std") and source_of(step, op) in BYTES:
        return 8 if kind == "mean" else 16
    return _NUMBERS.get(kind, 1) * (max(4, op.dtype.size) if op.dtype.kind >= Kind.FLOAT else 8)
