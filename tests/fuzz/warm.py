"""What every process of a campaign needs, made once: the server that they are forked from imports this.

Nothing here starts CUDA or a thread.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from importlib import import_module

import numpy as np

from .subjects import subject

WARMING = 200  # programs; what is kept between programs grows little after these

with warnings.catch_warnings(), np.errstate(all="ignore"), suppress(ImportError):
    warnings.simplefilter("ignore")
    for seed in range(WARMING):
        with suppress(Exception):  # a campaign reports what goes wrong in its own programs
            subject(seed).prepare("kernel", "cpu")
    import_module("torch")
