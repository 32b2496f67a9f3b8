"""A C++ source with the calling convention of TVM-FFI: it needs the C headers of ``apache-tvm-ffi`` alone."""

from __future__ import annotations

from collections.abc import Iterator

from kgen.bindings.context import Binding, rendered
from kgen.records import dataclass


@dataclass(frozen=True)
class Value:
    """A scalar argument: its number, counting from 0, its type in C, and which function of the template reads it."""

    number: int
    type: str
    name: str

    @property
    def read(self) -> str:
        return "read_float" if self.type == "double" else "read_integer"

    @property
    def argument(self) -> str:
        return self.name.removesuffix("_value")

    @property
    def kind(self) -> str:
        return "a float" if self.type == "double" else "an integer"


@dataclass(frozen=True)
class Context:
    """What the template sees."""

    binding: Binding

    @property
    def namespace(self) -> str:
        return f"kgen_{self.binding.base}_tvm_ffi"

    @property
    def arrays(self) -> list[str]:
        return [a.name for a in self.binding.interface.arrays]

    @property
    def values(self) -> list[Value]:
        return list(_values(self.binding))

    @property
    def signature(self) -> str:
        """The arguments, in the order of a call."""
        return ", ".join([*self.arrays, *(value.argument for value in self.values)])

    def reads(self, function: str) -> bool:
        return any(value.read == function for value in self.values)


def tvm_ffi_source(binding: Binding) -> str:
    return rendered("tvm_ffi.cpp", binding, Context(binding))


def _values(binding: Binding) -> Iterator[Value]:
    number = len(binding.interface.arrays)
    for scalar in binding.interface.scalars:
        for declaration in scalar.declarations:
            type_, _, name = declaration.rpartition(" ")
            yield Value(number, type_, name)
            number += 1
