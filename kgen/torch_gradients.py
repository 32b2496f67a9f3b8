"""Operators of derivatives: what autograd, torch.compile and torch.func call for those of a kernel's operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kgen.arrays import adapter_of
from kgen.arrays.torch_ import requires_grad
from kgen.call.arguments import bind
from kgen.call.autograd import mark_integers, one_by_one, within_dual_level
from kgen.call.derived import Derived
from kgen.call.saving import is_differentiable
from kgen.diagnostics import KgenError
from kgen.kernel import Kernel
from kgen.records import dataclass
from kgen.spec import Spec

if TYPE_CHECKING:
    from kgen.call.pair import Ready


def saving_schema(kernel: Kernel, params: Sequence[str]) -> str:
    """``(Tensor a, *, float alpha, bool[] needed) -> Tensor[]``: the outputs, then what these gradients need."""
    inputs = [f"Tensor {name}" for name in kernel.inputs]
    return f"({', '.join([*inputs, '*', *params, 'bool[] needed'])}) -> Tensor[]"


def saving_call(kernel: Kernel) -> Callable[..., list[Any]]:
    """The operator on tensors, each of which has memory of its own, as torch requires."""

    def call(*args: Any, needed: Sequence[bool], **params: Any) -> list[Any]:
        saving, given = _saving(kernel, args, needed, lambda x: x, params)
        outputs, saved = saving.parted(_listed(saving.kernel(**given)))
        return [*outputs, *(x.clone() if any(x is y for y in outputs) else x for x in saved)]

    return call


def saving_fake(kernel: Kernel, spec_of: Callable[[Any], Spec]) -> Callable[..., list[Any]]:
    """The operator on FakeTensors."""

    def fake(*args: Any, needed: Sequence[bool], **params: Any) -> list[Any]:
        saving, given = _saving(kernel, args, needed, spec_of, params)
        outputs, saved = saving.parted(_listed(saving.kernel.meta(**given)))
        return _empty((*outputs, *saved), args[0])

    return fake


@dataclass(frozen=True, slots=True)
class _Saving:
    """A kernel that returns what the gradients need beside its ``outputs``; ``saved``: the names of that."""

    kernel: Any
    outputs: Sequence[str]
    saved: Sequence[str]

    def parted(self, results: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """The outputs, and what is saved."""
        known = dict(zip(self.kernel.outputs, results, strict=True))
        return [known[name] for name in self.outputs], [known[name] for name in self.saved]


def _saving(
    kernel: Kernel, args: Sequence[Any], needed: Sequence[bool], take: Callable[[Any], Any], params: dict[str, Any]
) -> tuple[_Saving, dict[str, Any]]:
    """The kernel, and its arguments by name."""
    given = {**{name: take(x) for name, x in zip(kernel.inputs, args, strict=True)}, **params}
    ready = _ready(kernel, needed, given)
    if ready is None:
        return _Saving(kernel, kernel.outputs, ()), given
    return _Saving(ready.forward, kernel.outputs, [one.name for one in ready.saved]), given


def _ready(kernel: Kernel, needed: Sequence[bool], given: Mapping[str, Any]) -> Ready | None:
    """The kernels that save and read; None where there are no gradients, which nobody may ask for."""
    wrt = tuple(name for name, need in zip(kernel.inputs, needed, strict=True) if need)
    try:
        return kernel.pair(wrt).ready(bind(kernel.program, (), given))
    except KgenError:
        return None


def backward_schema(kernel: Kernel, params: Sequence[str]) -> str:
    """``(Tensor a, Tensor? out_grad, Tensor[] saved, *, float alpha, bool[] needed) -> Tensor[]``: the gradients that
    are needed.
    """
    inputs = [f"Tensor {name}" for name in kernel.inputs]
    cotangents = [f"Tensor? {output}_gradient" for output in kernel.outputs]
    return f"({', '.join([*inputs, *cotangents, 'Tensor[] saved', '*', *params, 'bool[] needed'])}) -> Tensor[]"


def backward_call(kernel: Kernel) -> Callable[..., list[Any]]:
    """The operator on tensors."""

    def call(*args: Any, needed: Sequence[bool], **params: Any) -> list[Any]:
        own, given = _given(kernel, args, needed, lambda x: x, params)
        return _listed(own(**given))

    return call


def backward_fake(kernel: Kernel, spec_of: Callable[[Any], Spec]) -> Callable[..., list[Any]]:
    """The operator on FakeTensors."""

    def fake(*args: Any, needed: Sequence[bool], **params: Any) -> list[Any]:
        own, given = _given(kernel, args, needed, spec_of, params)
        of_these = own.kernel(**given) if isinstance(own, Derived) else own
        return _empty(of_these.meta(**given), args[0])

    return fake


def jvp_schema(kernel: Kernel, params: Sequence[str]) -> str:
    """``(Tensor a, Tensor? a_tangent, *, float alpha) -> Tensor[]``: the tangents of the outputs of floats."""
    inputs = [f"Tensor {name}" for name in kernel.inputs]
    tangents = [f"Tensor? {name}_tangent_of" for name in kernel.inputs]
    return f"({', '.join([*inputs, *tangents, *(['*', *params] if params else [])])}) -> Tensor[]"


def jvp_call(kernel: Kernel) -> Callable[..., list[Any]]:
    """The operator on tensors."""

    def call(*args: Any, **params: Any) -> list[Any]:
        return _listed(kernel.tangent()(**_along(kernel, args, lambda x: x), **params))

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
    kernel: Kernel, args: Sequence[Any], needed: Sequence[bool], take: Callable[[Any], Any], params: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """What computes the gradients of the inputs that are needed, and its arguments by name.

    The last of ``args`` is what the operator saved; nothing, where that has to be computed again.
    """
    inputs, cotangents, saved = args[: len(kernel.inputs)], args[len(kernel.inputs) : -1], args[-1]
    known = {**{name: take(x) for name, x in zip(kernel.inputs, inputs, strict=True)}, **params}
    own = {name: take(x) for name, x in zip(kernel.outputs, cotangents, strict=True) if x is not None}
    ready = _ready(kernel, needed, known) if saved else None
    if ready is None:
        gradient = kernel.gradient(tuple(name for name, need in zip(kernel.inputs, needed, strict=True) if need))
        return gradient, {**known, **{gradient.cotangents[name]: x for name, x in own.items()}}
    known |= {one.name: take(x) for one, x in zip(ready.saved, saved, strict=True)}
    known |= {ready.request.cotangents[name]: x for name, x in own.items()}
    backward = ready.backward(own)
    return backward, {name: known[name] for name in (*backward.inputs, *backward.params) if name in known}


def _listed(found: Any) -> list[Any]:
    return list(found) if isinstance(found, tuple) else [found]


def autograd_of(
    operator: Any, backward_operator: Any = None, jvp_operator: Any = None, saving_operator: Any = None
) -> Callable[..., Any]:
    """The operator's autograd kernel.

    The others are None for an operator that computes derivatives, whose own derivatives are refused where they are
    asked for; torch.func.grad records them in any case.  ``saving_operator``: also for one that has nothing to save.
    """
    import torch

    below = torch._C._AutoDispatchBelowAutograd
    single_level = torch._functorch.autograd_function.enable_single_level_autograd_function
    count = len(operator._schema.returns)

    # Not of torch.autograd.Function, for which torch.func asks for a ``setup_context`` since torch 2.14.
    class KgenOperator(torch.autograd.function._SingleLevelFunction):  # type: ignore[misc]  # torch has no types
        @staticmethod
        def forward(ctx: Any, params: dict[str, Any], *tensors: Any) -> Any:
            needs = zip(ctx.needs_input_grad[1:], tensors, strict=True)
            ctx.needed = [need and is_differentiable(x) for need, x in needs]
            with below():
                if saving_operator is None or not any(ctx.needed):
                    found, saved = operator(*tensors, **params), []
                else:
                    made = saving_operator(*tensors, **params, needed=ctx.needed)
                    found, saved = made[0] if count == 1 else made[:count], made[count:]
            output, ctx.params = tuple(found) if isinstance(found, list) else found, params
            if backward_operator is not None:
                ctx.save_for_backward(*tensors, *saved)
            mark_integers(ctx, output)
            if within_dual_level() and jvp_operator is not None:
                ctx.save_for_forward(*tensors)
            return output

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
            if backward_operator is None:
                raise requires_grad("differentiate the kernel of kgen.jit twice; operators have first derivatives")
            needed, kept = ctx.needed, ctx.saved_tensors
            tensors, saved = kept[: len(needed)], kept[len(needed) :]
            if not any(needed) or all(x is None for x in cotangents):
                return (None,) * (1 + len(needed))
            found = iter(backward_operator(*tensors, *cotangents, saved, **ctx.params, needed=needed))
            return None, *(next(found) if need else None for need in needed)

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            if jvp_operator is None:
                raise requires_grad("differentiate the kernel of kgen.jit twice; operators have first derivatives")
            tensors = ctx.saved_tensors[: len(tangents) - 1]
            found = iter(jvp_operator(*tensors, *tangents[1:], **ctx.params))
            each = tuple(next(found) if known else None for known in ctx.differentiable)
            return each if len(each) > 1 else each[0]

    def call(*args: Any, **params: Any) -> Any:
        with single_level():  # torch.func calls this for one of its levels
            found = KgenOperator.apply(params, *args)
        return list(found) if isinstance(found, tuple) and backward_operator is None else found

    return call


def vmap_of(operator: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of torch.func.vmap for an operator of derivatives, which has optional tensors.

    What was saved is computed again.
    """

    def rule(info: Any, in_dims: tuple[Any, ...], *args: Any, **params: Any) -> Any:
        tensors = [x for x in args if not isinstance(x, Sequence)]
        none: list[Any] = [[]] * (len(args) - len(tensors))

        def row(*given: Any) -> tuple[Any, ...]:
            return tuple(operator(*given, *none, **params))

        found, dims = one_by_one(row, info, in_dims[: len(tensors)], tuple(tensors))
        return list(found), list(dims)

    return rule
