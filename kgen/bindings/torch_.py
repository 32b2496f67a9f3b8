"""A torch operator: a C++ source against libtorch's stable ABI, and a Python file with what needs no kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from kgen.bindings.context import Binding, rendered
from kgen.bindings.results import Known, Result, known, python_shape, results_of
from kgen.diagnostics import error
from kgen.dtypes import DType, Kind
from kgen.launcher.interface import ArrayParameter, ScalarParameter, dtype_constant
from kgen.records import dataclass

_SCALARS = {Kind.BOOL: (bool, "bool"), Kind.INT: (int, "int64_t"), Kind.FLOAT: (float, "double")}
_SIGNED = {1: "Char", 2: "Short", 4: "Int", 8: "Long"}  #: integers of torch, by bytes
_FLOATS = {4: "Float", 8: "Double"}


@dataclass(frozen=True)
class Context:
    """What the templates see."""

    binding: Binding

    @property
    def space(self) -> str:
        """The C++ namespace."""
        return f"kgen_{self.binding.base}_torch"

    @cached_property
    def results(self) -> tuple[Result, ...]:
        return results_of(self.binding.sets[0], self.binding.interface, "torch")

    @property
    def inputs(self) -> list[ArrayParameter]:
        return [a for a in self.binding.interface.arrays if a.of.role != "output"]

    @property
    def updated(self) -> list[int]:
        """The inputs that are updated in place: torch counts the versions of tensors that autograd might need."""
        return [i for i, a in enumerate(self.inputs) if a.is_written]

    @property
    def tensors(self) -> list[str]:
        return [_tensor(a) for a in self.inputs]

    @property
    def scalars(self) -> list[str]:
        """The declarations of scalars, as torch passes them."""
        return [f"{_scalar(s)[1]} {s.arguments[0]}" for s in self.binding.interface.scalars]

    @property
    def parameters(self) -> list[str]:
        return [*(f"const Tensor& {name}" for name in self.tensors), *self.scalars]

    @property
    def returned(self) -> str:
        """The type of the results."""
        types = ["Tensor"] * len(self.results)
        return "void" if not types else types[0] if len(types) == 1 else f"std::tuple<{', '.join(types)}>"

    @property
    def dtypes(self) -> list[str]:
        """For each set the dtype of every array, as torch and as the launcher call it."""
        return [",\n     ".join(map(_dtype, interface.arrays)) for interface in self.binding.interfaces]

    @property
    def python_dtypes(self) -> list[str]:
        """A row for each set: the dtypes of the arguments, and of the results."""
        rows: list[str] = []
        for interface in self.binding.interfaces:
            given = [a.of.dtype for a in interface.arrays if a.of.role != "output"]
            made = [interface.arrays[r.place].of.dtype for r in self.results]
            rows.append(f"{_tuple(given)}: {_tuple(made)},")
        return rows

    @property
    def schema(self) -> str:
        """``(Tensor x, Tensor(a1!) p, *, float a=2.0) -> Tensor``."""
        mutable = {True: "Tensor(a{}!) {}", False: "Tensor {1}"}
        given = [mutable[a.of.role == "inout"].format(i, a.name) for i, a in enumerate(self.inputs)]
        scalars = [self._param(s) for s in self.binding.interface.scalars]
        types = ["Tensor"] * len(self.results)
        returned = types[0] if len(types) == 1 else f"({', '.join(types)})"
        return f"({', '.join([*given, *(['*', *scalars] if scalars else [])])}) -> {returned}"

    def _param(self, scalar: ScalarParameter) -> str:
        type_ = _scalar(scalar)[0]
        default = self.binding.defaults.get(scalar.name)
        return f"{type_.__name__} {scalar.name}" + ("" if default is None else f"={type_(default)}")

    def shape(self, result: Result) -> str:
        """Its shape in C++."""
        if result.broadcast:
            return f"broadcast({{{self.references(result.broadcast)}}})"
        if result.around is None:
            return self._extents(known(result.extents))
        before, batch, behind = result.around
        whole = f"broadcast({{{self.references(batch.places)}}})"
        return f"with_batch({self._extents(before)}, {whole}, {batch.first}, {batch.last}, {self._extents(behind)})"

    def _extents(self, extents: Sequence[Known]) -> str:
        return f"{{{', '.join(str(e) if isinstance(e, int) else self._extent(*e) for e in extents)}}}"

    def _extent(self, place: int, axis: int) -> str:
        tensor = _tensor(self.binding.interface.arrays[place])
        return f"{tensor}.size({axis if axis >= 0 else f'{tensor}.dim() - {-axis}'})"

    def references(self, places: Sequence[int]) -> str:
        return ", ".join(f"&{_tensor(self.binding.interface.arrays[place])}" for place in places)

    @property
    def python_results(self) -> list[str]:
        """The lines that make the results without values."""
        made = [self._python_result(r, f"dtypes[{i}]") for i, r in enumerate(self.results)]
        if len(made) == 1:
            return [f"return {made[0]}"]
        names = [f"result{i}" for i in range(1, len(made) + 1)]
        return [*(f"{name} = {one}" for name, one in zip(names, made, strict=True)), f"return {', '.join(names)}"]

    def _python_result(self, result: Result, dtype: str) -> str:
        if result.broadcast:
            arrays = [f"arrays[{self.position(place)}]" for place in result.broadcast]
            shape = f"torch.broadcast_shapes({', '.join(f'{array}.shape' for array in arrays)})"
            return f"_result({shape}, {dtype}, {', '.join(arrays)})"
        return f"arrays[0].new_empty({python_shape(result, self.position, 'torch')}, dtype={dtype})"

    def position(self, place: int) -> int:
        """Of an array, among the arguments that are given."""
        return self.inputs.index(self.binding.interface.arrays[place])

    @property
    def is_broadcast(self) -> bool:
        return any(r.broadcast for r in self.results)

    @property
    def has_batch(self) -> bool:
        return any(r.around for r in self.results)


def torch_source(binding: Binding) -> str:
    return rendered("torch.cpp", binding, Context(binding))


def torch_python(binding: Binding) -> str:
    return rendered("torch.py", binding, Context(binding))


def _tensor(array: ArrayParameter) -> str:
    return f"{array.name}_tensor"


def _dtype(array: ArrayParameter) -> str:
    return f"{{ScalarType::{_scalar_type(array.of.dtype)}, {dtype_constant(array.of.dtype)}}}"


def _tuple(dtypes: Sequence[DType]) -> str:
    return f"({', '.join(f'torch.{t.name}' for t in dtypes)}{',' if len(dtypes) == 1 else ''})"


def _scalar(scalar: ScalarParameter) -> tuple[type, str]:
    found = _SCALARS.get(scalar.of.dtype.kind)
    if found is None:
        hint = "declare it as a float, an integer or a bool, or make it an input"
        raise error("no-binding", f"torch operators have no complex params, and `{scalar.name}` is one", hint)
    return found


def _scalar_type(dtype: DType) -> str:
    """The name of ``torch::headeronly::ScalarType``."""
    if dtype.is_bool:
        return "Bool"
    if dtype.is_complex:
        return f"Complex{_FLOATS[dtype.real.size]}"
    if dtype.is_int:
        return _SIGNED[dtype.size] if dtype.signed else "Byte" if dtype.size == 1 else f"UInt{dtype.bits}"
    if dtype.is_fp8:
        return dtype.name.capitalize()
    return _FLOATS.get(dtype.size) or ("Half" if dtype.exponent == 5 else "BFloat16")
