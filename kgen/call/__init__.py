"""Calls of kernels on arrays: arguments, outputs, memory, launches, and the calls that repeat an earlier one."""
