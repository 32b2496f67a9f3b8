"""Workloads with reductions: over rows, columns, all axes, middle axes, and chains that write whole rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.workloads import Workload

N = 2**28
LENGTHS = (256, 1024, 4096, 8192, 16384, 32768, 131072)
AWKWARD = (1, 3, 7, 8, 100, 1000, 50257)

SOFTMAX = "let m = max(x, axis=-1, keepdims=true)\nlet e = exp(x - m)\nout = e / sum(e, axis=-1, keepdims=true)"
RMSNORM = "out = x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6) * w"
LAYERNORM = (
    "let d = x - mean(x, axis=-1, keepdims=true)\nout = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b"
)
STATISTICS = "m = mean(x, axis=(0, 2, 3))\nv = var(x, axis=(0, 2, 3))"
MASKED = "let s = x * 0.125 + mask\n" + SOFTMAX.replace("max(x", "max(s").replace("exp(x", "exp(s")
GROUPNORM = (
    "let m = mean(x, axis=(2, 3, 4), keepdims=true)\nlet v = var(x, axis=(2, 3, 4), keepdims=true)\n"
    "out = (x - m) * rsqrt(v + 1e-5) * w + b"
)
QUANTISE = "scale: float = max(max(abs(x), axis=-1, keepdims=true), 1e-12) / 127\nq = cast<i8, sat, rne>(x / scale)"

Reference = Callable[[Any], Callable[..., Any]]


def _randn(torch: Any, *shape: int, dtype: str = "float32") -> Any:
    return torch.randn(*shape, device="cuda", dtype=getattr(torch, dtype))


def _one(
    name: str, kind: str, program: str, shape: tuple[int, ...], reference: Reference, target: float,
    dtype: str = "float32", inputs: str = "x", cupy: Callable[[Any, dict[str, Any]], Any] | None = None,
) -> Workload:  # fmt: skip
    """Of some arrays of one shape."""

    def make(torch: Any) -> tuple[dict[str, Any], Callable[..., Any]]:
        return {i: _randn(torch, *shape, dtype=dtype) for i in inputs}, reference(torch)

    return Workload(name, kind, program, make, target, cupy_call=cupy)


def _rows(name: str, program: str, n: int, inputs: str, reference: Reference, target: float, total: int) -> Workload:
    """Of half-precision rows, with weights as long as a row."""

    def make(torch: Any) -> tuple[dict[str, Any], Callable[..., Any]]:
        args = {"x": _randn(torch, total // n, n, dtype="bfloat16")}
        return args | {i: _randn(torch, n, dtype="bfloat16") for i in inputs}, reference(torch)

    return Workload(f"{name}_{n}", "rows" if n in LENGTHS else "awkward rows", program, make, target)


def _channels(
    name: str, program: str, shape: tuple[int, int, int], inputs: str, reference: Reference, dtype: str
) -> Workload:
    """Of rows that lie across memory, with weights for each channel."""

    def make(torch: Any) -> tuple[dict[str, Any], Callable[..., Any]]:
        args = {"x": _randn(torch, *shape, dtype=dtype)}
        return args | {i: _randn(torch, shape[1], 1, dtype=dtype) for i in inputs}, reference(torch)

    return Workload(name, "across memory", program.replace("axis=-1", "axis=1"), make, 0.0)


def _transposed(dtype: str) -> Workload:
    """Of two operands, of which one is consecutive along rows and the other across them."""

    def make(torch: Any) -> tuple[dict[str, Any], Callable[..., Any]]:
        args = {"x": _randn(torch, 8192, 16384, dtype=dtype), "y": _randn(torch, 16384, 8192, dtype=dtype).T}
        return args, lambda x, y: (x.float() * y.float()).sum(1)

    return Workload(f"dot_transposed_{dtype}", "other orders", "out: f32 = sum(x * y, axis=1, dtype=f32)", make, 0.0)


def _reversed(torch: Any) -> tuple[dict[str, Any], Callable[..., Any]]:
    """Short rows, beside an operand that is consecutive along the slowest axis of the other."""
    x = _randn(torch, 256, 64, 768, 2, dtype="bfloat16")
    y = torch.randint(-9, 9, (64, 2, 768, 256), device="cuda", dtype=torch.int8).permute(3, 0, 2, 1)
    return {"x": x, "y": y}, lambda x, y: (x.float() - y.float()).amax(3)


def _channel_norm(torch: Any) -> Callable[..., Any]:
    def reference(x: Any, w: Any, b: Any) -> Any:
        d = x.float() - x.float().mean(1, keepdim=True)
        return (d * torch.rsqrt((d * d).mean(1, keepdim=True) + 1e-5) * w + b).to(x.dtype)

    return reference


def _softmax(torch: Any) -> Callable[..., Any]:
    return lambda x: torch.softmax(x, -1)


def _rmsnorm(torch: Any) -> Callable[..., Any]:
    return lambda x, w: torch.nn.functional.rms_norm(x, (x.shape[-1],), w, 1e-6)


def _layernorm(torch: Any) -> Callable[..., Any]:
    return lambda x, w, b: torch.nn.functional.layer_norm(x, (x.shape[-1],), w, b, 1e-5)


def _statistics(torch: Any) -> Callable[..., Any]:
    return lambda x: (x.mean((0, 2, 3)), x.var((0, 2, 3), unbiased=False))


def _channels_last(torch: Any) -> tuple[dict[str, Any], Callable[..., Any]]:
    x = _randn(torch, 64, 256, 128, 128).to(memory_format=torch.channels_last)
    return {"x": x}, _statistics(torch)


def _pixels(torch: Any) -> tuple[dict[str, Any], Callable[..., Any]]:
    x = torch.randint(0, 256, (512, 512, 512, 3), dtype=torch.uint8, device="cuda")
    return {"x": x}, lambda x: (x.float().mean((0, 1, 2)), x.float().var((0, 1, 2), unbiased=False))


def _masked(torch: Any) -> tuple[dict[str, Any], Callable[..., Any]]:
    shapes = {"x": (16, 16, 1024, 1024), "mask": (16, 1, 1024, 1024)}
    args = {name: _randn(torch, *shape, dtype="bfloat16") for name, shape in shapes.items()}
    return args, lambda x, mask: torch.softmax(x * 0.125 + mask, -1)


def _groupnorm(torch: Any) -> tuple[dict[str, Any], Callable[..., Any]]:
    def reference(x: Any, w: Any, b: Any) -> Any:
        wide = x.float()
        mean, var = wide.mean((2, 3, 4), keepdim=True), wide.var((2, 3, 4), unbiased=False, keepdim=True)
        return ((wide - mean) * torch.rsqrt(var + 1e-5) * w + b).to(x.dtype)

    args = {"x": _randn(torch, 32, 32, 8, 64, 64, dtype="float16")}
    return args | {i: _randn(torch, 32, 8, 1, 1, dtype="float16") for i in "wb"}, reference


def _narrow(columns: int, dtype: str) -> Workload:
    """Sums of few columns."""
    return _one(
        f"sum_{columns}_columns_{dtype}", "over few columns", "out = sum(x, axis=0)", (2**26 // columns, columns),
        lambda t: lambda x: x.sum(0), 0.95, dtype,
    )  # fmt: skip


def _quantise(torch: Any) -> Callable[..., Any]:
    def reference(x: Any) -> Any:
        # By a tensor: PyTorch divides by a number by multiplying with its inverse.
        scale = x.float().abs().amax(-1, keepdim=True).clamp(min=1e-12) / torch.full((), 127.0, device="cuda")
        return scale, torch.clamp(torch.round(x.float() / scale), -128, 127).to(torch.int8)

    return reference


def _target(n: int) -> float:
    return 0.97 if n <= 16384 else 0.95 if n <= 32768 else 0.93


_SQUARE = (32768, 8192)

WORKLOADS: tuple[Workload, ...] = (
    _one("sum_rows_f32", "over rows", "out = sum(x, axis=1)", _SQUARE, lambda t: lambda x: x.sum(1), 1.08,
         cupy=lambda cp, a: a["x"].sum(1)),
    _one("max_rows_f32", "over rows", "out = max(x, axis=1)", _SQUARE, lambda t: lambda x: x.amax(1), 1.08,
         cupy=lambda cp, a: a["x"].max(1)),
    _one(
        "dot_rows_f32", "over rows", "out = sum(x * y, axis=1)", (32768, 4096), lambda t: lambda x, y: (x * y).sum(1),
        1.08, inputs="xy",
    ),
    _one("argmax_rows_f32", "over rows", "out = argmax(x, axis=1)", _SQUARE, lambda t: lambda x: x.argmax(1), 1.03,
         cupy=lambda cp, a: a["x"].argmax(1)),
    _one("var_rows_f32", "over rows", "out = var(x, axis=1)", _SQUARE,
         lambda t: lambda x: x.var(1, unbiased=False), 1.03, cupy=lambda cp, a: a["x"].var(1)),
    _one("sum_columns_f32", "over columns", "out = sum(x, axis=0)", _SQUARE, lambda t: lambda x: x.sum(0), 1.03,
         cupy=lambda cp, a: a["x"].sum(0)),
    _one("max_columns_f32", "over columns", "out = max(x, axis=0)", _SQUARE, lambda t: lambda x: x.amax(0), 1.03,
         cupy=lambda cp, a: a["x"].max(0)),
    _one("sum_all_f32", "over all", "out = sum(x)", _SQUARE, lambda t: lambda x: x.sum(), 1.06,
         cupy=lambda cp, a: a["x"].sum()),
    _one("max_all_f32", "over all", "out = max(x)", _SQUARE, lambda t: lambda x: x.amax(), 1.06,
         cupy=lambda cp, a: a["x"].max()),
    _one("sum_middle_bf16", "over a middle axis", "out = sum(x, axis=1)", (64, 4096, 1024),
         lambda t: lambda x: x.sum(1), 1.00, "bfloat16"),
    _one("statistics_nchw", "over (N, H, W)", STATISTICS, (64, 256, 128, 128), _statistics, 1.00),
    Workload("statistics_nhwc", "over (N, H, W)", STATISTICS, _channels_last, 1.00),
    Workload("statistics_pixels", "over (N, H, W)", STATISTICS.replace("(0, 2, 3)", "(0, 1, 2)"), _pixels, 0.95),
    *(_narrow(columns, dtype) for dtype in ("float32", "bfloat16") for columns in range(2, 16)),
    *(
        _one(f"argmax_rows_bf16_{n}", "over rows", "out = argmax(x, axis=1)", (32768, n),
             lambda t: lambda x: x.argmax(1), 1.00, "bfloat16")
        for n in (3584, 7168)
    ),
    _one("var_two_axes_bf16", "over two axes", "out = var(cast<float>(x), axis=(0, 1))", (64, 9216, 384),
         lambda t: lambda x: x.float().var((0, 1), unbiased=False), 1.03, "bfloat16"),
    Workload("softmax_masked", "rows", MASKED, _masked, 0.98),
    Workload("groupnorm", "rows", GROUPNORM, _groupnorm, 0.98),
    _one("quantise_rows_bf16", "rows", QUANTISE, (65536, 4096), _quantise, 0.97, "bfloat16"),
    _one("softmax_one_row_f32", "one row", SOFTMAX, (1, N), _softmax, 0.60),
    *(_rows("softmax", SOFTMAX, n, "", _softmax, _target(n), N) for n in LENGTHS),
    *(_rows("rmsnorm", RMSNORM, n, "w", _rmsnorm, _target(n), N) for n in LENGTHS),
    *(_rows("layernorm", LAYERNORM, n, "wb", _layernorm, _target(n), N) for n in LENGTHS),
    _channels("softmax_channels_21", SOFTMAX, (32, 21, 640 * 640), "", lambda t: lambda x: t.softmax(x, 1), "float32"),
    _channels("softmax_channels_1024", SOFTMAX, (64, 1024, 4096), "", lambda t: lambda x: t.softmax(x, 1), "bfloat16"),
    _channels("layernorm_channels_96", LAYERNORM, (256, 96, 112 * 112), "wb", _channel_norm, "bfloat16"),
    *(_transposed(dtype) for dtype in ("float32", "bfloat16")),
    Workload("max_reversed", "other orders", "out = max(cast<float>(x) - y, axis=3)", _reversed, 0.0),
    *(_rows("softmax", SOFTMAX, n, "", _softmax, 0.0, N // 2) for n in AWKWARD),
    *(_rows("sum", "out = sum(x, axis=-1)", n, "", lambda t: lambda x: x.sum(-1), 0.0, N // 2) for n in AWKWARD),
)  # fmt: skip
