"""What the campaign does on a GPU, done on the CPU target: calls on tensors in one block, then compared."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from . import arena, device_runs
from .runs import Count
from .subjects import SHARES, Ready, subject, subjects

pytest.importorskip("torch")


def test_programs_on_tensors() -> None:
    """Programs of every kind run and are right."""
    count = Count()
    found = list(device_runs.failures(subjects(range(400, 460)), count, "cpu"))
    assert not found, [s.report(problem, "cpu", small=False) for s, problem in found]
    assert count.run.total() + count.refused.total() == 60
    assert all(count.run[kind] > 5 for kind, _ in SHARES)


def test_wrong_results_are_found() -> None:
    """A result that comes back changed fails its program, and no other."""
    wrong = mock.patch.object(arena.Results, "array", _one_changed(arena.Results.array))
    count = Count()
    with wrong:
        found = list(device_runs.failures(subjects(range(400, 420)), count, "cpu"))
    assert len(found) == 1
    assert isinstance(found[0][1], AssertionError)
    assert count.run.total() + count.refused.total() == 19


def _one_changed(array: object) -> object:
    changed: list[bool] = []

    def other(self: object, tensor: object) -> object:
        found = array(self, tensor)  # type: ignore[operator]
        if found.size and not changed and found.dtype.kind in "iu":
            changed.append(True)
            return found + 1
        return found

    return other


def test_writes_beside_a_result_are_found() -> None:
    """A byte next to an array that changes is no part of a result."""
    ready: Ready = next(r for seed in range(100) if (r := subject(seed).prepare("k", "cpu")) and not r.written())
    torch = pytest.importorskip("torch")
    block = arena.Arena(torch, [ready.arguments], "cpu")
    same = block.before.copy()
    block.check_unwritten(0, ready.arguments, set(), same)
    same[block.ranges[0][1] - 1] ^= 1
    with pytest.raises(AssertionError, match="no part of a result"):
        block.check_unwritten(0, ready.arguments, set(), same)


def test_places_keep_layouts() -> None:
    """Permuted, stepped, repeated and offset arrays keep values, strides and alignment."""
    torch = pytest.importorskip("torch")
    for seed in range(60):
        one = subject(seed).prepare("k", "cpu")
        if one.copied:
            continue
        block = arena.Arena(torch, [one.arguments], "cpu")
        for name, value in block.arrays(0, one.arguments, block.before).inputs.items():
            given = one.arguments.inputs[name]
            if isinstance(given, np.ndarray):
                assert value.tobytes() == given.tobytes()
                assert value.strides == tuple(map(abs, given.strides))
                if not given.size:
                    continue
                tensor = block.tensors(0, one.arguments, block.block).inputs[name]
                assert (tensor.data_ptr() - block.block.data_ptr()) % 16 == given.ctypes.data % 16
