"""Copies of operands in another order, kernels for each reduction of a chain, and neighbouring rows: where predicted
traffic chooses them, and that they compute the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from benchmarks.random_programs import program
from kgen import variant_search
from kgen.dtypes import BY_NAME
from kgen.lowering import Lowered, LoweredStep
from kgen.operands import ArrayOperand, Operands
from kgen.partition.stored import stored_value
from kgen.pipeline import load, lower
from kgen.predicted import least_seconds_of, seconds_of
from kgen.schedule.target import HOPPER, Target
from tests.reductions.bits.ways import run_every_way

Given = tuple[str, tuple[int, ...], tuple[int, ...]]  #: dtype, shape, strides


def lowered(text: str, **arrays: Given) -> Lowered:
    operands = {name: ArrayOperand(BY_NAME[dtype], shape, strides) for name, (dtype, shape, strides) in arrays.items()}
    return lower(load(text), Operands(operands), HOPPER)


def of_seed(seed: int) -> Lowered:
    one = program(seed)
    operands = {n: ArrayOperand(BY_NAME[o.dtype], o.shape, o.strides) for n, o in one.operands.items()}
    return lower(load(one.text), Operands(operands), HOPPER)


def templates(found: Lowered) -> list[str]:
    return [s.template for s in found.schedules]


def test_a_small_operand_across_short_rows_is_copied() -> None:
    shape = (256, 64, 768, 2)
    a, c = ("bfloat16", shape, (98304, 1536, 2, 1)), ("int8", shape, (1, 393216, 256, 196608))
    found = lowered("out = max(cast<float>(a - c), axis=3)", a=a, c=c)
    assert templates(found) == ["tiled", "row_reduce"]
    assert found.specialised.graph.operands[-1].name == "c_copy"


def test_a_chain_of_few_rows_is_not_one_kernel_behind_a_copy() -> None:
    """Seven rows fill no device, whatever their bytes would take."""
    shape = (7, 3793804)
    dense, across = ("bfloat16", shape, (3793804, 1)), ("bfloat16", shape, (1, 7))
    text = "let z = cast<float>(a > b ? c : a)\nout = z * rsqrt(mean(z * z, axis=1, keepdims=true) + 1e-6)"
    found = lowered(text, a=dense, b=dense, c=across)
    assert not any(o.name == "c_copy" for o in found.specialised.graph.operands)


def test_a_copy_has_to_pay() -> None:
    """The same order, few elements, and an operand that the program updates: no copies."""
    shape = (4096, 4096)
    alike: Given = ("float32", shape, (1, 4096))
    assert len(lowered("out = sum(a + b, axis=0)", a=alike, b=alike).steps) == 1
    small = (8, 8, 8, 2)
    a, c = ("float32", small, (128, 16, 2, 1)), ("float32", small, (1, 128, 8, 64))
    assert len(lowered("out = max(a - c, axis=3)", a=a, c=c).steps) == 1
    text = "inout c\ns = max(a - c, axis=3)\nc = c * 2"
    big = (256, 64, 768, 2)
    a, c = ("float32", big, (98304, 1536, 2, 1)), ("float32", big, (1, 393216, 256, 196608))
    assert not any(o.name == "c_copy" for o in lowered(text, a=a, c=c).specialised.graph.operands)


def test_what_has_the_fastest_axis_of_the_others_is_not_copied_as_it_is() -> None:
    """Short rows lie along `c` alone: `b` is copied into the order of `a`, which has no gaps."""
    shape = (13, 18770, 13, 16)
    a, b, c = (208, 2704, 16, 1), (3904160, 1, 18770, 244010), (1, 2704, 208, 13)
    text = "let z = cast<float>(a + b * c)\nout = z * rsqrt(mean(z * z, axis=0, keepdims=true) + 1e-6)"
    found = lowered(text, a=("int8", shape, a), b=("bfloat16", shape, b), c=("int32", shape, c))
    assert {o.name for o in found.specialised.graph.operands} == {"a", "b", "c", "out", "b_copy"}


def test_stepped_columns_of_a_chain_are_reduced_first() -> None:
    text = "let z = cast<float>(a) + cast<float>(b)\ns = max(abs(z), axis=0, keepdims=true)\nq = z / s"
    shape = (16384, 2048)
    found = lowered(text, a=("bfloat16", shape, (4096, 2)), b=("bfloat16", shape, (2048, 1)))
    assert templates(found) == ["column_reduce", "rows"]


def test_columns_beside_an_expanded_operand_are_reduced_first() -> None:
    """An operand that is the same for all columns, given with a stride of 0, says nothing about where columns lie."""
    text = "let z = a * b\ns = max(abs(z), axis=0, keepdims=true)\nq = z / s"
    shape = (6579, 1711)
    found = lowered(text, a=("float16", shape, (1711, 1)), b=("uint8", shape, (1, 0)))
    assert templates(found) == ["column_reduce", "flat"]


def test_operands_in_three_orders_are_read_by_boxes() -> None:
    """What they give is stored in one order, and reduced from there, by one kernel for both outputs."""
    text = "let z = cast<float>(a * b + c)\ns = max(abs(z), axis=2, keepdims=true) / 127\nq = cast<i8, sat, rne>(z / s)"
    shape = (32, 64, 58509)
    a: Given = ("float32", shape, (7489152, 117018, 2))
    b: Given = ("uint8", shape, (3744576, 58509, 1))
    found = lowered(text, a=a, b=b, c=("float32", shape, (1, 1872288, 32)))
    assert templates(found) == ["boxes", "row_reduce"]
    assert found.specialised.graph.operands[-1].name == "z_buffer"
    assert any("operands lie in several orders or with gaps" in reason for reason in found.steps[0].reasons)


def test_what_is_stored_ahead_is_as_narrow_as_its_operands() -> None:
    """Casts are left to the reductions, and an operand that is only cast is itself what they read."""
    shape = (64, 32, 48)
    half: Given = ("bfloat16", shape, (1, 64, 2048))
    for text, stored in (
        ("s = sum(cast<float>(a), axis=1)\nt = sum(cast<float>(a), axis=2)", "load"),
        ("s = sum(cast<float>(a + b), axis=1)\nt = sum(cast<float>(a + b), axis=2)", "add"),
        ("s = sum(cast<float>(a) * 3, axis=1)\nt = sum(cast<float>(a) * 3, axis=2)", "mul"),
    ):
        graph = lowered(text, **({"a": half, "b": half} if "b" in text else {"a": half})).specialised.graph
        value = stored_value(graph)
        assert value is not None
        assert graph.ops[value].name == stored


def test_elements_beside_the_reduction_of_columns_are_written_ahead() -> None:
    """One operand in C order, of which no kernel with both outputs reads whole sectors."""
    found = lowered("out = cast<float>(x) * 2\nm = max(x, axis=1)", x=("int16", (4, 39670, 512), (0, 1024, 1)))
    assert templates(found)[-1] == "column_reduce"
    assert len(found.steps) == 2


def test_predictions_of_boxes_and_of_rows_are_for_the_same_extents() -> None:
    """Of 512 x 22 x 26 x 255, where 255 counts as 192 and 22 as 16: one kernel behind a copy takes less time than two
    that read everything."""
    assert templates(of_seed(200848)) == ["boxes", "column_resident"]


@pytest.mark.parametrize(
    ("seed", "kernels"),
    [
        (300055, ["resident_boxes"]),  # not one whose rows take a word of each line
        (300083, ["resident_boxes"]),  # not rows that write sectors in part, behind a tile
        (200306, ["column_reduce", "boxes"]),  # not columns in registers that use sectors in part, behind two copies
    ],
)
def test_what_bounds_a_kernel_overlaps_only_in_part(seed: int, kernels: list[str]) -> None:
    assert templates(of_seed(seed)) == kernels


def test_columns_side_by_side_through_several_dimensions() -> None:
    """Three neighbours that share one broadcast operand, 7521 times."""
    shape = (4096, 7521, 3)
    a, c = ("float32", shape, (22563, 3, 1)), ("float32", shape, (7521, 1, 0))
    assert templates(lowered("out = mean(a * c, axis=0)", a=a, c=c)) == ["column_reduce"]


def test_neighbouring_rows() -> None:
    shape = (4, 32768, 256)
    a, c = ("bfloat16", shape, (8388608, 256, 1)), ("bfloat16", shape, (1, 1024, 4))
    found = lowered("out = mean(cast<float>(a + c), axis=2)", a=a, c=c)
    assert found.steps[0].placed.space.shape == (256, 4, 32768)
    assert "neighbours: a block takes rows that lie side by side in `c`" in found.steps[0].reasons


def transposed(shape: tuple[int, ...], order: tuple[int, ...], seed: int, step: int = 1) -> Any:
    """``order``: of the axes in memory, the slowest first; every ``step``-th element of the fastest one is used."""
    sizes = [shape[a] for a in order]
    sizes[-1] *= step
    values = np.random.default_rng(seed).integers(1, 9, sizes) / 2
    return values.astype(np.float32)[..., ::step].transpose(np.argsort(order))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (2, 1, 0), (1, 2, 0), (0, 2, 1)], ids=str)
def test_every_way_has_the_same_bits(order: tuple[int, ...]) -> None:
    shape = (6, 20, 17)
    programs = [
        (text, {"a": transposed(shape, (0, 1, 2), 1), "b": transposed(shape, order, 2, step=2), "w": w})
        for text in (
            "out = max(a * b - w, axis=1)",
            "s = sum(a * b + w, axis=(0, 2))\nm = min(a - b, axis=(0, 2))",
            "let z = a - b * w\ns = max(abs(z), axis=1, keepdims=true) / 4\nq = cast<i8, sat, rne>(z / s)",
        )
        for w in (transposed((20, 17), (1, 0), 3),)
    ]
    half = transposed(shape, order, 4).astype(np.float16)
    programs.append(("s = sum(cast<float>(h), axis=(0, 2))\nm = max(cast<float>(h), axis=1)", {"h": half}))
    seen: set[str] = set()
    for runs in run_every_way(programs, only=("as chosen", "copied", "stored", "cut", "held by 4", "tiles")):
        seen |= {run.name for run in runs}
        for run in runs[1:]:
            for mine, first in zip(run.results, runs[0].results, strict=True):
                assert np.array_equal(mine, first), run.name
    assert "stored" in seen
    assert any(name.startswith("copied") for name in seen)


@pytest.mark.parametrize("seed", [90001, 90067, 90102, 90146, 90156, 90231, 90245, 90390, 200848])
def test_variants_that_take_too_long_are_not_decided(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same variant as when all kernels of all variants are decided; none takes less than what it takes at least."""
    decided: list[float] = []

    def counted(step: LoweredStep, target: Target) -> float:
        decided.append(seconds_of(step, target))
        return decided[-1]

    monkeypatch.setattr(variant_search, "seconds_of", counted)
    found, few = of_seed(seed), len(decided)

    def all_decided(limit: float, kernels: Sequence[variant_search.Undecided], *rest: Any) -> float:
        seconds = [counted(kernel.decide(), HOPPER) for kernel in kernels]
        assert all(least_seconds_of(k.placed, HOPPER) <= s for k, s in zip(kernels, seconds, strict=True))
        return sum(seconds)

    monkeypatch.setattr(variant_search, "_seconds_within", all_decided)
    whole = of_seed(seed)
    assert (found.specialised.graph, found.schedules) == (whole.specialised.graph, whole.schedules)
    assert few < len(decided) - few


@pytest.mark.filterwarnings("ignore::kgen.LintWarning")
def test_a_buffer_that_nothing_reads_is_no_operand_in_front_of_others() -> None:
    """Of a temporary that the program does not use: values may be stored ahead all the same."""
    x, i = np.arange(128.0).reshape(8, 16), np.array([1, 5, 3])
    text = "let t = max(y, axis=0)[j]; out = max(x * 2 + 1, axis=1)[i]"
    (runs,) = run_every_way([(text, {"x": x.astype(np.float16), "y": x, "i": i, "j": i})], only=("as chosen", "stored"))
    assert {run.name for run in runs} == {"as chosen", "stored"}
    for run in runs:
        np.testing.assert_array_equal(run.results[0], (x * 2 + 1).max(1)[i])
