"""Which adapter reads an object, and what is said of objects that none reads."""

from __future__ import annotations

import array
import enum
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from kgen.arrays import adapter_of
from kgen.diagnostics import KgenError

from .fakes import DlpackArray, InterfaceArray, Masked


class Level(enum.IntEnum):
    LOW = 1


@pytest.mark.parametrize("value", [True, 3, 2.5, 1j, Level.LOW])
def test_python_scalars_are_no_arrays(value: object) -> None:
    """Scalars, subclasses of them included, have no adapter: they are passed by value."""
    assert adapter_of(value) is None


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (np.zeros(3), "numpy"),
        (np.float32(1), "numpy"),
        (np.float64(1), "numpy"),
        (np.zeros((2, 2)).view(type("Mine", (np.ndarray,), {})), "numpy"),
        (array.array("d", [1.0]), "buffer"),
        (memoryview(b"abc"), "buffer"),
        (DlpackArray(np.zeros(3)), "array"),
        (InterfaceArray(), "array"),
    ],
)
def test_adapter_by_type(value: object, name: str) -> None:
    """NumPy by its types and their subclasses (a float64 scalar is also a float), others by their protocol."""
    adapter = adapter_of(value)
    assert adapter is not None
    assert adapter.name == name
    assert adapter_of(value) is adapter


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ([1, 2], "numpy.asarray"),
        ((1, 2), "numpy.asarray"),
        (range(3), "numpy.arange"),
        ("text", "numbers"),
        (b"bytes", "numpy.frombuffer"),
        (bytearray(4), "numpy.frombuffer"),
        (None, "check that the variable is set"),
        ({}, "DLPack"),
        (Masked(), "DLPack"),
    ],
)
def test_not_an_array(value: object, hint: str) -> None:
    """Everything else is refused with what to write instead."""
    with pytest.raises(KgenError) as raised:
        adapter_of(value)
    assert raised.value.code == "not-an-array"
    assert hint in str(raised.value)


@pytest.mark.parametrize("package", ["pandas", "scipy"])
def test_hint_names_the_conversion_of_known_libraries(package: str) -> None:
    """The hint for a data frame or a sparse array is its own conversion, found without importing the library."""
    kind: type[Any] = type("Thing", (), {"__module__": f"{package}.core.thing"})
    with pytest.raises(KgenError) as raised:
        adapter_of(kind())
    assert {"pandas": "to_numpy", "scipy": "toarray"}[package] in str(raised.value)


def test_lookup_imports_no_library() -> None:
    """Reading a NumPy array imports neither torch, jax, cupy, numba nor CUDA."""
    code = (
        "import sys, numpy; from kgen.arrays import adapter_of; a = adapter_of(numpy.zeros(3)); a.spec(numpy.zeros(3));"
        "print([m for m in ('torch', 'jax', 'cupy', 'numba', 'cuda.bindings.driver', 'cuda.core') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout.strip() == "[]"
