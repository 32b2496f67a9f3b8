"""numexpr's interface on top of kgen, as far as its own tests use it.

Expressions are Python there.  They are parsed as Python, respelled where kgen has another word, and their variables are
looked up in the caller's frame, as numexpr does it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

import kgen
from kgen.kernel import Kernel


class _Respelled(ast.NodeTransformer):
    """Rewrites what kgen spells in another way; collects the variables."""

    def __init__(self) -> None:
        self.variables: dict[str, None] = {}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.variables[node.id] = None
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Name(str(node.value).lower()) if isinstance(node.value, bool) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return _call(node.attr, self.visit(node.value))  # .real, .imag

    def visit_Call(self, node: ast.Call) -> ast.AST:
        assert isinstance(node.func, ast.Name)
        args = [self.visit(a) for a in node.args]
        match node.func.id:
            case "copy":
                return args[0]  # type: ignore[no-any-return]
            case "ones_like":  # of finite values
                return ast.BinOp(ast.BinOp(args[0], ast.Mult(), ast.Constant(0)), ast.Add(), ast.Constant(1))
        keywords = [k for k in node.keywords if not (isinstance(k.value, ast.Constant) and k.value.value is None)]
        return ast.Call(node.func, args, keywords)


def _call(name: str, *args: Any) -> ast.Call:
    return ast.Call(ast.Name(name), list(args), [])


@cache
def kernel_of(expression: str) -> Kernel:
    """The kernel of a numexpr expression on the CPU target; its inputs are the variables in order of first use."""
    tree = ast.parse(expression.strip(), mode="eval")
    respelled = _Respelled()
    body = ast.unparse(respelled.visit(tree.body))
    declared = f"input {', '.join(respelled.variables)}\n" if respelled.variables else ""
    return kgen.jit(f"{declared}out = {body}", device="cpu")


def evaluate(
    expression: str,
    local_dict: Mapping[str, Any] | None = None,
    global_dict: Mapping[str, Any] | None = None,
    out: Any = None,
    **_: Any,
) -> Any:
    """``numexpr.evaluate``: variables come from ``local_dict`` or from the caller."""
    if local_dict is None:
        frame = sys._getframe(1)
        local_dict, global_dict = frame.f_locals, frame.f_globals
    kernel = kernel_of(expression)
    values = [local_dict[n] if n in local_dict else (global_dict or {})[n] for n in kernel.inputs]
    return _run(kernel, values, out)


def _run(kernel: Kernel, values: Sequence[Any], out: Any = None) -> Any:
    """The result, 0-d where all values are Python's; what kgen refuses is the ValueError that it is in numexpr."""
    shape = None if out is not None or any(isinstance(v, np.ndarray | np.generic) for v in values) else ()
    try:
        return kernel(*values, out=out, shape=shape)
    except kgen.KgenError as problem:
        raise ValueError(str(problem)) from problem


class NumExpr:
    """``numexpr.NumExpr`` of a text: called on its variables in alphabetical order, or in that of the signature."""

    def __init__(self, expression: str, signature: Any = None) -> None:
        self.kernel = kernel_of(expression)
        self.order = [name for name, _ in signature] if signature else sorted(self.kernel.inputs)

    def __call__(self, *args: Any) -> Any:
        values = dict(zip(self.order, args, strict=True))
        return _run(self.kernel, [values[name] for name in self.kernel.inputs])

    run = __call__
