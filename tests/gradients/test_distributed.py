"""Kernels in modules that DistributedDataParallel and FSDP wrap: two processes see the gradients of the whole batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kgen

torch: Any = pytest.importorskip("torch", reason="it has the wrappers")
pytest.importorskip("torch.distributed.fsdp", reason="it has the wrappers")
pytest.importorskip("torch.distributed.tensor", reason="it has the wrappers")
if not (torch.distributed.is_available() and torch.distributed.is_gloo_available()):
    pytest.skip("this torch cannot connect processes on the CPU", allow_module_level=True)
pytestmark = [
    pytest.mark.whole,  # each process imports torch and compiles the kernels
    pytest.mark.filterwarnings("ignore"),  # of torch about itself
]

PROCESSES, ROWS, WIDTH = 2, 8, 16
NORM = "y = x * rsqrt(mean(x * x, axis=-1, keepdims=true) + 1e-6) * w"


class Layer(torch.nn.Module):  # type: ignore[misc]  # torch has no types
    """A norm whose weight learns, and a product."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(0.5, 1.5, WIDTH, dtype=torch.float64))
        self.linear = torch.nn.Linear(WIDTH, WIDTH, bias=False, dtype=torch.float64)
        with torch.no_grad():
            self.linear.weight.copy_(torch.sin(torch.arange(WIDTH * WIDTH, dtype=torch.float64)).view(WIDTH, WIDTH))
        self.norm = kgen.jit(NORM, device="cpu")

    def forward(self, x: Any) -> Any:
        return self.linear(self.norm(x, self.weight))


def batch() -> Any:
    return torch.cos(torch.arange(ROWS * WIDTH, dtype=torch.float64)).view(ROWS, WIDTH)


def gradients(layer: Any, run: Any, x: Any) -> list[Any]:
    """Of a layer's parameters, whole ones where processes have parts of them."""
    (run(x) ** 2).sum(1).mean().backward()
    found = [parameter.grad for parameter in layer.parameters()]
    return [x.full_tensor() if isinstance(x, torch.distributed.tensor.DTensor) else x for x in found]


def process(rank: int, wrapper: str, folder: str) -> None:
    torch.set_num_threads(1)
    where = (Path(folder) / "meeting").as_uri()
    torch.distributed.init_process_group("gloo", init_method=where, rank=rank, world_size=PROCESSES)
    layer = Layer()
    if wrapper == "ddp":
        run = torch.nn.parallel.DistributedDataParallel(layer)
    else:
        mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (PROCESSES,))
        run = torch.distributed.fsdp.fully_shard(layer, mesh=mesh)
    torch.save(gradients(layer, run, batch().chunk(PROCESSES)[rank]), Path(folder) / f"{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("wrapper", ["ddp", "fsdp"])
def test_gradients_of_the_whole_batch(wrapper: str, tmp_path: Path) -> None:
    torch.multiprocessing.spawn(process, (wrapper, str(tmp_path)), nprocs=PROCESSES)
    layer = Layer()
    expected = gradients(layer, layer, batch())
    for rank in range(PROCESSES):
        found = torch.load(tmp_path / f"{rank}.pt")
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other)
