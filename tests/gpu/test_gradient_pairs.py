"""``kgen build --grad``: the pair of a library, launched through its C functions, beside torch's autograd."""

from __future__ import annotations

import ctypes
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import kgen
from kgen.cli import main
from kgen.runtime.cuda.driver import probe
from kgen.spec import as_dtype
from tests.launcher.host import SUCCESS, array
from tests.library.tools import missing

torch: Any = pytest.importorskip("torch", reason="arrays on the device are torch's")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not probe().available, reason=probe().reason or "there is a GPU"),
    pytest.mark.skipif(missing() is not None, reason=missing() or "there are compilers"),
]

BATCHNORM = "let d = x - mean(x, axis=0)\ny = d * rsqrt(mean(d * d, axis=0) + 1e-5) * w\n"
LAYERNORM = BATCHNORM.replace("axis=0", "axis=-1, keepdims=true")


def launch(library: Any, header: str, name: str, tensors: dict[str, Any]) -> None:
    """Call ``NAME_launch`` with the arrays that the header names, in its order, and memory to work in."""
    declared = re.search(rf"int {name}_launch\((.*?)\);", header, re.DOTALL)
    assert declared is not None
    names = re.findall(r"kgen_array\s*\*\s*(\w+?)(?:_array)?\b", declared[1])
    dtypes = {n: as_dtype(str(tensors[n].dtype).removeprefix("torch.")) for n in names}
    arrays = [array(tensors[n].data_ptr(), tensors[n].shape, tensors[n].stride(), dtypes[n]) for n in names]
    given, size = [ctypes.byref(a) for a in arrays], ctypes.c_size_t()
    assert getattr(library, f"{name}_workspace_size")(*given, ctypes.byref(size)) == SUCCESS
    room = torch.empty(max(size.value, 1), dtype=torch.uint8, device="cuda")
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    status = getattr(library, f"{name}_launch")(*given, ctypes.c_void_p(room.data_ptr()), size, stream)
    assert status == SUCCESS
    torch.cuda.synchronize()


@pytest.mark.parametrize("text", [BATCHNORM, LAYERNORM], ids=["columns", "rows"])
def test_a_pair(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, built = tmp_path / "norm.k", tmp_path / "libnorm.so"
    program.write_text(text, encoding="utf-8")
    options = ("--shape", "x=600x1024,w=1024", "--wrt", "x,w", "--compiler", "nvrtc", "-o", str(built))
    monkeypatch.setattr(sys, "argv", ["kgen", "build", str(program), "--grad", *options])
    main()
    library, header = ctypes.CDLL(str(built)), built.with_name("norm.h").read_text(encoding="utf-8")
    x, w, g = (torch.randn(s, device="cuda") for s in ((600, 1024), 1024, (600, 1024)))
    forward, _ = kgen.vjp(text)
    kernel = forward.kernel(x, w)
    specs = kernel.meta(x, w)
    made = zip(kernel.outputs, specs if isinstance(specs, tuple) else (specs,), strict=True)
    tensors = {name: torch.empty(spec.shape, device="cuda") for name, spec in made}
    tensors |= {"x": x, "w": w, "y_grad": g, "x_grad": torch.empty_like(x), "w_grad": torch.empty_like(w)}
    for name in ("norm", "norm_backward"):
        launch(library, header, name, tensors)
    leaves = [x.clone().requires_grad_(), w.clone().requires_grad_()]
    axis = 0 if text == BATCHNORM else -1
    d = leaves[0] - leaves[0].mean(axis, keepdim=True)
    y = d * torch.rsqrt((d * d).mean(axis, keepdim=True) + 1e-5) * leaves[1]
    torch.testing.assert_close(tensors["y"], y.detach(), rtol=1e-5, atol=1e-5)
    for name, expected in zip(("x_grad", "w_grad"), torch.autograd.grad(y, leaves, g), strict=True):
        torch.testing.assert_close(tensors[name], expected, rtol=1e-4, atol=1e-4)
