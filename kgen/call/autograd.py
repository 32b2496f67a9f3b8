"""Calls on torch tensors that record gradients: torch calls back for the backward kernel."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from kgen.call.arguments import bind
from kgen.call.saving import Call, is_differentiable, run_and_save, saved_gradients, saves_less
from kgen.diagnostics import error
from kgen.dynamo import opaque

if TYPE_CHECKING:
    from kgen.call.saving import Differentiable


@opaque
def recorder(args: tuple[Any, ...], named: Mapping[str, Any]) -> Callable[..., Any] | None:
    """What runs a call whose tensors record gradients, have tangents, or belong to torch.func.

    It is called as ``recorded(kernel, args, named, stream)``; None for other calls.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    tensors = [x for x in (*args, *named.values()) if isinstance(x, torch.Tensor)]
    if torch.is_grad_enabled():
        for x in tensors:
            if x.requires_grad:
                return _record
    forward = torch.autograd.forward_ad
    dual = tensors if within_dual_level() and torch._C._is_fwd_grad_enabled() else []
    if any(forward.unpack_dual(x).tangent is not None for x in dual):
        return _record
    wrapped = torch._C._functorch  # tensors of torch.func's transformations
    return _record if any(wrapped.is_batchedtensor(x) or wrapped.is_gradtrackingtensor(x) for x in tensors) else None


def within_dual_level() -> bool:
    """Within torch.autograd.forward_ad.dual_level() or torch.func.jvp."""
    return bool(sys.modules["torch"].autograd.forward_ad._current_level >= 0)


def _record(kernel: Differentiable, args: tuple[Any, ...], named: Mapping[str, Any], stream: Any) -> Any:
    if _traced()() is not None:
        message = "the call is traced into a graph, in which its results would be constants"
        raise error("traced-array", message, "make the kernel an operator with kgen.torch.op, which graphs have")
    if not named and stream is None:
        tensor = sys.modules["torch"].Tensor
        plain = kernel.recorded or _plain_call(kernel)
        if plain is not None and len(args) == len(plain.tensors) and not [x for x in args if not isinstance(x, tensor)]:
            return _function()(plain, args)
    given = bind(kernel.program, args, named)
    torch = sys.modules["torch"]
    tensors = {name: x for name, x in given.items() if isinstance(x, torch.Tensor)}
    others = {name: x for name, x in given.items() if name not in tensors}
    return _function()(Call(kernel, tuple(tensors), others, stream), tuple(tensors.values()))


@cache
def _traced() -> Callable[[], Any]:
    """A function that gives what traces calls into graphs, or None."""
    private: Any = sys.modules["torch"]._C
    return partial(private._get_dispatch_mode, private._TorchDispatchModeKey.PROXY)


def _plain_call(kernel: Differentiable) -> Call | None:
    """The call with an array for each input and nothing else; None for a kernel with params."""
    if kernel.params:
        return None
    kernel.recorded = Call(kernel, kernel.inputs, {}, None, plain=True)
    return kernel.recorded  # type: ignore[no-any-return]  # it is the kernel's, which does not import this module


@cache
def _function() -> Any:
    """What applies the ``torch.autograd.Function`` of all kernels."""
    torch: Any = sys.modules["torch"]
    unwrapped = torch._functorch.utils.unwrap_dead_wrappers  # those of a transformation that is over
    unwrapped_tensor = torch._C._functorch.unwrap_if_dead

    class KgenKernel(torch.autograd.Function):  # type: ignore[misc]  # torch is imported by now
        @staticmethod
        def forward(call: Call, *tensors: Any) -> Any:
            return call.run(tensors)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.call = inputs[0]
            ctx.save_for_backward(*inputs[1:])
            mark_integers(ctx, output)
            if within_dual_level():
                ctx.save_for_forward(*inputs[1:])

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
            tensors = ctx.saved_tensors
            needs = zip(ctx.needs_input_grad[1:], tensors, strict=True)
            needed = [need and is_differentiable(x) for need, x in needs]
            return None, *gradients(ctx.call, tensors, cotangents, needed)

        @staticmethod
        def jvp(ctx: Any, *given: Any) -> Any:
            return tangents(ctx, ctx.call, unwrapped(ctx.saved_tensors), unwrapped(given[1:]))

        @staticmethod
        def vmap(info: Any, in_dims: tuple[Any, ...], call: Call, *tensors: Any) -> Any:
            return one_by_one(lambda *row: KgenKernel.apply(call, *row), info, in_dims[1:], tensors)

    class KgenPair(torch.autograd.Function):  # type: ignore[misc]
        """Saves what reductions computed, and no tensors that gradients do not read, which torch.func cannot say."""

        @staticmethod
        def forward(ctx: Any, call: Call, *tensors: Any) -> Any:
            output = run_and_save(ctx, call, tensors)
            mark_integers(ctx, output)
            return output

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
            return None, *saved_gradients(ctx, cotangents)

    inside_transforms = torch._C._are_functorch_transforms_active
    without_signature, of_pair = (super(torch.autograd.Function, f).apply for f in (KgenKernel, KgenPair))

    def apply(call: Call, tensors: tuple[Any, ...]) -> Any:
        """``KgenKernel.apply``, but for its look at the signature of ``forward``, which takes 20 us."""
        if inside_transforms():
            return KgenKernel.apply(call, *tensors)
        given = tuple(map(unwrapped_tensor, tensors))
        chosen = of_pair if saves_less(call, given) and not within_dual_level() else without_signature
        return chosen(call, *given)

    return apply


def mark_integers(ctx: Any, output: Any) -> None:
    """Tell torch which outputs have no gradient, and that gradients which are not there are None."""
    outputs = output if isinstance(output, tuple) else (output,)
    ctx.differentiable = tuple(map(is_differentiable, outputs))
    if not all(ctx.differentiable):
        ctx.mark_non_differentiable(*(x for x, known in zip(outputs, ctx.differentiable, strict=True) if not known))
    ctx.set_materialize_grads(False)


def one_by_one(
    function: Callable[..., Any], info: Any, in_dims: tuple[int | None, ...], tensors: tuple[Any, ...]
) -> tuple[Any, Any]:
    """The results for each element of a batch, stacked, and the dimension of the batch in them."""
    pairs = list(zip(tensors, in_dims, strict=True))
    rows = [
        function(*(x if dim is None else x.select(dim, number) for x, dim in pairs))
        for number in range(info.batch_size)
    ]
    stack = sys.modules["torch"].stack
    if isinstance(rows[0], tuple):
        return tuple(map(stack, zip(*rows, strict=True))), (0,) * len(rows[0])
    return stack(rows), 0


def gradients(call: Call, tensors: tuple[Any, ...], cotangents: tuple[Any, ...], needed: Sequence[bool]) -> list[Any]:
    """The gradient of each tensor, None for those that need none."""
    wrt = call.tensors if all(needed) else tuple(n for n, need in zip(call.tensors, needed, strict=True) if need)
    if call.plain and wrt and not [x for x in cotangents if x is None]:
        return _filled(call.kernel.gradient(wrt)(*tensors, *cotangents), tensors, needed)
    names = zip(call.kernel.outputs, cotangents, strict=True)
    given = {name: x for name, x in names if x is not None}
    if not wrt or not given:
        return [None] * len(tensors)
    gradient = call.kernel.gradient(wrt)
    own = {gradient.cotangents[name]: x for name, x in given.items()}
    found = gradient(**dict(zip(call.tensors, tensors, strict=True)), **call.others, **own)
    return _filled(found, tensors, needed)


def _filled(found: Any, tensors: tuple[Any, ...], needed: Sequence[bool]) -> list[Any]:
    """What a kernel of gradients returns, with None for tensors that need none."""
    results = iter(found if isinstance(found, tuple) else (found,))
    return [_like(next(results), x) if need else None for x, need in zip(tensors, needed, strict=True)]


def tangents(ctx: Any, call: Call, tensors: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
    """The tangent of each output, None for those of integers."""
    tangent = call.kernel.tangent()
    named = zip(call.tensors, given, strict=True)
    own = {tangent.tangents[name]: x for name, x in named if x is not None}
    found = tangent(**dict(zip(call.tensors, tensors, strict=True)), **call.others, **own)
    results = iter(found if isinstance(found, tuple) else (found,))
    each = tuple(next(results) if known else None for known in ctx.differentiable)
    return each if len(each) > 1 else each[0]


def _like(result: Any, tensor: Any) -> Any:
    """A number of the host that a kernel took by value has its gradient there."""
    return result if tensor.ndim else result.to(device=tensor.device, dtype=tensor.dtype)
