"""``kgen.torch.op``: what torch.compile, export and FakeTensor see of a kernel."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

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
    for taken in (name, "aten::add"):
        with pytest.raises(kgen.KgenError, match="already"):
            kgen.torch.op(taken, "out = a + b")
    with pytest.raises(kgen.KgenError, match="complex"):
        kgen.torch.op("kgen_test::z", "param z: c64\nout = a * z")


SAVED = """
import io, sys, torch
module = torch.load(sys.argv[1], weights_only=False)
x = torch.arange(3.0)
print(module.scale(x, k=3.0).tolist(), module.scale is torch.load(sys.argv[1], weights_only=False).scale)
print(torch.compile(lambda x: module.scale(x) + 1, fullgraph=True, backend="eager")(x).tolist())
there = getattr(torch.ops.kgen_saved, module.scale._opname).default
print(there is module.scale, "requires-grad" in refused(module, x))
"""
REFUSED = """
def refused(module, x):
    try:
        module.scale(x.requires_grad_())
    except Exception as problem:
        return str(problem)
"""


@pytest.mark.new_process
def test_modules_with_operators(tmp_path: Path) -> None:
    """``torch.save`` of a module that holds an operator; a fresh process registers it by loading the module."""
    module = torch.nn.Linear(2, 2)
    module.scale = kgen.torch.op(f"kgen_saved::scale{next(_number)}", "param k: float = 2.0\nout = k * x")
    path = tmp_path / "module.pt"
    torch.save(module, path)
    assert torch.load(path, weights_only=False).scale is module.scale  # there already
    assert copy.deepcopy(module).scale is module.scale
    command = [sys.executable, "-c", REFUSED + SAVED, str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split("\n") == ["[0.0, 3.0, 6.0] True", "[1.0, 3.0, 5.0]", "True True", ""]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickled_operators(protocol: int) -> None:
    """A pickle holds the program, with its options; a name that has another program by then is refused."""
    op = kgen.torch.op(f"kgen_test::op{next(_number)}", kgen.jit("out = a + 1", fmad=False))
    assert pickle.loads(pickle.dumps(op, protocol)) is op
    name = op.name()
    data = pickle.dumps(op, protocol)
    for other in (kgen.jit("out = a + 2", fmad=False), kgen.jit("out = a + 1")):
        with (
            mock.patch.dict(kgen.torch._kernels, {name: other}),
            pytest.raises(kgen.KgenError, match="another program"),
        ):
            pickle.loads(data)


def test_repeated_calls_pass_through_modes() -> None:
    """A call that repeats others is launched at once, but not where a mode sees it, or a gradient is asked for."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: list[Any] = []

    def record(self: Any, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        seen.append(function)
        return function(*args, **(kwargs or {}))

    recorder: Any = type("Recorder", (TorchDispatchMode,), {"__torch_dispatch__": record})
    op = register("out = a * b")
    a, b = torch.randn(7, dtype=torch.float64), torch.randn(7, dtype=torch.float64)
    for _ in range(4):
        assert torch.equal(op(a, b), a * b)
    with mock.patch.object(torch._ops.OpOverload, "__call__", side_effect=AssertionError("dispatched again")):
        assert torch.equal(op._op(a, b), a * b)
    with recorder():
        assert torch.equal(op(a, b), a * b)
    assert op in seen
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert type(op(a, b)).__name__ == "FakeTensor"
    a.requires_grad_()
    with pytest.raises(kgen.KgenError, match="requires-grad"):
        op(a, b)
    with torch.no_grad():
        assert torch.equal(op(a, b), a * b)
    z = torch.randn(7, dtype=torch.complex64)
    assert torch.allclose(op(z, z.conj()), z * z.conj())
    assert op(a.detach().to("meta"), b.to("meta")).is_meta


def test_an_op_that_indexes() -> None:
    """Views of arguments are views of fake tensors, whose extents may be symbols."""
    op = register("let h = size(x, -1) // 2; out = x[..., :h] * x[..., h:]; last = x[-1, ::2]")
    x = torch.randn(6, 8, dtype=torch.float64)
    torch.library.opcheck(op, (x,))
    compiled = torch.compile(lambda x: op(x)[0] + 1, backend="aot_eager", fullgraph=True, dynamic=True)
    for rows, columns in ((6, 8), (3, 10), (9, 64)):
        x = torch.randn(rows, columns, dtype=torch.float64)
        half = columns // 2
        assert torch.equal(compiled(x), x[:, :half] * x[:, half:] + 1)


def test_an_op_that_arranges() -> None:
    """Extents of outputs that follow from several symbols."""
    op = register("pairs = merge(stack(x, -x, axis=-1)); both = concat(x, y); groups = split(x, by=2) * 2")
    x, y = torch.randn(6, 8, dtype=torch.float64), torch.randn(3, 8, dtype=torch.float64)
    torch.library.opcheck(op, (x, y))
    compiled = torch.compile(lambda x, y: op(x, y)[0] + 1, backend="aot_eager", fullgraph=True, dynamic=True)
    for rows, columns in ((6, 8), (3, 10), (9, 64)):
        x, y = torch.randn(rows, columns, dtype=torch.float64), torch.randn(5, columns, dtype=torch.float64)
        assert torch.equal(compiled(x, y), torch.stack([x, -x], -1).flatten(1) + 1)
        assert torch.equal(op(x, y)[1], torch.cat([x, y]))
