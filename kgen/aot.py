"""Ahead-of-time compilation: files made without arrays, from a :class:`CompileSpec`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kgen import pipeline
from kgen.bindings import BINDINGS
from kgen.bindings.context import Binding
from kgen.codegen.context import ModuleContext
from kgen.codegen.emit import text_of, text_of_sets
from kgen.codegen.kernels import Entry, Module
from kgen.compile_spec import CompileSpec
from kgen.diagnostics import Diagnostic, error, shown
from kgen.header import command_line, extents_text, origin_lines
from kgen.launcher.any_layout import any_layout_launcher
from kgen.launcher.batch import lower_any_rank
from kgen.launcher.classes import extent_classes, kernels_of
from kgen.launcher.context import AnyLayoutLauncher, ShapedLauncher
from kgen.launcher.dispatch import dispatch_text, set_name
from kgen.launcher.header import Sets, header_text
from kgen.launcher.images import declared_text
from kgen.launcher.shaped import shaped_launcher
from kgen.launcher.text import guarded, launcher_text, with_zero
from kgen.lowering import Covered, Lowered
from kgen.operands import ASSUMED_EXTENTS, ArrayOperand, Operands
from kgen.options import Options
from kgen.program import Program
from kgen.records import dataclass, replace
from kgen.runtime.cuda.architectures import target_for
from kgen.schedule.any_layout import LAYOUTS, MAX_RANK
from kgen.schedule.step_layout import concrete
from kgen.schedule.tables import with_table
from kgen.schedule.target import Target
from kgen.spec import as_shape

if TYPE_CHECKING:
    from kgen.explain import Explanation

_DOES = "checks the arrays of a call, decides among the kernels above, and launches them."


@dataclass(frozen=True)
class _Contents:
    """Of a file, or of its part for one set of dtypes."""

    file: ModuleContext
    entries: tuple[Entry, ...]
    lints: tuple[Diagnostic, ...]
    launcher: AnyLayoutLauncher | ShapedLauncher


def aot_module(program: Program, base: str, options: Options, spec: CompileSpec) -> Module:
    """The file for these operands.

    Raises :class:`~kgen.KgenError`: ``bad-layout``, ``bad-rank``, ``shape-needed``, and what lowering raises.
    """
    lowered, explicit = aot_lower(program, spec)
    made = _contents(program, base, options, spec, lowered, command_line(program, base, options, explicit))
    return _module(text_of(made.file), base, [made])


def text_with_launcher(
    program: Program,
    base: str,
    options: Options,
    lowered: Lowered,
    operands: Operands,
    command: Sequence[str],
    notes: Sequence[str],
) -> str:
    """The file of one lowering, which knows all extents, with its launcher; without where arrays are not aligned.

    ``command`` and ``notes``: as in :func:`kgen.pipeline.source`.
    """
    file, entries = pipeline.contents(program, lowered, base, options, command, notes)
    classes = extent_classes(lowered, operands)
    if kernels_of(classes) != lowered.variants:
        return text_of(file)
    launcher = shaped_launcher(base, classes, entries, None)
    return text_of(with_zero(file, launcher)) + guarded(launcher_text(base, [launcher]), _DOES)


def aot_sets(program: Program, base: str, options: Options, specs: Mapping[str, CompileSpec]) -> Module:
    """One file for several sets of dtypes.  ``specs``: by the text of each set, as ``--dtypes`` has it.

    Raises :class:`~kgen.KgenError`: as :func:`aot_module`, and ``bad-option`` for a set that is given twice.
    """
    names = _set_names(program, base, specs)
    made = [_contents(program, name, options, spec, aot_lower(program, spec)[0], []) for name, spec in names.items()]
    lines = [*origin_lines(program, _sets_command(program, base, options, specs)), ""]
    lines.append(f"Dtypes: {'; '.join(specs)}. Each has kernels and functions; others take arrays of any.")
    dispatch = dispatch_text(base, list(names), made[0].launcher.interface)
    return _module(text_of_sets(base, lines, [one.file for one in made]), base, made, dispatch)


def _set_names(program: Program, base: str, specs: Mapping[str, CompileSpec]) -> dict[str, CompileSpec]:
    """The name of each set's launcher, and its spec."""
    found: dict[str, CompileSpec] = {}
    for text, spec in specs.items():
        arguments = spec.operands(program).arguments.items()
        name = set_name(base, {n: a.dtype for n, a in arguments if isinstance(a, ArrayOperand)})
        if name in found:
            raise error("bad-option", f"--dtypes has `{text.strip()}` twice", "give each set once")
        found[name] = spec
    return found


def _sets_command(program: Program, base: str, options: Options, specs: Mapping[str, CompileSpec]) -> list[str]:
    """The command that makes a file of several sets."""
    first = replace(next(iter(specs.values())), dtypes=None)
    return [*command_line(program, base, options, first), "--dtypes", "; ".join(specs)]


def aot_header(program: Program, base: str, options: Options, specs: Mapping[str, CompileSpec]) -> str:
    """The C header of a file for these sets of dtypes, of which there may be one."""
    sets, command = lowered_sets(program, base, options, specs)
    return header_text(base, {base: sets}, origin_lines(program, [*command, "--emit", "cu,h"]))


def aot_binding(
    program: Program,
    base: str,
    options: Options,
    specs: Mapping[str, CompileSpec],
    module: Module,
    kind: str,
    namespace: str | None = None,
) -> str:
    """A file that calls ``module`` from another library.  ``kind``: a key of :data:`~kgen.bindings.BINDINGS`.

    ``namespace``: of a torch operator, by default ``kgen``.  Raises :class:`~kgen.KgenError`: ``no-binding``.
    """
    abi, text_of = BINDINGS[kind]
    sets, command = lowered_sets(program, base, options, specs)
    command += ["--abi", abi, *(["--namespace", namespace] if namespace is not None and abi == "torch" else [])]
    banner = origin_lines(program, command)
    return text_of(Binding.of(base, banner, namespace or "kgen", program, sets, module.entries))


def lowered_sets(
    program: Program, base: str, options: Options, specs: Mapping[str, CompileSpec]
) -> tuple[Sets, list[str]]:
    """What each set is lowered to, by the name of its launcher; and the command that makes the file."""
    if len(specs) > 1:
        sets = {name: aot_lower(program, spec)[0] for name, spec in _set_names(program, base, specs).items()}
        return sets, _sets_command(program, base, options, specs)
    lowered, explicit = aot_lower(program, next(iter(specs.values())))
    return {base: lowered}, command_line(program, base, options, explicit)


def _contents(
    program: Program, base: str, options: Options, spec: CompileSpec, lowered: Lowered | Covered, command: Sequence[str]
) -> _Contents:
    """``lowered``: from ``spec``.  ``command``: as in :func:`~kgen.header.header`."""
    launcher: AnyLayoutLauncher | ShapedLauncher
    if isinstance(lowered, Covered):
        file, entries = pipeline.contents(program, lowered, base, options, command)
        launcher = any_layout_launcher(base, lowered, entries)
    else:
        shaped = spec if lowered.batch is None else replace(spec, shapes=lowered.batch.shapes)
        classes = extent_classes(lowered, shaped.operands(program))
        kernels = Covered(lowered.specialised, kernels_of(classes), lowered.chosen)
        is_one = len(classes) == 1 and lowered.batch is None
        file, entries = pipeline.contents(program, lowered if is_one else kernels, base, options, command)
        launcher = shaped_launcher(base, classes, entries, lowered.batch)
    return _Contents(with_zero(file, launcher), entries, lowered.specialised.lints, launcher)


def _module(kernels: str, base: str, made: Sequence[_Contents], dispatch: str = "") -> Module:
    """A file whose text begins with ``kernels``.  ``dispatch``: host code behind the launchers."""
    launchers = [one.launcher for one in made]
    launches = launcher_text(base, launchers) + dispatch
    declared = "".join(map(declared_text, launchers))
    entries = tuple(entry for one in made for entry in one.entries)
    return Module(kernels + guarded(launches, _DOES), entries, made[0].lints, declared + launches)


def aot_lower(program: Program, spec: CompileSpec) -> tuple[Lowered | Covered, CompileSpec]:
    """The kernels of the file, and the spec with all defaults filled in."""
    layout = next((known for known in LAYOUTS if isinstance(spec.layout, str) and known == spec.layout), None)
    if layout is None:
        raise error("bad-layout", f"{shown(spec.layout)} is not a layout class", f"one of {', '.join(LAYOUTS)}")
    if not isinstance(spec.rank, int) or not 1 <= spec.rank <= MAX_RANK:
        raise error(
            "bad-rank", f"rank {shown(spec.rank)} is not supported", f"1 to {MAX_RANK} dimensions after merging"
        )
    target = _target(spec, spec.arch)
    operands = spec.operands(program)
    explicit = spec.with_explicit_dtypes(program, operands.types)
    left_out = spec.left_out(operands)
    if spec.shapes and not left_out:
        return pipeline.lower(program, operands, target), explicit
    any_rank = lower_any_rank(program, spec, left_out, target) if layout == "any" else None
    if spec.shapes and any_rank is None:
        raise error("shape-needed", f"--shape leaves out `{left_out[0]}`", "give all shapes or none")
    return any_rank or pipeline.cover(program, operands, layout, spec.rank), explicit


def _target(spec: CompileSpec, arch: str | None) -> Target:
    """The target of ``arch`` with the table of the spec."""
    return with_table(target_for(arch), spec.tuning)


def aot_explain(program: Program, base: str, options: Options, spec: CompileSpec) -> Explanation:
    """:meth:`~kgen.Kernel.explain` for arrays of these dtypes and shapes (by default large and contiguous)."""
    from kgen.explain import Explanation
    from kgen.runtime.backend import arch_to_explain, usage_for

    operands = spec.operands(program)
    lowered = pipeline.lower(program, operands, _target(spec, spec.arch))
    assumed, unknown = _with_assumed_extents(program, operands, lowered)
    if not spec.shapes or not unknown:
        for shape in (assumed.shape, *(a.shape for a in assumed.arguments.values() if isinstance(a, ArrayOperand))):
            as_shape(shape)
        lowered = pipeline.lower(program, assumed, _target(spec, arch_to_explain(spec.arch)))
    module = pipeline.source(program, lowered, base, options, ["kgen", "compile", "-"])
    usage = usage_for(module.text, base, options, spec.arch)
    found = Explanation.of(program, lowered, module, usage, spec.tuning)
    return replace(found, assumed=tuple(unknown))


def _with_assumed_extents(
    program: Program, operands: Operands, lowered: Lowered
) -> tuple[Operands, list[tuple[str, str, tuple[int, ...]]]]:
    """The operands with a number for each ``?``; and the shapes that had one, as given and as assumed."""
    kernel, extents = lowered.specialised.graph, lowered.sizes.extents
    used = {o.name: concrete(o.shape, extents) for o in kernel.operands if o.role in ("input", "inout")}
    unknown: list[tuple[str, str, tuple[int, ...]]] = []
    arguments = dict(operands.arguments)
    for name, array in operands.arguments.items():
        if isinstance(array, ArrayOperand):
            shape = _fill_extents(array.shape, used.get(name, ()))
            arguments[name] = replace(array, shape=shape)
            if None in array.shape:
                unknown.append((name, extents_text(array.shape), shape))
    whole = _fill_extents(operands.shape, ())
    if None in operands.shape:
        unknown.append(("the result", extents_text(operands.shape), whole))
    return Operands(arguments, operands.outputs, whole), unknown


def _fill_extents(shape: Sequence[int | None], found: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with a number for each ``?``.  Arguments that no kernel reads have no ``found`` shape."""
    whole = found or (ASSUMED_EXTENTS[0],) * len(shape)
    return tuple(f if n is None else n for n, f in zip(shape, whole, strict=True))
