"""What the kernels of ``examples/llm`` are in NumPy, in float64 and not rounded."""

from __future__ import annotations

from collections.abc import Callable
from math import erfc
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]


Results = tuple[Array, ...]

TOKENS, SIZE = 5, 256

EPSILON = 1e-6


def silu(v: Array) -> Array:
    return np.asarray(v / (1 + np.exp(-v)))


def gelu(v: Array) -> Array:
    return np.asarray(0.5 * v * np.vectorize(erfc)(-v / np.sqrt(2)))


def gelu_tanh(v: Array) -> Array:
    return np.asarray(0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3))))


def halves(x: Array) -> tuple[Array, Array]:
    return x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]


def gated(function: Callable[[Array], Array], x: Array) -> Array:
    gate, up = halves(x)
    return np.asarray(function(gate) * up)


def clamped(x: Array) -> Array:
    gate, up = halves(x)
    return np.asarray(silu(np.minimum(gate, 7)) * np.clip(up, -7, 7))


def swigluoai(x: Array) -> Array:
    gate, up = np.minimum(x[..., ::2], 7), np.clip(x[..., 1::2], -7, 7)
    return np.asarray(gate / (1 + np.exp(-1.702 * gate)) * (up + 1))


def norm(x: Array, weight: Array, more: float = 0) -> Array:
    return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * (more + weight))


def scaled(x: Array, most: int = 448) -> Results:
    """The scales of rows, and their values in units of these."""
    scale = np.abs(x).max(-1, keepdims=True) / most
    return scale, x / scale


def by_groups(x: Array, scales: Callable[[Array], Results] = scaled) -> Results:
    """The same of groups of 128 of each row."""
    scale, out = scales(x.reshape(len(x), -1, 128))
    return scale[..., 0], out.reshape(x.shape)


def powers_of_two(x: Array) -> Results:
    scale = 2 ** np.ceil(np.log2(scaled(x)[0]))
    return scale, x / scale


def by_zero_point(x: Array) -> Results:
    low = x.min(-1, keepdims=True)
    scale = (x.max(-1, keepdims=True) - low) / 255
    azp = np.rint(-128 - low / scale)
    return scale, azp, x / scale + azp


def added(residual: Array, x: Array) -> Array:
    """As it is stored."""
    return (residual + x).astype(ml_dtypes.bfloat16).astype(float)


def fused(x: Array, residual: Array, weight: Array, more: float = 0) -> Results:
    """The arguments that are updated, in their order."""
    residual = added(residual, x)
    return norm(residual, weight, more), residual


def fused_quant(residual: Array, x: Array, weight: Array, scale: Array | None = None) -> Results:
    residual = added(residual, x)
    normed = norm(residual, weight)
    return *(scaled(normed) if scale is None else (normed / scale,)), residual


def fused_blocks(residual: Array, x: Array, weight: Array) -> Results:
    """The same with a scale for each group of a row."""
    residual = added(residual, x)
    return *by_groups(norm(residual, weight)), residual


def merged(prefix: Array, prefix_lse: Array, suffix: Array, suffix_lse: Array) -> Array:
    p, s = np.exp(prefix_lse), np.exp(suffix_lse)
    return np.asarray((prefix * p + suffix * s) / (p + s))


def penalised(logits: Array, prompt_mask: Array, output_mask: Array, penalties: Array) -> Array:
    penalty = np.where((prompt_mask != 0) | (output_mask != 0), penalties[:, None], 1)
    return np.where(logits > 0, logits / penalty, logits * penalty)


def rotated(x: Array, cos: Array, sin: Array) -> Array:
    cos, sin = cos[:, None], sin[:, None]
    first, second = np.split(x, 2, -1)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], -1)


def rotated_pairs(x: Array, cos: Array, sin: Array) -> Array:
    turned = rotated(np.concatenate([x[..., ::2], x[..., 1::2]], -1), cos, sin)
    return np.stack(np.split(turned, 2, -1), -1).reshape(x.shape)


def awq(qweight: Array, zeros: Array, scales: Array) -> Array:
    shift = 4 * np.array([0, 4, 1, 5, 2, 6, 3, 7])

    def codes(packed: Array) -> Array:
        return np.asarray(packed.astype(np.int64)[..., None] >> shift & 15).reshape(len(packed), -1)

    return np.asarray((codes(qweight) - codes(zeros).repeat(128, 0)) * scales.repeat(128, 0))


def block_scales(blocks: Array) -> Array:
    return blocks[..., :2].astype(np.uint8).view(np.float16).astype(float)


def q8_0(rows: Array) -> Array:
    found = rows.reshape(len(rows), -1, 34)
    return np.asarray(block_scales(found) * found[..., 2:].astype(np.uint8).view(np.int8)).reshape(len(rows), -1)


def q4_0(rows: Array) -> Array:
    found = rows.astype(np.uint8).reshape(len(rows), -1, 18)
    codes = np.concatenate([found[..., 2:] & 15, found[..., 2:] >> 4], -1).astype(float) - 8
    return np.asarray(block_scales(found) * codes).reshape(len(rows), -1)


def taken(of: Array, *places: Array) -> Array:
    return np.asarray(of[tuple(place.astype(int) for place in places)])


def gathered_cache(src_cache: Array, block_table: Array, cu_seq_lens: Array, token_to_seq: Array) -> Array:
    offset = np.arange(len(token_to_seq)) - taken(cu_seq_lens, token_to_seq)
    return taken(src_cache, taken(block_table, token_to_seq, offset // src_cache.shape[1]), offset % src_cache.shape[1])


def cached(x: Array, slot_mapping: Array, cache: Array) -> Array:
    kept = slot_mapping >= 0
    updated = cache.reshape(-1, *cache.shape[2:]).copy()
    updated[slot_mapping[kept].astype(int)] = x[kept]
    return updated.reshape(cache.shape)


def both_cached(key: Array, value: Array, slot_mapping: Array, key_cache: Array, value_cache: Array) -> Results:
    key = key.reshape(len(key), *key_cache.shape[2:])
    return cached(key, slot_mapping, key_cache), cached(value, slot_mapping, value_cache)


def both_scaled(
    key: Array, value: Array, slot_mapping: Array, k_scale: Array, v_scale: Array, key_cache: Array, value_cache: Array
) -> Results:
    return both_cached(key / k_scale, value / v_scale, slot_mapping, key_cache, value_cache)


def both_rotated(
    by: Callable[[Array, Array, Array], Array], positions: Array, cos_sin_cache: Array, query: Array, key: Array
) -> Results:
    cos, sin = halves(taken(cos_sin_cache, positions))
    return by(query, cos, sin), by(key, cos, sin)


def normed_and_rotated(
    q_weight: Array, k_weight: Array, cos_sin_cache: Array, positions: Array, qk: Array, num_heads: int = 3
) -> Array:
    query, key = norm(qk[:, :num_heads], q_weight), norm(qk[:, num_heads:], k_weight)
    return np.concatenate(both_rotated(rotated, positions, cos_sin_cache, query, key), 1)


def normed_rotated_and_cached(
    qkv: Array, slot_mapping: Array, query: Array, num_heads: int = 3, num_kv_heads: int = 2, **others: Array
) -> Results:
    """``others``: what ``normed_and_rotated`` takes, then what ``both_scaled`` does."""
    ends = num_heads + num_kv_heads
    first = {name: others.pop(name) for name in ("q_weight", "k_weight", "cos_sin_cache", "positions")}
    both = normed_and_rotated(**first, qk=qkv[:, :ends], num_heads=num_heads)
    assert both[:, :num_heads].shape == query.shape
    return both[:, :num_heads], *both_scaled(both[:, num_heads:], qkv[:, ends:], slot_mapping, **others)


def by_exponents(x: Array) -> Results:
    """The scales as exponents of float32."""
    scale, out = by_groups(x, powers_of_two)
    return np.log2(scale) + 127, out


def as_blocks(x: Array, quantised: Callable[[Array], tuple[Array, Array]]) -> Array:
    """Rows of blocks of GGUF.  ``quantised``: the scales of blocks, and their bytes."""
    scale, codes = quantised(x.reshape(len(x), -1, 32))
    found = np.concatenate([scale.astype(np.float16).view(np.uint8), codes], -1)
    return found.reshape(len(x), -1)


def to_q8_0(b: Array) -> tuple[Array, Array]:
    scale = (np.abs(b).max(-1, keepdims=True) / 127).astype(np.float32)
    return scale, np.rint(b / np.where(scale == 0, 1, scale)).astype(np.int8).view(np.uint8)


def to_q4_0(b: Array) -> tuple[Array, Array]:
    largest = np.take_along_axis(b, np.abs(b).argmax(-1, keepdims=True), -1)
    scale = (largest / -8).astype(np.float32)
    codes = np.minimum(b / np.where(scale == 0, 1, scale) + 8.5, 15).astype(np.uint8)
    return scale, codes[..., :16] | codes[..., 16:] << 4


def cross_entropy(logits: Array, label: Array) -> Array:
    return np.asarray(np.log(np.exp(logits).sum(-1)) - taken(logits, np.arange(len(label)), label))
