"""Rules of the code that a reader relies on: directions of imports, who imports what, templates that hold layout."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import jinja2
import pytest
from jinja2 import nodes

from kgen.codegen.templates import environment
from kgen.dtypes import DTYPES
from kgen.functions import FUNCTIONS, VIEWS
from kgen.ir.ops import OPS
from tests.variants import VARIANTS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "kgen"


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def _forget() -> Iterator[None]:
    """Trees are for the tests of this file: they are large."""
    yield
    parsed.cache_clear()
    imports.cache_clear()


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module of kgen, by its path below ``kgen/``."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), parsed(path)


def below(node: ast.AST) -> Iterator[ast.AST]:
    """What may have statements in it: everything but expressions, which are most of a tree."""
    return (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))


@cache
def imports(tree: ast.Module) -> set[str]:
    """The modules that a module imports, also inside functions and for types only."""
    found: set[str] = set()
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        todo += below(node)
    return found


#: From the bottom up: a module imports its own row and those above it.
LAYERS = [
    "version.py resources.py initialisers.py records.py source.py dtypes.py dynamo.py diagnostics.py lints.py"
    " functions.py spec.py argument_types.py",
    "syntax program.py literals.py prelude.py resolve load.py",
    "ir",
    "check passes layout",
    "gradients",
    "partition",
    "schedule",
    "codegen options.py operands.py compile_spec.py header.py snapshots.py",
    "families",
    "lowering.py",
    "overlaps.py",
    "predicted.py variant_search.py",
    "pipeline.py",
    "arrays runtime launcher",
    "explain.py bindings",
    "aot.py call",
    "library",
    "kernel.py",
    "jit.py",
    "autodiff.py",
    "torch.py torch_gradients.py jax_gradients.py jax.py",
    "cli pytest_plugin.py",
]


def test_imports_point_one_way() -> None:
    """No module imports one of a later layer, be it inside a function, where a call needs it, or for types."""
    level = {name: number for number, row in enumerate(LAYERS) for name in row.split()}
    wrong: list[str] = []
    for path, tree in modules():
        top = path.split("/")[0]
        if top in ("__init__.py", "__main__.py", "_build.py", "_extension.py"):
            continue
        assert top in level, f"kgen/{top} has no place in LAYERS"
        for name in imports(tree):
            part = name.removeprefix("kgen.").split(".")[0]
            target = part if part in level else f"{part}.py"
            if name.startswith("kgen.") and level.get(target, -1) > level[top]:
                wrong.append(f"{path} imports {name}")
    assert not wrong


#: The stages of lowering.  Who calls two of them repeats the order that ``pipeline.lower`` has.
STAGES = (
    "kgen.check.check", "kgen.passes.optimise", "kgen.passes.online.online_reductions", "kgen.partition.cut.cut",
    "kgen.schedule.step_layout.place", "kgen.families.choose", "kgen.codegen.emit.emit",
)  # fmt: skip


def test_the_order_of_the_stages_is_written_once() -> None:
    """``pipeline.py`` uses every stage; what is above it uses none."""
    level = {name: number for number, row in enumerate(LAYERS) for name in row.split()}
    for path, tree in modules():
        found = imports(tree) & set(STAGES)
        if path == "pipeline.py":
            assert found == set(STAGES)
        elif level.get(path.split("/")[0], 0) > level["pipeline.py"]:
            assert not found, path
            names = {
                n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "pipeline"
            }
            assert not names & {"check", "specialise", "find_sizes", "select_variant", "place", "schedule"}, path


#: Modules that import each other, counting imports in functions and for types alone.  May only shrink.
KNOWN_CYCLES: tuple[str, ...] = ()


def import_graph() -> dict[str, set[str]]:
    """For each module, those of kgen that it imports anywhere."""
    trees = {f"kgen.{path[:-3].replace('/', '.')}".removesuffix(".__init__"): tree for path, tree in modules()}
    graph: dict[str, set[str]] = {}
    for name, tree in trees.items():
        graph[name] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                graph[name] |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                full = {f"{node.module}.{alias.name}" for alias in node.names}
                graph[name] |= {each if each in trees else node.module for each in full}
        graph[name] = graph[name] & trees.keys() - {name}
    return graph


def cycles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Modules that reach each other."""
    reached = {name: set(targets) for name, targets in graph.items()}
    for middle in graph:
        for name in graph:
            if middle in reached[name]:
                reached[name] |= reached[middle]
    return {frozenset(m for m in reached[name] if name in reached[m]) for name in graph if name in reached[name]}


def test_no_import_cycles() -> None:
    """None but the known ones; what is no longer part of one goes from the list."""
    known = {frozenset(row.split()) for row in KNOWN_CYCLES}
    found = cycles(import_graph())
    new = [sorted(cycle) for cycle in found if not any(cycle <= row for row in known)]
    assert not new, f"modules import each other: {new}"
    gone = sorted(frozenset().union(*known) - frozenset().union(*found))
    assert not gone, f"no longer in a cycle; take them from KNOWN_CYCLES: {gone}"


LINES, PARAMETERS, COMPLEXITY = 60, 7, 15
#: Functions above these limits, a line each, with the reason.  May only shrink.
LARGE = ROOT / "tests" / "data" / "large_functions.txt"
#: The other place for a reason: the line above ``def``.
_REASON = re.compile(r"\s*# (long|many|branches): \S")
_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.IfExp, ast.ExceptHandler, ast.match_case)


def complexity(function: ast.AST) -> int:
    """Cyclomatic: one, and one more for each branch, each further operand of ``and`` and ``or``, each comprehension."""
    found, todo = 1, list(ast.iter_child_nodes(function))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        found += isinstance(node, _BRANCHES)
        if isinstance(node, ast.comprehension):
            found += 1 + len(node.ifs)
        elif isinstance(node, ast.BoolOp):
            found += len(node.values) - 1
        todo += ast.iter_child_nodes(node)
    return found


def too_large(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """By how much; empty for one that is not."""
    given = function.args
    names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    parameters = len(names) - (names[:1] in (["self"], ["cls"]))
    lines = (function.end_lineno or 0) - function.lineno + 1
    sizes = {"lines": (lines, LINES), "parameters": (parameters, PARAMETERS)}
    sizes |= {"complexity": (complexity(function), COMPLEXITY)}
    return ", ".join(f"{size} {what}" for what, (size, most) in sizes.items() if size > most)


def functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function, by its name in its classes and functions."""
    for child in below(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + child.name, child
        inner = f"{prefix}{child.name}." if hasattr(child, "name") and hasattr(child, "body") else prefix
        yield from functions(child, inner)


def test_functions_are_small(request: pytest.FixtureRequest) -> None:
    """60 lines, 7 parameters, complexity 15; what is larger says why; ``--bless`` takes from the list what is not."""
    found: dict[str, str] = {}
    for folder in ("kgen", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            lines = text.split("\n")
            for name, function in functions(parsed(path)):
                size = too_large(function)
                if size and not _REASON.match(lines[function.lineno - 2]):
                    found[f"{path.relative_to(ROOT).as_posix()} {name}"] = size
    rows = dict(line.split(": ", 1) for line in LARGE.read_text(encoding="utf-8").splitlines())
    if request.config.getoption("--bless"):
        rows = {name: reason for name, reason in rows.items() if name in found}
        LARGE.write_text("".join(f"{name}: {reason}\n" for name, reason in rows.items()), encoding="utf-8")
    assert all(rows.values())
    new = {name: size for name, size in found.items() if name not in rows}
    assert not new, f"split these, or say why not in {LARGE.name}: {new}"
    assert not rows.keys() - found.keys(), f"no longer large; take them from {LARGE.name}, as --bless does"


def test_only_the_cuda_runtime_imports_cuda() -> None:
    """``cuda.*`` is named below ``runtime/cuda`` alone, and lark where the tables are built."""
    for path, tree in modules():
        tops = {name.split(".")[0] for name in imports(tree)}
        assert "cuda" not in tops or path.startswith("runtime/cuda/"), path
        assert "lark" not in tops or path == "syntax/tables.py", path
        assert "jinja2" not in tops or path == "codegen/templates.py", path


#: What a dense elementwise program needs none of.
IDLE = [
    "kgen.check.gathered", "kgen.check.indexed", "kgen.check.reduction_types", "kgen.check.scatters",
    "kgen.families.rows", "kgen.families.row_reduce", "kgen.layout.overlap", "kgen.passes.deterministic",
    "kgen.passes.index_checks", "kgen.schedule.backward", "kgen.schedule.cost",
    "kgen.schedule.elementwise.rows", "kgen.schedule.reduction.schedule", "kgen.syntax.foreign_functions",
    "kgen.syntax.type_hints", "kgen.variant_search",
]  # fmt: skip


def test_import_kgen_is_light() -> None:
    """Importing kgen loads no compiler, array library or driver, and neither does making text, which loads no more of
    kgen than it needs.
    """
    code = (
        "import sys, kgen; seen = lambda names: print([m for m in names if m in sys.modules])\n"
        "seen(['lark', 'jinja2', 'numpy', 'ml_dtypes', 'cuda', 'click'])\n"
        "kgen.jit('out = a + 1').source(kgen.spec((64,), 'f32')); seen(['numpy', 'ml_dtypes', 'cuda', 'fractions'])\n"
        f"seen({IDLE})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split("\n")[:3] == ["[]", "[]", "[]"]


def test_templates_know_no_op() -> None:
    """Templates of CUDA text hold layout: no op's or function's name stands in their code, and no dtype's."""
    of_places = {"and", "or", "not", "index", "size", "const", "min", "max"}
    words = {*OPS, *FUNCTIONS, "float32", "half", "int64"} - of_places - VIEWS
    for path in sorted((ROOT / "templates").rglob("*.j2")):
        if path.parent.name == "bindings":  # C++ and Python, which have functions of such names
            continue
        text = re.sub(r"//[^\n]*|{#.*?#}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not words & set(re.findall(r"\w+", text)), path.name


def test_templates_are_strict() -> None:
    """A name that the context lacks is an error, and templates take what they see from two names only."""
    env = environment()
    assert env.undefined is jinja2.StrictUndefined
    seen: set[str] = set()
    for path in sorted((ROOT / "templates").rglob("*.j2")):
        tree = env.parse(path.read_text(encoding="utf-8"))
        bound = {n.name for n in tree.find_all(nodes.Name) if n.ctx in ("store", "param")}
        bound |= {n.target for n in tree.find_all(nodes.Import)} | {n.name for n in tree.find_all(nodes.Macro)}
        seen |= {n.name for n in tree.find_all(nodes.Name) if n.ctx == "load"} - bound - {"loop", "caller"}
    assert seen <= {"m", "k", "element", "text", "range"}, seen


#: The files of kgen that may name one fp8 dtype, and why.
NAMES_E4M3 = {
    "dtypes.py": "its row",
    "codegen/conversions.py": "its conversions in CUDA",
    "__init__.py": "its public name, which type checkers look for",
    "runtime/cpu/include/cuda_fp8.h": "NVIDIA's header, for the CPU target",
}


def test_a_dtype_is_one_row() -> None:
    """What differs by dtype is a field of its row: no other module has a table by dtype name, or asks for one."""
    files = (p for p in PACKAGE.rglob("*") if p.suffix in (".py", ".c", ".h", ".cpp", ".k"))
    naming = {p for p in files if "e4m3" in p.read_text(encoding="utf-8").lower()}
    assert {p.relative_to(PACKAGE).as_posix() for p in naming if "_data" not in p.parts} == set(NAMES_E4M3)
    names = {name for t in DTYPES for name in (t.name, t.short)}
    for path, tree in modules():
        for node in ast.walk(tree) if path not in NAMES_E4M3 else ():
            listed: list[ast.expr | None] = []
            most = 0
            if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute):  # dtype.name == "float32"
                listed = [value for right in node.comparators for value in getattr(right, "elts", [right])]
            elif isinstance(node, ast.Dict | ast.Set | ast.List | ast.Tuple):
                listed, most = [*(node.keys if isinstance(node, ast.Dict) else node.elts)], 2
            found = [(n.value, n.lineno) for n in listed if isinstance(n, ast.Constant) and n.value in names]
            assert len(found) <= most, f"{path} names {found}"


def test_variants_are_tests() -> None:
    """What only ``-m whole`` runs is in a file that is there, and others of that file run by default."""
    for file, tests in VARIANTS.items():
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        defined = set(re.findall(r"^def (test_\w+)", text, re.MULTILINE))
        assert tests.keys() <= defined, f"{file}: {tests.keys() - defined}"
