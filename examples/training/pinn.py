"""Solve u'' = -u with u(0) = 0 and u'(0) = 1 by a network: the loss has second derivatives of a kernel.

torch differentiates the kernel three times: by x for u' and u'', and by the weights for the step.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch

import kgen


def derivative(u: Any, x: Any) -> Any:
    return torch.autograd.grad(u.sum(), x, create_graph=True)[0]


def loss_of(network: Any, x: Any, weights: list[Any]) -> Any:
    """The mean square of the residual, and of what is wrong at 0."""
    u = network(x, *weights)
    slope = derivative(u, x)
    residual = derivative(slope, x) + u
    return (residual * residual).mean() + u[0] ** 2 + (slope[0] - 1) ** 2


def start(width: int, points: int, device: str) -> tuple[Any, list[Any]]:
    """Points from 0 to 3, and weights that are the same at every run."""
    make = torch.Generator().manual_seed(0)
    weights = [torch.randn(width, generator=make, dtype=torch.float64).to(device).requires_grad_() for _ in range(3)]
    return torch.linspace(0, 3, points, dtype=torch.float64, device=device).requires_grad_(), weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=1500)
    steps = parser.parse_args().steps
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = kgen.jit(path=Path(__file__).parent / "network.k")
    x, weights = start(32, 200, device)
    optimizer = torch.optim.Adam(weights, lr=0.01)
    for step in range(steps):
        loss = loss_of(network, x, weights)
        optimizer.zero_grad()
        loss.backward(inputs=weights)
        optimizer.step()
        if step % max(1, steps // 10) == 0:
            print(f"step {step:5}  loss {loss.item():.2e}")
    error = (network(x, *weights) - x.sin()).abs().max().item()
    print(f"the largest error of u on [0, 3] is {error:.1e}, on {device}")


if __name__ == "__main__":
    main()
