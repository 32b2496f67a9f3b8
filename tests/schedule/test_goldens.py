"""Every file of ``cases/schedule`` is scheduled as it says, for the reasons that it gives (``case.py``: the format)."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from kgen.families import NAMES
from kgen.schedule.schedule import AccessKind
from tests.cases.headers import files
from tests.schedule.case import report


@pytest.mark.parametrize("path", files("schedule", "*.txt"), ids=lambda path: path.stem)
def test_schedule(path: Path, bless: Callable[[Path, str], None]) -> None:
    """These layouts give this schedule, for these reasons."""
    given = path.read_text(encoding="utf-8").partition("\n---\n")[0].rstrip("\n")
    bless(path, f"{given}\n---\n{report(given)}")


def test_every_decision_has_goldens() -> None:
    """All templates and kinds of access occur, and of each field of a schedule more than one value (some are left out
    where they are false).

    Two kinds are of files for any layout, which nothing is decided for before a call (tests/launcher).
    """
    text = "\n".join(path.read_text(encoding="utf-8") for path in files("schedule", "*.txt"))
    schedules = [json.loads(found[0]) for found in re.finditer(r"^\{\n.*?^\}$", text, re.MULTILINE | re.DOTALL)]
    schedules += [part for schedule in schedules for part in schedule.get("parts", ())]
    values: dict[str, set[str]] = defaultdict(set)
    for schedule in schedules:
        accesses = schedule.get("accesses", ())  # a horizontal one has those of its parts
        for name, value in [*schedule.items(), *(pair for t in accesses for pair in t.items())]:
            values[name].add(str(value))
    assert values["template"] == set(NAMES)
    assert values["kind"] == set(get_args(AccessKind)) - {"run", "either"}
    assert not [name for name, found in values.items() if len(found) < 2 and found != {"True"}]
