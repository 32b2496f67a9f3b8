"""Gradients and tangents of programs on a GPU, beside torch's, through autograd and torch.func."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

import kgen
from kgen.runtime.cuda.driver import probe

from .sanitizer import without_sanitizer

torch: Any = pytest.importorskip("torch", reason="these are gradients of torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of torch about itself
]
Function = Callable[..., Any]

PROGRAMS: dict[str, tuple[str, Function, tuple[tuple[int, ...], ...]]] = {
    "softmax": (
        "let e = exp(x - max(x, axis=-1, keepdims=true))\nout = e / sum(e, axis=-1, keepdims=true)",
        lambda x: torch.softmax(x, -1),
        ((300, 1000),),
    ),
    "layernorm": (
        "let d = x - mean(x, axis=-1, keepdims=true)\n"
        "out = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b",
        lambda x, w, b: torch.nn.functional.layer_norm(x, w.shape, w, b, 1e-5),
        ((300, 1000), (1000,), (1000,)),
    ),
    "batchnorm": (
        "let d = x - mean(x, axis=0)\nout = d * rsqrt(mean(d * d, axis=0) + 1e-5) * w",
        lambda x, w: torch.nn.functional.batch_norm(x, None, None, w, None, True),
        ((3000, 70), (70,)),
    ),
    "swiglu": ("out = silu(a) * b", lambda a, b: torch.nn.functional.silu(a) * b, ((77, 130), (130,))),
    "halves": (
        "let h = size(x, -1) // 2\nout = concat(x[..., :h] * tanh(x[..., h:]), x[..., h:], axis=-1)",
        lambda x: torch.cat((x[..., :50] * torch.tanh(x[..., 50:]), x[..., 50:]), -1),
        ((60, 100),),
    ),
}


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> tuple[kgen.Kernel, Function, list[Any]]:
    text, plain, shapes = PROGRAMS[request.param]
    torch.manual_seed(0)
    return kgen.jit(text), plain, [torch.randn(s, device="cuda", dtype=torch.float64) for s in shapes]


def close(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


def test_reverse_mode(program: tuple[Function, Function, list[Any]]) -> None:
    """First and second derivatives, before and after a function has learnt the layout."""
    kernel, plain, given = program
    leaves = [x.requires_grad_() for x in given]
    for _ in range(3):
        cotangent = torch.randn_like(plain(*given))
        found, want = (torch.autograd.grad(f(*leaves), leaves, cotangent, create_graph=True) for f in (kernel, plain))
        close(found, want)
        along = [torch.randn_like(x) for x in leaves]
        second = [torch.autograd.grad(g, leaves, along, allow_unused=True) for g in (found, want)]
        assert [x is None for x in second[0]] == [x is None for x in second[1]]
        close(*([x for x in each if x is not None] for each in second))


def test_forward_mode(program: tuple[Function, Function, list[Any]]) -> None:
    kernel, plain, given = program
    along = tuple(torch.randn_like(x) for x in given)
    close(*(torch.func.jvp(f, tuple(given), along) for f in (kernel, plain)))
    close(*(torch.func.vmap(lambda x, f=f: f(x, *given[1:]), in_dims=0)(given[0][None]) for f in (kernel, plain)))


def test_what_is_saved_gives_the_same_gradients(program: tuple[kgen.Kernel, Function, list[Any]]) -> None:
    kernel, _, given = program
    forward, backward = kgen.vjp(kernel)
    out, saved = forward(*given)
    close(out, kernel(*given))
    cotangent = torch.randn_like(out)
    close(backward(saved, out_grad=cotangent), kgen.grad(kernel)(*given, out_grad=cotangent))


@pytest.mark.filterwarnings("ignore:The AccumulateGrad node's stream")  # of torch under compute-sanitizer
def test_within_a_captured_graph(program: tuple[Function, Function, list[Any]]) -> None:
    """Forward and backward, replayed on other values."""
    kernel, plain, given = program
    leaves = [x.detach().requires_grad_() for x in given]

    def step() -> Any:
        return torch.autograd.grad(kernel(*leaves).sin().sum(), leaves)

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = step()
    with torch.no_grad():
        for x in given:
            x.copy_(torch.randn_like(x))
    graph.replay()
    close(found, torch.autograd.grad(plain(*leaves).sin().sum(), leaves))


@without_sanitizer
def test_a_language_model_trains_as_torchs() -> None:
    """``examples/training/char_lm.py``: its loss falls, and is that of torch's functions but for rounding."""
    example = run_path(str(Path(__file__).parents[2] / "examples" / "training" / "char_lm.py"))
    setting = example["Setting"](width=128, depth=2, batch=8, tokens=64)
    ours, theirs = (example["train"](backend, 30, setting, "cuda").losses for backend in ("kgen", "torch"))
    assert ours[-1] < 0.9 * ours[0]
    assert max(abs(a - b) for a, b in zip(ours, theirs, strict=True)) < 0.05


#: Of x of (300, 1000) elements and of 300 places y in a row.
PLACES: dict[str, tuple[str, Function]] = {
    "cross-entropy": (
        "loss = sum(logsumexp(x, axis=-1) - x[index(0), y])",
        lambda x, y: torch.nn.functional.cross_entropy(x, y, reduction="sum"),
    ),
    "probabilities": (
        "let p = x * x / sum(x * x, axis=-1, keepdims=true)\nout = p[index(0), y]",
        lambda x, y: (x * x / (x * x).sum(-1, keepdim=True)).gather(1, y[:, None])[:, 0],
    ),
    "sums": ("out = sum(x, axis=0)[y] * x[:, 0]", lambda x, y: x.sum(0)[y] * x[:, 0]),
    "steps": (
        "let t = x * x\nout = t[:, ::2] * t[:, 1::2] + x[:, ::2] * x[:, 1::2]",
        lambda x, y: (x * x)[:, ::2] * (x * x)[:, 1::2] + x[:, ::2] * x[:, 1::2],
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_places(name: str) -> None:
    """Gradients of what is read at places: updates of memory, comparisons, and every other element."""
    text, plain = PLACES[name]
    kernel: Function = kgen.jit(text)
    torch.manual_seed(0)
    y = torch.randint(0, 1000, (300,), device="cuda")
    given = (y,) if "y" in kgen.jit(text).inputs else ()
    for _ in range(3):
        x = torch.randn(300, 1000, device="cuda", dtype=torch.float64, requires_grad=True)
        want = plain(x, y)
        cotangent = torch.randn_like(want)
        found, expected = (torch.autograd.grad(out, x, cotangent) for out in (kernel(x, *given), want))
        close(found, expected)


@pytest.mark.parametrize("deterministic", [False, True])
def test_updated_temporaries(deterministic: bool) -> None:
    """The softmax over the elements of each node, which reads sums after all updates of them."""
    text = "let n = where(true, 0, nodes)\nn[i] += exp(s)\nout = exp(s) / n[i]"
    kernel: Any = kgen.jit(text, deterministic=deterministic)
    i = torch.randint(0, 5000, (100_000,), device="cuda")
    nodes = torch.zeros(5000, device="cuda", dtype=torch.float64)
    for _ in range(3):
        s = torch.randn(100_000, device="cuda", dtype=torch.float64)
        sums = torch.zeros_like(nodes).index_add(0, i, s.exp())
        close(kernel(nodes=nodes, i=i, s=s), s.exp() / sums[i])
