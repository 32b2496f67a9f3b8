"""Online reductions: replaces two dependent rounds by one, so that long rows are read once less.

``sum(exp(x - max(x)))`` does not need the maximum first: threads sum relative to the maximum so far, and rescale
(M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", 2018).

    %1 = reduce<max> %0               %1 = reduce<max> %0
    %2 = sub %0, %1             ->    %2 = reduce<exp_sum> %0
    %3 = exp %2
    %4 = reduce<sum> %3

The mean of squared distances from the mean is the variance, which does not need the mean first either.

    %1 = reduce<mean> %0              %1 = reduce<mean> %0
    %2 = sub %0, %1             ->    %2 = reduce<var> %0
    %3 = mul %2, %2
    %4 = reduce<mean> %3
"""

from __future__ import annotations

from kgen.dtypes import FLOAT32
from kgen.ir.graph import Graph, Op, Reduction
from kgen.passes.dce import dce
from kgen.records import replace


def online_reductions(kernel: Graph) -> Graph:
    """The kernel with online reductions.  Not exact: the terms of sums are rounded differently."""
    ops = list(kernel.ops)
    for number, op in enumerate(ops):
        for kind, source in (("exp_sum", _shifted_exponents(kernel, op)), ("var", _squared_deviations(kernel, op))):
            if source is not None and isinstance(op.attr, Reduction):
                ops[number] = replace(op, args=(source,), attr=replace(op.attr, kind=kind))
    return kernel if ops == list(kernel.ops) else dce(replace(kernel, ops=tuple(ops)))


def _shifted_exponents(kernel: Graph, op: Op) -> int | None:
    """The ``x`` of ``sum(exp(x - max(x)))``."""
    if not (isinstance(op.attr, Reduction) and op.attr.kind == "sum" and op.dtype.is_float):
        return None
    term = kernel.ops[op.args[0]]
    if term.name != "exp" or term.dtype is not op.dtype:
        return None
    source = _from(kernel, term.args[0], "max", op.attr.axes)
    return source if source is not None and kernel.ops[source].shape == term.shape else None


def _squared_deviations(kernel: Graph, op: Op) -> int | None:
    """The ``x`` of ``mean((x - mean(x)) * (x - mean(x)))``."""
    if not (isinstance(op.attr, Reduction) and op.attr.kind == "mean" and op.dtype.is_float):
        return None
    square = kernel.ops[op.args[0]]
    if square.name != "mul" or square.args[0] != square.args[1] or square.dtype is not op.dtype:
        return None
    source = _from(kernel, square.args[0], "mean", op.attr.axes)
    return source if source is not None and kernel.ops[source].shape == square.shape else None


def _from(kernel: Graph, number: int, kind: str, axes: tuple[int, ...]) -> int | None:
    """The ``x`` of ``x - kind(x)`` over these axes."""
    op = kernel.ops[number]
    if op.name != "sub":
        return None
    x, peak = op.args[0], kernel.ops[op.args[1]]
    attr = peak.attr
    if not (isinstance(attr, Reduction) and attr.kind == kind and peak.args == (x,) and attr.axes == axes):
        return None
    # Without keepdims the result broadcasts along the leading axes only.
    aligned = attr.keepdims or axes == tuple(range(len(axes)))
    return x if aligned else None


def is_quotient_by_sum(kernel: Graph, op: Op) -> bool:
    """Whether this op divides ``exp(x - max(x))``, which is at most 1, by its sum, which is at least 1."""
    if op.name != "div":
        return False
    above, below = kernel.ops[op.args[0]], kernel.ops[op.args[1]]
    if above.name != "exp" or not isinstance(below.attr, Reduction):
        return False
    x = _from(kernel, above.args[0], "max", below.attr.axes)  # at most 0, and 0 in each row once at least
    whole = {"sum": op.args[0], "exp_sum": x}
    return x is not None and below.args == (whole.get(below.attr.kind),)


def quotients_by_sums(kernel: Graph) -> frozenset[int]:
    """The divisions by ``sum(exp(x - max(x)))``, which is from 1 to the number of terms, that only go into results of
    16 bits or fewer, through products and sums, and are not reduced again.  Products with the reciprocal are as good
    there.
    """
    ops = kernel.ops
    users, reduced = _uses(kernel)
    rounded: set[int] = set()
    for number in reversed(range(len(ops))):
        found = users.get(number, [])
        if found and all(u in rounded if ops[u].name in _ARITHMETIC else _is_rounded(kernel, [u]) for u in found):
            rounded.add(number)
    quotients = (n for n in rounded - reduced if ops[n].name == "div" and ops[n].dtype is FLOAT32)
    return frozenset(n for n in quotients if _is_sum(kernel, ops[n].args[1]))


_ARITHMETIC = frozenset({"add", "sub", "mul", "neg"})


def _is_sum(kernel: Graph, number: int) -> bool:
    """Whether an op is the sum of ``exp(x - max(x))``."""
    op = kernel.ops[number]
    if not isinstance(op.attr, Reduction):
        return False
    term = kernel.ops[op.args[0]]
    return op.attr.kind == "exp_sum" or (term.name == "exp" and _sums_exponentials(kernel, term, op))


def approximable_exponentials(kernel: Graph) -> tuple[frozenset[int], frozenset[int]]:
    """The float32 ``exp(x - max(x))`` that may be approximate: ``(summed, quotients)``, as numbers of ops.

    ``summed`` are only summed, over the same axes.  ``quotients`` are also divided by that sum, see
    :func:`is_quotient_by_sum`; the
    quotients are rounded to 16 bits or fewer and not reduced again.  Their divisors divide nothing else.
    """
    ops = kernel.ops
    users, reduced = _uses(kernel)
    summed: set[int] = set()
    quotients: set[int] = set()
    for number, op in enumerate(ops):
        if op.name != "exp" or op.dtype is not FLOAT32 or number not in users:
            continue
        rest = [u for u in users[number] if not _sums_exponentials(kernel, op, ops[u])]
        if not rest:
            summed.add(number)
        elif all(
            u not in reduced and is_quotient_by_sum(kernel, ops[u]) and _is_rounded(kernel, users.get(u, []))
            for u in rest
        ):
            quotients.add(number)
    return frozenset(summed), _with_own_divisor(kernel, quotients)


def _uses(kernel: Graph) -> tuple[dict[int, list[int]], set[int]]:
    """The ops that read each op, and the ops that a reduction depends on."""
    users: dict[int, list[int]] = {}
    reduced: set[int] = set()
    for number in range(len(kernel.ops) - 1, -1, -1):
        op = kernel.ops[number]
        for a in op.args:
            users.setdefault(a, []).append(number)
            if op.name == "reduce" or number in reduced:
                reduced.add(a)
    return users, reduced


def _with_own_divisor(kernel: Graph, quotients: set[int]) -> frozenset[int]:
    """Those quotients whose divisor divides no other value."""
    dividends: dict[int, set[int]] = {}
    for op in kernel.ops:
        if op.name == "div":
            dividends.setdefault(op.args[1], set()).add(op.args[0])
    while True:
        mixed = [of for of in dividends.values() if not of <= quotients]
        kept = quotients.difference(*mixed)
        if kept == quotients:
            return frozenset(quotients)
        quotients = kept


def _sums_exponentials(kernel: Graph, term: Op, user: Op) -> bool:
    attr = user.attr
    if not (isinstance(attr, Reduction) and attr.kind == "sum" and user.dtype is FLOAT32):
        return False
    return _from(kernel, term.args[0], "max", attr.axes) is not None


def _is_rounded(kernel: Graph, users: list[int]) -> bool:
    """Whether all these ops round a value to 16 bits or fewer."""
    casts = [kernel.ops[u] for u in users]
    return bool(casts) and all(c.name == "cast" and c.dtype.is_float and c.dtype.size <= 2 for c in casts)
