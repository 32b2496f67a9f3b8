"""Fixtures of the IR's tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kgen.dtypes import BOOL, BY_NAME, INT32, DType
from kgen.ir.evaluator import evaluate
from kgen.ir.graph import Attr, Graph, IndexMap, Op, Operand
from kgen.ir.ops import OPS
from kgen.ir.verifier import check


@pytest.fixture(name="apply")
def _apply() -> Callable[..., Any]:
    """``apply(name, *arrays, dtype=None, attr=None)``: one op on 1-d arrays of one length, verified and evaluated."""

    def apply(name: str, *arrays: np.ndarray[Any, Any], dtype: DType | None = None, attr: Attr = None) -> Any:
        dtypes = [BY_NAME[array.dtype.name] for array in arrays]
        # The documented exceptions: where's condition comes first, ldexp's int32 last.
        common = dtypes[0] if name == "ldexp" else dtypes[-1]
        result = dtype or {"same": common, "bool": BOOL, "int32": INT32, "stated": common}[OPS[name].result]
        operands = [Operand(f"x{i}", d, ("n",), "input") for i, d in enumerate(dtypes)]
        out = Operand("out", result, ("n",), "output")
        ops = [Op("load", (), d, ("n",), IndexMap(i, (0,))) for i, d in enumerate(dtypes)]
        ops.append(Op(name, tuple(range(len(arrays))), result, ("n",), attr))
        ops.append(Op("store", (len(arrays),), result, ("n",), IndexMap(len(arrays), (0,))))
        kernel = Graph((*operands, out), (), tuple(ops))
        check(kernel)
        return evaluate(kernel, [*arrays, None])[0]

    return apply
