"""``dataclass`` as the standard library has it, in a fifth of its time: one method is compiled for each class, not six.

kgen has 250 of these classes.  The standard decorator took more than half of the time of a process's first call.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, Field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen=False, slots=False, eq=True, repr=True, kw_only=False):
        """The options of :func:`dataclasses.dataclass` that kgen uses."""

        def made(cls):
            cls = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
            fields = dataclasses.fields(cls)
            cls.__init__ = _init(cls, fields, frozen=frozen)
            methods = _equality(fields, frozen=frozen) if eq else {}
            if repr:
                methods["__repr__"] = _repr(fields)
            if frozen:
                methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
            if frozen and slots:
                methods |= {"__getstate__": _state, "__setstate__": _set_state}
            for name, method in methods.items():
                if name not in vars(cls):
                    setattr(cls, name, method)
            return cls

        return made


def _init(cls: type, fields: tuple[Field[Any], ...], *, frozen: bool) -> Any:
    given = [f for f in fields if f.init]
    by_position = [_parameter(f) for f in given if not f.kw_only]
    by_name = [_parameter(f) for f in given if f.kw_only]
    signature = ", ".join(["self", *by_position, *(["*", *by_name] if by_name else [])])
    lines = [f"def __init__({signature}):"]
    for f in given:
        value = f.name if f.default_factory is MISSING else f"made_{f.name}() if {f.name} is MISSING else {f.name}"
        lines.append(f" set_(self, {f.name!r}, {value})" if frozen else f" self.{f.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    found: dict[str, Any] = {"MISSING": MISSING, "set_": object.__setattr__}
    found |= {f"default_{f.name}": f.default for f in given} | {f"made_{f.name}": f.default_factory for f in given}
    exec("\n".join([*lines, " return"]), found)
    init = found["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _parameter(field: Field[Any]) -> str:
    if field.default_factory is not MISSING:
        return f"{field.name}=MISSING"
    return field.name if field.default is MISSING else f"{field.name}=default_{field.name}"


def _equality(fields: tuple[Field[Any], ...], *, frozen: bool) -> dict[str, Any]:
    compared = _getter([f.name for f in fields if f.compare])

    def equal(self: Any, other: Any) -> Any:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(compared(self))

    return {"__eq__": equal, "__hash__": hashed if frozen else None}


def _getter(names: list[str]) -> Any:
    """A function that gives a tuple of these attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    return (lambda value: (getattr(value, names[0]),)) if names else lambda value: ()


def _repr(fields: tuple[Field[Any], ...]) -> Any:
    shown = [f.name for f in fields if f.repr]

    def represented(self: Any) -> str:
        return f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    return represented


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
