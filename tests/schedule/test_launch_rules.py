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
from kgen.layout.iterator import IterationSpace
from kgen.schedule.divisors import magic_number
from kgen.schedule.expressions import (
    C_FUNCTIONS,
    Expr,
    Int,
    Op,
    c,
    ceil_div,
    extent,
    magic,
    maximum,
    minimum,
    product,
    python,
    shift,
    shown,
    stride,
    total,
    where,
)
from kgen.schedule.facts import Choice
from kgen.schedule.launch import Launch, Rule
from kgen.schedule.schedule import Schedule
from tests.fuzz import generate, reductions, updates

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")

#: Programs and shapes: every family, and both widths of indices.
PROGRAMS: list[tuple[str, dict[str, Any]]] = [
    ("out = x + 1", {"x": kgen.spec((1 << 16, 1 << 16), "f32")}),
    ("out = x + y", {"x": kgen.spec((70000, 70000), "f32"), "y": kgen.spec((70000, 1), "f32")}),
    ("out = x + y", {"x": kgen.spec((640, 6400), "f32"), "y": kgen.spec((640, 6400), "f32", (1, 640))}),
    ("out = x + y", {"x": kgen.spec((9, 8, 7, 6), "f32", (-336, 2000, -6, 1)), "y": kgen.spec((7, 1), "f32")}),
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
    return [*launch.grid, launch.n, launch.tiles, launch.partials, *struct.unpack(code, launch.layout)]


def c_function(name: str, rule: Rule) -> str:
    """Prints all that a launch has, and the values of the struct as C converts them."""
    lets = "".join(f"    const long long {let} = {c(value)};\n" for let, value in rule.lets)
    values = [(c(e), "long long") for e in (*rule.grid, rule.n, rule.tiles, rule.partials)]
    values += [(c(e), field.type) for field in rule.struct for e in field.values]
    prints = "".join(f'    printf("%lld ", (long long)({type_})({value}));\n' for value, type_ in values)
    parameters = "const long long* shape, const long long (*strides)[64]"
    return f"static void {name}({parameters}) {{\n    (void)shape, (void)strides;\n{lets}{prints}}}\n"


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
    text = f"#include <stdio.h>\n{C_FUNCTIONS}{''.join(functions)}int main(void) {{\n{''.join(calls)}}}\n"
    (tmp_path / "rules.c").write_text(text)
    command = [str(COMPILER), "-w", "-O0", "-o", str(tmp_path / "rules"), str(tmp_path / "rules.c")]
    subprocess.run(command, check=True, timeout=300)
    said = subprocess.run([tmp_path / "rules"], capture_output=True, text=True, check=True, timeout=60).stdout
    lines = said.splitlines()
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
    names = {"shape": (7, 5), "strides": ((1, -7),), "magic": lambda d: magic_number(d)[0]}
    assert eval(python(expr), {**names, "shift": lambda d: magic_number(d)[1]}) == value
    assert shown(expr) == text


@pytest.mark.parametrize(
    ("grid", "stays", "clusters", "found"),
    [((800, 1, 1), 8, 16, 128), ((64, 1, 1), 8, 16, 64), ((800, 1, 1), 8, 0, 8), ((800, 2, 1), 0, 1, 800)],
)
def test_persistent_clusters_fit_the_device(grid: tuple[int, int, int], stays: int, clusters: int, found: int) -> None:
    """As many as the device has room for, one at least, and no more than there is work for."""
    assert Launch(grid, (256, 1, 1), 1, b"", persistent_cluster=stays).grid_on(clusters) == (found, *grid[1:])


def test_explain_says_how_a_kernel_is_launched() -> None:
    """By numbers with names, of which the rule consists."""
    told = str(kgen.jit("out = a + 1").explain(kgen.spec((4, 5), "f32")))
    assert "  - launch: ceil(n / 1024) blocks of 256 threads; n = shape[0]\n" in told + "\n"
    rows = str(kgen.jit("out = max(a, axis=-1) - 1").explain(kgen.spec((4, 5000), "f32")))
    assert "tiles blocks of 256 threads; rows = shape[1]; width = shape[0]; tiles = rows" in rows
