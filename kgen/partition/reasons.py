"""Why a program needs several kernels in this order: the text that ``explain`` prints."""

from __future__ import annotations

from collections.abc import Sequence, Set

from kgen.ir.graph import IndexMap, Operand
from kgen.partition.kernel_body import LONGEST_CHAIN
from kgen.partition.reduction_step import ReductionStep
from kgen.partition.step import Step

_UPDATED = "updates meet there, whose order does not matter"


def order_reasons(steps: Sequence[Step], *, chained: bool) -> tuple[tuple[str, ...], ...]:
    """For each step, which buffers it writes for which later steps and why, and which steps it has to run after."""
    written = [{t.operand for t in s.accesses if t.writes} for s in steps]
    read = [s.read for s in steps]
    updated = frozenset[int]().union(*(s.graph.scattered for s in steps))
    found: list[tuple[str, ...]] = []
    for number, step in enumerate(steps):
        operands = [(operand, step.graph.operands[operand]) for operand in sorted(written[number])]
        buffers: dict[tuple[str, str], list[str]] = {}  # who reads them and why -> their names
        for operand, known in operands:
            if known.role == "buffer":
                readers = _users(operand, steps, number) if operand in updated else _those(operand, read)
                why = (
                    _UPDATED if operand in updated else _why_separate(step, operand, steps[readers[0]], chained=chained)
                )
                buffers.setdefault((_kernels(readers), why), []).append(f"`{known.name}`")
        mine = [f"order: writes {' and '.join(names)} for {who}: {why}" for (who, why), names in buffers.items()]
        found.append((*_updates(operands, read[:number]), *mine))
    return tuple(found)


def _users(operand: int, steps: Sequence[Step], number: int) -> list[int]:
    """The steps after one that read or write an operand."""
    return [n for n, s in enumerate(steps) if n > number and operand in s.operands]


def _updates(operands: Sequence[tuple[int, Operand]], read: Sequence[Set[int]]) -> list[str]:
    """Reasons for the arguments that a step updates.  ``read``: the operands that each step before it reads."""
    updated = [(known.name, _those(operand, read)) for operand, known in operands if known.role == "inout"]
    return [f"order: updates `{n}` after its reads in {_kernels(before)}" for n, before in updated if before]


def _those(operand: int, read: Sequence[Set[int]]) -> list[int]:
    """The steps that read an operand."""
    return [i for i, operands in enumerate(read) if operand in operands]


def _kernels(numbers: Sequence[int]) -> str:
    shown = [str(n + 1) for n in numbers]
    return f"kernels {', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else f"kernel {shown[0]}"


def _why_separate(step: Step, buffer: int, reader: Step, *, chained: bool) -> str:
    """Why a kernel reads a value from a buffer instead of computing it."""
    ops = step.graph.ops
    if buffer in reader.graph.gathered:
        return "it is read there at computed places, when all of it is there"
    store = next(op for op in step.graph.stores if isinstance(op.attr, IndexMap) and op.attr.operand == buffer)
    if isinstance(step, ReductionStep) and buffer in step.sums:
        return "each block sums its own rows; these sums are added up in a fixed order"
    if ops[store.args[0]].name == "load":
        return "the copy is in the order of the operands read with it, so that whole sectors of memory are used"
    if ops[store.args[0]].name != "reduce":
        if any(op.name == "reduce" for op in ops):
            return f"a chain of reductions goes through memory after every {LONGEST_CHAIN} rounds"
        return (
            "operands lie in several orders or with gaps, so reductions read what is computed from them, without gaps"
        )
    assert isinstance(step, ReductionStep)
    return _why_in_memory(step, reader, chained=chained)


def _why_in_memory(step: ReductionStep, reader: Step, *, chained: bool) -> str:
    """Why the result of a reduction goes through memory."""
    if isinstance(reader, ReductionStep) and (reader.shape, reader.kept) != (step.shape, step.kept):
        return "a kernel reduces one set of axes, or rows and segments of them that part of a warp can share"
    if not chained:
        return "one kernel for the whole chain is slower: rows are too long for it, or not consecutive in memory"
    updated = {t.operand for t in reader.accesses if t.writes and step.graph.operands[t.operand].role == "inout"}
    if any(t.operand in updated for t in step.accesses):
        return "it is computed before its own inputs are updated"
    return "each row there needs the results of other rows"
