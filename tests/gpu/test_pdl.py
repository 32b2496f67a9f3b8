"""Chains of kernels that start early (programmatic dependent launch), alone and mixed with torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import kgen
from kgen.runtime.cuda.driver import probe

from .sanitizer import sized

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]


def links(torch: Any, ones: Any) -> tuple[list[Callable[..., Any]], list[Callable[..., Any]]]:
    """Kernels of which each reads what other blocks of the one before wrote; and the same by torch."""
    tiled = kgen.jit("input x, y\nout = x * 3 + y")
    columns = kgen.jit("input x\nout = cast<i32>(sum(x, axis=0)) + x")
    theirs = [
        lambda x, y: y.copy_(x.T * 3 + ones),
        lambda x, y: y.copy_(x.T.sum(0, dtype=torch.int32) + x.T),
        lambda x, y: torch.mul(x.T, 5, out=y),
    ]
    ours = [lambda x, y: tiled(x.T, ones, out=y), lambda x, y: columns(x.T, out=y)]
    return ours, theirs


@pytest.mark.parametrize("n", [64, 500, 2048])
@pytest.mark.parametrize("mixed", [False, True], ids=["alone", "mixed"])
@pytest.mark.parametrize("graphed", [False, True], ids=["stream", "graph"])
def test_each_kernel_sees_what_the_one_before_wrote(n: int, mixed: bool, graphed: bool) -> None:
    """Many launches, each of which depends on all of the one before; int32 wraps, so every bit counts."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    first = torch.arange(n * n, device="cuda", dtype=torch.int32).reshape(n, n) % 1000
    ones = torch.ones_like(first)
    ours, theirs = links(torch, ones)
    order = [0, 1, 2] if mixed else [0, 1]
    a, b = first.clone(), torch.zeros_like(first)

    def chain(functions: list[Callable[..., Any]]) -> None:
        for number in range(sized(1000, 20)):
            x, y = (a, b) if number % 2 == 0 else (b, a)
            functions[order[number % len(order)]](x, y)

    chain(theirs)
    wanted = a.clone()

    def run() -> None:
        chain([*ours, theirs[2]])

    repeat: Callable[[], Any] = run
    if graphed:
        run()  # compiles
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run()
        repeat = graph.replay
    for _ in range(sized(3, 1)):
        a.copy_(first)
        b.zero_()
        repeat()
        torch.testing.assert_close(a, wanted, rtol=0, atol=0)
