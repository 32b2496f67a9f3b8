"""The LALR tables of ``grammar/kgen.lark``: lark builds them, plain dictionaries hold them.

Loading plain tables takes 1 ms; importing lark takes 50 ms and building the tables 60 ms more.  A wheel contains
them as ``_data/kgen.lark.bin``.  Without that file, or if its digest does not match the grammar, they are built.
"""

from __future__ import annotations

import hashlib
import marshal
from functools import cache
from typing import Any

from kgen import resources
from kgen.records import dataclass

FILE = "kgen.lark.bin"
_FORMAT = "1"  # of the plain values below
_DIGEST_SIZE = 32


@dataclass(frozen=True, slots=True)
class Rule:
    """One production.

    ``unit``: its value is that of its only symbol.  ``helper``: a repetition in the grammar; its value is a list, which
    becomes part of the children of the rule above.
    """

    origin: str
    size: int
    builder: str  # the method of the builder that makes its node
    unit: bool
    helper: bool


@dataclass(frozen=True, slots=True)
class Tables:
    """``actions[state][terminal]`` is a state to shift to, or ``~rule`` to reduce by; ``gotos`` follow a reduction."""

    actions: tuple[dict[str, int], ...]
    gotos: tuple[dict[str, int], ...]
    rules: tuple[Rule, ...]
    start: int
    end: int
    words: dict[str, str]  # a quoted word or operator of the grammar -> its terminal
    patterns: dict[str, str]  # NAME and NUMBER -> their regular expressions


@cache
def load() -> Tables:
    """The tables: from the wheel when it has the right ones, else built."""
    data = resources.built(FILE)
    if data is not None and data[:_DIGEST_SIZE] == digest():
        try:
            return _unpack(data)
        except (EOFError, TypeError, ValueError):
            pass  # truncated, or an incompatible marshal format
    return _unpack(build())


def _unpack(data: bytes) -> Tables:
    plain = marshal.loads(data[_DIGEST_SIZE:])
    plain["rules"] = tuple(Rule(*row) for row in plain["rules"])
    return Tables(**plain)


def build() -> bytes:
    """The content of ``_data/kgen.lark.bin``: a digest and the tables."""
    from lark import Lark
    from lark.lexer import PatternStr
    from lark.parsers.lalr_analysis import Shift

    lark = Lark(
        resources.grammar(),
        parser="lalr",
        lexer="basic",
        start="statement",
        keep_all_tokens=True,
        maybe_placeholders=False,
        strict=False,
    )
    parser: Any = lark.parser
    table = parser.parser._parse_table  # there is no public name for it; `Lark.save` writes the same table
    terminals = {t.name for t in lark.terminals} | {"$END"}
    start, end = table.start_states["statement"], table.end_states["statement"]
    # Renumbered for reproducible bytes: lark numbers states and rules in the order of its sets.
    rows = sorted({_row(rule) for row in table.states.values() for act, rule in row.values() if act is not Shift})
    rule_number = {row: i for i, row in enumerate(rows)}
    states = [start]
    number = {start: 0}
    actions: list[dict[str, int]] = []
    gotos: list[dict[str, int]] = []
    for state in states:  # grows while it is walked
        actions.append({})
        gotos.append({})
        for symbol, (act, target) in sorted(table.states[state].items()):
            if act is not Shift:
                actions[-1][symbol] = ~rule_number[_row(target)]
                continue
            if target not in number:
                number[target] = len(states)
                states.append(target)
            (actions if symbol in terminals else gotos)[-1][symbol] = number[target]
    plain = {
        "actions": tuple(actions),
        "gotos": tuple(gotos),
        "rules": tuple(rows),
        "start": number[start],
        "end": number[end],
        "words": {t.pattern.value: t.name for t in lark.terminals if isinstance(t.pattern, PatternStr)},
        "patterns": {t.name: t.pattern.value for t in lark.terminals if not isinstance(t.pattern, PatternStr)},
    }
    return digest() + marshal.dumps(plain, 2)  # version 2 has no references, which depend on reference counts


def _row(rule: Any) -> tuple[str, int, str, bool, bool]:
    origin, size = str(rule.origin.name), len(rule.expansion)
    helper = origin.startswith("_")
    # A rule written `?name: other` passes its value on, unless that alternative has an alias or is a terminal.
    unit = bool(rule.options.expand1) and size == 1 and not rule.alias
    return origin, size, str(rule.alias or origin), unit, helper


def digest() -> bytes:
    """The digest that tables of this grammar begin with."""
    # Neither lark's version, since reading the tables needs no lark, nor Python's: every Python 3 reads version 2 of
    # marshal's format, and one wheel serves all of them.
    return hashlib.sha256(f"{_FORMAT}\0{resources.grammar()}".encode()).digest()
