"""The driver's numbers and structs, as ``cuda.bindings`` has them."""

from __future__ import annotations

import ctypes

import pytest

from kgen.runtime.cuda import libcuda
from kgen.runtime.cuda.module import _config

driver = pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")


def test_attributes() -> None:
    """The numbers of the attributes that are asked for."""
    for name, number in libcuda.DEVICE_ATTRIBUTES.items():
        assert int(getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")) == number
    for name, number in libcuda.FUNCTION_ATTRIBUTES.items():
        assert int(getattr(driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")) == number
    for name in ("CLUSTER_DIMENSION", "COOPERATIVE", "PROGRAMMATIC_STREAM_SERIALIZATION"):
        assert int(getattr(driver.CUlaunchAttributeID, f"CU_LAUNCH_ATTRIBUTE_{name}")) == getattr(libcuda, name)


def test_a_launch_configuration() -> None:
    """The same bytes as the bindings' struct, but for the address of the attributes, and the same attributes."""
    made = _config((1, 2, 3), (4, 5, 6), 8, shared=7, cluster=(2, 1, 1), cooperative=True, pdl=True)
    theirs = driver.CUlaunchConfig()
    theirs.gridDimX, theirs.gridDimY, theirs.gridDimZ = 1, 2, 3
    theirs.blockDimX, theirs.blockDimY, theirs.blockDimZ = 4, 5, 6
    theirs.sharedMemBytes, theirs.hStream = 7, driver.CUstream(8)
    cluster, together, early = (driver.CUlaunchAttribute() for _ in range(3))
    cluster.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    cluster.value.clusterDim.x, cluster.value.clusterDim.y, cluster.value.clusterDim.z = 2, 1, 1
    together.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
    together.value.cooperative = 1
    early.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    early.value.programmaticStreamSerializationAllowed = 1
    theirs.attrs, theirs.numAttrs = [cluster, together, early], 3
    attributes = type(made).attrs.offset
    first, second = (ctypes.string_at(at, ctypes.sizeof(made)) for at in (ctypes.addressof(made), theirs.getPtr()))
    assert first[:attributes] == second[:attributes]
    assert first[attributes + 8 :][:4] == second[attributes + 8 :][:4]
    for ours, one in zip(made.attrs[:3], (cluster, together, early), strict=True):
        size = ctypes.sizeof(ours)
        assert ctypes.string_at(ctypes.addressof(ours), size) == ctypes.string_at(one.getPtr(), size)
