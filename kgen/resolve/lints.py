"""Lints that need only the tree, for legal text that is probably a mistake: ``x > 0 & x < 1``, ``x^2``, ``e``."""

from __future__ import annotations

import re
from collections.abc import Collection

from kgen.diagnostics import Reporter
from kgen.syntax.tree import Binary, Compare, Name, Number

_POWER = re.compile(r"[23](?![\w.])")
_NEIGHBOURS = frozenset("df")  # with arrays `d` or `f`, an `e` is probably an array as well


class TreeLints:
    """Checks operators, operands first; :meth:`finish` reports what depends on the whole program."""

    def __init__(self, reporter: Reporter) -> None:
        self.reporter = reporter
        self._letters: dict[int, Name] = {}  # each `e` that is read, except in `e ** x`
        self._summands: set[int] = set()  # ids of the nodes that are added to something

    def letter(self, node: Name) -> None:
        """A name that is read; of these, each ``e``."""
        if node.id == "e":
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
                    f"`{middle.op}` binds tighter than comparisons, so this comparison uses the marked value",
                    middle.op_span,
                    marks=(middle.left.span, middle.right.span),
                    hint=f"to combine conditions write `{word}`, or put brackets around each",
                )

    def _power(self, node: Binary) -> None:
        """``x ^ 2``, and ``x^2 + 1``, which is ``x ^ 3``."""
        found = _POWER.match(self.reporter.source.text, node.right.span.start)
        if found is not None:
            hint = f"for a power write `x ** {found[0]}`; for exclusive or write `0x{found[0]}`"
            self.reporter.lint("xor-as-power", "`^` is exclusive or", node.op_span, marks=(node.right.span,), hint=hint)

    def finish(self, arrays: Collection[str]) -> None:
        """``arrays`` are the program's inputs. The program does not define ``e``."""
        letters = {name for name in arrays if len(name) == 1}
        for number, node in self._letters.items():
            if _NEIGHBOURS & letters or (letters and number in self._summands):
                message = "`e` is Euler's number, 2.718..., but the arrays have names of one letter"
                hint = "for an array write `input e`; for the number `exp(1.0)`"
                self.reporter.lint("letter-e", message, node.span, hint=hint)
                return
