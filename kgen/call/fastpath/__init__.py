"""Fast paths: one generated function checks that a call is like an earlier one, and launches it.

Classes of layouts (``same_class.py``) need the stages, and are imported where a second layout comes.
"""

from kgen.call.fastpath.codegen import FastCall, ObservedCall, Operand, ViewAddress
from kgen.call.fastpath.same_layout import same_layout_call

__all__ = ["FastCall", "ObservedCall", "Operand", "ViewAddress", "same_layout_call"]
