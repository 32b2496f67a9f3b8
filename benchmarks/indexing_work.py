"""The workloads of ``indexing.py``: rows at computed places, rotary embeddings, caches, groups of rows, pairs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.timing import Run

EXAMPLES = Path(__file__).parents[1] / "examples" / "llm"
TOKENS = (1, 16, 128, 1024, 4096, 16384)
MANY = (128, 1024, 4096, 16384)
ROW_BYTES = (256, 512, 1024, 4096, 16384)
#: Bytes of tables, of which all rows are moved.
TABLE = 2**28
QUERY_HEADS, KEY_HEADS, HEAD, POSITIONS, PAGE, WIDTH = 32, 8, 128, 8192, 16, 4096

Arrays = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Work:
    """``program``: its text.  ``sizes``: numbers of tokens, or bytes of a row.  ``make``: arguments for a size.

    ``run``: the same in torch, on arguments in the order of the program's, which it may update; it returns what the
    program does.  ``touched``: the bytes that have to move for a size.  ``target``: the share of a copy that is aimed
    at, 0 where that is to be no slower than FlashInfer.  ``updates``: the arguments that it updates, if these are its
    results.  ``flashinfer``: FlashInfer's kernel, from its library and the arguments; ``cupy``: CuPy's.
    """

    name: str
    program: str
    sizes: Sequence[int]
    make: Callable[[Any, int], Arrays]
    run: Callable[..., Any]
    touched: Callable[[int], int]
    target: float
    updates: tuple[str, ...] = ()
    flashinfer: Callable[..., Run] | None = None
    cupy: Callable[..., Run] | None = None


def example(name: str) -> str:
    return (EXAMPLES / f"{name}.k").read_text()


# --- rows at computed places -------------------------------------------------------------------------------


def _rows(torch: Any, size: int) -> tuple[Any, Any]:
    count = TABLE // size
    table = torch.randn(count, size // 2, device="cuda", dtype=torch.bfloat16)
    return table, torch.randperm(count, device="cuda")


def _gather(torch: Any, size: int) -> Arrays:
    table, places = _rows(torch, size)
    return {"x": table, "places": places}


def _scatter(torch: Any, size: int) -> Arrays:
    table, places = _rows(torch, size)
    return {"x": table, "places": places, "moved": torch.empty_like(table)}


def _cupy_gather(torch: Any, x: Any, places: Any) -> Run:
    import cupy as cp

    out = torch.empty_like(x)
    given = [cp.asarray(t.view(torch.int16)) for t in (x, out)]  # CuPy has no bfloat16
    at = cp.asarray(places)

    def run() -> Any:
        with cp.cuda.Stream.from_external(torch.cuda.current_stream()):
            cp.take(given[0], at, axis=0, out=given[1])
        return out

    return run


def _move(size: int) -> int:
    return TABLE // size * (2 * size + 8)


# --- rotary embeddings -------------------------------------------------------------------------------------


def _heads(torch: Any, tokens: int) -> Arrays:
    angles = torch.randn(POSITIONS, HEAD // 2, device="cuda")
    return {
        "positions": torch.randint(POSITIONS, (tokens,), device="cuda"),
        "cos_sin_cache": torch.cat([angles.cos(), angles.sin()], -1),
        "query": torch.randn(tokens, QUERY_HEADS, HEAD, device="cuda").bfloat16(),
        "key": torch.randn(tokens, KEY_HEADS, HEAD, device="cuda").bfloat16(),
    }


def _turn(positions: Any, cache: Any, pairs: Sequence[tuple[Any, Any]]) -> None:
    cos, sin = (t[:, None] for t in cache[positions].chunk(2, -1))
    for a, b in pairs:
        turned = (a * cos - b * sin).bfloat16(), (b * cos + a * sin).bfloat16()
        a.copy_(turned[0])
        b.copy_(turned[1])


def neox(positions: Any, cos_sin_cache: Any, query: Any, key: Any) -> tuple[Any, Any]:
    _turn(positions, cos_sin_cache, [query.chunk(2, -1), key.chunk(2, -1)])
    return query, key


def gptj(positions: Any, cos_sin_cache: Any, query: Any, key: Any) -> tuple[Any, Any]:
    _turn(positions, cos_sin_cache, [(x[..., ::2], x[..., 1::2]) for x in (query, key)])
    return query, key


def _rotary_bytes(tokens: int) -> int:
    heads = 2 * 2 * tokens * (QUERY_HEADS + KEY_HEADS) * HEAD
    return heads + 8 * tokens + 4 * HEAD * min(tokens, POSITIONS)


def _flashinfer_rotary(*, interleave: bool) -> Callable[..., Run]:
    def call(library: Any, positions: Any, cache: Any, query: Any, key: Any) -> Run:
        addresses = [ctypes.c_void_p(a.data_ptr()) for a in (query, key, cache, positions)]
        sizes = len(query), QUERY_HEADS, KEY_HEADS, HEAD, interleave

        def run() -> tuple[Any, Any]:
            _checked(library.rotary(*addresses, *sizes, _stream()))
            return query, key

        return run

    return call


def _stream() -> ctypes.c_void_p:
    import torch

    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


def _checked(status: int) -> None:
    if status != 0:
        raise RuntimeError(f"FlashInfer: CUDA error {status}")


# --- norms of heads, and of rows with groups ---------------------------------------------------------------


def _qk(torch: Any, tokens: int) -> Arrays:
    found = _heads(torch, tokens)
    weights = {name: torch.randn(HEAD, device="cuda").bfloat16() for name in ("q_weight", "k_weight")}
    both = torch.cat([found["query"], found["key"]], 1)
    return {
        **weights, "cos_sin_cache": found["cos_sin_cache"].bfloat16(), "positions": found["positions"], "qk": both,
        "num_heads": QUERY_HEADS,
    }  # fmt: skip


def normed_neox(q_weight: Any, k_weight: Any, cache: Any, positions: Any, qk: Any, num_heads: int) -> Any:
    x = qk.float()
    normed = x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
    query, key = normed[:, :num_heads] * q_weight, normed[:, num_heads:] * k_weight
    cos, sin = (t[:, None].float() for t in cache[positions].chunk(2, -1))
    for first, part in ((0, query), (num_heads, key)):
        a, b = part.chunk(2, -1)
        qk[:, first : first + part.shape[1], : HEAD // 2] = a * cos - b * sin
        qk[:, first : first + part.shape[1], HEAD // 2 :] = b * cos + a * sin
    return qk


def _x(torch: Any, tokens: int) -> Arrays:
    return {
        "x": torch.randn(tokens, WIDTH, device="cuda").bfloat16(),
        "weight": torch.randn(WIDTH, device="cuda").bfloat16(),
    }


def normed_blocks(x: Any, weight: Any) -> tuple[Any, Any]:
    import torch

    v = x.float()
    y = (v * (v.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * weight).unflatten(-1, (-1, 128))
    scale = y.abs().amax(-1) / 448
    return scale, (y / scale[..., None]).clamp(-448, 448).to(torch.float8_e4m3fn).flatten(-2)


# --- caches ------------------------------------------------------------------------------------------------


def _pages(torch: Any, tokens: int, dtype: Any) -> Arrays:
    pages = 2 * max(tokens, 64) // PAGE
    places = torch.randperm(pages * PAGE, device="cuda")[:tokens]
    made = {n: torch.randn(tokens, KEY_HEADS, HEAD, device="cuda").bfloat16() for n in ("key", "value")}
    made["slot_mapping"] = places
    if dtype is not torch.bfloat16:
        made |= {n: torch.full((1,), 0.5, device="cuda") for n in ("k_scale", "v_scale")}
    empty = torch.zeros(pages, PAGE, KEY_HEADS, HEAD, device="cuda")
    return made | {n: empty.to(dtype) for n in ("key_cache", "value_cache")}


def cached(key: Any, value: Any, slots: Any, key_cache: Any, value_cache: Any) -> tuple[Any, Any]:
    key_cache.flatten(0, 1)[slots] = key
    value_cache.flatten(0, 1)[slots] = value
    return key_cache, value_cache


def cached_fp8(
    key: Any, value: Any, slots: Any, k_scale: Any, v_scale: Any, key_cache: Any, value_cache: Any
) -> tuple[Any, Any]:
    keys, values = ((x * (1 / scale)).to(key_cache.dtype) for x, scale in ((key, k_scale), (value, v_scale)))
    return cached(keys, values, slots, key_cache, value_cache)


def _flashinfer_append(library: Any, key: Any, value: Any, slots: Any, key_cache: Any, value_cache: Any) -> Run:
    """Each token is a request of its own with one page: as many different pages and places as the slots have."""
    import torch

    tokens, integers = len(key), {"device": "cuda", "dtype": torch.int32}
    pages, places = (slots // PAGE).int(), (slots % PAGE).int()
    starts, batch = torch.arange(tokens + 1, **integers), torch.arange(tokens, **integers)
    kept = [key, value, key_cache, value_cache, pages, starts, places + 1, batch, places]
    addresses = [ctypes.c_void_p(a.data_ptr()) for a in kept]

    def run() -> tuple[Any, Any]:
        status = library.append(*addresses, tokens, KEY_HEADS, HEAD, PAGE, tokens, _stream())
        _checked(status)
        return kept[2], kept[3]

    return run


def _qkv(torch: Any, tokens: int) -> Arrays:
    found, caches = _qk(torch, tokens), _pages(torch, tokens, torch.float8_e4m3fn)
    value, qk = caches.pop("value"), found.pop("qk")
    del found["num_heads"], caches["key"]
    query = torch.zeros(tokens, QUERY_HEADS, HEAD, device="cuda").bfloat16()
    both = (
        {"qkv": torch.cat([qk, value], 1)} | found | {n: caches.pop(n) for n in ("slot_mapping", "k_scale", "v_scale")}
    )
    return both | {"query": query} | caches | {"num_heads": QUERY_HEADS, "num_kv_heads": KEY_HEADS}


def normed_neox_cached(
    qkv: Any,
    q_weight: Any,
    k_weight: Any,
    cache: Any,
    positions: Any,
    slots: Any,
    k_scale: Any,
    v_scale: Any,
    query: Any,
    *caches: Any,
) -> Any:
    """``caches``: those of keys and of values, then the numbers of heads."""
    keys = QUERY_HEADS + KEY_HEADS
    both = normed_neox(q_weight, k_weight, cache, positions, qkv[:, :keys].clone(), QUERY_HEADS)
    query.copy_(both[:, :QUERY_HEADS])
    cached_fp8(both[:, QUERY_HEADS:], qkv[:, keys:], slots, k_scale, v_scale, *caches[:2])
    return query, *caches[:2]


# --- pairs -------------------------------------------------------------------------------------------------


def _pairs(torch: Any, tokens: int) -> Arrays:
    return {"x": torch.randn(tokens, 2 * WIDTH, device="cuda").bfloat16()}


def swigluoai(x: Any) -> Any:
    gate, up = x[..., ::2].float().clamp(max=7), x[..., 1::2].float().clamp(-7, 7)
    return (gate * (1.702 * gate).sigmoid() * (up + 1)).bfloat16()


def turned(x: Any) -> Any:
    a, b = x[..., ::2], x[..., 1::2]
    import torch

    return torch.stack([0.6 * a - 0.8 * b, 0.8 * a + 0.6 * b], -1).flatten(-2)


_TURNED = """\
input x
let a = x[..., ::2]
let b = x[..., 1::2]
out = merge(stack(0.6 * a - 0.8 * b, 0.8 * a + 0.6 * b, axis=-1))
"""

_CACHES = ("key_cache", "value_cache")
_BOTH = ("query", "key")
WORK = (
    Work("rows gathered", "input x, places\nout = x[places]", ROW_BYTES, _gather, lambda x, places: x[places], _move,
         0.97, cupy=_cupy_gather),
    Work("rows scattered", "input x, places\ninout moved\nmoved[places] = x", ROW_BYTES, _scatter,
         lambda x, places, moved: moved.index_copy_(0, places, x), _move, 0.95, ("moved",)),
    Work("rotary, NeoX", example("rotary_embedding"), TOKENS, _heads, neox, _rotary_bytes, 0, _BOTH,
         _flashinfer_rotary(interleave=False)),
    Work("rotary, GPT-J", example("rotary_embedding_gptj"), TOKENS, _heads, gptj, _rotary_bytes, 0, _BOTH,
         _flashinfer_rotary(interleave=True)),
    Work("norm of heads and rotary", example("fused_qk_norm_rope"), TOKENS, _qk, normed_neox,
         lambda t: _rotary_bytes(t) - 2 * HEAD * min(t, POSITIONS), 0.95, ("qk",)),
    Work("norm of heads, rotary, fp8 caches", example("fused_qk_norm_rope_cache_quant"), TOKENS, _qkv,
         normed_neox_cached,
         lambda t: t * HEAD * (4 * QUERY_HEADS + 6 * KEY_HEADS) + 16 * t + 2 * HEAD * min(t, POSITIONS), 0.95,
         ("query", *_CACHES)),
    Work("rms_norm, fp8 by groups", example("rms_norm_per_block_quant"), MANY, _x, normed_blocks,
         lambda t: t * WIDTH * 3 + t * WIDTH // 32 + 2 * WIDTH, 0.95),
    Work("into caches, bfloat16", example("reshape_and_cache_flash"), TOKENS,
         lambda torch, t: _pages(torch, t, torch.bfloat16), cached, lambda t: t * (8 + 8 * KEY_HEADS * HEAD), 0,
         _CACHES, _flashinfer_append),
    Work("into caches, fp8", example("reshape_and_cache_flash_fp8"), TOKENS,
         lambda torch, t: _pages(torch, t, torch.float8_e4m3fn), cached_fp8,
         lambda t: t * (8 + 6 * KEY_HEADS * HEAD), 0, _CACHES),
    Work("swigluoai", example("swigluoai_and_mul"), MANY, _pairs, swigluoai, lambda t: 6 * t * WIDTH, 0.98),
    Work("complex pairs", _TURNED, MANY, _pairs, turned, lambda t: 8 * t * WIDTH, 0.98),
)  # fmt: skip
