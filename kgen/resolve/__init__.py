"""Tree -> program: resolves every name, orders the arguments, and reports errors in names."""

from kgen.resolve.names import resolve

__all__ = ["resolve"]
