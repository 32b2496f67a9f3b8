"""Devices as data: the limits that schedules are chosen under."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """Limits of a family of devices.

    ``vector_bytes`` is the widest single load or store; ``parameter_bytes`` what a kernel's parameters may take in all
    (CUDA C++ Programming Guide, "Function Parameters": 4,096 bytes on every device and toolkit).
    """

    name: str
    vector_bytes: int = 16
    parameter_bytes: int = 4096


PORTABLE = Target("any GPU from sm_75 up")

#: What every generated file has to compile for.
ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
