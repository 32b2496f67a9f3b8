"""What each kernel of ``examples/llm`` is in NumPy, in float64 and not rounded, with small arguments for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import erfc
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
Arguments = dict[str, Array]
Results = tuple[Array, ...]

TOKENS, SIZE = 5, 256
EPSILON = 1e-6


class Draw:
    """Arguments from one generator of random numbers."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def bf16(self, *shape: int) -> Array:
        return np.asarray(3 * self.rng.standard_normal(shape), ml_dtypes.bfloat16)

    def f32(self, *shape: int) -> Array:
        return self.rng.standard_normal(shape).astype(np.float32)

    def below(self, end: int, *shape: int) -> Array:
        return self.rng.integers(0, end, shape)

    def integers(self, dtype: Any, *shape: int) -> Array:
        limits = np.iinfo(dtype)
        return self.rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


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


def blocks(draw: Draw, count: int, size: int) -> Array:
    """Rows of three blocks of GGUF: bytes behind a float16."""
    found = draw.integers(np.uint8, 3 * count, size)
    found[:, :2] = draw.f32(3 * count, 1).astype(np.float16).view(np.uint8)
    return found.reshape(count, -1)


#: Arguments by name, for the kernels that take the same.
ROWS = {"x": lambda d: d.bf16(TOKENS, 2 * SIZE)}
WEIGHT = {"weight": lambda d: d.bf16(SIZE)}
STREAM = {"residual": lambda d: d.bf16(TOKENS, SIZE), "x": lambda d: d.bf16(TOKENS, SIZE)}
SCALE = {"scale": lambda d: np.full(1, 0.03, np.float32)}
HEADS, HEAD = 3, 64
PREFIX = {"prefix": lambda d: d.bf16(TOKENS, HEADS, HEAD), "prefix_lse": lambda d: d.f32(TOKENS, HEADS, 1)}
SUFFIX = {"suffix": lambda d: d.bf16(TOKENS, HEADS, HEAD), "suffix_lse": lambda d: d.f32(TOKENS, HEADS, 1)}

ROTARY = {
    "x": lambda d: d.bf16(TOKENS, HEADS, HEAD),
    "cos": lambda d: np.cos(d.f32(TOKENS, HEAD // 2)),
    "sin": lambda d: np.sin(d.f32(TOKENS, HEAD // 2)),
}


POSITIONS = {
    "positions": lambda d: d.below(40, TOKENS),
    "cos_sin_cache": lambda d: d.bf16(40, 128),
}
HEADS_OF_BOTH = {"query": lambda d: d.bf16(TOKENS, 3, 128), "key": lambda d: d.bf16(TOKENS, 2, 128)}
KEYS_AND_VALUES = {
    "key": lambda d: d.bf16(TOKENS, 3, 64),
    "value": lambda d: d.bf16(TOKENS, 3, 64),
    "slot_mapping": lambda d: np.array([7, -1, 0, 11, 4]),
}


def fp8_cache(draw: Draw) -> Array:
    return draw.f32(3, 4, 3, 64).astype(ml_dtypes.float8_e4m3fn)


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


#: For each kernel its arguments, and its outputs and updated arguments from them.
CASES: dict[str, tuple[dict[str, Callable[[Draw], Array | int]], Callable[..., Array | Results]]] = {
    "silu_and_mul": (ROWS, partial(gated, silu)),
    "mul_and_silu": (ROWS, lambda x: gated(silu, np.roll(x, x.shape[-1] // 2, -1))),
    "gelu_and_mul": (ROWS, partial(gated, gelu)),
    "gelu_tanh_and_mul": (ROWS, partial(gated, gelu_tanh)),
    "fatrelu_and_mul": (ROWS, partial(gated, lambda v: np.maximum(v, 0))),
    "silu_and_mul_with_clamp": (ROWS, clamped),
    "swigluoai_and_mul": (ROWS, swigluoai),
    "silu_and_mul_quant": (ROWS | SCALE, lambda x, scale: gated(silu, x) / scale),
    "silu_and_mul_per_token_quant": (ROWS, lambda x: scaled(gated(silu, x))),
    "silu_and_mul_per_block_quant": (
        {"x": lambda d: d.bf16(TOKENS, 768)},
        lambda x: by_groups(gated(silu, x)),
    ),
    "rms_norm": ({"x": STREAM["x"]} | WEIGHT, norm),
    "gemma_rms_norm": ({"x": STREAM["x"]} | WEIGHT, partial(norm, more=1)),
    "rms_norm_static_fp8_quant": (
        {"x": STREAM["x"]} | WEIGHT | SCALE,
        lambda x, weight, scale: norm(x, weight) / scale,
    ),
    "rms_norm_dynamic_per_token_quant": ({"x": STREAM["x"]} | WEIGHT, lambda x, weight: scaled(norm(x, weight))),
    "rms_norm_per_block_quant": (
        {"x": STREAM["x"]} | WEIGHT,
        lambda x, weight: by_groups(norm(x, weight)),
    ),
    "fused_add_rms_norm_per_block_quant": (
        STREAM | WEIGHT,
        fused_blocks,
    ),
    "fused_add_rms_norm": (STREAM | WEIGHT, fused),
    "gemma_fused_add_rms_norm": (STREAM | WEIGHT, partial(fused, more=1)),
    "fused_add_rms_norm_static_fp8_quant": (STREAM | WEIGHT | SCALE, fused_quant),
    "fused_add_rms_norm_dynamic_per_token_quant": (STREAM | WEIGHT, fused_quant),
    "static_scaled_fp8_quant": (ROWS | SCALE, lambda x, scale: x / scale),
    "dynamic_per_token_scaled_fp8_quant": (ROWS, scaled),
    "per_token_group_quant_fp8": (ROWS, by_groups),
    "per_token_group_quant_fp8_ue8m0": (ROWS, partial(by_groups, scales=powers_of_two)),
    "per_token_group_quant_int8": (ROWS, partial(by_groups, scales=partial(scaled, most=127))),
    "static_scaled_int8_quant": (ROWS | SCALE, lambda x, scale: x / scale),
    "static_scaled_int8_azp_quant": (
        ROWS | SCALE | {"azp": lambda d: np.full(1, -7, np.int32)},
        lambda x, scale, azp: x / scale + azp,
    ),
    "dynamic_scaled_int8_quant": (ROWS, partial(scaled, most=127)),
    "dynamic_scaled_int8_azp_quant": (ROWS, by_zero_point),
    "merge_attn_states": (PREFIX | SUFFIX, merged),
    "apply_repetition_penalties": (
        {
            "logits": lambda d: d.f32(TOKENS, 100),
            "prompt_mask": lambda d: d.f32(TOKENS, 100) > 1,
            "output_mask": lambda d: d.f32(TOKENS, 100) > 1,
            "penalties": lambda d: 1 + d.f32(TOKENS) ** 2,
        },
        penalised,
    ),
    "moe_sum": ({"x": lambda d: d.bf16(TOKENS, 4, SIZE)}, lambda x: x.sum(1)),
    "apply_rotary_emb": (ROTARY, rotated),
    "apply_rotary_emb_gptj": (ROTARY, rotated_pairs),
    "awq_dequantize": (
        {
            "qweight": lambda d: d.integers(np.int32, 256, 8),
            "zeros": lambda d: d.integers(np.int32, 2, 8),
            "scales": lambda d: d.f32(2, 64).astype(np.float16),
        },
        awq,
    ),
    "dequantize_q4_0": ({"rows": lambda d: blocks(d, 33, 18)}, q4_0),
    "dequantize_q8_0": ({"rows": lambda d: blocks(d, 33, 34)}, q8_0),
    "embedding": (
        {"weight": lambda d: d.bf16(TOKENS, SIZE), "ids": lambda d: d.below(TOKENS, 9)},
        lambda weight, ids: taken(weight, ids),
    ),
    "shuffle_rows": (
        {"x": lambda d: d.bf16(TOKENS, SIZE), "dst2src_map": lambda d: d.below(TOKENS, TOKENS)},
        lambda x, dst2src_map: taken(x, dst2src_map),
    ),
    "permute_cols": (
        {"x": lambda d: d.bf16(TOKENS, SIZE), "perm": lambda d: d.below(SIZE, SIZE)},
        lambda x, perm: x[:, perm.astype(int)],
    ),
    "gather_cache": (
        {
            "src_cache": lambda d: d.bf16(8, 4, SIZE),
            "block_table": lambda d: d.below(8, 2, 3),
            "cu_seq_lens": lambda d: np.array([0, 7]),
            "token_to_seq": lambda d: np.repeat([0, 1], [7, 12]),
        },
        gathered_cache,
    ),
    "rotary_embedding": (POSITIONS | HEADS_OF_BOTH, partial(both_rotated, rotated)),
    "rotary_embedding_gptj": (POSITIONS | HEADS_OF_BOTH, partial(both_rotated, rotated_pairs)),
    "fused_qk_norm_rope": (
        {
            "q_weight": lambda d: d.bf16(128),
            "k_weight": lambda d: d.bf16(128),
            "cos_sin_cache": POSITIONS["cos_sin_cache"],
            "positions": POSITIONS["positions"],
            "qk": lambda d: d.bf16(TOKENS, 5, 128),
            "num_heads": lambda d: 3,
        },
        normed_and_rotated,
    ),
    "moe_unpermute": (
        {
            "x": lambda d: d.bf16(12, SIZE),
            "topk_weights": lambda d: d.f32(TOKENS, 2),
            "inv_permuted_idx": lambda d: d.below(12, TOKENS, 2),
        },
        lambda x, topk_weights, inv_permuted_idx: (taken(x, inv_permuted_idx) * topk_weights[..., None]).sum(1),
    ),
    "cross_entropy_by_label": (
        {"logits": lambda d: d.f32(TOKENS, SIZE), "label": lambda d: d.below(SIZE, TOKENS)},
        cross_entropy,
    ),
    "moe_permute": (
        {
            "x": lambda d: d.bf16(TOKENS, SIZE),
            "permuted_idx": lambda d: d.rng.permutation(2 * TOKENS),
            "topk": lambda d: 2,
        },
        lambda x, permuted_idx, topk: taken(x, permuted_idx // topk),
    ),
    "per_token_group_quant_fp8_packed": (ROWS, by_exponents),
    "quantize_q8_0": ({"x": lambda d: d.f32(33, 96)}, partial(as_blocks, quantised=to_q8_0)),
    "quantize_q4_0": ({"x": lambda d: d.f32(33, 96)}, partial(as_blocks, quantised=to_q4_0)),
    "reshape_and_cache_flash": (
        KEYS_AND_VALUES | {"key_cache": lambda d: d.bf16(3, 4, 3, 64), "value_cache": lambda d: d.bf16(3, 4, 3, 64)},
        both_cached,
    ),
    "reshape_and_cache_flash_fp8": (
        KEYS_AND_VALUES
        | {"k_scale": SCALE["scale"], "v_scale": SCALE["scale"], "key_cache": fp8_cache, "value_cache": fp8_cache},
        both_scaled,
    ),
    "reshape_and_cache": (
        KEYS_AND_VALUES
        | {
            "key_cache": lambda d: d.bf16(3, 3, 8, 4, 8).transpose(0, 3, 1, 2, 4),
            "value_cache": lambda d: d.bf16(3, 3, 64, 4).transpose(0, 3, 1, 2),
        },
        both_cached,
    ),
    "concat_and_cache_mla": (
        {
            "kv_c": lambda d: d.bf16(TOKENS, SIZE),
            "k_pe": lambda d: d.bf16(TOKENS, 64),
            "slot_mapping": KEYS_AND_VALUES["slot_mapping"],
            "kv_c_cache": lambda d: d.bf16(3, 4, SIZE + 64)[..., :SIZE],
            "k_pe_cache": lambda d: d.bf16(3, 4, SIZE + 64)[..., SIZE:],
        },
        lambda kv_c, k_pe, slot_mapping, kv_c_cache, k_pe_cache: (
            cached(kv_c, slot_mapping, kv_c_cache),
            cached(k_pe, slot_mapping, k_pe_cache),
        ),
    ),
}
