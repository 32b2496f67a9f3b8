"""For each kernel of ``examples/llm`` small arguments, and its reference in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from .references import (
    SIZE,
    TOKENS,
    Array,
    Results,
    as_blocks,
    awq,
    both_cached,
    both_rotated,
    both_scaled,
    by_exponents,
    by_groups,
    by_zero_point,
    cached,
    clamped,
    cross_entropy,
    fused,
    fused_blocks,
    fused_quant,
    gated,
    gathered_cache,
    gelu,
    gelu_tanh,
    merged,
    norm,
    normed_and_rotated,
    normed_rotated_and_cached,
    penalised,
    powers_of_two,
    q4_0,
    q8_0,
    rotated,
    rotated_pairs,
    scaled,
    silu,
    swigluoai,
    taken,
    to_q4_0,
    to_q8_0,
)


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
    "fused_qk_norm_rope_cache_quant": (
        {
            "qkv": lambda d: d.bf16(TOKENS, 7, 128),
            "q_weight": lambda d: d.bf16(128),
            "k_weight": lambda d: d.bf16(128),
            "cos_sin_cache": POSITIONS["cos_sin_cache"],
            "positions": POSITIONS["positions"],
            "slot_mapping": KEYS_AND_VALUES["slot_mapping"],
            "k_scale": SCALE["scale"],
            "v_scale": SCALE["scale"],
            "query": lambda d: d.bf16(TOKENS, 3, 128),
            "key_cache": lambda d: d.f32(3, 4, 2, 128).astype(ml_dtypes.float8_e4m3fn),
            "value_cache": lambda d: d.f32(3, 4, 2, 128).astype(ml_dtypes.float8_e4m3fn),
            "num_heads": lambda d: 3,
            "num_kv_heads": lambda d: 2,
        },
        normed_rotated_and_cached,
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
