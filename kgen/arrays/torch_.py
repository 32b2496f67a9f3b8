"""PyTorch tensors, on the CPU and on CUDA devices."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from kgen.arrays.base import (
    CPU,
    Allocator,
    AttributeGuard,
    Defaults,
    Device,
    Guards,
    SpecCache,
    as_python,
    cuda,
    unsupported_dtype,
)
from kgen.diagnostics import KgenError, error
from kgen.dtypes import DTYPES, DType
from kgen.spec import Spec, known_strides


class TorchAdapter(Defaults):
    """Created at the first tensor, so torch is imported already."""

    name = "torch"
    moves = True  # resize_(), set_(), .data

    def __init__(self) -> None:
        torch = self._torch = sys.modules["torch"]
        pairs = ((getattr(torch, t.name, None), t) for t in DTYPES)  # unsigned and fp8 came with torch 2.1 to 2.3
        self.from_torch: dict[Any, DType] = {theirs: ours for theirs, ours in pairs if theirs is not None}
        self.to_torch: dict[DType, Any] = {ours: theirs for theirs, ours in self.from_torch.items()}
        self._specs = SpecCache()
        self._strided = torch.strided
        self._hip = bool(getattr(torch.version, "hip", None))  # torch calls AMD's GPUs cuda as well
        self._plain = {torch.Tensor, torch.nn.Parameter}
        self._grad_enabled: Callable[[], bool] = torch.is_grad_enabled
        self._forward = torch.autograd.forward_ad
        self._bump: Callable[[Sequence[Any]], None] = torch._C._increment_version  # the public wrapper doubles the time
        self._raw_stream = self._find_raw_stream()

    def spec(self, x: Any) -> Spec:
        if x.layout is not self._strided or x.is_nested:
            what = "nested" if x.is_nested else str(x.layout).removeprefix("torch.")
            raise error("not-an-array", f"a {what} torch tensor has no strides", "pass x.to_dense()")
        key = (x.dtype, x.shape, x.stride())
        return self._specs.get(key) or self._specs.keep(key, self._describe(x))

    def _describe(self, x: Any) -> Spec:
        dtype = self.from_torch.get(x.dtype)
        if dtype is None:
            if x.is_quantized:
                raise error("unsupported-dtype", f"the tensor is quantized ({x.dtype})", "pass x.dequantize()")
            raise unsupported_dtype(x.dtype)
        return Spec(tuple(x.shape), dtype, known_strides(x.shape, x.stride()))

    def pointer(self, x: Any) -> int:
        """The checks take 0.2 us; a caller that compares dispatch keys may call ``x.data_ptr()`` directly."""
        if self.records(x):
            raise requires_grad("pass x.detach(), or call under torch.no_grad()")
        if type(x) not in self._plain:
            self._refuse_wrapper(x)
        if x.is_neg() or x.is_conj():
            lazy = "conjugate" if x.is_conj() else "negative"
            raise error("lazy-tensor", f"the tensor is a lazy {lazy} view", f"pass x.resolve_{lazy[:4].rstrip('a')}()")
        try:
            address: int = x.data_ptr()
        except RuntimeError as problem:  # inside transformations of torch.func
            raise self._no_memory(x) from problem
        if not address and (x.is_meta or x.numel()):
            raise self._no_memory(x)
        return address

    def records(self, x: Any) -> bool:
        """Whether a result of ``x`` would need a gradient, in reverse or in forward mode."""
        if x.requires_grad and self._grad_enabled():
            return True
        level = self._forward._current_level  # -1 outside of torch.autograd.forward_ad.dual_level() and torch.func.jvp
        return level >= 0 and self._torch._C._is_fwd_grad_enabled() and self._forward.unpack_dual(x).tangent is not None

    def mark_written(self, arrays: Sequence[Any]) -> None:
        self._bump(arrays)  # skips inference tensors, which have no version counter

    def _refuse_wrapper(self, x: Any) -> None:
        """Raises for subclasses with their own dispatch (FakeTensor, DTensor, NestedTensor), which have no data."""
        own = getattr(type(x), "__torch_dispatch__", None)
        if own is not getattr(self._torch.Tensor, "__torch_dispatch__", None):
            raise self._no_memory(x)

    def _no_memory(self, x: Any) -> KgenError:
        """The error for a tensor without memory: it is a wrapper, or its storage was freed."""
        torch = self._torch
        if torch._C._functorch.is_gradtrackingtensor(x):
            return requires_grad("call the kernel outside of torch.func.grad, vjp, jvp and the like")
        if torch._C._functorch.is_functorch_wrapped_tensor(x) or torch._is_functional_tensor(x):
            return error(
                "traced-array",
                "inside torch.func.functionalize a tensor has no memory of its own",
                "call the kernel outside, or make it an operator with kgen.torch.op, which they take",
            )
        if type(x) in self._plain and not x.is_meta:
            return error("bad-array", "the tensor's storage was freed: it has no bytes", "allocate it again")
        return error(
            "not-an-array",
            f"this torch {type(x).__name__} has no memory of its own",
            "pass the plain tensor inside it, or use k.meta(), which needs no data",
        )

    def device(self, x: Any) -> Device | None:
        if x.is_cuda and not self._hip:
            return cuda(x.get_device())
        if x.is_cpu:
            return CPU
        if x.is_meta:
            return None  # has a spec and no data
        raise error("unsupported-device", f"the tensor is on {x.device}", "kgen runs on CUDA devices and the CPU")

    def empty(self, shape: Sequence[int], strides: Sequence[int], dtype: DType, like: Any) -> Any:
        theirs = self.to_torch.get(dtype)
        if theirs is None:
            raise error("unsupported-dtype", f"this version of torch has no {dtype}", "install a newer one")
        return self._torch.empty_strided(tuple(shape), tuple(strides), dtype=theirs, device=like.device)

    def stream(self, device: Device) -> int:
        return self._raw_stream(device.index) if device.kind == "cuda" else 0

    def allocating_on(self, stream: int, device: Device) -> AbstractContextManager[Any]:
        cuda = self._torch.cuda
        return cuda.stream(cuda.ExternalStream(stream, device.index))  # type: ignore[no-any-return]

    def current_stream(self, device: Device) -> Callable[[], int]:
        return partial(self._raw_stream, device.index) if device.kind == "cuda" else int

    def _find_raw_stream(self) -> Callable[[int], int]:
        """torch's private call takes 0.07 us and its public one 3 us: the private one if it exists and agrees."""
        torch = self._torch

        def public(index: int) -> int:
            return int(torch.cuda.current_stream(index).cuda_stream)

        private: Callable[[int], int] | None = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        if private is None:
            return public
        try:
            agrees = not torch.cuda.is_initialized() or private(0) == public(0)
        except Exception:
            return public
        return private if agrees else public

    def unmoved(self, arrays: Sequence[Any]) -> Callable[[], bool] | None:
        tensors = list({id(x): x for x in arrays}.values())  # torch's guards accept each tensor only once
        if any(type(x) not in self._plain or x.requires_grad for x in tensors):
            return None
        check, pointers = _torch_guards(tensors, False), [x.data_ptr() for x in tensors]
        if check is None:
            return None

        def unmoved() -> bool:
            plain = self._forward._current_level < 0 and check(*tensors)
            return plain and [x.data_ptr() for x in tensors] == pointers

        return unmoved

    def guards(self, arrays: Sequence[tuple[str, Any, bool]]) -> Guards | None:
        return self._guards(arrays, any_layout=False)

    def class_guards(self, arrays: Sequence[tuple[str, Any, bool]]) -> Guards | None:
        return self._guards(arrays, any_layout=True)

    def _guards(self, arrays: Sequence[tuple[str, Any, bool]], any_layout: bool) -> Guards | None:
        if self._forward._current_level >= 0:
            return None  # every tensor has to be checked for a tangent
        distinct, same = _distinct(arrays)
        check = _torch_guards([x for _, x in distinct], any_layout)  # torch's guards accept each tensor only once
        attributes = [AttributeGuard(self._forward, ("_current_level",), -1)]
        for name, x in distinct:
            if check is None:
                attributes += _attribute_guards(name, x, any_layout)
        tensor = distinct[0][1]
        return Guards(
            tuple(attributes),
            ("data_ptr",),
            True,
            self.current_stream(cuda(tensor.get_device())) if tensor.is_cuda else None,
            alike=(check or _same_keys([x for _, x in distinct]), tuple(name for name, _ in distinct)),
            same=same,
            unless=self._grad_enabled if any(x.requires_grad for _, x in distinct) else None,
            strides="stride()",
            mark_written=self._bump,
            views=self._views([x for _, x in distinct]),
        )

    def _views(self, tensors: Sequence[Any]) -> tuple[Any, Any] | None:
        """``Guards.views``; None for tensors that may be lazy views or need gradients, which DLPack does not show.

        A lazy view of real dtype is the imaginary part of a conjugate, whose strides are even.
        """
        plain = all(
            type(x) in self._plain and not (x.requires_grad or x.is_complex()) and 1 in x.stride() for x in tensors
        )
        interface = getattr(self._torch.Tensor, "__dlpack_c_exchange_api__", None)  # of newer versions
        return (interface, self._torch._C.TensorBase.requires_grad) if plain and interface is not None else None

    def class_allocator(self, dtype: DType, like: Any) -> Allocator:
        theirs, private = self.to_torch[dtype], self._allocate_on(like)
        if private is not None:
            return lambda shape, strides: private(shape, strides, theirs)
        return partial(self._torch.empty_strided, dtype=theirs, device=like.device)

    def allocator(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, like: Any) -> Callable[[], Any]:
        theirs, private = self.to_torch[dtype], self._allocate_on(like)
        if private is not None:
            return partial(private, shape, strides, theirs)
        return partial(self._torch.empty_strided, shape, strides, dtype=theirs, device=like.device)

    def _allocate_on(self, like: Any) -> Callable[..., Any] | None:
        """What torch's compiled graphs allocate with: half the time of the public function, without a device argument.

        None where there are several devices.
        """
        torch = self._torch
        if not like.is_cuda or torch.cuda.device_count() != 1:
            return None
        found: Callable[..., Any] | None = getattr(
            getattr(torch._C._dynamo, "guards", None), "_empty_strided_cuda", None
        )
        return found

    def item(self, x: Any) -> bool | int | float | complex:
        return as_python(x.item(), self.spec(x).dtype)


#: Versions of torch whose private guards were tested; in others, calling them wrongly could end the process.
_PROVEN = ((2, 11), (2, 13))


def _torch_guards(tensors: Sequence[Any], any_layout: bool) -> Callable[..., bool] | None:
    """``check(*tensors)`` in C++, from torch.compile's machinery: type, dispatch keys, dtype, device, sizes, strides.

    A quarter of the time of the same in Python.  ``any_layout``: compare only the number of sizes and strides.
    """
    version = sys.modules["torch"].__version__.split(".")
    if not _PROVEN[0] <= (int(version[0]), int(version[1])) <= _PROVEN[1]:
        return None
    from torch._C._dynamo.guards import TensorGuards

    sizes: Any = [[None] * x.ndim if any_layout else list(x.shape) for x in tensors]
    strides: Any = [[None] * x.ndim if any_layout else list(x.stride()) for x in tensors]
    guards = TensorGuards(*tensors, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides)
    check: Callable[..., bool] = guards.check
    return check


def _distinct(arrays: Sequence[tuple[str, Any, bool]]) -> tuple[list[tuple[str, Any]], tuple[tuple[str, str], ...]]:
    """Each tensor once, by its first name, and the pairs of names of one tensor."""
    first = {id(x): name for name, x, _ in reversed(arrays)}
    distinct = [(name, x) for name, x, _ in arrays if first[id(x)] == name]
    return distinct, tuple((name, first[id(x)]) for name, x, _ in arrays if first[id(x)] != name)


def _attribute_guards(name: str, x: Any, any_layout: bool) -> list[AttributeGuard]:
    """What :func:`_torch_guards` compares, as guards in Python."""
    attributes = [
        AttributeGuard(name, ("dtype",), x.dtype), AttributeGuard(name, ("device",), x.device),
        AttributeGuard(name, ("requires_grad",), x.requires_grad), AttributeGuard(name, ("ndim",), x.ndim),
    ]  # fmt: skip
    if not any_layout:
        attributes += [
            AttributeGuard(name, ("shape",), x.shape),
            AttributeGuard(name, ("stride",), x.stride(), call=True),
        ]
    return attributes


def _same_keys(tensors: Sequence[Any]) -> Callable[..., bool]:
    """``check(*tensors)``: the same dispatch keys, which differ for lazy, sparse, nested and wrapped tensors."""
    keys = sys.modules["torch"]._C._dispatch_keys
    expected = [keys(x) for x in tensors]

    def check(*found: Any) -> bool:
        return [keys(x) for x in found] == expected

    return check


def requires_grad(hint: str) -> KgenError:
    """The error for a tensor whose gradient would be lost."""
    return error("requires-grad", "the tensor requires grad, and no gradient would flow through this kernel", hint)
