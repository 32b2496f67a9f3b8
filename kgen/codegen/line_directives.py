"""``#line`` directives, by which compilers, profilers and debuggers point at the program instead of the generated text.

The writers of expressions put a mark at the end of each line that comes from a statement.  Once a file is complete, and
so the numbers of its own lines are known, marks become directives.
"""

from __future__ import annotations

_MARK = "\x01"  #: occurs in no text: comments and names have no control characters


def mark(line: int) -> str:
    """The end of a text line that comes from this line of the program."""
    return f"{_MARK}{line}"


def with_line_directives(text: str, program: str, file: str) -> str:
    """``text`` with a directive wherever the line that compilers count on is another one.

    ``program`` and ``file``: the names of the program and of the text itself.
    """
    found: list[str] = []
    expected: int | None = None  # the program's line that compilers take the next one for; None: the text's own
    for line in text.split("\n"):
        plain, marked, number = line.partition(_MARK)
        if marked:
            if expected != int(number):
                found.append(f"#line {number} {_quoted(program)}")
            expected = int(number) + 1
        elif expected is not None and plain.lstrip().startswith("//"):
            expected += 1  # a comment needs no place of its own
        elif expected is not None:
            found.append(f"#line {len(found) + 2} {_quoted(file)}")
            expected = None
        found.append(plain)
    return "\n".join(found)


def _quoted(name: str) -> str:
    """A file's name as a C string."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{"".join(c if c.isprintable() else "?" for c in escaped)}"'
