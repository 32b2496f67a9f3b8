"""The values of layout structs in C: a loop for the elements of arrays that are computed alike."""

from __future__ import annotations

from collections.abc import Iterable

from kgen.records import replace
from kgen.schedule.expressions import Expr, Name, Op, bare, c
from kgen.schedule.launch import Field

#: Lines that set members, by the bound of ``d``; empty for those that no loop has.
Loops = tuple[tuple[str, tuple[str, ...]], ...]


def loops(fields: Iterable[tuple[Field, str, str]]) -> Loops:
    """``fields``: members, each with the type of its numbers, and its length if it is an array."""
    found: dict[str, tuple[str, ...]] = {}
    for field, type_, length in fields:
        struct = f"layout.{field.within}." if field.within else "layout."
        place = f"{struct}{field.name}"
        value = _divisor(field, type_, f"{struct}extent{'[d]' if length else ''}") or _value(field, type_, length)
        if length and value is None:
            lines = tuple(f"{place}[{i}] = ({type_}){c(one)};" for i, one in enumerate(field.values))
            found[""] = (*found.get("", ()), *lines)
        else:
            line = f"{place}{'[d]' if length else ''} = {value};"
            found[length] = (*found.get(length, ()), line)
    return tuple(found.items())


def _divisor(field: Field, type_: str, extent: str) -> str | None:
    """The values by which indices are divided, from the extents."""
    known = {"magic": f"magic_of<{type_}>({extent})", "shift": f"({type_})kgen_shift({extent})"}
    return known.get(field.name)


def _value(field: Field, type_: str, length: str) -> str | None:
    """The value of a member; of element ``d`` where it is an array, the first of which may be computed otherwise."""
    values = field.values
    if not length:
        return f"({type_}){c(values[0])}"
    alike = [_from(value, d) for d, value in enumerate(values)]
    first = sum(one == alike[0] for one in alike)
    if first == len(values):
        return f"({type_}){c(alike[0] if len(values) > 1 else values[0])}"
    if alike != [alike[0]] * first + [alike[-1]] * (len(values) - first):
        return None
    head, is_head = (c(values[0]), "d == 0") if first == 1 else (c(alike[0]), f"d < {first}")
    return f"({type_})({is_head} ? {bare(head)} : {bare(c(alike[-1]))})"


def _from(value: Expr, d: int) -> Expr:
    """An expression over dimensions as one over those beside ``d``, a variable in C."""
    if isinstance(value, Op):
        return replace(value, args=tuple(_from(a, d) for a in value.args))
    if isinstance(value, Name) and value.indices:
        *access, dimension = value.indices
        apart = dimension - d
        place = f"d {'+' if apart > 0 else '-'} {abs(apart)}" if apart else "d"
        return Name(f"{value.of}{''.join(f'[{a}]' for a in access)}[{place}]")
    return value
