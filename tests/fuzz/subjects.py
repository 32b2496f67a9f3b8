"""Programs of every generator behind one interface: prepared with arguments, called, and compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from kgen import KgenError, jit
from kgen.kernel import Kernel

from . import reach, reductions, rows, updates
from .arrays import Array, Recipe
from .generate import generate
from .harness import Refused, failure, prepare, verify
from .program import Arguments, Call
from .reductions import Program
from .test_reductions import OUTS, as_tuple, assert_close, is_refused, outs_of, reference
from .test_updates import assert_equal

VARIANTS = 3  # calls of a program of rows, each with other extents


@dataclass(slots=True)
class Ready:
    """A program with everything that a call of it takes, and what the call must give.

    ``check`` takes the results and the arguments after the call, and raises AssertionError where something is wrong.
    """

    kernel: Kernel
    arguments: Arguments
    keep: dict[str, Array]  # inputs as they were
    check: Callable[[tuple[Any, ...], Arguments], None]
    elements: int
    exact: bool  # one result is defined
    copied: bool  # by every call: unaligned, or in the other byte order
    others: tuple[Ready, ...] = ()  # the same kernel with other arguments

    def call(self) -> tuple[Any, ...]:
        return as_tuple(invoked(self.kernel, self.arguments))

    def written(self) -> set[str]:
        """Inputs that the call changes."""
        outs = [id(o) for o in self.arguments.outs or () if o is not None]
        updated = {a.name for a in self.kernel.program.arguments if a.role == "inout"}
        return updated | {n for n, a in self.arguments.inputs.items() if id(a) in outs}

    def restore(self) -> None:
        for name in self.written():
            if isinstance(self.arguments.inputs[name], np.ndarray):
                np.copyto(self.arguments.inputs[name], self.keep[name])


def invoked(kernel: Callable[..., Any], arguments: Arguments) -> Any:
    """The result of a call.  Raises :class:`Refused` for what the language rejects."""
    try:
        return kernel(*arguments.inputs.values(), **arguments.keywords)
    except KgenError as problem:
        if is_refused(problem):
            raise Refused(problem.code) from problem
        raise


class Subject(Protocol):
    """A program, by its generator and seed."""

    @property
    def kind(self) -> str: ...

    def prepare(self, name: str, device: str) -> Ready:
        """Raises :class:`Refused` for what the language rejects."""
        ...

    def report(self, problem: Exception, device: str, *, small: bool) -> str:
        """What went wrong with which program; ``small``: with the smallest that is found to fail."""
        ...


@dataclass(frozen=True, slots=True)
class Elementwise:
    """A program of :func:`generate`."""

    call: Call
    kind: str = "elementwise"

    def prepare(self, name: str, device: str) -> Ready:
        one = prepare(self.call, name, device)
        recipes = [r for r in self.call.inputs.values() if isinstance(r, Recipe)]
        expected = list(one.reference.expected.values())
        copied = any(r.swapped or r.unaligned for r in recipes)
        return Ready(
            one.kernel, one.arguments, one.keep, lambda results, after: verify(one, results, after),
            sum(e.value.size for e in expected), not expected[0].samples, copied,
        )  # fmt: skip

    def report(self, problem: Exception, device: str, *, small: bool) -> str:
        if not small:
            return f"generate({self.call.seed}): {problem}"
        return str(failure(self.call, problem, lambda call: alone(Elementwise(call), device)))


@dataclass(frozen=True, slots=True)
class Reducing:
    """A program of ``reductions.generate`` or ``updates.generate``; ``where``: its outputs, see OUTS."""

    kind: str
    seed: int

    def program(self) -> Program:
        return reductions.generate(self.seed) if self.kind == "reductions" else updates.generate(self.seed)

    def prepare(self, name: str, device: str) -> Ready:
        program = self.program()
        try:
            kernel = jit(program.text, device=device, name=name, fmad=False)
            arrays = program.arrays()
            want = reference(program.text, {**arrays, **program.params})
            outs = outs_of(program, kernel.outputs, OUTS[self.seed % len(OUTS)], arrays, want)
        except KgenError as problem:
            if is_refused(problem):
                raise Refused(problem.code) from problem
            raise
        inputs = {name: arrays[name] for name in kernel.inputs}
        arguments = Arguments(inputs, dict(program.params), None if outs is None else as_tuple(outs), None)
        keep = {n: np.array(a) for n, a in inputs.items()}
        return Ready(
            kernel, arguments, keep, self._check(program, kernel, keep, want), sum(a.size for a in want.values()),
            bool(program.exact) and all(program.exact), any(r.swapped or r.unaligned for r in program.recipes.values()),
        )  # fmt: skip

    def _check(
        self, program: Program, kernel: Kernel, keep: dict[str, Array], want: dict[str, Array]
    ) -> Callable[[tuple[Any, ...], Arguments], None]:
        updated = {a.name for a in kernel.program.arguments if a.role == "inout"}

        def check(results: tuple[Any, ...], after: Arguments) -> None:
            given = after.outs or (None,) * len(results)
            assert all(o is None or r is o for r, o in zip(results, given, strict=True)), "out= is not what came back"
            if self.kind == "updates":
                assert_equal(program, after.inputs | dict(zip(kernel.outputs, results, strict=True)), want)
            else:
                assert_close(program, results, {name: want[name] for name in kernel.outputs})
                for name in updated:
                    assert_close(replace(program, exact=()), after.inputs[name], {name: want[name]})
            for name, before in keep.items():
                if name not in updated and not any(after.inputs[name] is o for o in given):
                    assert after.inputs[name].tobytes() == before.tobytes(), f"{name} was written to"

        return check

    def report(self, problem: Exception, device: str, *, small: bool) -> str:
        return f"{self.kind}.generate({self.seed}): {problem!r}\n{self.program().text}"


@dataclass(frozen=True, slots=True)
class Reaching:
    """A program of ``reach.generate`` or ``rows.generate``, whose results are NumPy's."""

    kind: str
    seed: int

    def prepare(self, name: str, device: str) -> Ready:
        if self.kind == "reach":
            programs = [reach.generate(self.seed)]
        else:
            programs = [rows.generate(self.seed, variant) for variant in range(VARIANTS)]
        first = programs[0]
        kernel = jit(first.text, device=device, name=name, deterministic=first.deterministic)
        ready, *others = (self._with(kernel, program) for program in programs)
        return replace(ready, others=tuple(others))

    def _with(self, kernel: Kernel, program: reach.Program) -> Ready:
        inputs = {name: program.inputs[name] for name in kernel.inputs}
        keep = {name: np.array(array) for name, array in inputs.items()}

        def check(results: tuple[Any, ...], after: Arguments) -> None:
            found = after.inputs | dict(zip(kernel.outputs, results, strict=True))
            for name, want in (keep | program.want).items():
                assert found[name].shape == want.shape, name
                np.testing.assert_array_equal(found[name], want, err_msg=name)

        elements = sum(want.size for want in program.want.values())
        return Ready(kernel, Arguments(inputs, {}, None, None), keep, check, elements, exact=True, copied=False)

    def report(self, problem: Exception, device: str, *, small: bool) -> str:
        text = (reach if self.kind == "reach" else rows).generate(self.seed).text
        return f"{self.kind}.generate({self.seed}): {problem!r}\n{text}"


def alone(subject: Subject, device: str) -> None:
    """One program, compiled by itself, and compared."""
    ready = subject.prepare("kernel", device)
    with np.errstate(all="ignore"):
        if device == "cpu":
            on_host(ready, calls=3)
        else:
            ready.check(ready.call(), ready.arguments)


def on_host(ready: Ready, *, calls: int) -> None:
    """So many calls, of which the third is recognised, and a plan; then calls with other arguments, and again."""
    for _ in range(calls):
        ready.check(ready.call(), ready.arguments)
        ready.restore()
    if not ready.copied:  # a plan takes nothing that every call would copy
        plan = ready.kernel.plan(*ready.arguments.inputs.values(), **ready.arguments.keywords)
        for _ in range(2):
            ready.check(as_tuple(plan()), ready.arguments)
            ready.restore()
    for other in (*ready.others, ready) if ready.others else ():
        other.check(other.call(), other.arguments)
        other.restore()


#: Of twenty seeds, so many are of each kind.
SHARES = (("elementwise", 9), ("reductions", 4), ("updates", 3), ("reach", 2), ("rows", 2))
_KINDS = [kind for kind, share in SHARES for _ in range(share)]


def subject(seed: int) -> Subject:
    """The program of a seed: the kind follows from it, too."""
    kind = _KINDS[seed % len(_KINDS)]
    if kind in ("reach", "rows"):
        return Reaching(kind, seed)
    return Elementwise(generate(seed)) if kind == "elementwise" else Reducing(kind, seed)


def subjects(seeds: Sequence[int]) -> list[Subject]:
    return [subject(seed) for seed in seeds]
