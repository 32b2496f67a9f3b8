"""The known architectures: a table, and for newer ones the list of NVRTC."""

from __future__ import annotations

import re

from kgen.diagnostics import KgenError, error
from kgen.schedule.target import Target, target_of

#: From the oldest that kgen supports to the newest of CUDA 13.
_KNOWN = (75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121)
#: The first with architecture-specific features (``sm_90a``), and with family-specific ones (``sm_100f``).
_SUFFIXED_FROM = {"": 0, "a": 90, "f": 100}
_FORM = re.compile(r"sm_([1-9][0-9]{1,3})([af]?)")


def target_for(arch: str | None) -> Target:
    """The target for files that run on ``arch`` and later; None: on every architecture.

    Raises :class:`~kgen.KgenError` (``unknown-arch``).
    """
    if arch is not None:
        require_known(arch)
    return target_of(arch)


def require_known(arch: object) -> None:
    """Raises :class:`~kgen.KgenError` (``unknown-arch``) for an architecture that kgen does not support."""
    found = _FORM.fullmatch(arch) if isinstance(arch, str) else None
    if found is not None:
        number, suffix = int(found[1]), found[2]
        known = number in _KNOWN or (number > _KNOWN[-1] and f"sm_{number}" in _compiled_for())
        if known and number >= _SUFFIXED_FROM[suffix]:
            return
    digits = re.sub(r"[^0-9]", "", str(arch)[:20])
    meant = f"did you mean `sm_{digits}`? " if digits in map(str, _KNOWN) and f"sm_{digits}" != arch else ""
    shown = f"`{arch:.40}`" if isinstance(arch, str) else f"{arch!r:.40}"
    names = ", ".join(f"sm_{n}" for n in _KNOWN)
    hint = f"{meant}one of {names}; also sm_90a and later with `a`, sm_100f and later with `f`"
    raise error("unknown-arch", f"{shown} is not an architecture that kgen supports", hint)


def capability(arch: str) -> tuple[int, int]:
    """The compute capability: (9, 0) for ``sm_90`` and ``sm_90a``."""
    number = int(arch.removeprefix("sm_").rstrip("af"))
    return number // 10, number % 10


def _compiled_for() -> tuple[str, ...]:
    """The architectures of the installed NVRTC; none without NVRTC."""
    from kgen.runtime.cuda.nvrtc import supported_archs

    try:
        return supported_archs()
    except KgenError:
        return ()
