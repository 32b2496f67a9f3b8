"""``python -W error -m tests.snapshots.scripts PATH...`` runs scripts and prints the status and output of each as JSON.

Each runs in a fork, and imports are paid once.
"""

from __future__ import annotations

import json
import runpy
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np  # noqa: F401

import kgen  # noqa: F401
from tests.forked import in_a_fork, prepare_forks

with suppress(ImportError):
    import torch  # noqa: F401


def run(path: str) -> None:
    sys.path.insert(0, str(Path(path).parent))
    runpy.run_path(path, run_name="__main__")


if __name__ == "__main__":
    prepare_forks()
    print(json.dumps({path: in_a_fork(partial(run, path)) for path in sys.argv[1:]}))
