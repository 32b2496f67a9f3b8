"""Conditions of classes of extents: those that adjoin become one, and no class takes what is another's."""

from __future__ import annotations

import pytest

from kgen.launcher.context import ClassContext
from kgen.launcher.ranges import merged


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        (("n <= 5",), ("n >= 6",), ()),
        (("n <= 5",), ("n >= 7",), None),
        (("n <= 5",), ("n == 6",), ("n <= 6",)),
        (("n == 5",), ("n == 6",), ("n >= 5", "n <= 6")),
        (("n == 5",), ("n == 7",), None),
        (("n >= 9",), ("n == 8",), ("n >= 8",)),
        (("m <= 3", "n <= 5"), ("m <= 3", "n >= 6"), ("m <= 3",)),
        (("m <= 3", "n <= 5"), ("m <= 4", "n >= 6"), None),
        (("n == m",), ("n != m",), ()),
        (("n == m",), ("n != k",), None),
    ],
)
def test_two_classes(one: tuple[str, ...], other: tuple[str, ...], together: tuple[str, ...] | None) -> None:
    classes = [ClassContext(one, ("k",)), ClassContext(other, ("k",))]
    assert merged(classes) == (classes if together is None else [ClassContext(together, ("k",))])


def test_other_choices_are_other_classes() -> None:
    classes = [ClassContext(("n <= 5",), ("k",)), ClassContext(("n >= 6",), ("l",))]
    assert merged(classes) == classes
