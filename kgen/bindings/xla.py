"""A primitive of JAX: a C++ source with an XLA FFI handler, and the Python function that calls it."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from kgen.bindings.context import Binding, rendered
from kgen.bindings.results import Result, python_shape, results_of
from kgen.dtypes import DType
from kgen.launcher.interface import ArrayParameter, dtype_constant
from kgen.records import dataclass

_ATTRIBUTES = {"double": "float64", "int64_t": "int64", "uint64_t": "uint64", "int": "bool_"}  #: NumPy's types


@dataclass(frozen=True)
class Attribute:
    """A scalar as XLA passes it: ``name`` in a call, the type and name of the variable, and its value in Python."""

    name: str
    type: str
    variable: str
    python: str


@dataclass(frozen=True)
class Context:
    """What the templates see.  JAX's arrays are immutable, so arrays that are updated in place are results, too."""

    binding: Binding

    @property
    def space(self) -> str:
        """The C++ namespace."""
        return f"kgen_{self.binding.base}_xla"

    @cached_property
    def made(self) -> tuple[Result, ...]:
        return results_of(self.binding.sets[0], self.binding.interface, "xla")

    @property
    def inputs(self) -> list[ArrayParameter]:
        return [a for a in self.binding.interface.arrays if a.of.role != "output"]

    @property
    def updated(self) -> list[ArrayParameter]:
        return [a for a in self.inputs if a.is_written]

    @property
    def results(self) -> list[ArrayParameter]:
        return [a for a in self.binding.interface.arrays if a.is_written]

    @property
    def attributes(self) -> list[Attribute]:
        found: list[Attribute] = []
        for scalar in self.binding.interface.scalars:
            name = _safe(scalar.name)
            parts = [name] if len(scalar.declarations) == 1 else [f"{name}.real", f"{name}.imag"]
            for declaration, part in zip(scalar.declarations, parts, strict=True):
                type_, _, variable = declaration.rpartition(" ")
                value = f"np.{_ATTRIBUTES[type_]}({part})"
                shown = "bool" if type_ == "int" else type_
                found.append(Attribute(variable.removesuffix("_value"), shown, variable, value))
        return found

    @property
    def parameters(self) -> list[str]:
        """Of the handler."""
        scratch = ["ffi::ScratchAllocator scratch"] if self.binding.has_buffers else []
        given = [f"ffi::AnyBuffer {a.name}_buffer" for a in self.inputs]
        results = [f"ffi::Result<ffi::AnyBuffer> {a.name}_result" for a in self.results]
        scalars = [f"{a.type} {a.variable}" for a in self.attributes]
        return ["CUstream_st* stream", *scratch, *given, *results, *scalars]

    @property
    def bound(self) -> list[str]:
        """The same, as XLA is told."""
        scratch = ["Ctx<ffi::ScratchAllocator>()"] if self.binding.has_buffers else []
        buffers = [*(["Arg<ffi::AnyBuffer>()"] * len(self.inputs)), *(["Ret<ffi::AnyBuffer>()"] * len(self.results))]
        scalars = [f'Attr<{a.type}>("{a.name}")' for a in self.attributes]
        return ["Ctx<ffi::PlatformStream<CUstream_st*>>()", *scratch, *buffers, *scalars]

    @property
    def dtypes(self) -> list[tuple[str, str]]:
        """XLA's and the launcher's names of every dtype of an array."""
        found = dict.fromkeys(a.of.dtype for i in self.binding.interfaces for a in i.arrays)
        return [(_xla_name(t), dtype_constant(t)) for t in found]

    @property
    def buffer_of(self) -> list[tuple[str, str]]:
        """Each array of the launcher, and the buffer that it is in."""
        return [
            (a.argument, f"*{a.name}_result" if a.is_written else f"{a.name}_buffer")
            for a in self.binding.interface.arrays
        ]

    @property
    def names(self) -> list[str]:
        return [_safe(a.name) for a in self.inputs]

    @property
    def signature(self) -> str:
        """The parameters of the Python function."""
        given = [f"{name}: jax.typing.ArrayLike" for name in self.names]
        scalars = [self._parameter(s.name, s.of.dtype) for s in self.binding.interface.scalars]
        return ", ".join([*given, *(["*", *scalars] if scalars else [])])

    def _parameter(self, name: str, dtype: DType) -> str:
        kind: Any = complex if dtype.is_complex else float if dtype.is_float else bool if dtype.is_bool else int
        default = self.binding.defaults.get(name)
        return f"{_safe(name)}: {kind.__name__}" + ("" if default is None else f" = {kind(default)!r}")

    @property
    def python_dtypes(self) -> list[str]:
        """A row for each set: the dtypes of the arguments, and of the results."""
        rows: list[str] = []
        for interface in self.binding.interfaces:
            given = [a.of.dtype for a in interface.arrays if a.of.role != "output"]
            rows.append(f"{_tuple(given)}: {_tuple([a.of.dtype for a in interface.arrays if a.is_written])},")
        return rows

    @property
    def shapes(self) -> list[str]:
        """The shapes of the results in Python."""
        shapes = {r.place: self._shape(r) for r in self.made}
        places = [i for i, a in enumerate(self.binding.interface.arrays) if a.is_written]
        return [shapes.get(place) or f"arrays[{self.position(place)}].shape" for place in places]

    def _shape(self, result: Result) -> str:
        if result.broadcast:
            return f"jnp.broadcast_shapes({', '.join(f'arrays[{self.position(p)}].shape' for p in result.broadcast)})"
        return python_shape(result, self.position, "jnp")

    def position(self, place: int) -> int:
        """Of an array, among the arguments that are given."""
        return self.inputs.index(self.binding.interface.arrays[place])

    @property
    def aliases(self) -> str:
        pairs = [f"{self.inputs.index(a)}: {self.results.index(a)}" for a in self.updated]
        return f"{{{', '.join(pairs)}}}"

    @property
    def is_broadcast(self) -> bool:
        return any(r.broadcast for r in self.made) or not self.made

    @property
    def batched(self) -> str:
        """``vmap_method``: what broadcasts takes one more dimension; arrays that are updated need all of it."""
        return "sequential" if not self.is_broadcast else "broadcast_all" if self.updated else "expand_dims"


def xla_source(binding: Binding) -> str:
    return rendered("xla.cpp", binding, Context(binding))


def xla_python(binding: Binding) -> str:
    return rendered("xla.py", binding, Context(binding))


def _safe(name: str) -> str:
    """A name that Python takes, and the file does not use."""
    return f"{name}_" if keyword.iskeyword(name) or name in ("arrays", "dtypes", "jax", "jnp", "np") else name


def _tuple(dtypes: Sequence[DType]) -> str:
    return f"({', '.join(repr(t.name) for t in dtypes)}{',' if len(dtypes) == 1 else ''})".replace("'", '"')


def _xla_name(dtype: DType) -> str:
    """The name of ``xla::ffi::DataType``."""
    if dtype.is_bool:
        return "PRED"
    if dtype.is_complex:
        return f"C{dtype.bits}"
    if dtype.is_int:
        return f"{'S' if dtype.signed else 'U'}{dtype.bits}"
    if dtype.is_fp8:
        return f"F8{dtype.name.partition('_')[2].replace('_', '').upper()}"
    return f"{'B' if dtype.size == 2 and dtype.exponent == 8 else ''}F{dtype.bits}"
