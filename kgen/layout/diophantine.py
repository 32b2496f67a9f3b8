"""Bounded linear Diophantine equations: is there an x with sum(x[i] * coefficient[i]) == target, 0 <= x[i] <= bound[i]?

This decides whether two strided arrays share an element.  It is NP-complete in general (it contains subset sum), but
easy for nearly all layouts in practice.  The method is that of NumPy's ``solve_diophantine``
(numpy/_core/src/common/mem_overlap.c), depth-first over the terms, largest coefficient first, with three prunings:

- range: the rest must lie between 0 and the largest sum of the remaining terms;
- congruence: it must be a multiple of the gcd of the remaining coefficients, so x[i] moves in steps;
- gap-free tails: if the remaining terms reach every multiple of their gcd up to their largest sum, it is solvable.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

#: The most search nodes of :func:`solvable`: about 50 ms.  Views of one array need fewer than 1,000.
WORK_LIMIT = 1 << 14


def solvable(terms: Iterable[tuple[int, int]], target: int, limit: int = WORK_LIMIT) -> bool | None:
    """Whether the equation has a solution; None when ``limit`` nodes did not decide it.

    ``terms``: (coefficient > 0, bound >= 0) pairs.
    """
    bounds: dict[int, int] = {}
    for coefficient, bound in terms:
        if bound > 0:
            bounds[coefficient] = bounds.get(coefficient, 0) + bound
    ordered = sorted(bounds.items(), reverse=True)
    tails = _tails(ordered)
    most, divisor, gap_free = tails[0]
    if not 0 <= target <= most or (target % divisor if divisor else target):
        return False
    if gap_free:
        return True
    # Depth first with a stack of iterators: ``choices[level]`` yields the rest for each x[level].
    seen: set[tuple[int, int]] = set()
    choices = [iter(_remainders(ordered[0], tails[1], target))]
    work = 0
    while choices:
        left = next(choices[-1], None)
        if left is None:
            choices.pop()
            continue
        level = len(choices)
        if tails[level][2]:
            return True
        work += 1
        if work > limit:
            return None
        if (level, left) not in seen:
            seen.add((level, left))
            choices.append(iter(_remainders(ordered[level], tails[level + 1], left)))
    return False


def _tails(ordered: list[tuple[int, int]]) -> list[tuple[int, int, bool]]:
    """For each suffix of the terms: its largest sum, the gcd of its coefficients, whether it is gap-free."""
    most, divisor, gap_free = 0, 0, True
    tails = [(most, divisor, gap_free)]
    for coefficient, bound in reversed(ordered):
        # Copies of the run [0, most], shifted by multiples of the coefficient, leave no gap between them.
        gap_free = gap_free and (divisor == 0 or (coefficient % divisor == 0 and coefficient <= most + divisor))
        most += coefficient * bound
        divisor = gcd(divisor, coefficient)
        tails.append((most, divisor, gap_free))
    tails.reverse()
    return tails


def _remainders(term: tuple[int, int], tail: tuple[int, int, bool], target: int) -> range:
    """The possible rests of ``target`` after this term that the tail may still reach; largest x first."""
    coefficient, bound = term
    most, divisor, _ = tail
    if divisor == 0:  # the last term
        fits = target % coefficient == 0 and target // coefficient <= bound
        return range(1) if fits else range(0)
    low = max(0, -((most - target) // coefficient))  # ceil((target - most) / coefficient)
    high = min(bound, target // coefficient)
    common = gcd(coefficient, divisor)
    if target % common:
        return range(0)
    step = divisor // common
    first = target // common * pow(coefficient // common, -1, step) % step if step > 1 else 0
    high -= (high - first) % step
    if high < low:
        return range(0)
    return range(target - high * coefficient, target - low * coefficient + 1, step * coefficient)
