"""Launch rules: what C computes by a rule is what Python does, and structs are what a compiler makes of them."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import kgen
from kgen import KgenError, families, pipeline
from kgen.codegen.kernels import Entry
from kgen.dtypes import BFLOAT16
from kgen.layout.iterator import IterationSpace
from kgen.lowering import Lowered
from kgen.operands import ArrayOperand, Operands
from kgen.options import Options
from kgen.runtime.parameters import Kernels, ParameterLayout, Signature
from kgen.schedule.divisors import magic_number
from kgen.schedule.expressions import (
    C_FUNCTIONS,
    Expr,
    Int,
    Name,
    Op,
    c,
    ceil_div,
    evaluate,
    extent,
    magic,
    maximum,
    minimum,
    product,
    shift,
    shown,
    stride,
    total,
    where,
)
from kgen.schedule.facts import Choice
from kgen.schedule.launch import Launch, Rule
from kgen.schedule.schedule import Schedule
from kgen.schedule.scratch import aligned, buffer_bytes
from kgen.schedule.target import target_of
from tests.fuzz import generate, reductions, updates

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

CLUSTERS = (0, 1, 16, 2**31 - 1)  # that fit a device

PERSISTENT = "out = (x - mean(x, axis=-1, keepdims=true)) * w"

#: Programs and shapes: every family, and both widths of indices.
PROGRAMS: list[tuple[str, dict[str, Any]]] = [
    ("out = x + 1", {"x": kgen.spec((1 << 16, 1 << 16), "f32")}),
    ("out = x + y", {"x": kgen.spec((70000, 70000), "f32"), "y": kgen.spec((70000, 1), "f32")}),
    ("out = x + y", {"x": kgen.spec((640, 6400), "f32"), "y": kgen.spec((640, 6400), "f32", (1, 640))}),
    ("out = x + y", {"x": kgen.spec((9, 8, 7, 6), "f32", (-336, 2000, -6, 1)), "y": kgen.spec((7, 1), "f32")}),
    (
        "out = x + y",
        {"x": kgen.spec((26, 5000, 8, 32), "f16"), "y": kgen.spec((26, 5000, 8, 32), "f16", (1, 26, 130000, 1040000))},
    ),
    ("out = sum(x, axis=-1)", {"x": kgen.spec((3, 1 << 26), "f32")}),
    ("out = sum(x, axis=0)", {"x": kgen.spec((1 << 20, 64), "bf16")}),
    ("out = sum(x, axis=(0, 2))", {"x": kgen.spec((64, 32, 1000), "f32")}),
    ("out = x / sum(x, axis=1, keepdims=true)", {"x": kgen.spec((4, 64, 56, 56), "f16")}),
    ("out = x / sum(x, axis=-1, keepdims=true)", {"x": kgen.spec((1 << 17, 1 << 16), "f32")}),
]


def chosen() -> Iterator[tuple[str, dict[str, Any], list[Any]]]:
    """Programs with their named and positional arguments."""
    for text, named in PROGRAMS:
        yield text, named, []
    for seed in range(40):
        for module in (reductions, updates):
            program = module.generate(seed)
            yield program.text, dict(program.arguments()), []
        call = generate.generate(seed)
        arguments = call.arguments(False)
        words = {n: v for n, v in arguments.keywords.items() if n != "out"}
        yield call.text, words, list(arguments.inputs.values())


@pytest.fixture(scope="module")
def launches() -> list[tuple[Schedule, IterationSpace]]:
    """What kgen chooses for them, and over which spaces."""
    found: dict[tuple[Schedule, IterationSpace], None] = {}
    usual = pipeline.schedule

    def schedule(*args: Any, **named: Any) -> Choice:
        choice = usual(*args, **named)
        if choice.space.numel > 0:
            found[choice.schedule, choice.space] = None
        return choice

    with mock.patch("kgen.pipeline.schedule", schedule):
        for text, named, args in chosen():
            for arch in (None, "sm_90"):
                try:
                    kgen.jit(text).source(*args, arch=arch, **named)
                except KgenError:
                    continue
    return list(found)


def test_most_families_are_among_them(launches: list[tuple[Schedule, IterationSpace]]) -> None:
    assert len({schedule.template for schedule, _ in launches}) >= 8
    assert {schedule.index_bits for schedule, _ in launches} == {32, 64}


def numbers(rule: Rule, launch: Launch) -> list[int]:
    """All that a launch has, and the values of the struct."""
    code = "<" + "".join(field.code for field in rule.struct)
    return [
        *(side for clusters in CLUSTERS for side in launch.grid_on(clusters)),
        launch.n,
        *launch.lets.values(),
        *struct.unpack(code, launch.layout),
    ]


def c_function(name: str, rule: Rule) -> str:
    """Prints all that a launch has, and the values of the struct as C converts them."""
    lets = "".join(f"    const long long {let} = {c(value)};\n" for let, value in rule.lets)
    sides = "".join(f'        printf("%lld ", {c(side)});\n' for side in rule.grid)
    loop = f"    for (int i = 0; i < {len(CLUSTERS)}; ++i) {{\n"
    grids = f"{loop}        const long long clusters = fits[i];\n{sides}    }}\n"
    values = [(c(e), "long long") for e in (rule.n, *(Name(let) for let, _ in rule.lets))]
    values += [(c(e), field.type) for field in rule.struct for e in field.values]
    prints = "".join(f'    printf("%lld ", (long long)({type_})({value}));\n' for value, type_ in values)
    parameters = "const long long* shape, const long long (*strides)[64]"
    return f"static void {name}({parameters}) {{\n{lets}{grids}{prints}}}\n"


def printed(text: str, folder: Path) -> list[str]:
    """The lines that a C program prints."""
    (folder / "program.c").write_text(f"#include <stdio.h>\n{''.join(C_FUNCTIONS.values())}{text}")
    command = [str(COMPILER), "-w", "-O0", "-o", str(folder / "program"), str(folder / "program.c")]
    subprocess.run(command, check=True, timeout=300)
    return subprocess.run(
        [folder / "program"], capture_output=True, text=True, check=True, timeout=60
    ).stdout.splitlines()


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_c_computes_the_same(launches: list[tuple[Schedule, IterationSpace]], tmp_path: Path) -> None:
    """Every rule, printed as C, over every space that it was chosen for."""
    rules = {schedule: f"rule{i}" for i, schedule in enumerate(dict.fromkeys(schedule for schedule, _ in launches))}
    functions = [c_function(name, families.rule_of(schedule)) for schedule, name in rules.items()]
    calls: list[str] = []
    for schedule, space in launches:
        strides = ", ".join("{" + ", ".join(f"{s}ll" for s in row) + "}" for row in space.strides)
        shape = ", ".join(f"{n}ll" for n in space.shape)
        body = f"const long long shape[] = {{{shape}}}, strides[][64] = {{{strides}}};"
        calls.append(f'    {{ {body} {rules[schedule]}(shape, strides); puts(""); }}\n')
    fits = f"static const long long fits[] = {{{', '.join(map(str, CLUSTERS))}}};\n"
    lines = printed(f"{fits}{''.join(functions)}int main(void) {{\n{''.join(calls)}}}\n", tmp_path)
    assert len(lines) == len(launches) > 100
    for (schedule, space), line in zip(launches, lines, strict=True):
        rule = families.rule_of(schedule)
        assert [int(n) for n in line.split()] == numbers(rule, rule.launch(space)), (schedule, space)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_structs_are_as_large_as_said(launches: list[tuple[Schedule, IterationSpace]], tmp_path: Path) -> None:
    """What counts against CUDA's limit is what a compiler makes of the declarations; values fill it from its start."""
    lines: list[str] = []
    for number, schedule in enumerate(dict.fromkeys(schedule for schedule, _ in launches)):
        rule = families.rule_of(schedule)
        if rule.struct:
            members = " ".join(f"{field.declaration};" for field in rule.struct)
            last, size = rule.struct[-1].name, rule.packer.size
            lines.append(f"struct s{number} {{ {members} }};")
            lines.append(f'_Static_assert(sizeof(struct s{number}) == {rule.struct_bytes}, "");')
            end = f"__builtin_offsetof(struct s{number}, {last}) + sizeof(((struct s{number}*)0)->{last})"
            lines.append(f'_Static_assert({end} == {size}, "");')
    (tmp_path / "structs.c").write_text("\n".join(lines) + "\n")
    subprocess.run([str(COMPILER), "-fsyntax-only", str(tmp_path / "structs.c")], check=True, timeout=300)


@pytest.mark.parametrize(
    ("expr", "value", "text"),
    [
        (extent(0) + 3, 10, "shape[0] + 3"),
        (extent(0) - 3, 4, "shape[0] - 3"),
        (ceil_div(extent(0), 4), 2, "ceil(shape[0] / 4)"),
        (ceil_div(extent(0) * extent(1), 4) * 3, 27, "ceil((shape[0] * shape[1]) / 4) * 3"),
        (ceil_div(ceil_div(extent(0), 2), ceil_div(extent(1), 2)), 2, "ceil(ceil(shape[0] / 2) / ceil(shape[1] / 2))"),
        (minimum(extent(0), extent(1)), 5, "min(shape[0], shape[1])"),
        (maximum(stride(0, 1), -9), -7, "max(strides[0][1], (-9))"),
        (where(Op(">", (extent(1), Int(5))), 1, stride(0, 1)), -7, "(1 if (shape[1] > 5) else strides[0][1])"),
        (magic(extent(0)), magic_number(7)[0], "magic(shape[0])"),
        (shift(extent(0)), 3, "shift(shape[0])"),
        (product([]), 1, "1"),
        (total([extent(0), 0, 2]), 9, "shape[0] + 2"),
        (ceil_div(7, 2) * 1 + 0, 4, "4"),
    ],
)
def test_expressions(expr: Expr, value: int, text: str) -> None:
    assert evaluate(expr, {"shape": (7, 5), "strides": ((1, -7),)}) == value
    assert shown(expr) == text


def lowered(text: str, **shapes: tuple[int, ...]) -> tuple[Lowered, tuple[Entry, ...]]:
    """A program of bfloat16 arrays, for sm_90, and its kernels."""
    operands = Operands({name: ArrayOperand(BFLOAT16, shape) for name, shape in shapes.items()})
    program = pipeline.load(text)
    found = pipeline.lower(program, operands, target_of("sm_90"))
    return found, pipeline.source(program, found, "k", Options(), ["kgen"]).entries


@pytest.mark.parametrize(("rows", "clusters", "blocks"), [(100, 16, 128), (100, 200, 800), (100, 0, 8)])
def test_persistent_clusters_fit_the_device(rows: int, clusters: int, blocks: int) -> None:
    """As many as the device has room for, one at least, and no more than there is work for."""
    found, _ = lowered(PERSISTENT, x=(rows, 131072), w=(131072,))
    launch = found.steps[0].launch
    assert launch.rule.persistent_cluster == 8
    assert launch.grid == (8 * rows, 1, 1)
    assert launch.grid_on(clusters) == (blocks, 1, 1)


def test_other_grids_are_the_same_on_every_device() -> None:
    found, _ = lowered("out = max(x, axis=-1)", x=(2, 1 << 24))
    launch = found.steps[0].launch
    assert launch.grid_on(0) == launch.grid_on(16) == launch.grid


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize(
    ("text", "shapes", "arrays"),
    [
        ("out = x + 1", {"x": (64, 64)}, 0),
        (PERSISTENT, {"x": (100, 131072), "w": (131072,)}, 1),
        ("out = argmax(x, axis=-1)", {"x": (2, 1 << 24)}, 2),
        ("out = x / sum(x, axis=-1, keepdims=true)", {"x": (2, 1 << 24)}, 3),
        ("out = max(x) - x", {"x": (3, 1 << 24)}, 3),
    ],
)
def test_scratch_memory(text: str, shapes: dict[str, tuple[int, ...]], arrays: int, tmp_path: Path) -> None:
    """C computes the same bytes as Python: of buffers, then of the arrays of each kernel."""
    found, entries = lowered(text, **shapes)
    graph, extents = found.specialised.graph, found.sizes.extents
    launches = [entry.rule.launch(found.steps[entry.step].placed.space) for entry in entries]
    sizes = [(extents, size) for size in buffer_bytes(graph).values()]
    sizes += [(launch.lets, s) for entry, launch in zip(entries, launches, strict=True) for s in entry.scratch]
    lines: list[str] = []
    for named, size in sizes:
        declared = " ".join(f"const long long {name} = {value}ll;" for name, value in named.items())
        lines.append(f'    {{ {declared} printf("%lld\\n", {c(aligned(size))}); }}\n')
    in_c = [int(line) for line in printed(f"int main(void) {{\n{''.join(lines)}}}\n", tmp_path)]
    signature = Signature.of(entries, found.specialised.steps)
    launched = list(zip(entries, launches, strict=True))
    kernels = Kernels(launched, extents, found.specialised.steps, buffer_bytes(graph), found.arrays)
    layout = ParameterLayout.of(signature, kernels)
    assert len(in_c) == len({start for _, start in layout.scratch_at}) == arrays
    assert sum(in_c) == layout.scratch


def test_partials_of_split_rows() -> None:
    """One for each block, and a counter for each row."""
    found, (entry,) = lowered("out = argmax(x, axis=-1)", x=(2, 1 << 24))
    launch = found.steps[0].launch
    rows, spans, _ = launch.grid
    assert rows == 2
    assert spans > 50
    assert [evaluate(size, launch.lets) for size in entry.scratch] == [rows * spans * 8, rows * 4]


def test_explain_says_how_a_kernel_is_launched() -> None:
    """By numbers with names, of which the rule consists."""
    told = str(kgen.jit("out = a + 1").explain(kgen.spec((4, 5), "f32")))
    assert "  - launch: ceil(n / 1024) blocks of 256 threads; n = shape[0]\n" in told + "\n"
    rows = str(kgen.jit("out = max(a, axis=-1) - 1").explain(kgen.spec((4, 5000), "f32")))
    assert "row_blocks blocks of 512 threads; rows = shape[1]; width = shape[0]; row_blocks = rows" in rows


def test_explain_says_how_clusters_and_scratch_memory_are_computed() -> None:
    x, w = kgen.spec((100, 131072), "bf16"), kgen.spec((131072,), "bf16")
    told = str(kgen.jit(PERSISTENT).explain(x, w, arch="sm_90"))
    assert "min(row_blocks, max(clusters, 1) * 8) blocks of" in told
    assert "clusters = how many clusters of 8 blocks fit the device" in told
    assert "scratch memory, zeroed once: 4 bytes" in told
    told = str(kgen.jit("out = argmax(x, axis=-1)").explain(kgen.spec((2, 1 << 24), "bf16")))
    assert "partials = row_blocks * spans" in told
    assert "scratch memory, zeroed once: partials * 8 + row_blocks * 4 bytes" in told
