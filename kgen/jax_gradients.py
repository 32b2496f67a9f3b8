"""Derivatives of functions of JAX that call kernels: tangents are an operation of JAX, gradients its transpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from kgen.dtypes import Kind
from kgen.jit import Kernel
from kgen.records import dataclass
from kgen.spec import Spec

Function = Callable[..., Any]  #: takes attributes, then arrays


@dataclass(frozen=True, slots=True)
class Linear:
    """The tangents of a call, as a function that is linear in those of some inputs.

    ``function_of``: a kernel as a differentiable function.  ``given``: the inputs and params of the call, without a
    batch.  ``along``: which inputs have tangents.  ``outputs``: those that have tangents.  ``batches``: for each
    ``jax.vmap``, the innermost first, which arguments it maps over.
    """

    kernel: Kernel
    function_of: Callable[[Kernel], Function]
    attributes: tuple[Any, ...]
    given: tuple[tuple[str, Any], ...]
    along: tuple[str, ...]
    outputs: tuple[tuple[str, Spec], ...]
    batches: tuple[tuple[int | None, ...], ...] = ()

    def tangents(self, *arrays: Any) -> list[Any]:
        """Of inputs, then of tangents, to those of the outputs."""
        derived, specs = self.kernel.tangent(), dict(self.given)
        own = {derived.tangents[name]: specs[name] for name in self.along}
        return self._mapped(derived.kernel(**specs, **own), self.batches)(*arrays)

    def gradients(self, present: Sequence[bool], wrt: Sequence[str], *arrays: Any) -> list[Any]:
        """Of inputs, then of gradients of the outputs that are ``present``, to those of ``wrt``."""
        derived = self.kernel.gradient(tuple(wrt))
        own = {derived.cotangents[n]: s for (n, s), here in zip(self.outputs, present, strict=True) if here}
        count = len(self.kernel.inputs)
        batches = tuple((*dims[:count], *(0 for _ in own)) for dims in self.batches)
        # JAX's gradients of complex numbers are the conjugates of PyTorch's.
        conjugated = [x if place < count else _conj(x) for place, x in enumerate(arrays)]
        return [_conj(x) for x in self._mapped(derived.kernel(**dict(self.given), **own), batches)(*conjugated)]

    def _mapped(self, kernel: Kernel, batches: Sequence[tuple[int | None, ...]]) -> Callable[..., list[Any]]:
        import jax

        function: Any = partial(self.function_of(kernel), self.attributes)
        for dims in batches:
            function = jax.vmap(function, in_axes=dims)

        def call(*arrays: Any) -> list[Any]:
            found = function(*arrays)
            return list(found) if isinstance(found, tuple) else [found]

        return call


def differentiable(kernel: Kernel, run: Function, function_of: Callable[[Kernel], Function], spec_of: Any) -> Function:
    """``run`` with derivatives, forward and backward, of every order."""
    import jax

    zero_from = jax.custom_derivatives.zero_from_primal

    @partial(jax.custom_jvp, nondiff_argnums=(0,))
    def function(attributes: tuple[Any, ...], *arrays: Any) -> Any:
        return run(attributes, *arrays)

    def rule(attributes: tuple[Any, ...], primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        found = function(attributes, *primals)
        results = found if isinstance(found, tuple) else (found,)
        specs = [(name, spec_of(x)) for name, x in zip(kernel.outputs, results, strict=True)]
        floats = tuple((name, spec) for name, spec in specs if spec.dtype.kind >= Kind.FLOAT)
        given = [(name, spec_of(x)) for name, x in zip(kernel.inputs, primals, strict=True)]
        given += [(a.name, a.value.item()) for a in attributes]
        pairs = zip(kernel.inputs, tangents, strict=True)
        moved = {name: t for name, t in pairs if not isinstance(t, jax.custom_derivatives.SymbolicZero)}
        linear = Linear(kernel, function_of, attributes, tuple(given), tuple(moved), floats)
        made = _primitive().bind(*primals, *moved.values(), linear=linear) if floats and moved else []
        known = dict(zip((name for name, _ in floats), made, strict=False))
        own = zip(kernel.outputs, results, strict=True)
        each = tuple(known[name] if name in known else zero_from(x, symbolic_zeros=True) for name, x in own)
        return found, each if isinstance(found, tuple) else each[0]

    function.defjvp(rule, symbolic_zeros=True)
    made: Function = function
    return made


@cache
def _primitive() -> Any:
    """The operation of JAX: ``linear`` is a :class:`Linear`, operands are the inputs, then the tangents."""
    import jax
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    made = Primitive("kgen_tangents")
    made.multiple_results = True

    def apply(*arrays: Any, linear: Linear) -> list[Any]:
        return linear.tangents(*arrays)

    def shapes(*arrays: Any, linear: Linear) -> list[Any]:
        types = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays]
        return [jax.core.ShapedArray(x.shape, x.dtype) for x in jax.eval_shape(linear.tangents, *types)]

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], *, linear: Linear) -> tuple[list[Any], list[Any]]:
        moving = [place for place, t in enumerate(tangents) if type(t) is not ad.Zero]

        def function(*moved: Any) -> list[Any]:
            new = dict(zip(moving, moved, strict=True))
            return linear.tangents(*(new.get(place, x) for place, x in enumerate(primals)))

        return jax.jvp(function, [primals[p] for p in moving], [tangents[p] for p in moving])  # type: ignore[no-any-return]  # JAX is not installed where types are checked

    def transpose(cotangents: Sequence[Any], *operands: Any, linear: Linear) -> list[Any]:
        count = len(linear.kernel.inputs)
        unknown = [ad.is_undefined_primal(x) for x in operands[count:]]
        present = [type(g) is not ad.Zero for g in cotangents]
        wrt = [name for name, is_wanted in zip(linear.along, unknown, strict=True) if is_wanted]
        given = [g for g, here in zip(cotangents, present, strict=True) if here]
        found = iter(linear.gradients(present, wrt, *operands[:count], *given))
        return [None] * count + [next(found) if is_wanted else None for is_wanted in unknown]

    def batched(operands: Sequence[Any], dims: Sequence[Any], *, linear: Linear) -> tuple[list[Any], list[int]]:
        size = next(x.shape[dim] for x, dim in zip(operands, dims, strict=True) if dim is not None)
        count = len(linear.kernel.inputs)
        moved, axes = [], []
        for place, (x, dim) in enumerate(zip(operands, dims, strict=True)):
            whole = x if dim is None else jax.numpy.moveaxis(x, dim, 0)
            if dim is None and place >= count:
                whole = jax.numpy.broadcast_to(x, (size, *x.shape))
            moved.append(whole)
            axes.append(None if dim is None and place < count else 0)
        new = Linear(
            linear.kernel, linear.function_of, linear.attributes, linear.given, linear.along, linear.outputs,
            (*linear.batches, tuple(axes)),
        )  # fmt: skip
        found = made.bind(*moved, linear=new)
        return found, [0] * len(found)

    made.def_impl(apply)
    made.def_abstract_eval(shapes)
    ad.primitive_jvps[made] = jvp
    ad.primitive_transposes[made] = transpose
    batching.primitive_batchers[made] = batched
    mlir.register_lowering(made, mlir.lower_fun(apply, multiple_results=True))
    return made


def _conj(x: Any) -> Any:
    return x.conj() if x.dtype.kind == "c" else x
