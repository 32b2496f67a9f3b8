"""The registers, shared memory and local memory of a kernel, from ptxas's report."""

from __future__ import annotations

import re

from kgen.records import dataclass
from kgen.runtime.cuda.compiler import assemble, require_arch

_KERNEL = re.compile(
    r"Function properties for (?P<name>\w+)\s+.*?(?P<local>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads.*?Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True, slots=True)
class Usage:
    """``registers`` and ``local`` bytes are per thread, ``shared`` bytes per block; ``spilled`` bytes are spill
    stores and loads."""

    arch: str
    registers: int
    shared: int
    local: int
    spilled: int


def usage(text: str, *, name: str, arch: str, options: tuple[str, ...]) -> dict[str, Usage]:
    """The usage of each kernel of a text, by name; empty if the format of ptxas's report is unknown."""
    require_arch(arch)
    _, log = assemble(text, name=name, options=options)
    found: dict[str, Usage] = {}
    for kernel in _KERNEL.finditer(log):
        shared = _SHARED.search(kernel["rest"])
        found[kernel["name"]] = Usage(
            arch,
            int(kernel["registers"]),
            int(shared[1]) if shared else 0,
            int(kernel["local"]),
            int(kernel["stores"]) + int(kernel["loads"]),
        )
    return found
