"""NumPy arrays: what is read from them, what is copied, what is refused."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest

from kgen.arrays.base import span
from kgen.arrays.numpy_ import TO_NUMPY, BufferAdapter, NumpyAdapter, at_address
from kgen.diagnostics import KgenError
from kgen.dtypes import DTYPES, FLOAT32, INT16, UINT8, DType
from kgen.spec import Spec

ADAPTER = NumpyAdapter()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_round_trips(dtype: DType) -> None:
    """An array made for a dtype is read back as that dtype, bfloat16 and fp8 included."""
    made = ADAPTER.empty((2, 3), (3, 1), dtype)
    assert ADAPTER.spec(made) == Spec((2, 3), dtype, (3, 1))
    assert made.itemsize == dtype.size


@pytest.mark.parametrize(
    "dtype", ["S4", "U2", "O", "M8[s]", "g", [("x", "f4")]], ids=["bytes", "str", "object", "time", "long", "struct"]
)
def test_other_dtypes_are_refused(dtype: Any) -> None:
    """Strings, objects, times, long doubles and structs have no dtype here."""
    with pytest.raises(KgenError) as raised:
        ADAPTER.spec(np.zeros(2, dtype))
    assert raised.value.code == "unsupported-dtype"


@pytest.mark.parametrize(
    ("view", "strides"),
    [
        (lambda x: x, (12, 4, 1)),
        (lambda x: x.T, (1, 4, 12)),
        (lambda x: x[::-1, :, ::2], (-12, 4, 2)),
        (lambda x: np.broadcast_to(x[:1], (5, 3, 4)), (0, 4, 1)),
        (lambda x: x[0, 0, 0], ()),
    ],
)
def test_strides_are_in_elements(view: Any, strides: tuple[int, ...]) -> None:
    """Strides are read in elements, negative and zero ones too, and the pointer is that of element 0."""
    x = view(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    x = ADAPTER.normalise(x)
    assert ADAPTER.spec(x).strides == strides
    assert ADAPTER.pointer(x) == x.ctypes.data


@pytest.mark.parametrize("shape", [(0, 3), (1, 0, 2), ()])
def test_empty_and_zero_dimensional(shape: tuple[int, ...]) -> None:
    """Arrays without elements and without dimensions are arrays like others."""
    made = ADAPTER.empty(shape, (1,) * len(shape), FLOAT32)
    assert made.shape == shape
    assert ADAPTER.spec(made).shape == shape


@pytest.mark.parametrize(
    "strides",
    [(12, 4, 1), (1, 2, 6), (4, 8, 1), (-12, 4, 1), (24, 8, 2)],
    ids=["c", "f", "permuted", "negative", "gaps"],
)
def test_empty_has_the_strides_asked_for(strides: tuple[int, ...]) -> None:
    """A new array has exactly the strides that the layout rules decided, and memory for all of its elements."""
    made = ADAPTER.empty((2, 3, 4), strides, INT16)
    assert ADAPTER.spec(made).strides == strides
    made[...] = np.arange(24).reshape(2, 3, 4)
    assert made.sum() == 276


def unaligned() -> np.ndarray[Any, Any]:
    return np.frombuffer(bytes(range(13)), np.uint8)[1:].view(np.float32)


def split_elements() -> np.ndarray[Any, Any]:
    return np.zeros(4, [("a", "f4"), ("b", "i1")])["a"]


@pytest.mark.parametrize("make", [unaligned, split_elements, lambda: np.arange(3, dtype=">f4")])
def test_what_a_kernel_cannot_read_is_copied(make: Any) -> None:
    """Unaligned data, strides that split elements and swapped bytes are read through a copy, and never written."""
    x = make()
    copy = ADAPTER.normalise(x)
    assert copy is not x
    assert copy.flags.aligned
    assert copy.dtype.isnative
    np.testing.assert_array_equal(copy, x)
    assert ADAPTER.spec(x) == ADAPTER.spec(copy) == Spec(x.shape, FLOAT32, (1,))
    assert not ADAPTER.writable(x)


def test_complex_strides_of_half_elements_are_copied() -> None:
    """complex64 is aligned at every float, so NumPy's flag alone would let half an element through."""
    floats = np.arange(12, dtype=np.float32)
    x = at_address(floats.ctypes.data, (3,), (1,), np.dtype(np.complex64), floats, False)
    x = np.lib.stride_tricks.as_strided(x, (3,), (12,))
    assert x.flags.aligned
    copy = ADAPTER.normalise(x)
    assert copy.tolist() == [0 + 1j, 3 + 4j, 6 + 7j]
    assert ADAPTER.spec(x).strides == (1,)


def test_strides_of_extents_of_one_do_not_matter() -> None:
    """An array of one element may have any stride there; it is read in place."""
    x = np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (1,), (3,))
    assert ADAPTER.normalise(x) is x
    assert ADAPTER.spec(x).shape == (1,)


def test_read_only_arrays_are_not_writable() -> None:
    """Read-only arrays, broadcast views among them, and scalars may be read and not written."""
    x = np.zeros(3)
    assert ADAPTER.writable(x)
    x.flags.writeable = False
    assert not ADAPTER.writable(x)
    assert not ADAPTER.writable(np.float32(1))


def test_masked_arrays_are_refused() -> None:
    """A mask would be lost silently, so a masked array is an error."""
    with pytest.raises(KgenError, match="mask"):
        ADAPTER.normalise(np.ma.masked_array([1.0, 2.0], [True, False]))


def test_scalars_are_zero_dimensional() -> None:
    """A NumPy scalar promotes as an array: it is a 0-d one."""
    assert ADAPTER.spec(np.float32(2.5)) == Spec((), FLOAT32, ())
    assert ADAPTER.normalise(np.float32(2.5)).shape == ()
    assert ADAPTER.device(np.float32(2.5)) is None


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_item_is_a_python_scalar_of_the_same_kind(dtype: DType) -> None:
    """The value of a 0-d array is Python's, whatever scalar type the library has."""
    value = ADAPTER.item(np.ones((), TO_NUMPY[dtype]))
    assert value == 1
    assert type(value) is (bool, int, float, complex)[dtype.kind]


def test_buffers_are_read_in_place() -> None:
    """``array.array`` and writable memoryviews are read and written where they are."""
    adapter = BufferAdapter()
    x = array.array("B", [1, 2, 3])
    assert adapter.spec(x) == Spec((3,), UINT8, (1,))
    assert adapter.pointer(x) == x.buffer_info()[0]
    assert adapter.writable(x)
    assert not adapter.writable(memoryview(b"abc"))


def test_span() -> None:
    """The span of an array is what its strides reach, below element 0 as well; nothing for no elements."""
    assert span((2, 3), (-10, 2)) == (-10, 4)
    assert span((2, 0), (1, 1)) == (0, -1)
    assert span((), ()) == (0, 0)
