"""The state and operations that all typing rules share: the builder, errors, promotion, dtypes of weak values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Protocol

from kgen.check.arrays import Arrays
from kgen.check.dims import Dims
from kgen.check.fit import Fit
from kgen.check.limits import Inlined, LimitedBuilder
from kgen.check.promotion import cast_to_write, promote
from kgen.check.values import Deferred, Literal, Rule, Typed, Value, Weak
from kgen.check.weak import as_float, computed_in, operand_in, wider
from kgen.diagnostics import Reporter, shown
from kgen.dtypes import COMPLEX64, DEFAULT_OF_KIND, DType, Kind
from kgen.ir.builder import Builder
from kgen.ir.graph import CastMode, Op, Scalar, Shape, to_bits
from kgen.records import dataclass, replace
from kgen.source import Span
from kgen.syntax.tree import Expr

DEFAULT_ROUNDING = CastMode("rne", False)
TO_INTEGER = CastMode("rz", False)


class InlinePrelude(Protocol):
    """Lowers a call of a prelude function. The walk over expressions provides it to the rules that it calls."""

    def __call__(self, ctx: Context, name: str, args: Sequence[Value], span: Span) -> Value | None: ...


@dataclass(slots=True)
class Context:
    """The state of typing one program for one set of argument types."""

    reporter: Reporter
    inline_prelude: InlinePrelude
    builder: Builder = field(default_factory=LimitedBuilder)
    written_out: Inlined = field(default_factory=Inlined)
    reduces: bool = False  # whether there is a reduction, for lints
    dims: Dims = field(default_factory=Dims)
    scalars: list[Scalar] = field(default_factory=list)
    arrays: Arrays = field(init=False)
    fit: Fit = field(init=False)
    nodes: dict[int, Value] = field(default_factory=dict)  # the last value of each node of the tree, by its id
    inlined: dict[tuple[object, ...], tuple[Value | None, tuple[Value, ...]]] = field(default_factory=dict)
    taken: dict[tuple[int, int], Expr] = field(default_factory=dict)  # what each call of ``take`` is, by the rank
    _made: dict[tuple[Deferred, DType], Typed] = field(default_factory=dict)
    _said: set[tuple[str, Span, str]] = field(default_factory=set)

    @property
    def site(self) -> Span | None:
        """The call of the prelude function that is being inlined: errors are reported there."""
        return self.builder.site

    @site.setter
    def site(self, span: Span | None) -> None:
        self.builder.site = span

    def __post_init__(self) -> None:
        self.arrays = Arrays(self.dims)
        self.fit = Fit(self.dims, self.builder.ops, self.reporter.source.text)

    # --- errors -----------------------------------------------------------------------------------

    def error(self, code: str, message: str, at: Span, *, marks: Sequence[Span] = (), hint: str | None = None) -> None:
        """Report an error, once for a place that is inlined several times."""
        if self.site is not None:
            at, marks = self.site, ()
        if (code, at, message) not in self._said:
            self._said.add((code, at, message))
            self.reporter.error(code, message, at, marks=marks, hint=hint)

    # --- promotion --------------------------------------------------------------------------------

    def common(self, values: Sequence[Value], at: Span) -> DType | None:
        """The common dtype of operands, before any rule that lifts integers to float32. None after an error."""
        result: DType | None = None
        giver: Value | None = None
        for value in values:
            if not isinstance(value, Typed):
                continue
            if result is None or giver is None:
                result, giver = value.dtype, value
                continue
            joined = promote(result, value.dtype)
            if joined is None:
                self.error(
                    "no-common-dtype",
                    f"{result} and {value.dtype} have no common dtype",
                    at,
                    marks=(giver.span, value.span),
                    hint=cast_to_write(result, value.dtype),
                )
                return None
            if joined is not result:
                result, giver = joined, value
        weak = max((v.kind for v in values if not isinstance(v, Typed)), default=Kind.BOOL)
        if result is None:
            return DEFAULT_OF_KIND[weak]
        if weak <= result.kind:
            return result
        if weak is Kind.COMPLEX:
            return result.complex if result.is_float else COMPLEX64
        return DEFAULT_OF_KIND[weak]

    # --- giving values a dtype --------------------------------------------------------------------

    def typed(self, value: Value, dtype: DType | None = None) -> Typed | None:
        """``value`` in the compute dtype of ``dtype``; None stands for its own dtype, or the default of its kind."""
        if dtype is None:
            dtype = value.dtype if isinstance(value, Typed) else DEFAULT_OF_KIND[value.kind]
        match value:
            case Typed():
                return self.convert(value, dtype)
            case Literal():
                return self._literal(value, dtype)
            case Deferred():
                return self._deferred(value, dtype)

    def convert(self, value: Typed, dtype: DType) -> Typed:
        """A typed value promoted to another dtype: in its compute dtype, not rounded to a narrow one."""
        if value.dtype is dtype:
            return value
        if dtype.is_complex:
            real = self.cast(value.id, dtype.real, value.span)
            imag = (
                self.builder.const(0.0, dtype.real)
                if value.imag is None
                else self.cast(value.imag, dtype.real, value.span)
            )
            return Typed(dtype, real, value.shape, value.span, imag)
        return Typed(dtype, self.cast(value.id, dtype.compute, value.span), value.shape, value.span)

    def cast(self, id: int, dtype: DType, span: Span, mode: CastMode | None = None) -> int:
        """A cast op to exactly ``dtype``, or the value itself where it already has it."""
        if self.builder.ops[id].dtype is dtype and mode is None:
            return id
        if mode is None:
            mode = TO_INTEGER if dtype.is_int else DEFAULT_ROUNDING
        return self.builder.op("cast", (id,), dtype=dtype, attr=mode, span=span)

    def whole(self, value: Typed) -> Typed:
        """The value with ops of its own shape, which count its elements; those it has may be the same along axes."""
        imag = None if value.imag is None else self._spread(value.imag, value.shape)
        return replace(value, id=self._spread(value.id, value.shape), imag=imag)

    def _spread(self, id: int, shape: Shape) -> int:
        op = self.builder.ops[id]
        if self.dims.same(op.shape, shape):
            return id
        return self.builder.op("cast", (id,), dtype=op.dtype, shape=shape, attr=DEFAULT_ROUNDING, span=op.span)

    def stored(self, value: Typed, dtype: DType) -> Typed:
        """The value after a store to ``dtype`` and a load: rounded once, then in the compute dtype again."""
        value = self.convert(value, dtype)
        if not dtype.is_narrow:
            return value
        rounded = self.cast(value.id, dtype, value.span)
        return Typed(dtype, self.cast(rounded, dtype.compute, value.span), value.shape, value.span)

    def _literal(self, literal: Literal, dtype: DType) -> Typed | None:
        value = literal.value
        if dtype.is_complex:
            try:
                z = complex(value)
            except OverflowError:
                self._too_large(literal, dtype)
                return None
            parts = [self.builder.const(part, dtype.real) for part in (z.real, z.imag)]
            return Typed(dtype, parts[0], (), literal.span, parts[1])
        if dtype.is_int:
            number = int(value.real) if isinstance(value, complex) else int(value)
            if not dtype.int_min <= number <= dtype.int_max:
                larger = wider(number, dtype)
                self.error(
                    "literal-out-of-range",
                    f"{shown(number)} does not fit {dtype}, which holds {dtype.int_min} to {dtype.int_max}",
                    literal.span,
                    hint="no integer dtype holds both: write a float such as 1e20, or a literal that fits"
                    if larger is None
                    else f"write cast<{larger}>(...) around the array operand, or a literal that fits",
                )
                return None
            return Typed(dtype, self.builder.const(number, dtype), (), literal.span)
        if dtype.is_bool:
            return Typed(dtype, self.builder.const(bool(value), dtype), (), literal.span)
        try:
            number_f = as_float(value, dtype)
        except OverflowError:
            self._too_large(literal, dtype)
            return None
        return Typed(dtype, self.builder.const(number_f, dtype.compute), (), literal.span)

    def _too_large(self, literal: Literal, dtype: DType) -> None:
        self.error(
            "literal-out-of-range",
            f"this integer is too large for {dtype}",
            literal.span,
            hint="write `inf` for infinity",
        )

    def defer(
        self,
        kind: Kind,
        rule: Rule,
        args: Sequence[Weak],
        at: Span,
        span: Span,
        *,
        whole: bool = False,
        beside: Sequence[Typed] = (),
    ) -> Deferred | None:
        """A weak value that ``rule`` computes from ``args`` once its dtype is known. None after a shape error.

        ``beside``: typed values that the rule also reads, such as a condition.
        """
        shape = self.shape_of([*beside, *args], at)
        return None if shape is None else Deferred(
            kind, rule, self.site or span, tuple(args), shape, whole, site=self.site
        )  # fmt: skip

    def _deferred(self, root: Deferred, dtype: DType) -> Typed | None:
        """Compute a weak value in this dtype, operands first."""
        stack: list[tuple[Deferred, DType]] = [(root, dtype)]
        while stack:
            node, wanted = stack[-1]
            own = computed_in(node, wanted)
            below = [(a, operand_in(a, own)) for a in node.args if isinstance(a, Deferred)]
            waiting = [one for one in below if one not in self._made]
            if waiting and stack[-1] not in self._made:
                stack.extend(waiting)
                continue
            stack.pop()
            if (node, wanted) not in self._made:
                made = self._make(node, own)
                if made is None:
                    return None
                self._made[node, wanted] = self.convert(made, wanted)
        return self._made[root, dtype]

    def _make(self, node: Deferred, dtype: DType) -> Typed | None:
        outer, self.site = self.site, self.site or node.site
        try:
            args: list[Typed] = []
            for arg in node.args:
                own = operand_in(arg, dtype)
                made = self._literal(arg, own) if isinstance(arg, Literal) else self._made[arg, own]
                if made is None:
                    return None
                args.append(made)
            found = node.rule(dtype, args)
        finally:
            self.site = outer
        if not isinstance(found, Typed):
            return None
        return found if node.label is None else self.named(found, node.label)

    def named(self, value: Typed, name: str) -> Typed:
        """Label the op of a value with the user's name, for the printed IR and the CUDA text."""
        op = self.builder.ops[value.id]
        if value.imag is None and op.label is None and op.name not in ("const", "scalar", "load"):
            self.builder.ops[value.id] = replace(op, label=name)
        return value

    def scalar(self, name: str, passed: DType, dtype: DType, span: Span) -> Typed:
        """A by-value argument passed as ``passed``, as a value of ``dtype``."""
        scalar = Scalar(name, passed)
        if scalar not in self.scalars:
            self.scalars.append(scalar)
        number = self.builder.op("scalar", (), dtype=passed, shape=(), attr=self.scalars.index(scalar), span=span)
        return self.unpack(number, dtype, (), span)

    def unpack(self, number: int, dtype: DType, shape: Shape, span: Span) -> Typed:
        """A loaded op as a value: complex numbers are split into parts, narrow floats are widened."""
        if dtype.is_complex:
            parts = [self.builder.op(part, (number,), dtype=dtype.real, span=span) for part in ("real", "imag")]
            return Typed(dtype, parts[0], shape, span, parts[1])
        return Typed(dtype, self.cast(number, dtype.compute, span), shape, span)

    # --- operations -------------------------------------------------------------------------------

    def shape_of(self, values: Sequence[Value], at: Span) -> Shape | None:
        """The broadcast shape of operands. None after a shape error, which marks the two operands that differ."""
        shape: Shape = ()
        for position, value in enumerate(values):
            joined = self.dims.broadcast(shape, value.shape)
            if isinstance(joined, int):
                # The earlier operand that gave the axis its extent.
                giver = next(v for v in values[:position] if len(v.shape) >= -joined and v.shape[joined] != 1)
                message, hint = self.fit.mismatch(giver, value, joined, is_inlined=self.site is not None)
                self.error("shape-mismatch", message, at, marks=(giver.span, value.span), hint=hint)
                return None
            shape = joined
        return shape

    def op(
        self,
        name: str,
        values: Sequence[Typed],
        dtype: DType,
        at: Span,
        *,
        span: Span | None = None,
        attr: int | None = None,
    ) -> Typed | None:
        """One op on real operands that already share a dtype; its value has the language dtype ``dtype``.

        ``at`` is where a shape error points, ``span`` the text of the whole expression.
        """
        if self.reduces and self.site is None:
            for reduced, operand, message in self.fit.misaligned(values):
                hint = "keepdims=true keeps the reduced axis as one of size 1"
                self.reporter.lint("reduced-axis", message, at, marks=(reduced.span, operand.span), hint=hint)
        shape = self.shape_of(values, at)
        if shape is None:
            return None
        number = self.builder.op(name, [v.id for v in values], shape=shape, attr=attr, span=span or at)
        return Typed(dtype, number, shape, span or at)

    def const(self, value: bool | int | float, dtype: DType, span: Span, shape: Shape = ()) -> Typed:
        computed = dtype.compute
        op = Op("const", (), computed, shape, to_bits(value, computed))
        return Typed(dtype, self.builder.add(op), shape, span)
