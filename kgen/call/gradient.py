"""Gradients of programs: for each types of the arguments, the derived program as a kernel."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from kgen import pipeline
from kgen.argument_types import ArgType, WeakArg
from kgen.call.arguments import argument_hint
from kgen.call.derived import Compiled, Derived, check_fits, outline_of
from kgen.diagnostics import error
from kgen.dtypes import DType, Kind
from kgen.gradients.derive import Request, check_updates, derive, request_for
from kgen.ir.graph import Graph, Operand
from kgen.operands import Operands
from kgen.program import Argument, Output, Parameter, Program
from kgen.records import replace
from kgen.spec import Spec


class Gradient(Derived):
    """The gradients of a kernel's arguments: one program for each combination of types, ranks and extents of 1.

    It is called with the arguments of the kernel, and with the gradient of each output ``out`` as ``out_grad``.
    Outputs without one do not count; that of the only output of a program, a number, may be left out, and is 1.  It
    returns one array, or a tuple of several.

    Raises :class:`~kgen.KgenError`: ``no-derivative``, ``bad-wrt``, ``bad-cotangent``.
    """

    def __init__(self, of: Compiled | Derived, wrt: str | Sequence[str] | None) -> None:
        self.wrt = None if wrt is None else (wrt,) if isinstance(wrt, str) else tuple(wrt)
        given = outline_of(of)
        arguments = [*(a.name for a in given.arguments), *(p.name for p in given.parameters)]
        _check_wrt(self.wrt or (), arguments, {})
        self._names = request_for(arguments, [o.name for o in given.outputs], self.wrt or arguments)
        span = given.outputs[0].span if given.outputs else given.arguments[0].span
        added = [Argument(name, "input", None, span) for name in self._names.cotangents.values()]
        outputs = tuple(Output(name, None, span) for name in self._names.results.values())
        outline = replace(given, arguments=(*given.arguments, *added), outputs=outputs, statements=(), lints=())
        super().__init__(of, f"{of.name}_grad", outline, self._names.cotangents.values())

    @property
    def cotangents(self) -> Mapping[str, str]:
        """By output of the kernel, the input that is its gradient."""
        return self._names.cotangents

    def _derive(self, origin: Program, before: Mapping[str, ArgType], types: Mapping[str, ArgType]) -> str:
        given = [output for output, name in self.cotangents.items() if name in types]
        request = self.request(origin, before, given)
        return derive(origin, as_floats(before, list(request.results)), request)

    def request(self, origin: Program, before: Mapping[str, ArgType], outputs: Collection[str]) -> Request:
        """What to derive, where the gradients of these outputs are given.  ``before``: the types of the arguments."""
        wrt = _differentiable(origin, before) if self.wrt is None else self._checked(before)
        cotangents = {output: name for output, name in self.cotangents.items() if output in outputs}
        results = {name: self._names.results[name] for name in wrt}
        return Request(cotangents, results, tuple(self.cotangents.values()))

    def _checked(self, types: Mapping[str, ArgType]) -> Sequence[str]:
        """``wrt=``, of these types.  Raises :class:`~kgen.KgenError` (``bad-wrt``)."""
        wrt = self.wrt or ()
        _check_wrt(wrt, list(types), types)
        return wrt

    def _check(self, given: Mapping[str, Any], types: Mapping[str, ArgType]) -> None:
        self.check_cotangents(
            {name: given[name] for name in self.cotangents.values() if name in given}, self.specs(given)
        )

    def check_cotangents(self, given: Mapping[str, Any], specs: Mapping[str, Spec]) -> None:
        """Check the gradients of outputs.  ``specs``: the outputs that have one.

        Raises :class:`~kgen.KgenError`: ``bad-cotangent``, ``missing-argument`` where none is given.
        """
        own = self.cotangents
        types = self.types(given)
        for output, name in own.items():
            if name in given:
                _check_cotangent(name, types[name], output, specs.get(output))
        if given.keys().isdisjoint(own.values()) and (len(specs) > 1 or next(iter(specs.values())).shape):
            hint = f"pass {own[next(iter(specs))]}=, an array like `{next(iter(specs))}`"
            raise error("missing-argument", "the gradients of the outputs are not given", hint)


def gradient_text(program: Program, operands: Operands, wrt: Sequence[str] | None) -> str:
    """The program of the gradients for these operands, of which those of all outputs of floats are inputs.

    Raises :class:`~kgen.KgenError`: ``bad-wrt``, ``no-derivative``, and what typing raises.
    """
    check_updates(program)
    request = request_of(program, operands, wrt)
    return derive(program, as_floats(operands.types, list(request.results)), request)


def request_of(program: Program, operands: Operands, wrt: Sequence[str] | None) -> Request:
    """What to derive for these operands, with the gradients of all outputs of floats.

    Raises :class:`~kgen.KgenError`: ``bad-wrt``, ``no-derivative``, and what typing raises.
    """
    types = operands.types
    outputs = own_outputs(pipeline.ir_after(program, operands, "check"))
    floats = [o.name for o in outputs if o.dtype.kind >= Kind.FLOAT]
    if not floats:
        raise error("no-derivative", "the program returns no floats", "only outputs of floats have gradients")
    chosen = _differentiable(program, types) if wrt is None else wrt
    _check_wrt(chosen, list(types), types)
    return request_for(list(types), floats, chosen)


def own_outputs(graph: Graph) -> list[Operand]:
    """The outputs of a program, without the parts of them that statements store to."""
    return [o for o in graph.operands if o.role == "output" and o.view is None]


def _check_wrt(wrt: Sequence[str], arguments: Sequence[str], types: Mapping[str, ArgType]) -> None:
    """Raises :class:`~kgen.KgenError` (``bad-wrt``) for what is no argument, or one of integers.

    ``types``: of the arguments, as far as they are known.
    """
    for name in wrt:
        if name not in arguments:
            raise error("bad-wrt", f"`{name}` is no argument of the program", argument_hint(str(name), arguments))
        dtype = _dtype(types[name]) if name in types else None
        if dtype is not None and dtype.kind < Kind.FLOAT:
            raise error("bad-wrt", f"`{name}` is {dtype}, which has no gradient", "leave it out of wrt=")


def _check_cotangent(name: str, type: ArgType, output: str, spec: Spec | None) -> None:
    if spec is None:
        hint = "leave it out; only outputs of floats and complex numbers have gradients"
        raise error("bad-cotangent", f"`{output}` has no gradient, and `{name}` is given", hint)
    check_fits(name, type, output, spec.shape, spec.dtype, "gradient")


def _dtype(type: ArgType) -> DType | None:
    return None if isinstance(type, WeakArg) else type.dtype


def _differentiable(program: Program, types: Mapping[str, ArgType]) -> list[str]:
    """The inputs of floats or complex numbers, and the params that are not declared as something else."""
    inputs = [a.name for a in program.arguments if is_differentiable(types[a.name])]
    return inputs + [p.name for p in program.parameters if _is_float(p)]


def is_differentiable(type: ArgType) -> bool:
    kind = type.kind if isinstance(type, WeakArg) else type.dtype.kind
    return kind >= Kind.FLOAT


def _is_float(parameter: Parameter) -> bool:
    if parameter.dtype is not None:
        return parameter.dtype.kind >= Kind.FLOAT
    return parameter.default is None or isinstance(parameter.default, float | complex)


def as_floats(types: Mapping[str, ArgType], wrt: Sequence[str]) -> dict[str, ArgType]:
    """The types with whole numbers that stand for floats as these."""
    return {
        name: WeakArg(max(type.kind, Kind.FLOAT)) if name in wrt and isinstance(type, WeakArg) else type
        for name, type in types.items()
    }
