"""The files of ``generated/``: which example, under which dtypes and layout."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples"
GENERATED = ROOT / "generated"


@dataclass(frozen=True, slots=True)
class Case:
    """``kgen compile examples/<example>.k --name <name> <options>`` makes ``generated/<name>.cu``."""

    name: str
    example: str
    options: str

    @property
    def path(self) -> Path:
        return GENERATED / f"{self.name}.cu"

    @property
    def oldest(self) -> int:
        """The number of the oldest architecture that it has to run on."""
        found = re.search(r"--arch sm_([0-9]+)", self.options)
        return int(found[1]) if found else 0

    @property
    def is_contiguous(self) -> bool:
        """Whether all of the file's kernels walk memory in order with 16-byte accesses."""
        return "--layout contiguous" in self.options


CASES = (
    # --- contiguous, by dtype ---
    Case("axpy", "axpy", "--dtype f32 --layout contiguous"),
    Case("axpy_bf16", "axpy", "--dtype bf16 --layout contiguous"),
    Case("axpy_f64", "axpy", "--dtype f64 --layout contiguous"),
    Case("axpy_exact", "axpy", "--dtype f32 --layout contiguous --fmad off"),
    Case("axpy_fast", "axpy", "--dtype f32 --layout contiguous --fast"),
    Case("mixed", "mixed", "--dtype a=f32,b=f16,c=i32 --layout contiguous"),
    Case("swiglu_f16", "swiglu", "--dtype f16 --layout contiguous"),
    Case("gelu_bf16", "gelu", "--dtype bf16 --layout contiguous"),
    Case("mish_f32", "mish", "--dtype f32 --layout contiguous"),
    Case("adam", "adam", "--dtype f32 --layout contiguous"),
    Case("adam_bf16_gradient", "adam", "--dtype g=bf16,p=f32,m=f32,v=f32 --layout contiguous"),
    Case("rotate", "rotate", "--dtype z=c64,theta=f32 --layout contiguous"),
    Case("rotate_c128", "rotate", "--dtype z=c128,theta=f64 --layout contiguous"),
    Case("quantize", "quantize", "--dtype f32 --layout contiguous"),
    Case("quantize_f16", "quantize", "--dtype f16 --layout contiguous"),
    Case("dequantize", "dequantize", "--dtype q=i8,scale=f32 --layout contiguous"),
    Case("sincos", "sincos", "--dtype f32 --layout contiguous"),
    Case("black_scholes", "black_scholes", "--dtype f64 --layout contiguous"),
    Case("morton", "morton", "--dtype x=u16,y=u16 --layout contiguous"),
    Case("blend", "blend", "--dtype over=bf16,under=bf16,mask=u8 --layout contiguous"),
    # --- every layout, and one kind of layout ---
    Case("swiglu_any", "swiglu", "--dtype gate=f16,up=f32"),  # mixed widths: aligned and unaligned kernels
    Case("mixed_strided", "mixed", "--dtype a=f32,b=f32,c=i64 --layout strided --rank 3"),
    # --- certain shapes and strides ---
    Case("gelu_rows", "gelu", "--dtype f16 --shape x=4096x3072,bias=3072"),
    Case("gelu_any_rows", "gelu", "--dtype bf16 --shape x=?x?,bias=?"),
    Case("mixed_slices", "mixed", "--dtype a=f32,b=f16,c=i32 --shape a=512x512,b=512x512,c=512x512 --strides a=2048x2"),
    Case("dequantize_rows", "dequantize", "--dtype q=i8,scale=f32 --shape q=?x?,scale=?x1"),
    Case("gelu_one_bias", "gelu", "--dtype f32 --shape x=?,bias=1"),
    Case("axpy_transposed", "axpy", "--dtype f32 --shape x=4096x1024,y=4096x1024 --strides x=1x4096"),
    Case(
        "axpy_reversed",
        "axpy",
        "--dtype f16 --shape x=26x5000x8x32,y=26x5000x8x32 --strides y=1x26x130000x1040000",
    ),
    Case("axpy_large", "axpy", "--dtype f32 --shape x=3000000000,y=3000000000"),
    Case("axpy_large_strided", "axpy", "--dtype f32 --shape x=70000x70000,y=70000x70000 --strides x=1x70000"),
    Case("normalize_nchw", "normalize", "--shape image=32x3x224x224,mu=3,sigma=3"),
    Case(
        "normalize_channels_last",
        "normalize",
        "--shape image=8x3x480x640,mu=3,sigma=3 --strides image=921600x1x1920x3",
    ),
    Case("rotate_batch", "rotate", "--dtype z=c64,theta=f32 --shape z=8x2048x64,theta=2048x64"),
    Case("causal_mask", "causal_mask", "--dtype f32 --shape scores=?x?x?"),
    Case("causal_mask_f16", "causal_mask", "--dtype f16 --shape scores=?x?"),
    Case("causal_mask_permuted", "causal_mask", "--dtype f32 --shape scores=8x512x512 --strides scores=1x8x4096"),
    Case("causal_mask_padded", "causal_mask", "--dtype f32 --shape scores=8x512x500 --strides scores=262144x512x1"),
    Case("dropout", "dropout", "--dtype f32 --shape x=?"),
    # --- reductions ---
    Case("softmax", "softmax", "--dtype f32 --shape x=4096x1024"),
    Case("softmax_bf16", "softmax", "--dtype bf16 --shape x=4096x8192"),
    Case("softmax_long", "softmax", "--dtype bf16 --shape x=?x?"),
    Case("softmax_short", "softmax", "--dtype bf16 --shape x=10000000x7"),
    Case("softmax_odd", "softmax", "--dtype bf16 --shape x=4096x1001"),
    Case("rmsnorm_odd", "rmsnorm", "--dtype bf16 --shape x=4096x1001,weight=1001"),
    Case("softmax_two_threads", "softmax", "--dtype bf16 --shape x=1000000x65"),
    Case("softmax_one_row", "softmax", "--dtype f32 --shape x=1x100000000"),
    Case("cross_entropy", "cross_entropy", "--dtype logits=f32,label=i64 --shape logits=4096x32000,label=4096"),
    Case("layernorm_bf16", "layernorm", "--dtype bf16 --shape x=16384x4096,weight=4096,bias=4096"),
    Case(
        "layernorm_persistent", "layernorm", "--dtype bf16 --shape x=2048x131072,weight=131072,bias=131072 --arch sm_90"
    ),
    Case(
        "layernorm_channels",
        "layernorm",
        "--dtype bf16 --shape x=256x3136x96,weight=96,bias=96 --strides x=301056x1x3136",
    ),
    Case("softmax_cluster", "softmax", "--dtype bf16 --shape x=2048x131072 --arch sm_90"),
    Case("rmsnorm_bf16", "rmsnorm", "--dtype bf16 --shape x=16384x4096,weight=4096"),
    Case(
        "rmsnorm_gradient",
        "gradients/rmsnorm_gradient",
        "--dtype bf16 --shape x=16384x4096,weight=4096,y_grad=16384x4096 --arch sm_90",
    ),
    Case("fused_add_rmsnorm", "fused_add_rmsnorm", "--dtype bf16 --shape residual=16384x4096,x=16384x4096,weight=4096"),
    Case(
        "fused_add_rmsnorm_gaps",
        "fused_add_rmsnorm",
        "--dtype f32 --shape residual=1000000x21,x=1000000x21,weight=21 --strides x=29x1",
    ),
    Case(
        "fused_add_rmsnorm_boxes",
        "fused_add_rmsnorm",
        "--dtype bf16 --shape residual=64x1024x320,x=64x1024x320,weight=320 --strides residual=327680x1x1024",
    ),
    Case("cosine", "cosine", "--dtype f32 --shape a=65536x256,b=65536x256"),
    Case(
        "cosine_chunks",
        "cosine",
        "--dtype f32 --shape a=8000x512x12,b=8000x512x12 --strides a=512x1x4096000,b=1x8000x4096000",
    ),
    Case(
        "cosine_boxes",
        "cosine",
        "--dtype f32 --shape a=2000x128x300,b=2000x128x300 --strides a=128x1x256000,b=1x2000x256000",
    ),
    Case("quantize_rows", "quantize_rows", "--dtype bf16 --shape x=16384x4096"),
    Case("quantize_rows_fp8", "quantize_rows_fp8", "--dtype bf16 --shape x=16384x4096"),
    Case("rms_norm_per_block_quant", "llm/rms_norm_per_block_quant", "--dtype bf16 --shape x=4096x7168,weight=7168"),
    Case("histogram", "histogram", "--dtype picture=u8,bins=i32 --shape picture=4096x4096,bins=256"),
    Case("embedding", "llm/embedding", "--dtype weight=bf16,ids=i64 --shape weight=128256x4096,ids=8192"),
    Case(
        "rotary_embedding",
        "llm/rotary_embedding",
        "--dtype positions=i64,cos_sin_cache=bf16,query=bf16,key=bf16"
        " --shape positions=64,cos_sin_cache=8192x128,query=64x32x128,key=64x8x128",
    ),
    Case(
        "fused_qk_norm_rope_cache_quant",
        "llm/fused_qk_norm_rope_cache_quant",
        "--dtype qkv=bf16,q_weight=bf16,k_weight=bf16,cos_sin_cache=bf16,positions=i64,slot_mapping=i64,k_scale=f32,"
        "v_scale=f32,query=bf16,key_cache=e4m3fn,value_cache=e4m3fn --shape qkv=1024x48x128,q_weight=128,k_weight=128,"
        "cos_sin_cache=8192x128,positions=1024,slot_mapping=1024,k_scale=1,v_scale=1,query=1024x32x128,"
        "key_cache=512x16x8x128,value_cache=512x16x8x128",
    ),
    Case(
        "cross_entropy_by_label",
        "llm/cross_entropy_by_label",
        "--dtype logits=bf16,label=i64 --shape logits=8192x128256,label=8192",
    ),
    Case("batch_stats", "batch_stats", "--dtype f32 --shape image=64x256x56x56"),
    Case(
        "batch_stats_pixels",
        "batch_stats",
        "--dtype u8 --shape image=32x3x224x224 --strides image=150528x1x672x3",
    ),
    Case(
        "batch_stats_channels_last",
        "batch_stats",
        "--dtype f32 --shape image=64x256x56x56 --strides image=802816x1x14336x256",
    ),
    Case("argmax", "argmax", "--dtype f32 --shape x=65536x1000"),
    Case("argmax_columns", "argmax", "--dtype f32 --shape x=1000x65536 --strides x=1x1000"),
    Case("mse", "mse", "--dtype f32 --shape predicted=16384x16384,target=16384x16384"),
)
