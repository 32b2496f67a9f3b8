"""Runs a program's steps on NumPy arrays, one after the other in one memory: what the cut gives, without a compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kgen.ir import evaluator
from kgen.ir.evaluator import Frame
from kgen.ir.graph import Graph, IndexMap, Op, Operand, Reduction
from kgen.ir.reduction_values import reduce
from kgen.ir.rounding import numpy_dtype
from kgen.partition.kernel_body import AxisMap, spread
from kgen.partition.reduction_step import ReductionStep
from kgen.partition.step import Step

from .arrays import Array


def simulate(
    operands: Sequence[Operand], steps: Sequence[Step], given: Mapping[str, Array], extents: Mapping[str, int]
) -> dict[str, Array]:
    """Every array after the last step.

    Raises AssertionError where a step reads what is not written yet, or what other threads of its own write.
    """
    memory: dict[int, Array] = {n: given[o.name].copy() for n, o in enumerate(operands) if o.name in given}
    for step in steps:
        _Simulated(step, operands, memory, extents).run()
    return {operands[n].name: array for n, array in memory.items()}


class _Simulated:
    """Every value is an array over the axes of the step's space, of extent 1 where it does not move."""

    def __init__(
        self, step: Step, operands: Sequence[Operand], memory: dict[int, Array], extents: Mapping[str, int]
    ) -> None:
        self.step = step
        self.operands = operands
        self.memory = memory
        self.space = tuple(1 if dim == 1 else extents[dim] for dim in step.shape)
        self.frame = Frame(Graph(tuple(operands), step.graph.scalars, step.graph.ops), [], [], dict(extents))
        self.before = dict(memory)
        self.written: dict[int, AxisMap] = {}

    def place(self, number: int) -> AxisMap:
        op = self.step.graph.ops[number]
        if isinstance(self.step, ReductionStep):
            return self.step.places[number]
        skipped = len(self.space) - len(op.shape)
        return tuple(None if dim == 1 else skipped + i for i, dim in enumerate(op.shape))

    def run(self) -> None:
        ops = self.step.graph.ops
        values: list[Array] = []
        with np.errstate(all="ignore"):
            for number, op in enumerate(ops):
                values.append(self.value(number, op, [values[a] for a in op.args]))
        self.refuse_races()

    def value(self, number: int, op: Op, args: list[Array]) -> Array:
        rank, place = len(self.space), self.place(number)
        match op.name:
            case "load":
                assert isinstance(op.attr, IndexMap)
                assert op.attr.operand in self.before, f"`{self.operands[op.attr.operand].name}` is not written yet"
                return self.spread_out(self.before[op.attr.operand], spread(op, place, rank))
            case "store":
                self.store(op, spread(op, place, rank), args[0])
                return args[0]
            case "reduce":
                return self.reduced(op, args[0])
            case "index":
                assert isinstance(op.attr, int)
                axis = place[op.attr]
                assert axis is not None
                return np.arange(self.space[axis], dtype=np.int64).reshape(
                    [-1 if i == axis else 1 for i in range(rank)]
                )
            case "expand":
                raise AssertionError("axes of size 1 have no place, so a step needs no expand")
        found = np.asarray(evaluator.ROWS[op.name](self.frame, op, *args))
        return found.reshape((1,) * (rank - found.ndim) + found.shape)

    def spread_out(self, array: Array, axes: AxisMap) -> Array:
        walked = [a for a in axes if a is not None]
        left = [a for a in range(array.ndim) if a not in walked]
        assert all(array.shape[a] == 1 for a in left)
        turned = np.transpose(array, (*left, *walked)).reshape([array.shape[a] for a in walked])
        return turned.reshape([1 if a is None else array.shape[a] for a in axes])

    def store(self, op: Op, axes: AxisMap, value: Array) -> None:
        assert isinstance(op.attr, IndexMap)
        operand = self.operands[op.attr.operand]
        shape = tuple(1 if dim == 1 else self.frame.sizes[str(dim)] for dim in operand.shape)
        walked = [a for a in axes if a is not None]
        full = np.broadcast_to(value, [1 if a is None else self.space[i] for i, a in enumerate(axes)])
        moving = np.transpose(full.reshape([shape[a] for a in walked]), np.argsort(walked)) if walked else full
        self.memory[op.attr.operand] = np.array(moving.reshape(shape), numpy_dtype(operand.dtype))
        self.written[op.attr.operand] = axes

    def reduced(self, op: Op, value: Array) -> Array:
        assert isinstance(self.step, ReductionStep)
        assert isinstance(op.attr, Reduction)
        axes = tuple(range(self.step.kept, len(self.space)))
        full = [n if i in axes else value.shape[i] for i, n in enumerate(self.space)]
        how = Reduction(op.attr.kind, axes, True, op.attr.correction)
        argument = self.step.graph.ops[op.args[0]]
        return reduce(np.broadcast_to(value, full), argument.dtype, op.dtype, how)

    def refuse_races(self) -> None:
        step = self.step
        ops = step.graph.ops
        needed = [isinstance(step, ReductionStep) and op.name == "reduce" for op in ops]
        for number in range(len(ops) - 1, -1, -1):
            wide = isinstance(step, ReductionStep) and step.kept < len(step.shape) and step.varies_along_row(number)
            if needed[number] or wide:
                for a in ops[number].args:
                    needed[a] = True
        for number, op in enumerate(ops):
            if op.name == "load" and isinstance(op.attr, IndexMap) and op.attr.operand in self.written:
                axes = spread(op, self.place(number), len(self.space))
                name = self.operands[op.attr.operand].name
                assert axes == self.written[op.attr.operand], f"`{name}` is read at elements that other threads write"
                if (
                    isinstance(step, ReductionStep)
                    and step.kept < len(step.shape)
                    and not step.varies_along_row(number)
                ):
                    assert not needed[number], f"all threads of a row read the element of `{name}` that one writes"
