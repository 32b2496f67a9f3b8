"""JAX arrays.

They are immutable, and JAX does not expose its streams.  So a call waits for its inputs before a kernel reads them, and
for its kernels (``waits``: JAX may reuse an input's memory as soon as Python drops it).  Results are written into
kgen's memory, which JAX takes over through DLPack without a copy.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from kgen.arrays.base import CPU, Defaults, Device, as_python, cuda
from kgen.arrays.numpy_ import dtype_of
from kgen.arrays.owned import OwnedArray
from kgen.diagnostics import error
from kgen.dtypes import DType
from kgen.spec import Spec, c_strides


class JaxAdapter(Defaults):
    """Created at the first array, so jax is imported already."""

    name = "jax"
    immutable = True
    waits = True

    def __init__(self) -> None:
        self._jax = sys.modules["jax"]

    def normalise(self, x: Any) -> Any:
        if isinstance(x, OwnedArray):
            return x
        if isinstance(x, self._jax.core.Tracer):
            raise error(
                "traced-array",
                "inside jax.jit, vmap or grad an array has no data yet",
                "use kgen.jax.op(program), or call the kernel outside",
            )
        if not x.is_fully_addressable or len(x.sharding.device_set) != 1:
            raise error("unsupported-device", "the JAX array is spread over several devices", "pass one shard's .data")
        return x

    def spec(self, x: Any) -> Spec:
        if isinstance(x, OwnedArray):
            return x.spec
        shape = tuple(x.shape)
        return Spec(shape, dtype_of(x.dtype), c_strides(shape))

    def pointer(self, x: Any) -> int:
        if isinstance(x, OwnedArray):
            return x.pointer
        x.block_until_ready()  # on a GPU, and for a CPU array that another thread still computes
        layout = getattr(getattr(x, "format", None), "layout", None)
        order = getattr(layout, "major_to_minor", None)
        if order is not None and tuple(order) != tuple(range(x.ndim)):
            raise error("unsupported-layout", "the JAX array has a custom layout", "pass jax.numpy.array(x)")
        return int(x.unsafe_buffer_pointer())

    def device(self, x: Any) -> Device | None:
        if isinstance(x, OwnedArray):
            return x.device
        (where,) = self.normalise(x).sharding.device_set
        if where.platform == "cpu":
            return CPU
        if where.platform in ("gpu", "cuda"):
            return cuda(int(where.local_hardware_id or 0))
        raise error("unsupported-device", f"the JAX array is on a {where.platform}", "kgen runs on CUDA and the CPU")

    def writable(self, x: Any) -> bool:
        return False

    def empty(self, shape: Sequence[int], strides: Sequence[int], dtype: DType, like: Any) -> OwnedArray:
        """In C order whatever ``strides`` are: JAX arrays have no other order."""
        if dtype.real.size == 8 and not self._jax.config.jax_enable_x64:
            raise error(
                "unsupported-dtype",
                f"the result is {dtype}, and JAX would truncate it to half the width",
                'jax.config.update("jax_enable_x64", True), or cast in the program',
            )
        return OwnedArray(shape, c_strides(tuple(shape)), dtype, self.device(like) or CPU)

    def finish(self, x: Any, stream: int = 0) -> Any:
        if not isinstance(x, OwnedArray):
            return x
        x.stream = stream
        return self._jax.dlpack.from_dlpack(x)

    def item(self, x: Any) -> bool | int | float | complex:
        return as_python(self.normalise(x).item(), self.spec(x).dtype)
