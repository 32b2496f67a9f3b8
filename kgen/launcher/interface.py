"""The parameters of a launcher's C functions: the program's arrays, then its scalars."""

from __future__ import annotations

from functools import cached_property

from kgen.codegen.c_types import headers_of, register_type
from kgen.dtypes import DType, Kind
from kgen.ir.graph import Graph, Operand, Scalar
from kgen.records import dataclass


@dataclass(frozen=True)
class ArrayParameter:
    """An operand that a caller passes.  ``number``: counting from 1, as in error codes; ``operand``: in the graph."""

    number: int
    operand: int
    of: Operand

    @property
    def name(self) -> str:
        return self.of.name

    @property
    def declaration(self) -> str:
        return f"const kgen_array* {self.of.name}_array"

    @property
    def argument(self) -> str:
        return f"{self.of.name}_array"

    @property
    def is_written(self) -> bool:
        return self.of.role != "input"

    @property
    def use(self) -> str:
        return {"input": "read", "inout": "updated in place", "output": "written"}[self.of.role]


@dataclass(frozen=True)
class ScalarParameter:
    """A value that a caller passes as the widest type of its kind."""

    of: Scalar

    @property
    def name(self) -> str:
        return self.of.name

    @property
    def declarations(self) -> tuple[str, ...]:
        dtype, name = self.of.dtype, f"{self.of.name}_value"
        if dtype.kind is Kind.COMPLEX:
            return f"double {self.of.name}_real", f"double {self.of.name}_imag"
        widest = {Kind.BOOL: "int", Kind.FLOAT: "double", Kind.INT: "int64_t" if dtype.signed else "uint64_t"}
        return (f"{widest[dtype.kind]} {name}",)

    @property
    def arguments(self) -> tuple[str, ...]:
        return tuple(d.rpartition(" ")[2] for d in self.declarations)

    @property
    def converted(self) -> str:
        """The value as the kernels take it."""
        dtype = self.of.dtype
        type_, (first, *rest) = register_type(dtype), self.arguments
        if rest:
            part = register_type(dtype.real)
            return f"make_{type_}(({part}){first}, ({part}){rest[0]})"
        if dtype.is_bool:
            return f"{first} != 0"
        if dtype.is_narrow:
            return f"__double2{dtype.intrinsic}({first})" if dtype.intrinsic else f"{type_}({first})"
        return f"({type_}){first}"

    @property
    def comment(self) -> str:
        return f"{', '.join(self.arguments)}: {self.of.dtype}"


@dataclass(frozen=True)
class Interface:
    """``base``: the start of the functions' names."""

    base: str
    arrays: tuple[ArrayParameter, ...]
    scalars: tuple[ScalarParameter, ...]

    @staticmethod
    def of(base: str, graph: Graph) -> Interface:
        given = [(n, o) for n, o in enumerate(graph.operands) if o.role != "buffer" and o.view is None]
        arrays = tuple(ArrayParameter(i, n, o) for i, (n, o) in enumerate(given, 1))
        return Interface(base, arrays, tuple(map(ScalarParameter, graph.scalars)))

    @cached_property
    def array_declarations(self) -> list[str]:
        return [a.declaration for a in self.arrays]

    @cached_property
    def declarations(self) -> list[str]:
        """The parameters of the launcher; the last one is the stream."""
        scalars = [d for s in self.scalars for d in s.declarations]
        return [*self.array_declarations, *scalars, "void* workspace", "size_t workspace_bytes"]

    @cached_property
    def headers(self) -> list[str]:
        """The headers that declare the types of scalars."""
        return [h for s in self.scalars for h in headers_of(s.of.dtype)]


def dtype_constant(dtype: DType) -> str:
    """Its macro, a value of ``kgen_dtype``."""
    return f"KGEN_{dtype.name.upper()}"
