"""Memory that kernels share in a captured graph: freed once the graph, and all that was instantiated from it, is gone.

A graph may own an object that CUDA reports as dropped, from a thread of its own that may not call CUDA, and as late as
after Python's end.  So what it calls is libc's ``sem_post``, and the next allocation frees what has been posted.
"""

from __future__ import annotations

import ctypes
import threading
from functools import cache
from typing import Any

from kgen.runtime.cuda import libcuda as driver
from kgen.runtime.cuda.driver import DriverError, check

_SEMAPHORE_BYTES = 64  # sem_t has 32 on 64-bit Linux

_lock = threading.Lock()
#: The semaphore of each, 0 where the graph's end cannot be known: then it is never freed.
_kept: list[tuple[int, object]] = []


def keep(stream: int, memory: object) -> None:
    """Keep ``memory`` until the graph that ``stream`` captures is destroyed, and every one made of it."""
    dropped = _reported(stream)
    with _lock:
        _kept.append((dropped, memory))


def free_dropped() -> None:
    """Let go of the memory of graphs that are gone."""
    with _lock:
        gone = [one for one in _kept if one[0] and _libc().sem_trywait(one[0]) == 0]
        _kept[:] = [one for one in _kept if one not in gone]
    for semaphore, _ in gone:
        _libc().free(semaphore)


def _reported(stream: int) -> int:
    """A semaphore that is posted when the graph that a stream captures is gone; 0 where this is not possible."""
    libc = _libc()
    semaphore = 0 if libc is None else int(libc.calloc(1, _SEMAPHORE_BYTES) or 0)
    if semaphore == 0:
        return 0
    libc.sem_init(semaphore, 0, 0)
    post = ctypes.cast(libc.sem_post, ctypes.c_void_p).value
    unsynchronised = driver.CUuserObject_flags.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC
    try:
        graph = check("cuStreamGetCaptureInfo", driver.cuStreamGetCaptureInfo(driver.CUstream(stream)))[2]
        made = driver.cuUserObjectCreate(semaphore, driver.CUhostFn(post), 1, int(unsynchronised))
        held = check("cuUserObjectCreate", made)
        moves = int(driver.CUuserObjectRetain_flags.CU_GRAPH_USER_OBJECT_MOVE)
        check("cuGraphRetainUserObject", driver.cuGraphRetainUserObject(graph, held, 1, moves))
    except DriverError:
        return 0  # the semaphore is not freed: the object may have it
    return semaphore


@cache
def _libc() -> Any:
    """The C library; None where it has no semaphores."""
    try:
        libc = ctypes.CDLL(None)
        libc.calloc.restype = ctypes.c_void_p
        libc.calloc.argtypes = ctypes.c_size_t, ctypes.c_size_t
        libc.free.argtypes = libc.sem_post.argtypes = libc.sem_trywait.argtypes = (ctypes.c_void_p,)
        libc.sem_init.argtypes = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint
    except (AttributeError, OSError, TypeError):
        return None
    return libc
