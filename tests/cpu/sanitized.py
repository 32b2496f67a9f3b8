"""Runs planted bugs, and the clean kernels, inside a process that has a sanitizer preloaded.

``python -m tests.cpu.sanitized MODE CASE...`` prints, as JSON, the exit status and the output of every case.  Each case
runs in a fork of its own, since a sanitizer ends the process at the first bug; the slow start is paid once.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np

from kgen.runtime.cpu.module import CpuModule

from . import clean_kernels
from .harness import Array, launch

PLANTED = Path(__file__).parent / "planted"
Run = Callable[[CpuModule], None]


def _room(count: int, offset: int = 0) -> Array:
    """Exactly ``count`` floats up to the end of an allocation, at a 16-byte boundary plus ``offset`` floats.

    More than a kilobyte: NumPy keeps smaller blocks for itself, out of the sanitizer's sight.
    """
    pad = 1024
    whole = np.zeros(pad + offset + count, np.float32)
    assert whole.ctypes.data % 16 == 0
    room: Array = whole[pad + offset :]
    return room


def _expect(condition: bool) -> None:
    if not condition:
        raise AssertionError("wrong result")


def _read_before_write(module: CpuModule) -> None:
    out = np.zeros(32, np.float32)
    launch(module, "planted", out, block=32, shared=4)
    _expect(bool((out == 32).all()))


def _in_place_shift(module: CpuModule) -> None:
    x = np.arange(64, dtype=np.float32)
    launch(module, "planted", x, ctypes.c_int(64), block=64)
    _expect(bool((x[:-1] == np.arange(1, 64) + 1).all()))


CASES: dict[str, Run] = {
    "write_past_end": lambda m: launch(m, "planted", _room(1000), ctypes.c_int(1000), grid=4, block=256),
    "vector_tail": lambda m: launch(m, "planted", _room(1003), ctypes.c_int(1003), grid=1, block=256),
    "tile_row_short": lambda m: launch(m, "planted", _room(1024), _room(1024), block=(32, 32, 1)),
    "dynamic_shared_short": lambda m: launch(m, "planted", _room(64), block=64, shared=63 * 4),
    "misaligned_vector": lambda m: launch(m, "planted", _room(256, offset=1), _room(32), block=32),
    "shift_too_far": lambda m: launch(m, "planted", _room(32), block=32),
    "signed_overflow": lambda m: launch(m, "planted", np.zeros(64, np.int64), ctypes.c_int(1 << 28), block=64),
    "missing_barrier": lambda m: launch(m, "planted", _room(64), block=64),
    "reused_shared": lambda m: launch(m, "planted", _room(64), block=64),
    "cross_block_add": lambda m: launch(m, "planted", _room(1), grid=8, block=32, cooperative=True),
    "in_place_shift": _in_place_shift,
    "divergent_barrier": lambda m: launch(m, "planted", _room(64), block=64),
    "half_warp_shuffle": lambda m: launch(m, "planted", _room(32), block=32),
    "lane_outside_mask": lambda m: launch(m, "planted", _room(32), block=32),
    "return_before_barrier": lambda m: launch(m, "planted", _room(64), ctypes.c_int(40), block=64),
    "read_before_write": _read_before_write,
    "wild_pointer": lambda m: launch(m, "planted", _room(32), ctypes.c_longlong(1 << 42), block=32),
}


def run_case(case: str, sanitize: str | None) -> None:
    """One planted bug, or ``clean``."""
    if case == "clean":
        clean_kernels.run_all(
            CpuModule.load(clean_kernels.TEXT, clean_kernels.KERNELS, name="clean.cu", sanitize=sanitize)
        )
        return
    text = (PLANTED / f"{case}.cu").read_text()
    CASES[case](CpuModule.load(text, ["planted"], name=f"{case}.cu", sanitize=sanitize))


def _in_a_fork(case: str, sanitize: str | None) -> tuple[int, str]:
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            status = 1
            try:
                run_case(case, sanitize)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        _, status = os.waitpid(child, 0)
        output.seek(0)
        return os.waitstatus_to_exitcode(status), output.read().decode("utf-8", "replace")


def main(mode: str, cases: list[str]) -> None:
    os.environ.pop("LD_PRELOAD", None)  # the compiler needs no sanitizer
    print(json.dumps({case: _in_a_fork(case, None if mode == "none" else mode) for case in cases}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
