"""CUDA: compile with NVRTC, load, launch, device memory.  The only package that imports ``cuda.*``.

Importing it does not call the driver; :func:`kgen.runtime.cuda.driver.probe` makes the first call.
"""
