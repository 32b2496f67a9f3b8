"""The size of a kernel's parameters, and the error where it is beyond CUDA's limit."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.codegen.kernels import Parameter
from kgen.diagnostics import error
from kgen.schedule.launch import Rule
from kgen.schedule.schedule import Schedule


def check_parameters(name: str, schedule: Schedule, rule: Rule, parameters: Sequence[Parameter]) -> None:
    """Raises :class:`~kgen.KgenError` (``too-many-parameters``) beyond CUDA's limit."""
    limit = schedule.target.parameter_bytes
    size = parameter_bytes(schedule, rule, parameters)
    if size > limit:
        arrays = sum(p.kind in ("pointer", "buffer") for p in parameters)
        what = (
            f"`{name}` passes {arrays} arrays and {size:,} bytes of parameters; a CUDA kernel takes at most {limit:,}"
        )
        split = "split the program into several"
        lay = "pass contiguous arrays (ahead of time: --layout contiguous), whose strides are not passed, or "
        raise error("too-many-parameters", what, (lay if schedule.patterns else "") + split)


def parameter_bytes(schedule: Schedule, rule: Rule, parameters: Sequence[Parameter]) -> int:
    """The size in bytes: as CUDA lays them out, each parameter at a multiple of its alignment."""
    end = 0
    for parameter in parameters:
        size, alignment = _size(schedule, rule, parameter)
        end = -(-end // alignment) * alignment + size
    return end


def _size(schedule: Schedule, rule: Rule, parameter: Parameter) -> tuple[int, int]:
    word = schedule.count_bits // 8
    match parameter.kind:
        case "pointer" | "buffer" | "scratch" | "counters" | "size":
            return 8, 8
        case "shape":
            return 16 * parameter.rank, 8
        case "scalar":
            assert parameter.dtype is not None
            return parameter.dtype.size, parameter.dtype.size
        case "n":
            return word, word
        case "layout":
            return rule.struct_bytes, rule.struct_alignment
