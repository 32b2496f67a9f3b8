"""Derivatives of functions of JAX that call kernels: tangents are an operation of JAX, gradients its transpose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from kgen.call.arguments import bind
from kgen.diagnostics import KgenError
from kgen.dtypes import Kind
from kgen.kernel import Kernel
from kgen.records import dataclass
from kgen.spec import Spec

if TYPE_CHECKING:
    from kgen.call.pair import Ready

Function = Callable[..., Any]  #: takes attributes, then arrays


@dataclass(frozen=True, slots=True)
class Linear:
    """The tangents of a call, as a function that is linear in those of some inputs.

    Its arguments are the inputs, the saved values, and the tangents.  ``function_of``: a kernel as a differentiable
    function.  ``given``: the inputs and params of the call, without a batch.  ``along``: which inputs have tangents.
    ``outputs``: those that have tangents.  ``saved``: what the call computed for the gradients.  ``batches``: for each
    ``jax.vmap``, the innermost first, which arguments it maps over.
    """

    kernel: Kernel
    function_of: Callable[[Kernel], Function]
    attributes: tuple[Any, ...]
    given: tuple[tuple[str, Any], ...]
    along: tuple[str, ...]
    outputs: tuple[tuple[str, Spec], ...]
    saved: tuple[str, ...] = ()
    batches: tuple[tuple[int | None, ...], ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        """The arguments in front of the tangents."""
        return *self.kernel.inputs, *self.saved

    def tangents(self, *arrays: Any) -> list[Any]:
        """Of the arguments, to the tangents of the outputs."""
        derived, specs = self.kernel.tangent(), dict(self.given)
        own = {derived.tangents[name]: specs[name] for name in self.along}
        names = (*self.known, *own)
        return self._called(derived.kernel(**specs, **own), names, arrays, self.batches)

    def gradients(self, present: Sequence[bool], wrt: Sequence[str], *arrays: Any) -> list[Any]:
        """Of inputs, saved values, then gradients of the outputs that are ``present``, to those of ``wrt``."""
        here = {name: spec for (name, spec), is_there in zip(self.outputs, present, strict=True) if is_there}
        if self.saved and tuple(wrt) == self.along:
            ready = _ready(self.kernel, self.along, dict(self.given))
            kernel, cotangents = ready.backward(here), ready.request.cotangents
        else:
            derived = self.kernel.gradient(tuple(wrt))
            cotangents = derived.cotangents
            kernel = derived.kernel(**dict(self.given), **{cotangents[name]: spec for name, spec in here.items()})
        names, count = (*self.known, *(cotangents[name] for name in here)), len(self.known)
        batches = tuple((*dims[:count], *(0 for _ in here)) for dims in self.batches)
        # JAX's gradients of complex numbers are the conjugates of PyTorch's.
        conjugated = [x if place < count else _conj(x) for place, x in enumerate(arrays)]
        return [_conj(x) for x in self._called(kernel, names, conjugated, batches)]

    def _called(
        self, kernel: Kernel, names: Sequence[str], arrays: Sequence[Any], batches: Sequence[tuple[int | None, ...]]
    ) -> list[Any]:
        """What a kernel makes of those of the arrays, which have these names, that it takes."""
        import jax

        places = [names.index(name) for name in kernel.inputs]
        function: Any = partial(self.function_of(kernel), tuple(a for a in self.attributes if a.name in kernel.params))
        for dims in batches:
            function = jax.vmap(function, in_axes=tuple(dims[place] for place in places))
        found = function(*(arrays[place] for place in places))
        return list(found) if isinstance(found, tuple) else [found]


def differentiable(kernel: Kernel, run: Function, function_of: Callable[[Kernel], Function], spec_of: Any) -> Function:
    """``run`` with derivatives, forward and backward, of every order."""
    import jax

    zero_from = jax.custom_derivatives.zero_from_primal

    @partial(jax.custom_jvp, nondiff_argnums=(0,))
    def function(attributes: tuple[Any, ...], *arrays: Any) -> Any:
        return run(attributes, *arrays)

    def rule(attributes: tuple[Any, ...], primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        given = [(name, spec_of(x)) for name, x in zip(kernel.inputs, primals, strict=True)]
        given += [(a.name, a.value.item()) for a in attributes]
        pairs = zip(kernel.inputs, tangents, strict=True)
        moved = {name: t for name, t in pairs if not isinstance(t, jax.custom_derivatives.SymbolicZero)}
        forward, saved = _saving(kernel, tuple(moved), dict(given))
        found = (function if forward is kernel else function_of(forward))(attributes, *primals)
        values = dict(zip(forward.outputs, found if isinstance(found, tuple) else (found,), strict=True))
        floats = _floats({name: spec_of(values[name]) for name in kernel.outputs})
        linear = Linear(kernel, function_of, attributes, tuple(given), tuple(moved), floats, saved)
        operands = (*primals, *(values[name] for name in saved), *moved.values())
        made = _primitive().bind(*operands, linear=linear) if floats and moved else []
        known = dict(zip((name for name, _ in floats), made, strict=False))
        outputs = {name: values[name] for name in kernel.outputs}
        each = [known[name] if name in known else zero_from(x, symbolic_zeros=True) for name, x in outputs.items()]
        return _one_or_several(outputs.values()), _one_or_several(each)

    function.defjvp(rule, symbolic_zeros=True)
    made: Function = function
    return made


def _floats(specs: Mapping[str, Spec]) -> tuple[tuple[str, Spec], ...]:
    """Those that have tangents."""
    return tuple((name, spec) for name, spec in specs.items() if spec.dtype.kind >= Kind.FLOAT)


def _one_or_several(values: Iterable[Any]) -> Any:
    found = tuple(values)
    return found if len(found) > 1 else found[0]


def _saving(kernel: Kernel, wrt: tuple[str, ...], given: Mapping[str, Any]) -> tuple[Kernel, tuple[str, ...]]:
    """The kernel that also returns what the gradients need, and the names of that: nothing where it is cheap, and where
    there are no gradients, which nobody may ask for.
    """
    if not wrt or not kernel.reduces:
        return kernel, ()
    try:
        ready = _ready(kernel, wrt, given)
    except KgenError:
        return kernel, ()
    return ready.forward, tuple(one.name for one in ready.saved)


def _ready(kernel: Kernel, wrt: tuple[str, ...], given: Mapping[str, Any]) -> Ready:
    return kernel.pair(wrt).ready(bind(kernel.program, (), given))


@cache
def _primitive() -> Any:
    """The operation of JAX: ``linear`` is a :class:`Linear`, whose arguments are the operands."""
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
        count = len(linear.known)
        unknown = [ad.is_undefined_primal(x) for x in operands[count:]]
        present = [type(g) is not ad.Zero for g in cotangents]
        wrt = [name for name, is_wanted in zip(linear.along, unknown, strict=True) if is_wanted]
        given = [g for g, here in zip(cotangents, present, strict=True) if here]
        found = iter(linear.gradients(present, wrt, *operands[:count], *given))
        return [None] * count + [next(found) if is_wanted else None for is_wanted in unknown]

    def batched(operands: Sequence[Any], dims: Sequence[Any], *, linear: Linear) -> tuple[list[Any], list[int]]:
        size = next(x.shape[dim] for x, dim in zip(operands, dims, strict=True) if dim is not None)
        count = len(linear.known)
        moved, axes = [], []
        for place, (x, dim) in enumerate(zip(operands, dims, strict=True)):
            whole = x if dim is None else jax.numpy.moveaxis(x, dim, 0)
            if dim is None and place >= count:
                whole = jax.numpy.broadcast_to(x, (size, *x.shape))
            moved.append(whole)
            axes.append(None if dim is None and place < count else 0)
        new = Linear(
            linear.kernel, linear.function_of, linear.attributes, linear.given, linear.along, linear.outputs,
            linear.saved, (*linear.batches, tuple(axes)),
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
