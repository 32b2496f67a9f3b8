"""Random well-typed programs with their arguments.

``generate(seed)`` makes one call, from arrays of any shape, some of them indexed, or of one that is given.
Whether operands suit an operator is asked of the checker once for each combination of types, so nearly every program
that is made is accepted.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from kgen.dtypes import BOOL, DEFAULT_OF_KIND, DTYPES, INT64, DType, Kind

from .arrays import Recipe, random_recipe, random_shape
from .forms import CHOICE, LITERALS, OPERATORS, POWERS, UNARY, WEAK, casts, functions, spelled, typed
from .indices import part, source
from .program import Call, Node, Statement, broadcast, key


class Generator:
    """One program in the making."""

    def __init__(self, rng: Random, exact: bool, shape: tuple[int, ...] | None = None) -> None:
        self.rng = rng
        self.exact = exact
        self.shape = random_shape(rng, exact) if shape is None else shape
        self.indexed = shape is None
        self.no_arrays = bool(self.shape) and rng.random() < 0.04
        self.inputs: dict[str, Recipe | Any] = {}
        self.declared: dict[str, DType] = {}
        self.params: list[tuple[str, str, Any]] = []
        self.defs: list[str] = []
        self.lets: list[Statement] = []
        self.pool: list[Node] = []

    # --- leaves -----------------------------------------------------------------------------------

    def _leaves(self) -> None:
        rng = self.rng
        if self.no_arrays:
            self._input("a0", BOOL, first=False)
            self._param("p", weak=False)
            self._place()
            return
        favourite = rng.sample(DTYPES, rng.choice((1, 2, 2, 3)))
        for i in range(rng.choice((1, 2, 2, 3, 3, 4))):
            dtype = rng.choice(favourite) if rng.random() < 0.8 else rng.choice(DTYPES)
            self._input(f"{rng.choice('abxzwq')}{i}", dtype, first=i == 0)
        if rng.random() < 0.2:
            self._param("p", weak=rng.random() < 0.5)
        if self.shape and rng.random() < 0.15:
            self._place()
        if len(self.shape) >= 2 and rng.random() < 0.15:
            self._expanded("v")
        arrays = [n for n, v in self.inputs.items() if isinstance(v, Recipe) and v.shape]
        if arrays and rng.random() < 0.1:
            name = rng.choice(arrays)
            self.pool.append(Node(f"size({name}, {rng.randrange(-1, len(self.inputs[name].shape))})", type=INT64))
        self._taken()

    def _input(self, name: str, dtype: DType, first: bool) -> None:
        rng = self.rng
        if self.no_arrays or (not first and rng.random() < 0.12):
            value = rng.choice((True, 2, -3, 5, 0.1, 1.5, float("inf"), 1 + 2j))
            self.inputs[name] = value
            kinds = {bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT, complex: Kind.COMPLEX}
            self.pool.append(Node(name, type=kinds[type(value)]))
            return
        shape = self.shape
        if not first and rng.random() < 0.4:
            shape = tuple(1 if rng.random() < 0.4 else n for n in shape[rng.randrange(len(shape) + 1) :])
        self.inputs[name] = random_recipe(rng, dtype, shape)
        if rng.random() < 0.1:
            self.declared[name] = dtype
        self.pool.append(Node(name, type=dtype, shape=shape))

    def _param(self, name: str, *, weak: bool) -> None:
        rng = self.rng
        default = rng.choice(("1", "2.5", "3", "0.1"))
        if weak:
            given = rng.choice((None, 2, 0.3, float("nan")))
            kind = Kind.FLOAT if isinstance(given, float) or (given is None and "." in default) else Kind.INT
            self.params.append((f"param {name} = {default}", name, given))
            self.pool.append(Node(name, type=kind))
            return
        dtype = rng.choice([t for t in DTYPES if not t.is_complex])
        given = rng.choice((0, 1, 3)) if dtype.is_int or dtype.is_bool else rng.choice((0.1, 2, -1.5))
        self.params.append(
            (f"param {name}: {rng.choice((dtype.name, dtype.short))}", name, bool(given) if dtype is BOOL else given)
        )
        self.pool.append(Node(name, type=dtype))

    def _place(self) -> None:
        """``index`` and ``size``, which count in the statement's own shape."""
        rank = len(self.shape)
        axis = self.rng.randrange(-rank, rank)
        needs = -axis if axis < 0 else rank
        word = self.rng.choice(("index", "size"))
        self.pool.append(Node(f"{word}({axis})", type=INT64, needs=needs))

    def _expanded(self, name: str) -> None:
        """An array that lacks some axes of the shape, with ``expand`` putting them back."""
        rank = len(self.shape)
        axes = sorted(self.rng.sample(range(rank), self.rng.randrange(1, rank)))
        inside = self._array(name, tuple(n for i, n in enumerate(self.shape) if i not in axes))
        if self.rng.random() < 0.5:
            inside = self._apply("({0} * {0})", [inside]) or inside
        spelled_axes = [axis if self.rng.random() < 0.5 else axis - rank for axis in axes]
        word = str(spelled_axes[0]) if len(axes) == 1 else f"({', '.join(map(str, spelled_axes))})"
        whole = tuple(1 if i in axes else n for i, n in enumerate(self.shape))
        self.pool.append(Node(f"expand({{0}}, axis={word})", (inside,), inside.type, whole))

    def _taken(self) -> None:
        """For some programs an index of larger arrays, or of an expression of them."""
        rng = self.rng
        if not (self.shape and self.indexed) or rng.random() > 0.25:
            return
        shape, form = source(rng, self.shape, "g0" if rng.random() < 0.5 else None)
        inside = self._array("g0", shape)
        if shape and rng.random() < 0.6:
            small = tuple(1 if rng.random() < 0.3 else n for n in shape[rng.randrange(len(shape)) :])
            place = Node(f"index({rng.randrange(-len(shape), len(shape))})", type=INT64)
            other = place if rng.random() < 0.3 else self._array("g1", small)
            inside = self._apply(rng.choice(("({0} + {1})", "({1} * {0})", CHOICE)), [inside, other, inside]) or inside
        self.pool.append(Node(form, (inside,), inside.type, self.shape, exact=inside.exact))

    def _array(self, name: str, shape: tuple[int, ...]) -> Node:
        dtype = self.rng.choice(DTYPES)
        self.inputs[name] = random_recipe(self.rng, dtype, shape)
        return Node(name, type=dtype, shape=shape)

    def _part(self, node: Node, *, like: bool) -> Node:
        """An index of a node, or the node where it has no axes to index."""
        unsuited = not isinstance(node.type, DType) or node.needs > len(node.shape)
        if unsuited or not node.shape or self.no_arrays:
            return node
        shape, items = part(self.rng, node.shape, like=like)
        return Node(f"{{0}}{items}", (node,), node.type, shape, exact=node.exact)

    # --- growing ----------------------------------------------------------------------------------

    def _literal(self) -> Node:
        text = self.rng.choice(LITERALS)
        if text.startswith("-"):
            text = f"({text})"
        kind = Kind.COMPLEX if text == "2j" else Kind.BOOL if text in ("true", "false") else Kind.FLOAT
        if text.strip("()-").isdigit() or text.startswith("0x") or "2 **" in text:
            kind = Kind.INT
        return Node(text, type=kind, literal=True)

    def _form(self) -> tuple[str, int]:
        """An operator, function or cast, and how many operands it takes."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.33:
            return f"({{0}} {rng.choice(OPERATORS)} {{1}})", 2
        if kind < 0.38:
            return f"({rng.choice(UNARY)}{{0}})", 1
        if kind < 0.42:
            return ("({0} ** {1})", 2) if rng.random() < 0.3 else (f"({{0}} ** {rng.choice(POWERS)})", 1)
        if kind < 0.66:
            name, count = rng.choice(functions())
            return spelled(name, count), count
        if kind < 0.88:
            return rng.choice(casts()), 1
        if kind < 0.96:
            return CHOICE, 3
        first, second = rng.choice(("<", "<=", "==", "!=")), rng.choice(("<", "<=", ">", "=="))
        return f"({{0}} {first} {{1}} {second} {{2}})", 3

    def _operand(self, allow_literal: bool) -> Node:
        if allow_literal and self.rng.random() < 0.2:
            return self._literal()
        node = self.rng.choice(self.pool[-3:] if self.rng.random() < 0.5 else self.pool)
        return self._part(node, like=True) if self.indexed and self.rng.random() < 0.04 else node

    def _apply(self, form: str, args: list[Node]) -> Node | None:
        """The node, or None where the types or sizes do not suit."""
        if form == CHOICE and not isinstance(args[1].type, DType) and not isinstance(args[2].type, DType):
            return self._choice(args)
        if all(not isinstance(a.type, DType) for a in args):
            return self._weak(form, args)
        found = typed(form, tuple(key(a) for a in args))
        if found is None or (self.exact and not found[1]):
            return None
        node = Node(
            form, tuple(args), found[0], broadcast([a.shape for a in args]), max(a.needs for a in args),
            found[1] and all(a.exact for a in args),
        )  # fmt: skip
        return node if len(node.text) <= 300 else None

    def _weak(self, form: str, args: list[Node]) -> Node | None:
        """Arithmetic of weak values stays weak; other things made of them are left out."""
        kinds = [Kind(int(a.type)) for a in args if not isinstance(a.type, DType)]
        if form not in WEAK or not Kind.INT <= max(kinds) <= Kind.FLOAT or all(a.literal for a in args):
            return None
        return Node(form, tuple(args), max(kinds), broadcast([a.shape for a in args]), max(a.needs for a in args))

    def _choice(self, args: list[Node]) -> Node | None:
        """A choice between weak values is weak, whatever the condition is."""
        if all(a.literal for a in args):
            return None
        kind = max(Kind(int(a.type)) for a in args[1:] if not isinstance(a.type, DType))
        shape, needs = broadcast([a.shape for a in args]), max(a.needs for a in args)
        return Node(CHOICE, tuple(args), kind, shape, needs, all(a.exact for a in args))

    def _as_typeof(self) -> Node | None:
        """``cast<typeof(x)>`` of something."""
        arrays = [n for n, v in self.inputs.items() if isinstance(v, Recipe)]
        if not arrays:
            return None
        name = self.rng.choice(arrays)
        node = self._apply(f"cast<{self.inputs[name].dtype}>({{0}})", [self._operand(allow_literal=False)])
        return node and replace(node, form=f"cast<typeof({name})>({{0}})")

    def _step(self) -> None:
        rng = self.rng
        for _ in range(20):
            form, count = self._form()
            args = [self._operand(allow_literal=count > 1) for _ in range(count)]
            node = self._as_typeof() if rng.random() < 0.02 else self._apply(form, args)
            if node is not None:
                break
        else:
            return
        if rng.random() < 0.1 and not node.needs:
            node = self._through_def(node)
        if rng.random() < 0.25:
            name = f"t{len(self.lets)}"
            self.lets.append(Statement(name, node, is_let=True))
            node = Node(name, (), node.type, node.shape, node.needs, node.exact)
        self.pool.append(node)

    def _through_def(self, node: Node) -> Node:
        """The same value by way of an expression function."""
        name = f"f{len(self.defs)}"
        letters = "uvst"[: len(node.args)]
        if not node.args or "typeof" in node.form:
            return node
        self.defs.append(f"def {name}({', '.join(letters)}) = {node.form.format(*letters)}")
        called = ", ".join(f"{{{i}}}" for i in range(len(node.args)))
        if self.rng.random() < 0.3:  # by way of another, which hands its parameters on in another order
            turned = ", ".join(reversed(letters))
            self.defs.append(f"def {name}_{name}({turned}) = {name}({', '.join(letters)})")
            called = ", ".join(f"{{{i}}}" for i in reversed(range(len(node.args))))
            name = f"{name}_{name}"
        return replace(node, form=f"{name}({called})")

    # --- outputs ----------------------------------------------------------------------------------

    def call(self, seed: int) -> Call:
        rng = self.rng
        self._leaves()
        self.leaf = next(n for n in self.pool if isinstance(n.type, DType) and not n.needs)
        for _ in range(rng.choice((2, 4, 6, 8, 12, 16)) if self.exact else rng.choice((1, 2))):
            self._step()
        if not self.exact:
            self._one_function()
        statements = list(self.lets)
        names: list[str] = []
        outputs: list[Node] = []
        for i in range(rng.choice((1, 1, 1, 1, 2, 2, 3))):
            candidates = self.pool[-4:] if i == 0 else self.pool
            node = self._bound(rng.choice(candidates) if i or rng.random() < 0.3 else self.pool[-1])
            if node is None:
                continue
            if self.indexed and rng.random() < 0.1:
                node = self._part(node, like=False)
            declared = self._declared(node)
            name = ("out", "second", "third")[i]
            statements.append(Statement(name, node, declared=declared))
            stored = declared or (node.type if isinstance(node.type, DType) else DEFAULT_OF_KIND[node.type])
            names.append(name)
            outputs.append(Node(name, (), stored, self.shape if self.no_arrays else node.shape, node.needs))
            if rng.random() < 0.3:
                self.pool.append(outputs[-1])
        inout = self._inout(statements)
        reduced = None if inout else self._reduced()
        if reduced is not None:
            statements.append(Statement("reduced", reduced))
        if not names and not inout:
            first = self.leaf
            statements.append(Statement("out", first))
            names, outputs = ["out"], [Node("out", (), first.type, self.shape if self.no_arrays else first.shape)]
        used = "\n".join([s.text for s in statements])
        outs = self._outs(outputs, inout) if rng.random() < 0.3 and names and reduced is None else None
        inputs = (
            self.inputs
            if rng.random() < 0.05
            else {n: v for n, v in self.inputs.items() if n in used or (n == "a0" and self.no_arrays)}
        )
        if not self.no_arrays and not any(isinstance(v, Recipe) for v in inputs.values()):
            inputs = self.inputs  # something has to give the shape
        if outs is not None:
            outs = tuple(o if not isinstance(o, str) or o in inputs else None for o in outs)
        fast = rng.random() < 0.05
        return Call(
            tuple(statements), dict(inputs), {n: t for n, t in self.declared.items() if n in inputs}, inout,
            tuple(self.params), tuple(self.defs), outs, self.shape if self.no_arrays else None, seed,
            fmad=fast or rng.random() < 0.3, fast=fast,
        )  # fmt: skip

    def _reduced(self) -> Node | None:
        """A reduction with one defined result, as an output of its own beside the others."""
        rng = self.rng
        suited = [n for n in self.pool if isinstance(n.type, DType) and n.shape and 0 not in n.shape and not n.needs]
        if self.no_arrays or not suited or rng.random() > 0.08:
            return None
        node = rng.choice(suited)
        assert isinstance(node.type, DType)
        axis, keepdims = rng.randrange(-len(node.shape), len(node.shape)), rng.random() < 0.5
        names = ["any", "all", "count_nonzero"]
        names += ["min", "max", "argmin", "argmax"] * (node.type.kind <= Kind.FLOAT)
        names += ["sum", "prod"] * (node.type.kind <= Kind.INT)
        form = f"{rng.choice(names)}({{0}}, axis={axis}{', keepdims=true' * keepdims})"
        found = typed(form.replace(f"axis={axis}", "axis=-1"), (key(node),))
        shape = list(node.shape)
        shape[axis : axis + 1 or None] = [1] * keepdims
        return found and Node(form, (node,), found[0], tuple(shape), 0, node.exact)

    def _one_function(self) -> None:
        """An inexact function of what there is, straight to the output (or through one cast)."""
        for _ in range(40):
            name, count = self.rng.choice(functions())
            form = spelled(name, count)
            if self.rng.random() < 0.05:
                form, count = "({0} ** {1})", 2
            node = self._apply(form, [self._operand(allow_literal=count > 1) for _ in range(count)])
            if node is not None and not node.exact and all(a.exact for a in node.args):
                self.pool = [node]
                return

    def _bound(self, node: Node) -> Node | None:
        """The node as the whole right-hand side of a statement, or None where ``index`` has too few axes there."""
        return None if node.needs > len(self.shape if self.no_arrays else node.shape) else node

    def _declared(self, node: Node) -> DType | None:
        if self.rng.random() > 0.2 or not isinstance(node.type, DType):
            return None
        complexes = node.type.is_complex
        return self.rng.choice([t for t in DTYPES if t.is_complex or t.is_bool or not complexes])

    def _inout(self, statements: list[Statement]) -> tuple[str, ...]:
        rng = self.rng
        if rng.random() > 0.15:
            return ()
        apart = ("v", "g0", "g1")  # expanded and indexed
        arrays = {n: v for n, v in self.inputs.items() if isinstance(v, Recipe) and v.writable and n not in apart}
        rng.shuffle(self.pool)
        for name, recipe in arrays.items():
            for node in self.pool:
                kind = node.type.kind if isinstance(node.type, DType) else node.type
                if kind <= recipe.dtype.kind and node.shape == recipe.shape and node.needs <= len(node.shape):
                    place = rng.randrange(len(self.lets), len(statements) + 1)
                    if not isinstance(node.type, DType) or any(s.name == node.text for s in statements[place:]):
                        place = len(statements)
                    statements.insert(place, Statement(name, node))
                    return (name,)
        return ()

    def _outs(self, outputs: list[Node], inout: tuple[str, ...]) -> tuple[Recipe | str | None, ...]:
        rng = self.rng
        outs: list[Recipe | str | None] = []
        for node in outputs:
            assert isinstance(node.type, DType)
            kind = node.type.kind
            same = [
                n for n, v in self.inputs.items()
                if isinstance(v, Recipe) and v.shape == node.shape and v.writable and v.dtype.kind >= kind
                and n not in inout and n not in outs
            ]  # fmt: skip
            roll = rng.random()
            if same and roll < 0.4:
                outs.append(rng.choice(same))
            elif roll < 0.5:
                outs.append(None)
            else:
                dtype = node.type if rng.random() < 0.5 else rng.choice([t for t in DTYPES if t.kind >= kind])
                outs.append(random_recipe(rng, dtype, node.shape, writable=True))
        return tuple(outs)


def generate(
    seed: int, exact: bool | None = None, rng: Random | None = None, shape: tuple[int, ...] | None = None
) -> Call:
    """The call of a seed: two of three are exact in every bit, unless ``exact`` says."""
    rng = rng or Random(seed)
    if exact is None:
        exact = rng.random() < 0.67
    return Generator(rng, exact, shape).call(seed)
