"""``dataclass`` as the standard library has it, in a tenth of its time: classes with as many fields share their code.

kgen has 300 of these classes.  The standard decorator took more than half of the time of a process's first call.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, Field
from inspect import get_annotations
from operator import attrgetter
from types import FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, Any

from kgen import initialisers

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass, replace as replace
else:

    def replace(value, /, **changes):
        """As :func:`dataclasses.replace`, in half of the time."""
        return value.__replace__(**changes)

    def dataclass(*, frozen=False, slots=False, eq=True, repr=True, kw_only=False):
        """The options of :func:`dataclasses.dataclass` that kgen uses."""

        def made(cls):
            fields = _fields(cls, kw_only=kw_only)
            cls.__dataclass_fields__ = {f.name: f for f in fields}
            if slots:
                cls = _with_slots(cls, fields)
            methods = {"__init__": _init(cls, fields, frozen=frozen), "__replace__": _replacing(fields)}
            methods["__match_args__"] = tuple([f.name for f in fields if f.init and not f.kw_only])
            if eq:
                methods |= _equality(fields, frozen=frozen)
            if repr:
                methods["__repr__"] = _repr(fields)
            if frozen:
                methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
            if frozen and slots:
                methods |= {"__getstate__": _state, "__setstate__": _set_state}
            own = vars(cls)
            for name, method in methods.items():
                if name not in own:
                    setattr(cls, name, method)
            return cls

        return made


def _fields(cls: Any, *, kw_only: bool) -> tuple[Field[Any], ...]:
    """The fields of a class and its bases, as :func:`dataclasses.fields` finds them; annotations are texts."""
    found: dict[str, Field[Any]] = {}
    for base in cls.__mro__[-1:0:-1]:
        found |= getattr(base, "__dataclass_fields__", {})
    for name, annotation in get_annotations(cls).items():
        if annotation == "KW_ONLY":
            kw_only = True
        elif not annotation.startswith("ClassVar"):
            found[name] = _field(cls, name, annotation, kw_only=kw_only)
    return tuple(found.values())


def _field(cls: type, name: str, annotation: str, *, kw_only: bool) -> Any:
    default = vars(cls).get(name, MISSING)
    made: Any = default if isinstance(default, Field) else dataclasses.field(default=default)
    made.name, made.type, made._field_type = name, annotation, _KIND
    if made.kw_only is MISSING:
        made.kw_only = kw_only
    if made is default and made.default is MISSING:
        delattr(cls, name)
    elif made is default:
        setattr(cls, name, made.default)
    return made


def _with_slots(cls: Any, fields: tuple[Field[Any], ...]) -> Any:
    """The class with slots for its own fields, which have no defaults then."""
    inherited = {name for base in cls.__mro__[1:-1] for name in vars(base).get("__slots__", ())}
    names = [f.name for f in fields]
    body = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__", *names)}
    body["__slots__"] = tuple([name for name in names if name not in inherited])
    made = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


@dataclasses.dataclass(init=False, repr=False, eq=False)
class _Plain:
    """Its field says how the standard library marks one."""

    field: int


_KIND: Any = vars(_Plain)["__dataclass_fields__"]["field"]._field_type


def _init(cls: type, fields: tuple[Field[Any], ...], *, frozen: bool) -> Any:
    given = sorted((f for f in fields if f.init), key=lambda f: bool(f.kw_only))  # stable
    positional = [f for f in given if not f.kw_only]
    factories = tuple(i for i, f in enumerate(given) if f.default_factory is not MISSING)
    setting, setters = _setting(cls, given, frozen=frozen)
    code = initialisers.code(len(positional), len(given), factories, setting, hasattr(cls, "__post_init__"))
    names = {f"_{i}": f.name for i, f in enumerate(given)}
    code = code.replace(
        co_varnames=_renamed(code.co_varnames, names),
        co_names=_renamed(code.co_names, names),
        co_consts=_renamed(code.co_consts, names),
        co_qualname=f"{cls.__qualname__}.__init__",
    )
    found = {"MISSING": MISSING, **setters} | {f"made{i}": given[i].default_factory for i in factories}
    defaults = {f.name: default for f in given if (default := _default(f)) is not None}
    init = FunctionType(code, found, "__init__", tuple(defaults[f.name][0] for f in positional if f.name in defaults))
    init.__kwdefaults__ = {f.name: defaults[f.name][0] for f in given[len(positional) :] if f.name in defaults}
    return init


def _setting(cls: type, fields: list[Field[Any]], *, frozen: bool) -> tuple[str, dict[str, Any]]:
    """How ``__init__`` sets fields, and the functions that it calls for that."""
    if not frozen:
        return initialisers.PLAIN, {}
    # What a subclass without slots has as a default hides its base's slot.
    found = [next((vars(base)[f.name] for base in cls.__mro__ if f.name in vars(base)), None) for f in fields]
    setters = {f"set{i}": slot.__set__ for i, slot in enumerate(found) if isinstance(slot, MemberDescriptorType)}
    if len(setters) < len(fields):
        return initialisers.FROZEN, {"set_": object.__setattr__}
    return initialisers.FROZEN_SLOTS, setters


def _default(field: Field[Any]) -> tuple[Any] | None:
    """A parameter's default."""
    if field.default_factory is not MISSING:
        return (MISSING,)
    return None if field.default is MISSING else (field.default,)


def _renamed(values: tuple[Any, ...], names: dict[str, str]) -> tuple[Any, ...]:
    return tuple(names.get(v, v) if type(v) is str else v for v in values)


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


def _replacing(fields: tuple[Field[Any], ...]) -> Any:
    names = [f.name for f in fields if f.init]
    given = _getter(names)

    def replaced(self: Any, /, **changes: Any) -> Any:
        return self.__class__(**(dict(zip(names, given(self), strict=True)) | changes))

    return replaced


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
