"""``k.source()`` is what ``kgen compile`` writes for the same dtypes, shapes, strides and options."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

import kgen
from kgen.cli import compile_, options
from kgen.cli.request import Request
from kgen.dtypes import DType
from tests.snapshots.cases import CASES, EXAMPLES, Case

#: One of each way to say what a file is for.
DEFAULT = ("axpy", "axpy_fast", "swiglu_any", "mixed_strided", "gelu_any_rows", "dequantize_rows", "normalize_nchw",
           "softmax_long", "softmax_cluster", "dropout", "rotary_embedding")  # fmt: skip


def some_value(declared: DType | None) -> Any:
    return 1 if declared is not None and declared.is_int else 1.0


def from_python(case: Case) -> str:
    """A case's text, from :meth:`kgen.Kernel.source`."""
    parsed = compile_.command.make_context("compile", [f"{case.example}.k", *shlex.split(case.options)]).params
    given = Request(**{name: parsed[name] for name in Request.__slots__})
    path = EXAMPLES / f"{case.example}.k"
    kernel = kgen.jit(path=path, name=case.name, fmad=given.fmad == "on", fast=given.fast)
    dtypes = options.parse_dtypes(given.dtype_text)
    if given.shape_text is None:
        return kernel.source(dtypes=dtypes, layout=given.layout or "any", rank=given.rank or 4, arch=given.arch)
    shapes = options.parse_shapes(given.shape_text, kernel.program) or {}
    strides = options.parse_strides(given.strides_text, kernel.program, shapes)
    declared = {a.name: a.dtype for a in kernel.program.arguments}
    specs = {}
    for name, shape in shapes.items():
        dtype = declared[name] or (dtypes.get(name) if isinstance(dtypes, dict) else dtypes) or "f32"
        specs[name] = kgen.spec(["?" if n is None else n for n in shape], dtype, strides.get(name))
    params = {p.name: some_value(p.dtype) for p in kernel.program.parameters if p.default is None}
    return kernel.source(*specs.values(), arch=given.arch, **params)


@pytest.mark.parametrize("case", [c for c in CASES if c.name in DEFAULT], ids=lambda case: case.name)
def test_some_texts(case: Case) -> None:
    """Files for layouts, for certain shapes and for open extents."""
    assert from_python(case) == case.path.read_text(encoding="utf-8")


@pytest.mark.whole
@pytest.mark.parametrize("case", [c for c in CASES if c.name not in DEFAULT], ids=lambda case: case.name)
def test_all_texts(case: Case) -> None:
    """The rest of ``generated/``."""
    assert from_python(case) == case.path.read_text(encoding="utf-8")
