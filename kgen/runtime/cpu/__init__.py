"""The CPU target: the same ``.cu`` text, compiled by the host's compiler.

``include/`` makes the text C++17: qualifiers, vector types, intrinsics, the low-precision headers.  ``scheduler/`` is a
small library, compiled once, that runs blocks on OS threads and, where a kernel has barriers or warp operations, the
threads of a block as fibers.  ``toolchain`` finds the compiler, ``driver`` wraps a text, ``build`` has the
flags and cache keys, ``compiler`` runs the compiler, ``module`` loads and launches.

It tests what a kernel computes and which memory it accesses, not its speed on a GPU.  Environment: ``KGEN_CXX``,
``KGEN_CXXFLAGS``; ``KGEN_SCHED`` (0 in order, 1 reversed, else a seed) and ``KGEN_STRICT`` (undefined uses of barriers
and masks are errors).  Not supported: thread-block clusters, inline PTX without a fallback, and a thread that spins on
another thread of its own block without ``__nanosleep``.
"""
