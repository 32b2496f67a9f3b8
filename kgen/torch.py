"""kgen kernels as operators of PyTorch: ``torch.compile``, ``torch.export`` and FakeTensor see one opaque, typed op."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kgen.diagnostics import error, public
from kgen.dtypes import Kind
from kgen.jit import jit
from kgen.kernel import Kernel
from kgen.spec import Spec, c_strides

if TYPE_CHECKING:
    from kgen.ir.graph import Graph
    from kgen.program import Parameter

_NAME = re.compile(r"([A-Za-z_]\w*)::([A-Za-z_]\w*)")
_SCALARS = {Kind.BOOL: bool, Kind.INT: int, Kind.FLOAT: float}
_libraries: dict[str, Any] = {}  # an operator lives as long as its Library object
_kernels: dict[str, Kernel] = {}  # by the operator's name
_with_gradients: dict[str, bool] = {}  # the same


@public
def op(name: str, program: str | Kernel, *, grad: bool = False) -> Any:
    """Register a program as the torch operator ``name`` and return it, to be called on tensors.

    ``name``: ``"namespace::name"``.  ``program``: a text, or a kernel from :func:`kgen.jit`.  Inputs are positional,
    params keyword arguments with the program's defaults; ``inout`` arguments are declared as mutated.  It runs on CUDA
    and CPU tensors; shapes, dtypes and strides of the results are known without data.

    ``grad``: whether gradients flow through it.  Then there are more operators, ``name_backward`` of the program's
    gradients (:func:`kgen.grad`), ``name_jvp`` of its tangents (:func:`kgen.jvp`), and for a program that reduces
    ``name_saving``, which also returns what the gradients need (:func:`kgen.vjp`), for autograd, torch.compile and
    torch.func; these have no gradients of their own.  Without ``grad``, tensors that require gradients raise
    ``requires-grad``, also while torch.compile traces it and inside torch.func.grad.

    It is pickled by its program, so ``torch.save`` takes a module that holds it.

    Raises :class:`~kgen.KgenError`: ``bad-call`` for a name of another form or one that is taken, ``no-derivative`` for
    ``grad`` of a program that updates in place.
    """
    import torch

    found = _NAME.fullmatch(name)
    if found is None:
        raise error("bad-call", f"`{name}` is no operator name", 'such as "mine::swiglu"')
    namespace, short = found.groups()
    kernel = program if isinstance(program, Kernel) else jit(program, name=short)
    library = _libraries.get(namespace)
    if library is None:
        make: Any = torch.library.Library
        library = _libraries[namespace] = make(namespace, "FRAGMENT")
    if grad and any(a.role == "inout" for a in kernel.program.arguments):
        hint = "make it an input, and return the new value"
        raise error("no-derivative", "a program that updates in place has no gradient", hint)
    made = _registered(library, name, _schema(kernel), kernel.__call__, _fake(kernel))
    recorded = _with_backward(library, name, kernel, made) if grad else None
    library.impl(short, _autograd(made, kernel, recorded), "Autograd")
    _kernels[name] = kernel
    _with_gradients[name] = grad
    # Set on this operator only: torch's class cannot be pickled.
    made.__reduce_ex__ = lambda protocol: (_again, (name, kernel, grad))
    return made


def _registered(library: Any, name: str, schema: str, call: Any, fake: Any) -> Any:
    """A new operator, without its autograd kernel.  Raises :class:`~kgen.KgenError` (``bad-call``)."""
    import torch

    namespace, short = name.split("::")
    if hasattr(getattr(torch.ops, namespace), short):  # with another overload, which torch would take this beside
        raise error(
            "bad-call", f"torch has an operator `{name}` already", 'use a name of your own, such as "mine::swiglu"'
        )
    try:
        library.define(f"{short}{schema}", tags=(torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides))
    except RuntimeError as problem:
        raise error("bad-call", f"torch refuses the operator `{name}`: {str(problem).splitlines()[0]}") from problem
    for key in ("CUDA", "CPU"):
        library.impl(short, call, key)
    torch.library.register_fake(name, fake, lib=library)
    return getattr(getattr(torch.ops, namespace), short).default


def _with_backward(library: Any, name: str, kernel: Kernel, operator: Any) -> Callable[..., Any]:
    """Register ``name_backward``, ``name_jvp``, and ``name_saving`` for a kernel whose gradients may need more than its
    arguments; returns what runs the operator on tensors that record gradients.
    """
    import torch

    from kgen import torch_gradients as made

    params = [_param(p) for p in kernel.program.parameters]
    found = []
    for suffix, schema, call, fake in (
        ("backward", made.backward_schema, made.backward_call, made.backward_fake),
        ("jvp", made.jvp_schema, made.jvp_call, made.jvp_fake),
        *([("saving", made.saving_schema, made.saving_call, made.saving_fake)] if kernel.reduces else []),
    ):
        own = f"{name}_{suffix}"
        derived = _registered(library, own, schema(kernel, params), call(kernel), fake(kernel, lambda x: _spec(x, int)))
        library.impl(own.split("::")[1], made.autograd_of(derived), "Autograd")
        torch.library.register_vmap(own, made.vmap_of(derived), lib=library)
        found.append(derived)
    return made.autograd_of(operator, *found)


def _again(name: str, kernel: Kernel, grad: bool) -> Any:
    """A pickled operator: the registered one, else registered now.

    Raises :class:`~kgen.KgenError` (``bad-call``) where the name belongs to another program.
    """
    there = _kernels.get(name)
    if there is None:
        return op(name, kernel, grad=grad)
    if _meaning(there) != _meaning(kernel) or _with_gradients[name] != grad:
        hint = "register each program under a name of its own"
        raise error("bad-call", f"the operator `{name}` was saved with another program than it has here", hint)
    import torch

    namespace, short = name.split("::")
    return getattr(getattr(torch.ops, namespace), short).default


def _meaning(kernel: Kernel) -> tuple[object, ...]:
    """The program, options and device of an operator, to compare two of them."""
    return kernel.program.source.text, kernel.options, kernel._engine.device


def _autograd(operator: Any, kernel: Kernel, recorded: Callable[..., Any] | None) -> Any:
    """The operator's autograd kernel.  ``recorded``: what runs it on tensors that record gradients.

    Where it is None they are refused, also under torch.func and tracing: without that torch would treat the result as a
    constant, whose gradient is zero.  Calls that repeat an earlier one launch from here, where nothing below has to see
    the operator: dispatching again would take 2 us.
    """
    import torch

    from kgen.arrays import adapter_of
    from kgen.arrays.torch_ import requires_grad

    adapter: Any = adapter_of(torch.empty(0))
    below = torch._C._AutoDispatchBelowAutograd
    modes = torch._C._len_torch_dispatch_stack  # FakeTensorMode and others
    fast_calls = kernel._fast_calls if type(kernel) is Kernel else []

    def call(*args: Any, **named: Any) -> Any:
        if not modes():
            with below():  # as where the operator's own kernel runs, and guards were made
                for fast_call in fast_calls:
                    result = fast_call(args, None, None, named)
                    if result is not NotImplemented:
                        return result
        for x in (*args, *named.values()):
            if isinstance(x, torch.Tensor) and adapter.records(x):
                if recorded is not None:
                    return recorded(*args, **named)
                raise requires_grad("register it with grad=True, pass x.detach(), or call under torch.no_grad()")
        with below():
            return operator(*args, **named)

    return call


def _schema(kernel: Kernel) -> str:
    """``(Tensor a, Tensor(a0!) p, *, float alpha=1.0) -> Tensor``."""
    program = kernel.program
    inputs = [
        f"Tensor(a{i}!) {a.name}" if a.role == "inout" else f"Tensor {a.name}" for i, a in enumerate(program.arguments)
    ]
    params = [_param(p) for p in program.parameters]
    results = ["Tensor"] * len(kernel.outputs)
    returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"({', '.join([*inputs, *(['*', *params] if params else [])])}) -> {returned}"


def _param(parameter: Parameter) -> str:
    """``float alpha=1.0``; a param of no declared dtype is a float."""
    kind = _SCALARS.get(parameter.dtype.kind if parameter.dtype is not None else Kind.FLOAT)
    if kind is None:
        hint = "declare it as a float, an integer or a bool, or make it an input"
        raise error("bad-call", f"torch operators have no complex params, and `{parameter.name}` is one", hint)
    if parameter.default is None:
        return f"{kind.__name__} {parameter.name}"
    return f"{kind.__name__} {parameter.name}={kind(parameter.default)}"


def _fake(kernel: Kernel) -> Any:
    """The operator for FakeTensors, whose extents may be symbols."""
    import torch

    from kgen.arrays import adapter_of

    def fake(*args: Any, **named: Any) -> Any:
        symbolic = any(isinstance(n, torch.SymInt) for x in args for n in x.shape)
        if symbolic and all(x.is_contiguous() for x in args):
            shapes = _symbolic_shapes(kernel, args, named)
            if shapes is not None:
                made = [torch.empty(s, dtype=d, device=args[0].device) for s, d in shapes]
                return _result(made)
        specs = kernel.meta(*[_spec(x, int) for x in args], **named)  # int() makes torch guard on every extent
        adapter: Any = adapter_of(args[0])
        made = [
            torch.empty_strided(s.shape, s.strides, dtype=adapter.to_torch[s.dtype], device=args[0].device)
            for s in (specs if isinstance(specs, tuple) else (specs,))
        ]
        return _result(made)

    return fake


def _result(made: list[Any]) -> Any:
    return None if not made else made[0] if len(made) == 1 else tuple(made)


def _spec(x: Any, extent: Callable[[Any], int]) -> Spec:
    from kgen.arrays import adapter_of

    adapter: Any = adapter_of(x)
    return Spec(tuple(map(extent, x.shape)), adapter.from_torch[x.dtype], tuple(map(extent, x.stride())))


def _symbolic_shapes(
    kernel: Kernel, args: tuple[Any, ...], named: dict[str, Any]
) -> list[tuple[tuple[Any, ...], Any]] | None:
    """Shape and dtype of each output in the inputs' own symbols; None where outputs are not in C order.

    Each comparison of symbols makes torch add a guard.
    """
    from kgen.arrays import adapter_of
    from kgen.call.inspection import lower_call

    adapter: Any = adapter_of(args[0])
    laid = lower_call(kernel._engine, [_spec(x, _hint) for x in args], named)
    extents = _symbolic_extents(laid.specialised.graph, dict(zip(kernel.inputs, args, strict=False)))
    if extents is None:
        return None
    found = []
    for operand, array in zip(laid.specialised.graph.operands, laid.arrays, strict=True):
        if operand.role == "output" and operand.view is None:
            if array.strides != c_strides(array.shape):
                return None
            shape = tuple(1 if dim == 1 else extents[dim] for dim in operand.shape)
            found.append((shape, adapter.to_torch[operand.dtype]))
    return found


def _symbolic_extents(graph: Graph, given: dict[str, Any]) -> dict[str, Any] | None:
    """The extent of each dimension; None where arrays disagree."""
    from kgen.ir.views import evaluate, shape_of

    extents: dict[str, Any] = {}
    shapes: list[tuple[Any, ...]] = []
    for operand in graph.operands:
        shape = tuple(given[operand.name].shape) if operand.name in given else ()
        if operand.view is not None and operand.role != "output":
            shape = shape_of(operand.view, shapes[operand.view.of], extents)
        shapes.append(shape)
        for dim, n in zip(operand.shape, shape, strict=False):
            if n != 1 if dim == 1 else extents.setdefault(dim, n) != n:
                return None
    for dim, bound in graph.derived:
        n = evaluate(bound, extents)
        if extents.setdefault(dim, n) != n:
            return None
    return extents


def _hint(n: Any) -> int:
    """The extent of a symbol in the traced call."""
    node = getattr(n, "node", None)
    return int(n) if node is None or node.hint is None else int(node.hint)
