"""Measures kernels of a language model's layers over the number of tokens T, from 1 to 16384, in replayed graphs.

    python -m benchmarks.serving [--quick] [--rows 1,16] [--only rmsnorm,...] [--widths 4096] [--peers ...] [--merge]

Each graph has 40 launches over rotating inputs.  Outputs are allocated from the pool of the graph, as those of
torch.compile have to be.  Peers: torch, torch.compile (as it comes and with max-autotune), and FlashInfer's
CUDA kernels with programmatic dependent launch (``--flashinfer`` names its headers or a built library).
``copy`` is a plain copy of the bytes that have to move.  Writes ``benchmarks/results/serving.json``, ``.md`` and
``.png``; ``--quick`` measures one width a workload, at six numbers of tokens.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import flashinfer
from benchmarks.serving_report import Point, Report
from benchmarks.timing import Graph, Run

LAUNCHES = 40
TOKENS = (1, 4, 16, 64, 128, 256, 512, 1024, 4096, 16384)
QUICK = (1, 16, 64, 256, 1024, 4096)
WIDTHS = (4096, 2048, 5120, 8192)
RESULTS = Path(__file__).parent / "results"

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


_NORM = "x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6) * w"

WORK: tuple[Work, ...] = (
    Work("rmsnorm", f"out = {_NORM}",
         lambda t, rows, d: {"x": _randn(t, rows, d), "w": _randn(t, d)}, _norm),
    Work("add_rmsnorm", "s = x + r\ny = s * rsqrt(mean(s * s, axis=-1, keepdims=true) + 1e-6) * w",
         lambda t, rows, d: {"x": _randn(t, rows, d), "r": _randn(t, rows, d), "w": _randn(t, d)}, _add_norm),
    Work("rmsnorm_fp8", f"out = cast<float8_e4m3fn, sat>({_NORM} / s)", _with_scale, _norm_fp8),
    Work("silu_mul", "out = silu(g) * u", _halves, lambda t: lambda g, u: t.nn.functional.silu(g) * u, (14336,)),
    Work("quantise_fp8",
         "scale: float = max(max(abs(x), axis=-1, keepdims=true), 1e-12) / 448\n"
         "q = cast<float8_e4m3fn, sat>(x / scale)",
         lambda t, rows, d: {"x": _randn(t, rows, d)}, _quantise),
    Work("layernorm",
         "let d = x - mean(x, axis=-1, keepdims=true)\n"
         "out = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b",
         lambda t, rows, d: {"x": _randn(t, rows, d), "w": _randn(t, d), "b": _randn(t, d)},
         lambda t: lambda x, w, b: t.nn.functional.layer_norm(x, (x.shape[-1],), w, b, 1e-5)),
    Work("softmax",
         "let m = max(x, axis=-1, keepdims=true)\nlet e = exp(x - m)\nout = e / sum(e, axis=-1, keepdims=true)",
         lambda t, rows, d: {"x": _randn(t, 32 * rows, d)}, lambda t: lambda x: t.softmax(x, -1), (512,)),
)  # fmt: skip


@dataclass(slots=True)
class Contenders:
    """The runs of one workload at one point, by contender: one run for each set of arrays."""

    torch: Any
    work: Work
    kernel: Any
    flashinfer: Path | None

    def of(self, name: str, sets: list[Arrays]) -> list[Run] | None:
        reference = self.work.reference(self.torch)
        if name == "torch":
            return [partial(reference, *a.values()) for a in sets]
        if name in ("compile", "autotune"):
            self.torch._dynamo.reset()
            mode = "max-autotune-no-cudagraphs" if name == "autotune" else None
            function = self.torch.compile(reference, dynamic=False, mode=mode)
            return [partial(function, *a.values()) for a in sets]
        if name == "kgen":
            return [partial(self.kernel, **a) for a in sets]
        out = tuple(map(self.torch.empty_like, _tuple(reference(*sets[0].values()))))
        if name == "copy":
            total = sum(_bytes(x) for x in (*sets[0].values(), *out))
            return [partial(self.torch.neg, self.torch.zeros(total // 8, device="cuda")) for _ in sets]
        library = flashinfer.library(self.flashinfer)
        runs = [flashinfer.call_of(library, self.work.name, a, out) for a in sets]
        return [run for run in runs if run is not None] or None


def measure(contenders: Contenders, names: list[str], rows: int, d: int, repeats: int) -> Point:
    """Seconds of one launch by contender; whoever fails or is wrong is left out, and the reason printed."""
    torch, work = contenders.torch, contenders.work
    sets = [work.make(torch, rows, d) for _ in range(4)]
    exact = _tuple(work.reference(torch)(*sets[0].values()))
    seconds: dict[str, float] = {}
    for name in names:
        try:
            runs = contenders.of(name, sets)
            if runs is None:
                continue
            if name not in ("copy", "torch"):
                _check(torch, _tuple(runs[0]()), exact)
            seconds[name] = Graph(torch, runs, LAUNCHES).time(repeats)
        except Exception as problem:  # a peer may fail in any way
            print(f"{work.name} {d}, T = {rows}: {name}: {type(problem).__name__}: {problem!s:.300}", flush=True)
    total = sum(_bytes(x) for x in (*sets[0].values(), *exact))
    return Point(work.name, d, rows, total, seconds)


def _check(torch: Any, found: tuple[Any, ...], exact: tuple[Any, ...]) -> None:
    for got, want in zip(found, exact, strict=True):
        got, want = got.float(), want.float()
        # The next value of a narrow format may differ by a rounding: fp8 has three bits of mantissa.
        near = (got - want).abs() <= 0.13 * want.abs() + 0.06
        assert near.all(), "the result is wrong"


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _bytes(array: Any) -> int:
    return int(array.numel() * array.element_size())


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one width a workload, six numbers of tokens")
    parser.add_argument("--rows", type=_numbers, default=(), help="numbers of tokens")
    parser.add_argument("--widths", type=_numbers, default=(), help="lengths of rows")
    parser.add_argument("--only", default="", help="workloads, by name")
    parser.add_argument("--peers", default="torch,compile,autotune,flashinfer")
    parser.add_argument("--flashinfer", type=Path, help="the headers of FlashInfer's wheel, or a library built before")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no further point after this time")
    parser.add_argument("--merge", action="store_true", help="keep earlier points that are not measured")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    import torch

    import kgen

    end = time.monotonic() + options.seconds
    gpu = f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, torch {torch.__version__}"
    report = Report.read(options.out) if options.merge else Report(gpu)
    names = ["kgen", "copy", *(p for p in options.peers.split(",") if p)]
    if "flashinfer" in names:
        try:
            flashinfer.library(options.flashinfer)
        except flashinfer.Unavailable as problem:
            print(f"no column flashinfer: {problem}", flush=True)
            names.remove("flashinfer")
    for work in WORK:
        if options.only and work.name not in options.only.split(","):
            continue
        contenders = Contenders(torch, work, kgen.jit(work.program, name=work.name), options.flashinfer)
        for d in options.widths or (work.widths[:1] if options.quick else work.widths):
            for rows in options.rows or (QUICK if options.quick else TOKENS):
                if time.monotonic() < end:
                    report.add(measure(contenders, names, rows, d, options.repeats))
                    torch.cuda.empty_cache()
    print(report.write(options.out))


if __name__ == "__main__":
    main()
