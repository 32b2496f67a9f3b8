"""Golden programs say in their comments what they are called with.

    #: a f16[4, 3]      an array (`?`: any extent)
    #: n i32            a by-value argument of that dtype
    #: s weak float     a Python scalar
    #: shape [4, 3]     the shape of a program without arrays
    #: out= y f64       the dtype of an array that is given for the output y

What is not stated: arrays are float32[?], parameters have their declared dtype or their default's kind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kgen import pipeline
from kgen.argument_types import ArgType, ArrayArg, ScalarArg, WeakArg
from kgen.check import Checked, check
from kgen.check.values import kind_of
from kgen.dtypes import BY_NAME, FLOAT32, DType, Kind
from kgen.program import Program

CASES = Path(__file__).parent
_LINE = re.compile(r"^#: (out= )?(\w+) ?(weak )?(\w*)(?:\[(.*)\])?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Header:
    """What the comments of a program state."""

    args: dict[str, ArgType]
    shape: tuple[int | None, ...]
    out_dtypes: dict[str, DType]


def header(text: str, program: Program) -> Header:
    """The arguments of ``program``, as the comments in its ``text`` have them."""
    args: dict[str, ArgType] = {a.name: ArrayArg(a.dtype or FLOAT32, (None,)) for a in program.arguments}
    for p in program.parameters:
        kind = Kind.FLOAT if p.default is None else kind_of(p.default)
        args[p.name] = WeakArg(kind) if p.dtype is None else ScalarArg(p.dtype)
    shape: tuple[int | None, ...] = ()
    out_dtypes: dict[str, DType] = {}
    for line in _LINE.finditer(text):
        given, name, weak, dtype, extents = line.groups()
        stated = tuple(None if n == "?" else int(n) for n in re.findall(r"\d+|\?", extents or ""))
        if name == "shape" and not dtype:
            shape = stated
        elif given:
            out_dtypes[name] = BY_NAME[dtype]
        else:
            assert name in args, f"{name} is no argument"
            if weak:
                args[name] = WeakArg(Kind[dtype.upper()])
            else:
                args[name] = ScalarArg(BY_NAME[dtype]) if extents is None else ArrayArg(BY_NAME[dtype], stated)
    return Header(args, shape, out_dtypes)


def checked(text: str, name: str) -> Checked:
    """The typed IR of a golden program.  Raises :class:`~kgen.KgenError`."""
    program = pipeline.load(text, name)
    stated = header(text, program)
    return check(program, stated.args, shape=stated.shape, out_dtypes=stated.out_dtypes)


def files(folder: str, pattern: str) -> list[Path]:
    """The cases of one folder."""
    return sorted((CASES / folder).glob(pattern))
