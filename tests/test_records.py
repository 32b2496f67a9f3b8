"""``kgen.records.dataclass`` makes what the standard decorator makes."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import KW_ONLY, FrozenInstanceError, field
from functools import cache
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import pytest

import kgen
from kgen import initialisers, records


def classes(decorator: Callable[..., Any], **options: Any) -> tuple[Any, Any]:
    """A class and one that inherits from it."""

    @decorator(**options)
    class Base:
        """A class."""

        a: int
        b: str = "x"
        kind: ClassVar[str] = "base"
        named: int = field(default=3, kw_only=True)
        note: str = field(default="", compare=False, repr=False)

    @decorator(**options)
    class Derived(Base):
        """A class that inherits."""

        many: list[int] = field(default_factory=list)
        _: KW_ONLY
        last: int = 7
        later: int = field(init=False, compare=False, repr=False)

    return Base, Derived


OPTIONS = [
    {"frozen": True, "slots": True}, {"frozen": True}, {"slots": True}, {}, {"frozen": True, "eq": False},
    {"slots": True, "repr": False}, {"frozen": True, "slots": True, "kw_only": True},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_it_does_what_the_standard_decorator_does(options: dict[str, Any]) -> None:
    assert records.dataclass is not dataclasses.dataclass
    mine, theirs = classes(records.dataclass, **options), classes(dataclasses.dataclass, **options)
    for one, other in zip(mine, theirs, strict=True):
        assert _parameters(one) == _parameters(other)
        assert one.__match_args__ == other.__match_args__
        assert (one.__hash__ is None) == (other.__hash__ is None)
        assert getattr(one, "__slots__", None) == getattr(other, "__slots__", None)
        found = [_facts(one), _facts(other)]
        assert found[0] == found[1]


def _parameters(cls: Any) -> list[tuple[str, Any, bool]]:
    found = inspect.signature(cls).parameters.values()
    return [(p.name, p.kind, p.default is inspect.Parameter.empty) for p in found]


def _facts(cls: Any) -> list[Any]:
    one, same, other = cls(a=1, note="n"), cls(a=1), cls(a=2)
    found: list[Any] = [one == same, one == other, one != same, one == (1, "x"), one.b, one.note]
    found.append("plain" if "object at" in repr(one) else repr(one))
    changed = dataclasses.replace(one, b="y")
    if hasattr(copy, "replace"):  # since Python 3.13
        found.append(copy.replace(one, b="y") == changed)
    found += [
        (changed.a, changed.b, changed.note, changed.named, changed.kind),
        [f.name for f in dataclasses.fields(one)],
    ]
    if not hasattr(one, "many"):
        found += [copy.copy(one).a, copy.deepcopy(one).note]
        if cls.__hash__ is not None:
            found += [hash(one) == hash(same), hash(one) == hash(other), len({one, same, other})]
    else:
        one.many.append(3)
        found += [one.many, same.many, one.last]
    for change, given in ((setattr, ("a", 3)), (delattr, ("a",))):
        try:
            change(one, *given)
            found.append("changed")
        except FrozenInstanceError as problem:
            found.append(str(problem))
    return found


@records.dataclass(frozen=True, slots=True)
class Pickled:
    """For pickle, which finds classes by name."""

    a: int
    b: tuple[int, ...] = ()


def test_frozen_values_with_slots_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Pickled(1, (2,)))) == Pickled(1, (2,))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_replace_does_what_the_standard_function_does(options: dict[str, Any]) -> None:
    for cls in classes(records.dataclass, **options):
        one = cls(a=1, note="n", named=4)
        for changes in ({}, {"b": "y"}, {"a": 2, "named": 5, "note": "m"}):
            mine, theirs = records.replace(one, **changes), dataclasses.replace(one, **changes)
            names = [f.name for f in dataclasses.fields(cls) if f.init]
            assert [getattr(mine, name) for name in names] == [getattr(theirs, name) for name in names]
            assert type(mine) is cls
        with pytest.raises(TypeError):
            records.replace(one, other=1)


def test_only_one_method_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """And that once for all classes that have as many fields."""
    compiled = mock.Mock(side_effect=exec)
    monkeypatch.setattr("builtins.exec", compiled)
    monkeypatch.setattr(initialisers, "_known", cache(dict))
    initialisers.code.cache_clear()
    for _ in range(3):
        classes(records.dataclass, frozen=True, slots=True)
    assert compiled.call_count == 2
    assert [len(inspect.signature(c).parameters) for c in classes(records.dataclass)] == [4, 6]


def test_kgen_uses_no_other_decorator() -> None:
    package = Path(kgen.__file__).parent
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "dataclasses":
                found = {alias.name for alias in node.names} & {"dataclass", "replace"}
                assert not found or path.name == "records.py", path
