"""Calls that are recognised: whatever differs from the call that was learnt is seen, on every call."""

from __future__ import annotations

import gc
import importlib
import threading
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kgen
from kgen.kernel import Kernel
from kgen.runtime.cuda.driver import probe


def optional(name: str) -> Any:
    """The module, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


torch = optional("torch")

Make = Callable[..., Any]


def numpy_array(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed")


def tensor(*shape: int) -> Any:
    return torch.from_numpy(numpy_array(*shape))


def cuda_tensor(*shape: int) -> Any:
    return tensor(*shape).cuda()


def cupy_array(*shape: int) -> Any:
    return cupy.asarray(numpy_array(*shape))


cupy: Any = None
on_gpu = [pytest.mark.gpu, pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU")]
LIBRARIES = [
    numpy_array,
    pytest.param(tensor, marks=needs_torch),
    pytest.param(cuda_tensor, marks=[*on_gpu, needs_torch]),
    pytest.param(cupy_array, marks=on_gpu),
]


@pytest.fixture(params=LIBRARIES)
def make(request: pytest.FixtureRequest) -> Make:
    """Makes a float32 array of one library, always the same for a shape."""
    global cupy
    found: Make = request.param
    if found is cupy_array:
        cupy = pytest.importorskip("cupy", reason="cupy is not installed")
    return found


def jit(text: str, make: Make = numpy_array) -> Kernel:
    """The kernel, on the device of the library's arrays."""
    return kgen.jit(text, device="cpu" if make in (numpy_array, tensor) else None, fmad=False)


def is_tensor(x: Any) -> bool:
    return torch is not None and isinstance(x, torch.Tensor)


def host(x: Any) -> Any:
    return x.get() if hasattr(x, "get") else x.cpu().numpy() if is_tensor(x) else x


def learnt(kernel: Kernel, *args: Any, **named: Any) -> Kernel:
    """The kernel after calls that it recognises from now on."""
    for _ in range(3):
        kernel(*args, **named)
    assert kernel._fast_calls
    return kernel


def same(x: Any, y: Any) -> bool:
    return bool(np.array_equal(host(x), host(y), equal_nan=True))


def test_the_extension_is_used(how: str) -> None:
    """What this folder means to test is what runs."""
    a = numpy_array(8)
    kernel = learnt(jit("param s: float = 1.0\nout = a * s"), a, s=2.0)
    assert (type(kernel._fast_calls[0]).__module__ == "kgen._call") is (how == "c")


def test_recognised_calls_compute(make: Make) -> None:
    """New data of the same layout, new shapes, other strides and other dtypes give their own results."""
    a, b = make(6, 8), make(6, 8)
    kernel = learnt(jit("out = a * b + a", make), a, b)
    for x, y in [
        (make(6, 8), make(6, 8)), (make(7, 8), make(7, 8)), (make(9, 8), make(9, 8)), (make(3, 3), make(3, 3)),
        (make(8, 6).T, make(8, 6).T), (make(6, 8), make(8)), (make(12, 8)[::2], make(6, 8)), (make(6, 8), make(1, 8)),
        (make(0, 8), make(0, 8)), (make(5), make(5)), (make(1), make(1)), (make(6, 9)[:, 1:], make(6, 8)),
    ]:  # fmt: skip
        for _ in range(4):
            found = kernel(x, y)
            assert same(found, x * y + x)
            assert type(found) is type(x)


def test_other_dtypes(make: Make) -> None:
    """An argument of another dtype is typed anew."""
    a = make(40)
    kernel = learnt(jit("out = a + 1", make), a)
    whole = a.int() if is_tensor(a) else a.astype(np.int32)
    for _ in range(3):
        assert kernel(whole).dtype == whole.dtype
        assert kernel(a).dtype == a.dtype


def test_out_is_looked_at(make: Make) -> None:
    """``out=`` is written and returned, and refused where it has another shape or overlaps."""
    a, out = make(64), make(64)
    kernel = learnt(jit("out = a * 2", make), a, out=out)
    other = make(64) * 0
    assert kernel(a, out=other) is other
    assert same(other, a * 2)
    with pytest.raises(kgen.KgenError, match="shape"):
        kernel(a, out=make(65))
    base = make(65)
    with pytest.raises(kgen.KgenError, match="overlap"):
        kernel(base[:64], out=base[1:])
    before = host(a).copy()
    for _ in range(3):
        kernel(a, out=a)
    assert same(a, before * 8)
    assert same(kernel(make(64)), make(64) * 2)


def test_overlap_after_in_place(make: Make) -> None:
    """A kernel that learnt to work in place still refuses arrays that meet otherwise."""
    base = make(80)
    kernel = learnt(jit("out = a + b", make), base[:32], make(32), out=base[:32])
    with pytest.raises(kgen.KgenError, match="overlap"):
        kernel(base[:32], make(32), out=base[4:36])
    with pytest.raises(kgen.KgenError, match="overlap"):
        kernel(make(32), base[4:36], out=base[:32])


def test_overlap_by_one_element(make: Make) -> None:
    """Arrays at the same alignment as those that the kernel learnt, which meet at one end."""
    base, far = make(127), make(67)[3:]
    after = learnt(jit("out = a * 2", make), make(64), out=far)
    with pytest.raises(kgen.KgenError, match="overlap"):
        after(base[:64], out=base[63:])
    before = learnt(jit("out = a * 2", make), far, out=make(64))
    with pytest.raises(kgen.KgenError, match="overlap"):
        before(base[63:], out=base[:64])


def test_strides_within_elements() -> None:
    """Fields of records, whose strides are no multiple of an element, after strides of the same kernel."""
    base = numpy_array(1000)
    kernel = jit("out = a * 2")
    for step in (9, 11, 13, 15) * 2:
        assert same(kernel(base[: 60 * step : step]), base[: 60 * step : step] * 2)
    for gap in (37, 39, 42):
        records = np.zeros(60, [("x", "f4"), ("gap", "V1", gap)])
        records["x"] = base[:60]
        assert same(kernel(records["x"]), base[:60] * 2)


def test_inout(make: Make) -> None:
    """An argument that is updated in place is, every time."""
    p, g = make(16), make(16)
    expected = host(p) - 5 * host(g)
    kernel = jit("inout p; p = p - g", make)
    for _ in range(5):
        assert kernel(p, g) is None
    np.testing.assert_allclose(host(p), expected, rtol=1e-5, atol=1e-5)


def test_params(make: Make) -> None:
    """Params are the call's own: new values, defaults, other kinds, and values that do not fit."""
    a = make(10)
    kernel = learnt(jit("param s: float = 2.0\nout = a * s", make), a, s=3.0)
    assert same(kernel(a, s=4.0), a * 4)
    for _ in range(3):
        assert same(kernel(a), a * 2)
        assert same(kernel(a, s=5), a * 5)
        assert same(kernel(a, s=1e300), host(a) * np.float32(np.inf))
    with pytest.raises(kgen.KgenError, match="unknown-argument"):
        kernel(a, t=1.0)
    narrow = learnt(jit("param s: int8\nout = a + cast<float>(s)", make), a, s=1)
    with pytest.raises(kgen.KgenError, match="value-out-of-range"):
        narrow(a, s=300)
    assert same(narrow(a, s=-2), a - 2)


def test_scalars_for_inputs(make: Make) -> None:
    """A Python scalar in an input's place is taken by value and by kind."""
    a = make(10)
    kernel = learnt(jit("out = a + b", make), a, 2.5)
    assert same(kernel(a, 3.5), a + np.float32(3.5))
    assert same(kernel(a, 3), a + 3)
    assert same(kernel(a, a), a + a)
    half = a.half() if is_tensor(a) else a.astype(np.float16)
    for _ in range(3):
        assert kernel(half, 1.5).dtype == half.dtype


def test_names_and_several_outputs(make: Make) -> None:
    """Inputs by name in any order; outputs given, allocated, or one of each."""
    a, b = make(12), make(12)
    kernel = jit("s = a + b\nd = a - b", make)
    mine = make(12)
    for _ in range(4):
        s, d = kernel(b=b, a=a)
        assert same(s, a + b)
        assert same(d, a - b)
        s, d = kernel(a, b=b, out=(None, mine))
        assert d is mine
        assert same(s, a + b)
        assert same(d, a - b)
    with pytest.raises(kgen.KgenError, match="missing-argument"):
        kernel(a)


def test_misaligned(make: Make) -> None:
    """Bases at any element, in turn."""
    base = make(100)
    kernel = jit("out = a + b", make)
    for _ in range(3):
        for shift in range(6):
            assert same(kernel(base[shift : shift + 50], base[:50]), base[shift : shift + 50] + base[:50])


def test_more_layouts_than_are_remembered(make: Make) -> None:
    """Twenty layouts in turn are all right, and the list of recognised calls stays short."""
    kernel = jit("out = a + 1", make)
    arrays = [make(2, 3 + i)[:, 1:] for i in range(20)]
    for _ in range(6):
        for x in arrays:
            assert same(kernel(x), x + 1)
    assert len(kernel._fast_calls) <= 8


def test_read_only_numpy() -> None:
    """An array that was made read-only since is not written to."""
    a, out = np.ones(8, np.float32), np.zeros(8, np.float32)
    kernel = learnt(jit("out = a + 1"), a, out=out)
    out.flags.writeable = False
    with pytest.raises(kgen.KgenError, match="read-only"):
        kernel(a, out=out)
    assert not (out != 2).any()


@needs_torch
def test_tensors_with_grad() -> None:
    """A tensor that requires grad is recorded while gradients are, learnt or not, and refused beside ``out=``."""
    x = torch.ones(8, requires_grad=True)
    kernel = jit("out = x * 2")
    with torch.no_grad():
        learnt(kernel, x)
    assert kernel(x).requires_grad
    learnt(kernel, x.detach())
    kernel(x).sum().backward()
    assert torch.equal(x.grad, torch.full((8,), 2.0))
    with pytest.raises(kgen.KgenError, match="requires-grad"):
        kernel(x, out=torch.empty(8))


@needs_torch
def test_lazy_views() -> None:
    """A conjugate view of a tensor that is recognised is not the tensor."""
    z = torch.randn(8, dtype=torch.complex64)
    kernel = learnt(jit("out = z * 2"), z)
    with pytest.raises(kgen.KgenError, match="lazy-tensor"):
        kernel(z.conj())


@needs_torch
def test_fake_tensors_and_vmap() -> None:
    """Tensors without data, and batches inside transformations of torch, never reach a kernel that knows the layout."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    x = torch.ones(8)
    kernel = learnt(jit("out = x * 2"), x)
    with FakeTensorMode() as mode, pytest.raises(kgen.KgenError):
        kernel(mode.from_tensor(x))
    rows = torch.arange(24.0).reshape(3, 8)
    assert torch.equal(torch.func.vmap(kernel)(rows), rows * 2)


@pytest.mark.parametrize("make", [numpy_array, pytest.param(tensor, marks=needs_torch)])
def test_streams_are_for_cuda(make: Make) -> None:
    """``stream=`` on the CPU is refused, also by a kernel that recognises the arrays."""
    a = make(8)
    kernel = learnt(jit("out = a", make), a)
    with pytest.raises(kgen.KgenError, match="stream"):
        kernel(a, stream=3)


def test_nothing_is_kept(make: Make) -> None:
    """Arguments and results die with the caller's references."""
    kernel = jit("out = a + b", make)
    a, b = make(8), make(8)
    learnt(kernel, a, b)
    out = kernel(a, b)
    refs = [weakref.ref(x) for x in (a, b, out)]
    del a, b, out
    gc.collect()
    assert [r() for r in refs] == [None, None, None]


def test_memory_is_flat(make: Make) -> None:
    """Two thousand calls, half of them of layouts that are forgotten again, leave no memory behind."""
    kernel = jit("param s: float = 1.0\nout = a + b * s", make)
    a, b = make(64), make(64)
    views = [(make(2, 4 + i)[:, 1:], 1.0) for i in range(12)]

    def rounds(n: int) -> None:
        for i in range(n):
            kernel(a, b)
            kernel(*views[i % 12])

    rounds(100)
    tracemalloc.start()
    try:
        rounds(100)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        rounds(1000)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 20_000  # ten bytes a call


def test_threads(make: Make) -> None:
    """Sixteen threads share kernels; every result is that of its own arguments."""
    kernels = [jit(f"param s: float\nout = a * {i} + s", make) for i in range(4)]
    wrong: list[str] = []

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        for _ in range(150):
            which, n, s = int(generator.integers(4)), int(generator.integers(2, 40)), float(generator.integers(100))
            a = make(n)
            if not same(kernels[which](a, s=s), a * which + s):
                wrong.append(f"{which} {n} {s}")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@needs_torch
def test_without_torchs_private_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version of torch that was never tried is looked at through its public interface, as exactly."""
    monkeypatch.setattr("kgen.arrays.torch_._PROVEN", ((0, 0), (0, 0)))
    test_recognised_calls_compute(tensor)
    test_out_is_looked_at(tensor)
    test_tensors_with_grad()
    test_lazy_views()
    test_other_dtypes(tensor)
