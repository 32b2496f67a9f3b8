"""The kernels of ``examples/llm``."""
