"""``pipeline.lower``: what is known of operands in, everything decided out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kgen
from kgen import pipeline
from kgen.argument_types import WeakArg
from kgen.call.cached_lowering import CachedLowering
from kgen.diagnostics import KgenError
from kgen.dtypes import FLOAT32, Kind
from kgen.operands import ArrayOperand, Operands
from kgen.partition.step import Step
from kgen.schedule.facts import Choice
from kgen.schedule.step_layout import Placed

SOFTMAX = "let e = exp(x - max(x, axis=-1, keepdims=true))\ny = e / sum(e, axis=-1, keepdims=true)"

#: Operands lie in different orders, so that variants with copies are compared.
PERMUTED = "let z = a * b\ny = z / sum(z, axis=0, keepdims=true)"
LAYOUTS = {
    "a": ArrayOperand(FLOAT32, (512, 64, 256)),
    "b": ArrayOperand(FLOAT32, (512, 64, 256), (1, 512, 512 * 64)),
}


def operand(*shape: int | None, address: int = 0) -> ArrayOperand:
    return ArrayOperand(FLOAT32, shape, None, address)


def test_everything_is_decided() -> None:
    """Extents, arrays with those that a call allocates, and for each step its place, schedule, reasons and launch."""
    lowered = pipeline.lower(pipeline.load("y = a * b"), Operands({"a": operand(8, 4), "b": operand(4)}))
    assert [a.shape for a in lowered.arrays] == [(8, 4), (4,), (8, 4)]
    assert lowered.arrays[2].strides == (4, 1)
    (step,) = lowered.steps
    assert step.reasons
    assert step.placed.points == 32
    assert step.launch.block == (step.schedule.block, 1, 1)


def test_an_extent_that_is_not_known() -> None:
    """It stands in for itself: no reason names it, and a known one decides as ever."""
    program = pipeline.load(SOFTMAX)
    unknown = pipeline.lower(program, Operands({"x": operand(None, 1000)}))
    (dim,) = unknown.sizes.assumed
    assert not any(str(unknown.sizes.extents[dim]) in reason for s in unknown.steps for reason in s.reasons)
    known = pipeline.lower(program, Operands({"x": operand(64, 1000)}))
    assert not known.sizes.assumed
    assert known.sizes.are_known(("n0", "n1", 1))


def test_what_does_not_broadcast() -> None:
    """The same diagnostic, with its place, whether extents are typed at once or found later."""
    program = pipeline.load("y = a * b")
    with pytest.raises(KgenError) as found:
        pipeline.lower(program, Operands({"a": operand(8, 4), "b": operand(3)}))
    assert found.value.diagnostics[0].at is not None
    lowering = CachedLowering(program)
    lowering(Operands({"a": operand(8, 4), "b": operand(4)}))
    with pytest.raises(KgenError) as again:
        lowering(Operands({"a": operand(8, 4), "b": operand(3)}))
    assert again.value.diagnostics == found.value.diagnostics


def test_a_given_output_is_checked() -> None:
    with pytest.raises(KgenError, match="out= for `y` is"):
        pipeline.lower(pipeline.load("y = a + 1"), Operands({"a": operand(4)}, {"y": operand(5)}))


def test_strides_fit_their_shape() -> None:
    wrong = ArrayOperand(FLOAT32, (4, 4), (1,))
    with pytest.raises(KgenError, match="`a` has 2 dimensions and 1 stride"):
        pipeline.lower(pipeline.load("y = a + 1"), Operands({"a": wrong}))


def test_a_lowering_remembers() -> None:
    """Typed once for each class of arguments, decided once for each layout and alignment."""
    lowering = CachedLowering(pipeline.load("param k = 1\ny = a * k"))
    weak = WeakArg(Kind.INT)
    first = lowering(Operands({"a": operand(8), "k": weak}))
    assert lowering(Operands({"a": operand(8), "k": weak})) is first
    assert lowering(Operands({"a": operand(8, address=16), "k": weak})) is first
    shifted = lowering(Operands({"a": operand(8, address=4), "k": weak}))
    assert shifted is not first
    assert shifted.specialised is first.specialised
    assert lowering(Operands({"a": operand(9), "k": weak})).specialised is first.specialised
    assert lowering(Operands({"a": operand(1), "k": weak})).specialised is not first.specialised
    assert lowering(Operands({"a": operand(8), "k": WeakArg(Kind.FLOAT)})).specialised is not first.specialised


def test_calls_and_texts_are_lowered_alike() -> None:
    """What a call decided for arrays is what ``source`` shows of them."""
    kernel = kgen.jit(SOFTMAX, device="cpu")
    x = np.ones((64, 100), np.float32)
    kernel(x)
    (called,) = kernel._engine._records
    assert called.schedules[0].to_dict() == kernel.explain(x).steps[0].schedule
    assert kernel._engine.lowering(Operands({"x": operand(64, 100, address=x.ctypes.data)})) is called


def test_a_step_is_decided_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where variants are compared, and their addresses are those that the search has."""
    known = pipeline.lower(pipeline.load(PERMUTED), Operands(LAYOUTS))
    decided: list[tuple[int, object]] = []
    schedule = pipeline.schedule

    def counted(step: Step, placed: Placed, *rest: Any, **how: Any) -> Choice:
        decided.append((id(step), placed))
        return schedule(step, placed, *rest, **how)

    monkeypatch.setattr(pipeline, "schedule", counted)
    lowered = CachedLowering(pipeline.load(PERMUTED))(Operands(LAYOUTS))
    assert lowered.schedules == known.schedules
    assert len(set(decided)) == len(decided) > len(lowered.steps)
