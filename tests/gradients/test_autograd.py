"""Gradients flow through kernels, and through operators that are registered with them, as through torch's functions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

import kgen
from kgen.diagnostics import KgenError

torch: Any = pytest.importorskip("torch", reason="these are gradients of torch")
from torch.utils.checkpoint import checkpoint  # noqa: E402

import kgen.torch  # noqa: E402

#: Of torch about itself: deprecations, prototypes, and kernels that Dynamo meets outside an operator.
pytestmark = [pytest.mark.filterwarnings(f"ignore::{name}") for name in ("DeprecationWarning", "UserWarning")]
_number = count()
Function = Callable[..., Any]
TEXT = "out = silu(a) * b"


def kernel(text: str) -> Function:
    return kgen.jit(text, device="cpu")


def operator(text: str) -> Function:
    made: Function = kgen.torch.op(f"kgen_autograd::op{next(_number)}", kgen.jit(text, device="cpu"), grad=True)
    return made


@pytest.fixture(params=[kernel, operator])
def make(request: pytest.FixtureRequest) -> Callable[[str], Function]:
    found: Callable[[str], Function] = request.param
    return found


def reference(a: Any, b: Any) -> Any:
    return torch.nn.functional.silu(a) * b


def tensors(dtype: Any = torch.float64) -> tuple[Any, Any]:
    torch.manual_seed(0)
    return torch.randn(3, 4, dtype=dtype), torch.randn(4, dtype=dtype)


def gradients(f: Function, *xs: Any) -> list[Any]:
    leaves = [x.detach().clone().requires_grad_() for x in xs]
    f(*leaves).sum().backward()
    return [x.grad for x in leaves]


WAYS: dict[str, Callable[[Function, Any, Any], Any]] = {
    "backward": lambda f, a, b: gradients(f, a, b),
    "checkpoint": lambda f, a, b: gradients(lambda a, b: checkpoint(f, a, b, use_reentrant=False), a, b),
    "within a graph": lambda f, a, b: gradients(lambda a, b: f(a * 2, b + a).exp(), a, b),
    "of one": lambda f, a, b: gradients(lambda a: f(a, b), a),
    "of the other": lambda f, a, b: gradients(lambda b: f(a, b), b),
    "grad": lambda f, a, b: torch.func.grad(lambda a, b: f(a, b).sum(), argnums=(0, 1))(a, b),
    "vjp": lambda f, a, b: torch.func.vjp(f, a, b)[1](torch.ones(3, 4, dtype=a.dtype)),
    "jacrev": lambda f, a, b: torch.func.jacrev(f, argnums=(0, 1))(a, b),
    "vmap of grad": lambda f, a, b: torch.func.vmap(torch.func.grad(lambda a: f(a, b).sum()))(a),
    "jvp": lambda f, a, b: torch.func.jvp(f, (a, b), (b + a, a[0])),
    "jvp of one": lambda f, a, b: torch.func.jvp(lambda b: f(a, b), (b,), (a[0],)),
    "jacfwd": lambda f, a, b: torch.func.jacfwd(f, argnums=(0, 1))(a, b),
    "vmap": lambda f, a, b: [torch.func.vmap(lambda a: f(a, b))(a)],
    "twice": lambda f, a, b: [f(a.requires_grad_(), b).sum().backward(), f(a, b).sum().backward(), a.grad][2:],
}


@pytest.mark.parametrize("way", WAYS)
def test_gradients_are_torchs(make: Callable[[str], Function], way: str) -> None:
    """Before the first call, and by a function that has learnt the layout."""
    f = make(TEXT)
    for _ in range(2):
        found, expected = (WAYS[way](g, *tensors()) for g in (f, reference))
        torch.testing.assert_close(tuple(found), tuple(expected))
        for _ in range(3):
            f(*tensors())


@pytest.mark.parametrize("dynamic", [True, pytest.param(False, marks=pytest.mark.whole)])
def test_compiled(dynamic: bool) -> None:
    """An operator and its gradients are nodes of torch.compile's graphs, also of dynamic shapes."""
    op = operator(TEXT)
    torch._dynamo.reset()
    f = torch.compile(lambda a, b: op(a * 1.0, b) + 1, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    a, b = tensors(torch.float32)
    for rows in (3, 2):
        torch.testing.assert_close(gradients(f, a[:rows], b), gradients(reference, a[:rows], b))


def test_a_kernel_under_compile() -> None:
    torch._dynamo.reset()
    f = kernel(TEXT)
    a, b = tensors()
    found = gradients(torch.compile(lambda a, b: f(a * 1.0, b), backend="aot_eager"), a, b)
    torch.testing.assert_close(found, gradients(reference, a, b))


@pytest.mark.parametrize("text", [pytest.param(TEXT, marks=pytest.mark.whole), "out = a / sum(b)\nbig = a > 0"])
def test_opcheck(text: str) -> None:
    """torch's own tests of an operator, its gradients included."""
    given = [x.requires_grad_() for x in tensors(torch.float32)]
    assert set(torch.library.opcheck(operator(text), given).values()) == {"SUCCESS"}


def test_second_derivatives() -> None:
    """Of kernels; an operator says that it has none."""
    given = [x.requires_grad_() for x in tensors()]
    assert torch.autograd.gradgradcheck(kernel(TEXT), given)
    z = torch.randn(3, dtype=torch.complex128).requires_grad_()
    assert torch.autograd.gradgradcheck(
        kernel("out = exp(z) * x + abs(z)"), (z, torch.rand(3).double().requires_grad_())
    )
    (first,) = torch.autograd.grad(operator(TEXT)(*given).sum(), given[0], create_graph=True)
    with pytest.raises(KgenError, match="requires-grad"):
        first.sum().backward()


def test_hessian() -> None:
    """Forward mode over reverse mode, and the other way round; an operator has first derivatives only."""
    a, b = tensors()
    expected = torch.func.hessian(lambda a: reference(a, b).sum())(a)
    f, op = kernel(TEXT), operator(TEXT)
    torch.testing.assert_close(torch.func.hessian(lambda a: f(a, b).sum())(a), expected)
    torch.testing.assert_close(torch.func.jacrev(torch.func.jacfwd(lambda a: f(a, b).sum()))(a), expected)
    with pytest.raises(KgenError, match="requires-grad"):
        torch.func.hessian(lambda a: op(a, b).sum())(a)


def test_linearize() -> None:
    """An operator of tangents is part of the graph that torch traces; a kernel would be a constant, and says so."""
    a, b = tensors()
    op, f = operator(TEXT), kernel(TEXT)
    found = torch.func.linearize(lambda a: op(a, b), a)[1](a * a)
    torch.testing.assert_close(found, torch.func.jvp(lambda a: reference(a, b), (a,), (a * a,))[1])
    with pytest.raises(KgenError, match="traced-array"):
        torch.func.linearize(lambda a: f(a, b), a)


def test_tangents_of_several_outputs(make: Callable[[str], Function]) -> None:
    """Those of integers have none; params are constants."""
    f = make("param s: float = 2.0\none = a * b * s\nsign = a > 0\ntwo = a / s")
    a, b = tensors()
    with torch.autograd.forward_ad.dual_level():
        one, sign, two = f(torch.autograd.forward_ad.make_dual(a, a * a), b, s=3.0)
        torch.testing.assert_close(torch.autograd.forward_ad.unpack_dual(one).tangent, 3 * a * a * b)
        torch.testing.assert_close(torch.autograd.forward_ad.unpack_dual(two).tangent, a * a / 3)
        assert torch.autograd.forward_ad.unpack_dual(sign).tangent is None


def test_gradcheck(make: Callable[[str], Function]) -> None:
    """Against differences; several outputs, of which one has integers, and one is not used."""
    assert torch.autograd.gradcheck(make(TEXT), [x.requires_grad_() for x in tensors()])
    one, two, sign = make("one = a * b\ntwo = a / b\nsign = a > 0")(*[x.requires_grad_() for x in tensors()])
    assert one.requires_grad
    assert two.requires_grad
    assert not sign.requires_grad
    (found,) = torch.autograd.grad(two.sum(), two.grad_fn.saved_tensors[0])
    torch.testing.assert_close(found, (1 / tensors()[1]).expand(3, 4))


def test_only_what_is_needed_is_computed() -> None:
    f = kgen.jit(TEXT, device="cpu")
    a, b = tensors()
    f(a.requires_grad_(), b).sum().backward()
    assert list(f._gradients) == [("a",)]
    f = kgen.jit("out = x / sum(x) * w", device="cpu")
    x, w = tensors()
    out = f(x.requires_grad_(), w.requires_grad_())
    shapes = sorted(tuple(t.shape) for t in out.grad_fn.saved_tensors)
    assert shapes == [(), (3, 4), (4,)]  # the sum, and both arguments
    assert f(x, w.detach()).grad_fn is not None
    assert list(f._pairs) == [("x", "w"), ("x",)]


def test_an_operator_saves_what_reductions_computed() -> None:
    """Its gradients read that instead of reducing again, also under torch.compile and torch.func."""
    text = "param p\nout = x / sum(x) * w * p\nbig = x > 0"
    op = operator(text)
    x, w = tensors()

    def plain(x: Any, w: Any) -> Any:
        return x / x.sum() * w * 3

    def run(x: Any, w: Any) -> Any:
        return op(x * 1, w, p=3.0)[0]

    out = run(x.requires_grad_(), w.requires_grad_())
    assert sorted(tuple(t.shape) for t in out.grad_fn.saved_tensors) == [(), (3, 4), (4,)]
    torch._dynamo.reset()
    for f in (run, torch.compile(run, backend="aot_eager", fullgraph=True)):
        torch.testing.assert_close(gradients(f, x, w), gradients(plain, x, w))
    x, w = x.detach(), w.detach()
    for ways in ("grad", "jvp", "vmap of grad", "of one"):
        torch.testing.assert_close(WAYS[ways](run, x, w), WAYS[ways](plain, x, w))
    total = operator("total = logsumexp(x)")  # its output is what it saves
    torch.testing.assert_close(gradients(total, x), [x.flatten().softmax(0).view_as(x)])


def test_params_that_are_tensors() -> None:
    """A number passed by value may be a tensor that learns."""
    f = kernel("param s\nout = x * s")
    s = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    x = tensors()[0]
    f(x, s=s).sum().backward()
    torch.testing.assert_close(s.grad, x.sum())


def test_halves() -> None:
    """Gradients have the dtypes of their tensors, computed in float32 and rounded once."""
    a, b = tensors(torch.bfloat16)
    found, exact = gradients(kernel(TEXT), a, b), gradients(reference, a.double(), b.double())
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == torch.bfloat16
        torch.testing.assert_close(one.double(), other, rtol=2**-8, atol=1e-6)


def test_autocast_leaves_dtypes_alone(make: Callable[[str], Function]) -> None:
    """A kernel computes in the dtypes of its tensors, as torch's pointwise functions do; gradients have them too."""
    f = make(TEXT)
    a, b = tensors(torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        found, expected = gradients(f, a, b), gradients(reference, a, b)
    assert [x.dtype for x in found] == [torch.float32] * 2
    torch.testing.assert_close(found, expected)


def test_a_saved_tensor_that_changes_is_an_error() -> None:
    """torch counts kgen's updates in place, and sees that the backward would read new values."""
    x = torch.ones(3, requires_grad=True)
    y = x * 1
    out = kernel("out = y * y")(y)
    kernel("inout p\np = p * 2")(y.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_no_derivative_is_an_error_of_the_backward() -> None:
    x = torch.ones(3, requires_grad=True)
    out = kernel("out = lgamma(x)")(x)
    with pytest.raises(KgenError, match="no-derivative"):
        out.sum().backward()


def test_an_operator_that_updates_in_place_has_no_gradients() -> None:
    with pytest.raises(KgenError, match="no-derivative"):
        operator("inout p\np = p * 2")


NORM = "let d = x - mean(x, axis=-1, keepdims=true)\ny = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + 1e-5) * w + b"
MEMORY: dict[str, tuple[str, Function, tuple[Any, ...]]] = {
    "swiglu": (TEXT, reference, ((64, 128), (64, 128))),
    "layernorm": (NORM, lambda x, w, b: torch.nn.functional.layer_norm(x, w.shape, w, b), ((64, 128), 128, 128)),
    "gelu": ("y = gelu(x + b)", lambda x, b: torch.nn.functional.gelu(x + b), ((64, 128), 128)),
    "sum": ("y = x + u", lambda x, u: x + u, ((64, 128), (64, 128))),
}


@pytest.mark.whole
@pytest.mark.parametrize("name", MEMORY)
def test_no_more_is_saved_than_by_a_compiler(name: str) -> None:
    """Bytes of tensors that the backward reads, beside torch.compile's partition of the same functions."""
    text, plain, shapes = MEMORY[name]
    torch._dynamo.reset()
    taken = []
    for f in (kernel(text), torch.compile(plain, backend="aot_eager_decomp_partition")):
        saved: dict[int, int] = {}

        def pack(x: Any, saved: dict[int, int] = saved) -> Any:
            saved[x.data_ptr()] = x.numel() * x.element_size()
            return x

        leaves = [torch.randn(shape, requires_grad=True) for shape in shapes]
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
            f(*leaves)
        taken.append(sum(saved.values()))
    assert taken[0] <= taken[1]
