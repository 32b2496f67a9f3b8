"""Sources that call the launcher of a file for other libraries: each is one thin function on ``<name>_launch``.

``context``: what is known of a launcher.  ``results``: the shapes of results.
``tvm_ffi``: the calling convention of TVM-FFI.  ``torch_``: an operator of torch, against its stable ABI.
``xla``: a primitive of JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kgen.bindings.context import Binding
from kgen.bindings.torch_ import torch_python, torch_source
from kgen.bindings.tvm_ffi import tvm_ffi_source
from kgen.bindings.xla import xla_python, xla_source

#: By the end of a file's name: the value of ``--abi``, and what makes the text.
BINDINGS: Mapping[str, tuple[str, Callable[[Binding], str]]] = {
    "tvm_ffi.cpp": ("tvm-ffi", tvm_ffi_source),
    "torch.cpp": ("torch", torch_source),
    "torch.py": ("torch", torch_python),
    "xla.cpp": ("xla", xla_source),
    "xla.py": ("xla", xla_python),
}
