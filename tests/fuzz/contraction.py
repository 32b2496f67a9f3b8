"""What contraction may make of a kernel: any product may go into the sum that it is part of, rounded once."""

from __future__ import annotations

from itertools import product

from kgen.ir.builder import Builder
from kgen.ir.graph import Graph, Op
from kgen.passes import optimise

MOST = 32  # kernels


def contracted(kernel: Graph) -> list[Graph] | None:
    """Every kernel with some products contracted into ``fma``; None where these are too many to try."""
    kernel = optimise(kernel)
    sums = {n: _products(kernel, op) for n, op in enumerate(kernel.ops) if op.name in ("add", "sub")}
    sums = {n: sides for n, sides in sums.items() if sides}
    count = 1
    for sides in sums.values():
        count *= 1 + len(sides)
        if count > MOST:
            return None
    choices = product(*((None, *sides) for sides in sums.values()))
    return [_with(kernel, dict(zip(sums, choice, strict=True))) for choice in choices if any(choice)]


def _products(kernel: Graph, op: Op) -> list[str]:
    """Which operands of a sum of floats are products."""
    if not op.dtype.is_float:
        return []
    return [side for side, arg in zip(("left", "right"), op.args, strict=True) if _factors(kernel, arg) is not None]


def _factors(kernel: Graph, number: int) -> tuple[int, int, bool] | None:
    """Of a product, or of its negative."""
    op = kernel.ops[number]
    negative = op.name == "neg"
    op = kernel.ops[op.args[0]] if negative else op
    return (*op.args, negative) if op.name == "mul" else None  # type: ignore[return-value]


def _with(kernel: Graph, chosen: dict[int, str | None]) -> Graph:
    builder = Builder()
    moved: list[int] = []
    for number, op in enumerate(kernel.ops):
        side = chosen.get(number)
        if side is None:
            here = Op(op.name, tuple(moved[a] for a in op.args), op.dtype, op.shape, op.attr)
            builder.ops.append(here)
            moved.append(len(builder.ops) - 1)
            continue
        own, other = op.args if side == "left" else op.args[::-1]
        factors = _factors(kernel, own)
        assert factors is not None
        a, b, negative = factors
        minus_product = negative != (op.name == "sub" and side == "right")
        minus_other = op.name == "sub" and side == "left"
        first, last = moved[a], moved[other]
        if minus_product:
            first = _add(builder, "neg", (first,), kernel.ops[a])
        if minus_other:
            last = _add(builder, "neg", (last,), kernel.ops[other])
        moved.append(_add(builder, "fma", (first, moved[b], last), op))
    return Graph(kernel.operands, kernel.scalars, tuple(builder.ops))


def _add(builder: Builder, name: str, args: tuple[int, ...], like: Op) -> int:
    builder.ops.append(Op(name, args, like.dtype, like.shape))
    return len(builder.ops) - 1
