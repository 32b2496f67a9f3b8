"""Keeps torch.compile out of kernels: it calls them between two graphs, without tracing.

Dynamo, its front end, reads ``_torchdynamo_disable`` of a function that the code it traces calls.  The call itself runs
with Dynamo's hook on every frame below it; a mark on the code object disables that, set once torch is imported.
Neither makes a call slower, and neither imports torch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])

_MESSAGE = "a kgen kernel runs between two graphs; kgen.torch.op makes an operator of it, which is part of one"
_unmarked: list[CodeType] = []


def opaque(function: _F) -> _F:
    """A function that Dynamo does not enter, with all that it calls."""
    marks: Any = function
    marks._torchdynamo_disable = True
    marks._torchdynamo_disable_msg = _MESSAGE
    _unmarked.append(marks.__code__)
    keep_out()
    return function


def keep_out() -> None:
    """Mark opaque functions, if torch is imported by now.

    Dynamo passes over this very frame, which holds no tensor; a ``try`` around the call makes it give up the caller's.
    """
    if _unmarked and "torch" in sys.modules:
        while _unmarked:
            mark(_unmarked.pop())


def mark(code: CodeType) -> None:
    """Have Dynamo run frames of this code, and those below them, untraced; does nothing without torch."""
    torch = sys.modules.get("torch")
    private: Any = getattr(getattr(getattr(torch, "_C", None), "_dynamo", None), "eval_frame", None)
    if hasattr(private, "_FrameExecStrategy"):  # since torch 2.7
        skip = private._FrameAction.SKIP
        private.set_code_exec_strategy(code, private._FrameExecStrategy(skip, skip))


opaque(keep_out)
