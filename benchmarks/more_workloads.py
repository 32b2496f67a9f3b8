"""More elementwise workloads: those that are bound by arithmetic or by indices, not by the layout of their operands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.workloads import Workload, of, randn


def _options(torch: Any) -> dict[str, Any]:
    return {name: torch.rand(2**27, device="cuda") + 0.5 for name in ("spot", "strike", "years")}


def _prices(torch: Any) -> Callable[..., Any]:
    def prices(spot: Any, strike: Any, years: Any) -> Any:
        spread = 0.3 * torch.sqrt(years)
        d1 = (torch.log(spot / strike) + 0.065 * years) / spread
        d2, discounted = d1 - spread, strike * torch.exp(-0.02 * years)
        cdf = torch.special.ndtr
        return spot * cdf(d1) - discounted * cdf(d2), discounted * cdf(-d2) - spot * cdf(-d1)

    return prices


def _causal(torch: Any) -> Callable[..., Any]:
    places = torch.arange(8192, device="cuda")
    return lambda x: torch.where(places[:, None] >= places[None, :], x, float("-inf"))


def _quantized(torch: Any) -> dict[str, Any]:
    q = torch.randint(-128, 128, (32768, 8192), device="cuda", dtype=torch.int8)
    return {"q": q, "s": randn(torch, 32768, 1), "t": randn(torch, 8192)}


def _images(torch: Any) -> dict[str, Any]:
    image = torch.randint(0, 256, (256, 3, 720, 960), device="cuda", dtype=torch.uint8)
    return {"image": image, "mu": torch.rand(3, 1, 1, device="cuda"), "sigma": torch.rand(3, 1, 1, device="cuda") + 0.1}


PRICES = (Path(__file__).parents[1] / "examples" / "black_scholes.k").read_text(encoding="utf-8")

MORE_WORKLOADS: tuple[Workload, ...] = (
    Workload("black_scholes_f32", "contiguous", PRICES, of(_options, _prices), 0.65),
    Workload("black_scholes_fast", "contiguous", PRICES, of(_options, _prices), 0.9, fast=True),
    Workload(
        "causal_mask_f16",
        "rows",
        "out: f16 = index(-2) >= index(-1) ? x : -inf",
        of(lambda t: {"x": randn(t, 16, 8192, 8192, dtype="float16").repeat(4, 1, 1)}, _causal),
        0.90,
    ),
    Workload(
        "dequantize_i8",
        "rows",
        "out = cast<bf16>(cast<float>(q) * s * t)",
        of(_quantized, lambda t: lambda q, s, t_: (q.float() * s * t_).bfloat16()),
        0.92,
    ),
    Workload(
        "images_to_f16",
        "rows",
        "out: f16 = (image / 255 - mu) / sigma",
        of(_images, lambda t: lambda image, mu, sigma: ((image / 255 - mu) / sigma).half()),
        0.92,
    ),
    Workload(
        "ragged_row_add_f16",
        "rows",
        "out = x + b",
        of(
            lambda t: {
                "x": randn(t, 35000, 40001, dtype="float16").repeat(2, 1),
                "b": randn(t, 40001, dtype="float16"),
            },
            lambda t: lambda x, b: x + b,
        ),
        0.89,
    ),
)
