"""Backward operators: what autograd, torch.compile and torch.func call for the gradients of a kernel's operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kgen.arrays import adapter_of
from kgen.arrays.torch_ import requires_grad
from kgen.call.autograd import is_differentiable, mark_integers, one_by_one
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
    import torch

    def fake(*args: Any, needed: Sequence[bool], **params: Any) -> list[Any]:
        gradient, given = _given(kernel, args, needed, spec_of)
        specs = gradient.kernel(**given, **params).meta(**given, **params)
        adapter: Any = adapter_of(args[0])
        return [
            torch.empty_strided(s.shape, s.strides, dtype=adapter.to_torch[s.dtype], device=args[0].device)
            for s in (specs if isinstance(specs, tuple) else (specs,))
        ]

    return fake


def _given(
    kernel: Kernel, args: Sequence[Any], needed: Sequence[bool], take: Callable[[Any], Any]
) -> tuple[Any, dict[str, Any]]:
    """The gradients of the inputs that are needed, and their arguments by name."""
    inputs, cotangents = args[: len(kernel.inputs)], args[len(kernel.inputs) :]
    gradient = kernel.gradient(tuple(name for name, need in zip(kernel.inputs, needed, strict=True) if need))
    given = {name: take(x) for name, x in zip(kernel.inputs, inputs, strict=True)}
    own = zip(gradient.cotangents.values(), cotangents, strict=True)
    return gradient, {**given, **{name: take(x) for name, x in own if x is not None}}


def autograd_of(operator: Any, backward_operator: Any) -> Callable[..., Any]:
    """The operator's autograd kernel.

    ``backward_operator``: None for an operator that computes gradients, whose own gradients are refused where they are
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

    def call(*args: Any, **params: Any) -> Any:
        with single_level():  # torch.func calls this for one of its levels
            found = super(torch.autograd.Function, KgenOperator).apply(params, *args)
        return list(found) if isinstance(found, tuple) and backward_operator is None else found

    return call


def backward_vmap(operator: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of torch.func.vmap for a backward operator, which has optional tensors."""

    def rule(info: Any, in_dims: tuple[Any, ...], *args: Any, needed: Sequence[bool], **params: Any) -> Any:
        def row(*tensors: Any) -> tuple[Any, ...]:
            return tuple(operator(*tensors, needed=needed, **params))

        found, dims = one_by_one(row, info, in_dims[: len(args)], args)
        return list(found), list(dims)

    return rule
