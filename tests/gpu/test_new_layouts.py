"""Calls on a GPU with layouts that the kernel has never seen: most have the kernel of another layout."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import kgen
from kgen.call.engine import Engine
from kgen.runtime.cuda.driver import probe

from .sanitizer import sized

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

torch: Any = pytest.importorskip("torch", reason="these tests pass torch's CUDA tensors")


def _new(*shape: int) -> Any:
    return torch.randint(-99, 99, shape, device="cuda", dtype=torch.float32)


def _sizes(rng: Random, rank: int) -> list[int]:
    most = {2: 1500, 3: 120}[rank]
    return [round(most ** rng.random()) for _ in range(rank)]


def _transposed(rng: Random) -> tuple[Any, Any]:
    n, m = _sizes(rng, 2)
    return _new(n, m), _new(m, n).T


def _permuted(rng: Random) -> tuple[Any, Any]:
    order, shape = rng.sample(range(3), 3), _sizes(rng, 3)
    back = [order.index(d) for d in range(3)]
    return _new(*shape), _new(*(shape[d] for d in order)).permute(*back)


def _strided(rng: Random) -> tuple[Any, Any]:
    n, m = _sizes(rng, 2)
    step, first = rng.randrange(1, 4), rng.randrange(4)
    return _new(n, m * step + first)[:, first::step][:, :m], _new(n, m)


def _broadcast(rng: Random) -> tuple[Any, Any]:
    n, m = _sizes(rng, 2)
    return _new(n, m), rng.choice((_new(m), _new(n, 1), _new(1, 1), _new(m, 1).T))


WANTED: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "out = a + b": lambda a, b: (a + b,),
    "s = a * b; d = a - b": lambda a, b: (a * b, a - b),
    "out = stack(a + b, a - b, axis=0)": lambda a, b: (torch.stack((a + b, a - b)),),
}


@pytest.mark.parametrize("arrays", [_transposed, _permuted, _strided, _broadcast])
@pytest.mark.parametrize("text", WANTED)
def test_new_layouts(arrays: Callable[[Random], tuple[Any, Any]], text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, rng = kgen.jit(text), Random(f"{arrays.__name__} {text}")
    lowered: list[None] = []
    call = Engine.call

    def counted(*args: Any, **named: Any) -> Any:
        lowered.append(None)
        return call(*args, **named)

    monkeypatch.setattr(Engine, "call", counted)
    count = sized(250, 20)
    for _ in range(count):
        a, b = arrays(rng)
        found = kernel(a, b)
        for one, other in zip(found if isinstance(found, tuple) else (found,), WANTED[text](a, b), strict=True):
            assert torch.equal(one, other), (a.shape, a.stride(), b.shape, b.stride())
    assert len(lowered) < sized(0.9, 1.1) * count  # of 20, each may be the first of its class
