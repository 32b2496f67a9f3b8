"""The workloads of ``serving.py``: a program, its arguments for a number of tokens, and the same by torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

WIDTHS = (4096, 2048, 5120, 8192)
GROUP = 128  # elements that share a scale, where not whole rows do

Arrays = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Work:
    """``make``: the arguments for a number of tokens and a width.  ``reference``: the same by torch.  ``widths``: the
    first is that of ``--quick``.
    """

    name: str
    program: str
    make: Callable[[Any, int, int], Arrays]
    reference: Callable[[Any], Callable[..., Any]]
    widths: tuple[int, ...] = WIDTHS


def _randn(torch: Any, *shape: int) -> Any:
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def _halves(torch: Any, rows: int, d: int) -> Arrays:
    both = _randn(torch, rows, 2 * d)
    return {"g": both[:, :d], "u": both[:, d:]}


def _grouped_halves(torch: Any, rows: int, d: int) -> Arrays:
    return {name: half.unflatten(-1, (-1, GROUP)) for name, half in _halves(torch, rows, d).items()}


def _with_scale(torch: Any, rows: int, d: int) -> Arrays:
    return {"x": _randn(torch, rows, d), "w": _randn(torch, d), "s": torch.full((1,), 0.02, device="cuda")}


def _norm(torch: Any) -> Callable[..., Any]:
    return lambda x, w: torch.nn.functional.rms_norm(x, (x.shape[-1],), w, 1e-6)


def _add_norm(torch: Any) -> Callable[..., Any]:
    def reference(x: Any, r: Any, w: Any) -> Any:
        s = x + r
        return s, torch.nn.functional.rms_norm(s, (s.shape[-1],), w, 1e-6)

    return reference


def _norm_fp8(torch: Any) -> Callable[..., Any]:
    def reference(x: Any, w: Any, s: Any) -> Any:
        y = torch.nn.functional.rms_norm(x.float(), (x.shape[-1],), w.float(), 1e-6) / s
        return y.clamp(-448, 448).to(torch.float8_e4m3fn)

    return reference


def _quantise(torch: Any) -> Callable[..., Any]:
    def reference(x: Any) -> Any:
        scale = x.float().abs().amax(-1, keepdim=True).clamp(min=1e-12) / 448
        return scale, (x.float() / scale).clamp(-448, 448).to(torch.float8_e4m3fn)

    return reference


def _silu_quantise(torch: Any) -> Callable[..., Any]:
    return lambda g, u: _quantise(torch)(torch.nn.functional.silu(g.float()) * u.float())


_NORM = "x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6) * w"
_QUANTISE = (
    "scale: float = max(max(abs(x), axis=-1, keepdims=true), 1e-12) / 448\nq = cast<float8_e4m3fn, sat>(x / scale)"
)

WORK: tuple[Work, ...] = (
    Work("rmsnorm", f"out = {_NORM}",
         lambda t, rows, d: {"x": _randn(t, rows, d), "w": _randn(t, d)}, _norm),
    Work("add_rmsnorm", "s = x + r\ny = s * rsqrt(mean(s * s, axis=-1, keepdims=true) + 1e-6) * w",
         lambda t, rows, d: {"x": _randn(t, rows, d), "r": _randn(t, rows, d), "w": _randn(t, d)}, _add_norm),
    Work("rmsnorm_fp8", f"out = cast<float8_e4m3fn, sat>({_NORM} / s)", _with_scale, _norm_fp8),
    Work("silu_mul", "out = silu(g) * u", _halves, lambda t: lambda g, u: t.nn.functional.silu(g) * u, (14336,)),
    Work("quantise_fp8", _QUANTISE, lambda t, rows, d: {"x": _randn(t, rows, d)}, _quantise),
    Work("quantise_groups", _QUANTISE, lambda t, rows, d: {"x": _randn(t, rows, d // GROUP, GROUP)}, _quantise),
    Work("silu_mul_groups",
         "let x = silu(cast<float>(g)) * cast<float>(u)\n" + _QUANTISE, _grouped_halves, _silu_quantise, (14336,)),
    Work("layernorm",
         "let d = x - mean(x, axis=-1, keepdims=true)\n"
         "out = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b",
         lambda t, rows, d: {"x": _randn(t, rows, d), "w": _randn(t, d), "b": _randn(t, d)},
         lambda t: lambda x, w, b: t.nn.functional.layer_norm(x, (x.shape[-1],), w, b, 1e-5)),
    Work("softmax",
         "let m = max(x, axis=-1, keepdims=true)\nlet e = exp(x - m)\nout = e / sum(e, axis=-1, keepdims=true)",
         lambda t, rows, d: {"x": _randn(t, 32 * rows, d)}, lambda t: lambda x: t.softmax(x, -1), (512,)),
)  # fmt: skip
