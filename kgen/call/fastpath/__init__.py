"""Calls that repeat an earlier one: recognised and launched by one generated Python function each."""

from kgen.call.fastpath.any_dense_shape import any_dense_shape_call
from kgen.call.fastpath.codegen import FastCall, ObservedCall, Operand
from kgen.call.fastpath.same_layout import same_layout_call

__all__ = ["FastCall", "ObservedCall", "Operand", "any_dense_shape_call", "same_layout_call"]
