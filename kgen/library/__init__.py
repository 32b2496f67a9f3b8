"""Libraries for C and C++ projects: programs -> kernels and launchers, compiled and linked.

``toolkit``: the compilers of this machine.  ``objects``: one object file for each program, by nvcc, or by NVRTC and the
host's compiler.  ``link``: the library of them.
"""
