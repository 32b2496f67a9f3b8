"""Calls libraries of ``kgen build --abi`` as their users do: a script that runs without kgen.

    python doors.py FOLDER DOOR

``FOLDER`` has ``lib<name>.so`` for each program, the Python files beside it, and the cases in the folder above it.
``DOOR`` is a key of ``DOORS``.  Prints how many cases were equal to NumPy; exits with 1 at the first that was not, with
77 if a package is missing.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

FILL = 7  # of memory around the elements
FORMULAS: dict[str, Callable[..., Any]] = {
    "inputs1": lambda a: a + 1,
    "inputs2": lambda a, b: a - b,
    "inputs3": lambda a, b, c: a + b * c,
    "inputs4": lambda a, b, c, d: a + b * c - d,
}
CODES = {"float16": (2, 16), "float32": (2, 32), "float64": (2, 64), "int8": (0, 8), "int16": (0, 16), "uint8": (1, 8)}


class Memory:
    """A run of elements around an array.  ``view``: the array."""

    def __init__(self, of: dict[str, Any], offset: int) -> None:
        self.shape, self.strides, self.dtype, self.offset = of["shape"], of["strides"], of["dtype"], offset
        span = 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) if all(self.shape) else 0
        self.run = np.full(span + offset + 16, FILL, self.dtype)
        self.view = np.lib.stride_tricks.as_strided(
            self.run[offset:], self.shape, [s * self.run.itemsize for s in self.strides]
        )

    def on_device(self) -> Any:
        """A tensor of torch in a copy of the run."""
        import torch

        self.device = torch.from_numpy(self.run).cuda()
        return self.device.as_strided(self.shape, self.strides, self.offset)


def by_memory(call: Callable[[str, list[Any]], None]) -> Callable[[str, list[Memory]], None]:
    """A door that writes into the memory of the output."""

    def run(name: str, memory: list[Memory]) -> None:
        call(name, [one.on_device() for one in memory])
        wanted = memory[-1].run.copy()
        place = np.lib.stride_tricks.as_strided(wanted[memory[-1].offset :], memory[-1].shape, memory[-1].view.strides)
        place[...] = expected(name, memory)
        np.testing.assert_array_equal(memory[-1].device.cpu().numpy(), wanted)

    return run


def by_value(call: Callable[[str, list[Any]], Any]) -> Callable[[str, list[Memory]], None]:
    """A door that returns the output.  ``call``: takes tensors of torch, and returns what NumPy takes."""

    def run(name: str, memory: list[Memory]) -> None:
        found = call(name, [one.on_device() for one in memory[:-1]])
        shape = np.broadcast_shapes(*(one.view.shape for one in memory[:-1]))
        np.testing.assert_array_equal(found, np.broadcast_to(expected(name, memory), shape), strict=True)

    return run


def expected(name: str, memory: list[Memory]) -> Any:
    """Of small integers, exact in every dtype."""
    return FORMULAS[name](*(one.view.astype(np.int64) for one in memory[:-1])).astype(memory[-1].run.dtype)


def module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


# --- doors: a function of the folder and of the programs' names gives the one that runs a case ------------------------


def c(folder: Path, names: Sequence[str]) -> Any:
    """The C interface, by ctypes."""
    libraries = {name: ctypes.CDLL(str(folder / f"lib{name}.so")) for name in names}

    class Array(ctypes.Structure):
        _fields_ = (
            ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("rank", ctypes.c_int32),
            ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
            ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
            ("offset", ctypes.c_uint64),
        )  # fmt: skip

    def described(tensor: Any) -> Any:
        extents, steps = ((ctypes.c_int64 * max(tensor.dim(), 1))(*of) for of in (tensor.shape, tensor.stride()))
        code, bits = CODES[str(tensor.dtype).removeprefix("torch.")]
        data = tensor.untyped_storage().data_ptr() + tensor.storage_offset() * tensor.element_size()
        return Array(data, (ctypes.c_int32 * 2)(2, 0), tensor.dim(), code, bits, 1, extents, steps, 0)

    def call(name: str, tensors: list[Any]) -> None:
        import torch

        arrays = [ctypes.byref(described(tensor)) for tensor in tensors]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        status = getattr(libraries[name], f"{name}_launch")(*arrays, None, ctypes.c_size_t(0), stream)
        assert status == 0, status

    return by_memory(call)


def tvm_ffi(folder: Path, names: Sequence[str]) -> Any:
    """TVM-FFI, with tensors of torch."""
    import torch  # noqa: F401 (first: it brings the libraries that TVM-FFI's allocator takes)
    import tvm_ffi as library

    modules = {name: library.load_module(str(folder / f"lib{name}.so")) for name in names}
    return by_memory(lambda name, tensors: modules[name][name](*tensors))


def tvm_ffi_cupy(folder: Path, names: Sequence[str]) -> Any:
    """TVM-FFI, with arrays of CuPy."""
    import cupy
    import torch
    import tvm_ffi as library

    modules = {name: library.load_module(str(folder / f"lib{name}.so")) for name in names}

    def call(name: str, tensors: list[Any]) -> None:
        torch.cuda.synchronize()
        modules[name][name](*map(cupy.asarray, tensors))
        cupy.cuda.get_current_stream().synchronize()
        torch.cuda.synchronize()

    return by_memory(call)


def tvm_ffi_jax(folder: Path, names: Sequence[str]) -> Any:
    """TVM-FFI, inside jax.jit."""
    import jax
    import jax_tvm_ffi
    import tvm_ffi as library

    jax.config.update("jax_enable_x64", True)
    for name in names:
        function = library.load_module(str(folder / f"lib{name}.so"))[name]
        jax_tvm_ffi.register_ffi_target(f"tvm.{name}", function, ["args", "rets"], platform="gpu")

    def call(name: str, tensors: list[Any]) -> Any:
        arrays = [jax.numpy.asarray(tensor.cpu().numpy()) for tensor in tensors]
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        out = jax.ShapeDtypeStruct(shape, OUTPUTS[name](arrays))
        return np.asarray(jax.jit(lambda *given: jax.ffi.ffi_call(f"tvm.{name}", out)(*given))(*arrays))

    return by_value(call)


def torch_(folder: Path, names: Sequence[str]) -> Any:
    """Operators of torch."""
    import torch

    for name in names:
        torch.ops.load_library(str(folder / f"lib{name}.so"))
        module(folder / f"{name}_torch.py")
    return by_value(lambda name, tensors: getattr(torch.ops.kgen, name)(*tensors).cpu().numpy())


def xla(folder: Path, names: Sequence[str]) -> Any:
    """Primitives of JAX, inside jax.jit."""
    import jax

    jax.config.update("jax_enable_x64", True)
    functions: dict[str, Any] = {}
    for name in names:
        made = module(folder / f"{name}_xla.py")
        made.register(folder / f"lib{name}.so")
        functions[name] = jax.jit(getattr(made, name))

    def call(name: str, tensors: list[Any]) -> Any:
        return np.asarray(functions[name](*(jax.numpy.asarray(tensor.cpu().numpy()) for tensor in tensors)))

    return by_value(call)


#: The dtype of an output, from the inputs: that of the widest float, or of the integers.
OUTPUTS: dict[str, Callable[[list[Any]], Any]] = dict.fromkeys(
    FORMULAS, lambda arrays: np.result_type(*(a.dtype for a in arrays))
)

DOORS = {
    "c": c,
    "tvm-ffi": tvm_ffi,
    "tvm-ffi-cupy": tvm_ffi_cupy,
    "tvm-ffi-jax": tvm_ffi_jax,
    "torch": torch_,
    "xla": xla,
}


def main(folder: Path, door: str) -> int:
    sys.modules["kgen"] = None  # type: ignore[assignment]  # imports of it fail
    cases = json.loads((folder.parent / "cases.json").read_text(encoding="utf-8"))
    try:
        run = DOORS[door](folder, sorted({case["program"] for case in cases}))
    except ImportError as missing:
        print(missing)
        return 77
    rng = np.random.default_rng(0)
    for number, case in enumerate(cases):
        memory = [Memory(of, case["offset"]) for of in case["arrays"]]
        for one in memory[:-1]:
            one.run[...] = rng.integers(1, 5, one.run.shape)
        try:
            run(case["program"], memory)
        except Exception as problem:
            print(f"case {number}, {case}: {type(problem).__name__}: {problem}")
            return 1
    print(f"{door}: {len(cases)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2]))
