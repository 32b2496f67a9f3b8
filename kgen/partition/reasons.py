"""Why a program needs several kernels in this order: the text that ``explain`` prints."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.ir.graph import IndexMap, Operand
from kgen.partition.cut import ReductionStep
from kgen.partition.step import Step
from kgen.partition.trace import LONGEST_CHAIN


def order_reasons(steps: Sequence[Step], *, chained: bool) -> tuple[tuple[str, ...], ...]:
    """For each step, which buffers it writes for later steps and why, and which steps it has to run after."""
    written = [{t.operand for t in s.accesses if t.writes} for s in steps]
    read = [{t.operand for t in s.accesses if t.reads} for s in steps]
    found: list[tuple[str, ...]] = []
    for number, step in enumerate(steps):
        operands = [(operand, step.graph.operands[operand]) for operand in sorted(written[number])]
        left: dict[tuple[str, str], list[str]] = {}  # who reads it and why -> buffers
        for operand, known in operands:
            if known.role == "buffer":
                readers = _those(operand, read)
                why = _why_separate(step, operand, steps[readers[0]], chained=chained)
                left.setdefault((_kernels(readers), why), []).append(f"`{known.name}`")
        mine = [f"order: {who} {' and '.join(names)} from here: {why}" for (who, why), names in left.items()]
        found.append((*_updates(operands, read[:number]), *mine))
    return tuple(found)


def _updates(operands: Sequence[tuple[int, Operand]], read: Sequence[set[int]]) -> list[str]:
    """Reasons for the arguments that a step updates.  ``read``: the operands that each step before it reads."""
    updated = [(known.name, _those(operand, read)) for operand, known in operands if known.role == "inout"]
    return [f"order: `{n}` is updated here, after {_kernels(before)} it as it was" for n, before in updated if before]


def _those(operand: int, read: Sequence[set[int]]) -> list[int]:
    """The steps that read an operand."""
    return [i for i, operands in enumerate(read) if operand in operands]


def _kernels(numbers: Sequence[int]) -> str:
    shown = [str(n + 1) for n in numbers]
    listed = f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]
    return f"kernel{'s' if len(shown) > 1 else ''} {listed} read{'' if len(shown) > 1 else 's'}"


def _why_separate(step: Step, buffer: int, reader: Step, *, chained: bool) -> str:
    """Why a kernel reads a value from a buffer instead of computing it."""
    ops = step.graph.ops
    store = next(op for op in step.graph.stores if isinstance(op.attr, IndexMap) and op.attr.operand == buffer)
    if ops[store.args[0]].name == "load":
        return "a copy in the order of what is read beside it, so that sectors of memory are used whole"
    if ops[store.args[0]].name != "reduce":
        return f"chains of more than {LONGEST_CHAIN} rounds of reductions go on from memory"
    assert isinstance(step, ReductionStep)
    if isinstance(reader, ReductionStep) and (reader.shape, reader.kept) != (step.shape, step.kept):
        return "a kernel reduces one set of axes"
    if not chained:
        return "one kernel for the whole chain is slower where rows are few, or lie across memory"
    updated = {t.operand for t in reader.accesses if t.writes and step.graph.operands[t.operand].role == "inout"}
    if any(t.operand in updated for t in step.accesses):
        return "it is found before that kernel updates what it is made of"
    return "it is needed beside other rows than its own"
