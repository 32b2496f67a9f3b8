"""Calls of kernels on arrays: arguments, outputs, memory, launches, and fast paths for repeated calls."""
