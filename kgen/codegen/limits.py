"""How many bytes a kernel's parameters take, and the error where CUDA does not have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgen.diagnostics import error
from kgen.schedule.reduction.launch import steps_of
from kgen.schedule.reduction.schedule import RowSchedule
from kgen.schedule.schedule import Schedule
from kgen.schedule.target import PORTABLE

if TYPE_CHECKING:
    from kgen.codegen.kernels import Parameter


def check_parameters(name: str, schedule: Schedule, parameters: Sequence[Parameter]) -> None:
    """Raises :class:`~kgen.KgenError` (``too-many-parameters``) past the limit of CUDA."""
    limit = PORTABLE.parameter_bytes
    size = parameter_bytes(schedule, parameters)
    if size > limit:
        arrays = sum(p.kind in ("pointer", "buffer") for p in parameters)
        what = (
            f"`{name}` passes {arrays} arrays and {size:,} bytes of parameters; a CUDA kernel takes at most {limit:,}"
        )
        split = "split the program into several"
        lay = "pass contiguous arrays (ahead of time: --layout contiguous), whose strides are not passed, or "
        raise error("too-many-parameters", what, (lay if schedule.patterns else "") + split)


def parameter_bytes(schedule: Schedule, parameters: Sequence[Parameter]) -> int:
    """Each parameter at a multiple of its own alignment, as CUDA lays them out."""
    end = 0
    for parameter in parameters:
        size, alignment = _size(schedule, parameter)
        end = -(-end // alignment) * alignment + size
    return end


def _size(schedule: Schedule, parameter: Parameter) -> tuple[int, int]:
    word = schedule.index_bits // 8
    match parameter.kind:
        case "pointer" | "buffer" | "partial" | "arrived" | "taken" | "size":
            return 8, 8
        case "scalar":
            assert parameter.dtype is not None
            return parameter.dtype.size, parameter.dtype.size
        case "n":
            return word, word
        case "layout" if isinstance(schedule, RowSchedule):
            rank, kept = schedule.rank, schedule.kept
            extents = (rank - 2) * (3 if word == 4 else 1)
            steps = sum(len(steps_of(schedule, i)) for i in range(len(schedule.touches)))
            sizes = 1 + schedule.by_columns + schedule.split
            return 8 * schedule.patterns * kept + (sizes + steps + extents) * word, 8
        case "layout":
            # Narrow extents come with a multiplier and a shift each, to divide by.
            extents = (schedule.rank - 1) * (3 if word == 4 else 1)
            if schedule.template in ("rows", "tiled"):
                sides = 1 if schedule.template == "rows" else 2
                return (
                    sides + extents + schedule.patterns * (schedule.rank - 1) + schedule.gathers + schedule.spans
                ) * word, word
            return (extents + schedule.patterns * schedule.rank) * word, word
