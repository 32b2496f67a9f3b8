"""Programs that read and write at computed places, and that take elements to other places, on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import kgen
from kgen.runtime.cuda.driver import probe

from .sanitizer import sized

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("poisoned"),
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
]

torch: Any = pytest.importorskip("torch", reason="these tests pass torch's CUDA tensors")

SHAPES = sized(((1, 8), (37, 250), (300, 4096), (2000, 24)), ((37, 250),))


def table(dtype: Any, rows: int, columns: int) -> Any:
    return (torch.arange(rows * columns, device="cuda") % 1009).reshape(rows, columns).to(dtype)


def places(count: int, extent: int, dtype: Any) -> Any:
    """Places of an axis, each from the start or the end of it."""
    found = torch.arange(count, device="cuda") * 7919 % (2 * extent) - extent
    return found.to(dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "float64"])
def test_gathers(dtype: str) -> None:
    """Rows, columns and single elements, bit for bit as torch has them."""
    kernels = {text: kgen.jit(text) for text in ("out = x[i]", "out = x[:, i] + x[:, i]", "out = x[i, j] - x[0, 1]")}
    rows, columns, single = kernels.values()
    for shape in SHAPES:
        for x in (table(getattr(torch, dtype), *shape), table(getattr(torch, dtype), shape[0], 2 * shape[1])[:, ::2]):
            for kind in (torch.int64, torch.int32):
                i, j = places(513, shape[0], kind), places(513, shape[1], kind)
                assert torch.equal(rows(x, i), x[i.long()])
                assert torch.equal(columns(x, j), x[:, j.long()] + x[:, j.long()])
                assert torch.equal(single(x, i, j), x[i.long(), j.long()] - x[0, 1])


def test_hostile_places() -> None:
    """Any int64 is a place; outside of the array there are zeros, and nothing is written."""
    x = table(torch.float32, 64, 4096)
    ends = [0, 63, 64, -1, -64, -65, 2**31, -(2**31), 2**32, 2**62, 2**63 - 1, -(2**63), -(2**63) + 63]
    i = torch.tensor(ends, device="cuda")
    inside = (i >= -64) & (i < 64)
    want = torch.where(inside[:, None], x[torch.where(inside, i, 0)], 0)
    assert torch.equal(kgen.jit("out = x[i]")(x, i), want)
    assert torch.equal(kgen.jit("out = x[i, 5]")(x, i), want[:, 5])
    cache = torch.full((64, 4096), -1.0, device="cuda")
    whole = torch.where(torch.isin(torch.arange(64, device="cuda"), i[inside] % 64)[:, None], 7.0, -1.0)
    kgen.jit("inout cache; cache[i] = v")(cache, i, torch.full((len(ends), 4096), 7.0, device="cuda"))
    assert torch.equal(cache, whole.expand(64, 4096))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "complex64", "complex128"])
def test_scatters(dtype: str) -> None:
    """Each row and element has a place of its own; the other ones stay as they are."""
    rows, elements = kgen.jit("inout cache; cache[i] = v + v"), kgen.jit("inout cache; cache[i, j] = v")
    for shape in SHAPES:
        v = table(getattr(torch, dtype), *shape)
        order = torch.randperm(2 * shape[0], device="cuda")[: shape[0]]
        for cache in (torch.ones(2 * shape[0], shape[1]), torch.ones(2 * shape[0], 2 * shape[1])[:, ::2]):
            got = cache.to("cuda", v.dtype)
            want = got.clone()
            want[order] = v + v
            rows(got, order, v)
            assert torch.equal(got, want)
            across = torch.arange(shape[1], device="cuda").flip(0)
            elements(got, order[:, None], across, v)
            want[order[:, None], across] = v
            assert torch.equal(got, want)


@pytest.mark.filterwarnings("ignore:index_reduce")  # torch's warning that it is in beta
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int8", "int32", "int64", "float64"])
def test_updates(dtype: str) -> None:
    """Values that meet at a place all count: by groups of rows, and by elements.  Sums are small enough to be exact."""
    kind = getattr(torch, dtype)
    for rows, columns in SHAPES:
        v = table(torch.int64, rows, columns) % 3 - 1
        order = torch.arange(rows, device="cuda") * 7 % 40 - 20
        inside = (order >= -13) & (order < 13)
        for like in (torch.ones(13, columns), torch.ones(13, 2 * columns)[:, ::2]):
            old = like.to("cuda", torch.int64)
            want = old.index_add(0, order[inside] % 13, v[inside])
            got = like.to("cuda", kind)
            kgen.jit("inout o; o[i] += v")(got, order, v.to(kind))
            assert torch.equal(got.to(torch.int64), want if dtype != "int8" else want.to(kind).to(torch.int64))
            for how, reduce in (("min", "amin"), ("max", "amax")):
                got = like.to("cuda", kind)
                kgen.jit(f"inout o; o[i] {how}= v if v != 0")(got, order, v.to(kind))
                put = torch.where(v[inside] != 0, v[inside], 1)
                assert torch.equal(got.to(torch.int64), old.index_reduce(0, order[inside] % 13, put, reduce)), how


ARRANGED: dict[str, Callable[[Any, Any], Any]] = {
    "out = merge(stack(a, b, axis=-1))": lambda a, b: torch.stack((a, b), -1).flatten(-2),
    "out = merge(stack(a, b, a, axis=-1))": lambda a, b: torch.stack((a, b, a), -1).flatten(-2),
    "out = concat(a, b + b, axis=-1)": lambda a, b: torch.cat((a, b + b), -1),
    "out = concat(a, b, axis=0)": lambda a, b: torch.cat((a, b), 0),
    "out = repeat(a, 3, axis=-1)": lambda a, b: a.repeat_interleave(3, -1),
    "out = flip(a, axis=1) - transpose(transpose(b, (1, 0)), (1, 0))": lambda a, b: a.flip(1) - b,
    "out = merge(split(a, by=2) + max(split(b, by=2), axis=-1, keepdims=true))": lambda a, b: (
        a.unflatten(-1, (-1, 2)) + b.unflatten(-1, (-1, 2)).amax(-1, keepdim=True)
    ).flatten(-2),
    "out = a[..., ::2] * 2 - b[..., 1::2]": lambda a, b: a[..., ::2] * 2 - b[..., 1::2],
    "out = a[..., ::2] * 2 - a[..., 1::2]": lambda a, b: a[..., ::2] * 2 - a[..., 1::2],
}


@pytest.mark.parametrize("text", ARRANGED)
def test_elements_in_other_places(text: str) -> None:
    """As torch, bit for bit, on arrays that begin anywhere."""
    kernel = kgen.jit(text)
    for dtype in (torch.float32, torch.int8, torch.float64):
        for rows, columns in SHAPES:
            whole = table(dtype, rows + 1, 2 * columns + 6)
            for first in (0, 3, 4):
                a, b = whole[1:, first : first + columns], whole[:-1, columns : 2 * columns]
                arrays = (a, b) if "b" in text else (a,)
                assert torch.equal(kernel(*arrays), ARRANGED[text](a, b)), (dtype, rows, columns, first)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rows_and_segments(dtype: str) -> None:
    """The largest of each segment, and the largest of these: exact, with one kernel."""
    text = "let m = max(abs(x), axis=(1, 2), keepdims=true); scale = max(abs(x), axis=2) + 1; out = x > m / 2 ? x : -x"
    kernel = kgen.jit(text)
    for tokens, segments in ((1, 64), (300, 56), (5000, 8)):
        x = table(getattr(torch, dtype), tokens, segments * 128).unflatten(1, (segments, 128)) - 500
        scale, out = kernel(x)
        m = x.abs().amax((1, 2), keepdim=True)
        assert torch.equal(scale, x.abs().amax(2) + 1)
        assert torch.equal(out, torch.where(x > m / 2, x, -x))
        assert len(kernel.explain(x).steps) == 1


def test_in_a_graph() -> None:
    """A captured call, a plan and its graph read the places again."""
    x, i = table(torch.float32, 1000, 512), places(4096, 1000, torch.int64)
    out = torch.empty(4096, 512, device="cuda")
    kernel = kgen.jit("out = x[i]")
    kernel(x, i, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(x, i, out=out)
    plan = kernel.plan(x, i, out=out)
    for run in (graph.replay, plan, plan.graph()):
        i.copy_(i.roll(1))
        run()
        assert torch.equal(out, x[i])


def test_checked_indices() -> None:
    """The first index beyond its axis, on any stream, and on NumPy arrays; a captured call refuses to wait."""
    x, i = table(torch.float32, 1000, 512), places(4096, 1000, torch.int64).reshape(64, 64)
    cache, kernel = x.clone(), kgen.jit("inout cache; cache[i] += x[i]")
    kernel(cache, x=x, i=i, check_indices=True)
    before = cache.clone()
    i[40, 7], i[50, 0] = -1001, 1000
    message = r"the index -1001 at \(40, 7\) is beyond axis 0 of `x`, which has 1000 elements"
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    for stream in (None, side):
        with pytest.raises(kgen.KgenError, match=message):
            kernel(cache, x=x, i=i, stream=stream, check_indices=True)
    with pytest.raises(kgen.KgenError, match=message):
        kgen.jit("out = x[i]")(x.cpu().numpy(), i.cpu().numpy(), check_indices=True)
    assert torch.equal(cache, before)
    with torch.cuda.graph(torch.cuda.CUDAGraph()), pytest.raises(kgen.KgenError, match="captured"):
        kernel(cache, x=x, i=i, check_indices=True)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64", "complex64"])
def test_deterministic_updates(dtype: str) -> None:
    """The bits of the CPU, in any order of the elements; of several elements for one place, the last wins."""
    kernel: Any = kgen.jit("inout o, last; o[i] += v; last[i] = v", deterministic=True)
    for rows, columns, count in sized(((37, 250, 500), (5, 64, 20000), (300, 1, 7)), ((37, 250, 500),)):
        torch.manual_seed(rows)
        v = torch.randn(count, columns, dtype=torch.float64) * 10.0 ** torch.randint(-5, 5, (count, 1))
        v = v.to(getattr(torch, dtype))
        i, order = torch.randint(-rows, rows + 1, (count,)), torch.randperm(count)
        want = [torch.ones(rows, columns).to(v.dtype) for _ in range(2)]
        kernel(*want, i=i, v=v)
        for places, values in ((i, v), (i[order], v[order])):
            got = [torch.ones(rows, columns).to(v.dtype).cuda() for _ in range(2)]
            kernel(*got, i=places.cuda(), v=values.cuda())
            assert torch.equal(got[0].cpu(), want[0])
            assert values is not v or torch.equal(got[1].cpu(), want[1])


def test_indices_of_reductions() -> None:
    """What is reduced is complete before its elements are read, in a graph too."""
    for rows, columns in SHAPES:
        x, i = table(torch.float32, rows, columns), places(513, rows, torch.int64)
        kernel: Any = kgen.jit("out = sum(x, axis=1)[i] + max(x, axis=0)[0]")
        out = torch.empty(513, device="cuda")
        kernel(x, i, out=out)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kernel(x, i, out=out)
        for run in (graph.replay, kernel.plan(x, i, out=out)):
            x.copy_(x.roll(1, 0))
            run()
            assert torch.allclose(out, x.sum(1)[i] + x[:, 0].max(), rtol=1e-6)


def test_promised_indices() -> None:
    """Rows and elements at places that are promised."""
    for shape in SHAPES:
        x = table(torch.float32, *shape)
        i, j = places(513, shape[0], torch.int32), places(513, shape[1], torch.int64)
        assert torch.equal(kgen.jit('out = take(x, i, mode="promise")')(x, i), x[i.long()])
        assert torch.equal(kgen.jit('out = take(x, j, axis=1, mode="promise")')(x, j), x[:, j])


GRADIENTS = (
    "out = silu(x) * w",
    "let e = exp(x - max(x, axis=-1, keepdims=true)); out = e / sum(e, axis=-1, keepdims=true)",
    "out = x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6) * w",
    "let h = size(x, 1) // 2; out = tanh(x[:, :h]) * x[:, h:]",
)
IN_TORCH: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, w: torch.nn.functional.silu(x) * w,
    lambda x, w: torch.softmax(x, -1),
    lambda x, w: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w,
    lambda x, w: x[:, : x.shape[1] // 2].tanh() * x[:, x.shape[1] // 2 :],
)


@pytest.mark.parametrize(("text", "plain"), list(zip(GRADIENTS, IN_TORCH, strict=True)), ids=range(len(GRADIENTS)))
def test_gradients(text: str, plain: Callable[[Any, Any], Any]) -> None:
    """A kernel takes part in torch's autograd; in float64, gradients are torch's."""
    kernel = kgen.jit(text)
    for shape in ((3, 8), (129, 1000), (64, 4096)):
        arrays = [torch.randn(n, device="cuda", dtype=torch.float64, requires_grad=True) for n in (shape, shape[1:])]
        given = arrays if "w" in text else arrays[:1]
        want = plain(*arrays)
        cotangent = torch.randn_like(want)
        for got, right in zip(
            torch.autograd.grad(kernel(*given), given, cotangent),
            torch.autograd.grad(want, given, cotangent),
            strict=True,
        ):
            torch.testing.assert_close(got, right, rtol=1e-10, atol=1e-10)


def test_gradients_of_indices() -> None:
    """Rows that are read several times get all of their gradients."""
    x = torch.randn(40, 1000, device="cuda", dtype=torch.float64, requires_grad=True)
    i = torch.arange(300, device="cuda") * 7919 % 80 - 40
    kernel: Any = kgen.jit("out = tanh(x[i, :])")
    outputs = (kernel(x, i), x[i].tanh())
    found = [torch.autograd.grad(out, x, torch.cos(out.detach() * 5))[0] for out in outputs]
    torch.testing.assert_close(*found, rtol=1e-10, atol=1e-10)
