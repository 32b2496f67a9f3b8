"""Reductions in two steps, for register-resident elements: the second step starts from the first one's result.

A warp computes the maximum of its elements, then the sum of exponentials relative to it.  Or it computes their mean,
then the sum of squared distances from it, which takes fewer instructions than moments and is more accurate.  Warps
exchange their states only after both steps.

For the place of an extreme, all threads first exchange the extreme.  Then few groups are left to search.
"""

from __future__ import annotations

from kgen.codegen.c_types import register_type
from kgen.codegen.helpers import accumulator_struct as struct
from kgen.codegen.reduction.accumulators import Accumulator, Local, accumulator
from kgen.dtypes import FLOAT32, DType
from kgen.ir.graph import Op, Reduction
from kgen.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class TwoSteps:
    """The two steps.  ``word``: the name of the ``first`` one's result for a warp, from which the ``second`` starts.

    ``meets``: whether warps exchange the first one's result.
    """

    word: str
    first: Accumulator
    second: Accumulator
    meets: bool = False

    def after(self, found: str) -> Accumulator:
        """The second step, where the first one's state is called ``found``."""
        local = self.second.local
        if local is None:
            return replace(self.second, takes_group=self.second.takes_group.replace("FOUND", found))
        return replace(self.second, local=replace(local, init=f"{local.type}::of({found})"))


def two_steps(op: Op, whole: Accumulator) -> TwoSteps | None:
    """The two steps for ``op``, whose accumulator is ``whole``; None if it takes one step."""
    if not isinstance(op.attr, Reduction) or op.attr.kind not in ("exp_sum", "logsumexp", "var", "std"):
        return None
    if op.dtype.is_complex or whole.takes_source:
        return None
    c_type = register_type(op.dtype)
    if op.attr.kind in ("exp_sum", "logsumexp"):
        first = accumulator(replace(op.attr, kind="max"), op.dtype, op.dtype)
        return TwoSteps("peak", first, _second(whole, f"Exponentials<{c_type}>", "terms", "log_sum()", "exponentials"))
    first = Accumulator(
        f"Total<{c_type}>", (c_type,) * 2, (struct("total"),),
        part=f"Sum<{c_type}>", start=f"Sum<{c_type}>::identity()", take="add({x}, {group})",
    )  # fmt: skip
    return TwoSteps("total", first, _second(whole, f"Distances<{c_type}>", "distances", "moments()", "distances"))


def place_steps(op: Op, source: DType, whole: Accumulator) -> TwoSteps | None:
    """The two steps for the place of an extreme of ``source`` values; None for other reductions."""
    if not isinstance(op.attr, Reduction) or op.attr.kind not in ("argmin", "argmax") or source is not FLOAT32:
        return None
    first = accumulator(replace(op.attr, kind=op.attr.kind.removeprefix("arg")), source, source)
    second = Accumulator(
        f"FirstPlace<{whole.places}>", (whole.places,), (struct("first_place"),),
        at_once=first.at_once, at_once_of=first.at_once_of, takes_group="add({x}, {at_once}({x}), FOUND.value, {at})",
    )  # fmt: skip
    return TwoSteps("extreme", first, second, meets=True)


def _second(whole: Accumulator, c_type: str, word: str, total: str, file: str) -> Accumulator:
    local = Local(word, c_type, "", "merge({x})", total, (struct(file),), by_warp=True)
    return replace(whole, local=local, collects="", part=c_type, start="{a}.part()", take="merge({x})")
