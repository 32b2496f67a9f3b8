"""The operands of a program without arrays: dtypes, shapes and layouts from flags of the command line, or keywords."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from kgen.argument_types import ArgType, ArrayArg, ScalarArg, WeakArg
from kgen.check.values import kind_of
from kgen.diagnostics import error
from kgen.dtypes import FLOAT32, DType, Kind
from kgen.operands import Argument, ArrayOperand, Extent, Operands
from kgen.program import Parameter, Program
from kgen.records import dataclass, replace
from kgen.spec import as_dtype

Shapes = Mapping[str, tuple[Extent, ...]]


@dataclass(frozen=True, slots=True)
class CompileSpec:
    """``dtypes``: one for all inputs, or by name (default float32).

    With ``shapes`` (the key ``""``: of a program without array inputs) there is one kernel for each step, for
    C-contiguous operands or those with ``strides`` (in elements).  Without, there are the kernels for the class
    ``layout``, up to ``rank`` merged dimensions.  ``scalars``: the kinds of Python scalars that are passed for inputs
    and untyped params.  ``arch``: the oldest architecture that the file has to run on (None: any).  ``tuning``: the
    number of the table by which schedules are chosen (:mod:`kgen.schedule.tables`).
    """

    dtypes: Any = None
    shapes: Shapes = field(default_factory=dict)
    strides: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    scalars: Mapping[str, Kind] = field(default_factory=dict)
    layout: str = "any"
    rank: int = 4
    arch: str | None = None
    tuning: int = 0

    def operands(self, program: Program) -> Operands:
        """Raises :class:`~kgen.KgenError`: ``unknown-argument``, ``unknown-dtype``."""
        dtypes = self._dtypes(program)
        found: dict[str, Argument] = {}
        for argument in program.arguments:
            name = argument.name
            if name in self.scalars:
                found[name] = WeakArg(self.scalars[name])
            else:
                found[name] = ArrayOperand(dtypes[name], tuple(self.shapes.get(name, (None,))), self.strides.get(name))
        for parameter in program.parameters:
            if parameter.dtype is not None:
                found[parameter.name] = ScalarArg(parameter.dtype)
            else:
                found[parameter.name] = WeakArg(self.scalars.get(parameter.name, _default_kind(parameter)))
        return Operands(found, shape=tuple(self.shapes.get("", ())))

    def left_out(self, operands: Operands) -> list[str]:
        """The names of the arrays that ``shapes`` has not."""
        return [n for n, a in operands.arguments.items() if isinstance(a, ArrayOperand) and n not in self.shapes]

    def _dtypes(self, program: Program) -> dict[str, DType]:
        """By name, for every input that is an array."""
        arrays = {a.name: a for a in program.arguments if a.name not in self.scalars}
        dtypes = self.dtypes
        if isinstance(dtypes, Mapping):
            unknown = [n for n in dtypes if n not in arrays]
            if unknown:
                known = ", ".join(arrays) or "none"
                raise error("unknown-argument", f"no input is called `{unknown[0]}`", f"the inputs are {known}")
            given = {n: as_dtype(t) for n, t in dtypes.items()}
        else:
            given = {} if dtypes is None else {a.name: a.dtype or as_dtype(dtypes) for a in program.arguments}
        return {name: given.get(name) or a.dtype or FLOAT32 for name, a in arrays.items()}

    def with_explicit_dtypes(self, program: Program, types: Mapping[str, ArgType]) -> CompileSpec:
        """The same with every dtype by name, and the kinds of scalars that differ from the defaults."""
        assumed = {p.name: _default_kind(p) for p in program.parameters}
        kinds = {n: t.kind for n, t in types.items() if isinstance(t, WeakArg) and t.kind != assumed.get(n)}
        arrays = {n: t.dtype for n, t in types.items() if isinstance(t, ArrayArg)}
        return replace(self, dtypes=arrays, scalars=kinds)


def _default_kind(parameter: Parameter) -> Kind:
    return Kind.FLOAT if parameter.default is None else kind_of(parameter.default)
