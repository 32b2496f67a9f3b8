"""Calls that repeat an earlier one: recognised and launched by one generated Python function each."""

from kgen.quick.dense import dense_call
from kgen.quick.exact import exact_call
from kgen.quick.text import Operand, Quick, Seen

__all__ = ["Operand", "Quick", "Seen", "dense_call", "exact_call"]
