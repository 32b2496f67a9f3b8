"""How a program may be compiled and launched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgen.records import dataclass, replace

if TYPE_CHECKING:
    from kgen.program import Program
    from kgen.schedule.target import Target

OTHER_TABLES = 24  #: by which schedules may be chosen, besides number 0 (`Other tables`)


@dataclass(frozen=True, slots=True)
class Options:
    """``fmad``, ``fast``: how floating-point text may be compiled.

    ``deterministic``: whether sums at computed places must not depend on the order of threads.

    ``line_directives``: whether the text points at the lines of the program.

    ``pdl``: whether a call's first kernel may start before the kernel ahead of it in the stream is complete.

    ``tuning``: the number of the table by which schedules are chosen (:mod:`kgen.schedule.tables`).
    """

    fmad: bool = True
    fast: bool = False
    pdl: bool = True
    line_directives: bool = False
    deterministic: bool = False
    tuning: int = 0

    def applied(self, program: Program) -> Program:
        """The program as these options have it."""
        return replace(program, rewriting="deterministic") if self.deterministic else program

    def target(self, target: Target) -> Target:
        """The target with the table of numbers that these options name."""
        if not self.tuning:
            return target
        from kgen.schedule.tables import with_table

        return with_table(target, self.tuning)

    @property
    def nvrtc_flags(self) -> tuple[str, ...]:
        """The flags that this choice needs, spelt alike for NVRTC and nvcc."""
        if self.fast:
            return ("-use_fast_math",)
        return ("-fmad=true" if self.fmad else "-fmad=false",)

    @property
    def command_flags(self) -> tuple[str, ...]:
        flags = {
            "--fmad=off": not self.fmad, "--fast": self.fast, "--line-directives": self.line_directives,
            "--deterministic": self.deterministic,
        }  # fmt: skip
        return tuple(flag for flag, given in flags.items() if given)
