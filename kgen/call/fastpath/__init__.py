"""Calls that repeat an earlier one: recognised and launched by one generated Python function each."""

from kgen.call.fastpath.dense import dense_call
from kgen.call.fastpath.exact import exact_call
from kgen.call.fastpath.text import Operand, Quick, Seen

__all__ = ["Operand", "Quick", "Seen", "dense_call", "exact_call"]
