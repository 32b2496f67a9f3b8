"""torch.compile on random programs: compiled ahead in other processes, and found again in its cache on disk."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from benchmarks.random_programs import RandomProgram, program
from benchmarks.torch_programs import Inexpressible, function, operand

MANY = 1 << 20  # different values in an array
MISMATCHES = 1e-3  # the fraction of elements that may differ: where rounding decides a comparison


@cache
def values(torch: Any, dtype: str, below: int = 0) -> Any:
    """What arrays are filled with; ``below``: indices from 0 to it."""
    chosen = torch.Generator("cuda").manual_seed(1)
    kind = getattr(torch, dtype)
    if below:
        return torch.randint(0, below, (MANY,), device="cuda", generator=chosen).to(kind)
    if kind.is_floating_point or kind.is_complex:
        return (torch.rand(MANY, device="cuda", generator=chosen) * 2 + 0.5).to(kind)
    return torch.randint(1, 9, (MANY,), device="cuda", generator=chosen).to(kind)


def arrays_of(torch: Any, one: RandomProgram) -> dict[str, Any]:
    return {name: o.make(torch, values(torch, o.dtype, o.below)) for name, o in one.operands.items()}


def translated(one: RandomProgram) -> Callable[..., Any] | str:
    """The program in PyTorch, or why PyTorch cannot express it."""
    operands = {name: operand(o.dtype, o.shape, o.strides) for name, o in one.operands.items()}
    try:
        return function(one.text, operands)
    except Inexpressible as problem:
        return f"PyTorch cannot express {problem}"


def compiled(torch: Any, plain: Callable[..., Any], mode: str | None) -> Callable[..., Any]:
    """The function under torch.compile."""
    torch._dynamo.reset()
    found: Callable[..., Any] = torch.compile(plain, dynamic=False, mode=mode)
    return found


def compile_ahead(seed: int, kinds: str, mode: str | None = None) -> None:
    """Leaves the compiled program in the cache on disk."""
    import torch

    torch.set_num_threads(1)
    one = program(seed, tuple(kinds.split(",")))
    try:
        plain = translated(one)
        if not isinstance(plain, str):
            compiled(torch, plain, mode)(*arrays_of(torch, one).values())
            torch.cuda.synchronize()
    except Exception as problem:  # what is timed meets it again, and reports it
        print(f"while compiling ahead: {type(problem).__name__}")
    torch.cuda.empty_cache()


def same(torch: Any, got: Any, want: Any) -> bool:
    """Whether all but a few elements agree; integers within 1, because quotients round differently."""
    if got.shape != want.shape:
        return False
    exact = not (got.dtype.is_floating_point or got.dtype.is_complex)
    wide = torch.complex128 if got.dtype.is_complex else torch.float64
    close = torch.isclose(got.to(wide), want.to(wide), rtol=2e-2, atol=1.0 if exact else 2e-2, equal_nan=True)
    return float((~close).double().mean()) <= MISMATCHES
