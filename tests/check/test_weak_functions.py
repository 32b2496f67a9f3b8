"""Every function of weak values is weak: beside an array it is computed in the array's dtype, with all its digits."""

from __future__ import annotations

from itertools import product

import pytest

from kgen import pipeline
from kgen.argument_types import ArgType, ArrayArg, WeakArg
from kgen.check import check
from kgen.dtypes import COMPLEX64, FLOAT16, FLOAT32, FLOAT64, DType, Kind
from kgen.functions import FUNCTIONS
from kgen.ir.graph import Graph

_VALUES = {Kind.FLOAT: "0.3", Kind.COMPLEX: "(0.3 + 0.1j)"}
_FORMS = {"literal": "{0}", "param": "q", "choice": "(x > 0 ? {0} : 2 * {0})"}

_ARITHMETIC = {"+", "-", "*", "/", "//", "%", "**"}
_NO_FLOATS = {"index", "size", "where", "logical_xor", "ilogb", "lrint", "lround"}  # bools, integers, and a condition
_COMPARING = {"prelude", "lifted"}  # on the way, which is done in the kind's default
_REFUSED = {"acosh", "smoothstep"}  # of 0.3, and of equal edges
_NAMES = [
    name
    for name, f in FUNCTIONS.items()
    if f.rule not in ("predicate", "integer", "reduction", "view")  # views are of arrays
    and (f.rule != "operator" or f.target in _ARITHMETIC)
    and f.target not in _NO_FLOATS | _REFUSED
]


def _kernel(name: str, form: str, kind: Kind, dtype: DType) -> Graph:
    function = FUNCTIONS[name]
    args = [_FORMS[form].format(_VALUES[kind])] * max(function.arity)
    if function.rule == "ordered":
        args[1 if function.target == "ldexp" else 0] = "2"
    axis = ", axis=0" if name == "expand" else ""
    text = ("param q\n" if form == "param" else "") + f"out = x * {name}({', '.join(args)}{axis})"
    given: dict[str, ArgType] = {"x": ArrayArg(dtype, (None,))}
    if form == "param":
        given["q"] = WeakArg(kind)
    return check(pipeline.load(text), given, shape=(4,)).kernel


@pytest.mark.parametrize("name", _NAMES)
def test_functions_of_weak_values_keep_narrow_dtypes(name: str) -> None:
    found = {form: _kernel(name, form, Kind.FLOAT, FLOAT16).operands[-1].dtype for form in _FORMS}
    assert found == dict.fromkeys(_FORMS, COMPLEX64 if name == "complex" else FLOAT16)


@pytest.mark.parametrize("name", [n for n in _NAMES if FUNCTIONS[n].rule not in _COMPARING])
def test_functions_of_weak_values_are_computed_in_float64(name: str) -> None:
    function = FUNCTIONS[name]
    is_complex = function.is_complex and name not in ("maximum", "minimum") and function.target not in "//%"
    for form, kind in product(_FORMS, _VALUES if is_complex else [Kind.FLOAT]):
        narrow = [op.name for op in _kernel(name, form, kind, FLOAT64).ops if op.dtype in (FLOAT32, COMPLEX64)]
        assert not narrow, (form, kind)
