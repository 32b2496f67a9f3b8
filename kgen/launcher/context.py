"""The typed data that the templates of a launcher see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import cached_property

from kgen.codegen import names
from kgen.codegen.c_types import register_type, storage_type
from kgen.codegen.kernels import Entry
from kgen.dtypes import DTYPES, DType
from kgen.launcher.bodies import BodyLaunch, body_launches
from kgen.launcher.interface import Interface, dtype_constant
from kgen.launcher.kernels import KernelLaunch
from kgen.partition.step import Step
from kgen.records import dataclass
from kgen.schedule.expressions import Name


def dtype_rows(dtypes: Iterable[DType] = DTYPES) -> list[tuple[str, int, int]]:
    """The name, the DLPack code and the bits of each dtype."""
    return [(dtype_constant(t).removeprefix("KGEN_"), t.dlpack, t.bits) for t in dtypes]


@dataclass(frozen=True)
class Member:
    """A member of the kernels' arguments, and its value in C."""

    declaration: str
    value: str


@dataclass(frozen=True)
class SharedLayout:
    """A layout struct that several kernels take.  ``strides``: its members, each with the number of its access."""

    name: str
    has_height: bool
    strides: tuple[tuple[str, int], ...]

    @staticmethod
    def of(entry: Entry) -> SharedLayout:
        values = {f.name: f.values[0] for f in entry.rule.struct}
        strides = tuple((n, v.indices[0]) for n, v in values.items() if isinstance(v, Name) and v.of == "strides")
        return SharedLayout(entry.layout_struct, "height" in values, strides)


@dataclass(frozen=True)
class Launcher:
    """What both kinds of launchers have.  ``ranks``: of each array, -1 where any will do.

    ``more``: what kernels take besides arrays and scalars: buffers, extents.  ``buffers``: the bytes of all buffers.
    ``numbers`` and ``sizing``: lines with what ``more`` and ``buffers`` need.  ``alignment``: arrays that are not
    at multiples of so many bytes may have to be copied to the workspace; 0 where kernels take any.
    """

    interface: Interface
    entries: tuple[Entry, ...]
    steps: tuple[Step, ...]
    kernels: tuple[KernelLaunch, ...]
    ranks: tuple[int, ...]
    more: tuple[Member, ...] = ()
    buffers: str = "0"
    numbers: Sequence[str] = ()
    sizing: Sequence[str] = ()
    alignment: int = 0

    @property
    def shared_layouts(self) -> list[SharedLayout]:
        """The layout structs that several kernels take."""
        return list({e.shared_layout: SharedLayout.of(e) for e in self.entries if e.shared_layout}.values())

    @property
    def bodies(self) -> list[BodyLaunch]:
        """The launches of kernels that share a function template."""
        return list(body_launches(self.entries, self.steps))

    @property
    def own_launches(self) -> list[KernelLaunch]:
        """Those of the other kernels."""
        return [k for k, e in zip(self.kernels, self.entries, strict=True) if not e.body]

    @property
    def choice_count(self) -> int:
        return len(self.steps)

    @property
    def has_scratch(self) -> bool:
        return any(k.scratch for k in self.kernels)

    @property
    def has_counters(self) -> bool:
        return any(part.is_counter for k in self.kernels for part in k.scratch)

    @property
    def zero(self) -> str:
        """The kernel that zeroes counters."""
        return f"{self.base}_zero"

    @property
    def copies(self) -> bool:
        """Whether it may copy arrays."""
        return self.alignment > 0

    @property
    def has_workspace(self) -> bool:
        return self.has_scratch or self.copies or self.buffers != "0"

    @property
    def after_buffers(self) -> str:
        """What to add to the start of the workspace for the start of scratch memory."""
        return "" if self.buffers == "0" else f" + {self.buffers}"

    @property
    def workspace_arguments(self) -> list[str]:
        """What the size of the workspace is computed from."""
        return [*(["arrays"] if self.sizing or self.copies else []), *(["choices"] if self.has_scratch else [])]

    @property
    def workspace_parameters(self) -> list[str]:
        types = {"arrays": "const Array*", "choices": "const Choice*"}
        return [f"{types[name]} {name}" for name in self.workspace_arguments]

    @property
    def base(self) -> str:
        return self.interface.base

    @property
    def namespace(self) -> str:
        return names.namespace(self.base)

    @property
    def accesses(self) -> int:
        return max(len(step.accesses) for step in self.steps)

    @property
    def given(self) -> list[str]:
        return [a.argument for a in self.interface.arrays]

    @property
    def operands(self) -> list[str]:
        """A row for each array: name, dtype, rank, whether it is written."""
        return [
            f'{{"{a.name}", {dtype_constant(a.of.dtype)}, {rank}, {"true" if a.is_written else "false"}}},'
            for a, rank in zip(self.interface.arrays, self.ranks, strict=True)
        ]

    @property
    def parameters(self) -> list[str]:
        """Those of the launcher; the workspace has no name where there is none."""
        found = self.interface.declarations
        if not self.has_workspace:
            found = [*found[:-2], "void* /* workspace */", "size_t /* workspace_bytes */"]
        return [*found, "cudaStream_t stream"]

    @property
    def sized(self) -> list[str]:
        """The parameters of the function for the size of the workspace."""
        return [*self.interface.array_declarations, "size_t* bytes"]

    @cached_property
    def members(self) -> list[str]:
        """What kernels take: addresses, scalars, extents, memory."""
        found = [f"{self._pointer(a.operand)};".rstrip(";") for a in self.interface.arrays if self._is_used(a.operand)]
        found += [f"{register_type(s.of.dtype)} {names.value(s.name)}" for s in self.interface.scalars]
        scratch = ["char* scratch"] if self.has_scratch else []
        return [*found, *(m.declaration for m in self.more), *scratch]

    @cached_property
    def values(self) -> list[str]:
        """The values of :attr:`members`."""
        found: list[str] = []
        for place, array in enumerate(self.interface.arrays):
            if self._is_used(array.operand):
                pointer = self._pointer(array.operand).rpartition(" ")[0]
                found.append(f"reinterpret_cast<{pointer}>(arrays[{place}].address)")
        found += [s.converted for s in self.interface.scalars]
        scratch = [f"memory{self.after_buffers}"] if self.has_scratch else []
        return [*found, *(m.value for m in self.more), *scratch]

    def _is_used(self, operand: int) -> bool:
        return any(operand in step.operands for step in self.steps)

    def _pointer(self, operand: int) -> str:
        """The declaration of an operand's address."""
        of = self.steps[0].graph.operands[operand]
        const = "const " if of.role == "input" else ""
        return f"{const}{storage_type(of.dtype)}* {names.pointer(of.name)}"


@dataclass(frozen=True)
class StepChoice:
    """How one step decides among its kernels.  ``options``: conditions in C, and the launch function of a kernel.
    ``shortest``: the least elements of a row.
    """

    name: str
    accesses: tuple[int, ...]
    written: int
    shortest: int
    aligned: tuple[str, ...]
    options: tuple[tuple[tuple[str, ...], str], ...]

    @property
    def choose(self) -> str:
        return f"choose_{self.name}"

    def uses(self, word: str) -> bool:
        return any(word in condition for conditions, _ in self.options for condition in conditions)


@dataclass(frozen=True)
class AnyLayoutLauncher(Launcher):
    """A launcher that decides by layouts that only a call knows."""

    choices: Sequence[StepChoice] = field(default=(), kw_only=True)

    template = "launcher/any_layout.cu.j2"
    headers = ("cuda_runtime.h", "stdio.h", "utility")


@dataclass(frozen=True)
class ClassContext:
    """A class of extents: its ``conditions``, and the choice for each step."""

    conditions: tuple[str, ...]
    choices: tuple[str, ...]


@dataclass(frozen=True)
class BatchAxis:
    """The ``axis`` of an array that stands for any number of dimensions, -1 for none; and the array's ``rank`` with it.

    ``may_be_one``: whether the array may have one row for all of a batch.
    """

    axis: int
    rank: int
    may_be_one: bool


@dataclass(frozen=True)
class ShapedLauncher(Launcher):
    """A launcher for certain shapes.  ``extents``: lines that read open ones.  ``layouts``: arguments of the checks.

    ``batches``: for arrays of any rank, the axis of each array that stands for merged dimensions.
    """

    extents: Sequence[str] = field(default=(), kw_only=True)
    layouts: Sequence[str] = field(default=(), kw_only=True)
    classes: Sequence[ClassContext] = field(default=(), kw_only=True)
    batches: Sequence[BatchAxis] = field(default=(), kw_only=True)

    template = "launcher/shaped.cu.j2"

    @property
    def headers(self) -> tuple[str, ...]:
        return "cuda_runtime.h", "stdio.h", *(["string.h"] if self.batches else []), "initializer_list"

    @property
    def empty(self) -> str:
        """The condition that there is nothing to compute."""
        found = [f"arrays[{i}].size == 0" for i, a in enumerate(self.interface.arrays) if a.is_written]
        return found[0] if len(found) == 1 else f"({' && '.join(found)})"
