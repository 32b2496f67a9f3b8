"""``examples/gradients`` has the backward programs of other examples as ``kgen grad`` writes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kgen.call.gradient import gradient_text
from kgen.compile_spec import CompileSpec
from kgen.load import load
from tests.test_architecture import ROOT

Bless = Callable[[Path, str], None]

ROWS = (None, None)
#: By example: the shapes of its inputs, and the arguments whose gradients the file has.
EXAMPLES: dict[str, tuple[dict[str, tuple[None, ...]], list[str] | None]] = {
    "softmax": ({"x": ROWS}, None),
    "rmsnorm": ({"x": ROWS, "weight": (None,)}, ["x", "weight"]),
    "layernorm": ({"x": ROWS, "weight": (None,), "bias": (None,)}, ["x", "weight", "bias"]),
    "swiglu": ({"gate": ROWS, "up": ROWS}, ["gate", "up"]),
    "gelu": ({"x": ROWS, "bias": (None,)}, None),
    "cross_entropy": ({"logits": ROWS, "label": (None,)}, ["logits"]),
    "cosine": ({"a": ROWS, "b": ROWS}, None),
    "mse": ({"predicted": ROWS, "target": ROWS}, ["predicted"]),
    "training/cross_entropy_smoothed": ({"logits": ROWS, "label": (None,)}, ["logits"]),
    "training/groupnorm": ({"x": 2 * ROWS, "weight": ROWS, "bias": ROWS}, ["x", "weight", "bias"]),
    "training/geglu": ({"x": ROWS}, None),
    "training/rope": ({"x": 2 * ROWS, "cos": ROWS, "sin": ROWS}, ["x"]),
    "training/huber": ({"predicted": ROWS, "target": ROWS}, ["predicted"]),
    "training/focal_loss": ({"logit": ROWS, "label": ROWS}, ["logit"]),
    "training/network": ({"x": (None,), "w": (None,), "b": (None,), "v": (None,)}, None),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_current(name: str, bless: Bless) -> None:
    shapes, wrt = EXAMPLES[name]
    program = load((ROOT / "examples" / f"{name}.k").read_text(encoding="utf-8"))
    dtypes = {n: "i32" if n == "label" else "f32" for n in shapes}
    text = gradient_text(program, CompileSpec(dtypes, shapes).operands(program), wrt)
    bless(
        ROOT / "examples" / "gradients" / f"{name.rpartition('/')[2]}_gradient.k",
        f"# The gradients of ../{name}.k, as `kgen grad` writes them.\n{text}",
    )
