"""Functions of other libraries that kgen lacks -> what to write instead."""

from __future__ import annotations

import re

_VIEW = "pass the view at the call, such as `k(x.T)`: any strides will do"
_NEIGHBOURS = "write slices of one array, such as `x[1:] - x[:-1]`, or `x[2:] - 2 * x[1:-1] + x[:-2]`"
_ROLL = "write `concat(x[-1:], x[:-1], axis=0)`, which begins with the last element"
_ANY_LAYOUT = "leave it out: kgen reads arrays of any strides where they are"
_BY_INDEX = "write `x[i]` for rows, `x[:, i]` for columns, `x[index(0), i]` for one element of each row"
_BINS = "of an inout argument, x[i] += 1 counts and adds; with =, min= or max= it replaces and compares"
_ORDER = (
    "kgen has elementwise functions and reductions, but no scans, sorting or order statistics: use "
    "NumPy's or PyTorch's before or after the call"
)
_PRODUCT = (
    "kgen computes elementwise expressions and reductions, not matrix products; of vectors, `sum(a * b, axis=-1)`"
)
_PARTS = "write a slice for each part, `x[:, :64]`, or `split(x, axis=-1, by=64)` for an axis of parts"
_COORDINATE = "write `index(0)` for an element's coordinate along axis 0; without inputs pass `shape=` at the call"
_LITERAL = "write the literal: `0.0`"
_WINDOWS = (
    "write the taps of a short filter out, `0.25 * x[2:] + 0.5 * x[1:-1] + 0.25 * x[:-2]`; convolve by others with the "
    "library of the arrays"
)
_POOLS = (
    "where windows do not overlap, write `max(split(split(x, axis=-1, by=2), axis=-3, by=2), axis=(-3, -1))`; else a "
    "slice for each place, `max(x[1:], x[:-1])`"
)
_KERNEL = "kgen writes the kernel: write the expression of one element"
_THREAD = "kgen writes the kernel: an element's coordinate is `index(0)`"
_CHOICE = "write `condition ? a : b` or `where(condition, a, b)`"

#: Names -> what to write.
_ROWS: dict[str, str] = {
    "softmax softmin": "write `let e = exp(x - max(x, axis=-1, keepdims=true))` and "
    "`out = e / sum(e, axis=-1, keepdims=true)`",
    "log_softmax": "write `x - logsumexp(x, axis=-1, keepdims=true)`",
    "layer_norm layernorm": "write `let d = x - mean(x, axis=-1, keepdims=true)` and "
    "`out = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b`",
    "batch_norm batchnorm group_norm instance_norm": "write `let d = x - mean(x, axis=0, keepdims=true)` and "
    "`out = d * rsqrt(mean(d * d, axis=0, keepdims=true) + 1e-5) * w + b`, with the axes that are normalised",
    "rms_norm rmsnorm": "write `x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6) * w`",
    "rms": "write `sqrt(mean(x * x, axis=-1))`",
    "normalize": "write `x / max(norm(x, axis=-1, keepdims=true), 1e-12)`",
    "cosine_similarity": "write `sum(a * b, axis=-1) / (norm(a, axis=-1) * norm(b, axis=-1))`",
    "cross_entropy": "write `loss = logsumexp(x, axis=-1) - x[index(0), label]`",
    "nll_loss": "write `loss = -log_p[index(0), label]`",
    "mse_loss": "write `mean(square(a - b))`",
    "l1_loss": "write `mean(abs(a - b))`",
    "glu swiglu geglu": "write `silu(gate) * up`",
    "threshold": "write `x > 0.5 ? x : 0`",
    "dropout": "pass a mask as an input: `x * mask / (1 - p)`",
    "cumsum cumprod cummax cummin sort argsort topk median nanmedian quantile percentile kthvalue unique": _ORDER,
    "searchsorted digitize bucketize": "for a few edges, write `sum(expand(x, axis=1) >= edges, axis=1)`, which counts "
    "those up to `x`",
    "matmul mm bmm einsum tensordot inner vdot linear baddbmm addmm kron": _PRODUCT,
    "cross": "write `stack(a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1], "
    "a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2], a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0], axis=-1)`",
    "cov": "write `let d = x - mean(x, axis=0, keepdims=true)` and `c = mean(d[:, :, None] * d[:, None, :], axis=0)`",
    "trapz trapezoid": "write `sum((y[1:] + y[:-1]) / 2 * (x[1:] - x[:-1]))`",
    "interp interpolate grid_sample": "of a table at equal steps, write `let k = cast<int>(floor(x))` and "
    "`y = lerp(table[k], table[k + 1], x - k)`",
    "fft ifft rfft irfft dct": "kgen has elementwise functions and reductions, no transforms: use the library of the "
    "arrays before or after the call",
    "dot vecdot": "write `sum(a * b, axis=-1)`",
    "outer": "write `expand(a, axis=1) * b`",
    "conv conv1d conv2d conv3d convolve correlate unfold fold": _WINDOWS,
    "max_pool max_pool1d max_pool2d maxpool avg_pool avg_pool1d avg_pool2d": _POOLS,
    "permute permute_dims swapaxes moveaxis matrix_transpose": "write `transpose(x, (1, 0))`, which orders all axes",
    "fliplr flipud": "write `flip(x, axis=1)`",
    "reshape view unflatten": "write `split(x, axis=-1, by=128)` or `merge(x, axis=(-2, -1))`",
    "flatten ravel": "write `merge(x, axis=(0, 1))`, with all axes",
    "squeeze": "write `x[0]`, with an index for the axis",
    "rot90 diagonal diag": _VIEW,
    "unsqueeze expand_dims": "write `expand(x, axis=1)` for a new axis",
    "broadcast_to broadcast_arrays": "remove it: a missing axis, or one of size 1, broadcasts",
    "shift diff gradient pad laplacian neighbors neighbours": _NEIGHBOURS,
    "roll": _ROLL,
    "contiguous clone copy ascontiguousarray": _ANY_LAYOUT,
    "gather index_select take_along_axis take_along_dim embedding lookup choose": _BY_INDEX,
    "one_hot onehot": "pass the classes as an input, numpy.arange(n): `cast<float>(expand(label, axis=1) == classes)`",
    "histogram hist bincount histc scatter scatter_add scatter_reduce index_add index_copy index_put "
    "put at segment_sum atomicAdd atomicSub atomicMax atomicMin atomicExch atomic_add atomic_max atomic_min": _BINS,
    "nonzero argwhere compress masked_select": "a shape cannot depend on values: select before or after the call",
    "concatenate cat hstack vstack dstack": "write `concat(a, b, axis=0)`",
    "chunk unstack": _PARTS,
    "slice narrow dynamic_slice": "write a slice, `x[:, 2:10]`",
    "tile repeat_interleave": "write `repeat(x, 2, axis=0)`, which repeats each element; a missing axis broadcasts",
    "arange linspace iota indices meshgrid range": _COORDINATE,
    "tril": "write `index(-1) <= index(-2) ? x : 0`",
    "triu": "write `index(-1) >= index(-2) ? x : 0`",
    "eye identity": "write `cast<float>(index(0) == index(1))`",
    "trace": "write `sum(index(0) == index(1) ? x : 0)`",
    "zeros zeros_like empty empty_like full full_like": _LITERAL,
    "ones ones_like": "write the literal: `1.0`",
    "typeof": "`typeof(x)` is only allowed inside `cast<typeof(x)>(...)`",
    "amax": "write `max(x, axis=-1)`",
    "amin": "write `min(x, axis=-1)`",
    "ptp": "write `max(x, axis=-1) - min(x, axis=-1)`",
    "average": "write `mean(x, axis=-1)`; with weights, `sum(w * x, axis=-1) / sum(w, axis=-1)`",
    "numel": "write `size(x, 0) * size(x, 1)`, with all axes",
    "xor": "write `a ^ b`; of conditions, `logical_xor(a, b)`",
    "rotl": "write `(x << 5) | (x >> (32 - 5))`, for unsigned integers of 32 bits",
    "mulhi umulhi __umulhi": "write `cast<uint32>(cast<uint64>(a) * b >> 32)`, for unsigned integers of 32 bits",
    "nansum": "write `sum(isnan(x) ? 0 : x, axis=-1)`",
    "nanmean": "write `sum(isnan(x) ? 0 : x, axis=-1) / sum(isnan(x) ? 0 : 1, axis=-1)`",
    "nanmax": "write `max(isnan(x) ? -inf : x, axis=-1)`",
    "nanmin": "write `min(isnan(x) ? inf : x, axis=-1)`",
    "nan_to_num": "write `isnan(x) ? 0 : x`",
    "isclose": "write `abs(a - b) <= 1e-8 + 1e-5 * abs(b)`",
    "allclose": "write `all(abs(a - b) <= 1e-8 + 1e-5 * abs(b))`",
    "array_equal": "write `all(a == b)`",
    "sgn signum": "write `sign(x)`",
    "frac fract": "write `x - floor(x)`",
    "cube": "write `x ** 3`",
    "inversesqrt": "write `rsqrt(x)`",
    "cot": "write `1 / tan(x)`",
    "sec": "write `1 / cos(x)`",
    "csc": "write `1 / sin(x)`",
    "cdiv ceil_div": "write `(a + b - 1) // b`",
    "divmod": "write `a // b` and `a % b`, a line for each",
    "sincos sincospi": "write `sin(x)` and `cos(x)`, a line for each",
    "modf": "write `trunc(x)` and `x - trunc(x)`, a line for each",
    "frexp": "write `let e = logb(x) + 1`, `exponent = e`, `mantissa = ldexp(x, -cast<int>(e))`",
    "masked_fill": "write `mask ? value : x`",
    "gcd lcm": "it needs a loop, which kgen does not have: compute it before the call",
    "rand randn rand_like randn_like random uniform normal bernoulli curand curand_uniform "
    "curand_normal": "pass random numbers as an input",
    "if iif ifelse ternary cond switch": _CHOICE,
    "for while scan fori_loop while_loop map vmap reduce": "there are no loops: write the expression of one element",
    "float": "write `cast<float>(x)`",
    "astype type_as asarray array tensor": "write `cast<float>(x)`, with the type you need",
    "len": "write `size(x, 0)`",
    "float4 float2 half2 make_float4 make_float2": "kgen chooses vector accesses: write the expression of one element",
    "threadfence syncthreads __syncthreads atomicCAS __shfl_sync __ldg printf print load store": _KERNEL,
    "program_id grid": _THREAD,
}
FOREIGN_FUNCTIONS: dict[str, str] = {name: hint for names, hint in _ROWS.items() for name in names.split()}

_TYPES = {
    "ll": "int64", "ull": "uint64", "uint": "uint32", "ushort": "uint16", "short": "int16", "uchar": "uint8",
    "char": "int8",
}  # fmt: skip
_CONVERSION = re.compile(
    r"_*(?P<from>double|float|half|bfloat16|int|uint|ll|ull|short|ushort|char|uchar)(?P<how>2|_as_)"
    r"(?P<to>double|float|half|bfloat16|int|uint|ll|ull|short|ushort|char|uchar)(?:_(?P<mode>rn|rz|ru|rd|sat))?"
)
_ROUNDING = {"rn": ", rne", "rz": ", rz", "ru": ", ru", "rd": ", rd"}


def spelling_in_kgen(name: str) -> str | None:
    """What to write instead of a function of another library; None for unknown names."""
    found = _CONVERSION.fullmatch(name)  # __float2half_rn, __float_as_int
    if found is None:
        return FOREIGN_FUNCTIONS.get(name)
    dtype = _TYPES.get(found["to"], found["to"])
    if found["how"] == "_as_":
        return f"write `bitcast<{dtype}>(x)`"
    return f"write `cast<{dtype}{_ROUNDING.get(found['mode'] or '', '')}>(x)`"
