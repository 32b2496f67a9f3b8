"""What is legal and probably not meant, seen in the tree alone: ``x > 0 & x < 1``, ``x^2``, the letter ``e``."""

from __future__ import annotations

import re
from collections.abc import Collection

from kgen.diagnostics import Reporter
from kgen.syntax.tree import Binary, Compare, Name, Number

_POWER = re.compile(r"[23](?![\w.])")
_NEIGHBOURS = frozenset("df")  # whoever has arrays of these names goes on with `e`


class Suspects:
    """Looks at operators, operands first; :meth:`finish` says what depends on the whole program."""

    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter
        self._letters: dict[int, Name] = {}  # each `e` that is read, but for `e ** x`
        self._summands: set[int] = set()  # those that are added to something, by the node's id

    def letter(self, node: Name) -> None:
        """An ``e`` that is read."""
        self._letters[id(node)] = node

    def compare(self, node: Compare) -> None:
        if len(node.operands) > 2:
            self._chain(node)

    def binary(self, node: Binary) -> None:
        if node.op == "^":
            self._power(node)
        elif not self._letters:
            return
        elif node.op == "**":
            self._letters.pop(id(node.left), None)
        elif node.op in ("+", "-"):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if not isinstance(other, Number):
                    self._summands.add(id(one))

    def _chain(self, node: Compare) -> None:
        """``x > 0 & x < 1`` compares twice, with ``0 & x`` in the middle."""
        for middle in node.operands[1:-1]:
            if isinstance(middle, Binary) and middle.op in ("&", "|") and middle.span.start == middle.left.span.start:
                word = {"&": "and", "|": "or"}[middle.op]
                self.reporter.lint(
                    "binds-tighter",
                    f"`{middle.op}` binds tighter than comparisons, so this compares with the value marked",
                    middle.op_span,
                    marks=(middle.left.span, middle.right.span),
                    hint=f"to join conditions write `{word}`, or brackets around each",
                )

    def _power(self, node: Binary) -> None:
        """``x ^ 2``, and ``x^2 + 1``, which is ``x ^ 3``."""
        found = _POWER.match(self.reporter.source.text, node.right.span.start)
        if found is not None:
            hint = f"a power is `x ** {found[0]}`; where bits are meant `0x{found[0]}` says so"
            self.reporter.lint("xor-as-power", "`^` is exclusive or", node.op_span, marks=(node.right.span,), hint=hint)

    def finish(self, arrays: Collection[str]) -> None:
        """``arrays`` are the program's inputs; ``e`` is none of them, and nothing else in the program either."""
        letters = {name for name in arrays if len(name) == 1}
        for number, node in self._letters.items():
            if _NEIGHBOURS & letters or (letters and number in self._summands):
                message = "`e` is Euler's number, 2.718..., beside arrays that are called by a letter"
                hint = "for an array write `input e`; for the number `exp(1.0)`"
                self.reporter.lint("letter-e", message, node.span, hint=hint)
                return
