"""Tangents of programs: forward mode, as kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgen.argument_types import ArgType, ArrayArg, WeakArg
from kgen.call.derived import Compiled, Derived, check_fits, outline_of
from kgen.call.gradient import as_floats, is_differentiable
from kgen.diagnostics import error
from kgen.gradients.derive import derive_tangents, tangents_for
from kgen.program import Argument, Output, Parameter, Program
from kgen.records import replace


class Tangent(Derived):
    """How a kernel's outputs change along tangents of its arguments, which are called ``x_tangent`` for ``x``.

    Arguments without a tangent stay as they are.  ``values``: whether the outputs are returned, too, before their
    tangents.  Raises :class:`~kgen.KgenError`: ``no-derivative``, ``bad-tangent``.
    """

    def __init__(self, of: Compiled | Derived, values: bool) -> None:
        given = outline_of(of)
        arguments = [a.name for a in given.arguments]
        parameters = [p.name for p in given.parameters]
        self._names = tangents_for([*arguments, *parameters], [o.name for o in given.outputs], values)
        span = given.outputs[0].span if given.outputs else given.arguments[0].span
        own = self._names.tangents
        outline = replace(
            given,
            arguments=(*given.arguments, *(Argument(own[name], "input", None, span) for name in arguments)),
            parameters=(*given.parameters, *(Parameter(own[name], None, None, span) for name in parameters)),
            outputs=(
                *(given.outputs if values else ()),
                *(Output(name, None, span) for name in self._names.results.values()),
            ),
            statements=(),
            lints=(),
        )
        super().__init__(of, f"{of.name}_jvp", outline, own.values())

    @property
    def tangents(self) -> Mapping[str, str]:
        """By argument of the kernel, the one that is its tangent."""
        return self._names.tangents

    def _derive(self, origin: Program, before: Mapping[str, ArgType], types: Mapping[str, ArgType]) -> str:
        tangents = {own: name for own, name in self.tangents.items() if name in types}
        return derive_tangents(origin, as_floats(before, list(tangents)), replace(self._names, tangents=tangents))

    def _check(self, given: Mapping[str, Any], types: Mapping[str, ArgType]) -> None:
        """Check tangents against the arguments that they belong to.

        Raises :class:`~kgen.KgenError`: ``bad-tangent``, ``no-derivative``, ``missing-argument`` where none is given.
        """
        self.specs(given)
        names = {own: name for own, name in self.tangents.items() if name in given}
        for own, name in names.items():
            if own not in types:
                raise error("bad-tangent", f"`{own}` is not given, and `{name}` is", f"pass {own}=")
            type = types[own]
            if not is_differentiable(type) and not isinstance(type, WeakArg):
                hint = "leave it out; only floats and complex numbers have tangents"
                raise error("bad-tangent", f"`{own}` is {type.dtype}, and `{name}` is given", hint)
            shape = type.shape if isinstance(type, ArrayArg) else ()
            check_fits(name, types[name], own, shape, None if isinstance(type, WeakArg) else type.dtype, "tangent")
        if not names:
            floats = (own for own in self.tangents if own in types and is_differentiable(types[own]))
            some = next(floats, next(iter(self.tangents)))
            hint = f"pass {self.tangents[some]}=, an array like `{some}`"
            raise error("missing-argument", "the tangents of the arguments are not given", hint)
