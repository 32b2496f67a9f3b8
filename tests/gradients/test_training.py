"""The programs of ``examples/training`` and their gradients are those of torch's functions."""

from __future__ import annotations

from collections.abc import Callable
from runpy import run_path
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.load import load
from tests.test_architecture import ROOT

from .oracle import gradients, run

torch: Any = pytest.importorskip("torch", reason="its functions are the reference")
F: Any = torch.nn.functional
TRAINING = ROOT / "examples" / "training"
RNG = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def labels(*shape: int) -> Any:
    return RNG.integers(0, 2, shape).astype(np.float64)


def smoothed(logits: Any, label: Any, smoothing: float, z_weight: float) -> Any:
    total = torch.logsumexp(logits, -1)
    loss = F.cross_entropy(logits, label.long(), label_smoothing=smoothing, reduction="none")
    return loss + z_weight * total * total


def rope(x: Any, cos: Any, sin: Any) -> Any:
    a, b = x.chunk(2, -1)
    c, s = cos[:, None], sin[:, None]
    return torch.cat((a * c - b * s, b * c + a * s), -1)


def focal(logit: Any, label: Any, alpha: float, gamma: float) -> Any:
    p = torch.sigmoid(logit)
    entropy = F.binary_cross_entropy_with_logits(logit, label, reduction="none")
    miss = p * (1 - label) + (1 - p) * label
    return (alpha * label + (1 - alpha) * (1 - label)) * miss**gamma * entropy


def groupnorm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    batch, groups, channels, places = x.shape
    flat = x.reshape(batch, groups * channels, places)
    return F.group_norm(flat, groups, weight.flatten(), bias.flatten(), eps).reshape(x.shape)


#: By program: its arguments, those with gradients, and the same in torch.
CASES: dict[str, tuple[dict[str, Any], list[str], Callable[..., Any]]] = {
    "cross_entropy_smoothed": (
        {"logits": normal(5, 7), "label": np.arange(5) % 7, "smoothing": 0.1, "z_weight": 1e-2}, ["logits"], smoothed,
    ),
    "groupnorm": (
        {"x": normal(2, 3, 4, 5), "weight": normal(3, 4), "bias": normal(3, 4), "eps": 1e-5}, ["x", "weight", "bias"],
        groupnorm,
    ),
    "geglu": ({"x": normal(4, 10)}, ["x"], lambda x: F.gelu(x[:, :5]) * x[:, 5:]),
    "rope": ({"x": normal(2, 3, 4, 6), "cos": normal(3, 3), "sin": normal(3, 3)}, ["x"], rope),
    "huber": (
        {"predicted": 2 * normal(20), "target": normal(20), "delta": 0.7}, ["predicted", "target"],
        lambda p, t, delta: F.huber_loss(p, t, reduction="none", delta=delta),
    ),
    "focal_loss": ({"logit": normal(20), "label": labels(20), "alpha": 0.25, "gamma": 2.0}, ["logit"], focal),
    "network": (
        {"x": normal(6), "w": normal(5), "b": normal(5), "v": normal(5)}, ["x", "w", "b", "v"],
        lambda x, w, b, v: (torch.tanh(x[:, None] * w + b) * v).sum(-1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_programs_and_gradients(name: str) -> None:
    values, wrt, plain = CASES[name]
    text = (TRAINING / f"{name}.k").read_text(encoding="utf-8")
    given = {n: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for n, v in values.items()}
    leaves = [given[n].requires_grad_() for n in wrt]
    expected = plain(*given.values())
    program = load(text)
    (output,) = (o.name for o in program.outputs)
    np.testing.assert_allclose(run(program, values)[output], expected.detach(), rtol=1e-10, atol=1e-12)
    cotangent = torch.randn_like(expected)
    found = gradients(text, values, wrt, {output: cotangent.numpy()})
    for own, other in zip(wrt, torch.autograd.grad(expected, leaves, cotangent), strict=True):
        np.testing.assert_allclose(found[own], other, rtol=1e-9, atol=1e-11)


FUSED = "cross_entropy_and_gradient"


def test_a_loss_and_its_gradient_in_one_kernel() -> None:
    values = {"logits": normal(5, 7), "label": np.array([6, 0, 3, 3, 1])}
    logits = torch.from_numpy(values["logits"]).requires_grad_()
    loss = F.cross_entropy(logits, torch.from_numpy(values["label"]), reduction="none")
    found = run(load((TRAINING / f"{FUSED}.k").read_text(encoding="utf-8")), values)
    np.testing.assert_allclose(found["loss"], loss.detach(), rtol=1e-6)
    np.testing.assert_allclose(found["logits_grad"], torch.autograd.grad(loss.sum(), logits)[0], atol=1e-12)


def test_every_program_is_tested() -> None:
    assert sorted([*CASES, FUSED]) == sorted(path.stem for path in TRAINING.glob("*.k"))


@pytest.mark.whole
def test_a_loss_with_second_derivatives() -> None:
    """Its value and the gradients of the weights are those of torch's own functions."""
    example = run_path(str(ROOT / "examples" / "training" / "pinn.py"))
    network = kgen.jit(path=TRAINING / "network.k", device="cpu")
    found = []
    for function in (network, CASES["network"][2]):
        x, weights = example["start"](8, 20, "cpu")
        loss = example["loss_of"](function, x, weights)
        found.append((loss, *torch.autograd.grad(loss, weights)))
    torch.testing.assert_close(*found)


@pytest.mark.whole
def test_a_language_model_trains_as_torchs() -> None:
    """``examples/training/char_lm.py``, a few steps of a small one; ``tests/gpu`` has more."""
    example = run_path(str(ROOT / "examples" / "training" / "char_lm.py"))
    setting = example["Setting"](width=64, depth=1, batch=2, tokens=16)
    ours, theirs = (example["train"](backend, 3, setting, "cpu").losses for backend in ("kgen", "torch"))
    np.testing.assert_allclose(ours, theirs, atol=0.02)
