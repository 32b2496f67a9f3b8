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
def values(torch: Any, dtype: str) -> Any:
    """What arrays are filled with."""
    chosen = torch.Generator("cuda").manual_seed(1)
    kind = getattr(torch, dtype)
    if kind.is_floating_point or kind.is_complex:
        return (torch.rand(MANY, device="cuda", generator=chosen) * 2 + 0.5).to(kind)
    return torch.randint(1, 9, (MANY,), device="cuda", generator=chosen).to(kind)


def arrays_of(torch: Any, one: RandomProgram) -> dict[str, Any]:
    return {name: o.make(torch, values(torch, o.dtype)) for name, o in one.operands.items()}


def compiled(torch: Any, one: RandomProgram, mode: str | None) -> Callable[..., Any] | str:
    """The program under torch.compile, or why PyTorch cannot express it."""
    operands = {name: operand(o.dtype, o.shape, o.strides) for name, o in one.operands.items()}
    try:
        plain = function(one.text, operands)
    except Inexpressible as problem:
        return f"PyTorch cannot express {problem}"
    torch._dynamo.reset()
    found: Callable[..., Any] = torch.compile(plain, dynamic=False, mode=mode)
    return found


def compile_ahead(seed: int, kinds: str) -> None:
    """Leaves the compiled program in the cache on disk."""
    import torch

    torch.set_num_threads(1)
    one = program(seed, tuple(kinds.split(",")))
    try:
        run = compiled(torch, one, None)
        if not isinstance(run, str):
            run(*arrays_of(torch, one).values())
            torch.cuda.synchronize()
    except Exception as problem:  # what is timed meets it again, and reports it
        print(f"while compiling ahead: {type(problem).__name__}")
    torch.cuda.empty_cache()


def same(torch: Any, got: Any, want: Any) -> bool:
    """Whether all but a few elements agree; integers within 1, because quotients round differently."""
    near = 2e-2 if got.dtype.is_floating_point else 1.0
    close = torch.isclose(got.double(), want.double(), rtol=2e-2, atol=near, equal_nan=True)
    return got.shape == want.shape and float((~close).double().mean()) <= MISMATCHES
