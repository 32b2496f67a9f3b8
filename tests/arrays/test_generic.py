"""DLPack and ``__cuda_array_interface__``, with producers that exist only in the tests."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import weakref
from typing import Any

import numpy as np
import pytest

from kgen.arrays.base import CPU, cuda
from kgen.arrays.dlpack import read_capsule
from kgen.arrays.generic import GenericAdapter
from kgen.arrays.numpy_ import TO_NUMPY
from kgen.arrays.owned import OwnedArray
from kgen.diagnostics import KgenError
from kgen.dtypes import BFLOAT16, DTYPES, FLOAT8_E4M3FN, FLOAT8_E5M2, FLOAT32, FLOAT64, DType
from kgen.spec import Spec

from .fakes import DlpackArray, ElsewhereArray, InterfaceArray

ADAPTER = GenericAdapter()


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_dlpack_is_read_in_place(dtype: str, old: bool) -> None:
    """Both generations of capsules give shape, dtype, strides in elements and the address of element 0."""
    data = np.zeros((4, 6), dtype)[::2, ::-1]
    x = DlpackArray(data, old)
    view = ADAPTER.normalise(x)
    expected = tuple(s // data.itemsize for s in data.strides)
    assert (view.spec.shape, TO_NUMPY[view.spec.dtype], view.spec.strides) == (data.shape, data.dtype, expected)
    assert ADAPTER.pointer(view) == data.ctypes.data
    assert ADAPTER.device(view) == CPU


def test_view_keeps_the_data_alive() -> None:
    """While a view lives, so does the memory that it shows, even if the caller drops the array."""
    data = np.arange(3.0)
    alive = weakref.ref(data)
    view = ADAPTER.normalise(DlpackArray(data))
    del data
    gc.collect()
    assert alive() is not None
    del view
    gc.collect()
    assert alive() is None


def test_read_only_dlpack() -> None:
    """DLPack 1.0 says that an array is read-only; such an array is no output."""
    data = np.zeros(3)
    assert ADAPTER.writable(DlpackArray(data))
    data.flags.writeable = False
    try:
        data.__dlpack__(max_version=(1, 1))
    except (BufferError, TypeError):
        pytest.skip("this NumPy does not export read-only arrays")
    assert not ADAPTER.writable(DlpackArray(data))


def test_results_for_host_producers_are_numpy() -> None:
    """A library that kgen does not know gets NumPy arrays for its host arrays."""
    made = ADAPTER.empty((2, 3), (1, 2), FLOAT64, DlpackArray(np.zeros(3)))
    assert isinstance(made, np.ndarray)
    assert made.strides == (8, 16)


def test_other_devices_are_refused() -> None:
    """A DLPack device that is neither CUDA nor the host is an error before anything is exported."""
    x = ElsewhereArray(np.zeros(3))
    with pytest.raises(KgenError) as raised:
        ADAPTER.spec(x)
    assert raised.value.code == "unsupported-device"
    assert x.asked == []


@pytest.mark.parametrize(
    ("fields", "spec"),
    [
        ({}, Spec((0, 4), FLOAT32, (4, 1))),
        ({"strides": (4, 8)}, Spec((0, 4), FLOAT32, (1, 2))),
        ({"typestr": "<f8", "strides": (0, -8)}, Spec((0, 4), FLOAT64, (0, -1))),
    ],
)
def test_cuda_array_interface(fields: dict[str, Any], spec: Spec) -> None:
    """Byte strides become element strides, and absent ones C order."""
    x = InterfaceArray(**fields)
    assert ADAPTER.spec(x) == spec
    assert ADAPTER.device(x) == cuda(0)
    assert ADAPTER.pointer(x) == 0


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"mask": object()}, "not-an-array"),
        ({"typestr": ">f4"}, "unsupported-dtype"),
        ({"typestr": "<U4"}, "unsupported-dtype"),
        ({"typestr": "|V2"}, "unsupported-dtype"),
        ({"typestr": "nonsense"}, "unsupported-dtype"),
        ({"strides": (3, 1)}, "bad-strides"),
        ({"stream": 0}, "not-an-array"),
    ],
)
def test_cuda_array_interface_refused(fields: dict[str, Any], code: str) -> None:
    """Masks, swapped bytes, dtypes kgen has not, split elements and the forbidden stream 0 are errors."""
    with pytest.raises(KgenError) as raised:
        ADAPTER.spec(InterfaceArray(**fields))
    assert raised.value.code == code


@pytest.mark.parametrize(("typestr", "dtype"), [("|V2", BFLOAT16), ("|V1", FLOAT8_E4M3FN), ("<f1", FLOAT8_E5M2)])
def test_cuda_array_interface_dtype_of_the_object(typestr: str, dtype: DType) -> None:
    """A typestr cannot spell bfloat16 and fp8; the object's own dtype does."""
    x = InterfaceArray(typestr=typestr)
    x.dtype = TO_NUMPY[dtype]  # type: ignore[attr-defined]
    assert ADAPTER.spec(x).dtype is dtype


@pytest.mark.parametrize(("stream", "handle"), [(None, None), (1, 0), (2, 2), (12345, 12345)])
def test_cuda_array_interface_stream(stream: int | None, handle: int | None) -> None:
    """The interface's stream 1 is the legacy default stream, which raw handles call 0."""
    assert ADAPTER.normalise(InterfaceArray(stream=stream)).stream == handle


def test_read_only_cuda_array_interface() -> None:
    """The interface's read-only flag is honoured."""
    assert ADAPTER.writable(InterfaceArray())
    assert not ADAPTER.writable(InterfaceArray(data=(0, True)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_owned_arrays_export_every_dtype(dtype: DType) -> None:
    """kgen's own memory is exported through DLPack with its true dtype, also those that NumPy cannot export."""
    made = OwnedArray((2, 3), (3, 1), dtype, CPU)
    spec, pointer, device, readonly = read_capsule(made.__dlpack__())
    assert (spec, pointer, device, readonly) == (Spec((2, 3), dtype, (3, 1)), made.pointer, CPU, False)
    assert pointer % 64 == 0


def test_owned_memory_outlives_the_array() -> None:
    """A consumer's capsule keeps the memory, and letting go of it frees it."""
    made = OwnedArray((2,), (1,), FLOAT32, CPU)
    alive = weakref.ref(made._memory)
    capsule = made.__dlpack__()
    del made
    gc.collect()
    assert alive() is not None
    del capsule
    gc.collect()
    assert alive() is None


def test_capsules_may_be_freed_at_exit() -> None:
    """Memory that a consumer still holds when the interpreter ends does not crash it."""
    code = (
        "import numpy as np; from kgen.arrays.owned import OwnedArray; from kgen.arrays.base import CPU;"
        "from kgen.dtypes import FLOAT32; x = np.from_dlpack(OwnedArray((4,), (1,), FLOAT32, CPU));"
        "print(x.shape)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout.strip() == "(4,)"


def test_item_of_a_foreign_scalar() -> None:
    """A 0-d array of an unknown library gives its value."""
    assert ADAPTER.item(DlpackArray(np.array(2.5, np.float32))) == 2.5
    made = OwnedArray((), (), BFLOAT16, CPU)
    ctypes.c_uint16.from_address(made.pointer).value = 0x3F80
    assert ADAPTER.item(made) == 1.0
