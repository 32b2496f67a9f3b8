"""``kgen.grad``, ``kgen.vjp`` and ``kgen.jvp``: derivatives of programs, as kernels."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.call.derived import Derived
from kgen.call.gradient import Gradient
from kgen.call.pair import BackwardHalf, ForwardHalf, Pair
from kgen.call.tangent import Tangent
from kgen.diagnostics import public
from kgen.jit import jit
from kgen.kernel import Kernel


@public
def grad(program: str | Kernel | Derived, wrt: str | Sequence[str] | None = None) -> Gradient:
    """The gradients of a program's arguments, as a kernel.

    ``program``: a text, a kernel, or a derivative, which is differentiated again.  ``wrt``: the arguments whose
    gradients are returned, in this order (default: all inputs of floats or complex numbers, then such params).

    It is called as the program is, with the gradient of each output ``out`` as ``out_grad``.  For each combination of
    types it is a program of its own: ``grad(...).text(x, ...)`` is its text, ``grad(...).kernel(x, ...)`` its kernel.

    Raises :class:`~kgen.KgenError`: ``bad-wrt``.
    """
    return Gradient(program if isinstance(program, Kernel | Derived) else jit(program), wrt)


@public
def jvp(program: str | Kernel | Derived) -> Tangent:
    """A program's outputs and how they change along tangents of its arguments, in one kernel: forward mode.

    ``program``: a text, a kernel, or a derivative.  It is called as the program is, with a tangent ``x_tangent`` for
    each argument ``x`` that changes, and returns the outputs, then the tangents of those of floats.
    """
    return Tangent(program if isinstance(program, Kernel | Derived) else jit(program), values=True)


@public
def vjp(
    program: str | Kernel, wrt: str | Sequence[str] | None = None, *, save: Sequence[str] | None = None
) -> tuple[ForwardHalf, BackwardHalf]:
    """A program that also returns what its gradients need, and the gradients: what autograd calls.

    ``out, saved = forward(x, w)`` and ``x_grad, w_grad = backward(saved, out_grad=g)``.  ``saved`` has, by name, the
    arguments that the gradients read, and values that reductions computed; others are computed again.  ``save``: the
    lets and outputs to save in their place.  ``explain`` of both says what is saved.

    Raises :class:`~kgen.KgenError`: ``bad-wrt``; calls also ``bad-save``.
    """
    pair = Pair(program if isinstance(program, Kernel) else jit(program), wrt, save)
    return ForwardHalf(pair), BackwardHalf(pair)
