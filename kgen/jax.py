"""kgen kernels as functions of JAX that work inside ``jax.jit`` and ``jax.vmap``."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

from kgen.call.plan import run_to_repeat
from kgen.diagnostics import error, public
from kgen.dtypes import DTYPES, DType
from kgen.ir.graph import IndexMap
from kgen.jax_gradients import differentiable
from kgen.jit import jit
from kgen.kernel import Kernel
from kgen.records import dataclass
from kgen.spec import Spec, c_strides

if TYPE_CHECKING:
    from kgen.runtime.xla_ffi import Buffer, Repeated, Request

_registered: dict[str, int] = {}  #: numbers of programs, by the names of XLA's targets

#: Ops whose results depend on the place of an axis.
_OF_AXES = frozenset({"reduce", "index", "expand", "size", "gather"})


@dataclass(frozen=True, slots=True)
class Attribute:
    """A param as an attribute of a call.  Its bits are compared, since 0 equals -0.0 and False."""

    name: str
    kind: str
    bits: bytes

    @property
    def value(self) -> Any:
        import numpy as np

        return np.frombuffer(self.bits, self.kind.rstrip("_"))[0]


@public
def op(program: str | Kernel) -> Callable[..., Any]:
    """A program as a function of JAX arrays that may be traced: a primitive inside ``jax.jit`` and ``jax.vmap``.

    ``program``: a text, or a kernel from :func:`kgen.jit`.  Inputs are positional, params keyword arguments, which are
    constants of the compiled call.  Returns new arrays: those of ``inout`` arguments first, then the outputs; one
    array, or a tuple of several.  ``jax.grad``, ``jvp`` and what is made of them, of every order, call the kernels of
    :func:`kgen.grad` and :func:`kgen.jvp`; JAX refuses gradients of programs that update in place.

    XLA calls the kernel on its own stream: no arrays are copied, and nothing waits.  The first call for some shapes
    runs Python code; where kgen was built with a C compiler, later ones do not.
    Raises :class:`~kgen.KgenError`: ``bad-call``, ``unsupported-dtype``, and what a call raises.
    """
    kernel = program if isinstance(program, Kernel) else jit(program)
    if not kernel.inputs:
        raise error("bad-call", "a function of JAX needs an array argument, and this program has none")
    # Compiled once for all calls with the same types and params; inside jax.jit it leaves no trace of its own.
    traced = _jax().jit(_function(kernel), static_argnums=0, inline=True)

    def call(*arrays: Any, **params: Any) -> Any:
        return traced(tuple(_attribute(*param) for param in params.items()), *arrays)

    call.__name__ = call.__qualname__ = kernel.name
    return call


@cache
def _function(kernel: Kernel) -> Callable[..., Any]:
    """A kernel as a function of attributes and arrays, with derivatives unless it updates in place."""
    run = partial(_traced, kernel, *_register(kernel))
    return run if kernel._updates else differentiable(kernel, run, _function, _spec_of)


def _register(kernel: Kernel) -> tuple[str, int]:
    """The name and the number by which XLA knows a kernel.  They depend on the program alone, as compiled calls may be
    kept.
    """
    from kgen.call.extension import extension
    from kgen.runtime.xla_ffi import handlers, register

    ffi = _jax().ffi
    digest = hashlib.sha256(repr((kernel.program.source.text, kernel.options)).encode())
    target = f"kgen_{kernel.name}_{digest.hexdigest()[:16]}"
    if target not in _registered:
        _registered[target] = int.from_bytes(digest.digest()[:8], "little", signed=True)
        register(_registered[target], partial(_run, kernel))
        for handler, platform in zip(handlers(extension()), ("cpu", "CUDA"), strict=True):
            ffi.register_ffi_target(target, ffi.pycapsule(handler), platform=platform)
    return target, _registered[target]


def _traced(kernel: Kernel, target: str, program: int, attributes: tuple[Attribute, ...], *given: Any) -> Any:
    """The call as an operation of JAX.

    Where axes have no meaning of their own, arrays get one rank first: vmap puts the batch in front of each.
    """
    import numpy as np

    from kgen.runtime.xla_ffi import PROGRAM

    jax = _jax()
    params = {a.name: a.value.item() for a in attributes}
    arrays = [jax.numpy.asarray(x) for x in given]
    specs = [_spec_of(x) for x in arrays]
    updated = [i for i, a in enumerate(kernel.program.arguments) if a.role == "inout"]
    results = _results(kernel, specs, updated, params)
    if _depends_on_axes(kernel, specs, params):
        rank, batched = 0, "sequential"
    else:  # arrays that are updated need all elements of the batch
        rank, batched = max(x.ndim for x in arrays), "broadcast_all" if updated else "expand_dims"
    types = [jax.ShapeDtypeStruct(_of_rank(rank, s.shape), _jax_dtype(s.dtype)) for s in results]
    aliases = {place: i for i, place in enumerate(updated)}
    call = jax.ffi.ffi_call(target, types, vmap_method=batched, input_output_aliases=aliases)
    of_one_rank = [x.reshape(_of_rank(rank, x.shape)) for x in arrays]
    found = call(*of_one_rank, **{a.name: a.value for a in attributes}, **{PROGRAM: np.int64(program)})
    shaped = [x.reshape(s.shape) for x, s in zip(found, results, strict=True)]
    return shaped[0] if len(shaped) == 1 else tuple(shaped)


def _jax() -> Any:
    import jax

    return jax


def _of_rank(rank: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1,) * (rank - len(shape)) + tuple(shape)


def _results(kernel: Kernel, specs: list[Spec], updated: list[int], params: dict[str, Any]) -> list[Spec]:
    """Those that are updated in place, then the outputs."""
    made = kernel.meta(*specs, **params)
    outputs = made if isinstance(made, tuple) else (made,)
    return [*(specs[i] for i in updated), *outputs]


def _spec_of(x: Any) -> Spec:
    from kgen.arrays.numpy_ import dtype_of

    return Spec(tuple(x.shape), dtype_of(x.dtype), c_strides(tuple(x.shape)))


def _depends_on_axes(kernel: Kernel, specs: list[Spec], params: dict[str, Any]) -> bool:
    """Whether one more axis in front of all arrays might change results."""
    from kgen.call.inspection import typed_call

    graph = typed_call(kernel._engine, specs, params)  # before an axis of one element is nothing to reduce along
    moves = any(isinstance(op.attr, IndexMap) and not op.attr.is_aligned for op in graph.ops)
    places = bool(graph.scattered) or any(op.name in _OF_AXES for op in graph.ops)
    return moves or places or any(o.view is not None for o in graph.operands)


def _jax_dtype(dtype: DType) -> Any:
    """Raises :class:`~kgen.KgenError` for 64 bits where JAX has them off: it would truncate results."""
    from kgen.arrays.numpy_ import TO_NUMPY

    kind = TO_NUMPY[dtype]
    if _jax().dtypes.canonicalize_dtype(kind) != kind:
        hint = 'jax.config.update("jax_enable_x64", True), or cast in the program'
        raise error("unsupported-dtype", f"a result is {dtype}, and JAX would truncate it to half the width", hint)
    return kind


def _attribute(name: str, value: Any) -> Attribute:
    import numpy as np

    if isinstance(value, _jax().core.Tracer):
        raise error("traced-array", f"the param `{name}` is traced, and has no value yet", "make it an input")
    for kind, made in ((bool, np.bool_), (int, np.int64), (float, np.float64)):
        if isinstance(value, kind | made):
            return Attribute(name, made.__name__, made(value).tobytes())
    raise error("bad-call", f"the param `{name}` is no bool, int or float", "make it an input")


def _run(kernel: Kernel, request: Request) -> Repeated | None:
    """Queue the kernel on XLA's memory.  What is updated in place has the memory of its result."""
    from kgen.arrays.base import CPU, cuda
    from kgen.arrays.xla import XlaArray, current
    from kgen.runtime.xla_ffi import Repeated

    buffers = [*request.args, *request.rets]
    device = CPU if request.stream is None else cuda(_device_of(buffers))
    results = iter(range(len(request.args), len(buffers)))
    places = [next(results) if a.role == "inout" else i for i, a in enumerate(kernel.program.arguments)]
    arrays = [XlaArray(_spec(b.dtype, b.shape), b.address, device) for b in buffers]
    given, outs = tuple(arrays[i] for i in places), [*results]
    out = None if not outs else arrays[outs[0]] if len(outs) == 1 else tuple(arrays[i] for i in outs)
    current.handle = request.stream or 0
    if not request.is_new:
        kernel(*given, out=out, **request.attributes)
        return None
    again = run_to_repeat(kernel._engine, given, request.attributes, out)
    return None if again is None else Repeated(again, (*places, *(-1 for _ in request.attributes), *outs))


@lru_cache(maxsize=1024)
def _spec(dtype: int, shape: tuple[int, ...]) -> Spec:
    """``dtype``: XLA's number."""
    return Spec(shape, _DTYPES[dtype], c_strides(shape))


def _device_of(buffers: list[Buffer]) -> int:
    from kgen.runtime.cuda.memory import device_of

    address = next((b.address for b in buffers if b.address), 0)
    return device_of(address) if address else 0


def _number(dtype: DType) -> int:
    """XLA's number of a dtype."""
    log = dtype.real.size.bit_length() - 1
    if dtype.is_bool:
        return 1
    if dtype.is_complex:
        return 15 if log == 2 else 18
    if dtype.is_int:
        return (2 if dtype.signed else 6) + log
    if dtype.is_fp8:
        return 19 if dtype.infinity else 20
    return 16 if log == 1 and dtype.exponent == 8 else 9 + log


_DTYPES = {_number(t): t for t in DTYPES}  #: by XLA's numbers
