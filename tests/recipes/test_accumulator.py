"""CONTRIBUTING.md's "Add an accumulator", followed in a copy of kgen: `cubes(x)`, a sum of cubes."""

from __future__ import annotations

from pathlib import Path

from tests.recipes.harness import Copy, files_of

STRUCT = """\
// A sum of cubes.
template <typename T>
struct Cubes {
    T sum;

    static __device__ __forceinline__ Cubes identity() { return {0}; }

    __device__ __forceinline__ void add(T x) { sum += x * x * x; }
    __device__ __forceinline__ void merge(const Cubes& other) { sum += other.sum; }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Cubes shuffle_xor(int d) const { return {__shfl_xor_sync(0xffffffffu, sum, d)}; }

    __device__ __forceinline__ T result() const { return sum; }
};
"""

#: File, what stands there, and what stands there then.
CHANGES = (
    ("kgen/codegen/helpers.py", '"product", "complex_product", "sum"', '"product", "complex_product", "sum", "cubes"'),
    (
        "kgen/codegen/reduction/accumulators.py",
        '    "norm": _norm,\n',
        '    "norm": _norm,\n    "cubes": lambda attr, source, to: _plain("Cubes", "cubes", register_type(to)),\n',
    ),
    ("kgen/ir/graph.py", '"count_nonzero", "norm",', '"count_nonzero", "norm", "cubes",'),
    (
        "kgen/ir/reduction_values.py",
        '    "sum": lambda rows, _: np.sum(rows, axis=-1),\n',
        '    "sum": lambda rows, _: np.sum(rows, axis=-1),\n    "cubes": lambda rows, _: np.sum(rows**3, axis=-1),\n',
    ),
    ("kgen/functions.py", "count_nonzero norm logsumexp", "count_nonzero norm cubes logsumexp"),
    ("kgen/functions.py", '"norm", "logsumexp")', '"norm", "cubes", "logsumexp")'),
    ("kgen/check/reduction_types.py", '"norm", "logsumexp"})', '"norm", "cubes", "logsumexp"})'),
)

#: Rows in registers, long rows, columns, columns in registers, and a chain of two rounds.
PROGRAM = """
import numpy as np
import kgen
for shape, axis in (((5, 1000), 1), ((3, 100001), 1), ((1000, 64), 0), ((40, 30, 16), 1)):
    x = np.random.default_rng(1).integers(-3, 4, shape).astype(np.float32)
    got = kgen.jit(f"out = cubes(x, axis={axis})", device="cpu")(x)
    assert np.array_equal(got, (x.astype(np.float64) ** 3).sum(axis)), shape
x = np.random.default_rng(2).random((40, 300), np.float32)
got = kgen.jit("out = x / cubes(x, axis=1, keepdims=true)", device="cpu")(x)
assert np.allclose(got, x / (x.astype(np.float64) ** 3).sum(1, keepdims=True), rtol=1e-5)
print("fine")
"""


def test_an_accumulator_is_a_struct_and_a_row(tmp_path: Path) -> None:
    """The struct, two rows for the text, and what the language and the oracle say of a new reduction."""
    copy = Copy(tmp_path)
    struct = "templates/device/accumulators/cubes.cu"
    copy.create(struct, STRUCT)
    for path, there, then in CHANGES:
        copy.replace(path, there, then)
    assert copy.python("-c", PROGRAM) == "fine\n"
    assert copy.changed() == {struct, *(path for path, _, _ in CHANGES)}
    assert copy.changed() <= files_of("Add an accumulator", name="cubes")
