"""Loads a compiled text and launches its kernels, with the calling convention of the CUDA driver."""

from __future__ import annotations

import _ctypes
import ctypes
import gc
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from kgen.diagnostics import KgenError, error
from kgen.runtime.cpu import build

if TYPE_CHECKING:
    from kgen.schedule.launch import Launch

Dim3 = tuple[int, int, int]

_SIZES = [ctypes.c_uint64] * 9  # grid, block and cluster
_Entry = ctypes.CFUNCTYPE(ctypes.c_void_p, *_SIZES, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)

# By key.  A kernel library is unloaded with its last kernel.  Schedulers stay loaded: kernel libraries find them by
# name among the loaded libraries.
_loaded: WeakValueDictionary[str, ctypes.CDLL] = WeakValueDictionary()
_schedulers: dict[str, ctypes.CDLL] = {}


class Scratch:
    """Zeroed memory at ``address``, aligned like device memory."""

    def __init__(self, size: int) -> None:
        self._memory = ctypes.create_string_buffer(size + 256)
        self.address = -(-ctypes.addressof(self._memory) // 256) * 256


class CpuModule:
    """The kernels of one text."""

    def __init__(
        self, scheduler: ctypes.CDLL, library: ctypes.CDLL, kernels: Sequence[str], one_os_thread: bool
    ) -> None:
        self._scheduler = scheduler
        self._library = library
        self._one_os_thread = one_os_thread
        self._entries: dict[str, Callable[..., Any]] = {}
        for kernel in kernels:
            # `library[name]` is a reference cycle: only the garbage collector would free it and the library.
            entry = _Entry(ctypes.addressof(ctypes.c_char.in_dll(library, f"kgen_launch_{kernel}")))
            entry.library = library  # type: ignore[attr-defined]
            self._entries[kernel] = entry

    @classmethod
    def load(
        cls, text: str, kernels: Sequence[str], *, name: str = "kernel.cu", sanitize: str | None = None
    ) -> CpuModule:
        """Compiles ``text``, or takes it from the cache, and loads it."""
        recipe = build.recipe(text, kernels, name=name, sanitize=sanitize)
        assert recipe.needs is not None
        scheduler = _load_scheduler(recipe.needs)
        return cls(scheduler, _load_library(recipe), kernels, _shares_static(sanitize))

    def launch_arguments(self, kernel: str, launch: Launch, params: int, stream: int, pdl: bool) -> tuple[Any, ...]:
        """The arguments of :meth:`start` for a launch, which can be reused."""
        threads = 1 if self._one_os_thread else 0
        return self._entries[kernel], *launch.grid, *launch.block, 1, 1, 1, 0, params, threads, False

    def native_launch(self, kernel: str, launch: Launch, pdl: bool) -> tuple[Any, ...]:
        return self.function(kernel), launch.grid, launch.block, 0, int(self._one_os_thread), (1, 1, 1), False, False

    def function(self, kernel: str) -> int:
        """The address of what launches a kernel."""
        return ctypes.cast(self._entries[kernel], ctypes.c_void_p).value or 0  # type: ignore[arg-type]

    @staticmethod
    def context() -> int:
        """The CPU has none."""
        return 0

    @staticmethod
    def start(entry: Callable[..., Any], *arguments: Any) -> Any:
        """Runs a kernel to its end, without the GIL; returns the address of an error message, or None."""
        return entry(*arguments)

    status_source = "{result}"
    resize_source = "{launch} = ({launch}[0], *{grid}, *{launch}[4:])"

    @staticmethod
    def status(result: Any) -> Any:
        return result

    @staticmethod
    def scratch(size: int) -> Scratch:
        """Zeroed scratch memory for kernels."""
        return Scratch(size)

    @staticmethod
    def is_capturing(stream: int) -> bool:
        return False

    @staticmethod
    def keep_for_graph(stream: int, scratch: object) -> None:
        """Nothing is captured on the CPU."""

    @staticmethod
    def clusters(kernel: str, launch: Launch) -> int:
        from kgen.schedule.launch import ALL_CLUSTERS

        return ALL_CLUSTERS

    def recover(self, kernel: str, arguments: tuple[Any, ...], status: Any) -> None:
        raise self._error(kernel, status)

    # many: the parameters of cuLaunchKernelEx
    def launch(
        self,
        kernel: str,
        grid: Dim3,
        block: Dim3,
        params: int,
        *,
        shared: int = 0,
        cluster: Dim3 = (1, 1, 1),
        cooperative: bool = False,
        threads: int = 0,
    ) -> None:
        """Runs a kernel to its end, without the GIL.

        ``params`` is the address of a ``void*[]``, as for ``cuLaunchKernel``.  ``threads`` OS threads share the
        blocks; 0 means as many as the machine has and the work needs.
        """
        if self._one_os_thread:
            threads = 1
            if cooperative and grid != (1, 1, 1):
                raise error("kernel-failed", f"{kernel}: no cooperative launches under AddressSanitizer")
        failed = self._entries[kernel](*grid, *block, *cluster, shared, params, threads, cooperative)
        if failed:
            raise self._error(kernel, failed)

    def _error(self, kernel: str, text: int) -> KgenError:
        message = ctypes.string_at(text).decode("utf-8", "replace")
        self._scheduler.kgen_free_error(text)
        return error("kernel-failed", f"{kernel}: {message}")


def _shares_static(sanitize: str | None) -> bool:
    """Whether blocks have to run one after another: AddressSanitizer checks static arrays but not thread-local ones."""
    return sanitize is not None and "address" in sanitize


def _load_library(recipe: build.Recipe) -> ctypes.CDLL:
    found = _loaded.get(recipe.key)
    if found is None:
        found = _loaded[recipe.key] = _open(recipe)
        # Its kernels keep it alive.
        weakref.finalize(found, _ctypes.dlclose, found._handle).atexit = False
    return found


def _load_scheduler(recipe: build.Recipe) -> ctypes.CDLL:
    loaded = _schedulers.get(recipe.key)
    if loaded is None:
        loaded = _open(recipe)
        loaded.kgen_free_error.argtypes = [ctypes.c_void_p]
        loaded.kgen_free_error.restype = None
        loaded = _schedulers.setdefault(recipe.key, loaded)
    return loaded


def _open(recipe: build.Recipe) -> ctypes.CDLL:
    """Loads a library; if another process removed it meanwhile, builds it in a folder of this process."""
    why = ""
    for temporary in (False, False, True):
        path = recipe.build(temporary=temporary).path
        try:
            return ctypes.CDLL(str(path))
        except OSError as problem:
            why = str(problem)
            gc.collect()  # unloads unused kernels: the number of memory mappings is limited
    hint = "check that its folder is not mounted noexec, and that vm.max_map_count allows more loaded libraries"
    raise error("load-failed", f"a compiled kernel cannot be loaded: {why}", hint)
