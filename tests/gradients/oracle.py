"""Programs and their gradients computed by the oracle: no compiler, no device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kgen.argument_types import ArgType, ArrayArg, WeakArg
from kgen.check import check
from kgen.check.values import kind_of
from kgen.dtypes import BY_NAME
from kgen.gradients.derive import derive, derive_tangents, request_for, tangents_for
from kgen.ir.evaluator import evaluate
from kgen.load import load
from kgen.passes import optimise
from kgen.program import Program

Values = Mapping[str, Any]
STEP, TOLERANCE = 1e-6, 2e-6  # of central differences in float64, which err by about 1e-9 of the value


def types(values: Values) -> dict[str, ArgType]:
    """Arrays with their shapes, and Python numbers."""
    return {
        n: ArrayArg(BY_NAME[v.dtype.name], v.shape) if isinstance(v, np.ndarray) else WeakArg(kind_of(v))
        for n, v in values.items()
    }


def run(program: Program, values: Values) -> dict[str, Any]:
    """The outputs of a program."""
    kernel = optimise(check(program, types(values)).kernel)
    arrays = [values[o.name] if o.role == "input" and o.view is None else None for o in kernel.operands]
    found = evaluate(kernel, arrays, [values[s.name] for s in kernel.scalars])
    return dict(zip((o.name for o in kernel.operands if o.role == "output" and o.view is None), found, strict=True))


def derived(text: str, values: Values, wrt: Sequence[str], seeded: bool = True) -> str:
    """The program of the gradients; ``seeded``: with those of its outputs as inputs."""
    program = load(text)
    names = [*(a.name for a in program.arguments), *(p.name for p in program.parameters)]
    request = request_for(names, [o.name for o in program.outputs] if seeded else (), wrt)
    return derive(program, types(values), request)


def gradients(text: str, values: Values, wrt: Sequence[str], cotangents: Values | None = None) -> dict[str, Any]:
    """The gradients of ``wrt`` by name; without cotangents, of a program of one number."""
    given = {f"{n}_grad": v for n, v in (cotangents or {}).items()}
    found = run(load(derived(text, values, wrt, cotangents is not None)), {**values, **given})
    return {name: found[f"{name}_grad"] for name in wrt}


def random_like(rng: np.random.Generator, value: Any) -> Any:
    """Normally distributed values of an array's shape and dtype."""
    shape = np.shape(value)
    found: Any = rng.standard_normal(shape)
    if np.iscomplexobj(value):
        found = found + 1j * rng.standard_normal(shape)
    return np.asarray(found, np.asarray(value).dtype)


def check_gradients(text: str, values: dict[str, Any], wrt: Sequence[str]) -> None:
    """Compare gradients with central differences along a random direction of each argument, in float64.

    And tangents with the gradients: both are linear, and one is the adjoint of the other.

    Gradients of complex numbers are ``dL/d(real) + 1j dL/d(imag)`` of the real part ``L`` of the outputs' product with
    the conjugates of their cotangents.
    """
    rng = np.random.default_rng(1)
    program = load(text)
    outputs = run(program, values)
    cotangents = {name: random_like(rng, value) for name, value in outputs.items()}

    def loss(values: Values) -> float:
        found = run(program, values)
        return float(sum(np.sum(np.real(found[n] * np.conj(cotangents[n]))) for n in found))

    found = gradients(text, values, wrt, cotangents)
    check_adjoint(text, values, found, cotangents)
    for name in wrt:
        assert found[name].shape == np.shape(values[name]), (name, found[name].shape)
        if isinstance(values[name], np.ndarray):
            assert found[name].dtype == values[name].dtype, (name, found[name].dtype)
        direction = random_like(rng, values[name])
        expected, rougher = (_difference(loss, values, name, step * direction) / step for step in (STEP, 4 * STEP))
        actual = np.sum(np.real(found[name] * np.conj(direction)))
        scale = np.sum(np.abs(found[name] * direction)) + 1e-3
        assert abs(actual - expected) <= TOLERANCE * scale + abs(expected - rougher), (
            f"{text}: d/d{name} is {actual}, differences give {expected}"
        )


def tangents(text: str, values: Values, along: Values) -> dict[str, Any]:
    """The tangents of the outputs by name, along those of arguments."""
    program = load(text)
    names = [*(a.name for a in program.arguments), *(p.name for p in program.parameters)]
    whole = tangents_for(names, [o.name for o in program.outputs], values=False)
    request = replace(whole, tangents={name: whole.tangents[name] for name in along})
    given = {whole.tangents[name]: value for name, value in along.items()}
    found = run(load(derive_tangents(program, types(values), request)), {**values, **given})
    return {output: found[name] for output, name in whole.results.items() if name in found}


def check_adjoint(text: str, values: Values, gradients: Values, cotangents: Values) -> None:
    """The product of tangents with cotangents is that of the directions with gradients."""
    rng = np.random.default_rng(2)
    directions = {name: random_like(rng, values[name]) for name in gradients}
    found = tangents(text, values, directions)
    for name, value in found.items():
        assert value.shape == cotangents[name].shape, (name, value.shape)
        assert value.dtype == cotangents[name].dtype, (name, value.dtype)
    parts = [(found[n], cotangents[n]) for n in found]
    others = [(directions[n], gradients[n]) for n in gradients]
    actual, expected = (sum(np.sum(np.real(a * np.conj(b))) for a, b in pairs) for pairs in (parts, others))
    scale = sum(np.sum(np.abs(a * b)) for a, b in parts + others)
    assert abs(actual - expected) <= 1e-9 * scale + 1e-12, f"{text}: tangents give {actual}, gradients {expected}"


def _difference(loss: Callable[[Values], float], values: Values, name: str, by: Any) -> float:
    """Half the difference of a function on both sides of its argument."""
    ahead, behind = (loss({**values, name: _moved(values[name], sign * by)}) for sign in (1, -1))
    return (ahead - behind) / 2


def _moved(value: Any, by: Any) -> Any:
    """A value and what is added to it; an array without axes stays an array."""
    return np.asarray(value + by) if isinstance(value, np.ndarray) else value + by
