"""Undeclared names that are read: each becomes an input, unless it is a value or a cast in Python or C."""

from __future__ import annotations

import re

from kgen.dtypes import BY_NAME
from kgen.functions import CALL_KEYWORDS, FUNCTIONS
from kgen.resolve.bindings import Bindings
from kgen.source import Span

#: Names of values in Python and C, which would otherwise become inputs.
_LITERAL_WORDS = {
    "True": "true", "TRUE": "true", "False": "false", "FALSE": "false",
    "INFINITY": "inf", "Inf": "inf", "Infinity": "inf", "NAN": "nan", "NaN": "nan", "M_PI": "pi", "PI": "pi",
    "M_E": "e",
    "FLT_MAX": "3.4028234663852886e38", "FLT_MIN": "1.1754943508222875e-38", "FLT_EPSILON": "1.1920928955078125e-07",
    "DBL_MAX": "1.7976931348623157e308", "DBL_EPSILON": "2.220446049250313e-16",
    "INT_MAX": "2147483647", "INT_MIN": "-2147483648",
}  # fmt: skip
_NO_VALUES = ("None", "NULL", "null", "nullptr")
#: Functions whose names arrays often have.
_OFTEN_VALUES = ("j0", "j1", "jn", "y0", "y1", "yn", "i0", "i1", "gamma", "angle", "step")
_TYPE = re.compile(r"\s*<\s*(\w{1,40})\s*>")
_CASTS = {
    "static_cast": "cast<{}>(x)", "const_cast": "cast<{}>(x)", "dynamic_cast": "cast<{}>(x)",
    "reinterpret_cast": "bitcast<{}>(x)", "saturate_cast": "cast<{}, sat>(x)",
}  # fmt: skip


def check_undeclared(name: str, span: Span, bound: Bindings) -> None:
    """Report a name that cannot be an input, or may be meant otherwise.  ``span``: where it is read first."""
    reporter = bound.reporter
    if name in CALL_KEYWORDS:
        bound.call_keyword(name, "input", span)
    elif name in _LITERAL_WORDS:
        hint = f"write the value as `{_LITERAL_WORDS[name]}`; declare an array of this name with `input {name}`"
        reporter.error("literal-word", f"`{name}` is not a value here", span, hint=hint)
    elif name in _NO_VALUES:
        hint = "write `nan` for a missing value; write a new axis as `expand(x, axis=1)`"
        reporter.error("literal-word", f"`{name}` is not a value here", span, hint=hint)
    elif name in _CASTS:
        found = _TYPE.match(bound.source.text, span.end)
        hint = f"write `{_CASTS[name].format(found[1] if found else 'float')}`"
        reporter.error("bad-cast", f"there is no `{name}`", span, hint=hint)
    elif name in BY_NAME:
        message = f"`{name}` outside `< >` is an ordinary name, so it is an input here"
        reporter.lint("type-as-value", message, span, hint=f"write a conversion as `cast<{name}>(x)`")
    elif name in FUNCTIONS and name not in _OFTEN_VALUES:
        message = f"`{name}` without `(` is an ordinary name, so it is an input here"
        hint = f"call the function as `{name}(...)`, or declare `input {name}` if it is an input"
        reporter.lint("function-as-value", message, span, hint=hint)
