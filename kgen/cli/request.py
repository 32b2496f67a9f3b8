"""What ``kgen compile`` makes of a program: the options that its texts depend on, and the texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kgen.aot import aot_binding, aot_header, aot_module, aot_sets, lowered_sets
from kgen.bindings import BINDINGS
from kgen.cli import options
from kgen.cli.stages import STAGES, Compiled
from kgen.codegen.kernels import Module
from kgen.codegen.line_directives import with_line_directives
from kgen.codegen.names import named_base
from kgen.compile_spec import CompileSpec
from kgen.diagnostics import error
from kgen.header import is_text
from kgen.launcher.description import describe
from kgen.options import Options
from kgen.program import Program
from kgen.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Request:
    """The options of ``kgen compile`` that the text depends on, as they were typed; None where not given.

    Each field is the name of click's parameter.
    """

    dtype_text: str | None = None
    dtypes: str | None = None
    shape_text: str | None = None
    strides_text: str | None = None
    scalar_text: str | None = None
    layout: str | None = None
    rank: int | None = None
    arch: str | None = None
    fmad: str = "on"
    fast: bool = False
    deterministic: bool = False
    tuning: int = 0
    line_directives: bool = False
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A program with the file made of it.  ``specs``: by the text of each set of dtypes; there is at least one."""

    program: Program
    base: str
    flags: Options
    specs: Mapping[str, CompileSpec]
    module: Module
    namespace: str | None

    @property
    def spec(self) -> CompileSpec:
        return next(iter(self.specs.values()))


def prepare(program: Program, base: str, request: Request, kinds: Collection[str] = ("cu",)) -> Prepared:
    """Raises :class:`~kgen.KgenError` for wrong options, and what lowering raises."""
    given = request
    if given.shape_text is not None and not (given.layout is None and given.rank is None):
        raise error("bad-option", "--layout and --rank say nothing beside --shape", "leave them out, or leave --shape")
    scalars = options.parse_scalars(given.scalar_text, program)
    shapes = options.parse_shapes(given.shape_text, program, scalars, any_rank=True)
    strides = options.parse_strides(given.strides_text, program, shapes)
    flags = options.options_of(given.fmad, given.fast, given.deterministic, given.tuning)
    flags, program = replace(flags, line_directives=given.line_directives), flags.applied(program)
    if given.line_directives and is_text(program):
        raise error("bad-option", "--line-directives points at a file, and this program is in none", "leave it out")
    if given.namespace is not None:
        named_base(given.namespace)
    rank = 4 if given.rank is None else given.rank
    rest = (shapes or {}, strides, scalars, given.layout or "any", rank, given.arch, given.tuning)
    sets = _sets(given.dtype_text, given.dtypes, kinds)
    specs = {name: CompileSpec(dtypes, *rest) for name, dtypes in sets.items()}
    made = prepared(program, base, flags, specs, given.namespace)
    if not given.line_directives:
        return made
    text = with_line_directives(made.module.text, program.source.name, f"{base}.cu")
    return replace(made, module=replace(made.module, text=text))


def prepared(
    program: Program, base: str, flags: Options, specs: Mapping[str, CompileSpec], namespace: str | None
) -> Prepared:
    """The file of a program, for one set of dtypes, which has no name, or for several."""
    if list(specs) == [""]:
        module = aot_module(program, base, flags, specs[""])
    else:
        module = aot_sets(program, base, flags, specs)
    return Prepared(program, base, flags, specs, module, namespace)


def contents(
    made: Prepared, kinds: Sequence[str], after: str | None = None, say: Callable[[str], None] = lambda text: None
) -> dict[str, str | bytes]:
    """The content of each kind.  ``after``: one of the passes, for the IR; ``say`` is called with the progress."""
    from kgen.runtime.backend import compile_for

    found: dict[str, str | bytes] = {}
    for kind in kinds:
        if kind == "cu":
            found[kind] = made.module.text
        elif kind == "h":
            found[kind] = aot_header(made.program, made.base, made.flags, made.specs)
        elif kind == "json":
            found[kind] = description(made)
        elif kind in BINDINGS:
            found[kind] = aot_binding(
                made.program, made.base, made.flags, made.specs, made.module, kind, made.namespace
            )
        elif kind in STAGES:
            found[kind] = STAGES[kind](Compiled(made.program, made.spec, made.module, after))
        else:
            say(f"compiling {made.base} to {kind}")
            found[kind] = compile_for(made.module.text, made.base, made.flags, kind, made.spec.arch)
    return found


def description(made: Prepared) -> str:
    """The file as JSON; with ``--arch``, kernels are compiled to tell what they use."""
    from kgen.runtime.backend import usage_for

    sets, _ = lowered_sets(made.program, made.base, made.flags, made.specs)
    used: dict[str, dict[str, Any]] = {}
    if made.spec.arch is not None:
        used = {n: asdict(u) for n, u in usage_for(made.module.text, made.base, made.flags, made.spec.arch).items()}
    found = describe(made.base, made.program.source.name, sets, made.module.entries, used)
    return json.dumps(found, indent=2) + "\n"


def _sets(dtype: str | None, dtypes: str | None, kinds: Collection[str]) -> dict[str, Any]:
    """The dtypes of each set of ``--dtypes``, by its text, or those of ``--dtype``."""
    if dtypes is None:
        return {"": options.parse_dtypes(dtype)}
    if dtype is not None:
        raise error("bad-option", "--dtype says nothing beside --dtypes", "leave one of them out")
    if not set(kinds) <= {"cu", "h", "json", *BINDINGS}:
        raise error("bad-option", f"--dtypes is for --emit cu,h,json, and not {', '.join(kinds)}", "leave --dtypes out")
    sets = ["".join(part.split()) for part in dtypes.split(";")]
    if not all(sets) or len(set(sets)) < len(sets):
        what = "has a set twice" if all(sets) else "has an empty set"
        raise error("bad-option", f"--dtypes {what}", 'sets are separated by `;`: --dtypes "f16; bf16; x=f32,y=f16"')
    return {text: options.parse_dtypes(text) for text in sets}
