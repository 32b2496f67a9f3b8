"""Fast paths: one generated function checks that a call is like an earlier one, and launches it."""

from kgen.call.fastpath.codegen import FastCall, ObservedCall, Operand, ViewAddress
from kgen.call.fastpath.same_class import class_of, same_class_call
from kgen.call.fastpath.same_layout import same_layout_call

__all__ = ["FastCall", "ObservedCall", "Operand", "ViewAddress", "class_of", "same_class_call", "same_layout_call"]
