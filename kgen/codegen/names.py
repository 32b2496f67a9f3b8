"""User text as CUDA text: names and comments.

A user's name never appears unchanged: every role has a suffix, so that no name of a program can clash with a keyword,
a macro, an intrinsic or one of the generator's own names (none of which has such a suffix).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kgen.diagnostics import error, shown

LONGEST = 100  #: characters of a kernel's base name, since cache files have it in their names


def pointer(name: str) -> str:
    return f"{name}_ptr"


def value(name: str) -> str:
    return f"{name}_v"


def new_value(name: str) -> str:
    return f"{name}_new"


def converted(name: str, dtype: str) -> str:
    return f"{name}_{dtype}"


def result(name: str) -> str:
    return f"{name}_out"


def vector(name: str, *, new: bool = False) -> str:
    """A group of elements; ``new``: of one that is read, too, what is written."""
    return f"{name}_{'new' if new else ''}vec"


def gathered(name: str) -> str:
    """A group of a row at a computed place."""
    return f"{name}_gathered"


def element(name: str) -> str:
    """An element of a row, or what is written instead of one outside of an operand."""
    return f"{name}_element"


def size(name: str, axis: int) -> str:
    """The extent of an operand along an axis."""
    return f"{name}_size{axis}"


def place(name: str, axis: int) -> str:
    """A computed place along an axis of an operand."""
    return f"{name}_place{axis}"


def inside(name: str) -> str:
    """Whether a computed place is inside of an operand."""
    return f"{name}_inside"


def shape(name: str) -> str:
    """The extents and strides of an operand."""
    return f"{name}_shape"


def in_shared(name: str) -> str:
    """A copy of an operand in shared memory: a row's, or a block's of few elements that it updates."""
    return f"{name}_smem"


def count(name: str) -> str:
    """How many elements an operand has."""
    return f"{name}_count"


def ahead(name: str) -> str:
    """Where the row begins of which elements are loaded ahead."""
    return f"{name}_ahead"


def wide(name: str) -> str:
    """A group of interleaved operands, with all that lies between."""
    return f"{name}_wide"


def floats(name: str) -> str:
    """A group of results before they are rounded together."""
    return f"{name}_floats"


def offset(name: str) -> str:
    return f"{name}_at"


def start(name: str) -> str:
    """The address of a group."""
    return f"{name}_from"


def first_row(name: str) -> str:
    """The offset of a group's first element, from which those in the same row are found."""
    return f"{name}_first"


def next_row(name: str) -> str:
    """The same for those elements of a group that are in the next row."""
    return f"{name}_next"


def in_row(name: str) -> str:
    """What a group's elements share that are in the row of its first one."""
    return f"{name}_in_row"


def in_next_row(name: str) -> str:
    """What those share that are in the next row."""
    return f"{name}_in_next_row"


def in_unit(name: str) -> str:
    """The elements of a unit of a group."""
    return f"{name}_unit"


def box(name: str) -> str:
    """The offset of a box of elements, or where a thread begins to read boxes."""
    return f"{name}_box"


def line(name: str) -> str:
    """Which line of an operand's box a thread reads."""
    return f"{name}_line"


def state(name: str) -> str:
    """The state of a reduction."""
    return f"{name}_acc"


def of_reduction(state: str, what: str) -> str:
    """A further name for a reduction: ``sum_part`` for the state ``sum_acc``."""
    return f"{state.removesuffix('_acc')}_{what}"


def block_partials(state: str) -> str:
    """The partial results that blocks leave for the last one."""
    return of_reduction(state, "block_partials")


def column_sum(name: str) -> str:
    """A block's sums of its rows, for an operand that takes partial sums."""
    return f"{name.removesuffix('_partials')}_sum"


def kept(name: str) -> str:
    """A value that a thread keeps for a later part of a kernel."""
    return f"{name}_kept"


def kept_edge(name: str) -> str:
    """The same for an edge element."""
    return f"{name}_edge"


def reciprocal(value: str) -> str:
    """The reciprocal of a value, which makes division by it cheap."""
    return f"{value.removesuffix('_v')}_reciprocal"


def row(name: str) -> str:
    """The start of a row of an operand."""
    return f"{name}_row"


def column(name: str) -> str:
    """The start of a thread's columns of an operand."""
    return f"{name}_column"


def own(name: str) -> str:
    """The first of a thread's elements of an operand."""
    return f"{name}_own"


def blocks(name: str) -> str:
    """The start of the aligned block in which the row of an operand begins."""
    return f"{name}_aligned"


def misalignment(name: str) -> str:
    """The bytes from the start of that block to the start of the row."""
    return f"{name}_misalignment"


def shared(name: str) -> str:
    """A block's rows of an operand in shared memory."""
    return f"{name}_shared"


def kernel_base(text: str) -> str:
    """A kernel's base name from a file's stem: ``my-op.v2`` gives ``my_op_v2``."""
    base = re.sub(r"\W", "_", text, flags=re.ASCII).strip("_") or "kernel"
    return (f"k{base}" if base[0].isdigit() else base)[:LONGEST]


def namespace(base: str) -> str:
    """The C++ namespace of all that a file declares; kernels are ``extern "C"``, and found by their names alone."""
    return f"kgen_{base}"


def named_base(name: object) -> str:
    """A base name that the user chose.

    Raises :class:`~kgen.KgenError` (``bad-name``) if it is no C identifier, or one that kgen would have to change.  A
    keyword is no problem: whatever is named after it has a suffix.
    """
    if isinstance(name, str) and re.fullmatch(r"[A-Za-z]\w*", name, flags=re.ASCII) and kernel_base(name) == name:
        return name
    hint = f"at most {LONGEST} ASCII letters, digits and `_`, from a letter to a letter or digit"
    if isinstance(name, str):
        hint += f", such as `{kernel_base(name)}`"
    raise error("bad-name", f"a kernel cannot be called {shown(name)}", hint)


def comment(text: str) -> str:
    """Text fit for one ``//`` comment: no control or bidi characters, and no line continuation at its end."""
    shown = "".join(c if c.isprintable() else " " for c in text).rstrip()
    # After a backslash at the end (or its trigraph), the next line would belong to the comment.
    return shown + " ." if shown.endswith(("\\", "??/")) else shown


def listed(items: Iterable[str]) -> str:
    """``a, b and c``, each name once."""
    distinct = list(dict.fromkeys(items))
    return distinct[0] if len(distinct) == 1 else ", ".join(distinct[:-1]) + " and " + distinct[-1]


class Unique:
    """Makes names unique: adds a number to a name that is taken."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def __call__(self, name: str) -> str:
        chosen, number = name, 2
        while chosen in self._taken:
            chosen, number = f"{name}{number}", number + 1
        self._taken.add(chosen)
        return chosen
