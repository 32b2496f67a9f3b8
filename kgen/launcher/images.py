"""The host half of a file for compilers that do not know CUDA: it finds its kernels in images compiled before.

An image is a CUBIN for one compute capability, or PTX.  The launcher stays as it is: kernels are objects that it calls
by the same names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from kgen import resources
from kgen.codegen import names
from kgen.codegen.bodies import LAYOUT_TYPES, template_member
from kgen.codegen.c_types import headers_of
from kgen.codegen.helpers import ARRAY_SHAPE, helper_texts
from kgen.codegen.kernels import Entry
from kgen.codegen.templates import environment
from kgen.launcher.context import Launcher
from kgen.partition.step import Step
from kgen.records import dataclass
from kgen.schedule.launch import Field


@dataclass(frozen=True, slots=True)
class Image:
    """``file``: the path of its bytes.  ``major`` and ``minor``: the compute capability that it is compiled for.

    A CUBIN runs on devices up to ``last_minor``.
    """

    symbol: str
    file: str
    major: int
    minor: int
    last_minor: int
    is_ptx: bool


@dataclass(frozen=True, slots=True)
class _Declared:
    """A kernel as the host half sees it.

    ``members``: of its layout struct, which is a template over ``types`` or, if these are empty, none.  Both are empty
    where a kernel before it has the same template.
    """

    name: str
    parameters: tuple[str, ...]
    layout: str
    types: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Declarations:
    namespace: str
    headers: tuple[str, ...]
    helpers: tuple[str, ...]
    kernels: tuple[_Declared, ...]


@dataclass(frozen=True, slots=True)
class _File:
    base: str
    images: tuple[Image, ...]
    host: str

    @property
    def functions(self) -> str:
        """Those that find kernels in images."""
        return resources.text("templates", "launcher/images.cu").rstrip("\n")


#: The parameters of the kernel that zeroes counters.
_ZEROES = "unsigned int* counters", "const long long count"


def declared_text(launcher: Launcher) -> str:
    """The kernels and the structs that they take, for the host code of one set of dtypes."""
    base, entries, steps = launcher.base, launcher.entries, launcher.steps
    kernels = tuple(_declared(e, entries[:i]) for i, e in enumerate(entries))
    if launcher.has_counters:
        kernels += (_Declared(launcher.zero, _ZEROES, "", "", ()),)
    gathers = any(p.kind == "shape" for e in entries for p in e.parameters)
    helpers = tuple(helper_texts([ARRAY_SHAPE] if gathers else []))
    made = _Declarations(names.namespace(base), tuple(_headers(steps)), helpers, kernels)
    return environment().get_template("launcher/declared.cu.j2").render(m=made)


def host_text(base: str, host: str, images: Sequence[Image]) -> str:
    """A C++ file.  ``host``: the declared kernels and the launchers.

    ``images``: PTX before CUBINs, and older architectures before newer ones.
    """
    made = _File(base, tuple(images), host)
    return environment().get_template("launcher/images.cu.j2").render(m=made)


def _headers(steps: Sequence[Step]) -> list[str]:
    """The headers that declare the types of arrays and scalars."""
    dtypes = [o.dtype for s in steps for o in s.graph.operands] + [v.dtype for s in steps for v in s.graph.scalars]
    return sorted({header for dtype in dtypes for header in headers_of(dtype)})


def _declared(entry: Entry, before: Sequence[Entry]) -> _Declared:
    parameters, struct = tuple(_parameters(entry)), entry.rule.struct
    is_known = entry.has_layout_template and any(e.layout_struct == entry.layout_struct for e in before)
    if is_known or all(p.kind != "layout" for p in entry.parameters):
        return _Declared(entry.name, parameters, "", "", ())
    if entry.has_layout_template:
        members = tuple(template_member(field, entry.schedule.rank) for field in struct)
        return _Declared(entry.name, parameters, entry.layout_struct, LAYOUT_TYPES, members)
    return _Declared(entry.name, parameters, entry.layout, "", tuple(_members(struct)))


def _members(struct: Sequence[Field]) -> Iterator[str]:
    """The declarations of a struct's members; those of a member struct in one line."""
    for within, fields in groupby(struct, key=lambda field: field.within):
        declared = [field.declaration for field in fields]
        yield from [f"struct {{ {' '.join(f'{one};' for one in declared)} }} {within}"] if within else declared


def _parameters(entry: Entry) -> Iterator[str]:
    """Declarations as in the kernel, but for types that only device code has."""
    for parameter, declaration in zip(entry.parameters, entry.declarations, strict=True):
        if parameter.kind == "scratch":
            yield f"void* {declaration.rpartition(' ')[2]}"
        else:
            yield declaration
