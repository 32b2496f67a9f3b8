"""Fast paths: one generated function checks that a call repeats an earlier one, and launches it."""

from kgen.call.fastpath.any_dense_shape import any_dense_shape_call
from kgen.call.fastpath.codegen import FastCall, ObservedCall, Operand
from kgen.call.fastpath.same_layout import same_layout_call

__all__ = ["FastCall", "ObservedCall", "Operand", "any_dense_shape_call", "same_layout_call"]
