"""The contexts for the templates of kernels with reductions: names and facts; the templates have the text."""

from __future__ import annotations

from kgen.codegen.context import KernelHead, LayoutContext
from kgen.records import dataclass


@dataclass(frozen=True, slots=True)
class ReductionHead(KernelHead):
    """What the contexts of reductions begin with.

    ``in_one_segment``: whether several groups of a thread are in one segment.
    """

    layout: LayoutContext
    is_64bit: bool

    @property
    def in_one_segment(self) -> bool:
        return False

    @property
    def signed(self) -> str:
        return "long long" if self.is_64bit else "int"

    @property
    def index(self) -> str:
        return "long long" if self.is_64bit else "unsigned int"


@dataclass(frozen=True, slots=True)
class Value:
    """A ``const`` variable of a thread.  ``code``: its expression, in several lines if it is long."""

    type: str
    name: str
    code: str


@dataclass(frozen=True, slots=True)
class Declared:
    """A variable without an initial value; ``name`` includes an array's extents."""

    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Read:
    """A group of elements that a thread reads: ``value`` in one access, or ``each`` element by itself.

    ``type``: of its declaration; empty if it is declared already.  ``is_resident``: it was read before, and is in
    registers, as words.
    """

    name: str
    type: str = ""
    value: str = ""
    each: str = ""
    is_resident: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an element function; ``arguments``: their lines."""

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A partial result for the elements of a group: begins as ``first``; ``into`` then takes it by the call ``take``.

    ``count``: the number of elements, if they are collected instead.  Without a ``name``, ``into`` takes the whole
    group as it was loaded.  ``kept``: the array of a thread's parts, which other threads take, too.
    """

    into: str
    take: str
    name: str = ""
    type: str = "auto"
    first: str = ""
    count: int = 0
    kept: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """What a thread loads ahead of its work on ``count`` groups: into arrays that are ``declared``.

    ``shared``: what all elements of a row that is walked share, which is read once.
    """

    count: int
    declared: tuple[Declared, ...]
    loads: tuple[Read, ...]
    shared: tuple[Read, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """The work on a group of elements or on one edge element."""

    reads: tuple[Read, ...]
    parts: tuple[Part, ...]
    call: Call | None
    batch: Batch | None = None


@dataclass(frozen=True, slots=True)
class State:
    """The variables that a reduction accumulates in: first ``thread``; the call ``total`` makes the state ``name``.

    ``by_warp``: the threads of a warp merge ``thread`` before that.  ``lanes``: the state has ``merge_lanes``.
    ``agrees``: all lanes take the first lane's state.  ``shared``: the array by which warps exchange states; ``left``:
    the partials of blocks.  ``in_order``: whether it takes the parts of other threads, too.
    """

    name: str
    type: str
    initial: str
    thread: str
    first: str
    total: str
    by_warp: bool
    lanes: bool
    agrees: bool
    shared: str
    left: str
    in_order: bool = False

    @property
    def merged(self) -> str:
        """The variable that the threads of a warp merge."""
        return self.thread if self.by_warp else self.name


@dataclass(frozen=True, slots=True)
class Stored:
    """A pack that collects results, and the place that it is stored to.

    ``row``: the row at a computed place in which ``place`` is an index.  ``by_words``: whether ``store_words``
    writes it.  ``floats``: the array of floats that the call ``rounded`` rounds into the pack; ``is_quotient``:
    whether these are divided again where that says so.
    """

    type: str
    name: str
    place: str
    floats: str = ""
    rounded: str = ""
    row: str = ""
    by_words: bool = False
    is_quotient: bool = False
