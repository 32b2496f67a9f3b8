"""CUDA: compile with NVRTC, load, launch, device memory.  The only package that imports ``cuda.*``.

Nothing here touches the driver on import; :func:`kgen.runtime.cuda.driver.probe` is the first to do so.
"""
