"""Checks calls: the function, the number of arguments and the keywords.  ``kgen/check`` types the arguments."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from kgen.diagnostics import Reporter
from kgen.dtypes import BY_NAME
from kgen.functions import FUNCTIONS, KEYWORDS, MODES, Function
from kgen.literals import LiteralError, evaluate
from kgen.source import Span
from kgen.spec import counted
from kgen.syntax.tree import Call, Def, Keyword, Name, Number, Tuple, TypeName

_LONGEST = 60  # characters of a name in a message
_MOST_LOOKED_UP = 20  # unknown names for which a similar name is searched

_FOREIGN_KEYWORDS = {
    "dim": "axis",
    "axes": "axis",
    "dims": "axis",
    "keepdim": "keepdims",
    "keep_dims": "keepdims",
    "ddof": "correction",
    "type": "dtype",
}

#: A function, a keyword that it has in other libraries -> what to write.
_OTHER_NAMES = {
    ("gelu", "approximate"): "write `gelu_tanh(x)` for the form with tanh, `gelu(x)` for the other",
    ("norm", "ord"): "`norm` is the root of the sum of squares; others: `sum(abs(x))`, `max(abs(x))`",
    ("norm", "p"): "`norm` is the root of the sum of squares; others: `sum(abs(x))`, `max(abs(x))`",
    ("std", "unbiased"): "write `correction=1` for `unbiased=True`",
    ("var", "unbiased"): "write `correction=1` for `unbiased=True`",
}

_SIGNATURES = {
    "where": "condition, a, b",
    "select": "condition, a, b",
    "clip": "x, lo, hi",
    "clamp": "x, lo, hi",
    "lerp": "a, b, t",
    "mix": "a, b, t",
    "smoothstep": "a, b, x",
    "ldexp": "x, n",
    "index": "axis",
    "size": "axis",
    "transpose": "x, (1, 0)",
    "flip": "x, axis=0",
    "split": "x, axis=-1, by=128",
    "merge": "x, axis=(-2, -1)",
    "repeat": "x, 4, axis=1",
    "concat": "a, b, axis=-1",
    "stack": "a, b, axis=-1",
    "take": 'a, i, axis=0, mode="clamp"',
}


class CallChecker:
    def __init__(self, reporter: Reporter, defs: Mapping[str, Def], constants: Mapping[str, float]) -> None:
        self.reporter = reporter
        self.defs = defs
        self.constants = constants
        self.unknown: set[str] = set()

    def user(self, node: Call, definition: Def) -> None:
        """A call of a ``def`` of the program."""
        if node.keywords:
            self._no_keywords(node, f"{node.function}({', '.join(p.name for p in definition.params)})", True)
        if len(node.args) != len(definition.params) and not node.keywords:
            params = ", ".join(param.name for param in definition.params)
            hint = f"it is defined as `{node.function}({params})`"
            self._wrong_count(node, (len(definition.params),), hint, [definition.name_span])

    def builtin(self, node: Call) -> None:
        """A call of a function of the table."""
        function = FUNCTIONS.get(node.function)
        if function is None:
            self._unknown(node)
            return
        if node.keywords and node.function not in KEYWORDS:
            given = len(node.args) + len(node.keywords)
            self._no_keywords(node, _signature(node.function, given, function), given in function.arity)
            return
        self._keywords(node, function)
        if len(node.args) not in function.arity:
            self._wrong_count(node, function.arity, self._count_hint(node, function), [])

    def _no_keywords(self, node: Call, signature: str, fits: bool) -> None:
        """One error for all keywords of a call without keywords. ``fits``: it takes that many positional arguments."""
        first, *others = node.keywords
        message = f"`{node.function}` takes no keyword arguments"
        hint = f"pass arguments by position: `{signature}`" if fits else f"write `{signature}`"
        hint = _OTHER_NAMES.get((node.function, first.name), hint)
        marks = [node.function_span, *(keyword.span for keyword in others)]
        self.reporter.error("unknown-keyword", message, first.span, marks=marks, hint=hint)

    def _unknown(self, node: Call) -> None:
        name = node.function
        self.unknown.add(name)
        # The search for similar names is slow, and no report shows more hints than this.
        hint = (len(self.unknown) <= _MOST_LOOKED_UP and self._nearest(name)) or _define(node)
        message = f"there is no function `{name[:_LONGEST]}`"
        self.reporter.error("unknown-function", message, node.function_span, hint=hint)

    def _nearest(self, name: str) -> str | None:
        from kgen.syntax.foreign_functions import FOREIGN_FUNCTIONS, spelling_in_kgen

        if name in BY_NAME:
            return f"write a conversion as `cast<{name}>(x)`"
        if (hint := spelling_in_kgen(name)) is not None:
            return hint
        plain = name.strip("_")
        for candidate in (plain, plain.removesuffix("f"), plain.removesuffix("l"), plain.lower()):
            if candidate in FUNCTIONS:
                return f"write `{candidate}`: the types of its arguments choose the version"
        known = [*self.defs, *FUNCTIONS]
        near = [k for k in known if sorted(k) == sorted(plain)]  # transposed letters: tahn
        near = near or [k for k in known if _differs_by_a_letter(k, plain)]
        near = near or get_close_matches(name[:_LONGEST], [*known, *FOREIGN_FUNCTIONS], n=1, cutoff=0.8)
        if near and near[0] not in known:
            return f"for `{near[0]}`: {FOREIGN_FUNCTIONS[near[0]]}"
        return f"did you mean `{near[0]}`?" if near else None

    def _wrong_count(self, node: Call, arity: tuple[int, ...], hint: str | None, marks: list[Span]) -> None:
        given = len(node.args)
        message = f"`{node.function}` takes {_counts(arity)}, not {given}"
        places = [argument.span for argument in node.args] + marks
        self.reporter.error("wrong-arity", message, node.function_span, marks=places, hint=hint)

    def _count_hint(self, node: Call, function: Function) -> str:
        name, given = node.function, len(node.args)
        if function.rule == "reduction" and given > 1:
            if isinstance(node.args[1], Number) or evaluate_quietly(node, self.constants):
                return f"the axis is a keyword: `{name}(x, axis=...)`"
            return f"`{name}` reduces one array along `axis=`; combine arrays with operators first"
        if name == "log" and given == 2:
            return "the base is part of the name: `log2(x)`, `log10(x)`, or `log(x) / log(b)`"
        if name == "round" and given == 2:
            return "it rounds to whole numbers: `round(x * 100) / 100`"
        if name in ("clip", "clamp") and given == 2:
            return "write `max(x, lo)` or `min(x, hi)` for one bound"
        if name == "expand":
            return "write `expand(w, axis=(1, 2))`"
        return f"write `{_signature(name, function.arity[0], function)}`"

    # --- keywords ---

    def _keywords(self, node: Call, function: Function) -> None:
        allowed = KEYWORDS.get(node.function, frozenset())
        elementwise = node.function in ("min", "max") and len(node.args) > 1
        seen: dict[str, Keyword] = {}
        for keyword in node.keywords:
            name = keyword.name
            if name not in allowed:
                self._unknown_keyword(node, keyword, allowed)
            elif elementwise:
                self._elementwise(node, keyword)
            elif name in seen:
                message = f"`{name}=` is given twice"
                hint = "write it once"
                self.reporter.error("unknown-keyword", message, keyword.span, marks=[seen[name].span], hint=hint)
            else:
                self._value(keyword)
            seen.setdefault(name, keyword)

    def _elementwise(self, node: Call, keyword: Keyword) -> None:
        name = node.function
        self.reporter.error(
            "unknown-keyword",
            f"`{name}` of several arguments works element by element and takes no `{keyword.name}=`",
            keyword.span,
            marks=[argument.span for argument in node.args],
            hint=f"reduce one array: `{name}({name}(a, b), axis=...)`",
        )

    def _unknown_keyword(self, node: Call, keyword: Keyword, allowed: frozenset[str]) -> None:
        name = keyword.name
        meant = _FOREIGN_KEYWORDS.get(name)
        near = [meant] if meant in allowed else get_close_matches(name[:_LONGEST], sorted(allowed), n=1, cutoff=0.6)
        if (node.function, name) in _OTHER_NAMES:
            hint = _OTHER_NAMES[node.function, name]
        elif near:
            hint = f"write `{near[0]}=`"
        else:
            hint = "it takes " + ", ".join(f"`{word}=`" for word in sorted(allowed))
        message = f"`{node.function}` takes no `{name[:_LONGEST]}=`"
        self.reporter.error("unknown-keyword", message, keyword.span, marks=[node.function_span], hint=hint)

    def _value(self, keyword: Keyword) -> None:
        wanted = _VALUES[keyword.name]
        value = keyword.value
        try:
            good = _fits(keyword.name, value, self.constants)
        except LiteralError as problem:
            message, hint = f"this has no value: {problem}", "write the value itself"
            self.reporter.error("bad-literal", message, problem.span, hint=hint)
            return
        if not good:
            message = f"`{keyword.name}=` takes {wanted[0]}"
            none = isinstance(value, Name) and value.id == "None"
            hint = f"leave `{keyword.name}=` out" if none else f"write {wanted[1]}"
            self.reporter.error("bad-keyword", message, value.span, hint=hint)


_VALUES: dict[str, tuple[str, str]] = {
    "axis": ("a whole number or a tuple of them, written out", "`axis=-1` or `axis=(0, 1)`"),
    "axes": ("a tuple of whole numbers, written out", "`axes=(1, 0)`"),
    "by": ("a whole number, written out", "`by=128`; each number is a program of its own"),
    "keepdims": ("`true` or `false`", "`keepdims=true`"),
    "correction": ("a number, written out", "`correction=1`"),
    "dtype": ("a type", "`dtype=f64`"),
    "mode": (f"one of {', '.join(MODES)}", '`mode="clamp"`'),
    "value": ("a number, written out", "`value=-1`"),
}


def _fits(name: str, value: object, constants: Mapping[str, float]) -> bool:
    if isinstance(value, TypeName):
        return name == "dtype"
    if isinstance(value, Tuple):
        return name in ("axis", "axes") and all(_fits("axis", item, constants) for item in value.items)
    if name == "mode":
        return isinstance(value, Name) and value.id in MODES
    literal = evaluate(value, constants)  # type: ignore[arg-type]
    match name:
        case "axis" | "by":
            return isinstance(literal, int) and not isinstance(literal, bool)
        case "keepdims":
            return isinstance(literal, bool)
        case "correction" | "value":
            return isinstance(literal, int | float) and not isinstance(literal, bool)
        case _:
            return False


def _differs_by_a_letter(name: str, other: str) -> bool:
    """Whether one letter behind the first is another one: ``silo``, ``exo``."""
    if not len(name) == len(other) > 2 or name[0] != other[0]:
        return False
    return sum(a != b for a, b in zip(name, other, strict=True)) == 1


def _define(node: Call) -> str:
    names = [f"x{n}" for n in range(1, len(node.args) + 1)] if len(node.args) > 1 else ["x"]
    defined = f"define it first: `def {node.function[:_LONGEST]}({', '.join(names)}) = ...`"
    return defined if len(node.args) > 1 or node.keywords else f"{defined}; to multiply write `*`"


def evaluate_quietly(node: Call, constants: Mapping[str, float]) -> bool:
    """Whether the second argument is a literal expression."""
    try:
        return evaluate(node.args[1], constants) is not None
    except LiteralError:
        return True


def _signature(name: str, given: int, function: Function) -> str:
    """The call of a function, with ``given`` arguments if it takes that many."""
    count = given if given in function.arity else function.arity[0]
    return f"{name}({_SIGNATURES.get(name, 'x, y, z, w'[: 3 * count - 2])})"


def _counts(arity: tuple[int, ...]) -> str:
    if len(arity) == 1:
        return counted(arity[0], "argument")
    if len(arity) == 2:
        return f"{arity[0]} or {arity[1]} arguments"
    return f"{arity[0]} to {arity[-1]} arguments"
