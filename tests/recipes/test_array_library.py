"""CONTRIBUTING.md's "Add an array library", followed in a copy of kgen with a library that is made up."""

from __future__ import annotations

from pathlib import Path

from tests.recipes.harness import Copy, files_of

#: ``toyarray``, with no array protocol: without its adapter its arrays are no arrays.
LIBRARY = """
import numpy

class Array:
    def __init__(self, values):
        self.values = values

def asarray(values):
    return Array(numpy.asarray(values))

def empty(shape, strides, dtype):
    low = sum((n - 1) * s for n, s in zip(shape, strides) if s < 0)
    assert low == 0
    memory = numpy.empty(1 + sum((n - 1) * s for n, s in zip(shape, strides)), dtype)
    steps = [s * memory.itemsize for s in strides]
    return Array(numpy.lib.stride_tricks.as_strided(memory, shape, steps))
"""

ADAPTER = '''"""Arrays of toyarray."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from kgen.arrays.base import CPU, Defaults, Device, as_python
from kgen.arrays.numpy_ import TO_NUMPY, dtype_of
from kgen.dtypes import DType
from kgen.spec import Spec


class ToyAdapter(Defaults):
    name = "toy"

    def __init__(self) -> None:
        self._toy = sys.modules["toyarray"]

    def spec(self, x: Any) -> Spec:
        values = x.values
        return Spec(values.shape, dtype_of(values.dtype), tuple(s // values.itemsize for s in values.strides))

    def pointer(self, x: Any) -> int:
        return int(x.values.ctypes.data)

    def device(self, x: Any) -> Device:
        return CPU

    def empty(self, shape: Sequence[int], strides: Sequence[int], dtype: DType, like: Any) -> Any:
        return self._toy.empty(shape, strides, TO_NUMPY[dtype])

    def item(self, x: Any) -> bool | int | float | complex:
        return as_python(x.values.item(), dtype_of(x.values.dtype))
'''

FUNCTION = """def _toy() -> Adapter:
    from kgen.arrays.toy_ import ToyAdapter

    return ToyAdapter()


"""

TEST = '''"""Arrays of toyarray."""

import toyarray
import numpy as np

import kgen
from kgen.arrays import adapter_of


def test_results_are_arrays_of_the_library():
    x = toyarray.asarray(np.arange(6, dtype=np.float32).reshape(2, 3).T)
    assert adapter_of(x).name == "toy"
    found = kgen.jit("out = a * 2", device="cpu")(x)
    assert type(found) is toyarray.Array
    np.testing.assert_array_equal(found.values, x.values * 2)
    assert adapter_of(toyarray.asarray(np.float32(3))).item(toyarray.asarray(np.float32(3))) == 3
'''

ROW = "| toy | cpu | yes | yes | yes | yes | bad-call | yes | bad-plan |\n"
MAKE = """    if library == "toy":
        return __import__("toyarray").asarray(values)
"""
HOST = """    if type(x).__name__ == "Array":
        return x.values
"""


def test_an_array_library_is_an_adapter_and_a_row(tmp_path: Path) -> None:
    """Its arrays are read, written and made, and what its row in docs/interop.md says is so."""
    copy = Copy(tmp_path)
    copy.create("toyarray.py", LIBRARY)
    copy.create("kgen/arrays/toy_.py", ADAPTER)
    copy.insert("kgen/arrays/__init__.py", "def _generic() -> Adapter:", FUNCTION)
    copy.insert("kgen/arrays/__init__.py", '    ("numpy", ("ndarray"', '    ("toyarray", ("Array",), _toy),\n')
    copy.create("tests/arrays/test_toy.py", TEST)
    interop = "tests/calls/test_interop.py"
    copy.insert("docs/interop.md", "| NumPy | cuda |", ROW)
    copy.insert(interop, '    if library == "DLPack":', MAKE)
    copy.insert(interop, '    for name in ("copy_to_host", "get"):', HOST)
    # Of the row, the cells that share a kernel: one compile is enough here.
    chosen = "toy and not input and not inout and not value"
    assert copy.pytest("--noconftest", "tests/arrays/test_toy.py", interop, "-k", chosen) == 1 + 4
    changed = {"kgen/arrays/toy_.py", "kgen/arrays/__init__.py", "tests/arrays/test_toy.py", interop, "docs/interop.md"}
    assert copy.changed() == changed
    assert changed <= files_of("Add an array library", name="toy")
