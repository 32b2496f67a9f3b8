"""Calls that record gradients, with what is saved for the backward kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from kgen.diagnostics import KgenError
from kgen.records import dataclass

if TYPE_CHECKING:  # every call asks for its recorder, and most need no gradients
    from kgen.call.derived import Compiled
    from kgen.call.gradient import Gradient
    from kgen.call.pair import Pair, Ready
    from kgen.call.tangent import Tangent

    class Differentiable(Compiled, Protocol):
        """A kernel that knows its gradients."""

        @property
        def inputs(self) -> tuple[str, ...]: ...
        @property
        def params(self) -> tuple[str, ...]: ...

        @property
        def reduces(self) -> bool: ...

        recorded: Any  # its call with an array for each input and nothing else, once there was one
        reads_all: bool | None  # as of saves_less(), once it was asked

        def gradient(self, wrt: tuple[str, ...]) -> Gradient: ...
        def pair(self, wrt: tuple[str, ...]) -> Pair: ...
        def tangent(self) -> Tangent: ...


@dataclass(frozen=True, slots=True)
class Call:
    """A call without its tensors.  ``tensors``: their names; ``others``: the arguments that are none; ``plain``:
    whether there is no other argument, nor one that is left out.
    """

    kernel: Differentiable
    tensors: tuple[str, ...]
    others: Mapping[str, Any]
    stream: Any
    plain: bool = False

    def run(self, tensors: tuple[Any, ...]) -> Any:
        if self.plain:
            return self.kernel(*tensors)
        return self.kernel(**dict(zip(self.tensors, tensors, strict=True)), **self.others, stream=self.stream)


def is_differentiable(x: Any) -> bool:
    """Whether a tensor may have a gradient."""
    return bool(x.is_floating_point() or x.is_complex())


def saves_less(call: Call, tensors: tuple[Any, ...]) -> bool:
    """Whether gradients need something else than the tensors of a call: what reductions computed, or fewer of them.

    Without reductions, the first call with gradients decides it for all.
    """
    kernel = call.kernel
    if kernel.reduces:
        return True
    if kernel.reads_all is None:
        wrt = tuple(name for name, x in zip(call.tensors, tensors, strict=True) if is_differentiable(x))
        ready = _ready(call, wrt, {**call.others, **dict(zip(call.tensors, tensors, strict=True))})
        known = None if ready is None or isinstance(ready, KgenError) else ready.names
        kernel.reads_all = known is None or set(call.tensors) <= set(known)
    return not kernel.reads_all


def run_and_save(ctx: Any, call: Call, tensors: tuple[Any, ...]) -> Any:
    """The outputs of a call, with what its gradients need saved in torch's context."""
    needs = zip(call.tensors, ctx.needs_input_grad[1:], tensors, strict=True)
    ctx.wrt = tuple(name for name, need, x in needs if need and is_differentiable(x))
    given = {**call.others, **dict(zip(call.tensors, tensors, strict=True))}
    ctx.call = call
    # A kernel takes numbers of the host by value; their gradients go back there.
    ctx.numbers = {name: (x.device, x.dtype) for name, x in zip(call.tensors, tensors, strict=True) if not x.ndim}
    ctx.ready = ready = _ready(call, ctx.wrt, given)
    if ready is None or isinstance(ready, KgenError):
        return call.run(tensors)
    found = ready.forward(**given, stream=call.stream)
    made = dict(zip(ready.forward.outputs, found if isinstance(found, tuple) else (found,), strict=True))
    known = {**given, **made}
    ctx.saved_names = [name for name in ready.for_autograd() if name not in call.others]
    ctx.save_for_backward(*(known[name] for name in ctx.saved_names))
    outputs = tuple(made[name] for name in call.kernel.outputs)
    return outputs if len(outputs) > 1 else outputs[0]


def _ready(call: Call, wrt: tuple[str, ...], given: Mapping[str, Any]) -> Ready | KgenError | None:
    """The kernels; None where no gradient is needed, and an error of the gradients, which nobody may ask for."""
    try:
        return call.kernel.pair(wrt).ready(given) if wrt else None
    except KgenError as problem:
        return problem


def saved_gradients(ctx: Any, cotangents: tuple[Any, ...]) -> list[Any]:
    """The gradient of each tensor, None for those that need none.  Raises the error of :func:`run_and_save`."""
    import torch

    ready, call = ctx.ready, ctx.call
    given = {n: x for n, x in zip(call.kernel.outputs, cotangents, strict=True) if x is not None}
    if not given or ready is None:
        return [None] * len(call.tensors)
    if isinstance(ready, KgenError):
        raise ready
    kernel = ready.backward(given, again=bool(ready.saved) and torch.is_grad_enabled())
    own = {ready.request.cotangents[name]: x for name, x in given.items()}
    known = {**call.others, **dict(zip(ctx.saved_names, ctx.saved_tensors, strict=True)), **own}
    found = kernel(**{name: known[name] for name in (*kernel.inputs, *kernel.params)})
    made = dict(zip(ctx.wrt, found if isinstance(found, tuple) else (found,), strict=True))
    for name, (device, dtype) in ctx.numbers.items():
        if name in made:
            made[name] = made[name].to(device=device, dtype=dtype)
    return [made.get(name) for name in call.tensors]
