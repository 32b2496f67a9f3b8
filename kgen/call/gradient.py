"""Gradients of programs: for each types of the arguments, the derived program as a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from kgen import pipeline
from kgen.argument_types import ArgType, ArrayArg, WeakArg
from kgen.call.arguments import argument_hint, bind, describe, operands_of
from kgen.diagnostics import error, public
from kgen.dtypes import DType, Kind
from kgen.gradients.derive import Request, check_updates, derive, request_for
from kgen.load import load
from kgen.operands import Operands
from kgen.program import Argument, Output, Parameter, Program
from kgen.spec import Spec

_MOST_CALLS = 1024  # then the cache is cleared


class Compiled(Protocol):
    """A kernel, as far as its gradient needs one."""

    @property
    def program(self) -> Program: ...
    @property
    def name(self) -> str: ...
    @property
    def outputs(self) -> tuple[str, ...]: ...
    def __call__(self, /, *args: Any, **named: Any) -> Any: ...
    def meta(self, /, *args: Any, **named: Any) -> Spec | tuple[Spec, ...]: ...
    def derived(self, program: Program, name: str) -> Any:
        """A kernel of another program, with this one's options and device."""


class Gradient:
    """The gradients of a kernel's arguments: one program for each combination of types, ranks and extents of 1.

    It is called with the arguments of the kernel, and with the gradient of each output ``out`` as ``out_grad``.
    """

    def __init__(self, of: Compiled | Gradient, wrt: str | Sequence[str] | None) -> None:
        self.of = of
        self.wrt = None if wrt is None else (wrt,) if isinstance(wrt, str) else tuple(wrt)
        self.name: str = f"{of.name}_grad"
        outline = of.outline if isinstance(of, Gradient) else of.program
        check_updates(outline)
        arguments = [*(a.name for a in outline.arguments), *(p.name for p in outline.parameters)]
        _check_wrt(self.wrt or (), arguments, {})
        self._names = request_for(arguments, [o.name for o in outline.outputs], self.wrt or arguments)
        self.outline: Program = self._outline(outline)
        self._given = outline
        self._programs: dict[object, Program] = {}
        self._kernels: dict[object, Any] = {}  # by the text of their programs
        self._calls: dict[object, Any] = {}

    def _outline(self, given: Program) -> Program:
        """The arguments and the outputs that a program of gradients may have; its statements depend on the types."""
        span = given.outputs[0].span if given.outputs else given.arguments[0].span
        arguments = [Argument(name, "input", None, span) for name in self._names.cotangents.values()]
        outputs = [Output(name, None, span) for name in self._names.results.values()]
        return replace(given, arguments=(*given.arguments, *arguments), outputs=tuple(outputs), statements=(), lints=())

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the array arguments: the kernel's, then the gradients of its outputs."""
        return tuple(a.name for a in self.outline.arguments)

    @property
    def cotangents(self) -> Mapping[str, str]:
        """By output of the kernel, the input that is its gradient."""
        return self._names.cotangents

    @property
    def params(self) -> tuple[str, ...]:
        """The names of the by-value parameters."""
        return tuple(p.name for p in self.outline.parameters)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the gradients; without ``wrt=`` those of arguments of integers are left out of a call."""
        return tuple(o.name for o in self.outline.outputs)

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        """The gradients: one array, or a tuple of several.

        Takes the arguments of the kernel, by position or name, the gradient of each output as ``<output>_grad``, and
        ``out=`` and ``stream=`` as every kernel.  Outputs without a gradient do not count; that of the only output of a
        program, a number, may be left out, and is 1.

        Raises :class:`~kgen.KgenError`: ``no-derivative``, ``bad-wrt``, ``bad-cotangent``.
        """
        key = (*map(_key, args), *((n, _key(v)) for n, v in named.items() if n not in ("out", "stream")))
        found = self._calls.get(key)
        if found is None:
            found = self.kernel(*args, **{n: v for n, v in named.items() if n not in ("out", "stream")})
            if len(self._calls) >= _MOST_CALLS:
                self._calls.clear()
            self._calls[key] = found
        return found(*args, **named)

    @public
    def kernel(self, /, *args: Any, **named: Any) -> Any:
        """The kernel for arguments of these types (or specs), with ``source``, ``explain``, ``plan`` and ``meta``."""
        given = self._bound(args, named)
        self._check_cotangents(given)
        program = self.program_for(self._types(given))
        return self._kernel_of(program)

    @public
    def text(self, /, *args: Any, **named: Any) -> str:
        """The program of the gradients, for arguments of these types, arrays or specs."""
        text: str = self.kernel(*args, **named).program.source.text
        return text

    def program_for(self, types: Mapping[str, ArgType]) -> Program:
        """The program of the gradients for arguments of these types; outputs without a gradient have no entry."""
        key = tuple((name, _class(type)) for name, type in types.items())
        if key not in self._programs:
            own = self._names.cotangents
            cotangents = {output: name for output, name in own.items() if name in types}
            before = {name: type for name, type in types.items() if name not in own.values()}
            origin = self.of.program_for(before) if isinstance(self.of, Gradient) else self.of.program
            wrt = _differentiable(origin, before) if self.wrt is None else self._checked(before)
            request = Request(cotangents, {name: self._names.results[name] for name in wrt})
            self._programs[key] = load(derive(origin, _as_floats(before, wrt), request), f"<{self.name}>")
        return self._programs[key]

    def _kernel_of(self, program: Program) -> Any:
        text = program.source.text
        if text not in self._kernels:
            base = self.of
            while isinstance(base, Gradient):
                base = base.of
            self._kernels[text] = base.derived(program, self.name)
        return self._kernels[text]

    # --- arguments --------------------------------------------------------------------------------

    def _bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name, without gradients of outputs that are not given."""
        cotangents = self._names.cotangents.values()
        present = {*self.inputs[: len(args)], *named}
        kept = tuple(a for a in self.outline.arguments if a.name not in cotangents or a.name in present)
        if len(args) > len(kept):
            kept = self.outline.arguments
        return bind(replace(self.outline, arguments=kept), args, named)

    def _types(self, given: Mapping[str, Any]) -> dict[str, ArgType]:
        kept = tuple(a for a in self.outline.arguments if a.name in given)
        values = describe(replace(self.outline, arguments=kept), given)
        return operands_of(values, (), None).types

    def _checked(self, types: Mapping[str, ArgType]) -> Sequence[str]:
        """``wrt=``, of these types.  Raises :class:`~kgen.KgenError` (``bad-wrt``)."""
        wrt = self.wrt or ()
        _check_wrt(wrt, list(types), types)
        return wrt

    def _check_cotangents(self, given: Mapping[str, Any]) -> None:
        """Check the gradients of outputs against the outputs that these arguments give.

        Raises :class:`~kgen.KgenError`: ``bad-cotangent``, ``no-derivative``, ``missing-argument`` where none is given.
        """
        own = self._names.cotangents
        before = {name: value for name, value in given.items() if name not in own.values()}
        of = self.of.kernel(**before) if isinstance(self.of, Gradient) else self.of
        found = of.meta(**before)
        named = zip(of.outputs, found if isinstance(found, tuple) else (found,), strict=True)
        specs = {output: spec for output, spec in named if spec.dtype.kind >= Kind.FLOAT}
        if not specs:
            hint = "only outputs of floats and complex numbers have gradients"
            raise error("no-derivative", f"the program returns no floats: {', '.join(of.outputs)}", hint)
        types = self._types(given)
        for output in of.outputs:
            if own[output] in given:
                _check_cotangent(own[output], types[own[output]], output, specs.get(output))
        if given.keys().isdisjoint(own.values()) and (len(specs) > 1 or next(iter(specs.values())).shape):
            hint = f"pass {own[next(iter(specs))]}=, an array like `{next(iter(specs))}`"
            raise error("missing-argument", "the gradients of the outputs are not given", hint)


def gradient_text(program: Program, operands: Operands, wrt: Sequence[str] | None) -> str:
    """The program of the gradients for these operands, of which those of all outputs of floats are inputs.

    Raises :class:`~kgen.KgenError`: ``bad-wrt``, ``no-derivative``, and what typing raises.
    """
    check_updates(program)
    types = operands.types
    graph = pipeline.ir_after(program, operands, "check")
    outputs = [o.name for o in graph.operands if o.role == "output" and o.dtype.kind >= Kind.FLOAT]
    if not outputs:
        raise error("no-derivative", "the program returns no floats", "only outputs of floats have gradients")
    chosen = _differentiable(program, types) if wrt is None else wrt
    _check_wrt(chosen, list(types), types)
    return derive(program, _as_floats(types, chosen), request_for(list(types), outputs, chosen))


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
    hint = f"the gradient of `{output}` has its shape {spec.shape} and its dtype {spec.dtype}"
    if isinstance(type, WeakArg):
        if spec.shape:
            raise error("bad-cotangent", f"`{name}` is a number, and `{output}` has the shape {spec.shape}", hint)
        return
    shape = type.shape if isinstance(type, ArrayArg) else ()
    if shape != spec.shape:
        raise error("bad-cotangent", f"`{name}` has the shape {shape}, and `{output}` {spec.shape}", hint)
    if type.dtype is not spec.dtype:
        raise error("bad-cotangent", f"`{name}` is {type.dtype}, and `{output}` {spec.dtype}", hint)


def _key(value: Any) -> object:
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    return type(value) if dtype is None or shape is None else (type(value), dtype, tuple(shape))


def _class(type: ArgType) -> object:
    if isinstance(type, ArrayArg):
        return type.dtype, tuple(n == 1 for n in type.shape)
    return type


def _dtype(type: ArgType) -> DType | None:
    return None if isinstance(type, WeakArg) else type.dtype


def _differentiable(program: Program, types: Mapping[str, ArgType]) -> list[str]:
    """The inputs of floats or complex numbers, and the params that are not declared as something else."""
    inputs = [a.name for a in program.arguments if _is_differentiable(types[a.name])]
    return inputs + [p.name for p in program.parameters if _is_float(p)]


def _is_differentiable(type: ArgType) -> bool:
    kind = type.kind if isinstance(type, WeakArg) else type.dtype.kind
    return kind >= Kind.FLOAT


def _is_float(parameter: Parameter) -> bool:
    if parameter.dtype is not None:
        return parameter.dtype.kind >= Kind.FLOAT
    return parameter.default is None or isinstance(parameter.default, float | complex)


def _as_floats(types: Mapping[str, ArgType], wrt: Sequence[str]) -> dict[str, ArgType]:
    """The types with whole numbers that stand for floats as these."""
    return {
        name: WeakArg(max(type.kind, Kind.FLOAT)) if name in wrt and isinstance(type, WeakArg) else type
        for name, type in types.items()
    }
