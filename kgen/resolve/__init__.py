"""Tree -> program: what every name means, in which order the arguments come, and what is wrong with either."""

from kgen.resolve.names import resolve

__all__ = ["resolve"]
