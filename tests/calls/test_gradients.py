"""No gradient is lost in silence: where none would flow, tensors are refused; torch is told what is written to.

``tests/gradients`` has what gradients flow through.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

import kgen
from kgen.diagnostics import KgenError

torch: Any = pytest.importorskip("torch", reason="these are gradients of torch")
import torch.autograd.forward_ad as forward_ad  # noqa: E402

import kgen.torch  # noqa: E402

#: Of torch about itself: deprecations, prototypes, and kernels that Dynamo meets outside an operator.
pytestmark = [pytest.mark.filterwarnings(f"ignore::{name}") for name in ("DeprecationWarning", "UserWarning")]
_number = count()
Function = Callable[..., Any]


def kernel(text: str) -> Function:
    """The kernel itself, at its first call and learnt."""
    return kgen.jit(text, device="cpu")


def operator(text: str) -> Function:
    """The same as an operator of torch."""
    made: Function = kgen.torch.op(f"kgen_grad::op{next(_number)}", text)
    return made


@pytest.fixture(params=[kernel, operator])
def make(request: pytest.FixtureRequest) -> Callable[[str], Function]:
    found: Callable[[str], Function] = request.param
    return found


@pytest.fixture(params=["new", "learnt"])
def square(request: pytest.FixtureRequest, make: Callable[[str], Function]) -> Function:
    """``x * x``, before its first call or after several on plain tensors of the same layout."""
    found = make("out = x * x")
    for _ in range(3 if request.param == "learnt" else 0):
        assert (found(X) == 4).all()
    return found


X = torch.full((3,), 2.0)


def dual(x: Any) -> Any:
    make: Any = forward_ad.make_dual
    return make(x, torch.ones(3))


def _dual(f: Function) -> Any:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(dual(X))).tangent


def _compiled(f: Function) -> Any:
    torch._dynamo.reset()
    x = X.clone().requires_grad_()
    torch.compile(lambda x: f(x * 1.0).sum(), backend="aot_eager")(x).backward()
    return x.grad


RECORDING: dict[str, Callable[[Function], Any]] = {
    "leaf": lambda f: f(X.clone().requires_grad_()),
    "result": lambda f: f(X.clone().requires_grad_() * 2),
    "parameter": lambda f: f(torch.nn.Parameter(X.clone())),
    "dual": _dual,
    "grad": lambda f: torch.func.grad(lambda x: f(x).sum())(X),
    "vjp": lambda f: torch.func.vjp(f, X),
    "jvp": lambda f: torch.func.jvp(f, (X,), (X,)),
    "jacrev": lambda f: torch.func.jacrev(f)(X),
    "jacfwd": lambda f: torch.func.jacfwd(f)(X),
    "hessian": lambda f: torch.func.hessian(lambda x: f(x).sum())(X),
    "vmap of grad": lambda f: torch.func.vmap(torch.func.grad(lambda x: f(x).sum()))(X.expand(2, 3)),
    "torch.compile": _compiled,
}


@pytest.mark.parametrize("how_recorded", RECORDING)
@pytest.mark.parametrize("calls", [0, 3])
def test_recorded_gradients_are_refused(calls: int, how_recorded: str) -> None:
    """By operators without gradients, wherever torch would record one; torch.compile wraps the error in one of its own.

    Before its first call, and after several on plain tensors of the same layout.
    """
    square = operator("out = x * x")
    for _ in range(calls):
        square(X)
    with pytest.raises((KgenError, RuntimeError), match="requires-grad"):
        RECORDING[how_recorded](square)


@pytest.mark.parametrize("how_recorded", ["dual", "jvp", "jacfwd"])
def test_forward_mode(square: Function, how_recorded: str) -> None:
    """A kernel has tangents, before its first call and later; an operator without gradients refuses."""
    if isinstance(square, kgen.Kernel):
        found, expected = (RECORDING[how_recorded](f) for f in (square, lambda x: x * x))
        torch.testing.assert_close(found, expected)
    else:
        with pytest.raises(KgenError, match="requires-grad"):
            RECORDING[how_recorded](square)


@pytest.mark.parametrize("how_recorded", ["leaf", "grad", "torch.compile"])
def test_updates_in_place_are_refused(how_recorded: str) -> None:
    """There is no gradient of a kernel that overwrites its argument."""
    double = kernel("inout p\np = p * x\nout = x")
    with pytest.raises((KgenError, RuntimeError), match="requires-grad"):
        RECORDING[how_recorded](lambda x: double(torch.ones(3), x))


def test_out_is_refused() -> None:
    with pytest.raises(KgenError, match="requires-grad"):
        kernel("out = x * x")(X.clone().requires_grad_(), out=torch.empty(3))


def test_without_recording_everything_works(square: Function) -> None:
    """Detached, under no_grad or inference_mode, and beside a dual level that the tensor has no part in."""
    x = X.clone().requires_grad_()
    with torch.no_grad():
        assert (square(x) == 4).all()
    assert (square(x.detach()) == 4).all()
    with torch.inference_mode():
        assert (square(X) == 4).all()
        inference = X * 1
    assert (square(inference) == 4).all()
    with forward_ad.dual_level():
        for _ in range(4):
            assert (square(X) == 4).all()


def test_a_kernel_learnt_within_a_dual_level() -> None:
    """Tensors without a tangent do not vouch for those that have one."""
    f = kernel("out = x * x")
    with forward_ad.dual_level():
        for _ in range(5):
            f(X)
        assert (forward_ad.unpack_dual(f(dual(X))).tangent == 4).all()


def test_opcheck_with_gradients_off() -> None:
    """torch's own tests of an operator, on a tensor that requires grad, under no_grad."""
    op = operator("param a: float = 2.0\nout = a * x + y")
    with torch.no_grad():
        found = torch.library.opcheck(op, (X.clone().requires_grad_(), X))
    assert set(found.values()) == {"SUCCESS"}


def test_compiled_without_recording() -> None:
    """torch.compile of an operator on a tensor that requires grad, under no_grad."""
    op = operator("out = x * x")
    torch._dynamo.reset()
    with torch.no_grad():
        found = torch.compile(op, backend="aot_eager", fullgraph=True)(X.clone().requires_grad_())
    assert (found == 4).all()


def test_export_of_weights() -> None:
    """A module whose parameters meet an operator is exported under no_grad, and refused outside."""
    op = operator("out = x * w")

    class Scale(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(X.clone())

        def forward(self, x: Any) -> Any:
            return op(x, self.w)

    module = Scale()
    with torch.no_grad():
        assert (torch.export.export(module, (X,)).module()(X) == 4).all()
    with pytest.raises((KgenError, RuntimeError), match="requires-grad"):
        torch.export.export(module, (X,))


@pytest.mark.parametrize("text", ["out = a * b + a", "out = a / sum(b, axis=-1, keepdims=true)", "s = a; d = a - b"])
@pytest.mark.parametrize("make", [operator, kernel])
def test_vmap(make: Callable[[str], Function], text: str) -> None:
    """It is called once for each element of the batch, whichever dimension that is."""
    op = make(text)
    a, b = torch.randn(4, 3, 5), torch.randn(3, 5)
    found = torch.func.vmap(op, in_dims=(1, 0))(a, b)
    rows = [op(a[:, i], b[i]) for i in range(3)]
    expected = tuple(map(torch.stack, zip(*rows, strict=True))) if isinstance(found, tuple) else torch.stack(rows)
    for one, other in zip(*((x,) if torch.is_tensor(x) else x for x in (found, expected)), strict=True):
        torch.testing.assert_close(one, other)


def test_kernels_inside_functionalize(how: str) -> None:
    """A kernel itself has nothing to read there, new or learnt, and says what has: the operator."""
    f = kernel("out = x * x")
    for _ in range(3):
        f(X)
    for g in (f, kernel("out = x * x")):
        with pytest.raises(KgenError, match=r"traced-array[^$]*kgen\.torch\.op"):
            torch.func.functionalize(g)(X.expand(2, 3).contiguous())


def test_without_torchs_private_guards(monkeypatch: pytest.MonkeyPatch, square: Function) -> None:
    """A version of torch that was never tried is asked through other interfaces, and nothing gets by."""
    monkeypatch.setattr("kgen.arrays.torch_._PROVEN", ((0, 0), (0, 0)))
    for name in ("leaf", "dual", "grad", "jvp", "vmap of grad"):
        test_recorded_gradients_are_refused(3, name)
    test_forward_mode(square, "dual")
    test_kernels_inside_functionalize("")
    nested = torch.nested.nested_tensor([X, X])
    sparse = X.to_sparse()
    f = kernel("out = x * x")
    for _ in range(3):
        f(X)
    for x in (nested, sparse):
        with pytest.raises(KgenError, match="not-an-array"):
            f(x)


# --- writes -------------------------------------------------------------------------------------------------------


def _writes(x: Any, write: Callable[[], Any]) -> int:
    """How often torch was told that ``x`` has changed."""
    before: int = x._version
    write()
    found: int = x._version - before
    return found


@pytest.mark.parametrize("shape", [(3,), (4, 3)])
def test_out_counts_a_version(shape: tuple[int, ...]) -> None:
    """``out=``: the long way, recognised calls of the same and of new shapes, plans in every form."""
    f = kgen.jit("out = x * 2", device="cpu")
    for number in range(6):
        x, out = torch.ones(shape), torch.ones(shape)
        if number == 4:
            x, out = torch.ones(7, 5), torch.ones(7, 5)  # a shape that was never seen
        assert _writes(out, lambda o=out, x=x: f(x, out=o)) == 1  # type: ignore[misc]
        assert x._version == 0
    x, out, other = (torch.ones(shape) for _ in range(3))
    plan = f.plan(x, out=out)
    for _ in range(3):
        assert _writes(out, plan) == 1
        assert _writes(out, lambda: plan(x)) == 1
        assert _writes(other, lambda: plan(x, out=other)) == 1
    mine = f.plan(x)
    assert _writes(mine.out, mine) == 1


def test_inout_counts_a_version(make: Callable[[str], Function]) -> None:
    """``inout`` arguments, by position and by name, and views, whose base is told as well."""
    f = make("inout p; p = p + g")
    for _ in range(4):
        p, g = torch.ones(6), torch.ones(6)
        assert _writes(p, lambda p=p, g=g: f(p, g)) >= 1  # type: ignore[misc]
        assert _writes(p, lambda p=p, g=g: f(g=g, p=p)) >= 1  # type: ignore[misc]
        assert _writes(p, lambda p=p, g=g: f(p[1:4], g[:3])) >= 1  # type: ignore[misc]
        assert g._version == 0


def test_a_result_of_another_library() -> None:
    """The first array decides how results are allocated; a tensor given with ``out=`` is told of its change anyway."""
    f = kgen.jit("out = x * 2", device="cpu")
    out = torch.ones(3)
    for _ in range(3):
        assert _writes(out, lambda: f(X.numpy(), out=out)) == 1


def test_inference_tensors_have_no_version() -> None:
    """They are written to all the same, beside tensors that have one."""
    f = kgen.jit("s = x * 2; t = x * 3", device="cpu")
    with torch.inference_mode():
        inference = torch.ones(3)
    plain = torch.ones(3)
    for _ in range(4):
        assert _writes(plain, lambda: f(X, out=(inference, plain))) == 1
    assert (inference == 4).all()


@pytest.mark.parametrize("calls", range(5))
def test_backward_sees_the_write(calls: int) -> None:
    """A value that backward needs and a kernel has changed is an error of torch's, however the kernel was called."""
    f = kgen.jit("inout p; p = p * 2", device="cpu")
    for _ in range(calls):
        f(torch.ones(3))
    w = torch.ones(3, requires_grad=True)
    y = w * 1
    z = (y * y).sum()
    with torch.no_grad():
        f(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_backward_sees_the_write_of_a_plan() -> None:
    """Also where the plan was made before, and runs again."""
    w, y = torch.ones(3, requires_grad=True), torch.ones(3)
    plan = kgen.jit("inout p; p = p * 2", device="cpu").plan(y)
    z = (w * y).sum()
    plan()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_leaves_are_written_without_recording(make: Callable[[str], Function]) -> None:
    """A parameter, or a view of one, is updated under no_grad, as an optimiser does, and refused otherwise."""
    f = make("inout p; p = p - 0.5 * g")
    w, g = torch.nn.Parameter(torch.ones(4)), torch.ones(4)
    for _ in range(3):
        with torch.no_grad():
            assert _writes(w, lambda: f(w, g)) >= 1
        before = w.detach().clone()
        for p in (w, w[:]):
            with pytest.raises(KgenError, match="requires-grad"):
                f(p, g)
        assert torch.equal(before, w.detach())
    assert (w == -0.5).all()


def test_compiled_updates() -> None:
    """Under torch.compile an ``inout`` argument is updated once a call, and counted."""
    op = operator("inout p; p = p + g")
    torch._dynamo.reset()

    def step(p: Any, g: Any) -> Any:
        op(p, g * 2)
        return p * 1

    compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
    p = torch.zeros(3)
    for n in (1, 2, 3):
        before = p._version
        assert (compiled(p, torch.ones(3)) == 2 * n).all()
        assert p._version > before
    assert (p == 6).all()


def test_a_tensor_that_lost_its_memory() -> None:
    """A storage of no bytes is an error, learnt or not, and nothing is read at address 0."""
    f = kernel("out = x * x")
    for _ in range(4):
        x = torch.ones(3)
        f(x)
        x.untyped_storage().resize_(0)
        with pytest.raises(KgenError, match="bad-array"):
            f(x)
    assert f(torch.ones(0)).shape == (0,)
