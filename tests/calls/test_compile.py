"""Plain kernels called in functions that torch.compile compiles: opaque calls between two graphs."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import kgen

torch: Any = pytest.importorskip("torch", reason="torch.compile is torch's")
pytestmark = [pytest.mark.filterwarnings("error"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


class Graphs:
    """A backend that runs what it is given, and keeps the names of the calls in it."""

    def __init__(self) -> None:
        self.called: list[list[str]] = []

    def __call__(self, graph: Any, inputs: Any) -> Any:
        self.called.append([node.name for node in graph.graph.nodes if node.op.startswith("call")])
        return graph


def test_a_call_is_a_graph_break() -> None:
    """Two graphs, of the function's own operations; nothing of kgen's is traced, whatever the call looks like."""
    first, second = kgen.jit("out = a * 2 + b", device="cpu"), kgen.jit("out = a * 3 + b", device="cpu")
    graphs = Graphs()
    f = torch.compile(lambda a, b: second(first(a + 1, b), b) - 1, backend=graphs)
    for shape in [(8,), (8,), (8,), (3, 4), (3, 4), (3, 4), (5, 7), (5, 7)]:
        for _ in range(2):
            a, b = torch.randn(shape), torch.randn(shape)
            assert torch.equal(f(a, b), (((a + 1) * 2 + b) * 3 + b) - 1)
    assert {name for called in graphs.called for name in called} == {"add", "sub"}


def test_kernels_of_one_form_keep_apart() -> None:
    """What torch attaches to the code of one kernel's calls is never run for another's."""
    kernels = [kgen.jit(f"out = a * {n} + b", device="cpu") for n in range(4)]
    a, b = torch.randn(9), torch.randn(9)
    for _ in range(2):
        for n, k in enumerate(kernels):
            f = torch.compile(lambda a, b, k=k: k(a, b).relu(), backend="eager")
            assert torch.equal(f(a, b), (a * n + b).relu())
            torch._dynamo.reset()


@pytest.mark.parametrize(
    "use",
    [
        lambda k, a: k.plan(a)(),
        lambda k, a: k(a, out=torch.empty_like(a)),
        lambda k, a: torch.zeros(k.meta(a).shape) + k(a),
    ],
    ids=["plan", "out", "meta"],
)
def test_other_uses(use: Callable[[Any, Any], Any]) -> None:
    k = kgen.jit("out = a + 1", device="cpu")
    f = torch.compile(lambda a: use(k, a * 2) - 1, backend="eager")
    for n in (4, 4, 4, 6, 6):
        a = torch.randn(n)
        assert torch.equal(f(a), (a * 2 + 1) - 1)


def test_gradients_flow() -> None:
    """Between two graphs a kernel records gradients as it does without torch.compile."""
    warnings.simplefilter("ignore", UserWarning)  # Dynamo looks at .grad of what a kernel returns
    k = kgen.jit("out = a * a", device="cpu")
    f = torch.compile(lambda a: k(a) * 2, backend="eager")
    a = torch.randn(4)
    for _ in range(3):
        f(a)
        x = torch.randn(4, requires_grad=True)
        f(x).sum().backward()
        torch.testing.assert_close(x.grad, 4 * x.detach())
        with torch.no_grad():
            f(torch.randn(4, requires_grad=True))


def test_full_graph_says_what_to_write() -> None:
    """torch's error names the kernel's call and the operator to make instead."""
    k = kgen.jit("out = a + 1", device="cpu")
    f = torch.compile(lambda a: k(a) * 2, backend="eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"Kernel\.__call__[^$]*kgen\.torch\.op"):
        f(torch.randn(4))


_LATE = """
import warnings
import numpy as np
import kgen
called, fresh = (kgen.jit(f"out = a * {n} + b", device="cpu") for n in (2, 3))
for shape in [(4,), (4,), (5,), (5,), (6,)]:
    x = np.ones(shape, np.float32)
    called(x, x)
import torch
warnings.simplefilter("error")
def f(a, b):
    return fresh(called(a + 1, b), b) - 1
compiled = torch.compile(f, backend="eager")
for shape in [(8,), (8,), (8,), (3, 4), (3, 4)]:
    a, b = torch.randn(shape), torch.randn(shape)
    assert torch.equal(compiled(a, b), (((a + 1) * 2 + b) * 3 + b) - 1)
"""


@pytest.mark.new_process
def test_torch_that_comes_later() -> None:
    """Kernels that were made, and called on NumPy arrays, before torch was imported."""
    subprocess.run([sys.executable, "-c", _LATE], check=True, timeout=300)
