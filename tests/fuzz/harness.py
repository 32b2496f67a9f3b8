"""Runs generated calls and compares them with the oracle; makes a failing one small."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kgen import jit
from kgen.codegen.spelling import FAST
from kgen.diagnostics import KgenError
from kgen.ir.graph import Graph as IR
from kgen.ir.printer import print_kernel
from kgen.kernel import Kernel
from kgen.pipeline import load

from .arrays import Array, Recipe, dense, pinned
from .oracle import Reference, accepted, reference
from .program import Arguments, Call, Node, Statement

#: Errors that a generated program may meet: what it asks for has no answer.  Any other one is a bug.
REFUSED = {
    "literal-out-of-range", "value-out-of-range", "literal-error", "lossy-cast", "overlap", "no-common-dtype",
    "bad-axis", "bad-value",
}  # fmt: skip
#: With ``out=`` of a higher kind, what later lines read is of that kind too.
REFUSED_WITH_OUT = REFUSED | {"bad-cast", "no-operator", "no-function"}


class Refused(Exception):
    """The call is rejected by a rule of the language."""


@dataclass(slots=True)
class Prepared:
    """A call with its reference, ready to run."""

    call: Call
    kernel: Kernel
    arguments: Arguments
    reference: Reference
    meta: Any
    keep: dict[str, Array]  # inputs as they were
    loose: bool = False  # float arithmetic has no bound


def prepare(call: Call, name: str, device: str = "cpu", exact_size: bool = False) -> Prepared:
    """Type, evaluate, and ask for the metadata.  Raises :class:`Refused` for what the language rejects."""
    try:
        arguments = call.arguments(exact_size)
        kernel = jit(call.text, device=device, name=name, fmad=call.fmad, fast=call.fast)
        found = reference(kernel.program, arguments, contract=call.fmad and device != "cpu")
        if not found.contracts:
            call = replace(call, fmad=False, fast=False)
            kernel = jit(call.text, device=device, name=name, fmad=False)
        inputs = list(arguments.inputs.values())
        words = {n: v for n, v in arguments.keywords.items() if n != "out"}
        meta = kernel.meta(*inputs, **words) if kernel.outputs else ()
    except KgenError as problem:
        codes = {d.code for d in problem.diagnostics}
        if codes <= (REFUSED if call.outs is None else REFUSED_WITH_OUT):
            raise Refused(min(codes)) from problem
        raise
    keep = {n: np.array(a) for n, a in arguments.inputs.items() if isinstance(a, np.ndarray)}
    metas = meta if isinstance(meta, tuple) else (meta,)
    return Prepared(call, kernel, arguments, found, metas, keep, call.fast and _is_loose(found.kernel, device))


#: Ops that hand the bits of a float on.
_MOVES = frozenset({"load", "store", "where", "bitcast", "const", "scalar", "real", "imag", "complex"})


def _is_loose(kernel: IR, device: str) -> bool:
    """Whether ``fast`` changes results: on the CPU target only by the functions that kgen itself approximates."""
    approximate = device != "cpu" or any(op.name in FAST for op in kernel.ops)
    return approximate and _floats(kernel)


def _floats(kernel: IR) -> bool:
    """Whether anything is computed in floats, or compares or converts them: ``fast`` takes subnormals as 0."""
    computed = (op for op in kernel.ops if op.name not in _MOVES)
    return any(o.dtype.is_float for op in computed for o in (op, *(kernel.ops[a] for a in op.args)))


def invoke(prepared: Prepared) -> Any:
    try:
        return prepared.kernel(*prepared.arguments.inputs.values(), **prepared.arguments.keywords)
    except KgenError as problem:
        codes = {d.code for d in problem.diagnostics}
        if codes <= REFUSED:
            raise Refused(min(codes)) from problem
        raise


def verify(prepared: Prepared, result: Any, arguments: Arguments | None = None) -> None:
    """Raises AssertionError where values, shapes, dtypes or strides are not what was to be expected.

    ``arguments``: what the call was made with, where that is not what was prepared.
    """
    call, arguments = prepared.call, arguments or prepared.arguments
    names = prepared.kernel.outputs
    results = () if result is None else result if isinstance(result, tuple) else (result,)
    assert len(results) == len(names), f"{len(results)} results for {len(names)} outputs"
    given = arguments.outs or (None,) * len(names)
    for name, array, out, meta in zip(names, results, given, prepared.meta, strict=True):
        expected = prepared.reference.expected[name]
        assert array.dtype == expected.value.dtype, f"{name} is {array.dtype}, not {expected.value.dtype}"
        if out is not None:
            assert array is out, f"{name} is not the array given with out="
        else:
            strides = tuple(s // array.itemsize for s in array.strides)
            assert array.shape == meta.shape, f"{name} has shape {array.shape}, meta says {meta.shape}"
            walked = [i for i, n in enumerate(array.shape) if n > 1] if array.size else []
            agree = all(strides[i] == meta.strides[i] for i in walked)
            assert agree, f"{name} has strides {strides}, meta says {meta.strides}"
    got = dict(zip(names, results, strict=True)) | {n: arguments.inputs[n] for n in call.inout}
    for name, array in got.items():
        if not prepared.loose:
            compare(name, array, prepared)
    in_place = {o for o in call.outs or () if isinstance(o, str)}
    for name, before in prepared.keep.items():
        if name not in call.inout and name not in in_place:
            after = arguments.inputs[name]
            assert np.array_equal(_bytes(before), _bytes(after)), f"the input {name} was written to"


def _bytes(a: Array) -> Array:
    return np.ascontiguousarray(a).reshape(-1).view(np.uint8)


def compare(name: str, array: Array, prepared: Prepared) -> None:
    expected = prepared.reference.expected[name]
    if name in prepared.call.inout:
        whole = np.broadcast_to(expected.value, array.shape)
        assert whole.shape == array.shape
    assert array.shape == expected.value.shape, f"{name} has shape {array.shape}, not {expected.value.shape}"
    good = accepted(expected, np.ascontiguousarray(array).reshape(array.shape))
    if good.all():
        return
    bad = np.argwhere(~good)
    where = tuple(int(i) for i in bad[0])
    ins = {n: a[_within(a, where)] for n, a in prepared.keep.items() if a.size}
    extra = f", or from {[s[where] for s in expected.samples]}" if expected.samples else ""
    raise AssertionError(
        f"{len(bad)} of {array.size} elements of {name} are wrong; at {where}: {array[where]!r}, "
        f"not {expected.value[where]!r}{extra}\n  inputs there: {ins}"
    )


def _within(a: Array, where: tuple[int, ...]) -> tuple[int, ...]:
    tail = where[len(where) - a.ndim :] if a.ndim <= len(where) else (0,) * a.ndim
    return tuple(min(i, n - 1) for i, n in zip(tail, a.shape, strict=True))


# --- small failures ----------------------------------------------------------------------------------


Attempt = Callable[[Call], None]


def failure(call: Call, problem: Exception, attempt: Attempt) -> AssertionError:
    """The smallest call found that still fails, with everything needed to see why."""
    kind = type(problem)

    def fails(candidate: Call) -> Exception | None:
        try:
            attempt(candidate)
        except Refused:
            return None
        except Exception as found:
            return found if type(found) is kind and _code(found) == _code(problem) else None
        return None

    small = shrink(call, lambda c: fails(c) is not None)
    last = fails(small) or problem
    lines = [
        f"generate({call.seed})",
        small.show(),
        "--- what is wrong",
        "".join(traceback.format_exception(last)[-3:]),
    ]
    try:
        found = reference(load(small.text), small.arguments())
        lines += ["--- IR", print_kernel(found.kernel)]
    except Exception as trouble:
        lines += [f"no IR: {trouble}"]
    return AssertionError("\n".join(lines))


def _code(problem: Exception) -> str:
    return problem.diagnostics[0].code if isinstance(problem, KgenError) else ""


# --- shrinking --------------------------------------------------------------------------------------


def shrink(call: Call, fails: Callable[[Call], bool], limit: int = 150) -> Call:
    """Greedily smaller calls for as long as they fail."""
    tries = 0
    again = True
    while again and tries < limit:
        again = False
        for candidate in _smaller(call):
            tries += 1
            if tries > limit:
                break
            if fails(candidate):
                call, again = candidate, True
                break
    return call


def _smaller(call: Call) -> Iterator[Call]:
    for i in range(len(call.statements)):
        rest = call.statements[:i] + call.statements[i + 1 :]
        name = call.statements[i].name
        if rest and not any(name in s.node.text for s in rest):
            yield _tidy(replace(call, statements=rest), call)
    if call.outs is not None:
        yield replace(call, outs=None)
    lets = {s.name: s.node for s in call.statements if s.is_let}
    for i, statement in enumerate(call.statements):
        for node in _simpler(statement.node, lets):
            changed = Statement(statement.name, node, statement.is_let, statement.declared)
            yield _tidy(replace(call, statements=(*call.statements[:i], changed, *call.statements[i + 1 :])), call)
        if statement.declared is not None:
            changed = Statement(statement.name, statement.node, statement.is_let)
            yield replace(call, statements=(*call.statements[:i], changed, *call.statements[i + 1 :]))
    for name, recipe in call.inputs.items():
        if isinstance(recipe, Recipe):
            for other in _plainer(recipe):
                yield replace(call, inputs={**call.inputs, name: other})
    yield from _one_element(call)


def _tidy(call: Call, before: Call) -> Call:
    """Without arguments that nothing reads, and without ``out=`` for outputs that are gone."""
    text = "\n".join(s.text for s in call.statements)
    inputs = {n: v for n, v in call.inputs.items() if n in text}
    if call.shape is None and not any(isinstance(v, Recipe) for v in inputs.values()):
        inputs = call.inputs
    outs = call.outs
    if outs is not None:
        names = [s.name for s in before.statements if not s.is_let and s.name not in before.inout]
        left = {s.name for s in call.statements}
        kept = [o for n, o in zip(names, outs, strict=True) if n in left]
        outs = tuple(None if isinstance(o, str) and o not in inputs else o for o in kept) or None
    defs = tuple(d for d in call.defs if d.split("(")[0].removeprefix("def ") + "(" in text)
    params = tuple(p for p in call.params if p[1] in text)
    inout = tuple(n for n in call.inout if n in inputs and any(s.name == n for s in call.statements))
    return replace(call, inputs=inputs, outs=outs, defs=defs, params=params, inout=inout)


def _simpler(node: Node, lets: dict[str, Node]) -> Iterator[Node]:
    """A part of the expression in place of the whole, outermost first; a let's value in place of its name."""
    yield from node.args
    if node.form in lets and not node.args:
        yield lets[node.form]
    for i, arg in enumerate(node.args):
        for smaller in _simpler(arg, lets):
            yield replace(node, args=(*node.args[:i], smaller, *node.args[i + 1 :]))


def _plainer(recipe: Recipe) -> Iterator[Recipe]:
    plain = dense(recipe.dtype, recipe.shape, recipe.seed)
    if recipe.values is None and plain != recipe:
        yield plain
        yield replace(recipe, offset=0)
        yield replace(recipe, steps=plain.steps)
        yield replace(recipe, order=plain.order)


def _one_element(call: Call) -> Iterator[Call]:
    """Arrays of one element, one for each that was there."""
    arrays = {n: r for n, r in call.inputs.items() if isinstance(r, Recipe)}
    if (
        call.outs is not None
        or "[" in call.text
        or all(r.values is not None or not np.prod(r.shape) for r in arrays.values())
    ):
        return
    built = call.arguments().inputs
    shape = np.broadcast_shapes(*(r.shape for r in arrays.values()))
    for flat in range(min(int(np.prod(shape)), 60)):
        where = np.unravel_index(flat, shape)
        inputs: dict[str, Any] = dict(call.inputs)
        for name, recipe in arrays.items():
            array = built[name]
            point = array[_within(array, tuple(int(i) for i in where))]
            inputs[name] = pinned(recipe, np.asarray(point).reshape((1,) * array.ndim))
        yield replace(call, inputs=inputs)
