"""One line of text and its arguments -> the dtype of its output, or the code of its error."""

from __future__ import annotations

from kgen import pipeline
from kgen.argument_types import ArgType, ArrayArg, ScalarArg, WeakArg
from kgen.call.arguments import ArrayValue, Value
from kgen.check import check
from kgen.diagnostics import KgenError
from kgen.dtypes import BY_NAME, FLOAT32, Kind

NAMED_SCALARS = {"bool": Kind.BOOL, "int": Kind.INT, "float": Kind.FLOAT, "complex": Kind.COMPLEX}


def argument(text: str) -> ArgType:
    """``f16`` is an array, ``f16()`` a 0-d array passed by value, ``<float>`` a Python scalar."""
    if text.startswith("<"):
        return WeakArg(NAMED_SCALARS[text.strip("<>")])
    if text.endswith("()"):
        return ScalarArg(BY_NAME[text.removesuffix("()")])
    return ArrayArg(BY_NAME[text], (None,))


def type_of(value: Value) -> ArgType:
    """What typing has to know of an argument of a call, with its extents."""
    return ArrayArg(value.spec.dtype, value.spec.shape) if isinstance(value, ArrayValue) else value.type


def result(text: str, arguments: str = "", **out_dtypes: str) -> str:
    """The short name of the dtype of the last output of ``text``, or the code of the first error.

    ``arguments``: ``a=f16 b=<int>``; what is not named is float32, params have their declared dtype or their
    default's kind.
    """
    try:
        program = pipeline.load(text)
    except KgenError as problem:
        return problem.code
    given = {name: argument(value) for name, value in (word.split("=", 1) for word in arguments.split())}
    args: dict[str, ArgType] = {a.name: ArrayArg(a.dtype or FLOAT32, (None,)) for a in program.arguments}
    for p in program.parameters:
        args[p.name] = ScalarArg(p.dtype) if p.dtype is not None else argument(f"<{type(p.default).__name__}>")
    try:
        checked = check(
            program, {**args, **given}, shape=(4,), out_dtypes={n: BY_NAME[t] for n, t in out_dtypes.items()}
        )
    except KgenError as problem:
        return problem.code
    return checked.kernel.operands[-1].dtype.short
