"""Torch tensors, on the CPU; CUDA ones are in tests/gpu."""

from __future__ import annotations

from typing import Any

import pytest

from kgen.arrays import adapter_of
from kgen.arrays.base import CPU
from kgen.diagnostics import KgenError
from kgen.dtypes import DTYPES, FLOAT32, DType
from kgen.spec import Spec

torch: Any = pytest.importorskip("torch", reason="torch is not installed")


def adapter() -> Any:
    return adapter_of(torch.zeros(1))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_round_trips(dtype: DType) -> None:
    """A tensor made for a dtype is read back as that dtype."""
    made = adapter().empty((2, 3), (3, 1), dtype, torch.zeros(1))
    assert adapter().spec(made) == Spec((2, 3), dtype, (3, 1))


@pytest.mark.parametrize("strides", [(12, 4, 1), (1, 2, 6), (4, 8, 1)], ids=["c", "f", "permuted"])
def test_empty_has_the_strides_asked_for(strides: tuple[int, ...]) -> None:
    """A new tensor has exactly the strides that the layout rules decided."""
    made = adapter().empty((2, 3, 4), strides, FLOAT32, torch.zeros(1))
    assert made.stride() == strides


def test_views_are_read_in_place() -> None:
    """Offset and strides of a view show in pointer and spec."""
    x = torch.arange(24.0).reshape(2, 3, 4)
    view = x[1:, :, ::2].transpose(1, 2)
    assert adapter().spec(view) == Spec((1, 2, 3), FLOAT32, (12, 2, 4))
    assert adapter().pointer(view) == x.data_ptr() + 12 * 4
    assert adapter().device(x) == CPU


def test_gradients_are_refused_while_they_are_recorded() -> None:
    """A tensor that requires grad is an error with a hint, and fine under no_grad or detached; its spec always is."""
    x = torch.nn.Parameter(torch.zeros(3))
    with pytest.raises(KgenError, match="detach") as raised:
        adapter().pointer(x)
    assert raised.value.code == "requires-grad"
    assert adapter().spec(x).shape == (3,)
    with torch.no_grad():
        assert adapter().pointer(x) == x.data_ptr()
    assert adapter().pointer(x.detach()) == x.data_ptr()


@pytest.mark.parametrize(
    ("make", "hint"), [(lambda z: z.conj(), "resolve_conj"), (lambda z: z.conj().imag, "resolve_neg")]
)
def test_lazy_views_are_refused(make: Any, hint: str) -> None:
    """Memory under a lazy conjugate or negative does not hold the values; the hint names what resolves it."""
    x = make(torch.zeros(3, dtype=torch.complex64))
    with pytest.raises(KgenError, match=hint) as raised:
        adapter().pointer(x)
    assert raised.value.code == "lazy-tensor"
    assert adapter().pointer(getattr(x, hint)())


def test_tensors_without_strides_are_refused() -> None:
    """Sparse tensors have no strides."""
    with pytest.raises(KgenError, match="to_dense"):
        adapter().spec(torch.eye(3).to_sparse())


def test_tensors_without_data_have_a_spec() -> None:
    """Meta and fake tensors are enough where only metadata matters, and have no pointer."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.zeros(2, 3)
    assert adapter_of(fake).spec(fake) == Spec((2, 3), FLOAT32, (3, 1))  # type: ignore[union-attr]
    with pytest.raises(KgenError, match="no memory"):
        adapter().pointer(fake)
    meta = torch.zeros(2, 3, device="meta")
    assert adapter().spec(meta) == Spec((2, 3), FLOAT32, (3, 1))
    assert adapter().device(meta) is None
    with pytest.raises(KgenError, match="no memory"):
        adapter().pointer(meta)


def test_tensors_under_vmap_are_refused() -> None:
    """Inside torch.func.vmap a tensor has no memory to read."""

    def body(x: Any) -> Any:
        with pytest.raises(KgenError, match="no memory"):
            adapter().pointer(x)
        return x

    torch.func.vmap(body)(torch.zeros(2, 3))


def test_unknown_dtypes_are_refused() -> None:
    """A dtype that kgen has not is named."""
    with pytest.raises(KgenError, match="e4m3fnuz") as raised:
        adapter().spec(torch.empty(3, dtype=torch.float8_e4m3fnuz))
    assert raised.value.code == "unsupported-dtype"


def test_item() -> None:
    """The value of a 0-d tensor is Python's."""
    assert adapter().item(torch.tensor(2.5, dtype=torch.bfloat16)) == 2.5
    assert adapter().item(torch.tensor(True)) is True


def test_stream_of_the_host_is_none() -> None:
    """Host tensors have no stream."""
    assert adapter().stream(CPU) == 0
