"""Generated files that are committed: what their first comment records, and whether they are what kgen makes today.

The inverse of :mod:`kgen.header`.  What is recorded is data: it is parsed, and never executed.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Sequence
from itertools import takewhile

from kgen.diagnostics import KgenError, error
from kgen.header import UNALIGNED
from kgen.records import dataclass

_FIRST = re.compile(r"^(// | \* |# )Made by kgen (\S+) from (.+)\. Do not edit; remake it with$", re.MULTILINE)
_INDENT = "    "  #: of the command and of the program
_KINDS = {"//": "cu", " *": "h", "#": "py"}  #: by the form of the comment


@dataclass(frozen=True, slots=True)
class Record:
    """What a file says of its own making.

    ``kind``: what ``--emit`` calls the file, or the end of its name, such as ``tvm_ffi.cpp``.  ``program``: the name
    of the ``.k`` file; None for a program that was a text, which is ``quoted``.  ``arguments``: those of
    ``kgen compile`` after the program.
    """

    kind: str
    program: str | None
    quoted: str
    arguments: tuple[str, ...]


def is_snapshot(start: bytes) -> bool:
    """Whether a file with this start was made by kgen."""
    return start.startswith(
        (b"// Made by kgen ", b"/*\n * Made by kgen ", b"/*\r\n * Made by kgen ", b"# Made by kgen ")
    )


def recorded(text: str) -> Record:
    """What the first comment records.

    Raises :class:`~kgen.KgenError` (``bad-snapshot``) where it is not as kgen wrote it, and for a program with a
    folder: programs are searched where the user says, and nowhere else.
    """
    first = _FIRST.search(text)
    if first is None:
        raise bad_snapshot("its first comment is not as kgen wrote it")
    mark = first[1].rstrip()
    lines = takewhile(lambda line: line.startswith(mark), text[first.end() + 1 :].split("\n"))
    command, *rest = [line[len(mark) + 1 :] for line in lines] or [""]
    try:
        argv = shlex.split(command)
    except ValueError:  # a quotation that does not end
        argv = []
    if not command.startswith(_INDENT) or argv[:2] != ["kgen", "compile"] or len(argv) < 3:
        raise bad_snapshot("its first comment has no command `kgen compile PROGRAM ...`")
    if any(line.startswith(UNALIGNED) for line in rest):
        raise error("bad-snapshot", "it is for arrays that are not aligned, which no command says", "use kgen_snapshot")
    name = argv[2].removeprefix("./")
    if "/" in name or name in ("", ".."):
        raise bad_snapshot(f"its program `{argv[2]}` is not a plain file name")
    return Record(_kind(mark, argv), None if name == "-" else name, _quoted(rest), tuple(argv[3:]))


def _kind(mark: str, argv: Sequence[str]) -> str:
    """The kind of a file.  A C++ source or Python file belongs to the only interface of ``--abi``."""
    if "--abi" not in argv[:-1]:
        return _KINDS[mark]
    abi = argv[argv.index("--abi") + 1].replace("-", "_")
    return f"{abi}.{'cpp' if mark == '//' else _KINDS[mark]}"


def _quoted(lines: Iterable[str]) -> str:
    """The program, which is indented, among the lines that follow the command."""
    found = takewhile(lambda line: not line.strip() or line.startswith(_INDENT), lines)
    return "\n".join(line.removeprefix(_INDENT) for line in found).strip("\n")


def bad_snapshot(why: str) -> KgenError:
    return error("bad-snapshot", why, "make the file again with kgen compile")


def is_same(committed: str, made: str) -> bool:
    """Whether two texts are the same but for the version of kgen that made them."""
    return committed == _with_version_of(committed, made)


def difference(name: str, committed: str, made: str) -> str:
    """A unified diff, which ``patch -p0`` takes.  The version is no difference."""
    before, after = (text.splitlines(keepends=True) for text in (committed, _with_version_of(committed, made)))
    lines = difflib.unified_diff(before, after, name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _with_version_of(committed: str, made: str) -> str:
    found = _FIRST.search(committed)
    if found is None:
        return made
    return _FIRST.sub(lambda of: f"{of[1]}Made by kgen {found[2]} from {of[3]}. Do not edit; remake it with", made)
