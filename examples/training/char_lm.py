"""Train a small language model on characters; its norm, rotation, activation and loss are kgen programs, or torch's.

The text is made on the spot: sums such as ``417+58=475``, one a line.  ``--backend kgen`` calls kernels of kgen and
gets their gradients, ``torch`` is the same model of torch's functions, ``compile`` the latter under torch.compile.
All begin with the same weights and see the same text, so that their losses agree but for rounding.  On a GPU a whole
step is one CUDA graph, so that the times are those of the GPU.

    python examples/training/char_lm.py --steps 300 --backend kgen
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import kgen

CHARACTERS = "\n0123456789+="
SMOOTHING, Z_LOSS = 0.05, 1e-4
HEAD = 64  # elements of one head

Function = Callable[..., Any]


@dataclass(frozen=True)
class Functions:
    """The parts of the model that a backend has.

    ``norm(x, weight)``; ``add_norm(x, more, weight)`` with the sum and its norm; ``gate(x)``, of two halves;
    ``rotate(x, cos, sin)`` of ``x: [batch, tokens, heads, size]``; ``loss(logits, label)``, a number for each token.
    """

    norm: Function
    add_norm: Function
    rotate: Function
    gate: Function
    loss: Function


def kgen_functions() -> Functions:
    return Functions(
        norm=kgen.jit(
            """
            input x, weight
            y = cast<bf16>(x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-5) * weight)
            """,
            name="norm",
        ),
        add_norm=kgen.jit(
            """
            input x, more, weight
            total = x + more
            y = cast<bf16>(total * rsqrt(mean(total * total, axis=-1, keepdims=true) + 1e-5) * weight)
            """,
            name="add_norm",
        ),
        rotate=kgen.jit(
            """
            input x, cos, sin
            let h = size(x, -1) // 2
            let a = x[..., :h]
            let b = x[..., h:]
            let c = expand(cos, axis=1)
            let s = expand(sin, axis=1)
            y = cast<typeof(x)>(concat(a * c - b * s, b * c + a * s, axis=-1))
            """,
            name="rotate",
        ),
        gate=kgen.jit(
            """
            let h = size(x, -1) // 2
            y = silu(x[..., :h]) * x[..., h:]
            """,
            name="gate",
        ),
        loss=kgen.jit(
            f"""
            # Cross-entropy with label smoothing, and a loss that keeps the logarithm of the sum near 0.
            input logits, label
            let x = cast<f32>(logits)
            let total = logsumexp(x, axis=-1)
            let own = sum(index(-1) == expand(label, axis=1) ? x : 0, axis=-1)
            let target = {1 - SMOOTHING} * own + {SMOOTHING} * mean(x, axis=-1)
            loss = total - target + {Z_LOSS} * total * total
            """,
            name="loss",
        ),
    )


def torch_functions() -> Functions:
    def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        a, b = x.chunk(2, dim=-1)
        c, s = cos[:, None], sin[:, None]
        return torch.cat((a * c - b * s, b * c + a * s), dim=-1).to(x.dtype)

    def gate(x: Tensor) -> Tensor:
        a, b = x.chunk(2, dim=-1)
        return F.silu(a) * b

    def norm(x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, weight.shape, weight, 1e-5)

    def loss(logits: Tensor, label: Tensor) -> Tensor:
        x = logits.float()
        total = torch.logsumexp(x, dim=-1)
        return F.cross_entropy(x, label, label_smoothing=SMOOTHING, reduction="none") + Z_LOSS * total * total

    return Functions(
        norm=norm,
        add_norm=lambda x, more, weight: (x + more, norm(x + more, weight)),
        rotate=rotate,
        gate=gate,
        loss=loss,
    )


class Block(nn.Module):
    def __init__(self, width: int, functions: Functions) -> None:
        super().__init__()
        self.functions = functions
        self.norm = nn.Parameter(torch.ones(width))
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.project = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 6 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x: Tensor, y: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        """``x``: the sum of what came before, ``y``: its norm.  Returns the sum and what is to be added to it."""
        f = self.functions
        batch, tokens, width = x.shape
        q, k, v = self.qkv(y).view(batch, tokens, 3, -1, HEAD).unbind(2)
        q, k = (f.rotate(each, cos, sin).transpose(1, 2) for each in (q, k))
        mixed = F.scaled_dot_product_attention(q, k, v.transpose(1, 2), is_causal=True)
        x, y = f.add_norm(x, self.project(mixed.transpose(1, 2).reshape(batch, tokens, width)), self.norm)
        return x, self.down(f.gate(self.up(y)))


class Model(nn.Module):
    cos: Tensor
    sin: Tensor

    def __init__(self, width: int, depth: int, tokens: int, functions: Functions) -> None:
        super().__init__()
        self.functions = functions
        self.embedding = nn.Embedding(len(CHARACTERS), width)
        self.blocks = nn.ModuleList(Block(width, functions) for _ in range(depth))
        self.norms = nn.ParameterList(torch.ones(width) for _ in range(depth + 1))
        self.head = nn.Linear(width, len(CHARACTERS), bias=False)
        angles = torch.outer(torch.arange(tokens), 10000.0 ** (-torch.arange(0, HEAD, 2) / HEAD))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, text: Tensor) -> Tensor:
        """The mean loss of the next character."""
        f = self.functions
        x = self.embedding(text[:, :-1])
        y = f.norm(x, self.norms[0])
        for block, weight in zip(self.blocks, self.norms[1:], strict=True):
            x, more = block(x, y, self.cos, self.sin)
            x, y = f.add_norm(x, more, weight)
        logits = self.head(y)
        loss: Tensor = f.loss(logits.flatten(0, 1), text[:, 1:].flatten()).mean()
        return loss


def batch_of(generator: torch.Generator, size: int, tokens: int) -> Tensor:
    """``[size, tokens + 1]``: sums of random numbers, as places in :data:`CHARACTERS`."""
    numbers = torch.randint(0, 1000, (size, tokens // 5 + 1, 2), generator=generator).tolist()
    rows = ["\n".join(f"{a}+{b}={a + b}" for a, b in row)[: tokens + 1] for row in numbers]
    return torch.tensor([[CHARACTERS.index(c) for c in row] for row in rows])


@dataclass(frozen=True)
class Result:
    """``losses``: of every step; ``seconds``: of one step, the median."""

    losses: list[float]
    seconds: float


@dataclass(frozen=True)
class Setting:
    width: int = 512
    depth: int = 6
    batch: int = 64
    tokens: int = 256


def train(backend: str, steps: int, setting: Setting, device: str) -> Result:
    """Train from the same start with the same batches."""
    torch.manual_seed(0)
    functions = kgen_functions() if backend == "kgen" else torch_functions()
    model = Model(setting.width, setting.depth, setting.tokens, functions).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=device == "cuda", foreach=device == "cuda")
    forward = torch.compile(model) if backend == "compile" else model
    text = batch_of(torch.Generator().manual_seed(1), setting.batch, setting.tokens).to(device)
    loss = torch.zeros((), device=device)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16):
            found = forward(text)
        found.backward()
        optimizer.step()
        loss.copy_(found.detach())

    run = _captured(step, model, optimizer) if device == "cuda" else step
    generator = torch.Generator().manual_seed(2)
    losses, seconds = [], []
    for _ in range(steps):
        text.copy_(batch_of(generator, setting.batch, setting.tokens))
        before = _now(device)
        run()
        seconds.append(_now(device) - before)
        losses.append(loss.item())
    return Result(losses, sorted(seconds)[len(seconds) // 2])


def _captured(step: Callable[[], None], model: nn.Module, optimizer: torch.optim.Optimizer) -> Callable[[], None]:
    """The step as a CUDA graph.  Steps that compile and warm up are undone, so that training begins at the start."""
    weights = [p.detach().clone() for p in model.parameters()]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    with torch.no_grad():
        for parameter, weight in zip(model.parameters(), weights, strict=True):
            parameter.copy_(weight)
        for state in optimizer.state.values():
            for value in state.values():
                value.zero_()
    return graph.replay


def _now(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--backend", choices=("kgen", "torch", "compile"), default="kgen")
    for name, default in vars(Setting()).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = vars(parser.parse_args())
    steps, backend = options.pop("steps"), options.pop("backend")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    result = train(backend, steps, replace(Setting(), **options), device)
    for number in range(0, steps, max(1, steps // 10)):
        print(f"step {number:5}  loss {result.losses[number]:.4f}")
    print(f"step {steps - 1:5}  loss {result.losses[-1]:.4f}")
    print(f"{backend}: {result.seconds * 1e3:.2f} ms a step, on {device}")


if __name__ == "__main__":
    main()
