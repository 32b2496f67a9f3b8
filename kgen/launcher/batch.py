"""Programs that reduce, for arrays of any rank: the dimensions that a file may merge before it decides.

``softmax(x)`` treats all dimensions but the last alike, so a file for two dimensions serves any rank.  Of several
arrays, such as those of ``softmax(x + mask)``, each may have one row for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgen import pipeline
from kgen.codegen.names import listed
from kgen.compile_spec import CompileSpec
from kgen.diagnostics import KgenError
from kgen.ir.graph import Graph, IndexMap, Op, Reduction, Shape
from kgen.lowering import Batch, Lowered
from kgen.program import Program
from kgen.records import replace
from kgen.schedule.target import Target

#: What files for any rank merge, by the dimensions of their array that stay: none, the last, or the first.
_KINDS: Mapping[tuple[int, int], str] = {
    (0, 0): "all dimensions are",
    (0, 1): "all dimensions but the last are",
    (1, 0): "all dimensions but the first are",
}

_RANKS = (3, 4)  #: an axis that is the last in both is the last in any


def lower_any_rank(program: Program, spec: CompileSpec, arrays: Sequence[str], target: Target) -> Lowered | None:
    """The kernels for ``arrays`` of any rank, all of one shape; those of ``spec.shapes`` have these.

    None where the program does not reduce, or treats their dimensions differently.
    """
    if not arrays:
        return None
    try:
        graphs = [pipeline.specialise_for(program, _spec(spec, arrays, n).operands(program)).graph for n in _RANKS]
    except KgenError:
        return None
    if not any(op.name == "reduce" for op in graphs[0].ops):
        return None
    for (first, last), merged in _KINDS.items():
        if all(_may_merge(graph, arrays, first, last) for graph in graphs):
            shaped = _spec(spec, arrays, first + 1 + last)
            lowered = pipeline.lower(program, shaped.operands(program), target)
            graph = lowered.specialised.graph
            dim = _shape(graph, arrays[0])[first]
            assert isinstance(dim, str)
            apart = _apart(graph, arrays, dim) if (first, last) == (0, 1) else ()
            comment = f"Layout: C order, {listed(arrays)} of any rank: {merged} merged."
            if apart:
                comment += f" Rows of {listed(apart)} may be any number of elements apart, or one for all."
            return replace(lowered, batch=Batch(dim, shaped.shapes, comment, apart))
    return None


def _apart(graph: Graph, arrays: Sequence[str], dim: str) -> tuple[str, ...]:
    """Of several arrays, the inputs; none unless another array has the batch, whose extents then are known."""
    inputs = tuple(o.name for o in graph.operands if o.role == "input" and o.name in arrays)
    has_other = any(dim in o.shape for o in graph.operands if o.role in ("output", "inout"))
    return inputs if len(arrays) > 1 and has_other else ()


def _spec(spec: CompileSpec, arrays: Sequence[str], rank: int) -> CompileSpec:
    return replace(spec, shapes={**spec.shapes, **dict.fromkeys(arrays, (None,) * rank)})


def _shape(graph: Graph, array: str) -> Shape:
    return next(o.shape for o in graph.operands if o.name == array)


def _may_merge(graph: Graph, arrays: Sequence[str], first: int, last: int) -> bool:
    """Whether all dimensions of the arrays but the ``first`` and the ``last`` ones are always together."""
    whole = _shape(graph, arrays[0])
    if any(_shape(graph, array) != whole for array in arrays):
        return False
    batch = whole[first : len(whole) - last]
    if len(set(whole)) < len(whole) or _tells_axes_apart(graph):
        return False
    reduced = [
        tuple(dim for axis, dim in enumerate(graph.ops[op.args[0]].shape) if axis in op.attr.axes)
        for op in graph.ops
        if isinstance(op.attr, Reduction)
    ]
    together = all(_of(shape, batch) in ((), batch) for shape in (*reduced, *(op.shape for op in graph.ops)))
    # Results without the batch have the same rank for any array.
    return together and all(_of(o.shape, batch) or len(o.shape) <= first + last for o in graph.results)


def _tells_axes_apart(graph: Graph) -> bool:
    """Whether it does more with axes than to compute along them."""
    views = any(o.view is not None for o in graph.operands)
    return views or any(op.name in ("index", "gather", "expand", "size") or _expands(op) for op in graph.ops)


def _of(shape: Shape, batch: Shape) -> Shape:
    return tuple(dim for dim in shape if dim in batch and dim != 1)


def _expands(op: Op) -> bool:
    return isinstance(op.attr, IndexMap) and None in op.attr.axes
