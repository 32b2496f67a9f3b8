"""Operators of derivatives: what autograd, torch.compile and torch.func call for those of a kernel's operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kgen.arrays import adapter_of
from kgen.arrays.torch_ import requires_grad
from kgen.call.autograd import mark_integers, one_by_one, within_dual_level
from kgen.call.saving import is_differentiable
from kgen.jit import Kernel
from kgen.spec import Spec


def backward_schema(kernel: Kernel, params: Sequence[str]) -> str:
    """``(Tensor a, Tensor? out_grad, *, float alpha, bool[] needed) -> Tensor[]``: the gradients that are needed."""
    inputs = [f"Tensor {name}" for name in kernel.inputs]
    cotangents = [f"Tensor? {output}_gradient" for output in kernel.outputs]
    return f"({', '.join([*inputs, *cotangents, '*', *params, 'bool[] needed'])}) -> Tensor[]"


def backward_call(kernel: Kernel) -> Callable[..., list[Any]]:
    """The operator on tensors."""

    def call(*args: Any, needed: Sequence[bool], **params: Any) -> list[Any]:
        gradient, given = _given(kernel, args, needed, lambda x: x)
        found = gradient(**given, **params)
        return list(found) if isinstance(found, tuple) else [found]

    return call


def backward_fake(kernel: Kernel, spec_of: Callable[[Any], Spec]) -> Callable[..., list[Any]]:
    """The operator on FakeTensors."""

    def fake(*args: Any, needed: Sequence[bool], **params: Any) -> list[Any]:
        gradient, given = _given(kernel, args, needed, spec_of)
        return _empty(gradient.kernel(**given, **params).meta(**given, **params), args[0])

    return fake


def jvp_schema(kernel: Kernel, params: Sequence[str]) -> str:
    """``(Tensor a, Tensor? a_tangent, *, float alpha) -> Tensor[]``: the tangents of the outputs of floats."""
    inputs = [f"Tensor {name}" for name in kernel.inputs]
    tangents = [f"Tensor? {name}_tangent_of" for name in kernel.inputs]
    return f"({', '.join([*inputs, *tangents, *(['*', *params] if params else [])])}) -> Tensor[]"


def jvp_call(kernel: Kernel) -> Callable[..., list[Any]]:
    """The operator on tensors."""

    def call(*args: Any, **params: Any) -> list[Any]:
        found = kernel.tangent()(**_along(kernel, args, lambda x: x), **params)
        return list(found) if isinstance(found, tuple) else [found]

    return call


def jvp_fake(kernel: Kernel, spec_of: Callable[[Any], Spec]) -> Callable[..., list[Any]]:
    """The operator on FakeTensors."""

    def fake(*args: Any, **params: Any) -> list[Any]:
        given = {**_along(kernel, args, spec_of), **params}
        return _empty(kernel.tangent().kernel(**given).meta(**given), args[0])

    return fake


def _along(kernel: Kernel, args: Sequence[Any], take: Callable[[Any], Any]) -> dict[str, Any]:
    """The inputs and their tangents, by name."""
    count, names = len(kernel.inputs), kernel.tangent().tangents
    given = {name: take(x) for name, x in zip(kernel.inputs, args, strict=False)}
    own = zip(kernel.inputs, args[count:], strict=True)
    return {**given, **{names[name]: take(x) for name, x in own if x is not None}}


def _empty(specs: Spec | tuple[Spec, ...], like: Any) -> list[Any]:
    import torch

    adapter: Any = adapter_of(like)
    return [
        torch.empty_strided(s.shape, s.strides, dtype=adapter.to_torch[s.dtype], device=like.device)
        for s in (specs if isinstance(specs, tuple) else (specs,))
    ]


def _given(
    kernel: Kernel, args: Sequence[Any], needed: Sequence[bool], take: Callable[[Any], Any]
) -> tuple[Any, dict[str, Any]]:
    """The gradients of the inputs that are needed, and their arguments by name."""
    inputs, cotangents = args[: len(kernel.inputs)], args[len(kernel.inputs) :]
    gradient = kernel.gradient(tuple(name for name, need in zip(kernel.inputs, needed, strict=True) if need))
    given = {name: take(x) for name, x in zip(kernel.inputs, inputs, strict=True)}
    own = zip(gradient.cotangents.values(), cotangents, strict=True)
    return gradient, {**given, **{name: take(x) for name, x in own if x is not None}}


def autograd_of(operator: Any, backward_operator: Any, jvp_operator: Any) -> Callable[..., Any]:
    """The operator's autograd kernel.

    The other two are None for an operator that computes derivatives, whose own derivatives are refused where they are
    asked for; torch.func.grad records them in any case.
    """
    import torch

    below = torch._C._AutoDispatchBelowAutograd
    single_level = torch._functorch.autograd_function.enable_single_level_autograd_function

    class KgenOperator(torch.autograd.Function):  # type: ignore[misc]  # torch has no types
        @staticmethod
        def forward(ctx: Any, params: dict[str, Any], *tensors: Any) -> Any:
            with below():
                found = operator(*tensors, **params)
            output = tuple(found) if isinstance(found, list) else found
            ctx.params = params
            ctx.save_for_backward(*tensors)
            mark_integers(ctx, output)
            if within_dual_level():
                ctx.save_for_forward(*tensors)
            return output

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
            if backward_operator is None:
                raise requires_grad("differentiate the kernel of kgen.jit twice; operators have first derivatives")
            saved = ctx.saved_tensors
            needs = zip(ctx.needs_input_grad[1:], saved, strict=True)
            needed = [need and is_differentiable(x) for need, x in needs]
            if not any(needed) or all(x is None for x in cotangents):
                return (None,) * (1 + len(saved))
            found = iter(backward_operator(*saved, *cotangents, **ctx.params, needed=needed))
            return None, *(next(found) if need else None for need in needed)

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            if jvp_operator is None:
                raise requires_grad("differentiate the kernel of kgen.jit twice; operators have first derivatives")
            found = iter(jvp_operator(*ctx.saved_tensors, *tangents[1:], **ctx.params))
            each = tuple(next(found) if known else None for known in ctx.differentiable)
            return each if len(each) > 1 else each[0]

    def call(*args: Any, **params: Any) -> Any:
        with single_level():  # torch.func calls this for one of its levels
            found = super(torch.autograd.Function, KgenOperator).apply(params, *args)
        return list(found) if isinstance(found, tuple) and backward_operator is None else found

    return call


def vmap_of(operator: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of torch.func.vmap for an operator of derivatives, which has optional tensors."""

    def rule(info: Any, in_dims: tuple[Any, ...], *args: Any, **params: Any) -> Any:
        def row(*tensors: Any) -> tuple[Any, ...]:
            return tuple(operator(*tensors, **params))

        found, dims = one_by_one(row, info, in_dims[: len(args)], args)
        return list(found), list(dims)

    return rule
