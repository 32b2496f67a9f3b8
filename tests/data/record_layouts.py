"""Record layouts from PyTorch's live TensorIterator that ``tensor_iterator_layouts.json.gz`` lacks.

    python tests/data/record_layouts.py        # needs torch >= 2.13; rewrites torch_layouts.json.gz beside it

Given outputs of any strides, in-place calls, several outputs, mixed dtypes, extents of 0, linear iteration, high ranks.
Strides are in elements.  ``outputs`` and ``inputs`` are [shape, strides, dtype] as the caller holds them, null for an
allocated output; ``iter_shape`` and ``iter_strides`` what the iterator made of them, ``out_strides`` the outputs'.
The same seed gives the same file.
"""

from __future__ import annotations

import gzip
import importlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# By name: the type checker would otherwise read all of torch.
torch: Any = importlib.import_module("torch")
tensor_iterator: Any = importlib.import_module("torch._tensor_iterator")

HERE = Path(__file__).parent
DTYPES = ("float32", "float16", "float64", "int8")


def layout(rng: random.Random, shape: list[int], *, gaps: bool = True, repeats: bool = True) -> list[int]:
    """Strides for a shape: permuted, perhaps with gaps, perhaps 0 along an axis, odd ones along axes of size 1."""
    order = list(range(len(shape)))
    how = rng.random()
    if how < 0.3:
        order.reverse()
    elif how < 0.45 and len(shape) == 4:
        order = [1, 3, 2, 0]
    else:
        rng.shuffle(order)
    gaps = gaps and rng.random() < 0.4
    strides, step = [0] * len(shape), rng.choice((1, 2)) if gaps else 1
    for axis in order:
        strides[axis] = step
        step *= max(shape[axis], 1)
        if gaps:
            step += rng.choice((0, 0, 1, 3))
    for axis, n in enumerate(shape):
        if n == 1 and rng.random() < 0.3:
            strides[axis] = rng.choice((0, 1, 7, 100))
        elif repeats and n > 1 and rng.random() < 0.08:
            strides[axis] = 0
    return strides


def tensor(shape: list[int], strides: list[int], dtype: str) -> Any:
    span = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if 0 not in shape else 0
    return torch.as_strided(torch.empty(span, dtype=getattr(torch, dtype)), shape, strides)


def operand(rng: random.Random, shape: list[int], dtype: str) -> list[Any]:
    """An input that broadcasts to ``shape``."""
    own = list(shape)
    if rng.random() < 0.3:
        own = [1 if rng.random() < 0.3 else n for n in own]
        own = own[rng.randint(0, len(own)) if rng.random() < 0.4 else 0 :]
    return [own, layout(rng, own), dtype]


def case(rng: random.Random, kind: str) -> dict[str, Any]:
    extents = {"empty": (0, 0, 1, 2, 3), "deep": (1, 1, 1, 2)}.get(kind, (1, 1, 2, 3, 4, 5))
    rank = rng.choice((6, 9, 16, 25, 64)) if kind == "deep" else rng.choice((0, 1, 2, 2, 3, 3, 4, 4, 4, 5))
    shape = [rng.choice(extents) for _ in range(rank)]
    while torch.Size(shape).numel() > 1 << 12:
        shape[rng.randrange(rank)] = 1
    dtypes = DTYPES if kind == "mixed" else DTYPES[:1]
    inputs = [operand(rng, shape, rng.choice(dtypes)) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
    inputs[rng.randrange(len(inputs))] = [shape, layout(rng, shape), rng.choice(dtypes)]
    if rng.random() < 0.15:
        # A shared layout, for the set-up of dense operands with identical strides.
        inputs = [[shape, layout(rng, shape, gaps=False), rng.choice(dtypes)]] * len(inputs)
    given = [shape, layout(rng, shape, repeats=False), rng.choice(dtypes)]
    if rng.random() < 0.3:
        given = [*inputs[0][:2], given[2]] if inputs[0][0] == shape else given
    by_kind: dict[str, list[Any]] = {"out": [given], "several": [given, None], "in-place": [inputs[0]]}
    outputs = by_kind.get(kind, [None])
    if kind in ("mixed", "empty", "deep", "linear") and rng.random() < 0.4:
        outputs = [given]
    if kind == "in-place" and inputs[0][0] != shape:
        inputs[0] = outputs[0] = given
    if kind == "several" and rng.random() < 0.5:
        outputs.reverse()
    held_in = [tensor(*x) for x in inputs]
    held_out = [None if x is None else held_in[0] if kind == "in-place" else tensor(*x) for x in outputs]
    it = tensor_iterator.TensorIterator(
        outputs=held_out,
        const_inputs=held_in,
        check_all_same_dtype=False,
        # kgen decides overlap by itself (kgen.layout.overlap).
        check_mem_overlap=False,
        resize_outputs=False,
        enforce_linear_iteration=kind == "linear",
        static_dtype=torch.float32,
    )
    count = len(outputs) + len(inputs)
    return {
        "kind": kind,
        "outputs": outputs,
        "inputs": inputs,
        "shape": shape,
        "iter_shape": list(it.shape),
        "iter_strides": [list(it.element_strides(i)) for i in range(count)],
        "out_strides": [list(it.output(i).stride()) for i in range(len(outputs))],
    }


def cases(seed: int, count: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(seed)
    kinds = ("out", "out", "in-place", "several", "mixed", "empty", "linear", "deep", "allocated")
    for number in range(count):
        yield case(rng, kinds[number % len(kinds)])


def main() -> None:
    record = {
        "source": f"torch {torch.__version__} TensorIterator on CPU; strides in elements; dimension 0 is the fastest",
        "cases": list(cases(seed=20, count=2700)),
    }
    text = json.dumps(record, separators=(",", ":"))
    (HERE / "torch_layouts.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
