"""``kgen.torch.op``: what torch.compile, export and FakeTensor see of a kernel."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

import kgen

torch: Any = pytest.importorskip("torch", reason="these are operators of torch")
import kgen.torch  # noqa: E402

_number = count()


def register(text: str) -> Any:
    return kgen.torch.op(f"kgen_test::op{next(_number)}", text)


def test_eager() -> None:
    """Called as any operator, on tensors, with params by keyword."""
    op = register("param alpha: float = 1.0\nout = alpha * a * b")
    a, b = torch.randn(4, 5), torch.randn(5)
    assert torch.equal(op(a, b), a * b)
    assert torch.equal(op(a, b, alpha=2.0), 2 * a * b)


@pytest.mark.parametrize(
    "text", ["out = a * b", "s = a + b; d = a - cast<double>(b)", "param n: int = 3\nout = a * n + b"]
)
def test_opcheck(text: str) -> None:
    """torch's own test of an operator: schema, fake tensors, AOT dispatch, with static and dynamic shapes."""
    op = register(text)
    for a, b in [(torch.randn(4, 5), torch.randn(4, 5)), (torch.randn(5, 4).T, torch.randn(4, 1))]:
        assert set(torch.library.opcheck(op, (a, b)).values()) == {"SUCCESS"}


def test_mutation() -> None:
    """An ``inout`` argument is declared as mutated."""
    op = register("inout p; p = p + 0.5 * g")
    p = torch.zeros(3)
    op(p, torch.ones(3))
    assert (p == 0.5).all()
    assert set(torch.library.opcheck(op, (p, torch.ones(3))).values()) == {"SUCCESS"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch about itself
@pytest.mark.parametrize("dynamic", [False, True])
def test_compile(dynamic: bool) -> None:
    """No graph break, and under dynamic shapes no recompilation for a new extent of the same layout."""
    op = register("out = a * b")
    torch._dynamo.reset()
    graphs: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph

    def plain(a: Any, b: Any) -> Any:
        return op(a + 1, b) * 2

    f = torch.compile(plain, fullgraph=True, dynamic=dynamic, backend=backend)
    for n in (6, 7, 8):
        a, b = torch.randn(n, 5), torch.randn(n, 5)
        assert torch.equal(f(a, b), (a + 1) * b * 2)
    assert len(graphs) == (1 if dynamic else 3)
    a, b = torch.randn(5, 6).T, torch.randn(6, 1)
    assert f(a, b).stride() == ((a + 1) * b * 2).stride()


def test_fake() -> None:
    """Metadata without data: shape, dtype and strides are those of the real call."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    op = register("out = a + cast<double>(b)")
    a, b = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last), torch.randn(5)
    real = op(a, b)
    with FakeTensorMode() as mode:
        fake = op(mode.from_tensor(a), mode.from_tensor(b))
    assert (fake.shape, fake.dtype, fake.stride()) == (real.shape, real.dtype, real.stride())


def test_bad_names() -> None:
    """A name of another form, one that is taken, and params that torch does not have."""
    with pytest.raises(kgen.KgenError, match="operator name"):
        kgen.torch.op("no_namespace", "out = a")
    name = f"kgen_test::taken{next(_number)}"
    kgen.torch.op(name, "out = a")
    with pytest.raises(kgen.KgenError, match="refuses"):
        kgen.torch.op(name, "out = a")
    with pytest.raises(kgen.KgenError, match="complex"):
        kgen.torch.op("kgen_test::z", "param z: c64\nout = a * z")
