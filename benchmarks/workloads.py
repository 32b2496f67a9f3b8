"""Elementwise workloads: a program, its operands, the same in PyTorch, and its layout class.

The functions here import ``torch``, so that the list can be read without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Make = Callable[[Any], tuple[dict[str, Any], Callable[..., Any]]]


@dataclass(frozen=True, slots=True)
class Workload:
    """``make(torch)`` gives the arguments by name, and the same computation as a torch function of them in order.

    ``target`` is the share of a copy of the same bytes that kgen should reach, None where only peers are the measure;
    ``cupy`` is the body of CuPy's ElementwiseKernel where its types allow one.
    """

    name: str
    kind: str
    program: str
    make: Make
    target: float | None
    cupy: str | None = None
    like_reference: bool = False  # results go into arrays laid out as torch's
    sees: Callable[[dict[str, Any]], dict[str, Any]] | None = None  # kgen's and CuPy's views, where torch has none
    cupy_call: Callable[[Any, dict[str, Any]], Any] | None = None  # of the module and its arrays, where it is no body
    fast: bool = False  # whether kgen's functions may be approximate


def randn(torch: Any, *shape: int, dtype: str = "float32") -> Any:
    return torch.randn(*shape, device="cuda").to(getattr(torch, dtype))


def _pair(n: int, dtype: str = "float32") -> Callable[[Any], dict[str, Any]]:
    return lambda torch: {"x": randn(torch, n, dtype=dtype), "y": randn(torch, n, dtype=dtype)}


def _pair_yx(torch: Any) -> dict[str, Any]:
    return {"y": randn(torch, N), "x": randn(torch, N)}


def of(arrays: Callable[[Any], dict[str, Any]], reference: Callable[[Any], Callable[..., Any]]) -> Make:
    return lambda torch: (arrays(torch), reference(torch))


def _rows(dtype: str) -> Callable[[Any], dict[str, Any]]:
    return lambda torch: {
        "x": randn(torch, 32768, 8192, dtype=dtype),
        "w": randn(torch, 8192, dtype=dtype),
        "b": randn(torch, 8192, dtype=dtype),
    }


def _columns(dtype: str) -> Callable[[Any], dict[str, Any]]:
    return lambda torch: {
        "x": randn(torch, 32768, 8192, dtype=dtype),
        "m": randn(torch, 32768, 1, dtype=dtype),
        "s": randn(torch, 32768, 1, dtype=dtype),
    }


def _channels(torch: Any) -> dict[str, Any]:
    return {
        "x": randn(torch, 64, 64, 224, 224, dtype="float16"),
        "w": randn(torch, 64, dtype="float16"),
        "b": randn(torch, 64, dtype="float16"),
    }


def _sliced(dtype: str, left: int, right: int) -> Callable[[Any], dict[str, Any]]:
    def arrays(torch: Any) -> dict[str, Any]:
        x, y = (randn(torch, 32768, 8192, dtype=dtype) for _ in range(2))
        return {"x": x[:, left : left + 8000], "y": y[:, right : right + 8000]}

    return arrays


def _misaligned(dtype: str) -> Callable[[Any], dict[str, Any]]:
    def arrays(torch: Any) -> dict[str, Any]:
        x, y = (randn(torch, 2**28 + 8, dtype=dtype) for _ in range(2))
        return {"x": x[1 : 1 + 2**28], "y": y[3 : 3 + 2**28]}

    return arrays


def _square(dtype: str) -> Callable[[Any], dict[str, Any]]:
    return lambda torch: {
        "a": randn(torch, 16384, 16384, dtype=dtype),
        "b": randn(torch, 16384, 16384, dtype=dtype).t(),
    }


def _adam(torch: Any) -> dict[str, Any]:
    n = 2**27
    return {"p": randn(torch, n), "m": randn(torch, n), "v": randn(torch, n).abs(), "g": randn(torch, n)}


def _adam_reference(torch: Any) -> Callable[..., Any]:
    def step(p: Any, m: Any, v: Any, g: Any) -> Any:
        m2 = 0.9 * m + 0.1 * g
        v2 = 0.999 * v + 0.001 * g * g
        return m2, v2, p - 0.001 * m2 / (torch.sqrt(v2) + 1e-8)

    return step


def _permuted(torch: Any) -> dict[str, Any]:
    return {"x": randn(torch, 96, 64, 128, 48), "y": randn(torch, 64, 48, 96, 128).permute(2, 0, 3, 1)}


def _image(torch: Any) -> dict[str, Any]:
    return {"x": randn(torch, 32, 64, 224, 224)}


def _photos(torch: Any) -> dict[str, Any]:
    """Three channels next to each other, as decoders give them, seen as NCHW."""
    pixels = torch.randint(0, 256, (256, 720, 960, 3), device="cuda", dtype=torch.uint8)
    return {"x": pixels.permute(0, 3, 1, 2)}


def _swapped(torch: Any) -> dict[str, Any]:
    return {
        "x": randn(torch, 64, 2048, 1024, dtype="float16"),
        "y": randn(torch, 64, 1024, 2048, dtype="float16").transpose(1, 2),
    }


def _reversed(args: dict[str, Any]) -> dict[str, Any]:
    """PyTorch has no negative strides, CuPy has."""
    import cupy as cp

    return {"y": args["y"], "x": cp.asarray(args["x"])[::-1]}


N = 2**28

WORKLOADS: tuple[Workload, ...] = (
    Workload(
        "axpy_f32",
        "contiguous",
        "out = 2.5 * x + y",
        of(_pair(N), lambda t: lambda x, y: 2.5 * x + y),
        1.01,
        "out = 2.5f * x + y",
    ),
    Workload(
        "chain_f32",
        "contiguous",
        "out = gelu(x) * sigmoid(y) + x",
        of(_pair(N), lambda t: lambda x, y: t.nn.functional.gelu(x) * t.sigmoid(y) + x),
        1.01,
    ),
    Workload(
        "adam_f32",
        "contiguous",
        "m2 = 0.9 * m + 0.1 * g\nv2 = 0.999 * v + 0.001 * g * g\np2 = p - 0.001 * m2 / (sqrt(v2) + 1e-8)",
        of(_adam, _adam_reference),
        0.99,
    ),
    Workload(
        "sincos_2out",
        "contiguous",
        "s = sin(x)\nc = cos(x)",
        of(lambda t: {"x": randn(t, N)}, lambda t: lambda x: (t.sin(x), t.cos(x))),
        0.99,
    ),
    Workload(
        "axpy_bf16",
        "contiguous",
        "out = 2.5 * x + y",
        of(_pair(N, "bfloat16"), lambda t: lambda x, y: 2.5 * x + y),
        0.99,
    ),
    Workload(
        "swiglu_bf16",
        "contiguous",
        "out = silu(x) * y",
        of(_pair(N, "bfloat16"), lambda t: lambda x, y: t.nn.functional.silu(x) * y),
        0.99,
    ),
    Workload(
        "c64_mul",
        "contiguous",
        "out = x * y + x",
        of(_pair(2**27, "complex64"), lambda t: lambda x, y: x * y + x),
        0.99,
        "out = x * y + x",
    ),
    Workload(
        "mixed",
        "contiguous",
        "out = cast<half>(x * y + z)",
        of(
            lambda t: {"x": randn(t, N, dtype="float16"), "y": randn(t, N, dtype="bfloat16"), "z": randn(t, N)},
            lambda t: lambda x, y, z: (x.float() * y.float() + z).half(),
        ),
        1.00,
    ),
    Workload(
        "u8_normalize",
        "contiguous",
        "out = (cast<float>(x) - 127.5) * 0.0078",
        of(
            lambda t: {"x": t.randint(0, 256, (2**29,), device="cuda", dtype=t.uint8)},
            lambda t: lambda x: (x.float() - 127.5) * 0.0078,
        ),
        0.95,
        "out = ((float)x - 127.5f) * 0.0078f",
    ),
    Workload(
        "bcast_row_bf16",
        "broadcast",
        "out = x * w + b",
        of(_rows("bfloat16"), lambda t: lambda x, w, b: x * w + b),
        0.98,
    ),
    Workload(
        "bcast_row_f32",
        "broadcast",
        "out = x * w + b",
        of(_rows("float32"), lambda t: lambda x, w, b: x * w + b),
        0.98,
        "out = x * w + b",
    ),
    Workload(
        "bcast_col_f32",
        "broadcast",
        "out = (x - m) * s",
        of(_columns("float32"), lambda t: lambda x, m, s: (x - m) * s),
        0.98,
        "out = (x - m) * s",
    ),
    Workload(
        "bcast_col_bf16",
        "broadcast",
        "out = (x - m) * s",
        of(_columns("bfloat16"), lambda t: lambda x, m, s: (x - m) * s),
        0.98,
    ),
    Workload(
        "bcast_channel_f16",
        "broadcast",
        "out = x * expand(w, axis=(1, 2)) + expand(b, axis=(1, 2))",
        of(_channels, lambda t: lambda x, w, b: x * w[:, None, None] + b[:, None, None]),
        0.98,
    ),
    Workload(
        "sliced_f32",
        "slices",
        "out = x * y",
        of(_sliced("float32", 1, 3), lambda t: lambda x, y: x * y),
        0.98,
        "out = x * y",
    ),
    Workload("sliced_bf16", "slices", "out = x * y", of(_sliced("bfloat16", 1, 3), lambda t: lambda x, y: x * y), 0.98),
    Workload("padded_bf16", "slices", "out = x * y", of(_sliced("bfloat16", 0, 0), lambda t: lambda x, y: x * y), 0.98),
    Workload(
        "misaligned_f32",
        "slices",
        "out = x * y",
        of(_misaligned("float32"), lambda t: lambda x, y: x * y),
        0.98,
        "out = x * y",
    ),
    Workload(
        "misaligned_bf16", "slices", "out = x * y", of(_misaligned("bfloat16"), lambda t: lambda x, y: x * y), 0.98
    ),
    Workload(
        "transpose_copy_f32",
        "transposed",
        "out = b",
        of(lambda t: {"b": _square("float32")(t)["b"]}, lambda t: lambda b: b.contiguous()),
        0.97,
        like_reference=True,
    ),
    Workload(
        "transpose_copy_bf16",
        "transposed",
        "out = b",
        of(lambda t: {"b": _square("bfloat16")(t)["b"]}, lambda t: lambda b: b.contiguous()),
        0.95,
        like_reference=True,
    ),
    Workload(
        "transposed_f32",
        "transposed",
        "out = a + b",
        of(_square("float32"), lambda t: lambda a, b: a + b),
        0.99,
        "out = a + b",
    ),
    Workload(
        "transposed_bf16", "transposed", "out = a + b", of(_square("bfloat16"), lambda t: lambda a, b: a + b), 0.95
    ),
    Workload(
        "permuted4d_f32", "transposed", "out = x * y", of(_permuted, lambda t: lambda x, y: x * y), 0.92, "out = x * y"
    ),
    Workload(
        "nchw_to_nhwc",
        "transposed",
        "out: half = x",
        of(_image, lambda t: lambda x: x.half().contiguous(memory_format=t.channels_last)),
        0.95,
        like_reference=True,
    ),
    Workload("swapped3d_f16", "transposed", "out = x + y", of(_swapped, lambda t: lambda x, y: x + y), 0.95),
    Workload(
        "narrow_transposed_f32",
        "transposed",
        "out = a + b",
        of(
            lambda t: {"a": randn(t, 2**22, 48), "b": randn(t, 48, 2**22).t()},
            lambda t: lambda a, b: a + b,
        ),
        0.95,
        "out = a + b",
    ),
    Workload(
        "photos_to_nchw",
        "transposed",
        "out = (cast<float>(x) - 127.5) * 0.0078",
        of(_photos, lambda t: lambda x: ((x.float() - 127.5) * 0.0078).contiguous()),
        0.95,
        like_reference=True,
    ),
    Workload(
        "reversed_f32",
        "strided",
        "out = y * x",
        of(_pair_yx, lambda t: lambda y, x: y * x.flip(0)),
        0.98,
        "out = y * x",
        sees=_reversed,
    ),
    Workload(
        "stride2_f32",
        "strided",
        "out = x * y",
        of(lambda t: {"x": randn(t, N)[::2], "y": randn(t, N)[::2]}, lambda t: lambda x, y: x * y),
        None,
        "out = x * y",
    ),
)
