"""Kernels of derivatives: for each types of the arguments, the derived program as a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from kgen.argument_types import ArgType, ArrayArg, WeakArg
from kgen.call.arguments import ScalarValue, bind, describe, operands_of
from kgen.diagnostics import error, public
from kgen.dtypes import DType, Kind
from kgen.gradients.derive import check_updates
from kgen.load import load
from kgen.program import Program
from kgen.records import replace
from kgen.spec import Spec

_Value = TypeVar("_Value")

_MOST_CALLS = 1024  # then the cache is cleared


class Compiled(Protocol):
    """A kernel, as far as its derivatives need one."""

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


class Derived(ABC):
    """One derived program for each combination of types, ranks and extents of 1 of its arguments.

    ``outline``: the arguments and outputs that such a program may have; its statements depend on the types.
    ``added``: the arguments that the derivative has beside those of ``of``; each may be left out of a call.
    """

    def __init__(self, of: Compiled | Derived, name: str, outline: Program, added: Collection[str]) -> None:
        self.of = of
        self.name = name
        self.outline = outline
        self._added = frozenset(added)
        self.optional: frozenset[str] = self._added | (of.optional if isinstance(of, Derived) else frozenset())
        self._programs: dict[object, Program] = {}
        self._kernels: dict[object, Any] = {}  # by the text of their programs
        self._calls: dict[object, Any] = {}
        self._fast_calls: Sequence[Callable[..., Any]] = ()  # of the kernel of the last call: they know their arguments

    def __getstate__(self) -> dict[str, Any]:
        """Without kernels and their fast paths, which a copy makes again."""
        return {**self.__dict__, "_programs": {}, "_kernels": {}, "_calls": {}, "_fast_calls": ()}

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the array arguments: the kernel's, then those that the derivative adds."""
        return tuple(a.name for a in self.outline.arguments)

    @property
    def params(self) -> tuple[str, ...]:
        """The names of the by-value parameters."""
        return tuple(p.name for p in self.outline.parameters)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the results; those that these types have none for are left out of a call."""
        return tuple(o.name for o in self.outline.outputs)

    def __repr__(self) -> str:
        arguments, results = ", ".join([*self.inputs, *self.params]), ", ".join(self.outputs)
        return f"<kgen {type(self).__name__.lower()} {self.name}({arguments}) -> {results}>"

    def __call__(self, /, *args: Any, **named: Any) -> Any:
        """One array, or a tuple of several.

        Takes the arguments of the kernel, by position or name, what the derivative adds to them, and ``out=`` and
        ``stream=`` as every kernel.  Raises :class:`~kgen.KgenError`, also ``no-derivative``.
        """
        if not named:
            for fast_call in self._fast_calls:
                result = fast_call(args, None, None, named)
                if result is not NotImplemented:
                    return result
        key = (*map(key_of, args), *((n, key_of(v)) for n, v in named.items() if n not in ("out", "stream")))
        found = self._calls.get(key)
        if found is None:
            found = self.kernel(*args, **{n: v for n, v in named.items() if n not in ("out", "stream")})
            if len(self._calls) >= _MOST_CALLS:
                self._calls.clear()
            self._calls[key] = found
        self._fast_calls = found._fast_calls
        return found(*args, **named)

    @public
    def kernel(self, /, *args: Any, **named: Any) -> Any:
        """The kernel for arguments of these types (or specs), with ``source``, ``explain``, ``plan`` and ``meta``."""
        given = self._bound(args, named)
        self._check(given, self.types(given))
        program = self.program_for(self.types(given))
        return self._kernel_of(program)

    @public
    def text(self, /, *args: Any, **named: Any) -> str:
        """The derived program, for arguments of these types, arrays or specs."""
        text: str = self.kernel(*args, **named).program.source.text
        return text

    def program_for(self, types: Mapping[str, ArgType]) -> Program:
        """The derived program for arguments of these types; optional ones that are not given have no entry."""
        key = tuple((name, _class(type)) for name, type in types.items())
        if key not in self._programs:
            before = self._kept(types)
            origin = self.of.program_for(before) if isinstance(self.of, Derived) else self.of.program
            self._programs[key] = load(self._derive(origin, before, types), f"<{self.name}>")
        return self._programs[key]

    @abstractmethod
    def _derive(self, origin: Program, before: Mapping[str, ArgType], types: Mapping[str, ArgType]) -> str:
        """The text for arguments of these types; ``before``: those of the program that it is derived from."""

    @abstractmethod
    def _check(self, given: Mapping[str, Any], types: Mapping[str, ArgType]) -> None:
        """Raises :class:`~kgen.KgenError` for arguments that do not fit each other."""

    def _kernel_of(self, program: Program) -> Any:
        text = program.source.text
        if text not in self._kernels:
            base = self.of
            while isinstance(base, Derived):
                base = base.of
            self._kernels[text] = base.derived(program, self.name)
        return self._kernels[text]

    def _bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name, without optional ones that are not given."""
        present = {*self.inputs[: len(args)], *named}
        kept = self._without({name for name in self.optional if name not in present})
        return bind(kept if len(args) <= len(kept.arguments) else self.outline, args, named)

    def types(self, given: Mapping[str, Any]) -> dict[str, ArgType]:
        """The types of arguments of the derived program, by name."""
        names = [*self.inputs, *self.params]
        values = describe(self._without({name for name in names if name not in given}), given)
        is_shaped = any(not isinstance(value, ScalarValue) for value in values.values())
        return operands_of(values, (), None if is_shaped else ()).types

    def _without(self, left_out: Collection[str]) -> Program:
        arguments = tuple(a for a in self.outline.arguments if a.name not in left_out)
        parameters = tuple(p for p in self.outline.parameters if p.name not in left_out)
        return replace(self.outline, arguments=arguments, parameters=parameters)

    def specs(self, given: Mapping[str, Any]) -> dict[str, Spec]:
        """Those outputs of the kernel that have gradients, for these arguments.

        Raises :class:`~kgen.KgenError` (``no-derivative``) where there is none.
        """
        before = self._kept(given)
        of = self.of.kernel(**before) if isinstance(self.of, Derived) else self.of
        found = of.meta(**before)
        named = zip(of.outputs, found if isinstance(found, tuple) else (found,), strict=True)
        specs = {output: spec for output, spec in named if spec.dtype.kind >= Kind.FLOAT}
        if not specs:
            hint = "only outputs of floats and complex numbers have gradients"
            raise error("no-derivative", f"the program returns no floats: {', '.join(of.outputs)}", hint)
        return specs

    def _kept(self, values: Mapping[str, _Value]) -> dict[str, _Value]:
        """Without the arguments that this derivative adds."""
        return {name: value for name, value in values.items() if name not in self._added}


def outline_of(of: Compiled | Derived) -> Program:
    """The arguments and outputs of what is differentiated.

    Raises :class:`~kgen.KgenError` (``no-derivative``) for a program that updates in place.
    """
    found = of.outline if isinstance(of, Derived) else of.program
    check_updates(found)
    return found


def check_fits(
    name: str, type: ArgType, like: str, shape: tuple[int | None, ...], dtype: DType | None, what: str
) -> None:
    """Check a derivative against the value that it is the derivative of.

    ``what``: ``gradient`` or ``tangent``; the error is ``bad-cotangent`` or ``bad-tangent``.
    """
    code = "bad-cotangent" if what == "gradient" else "bad-tangent"
    hint = f"the {what} of `{like}` has its shape {shape}" + ("" if dtype is None else f" and its dtype {dtype}")
    if isinstance(type, WeakArg):
        if shape:
            raise error(code, f"`{name}` is a number, and `{like}` has the shape {shape}", hint)
        return
    own = type.shape if isinstance(type, ArrayArg) else ()
    if own != shape:
        raise error(code, f"`{name}` has the shape {own}, and `{like}` {shape}", hint)
    if dtype is not None and type.dtype is not dtype:
        raise error(code, f"`{name}` is {type.dtype}, and `{like}` {dtype}", hint)


def key_of(value: Any) -> object:
    """What kernels are kept by: the class, dtype and shape of an argument."""
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    return type(value) if dtype is None or shape is None else (type(value), dtype, tuple(shape))


def _class(type: ArgType) -> object:
    if isinstance(type, ArrayArg):
        return type.dtype, tuple(n == 1 for n in type.shape)
    return type
