"""Which architectures there are: a table, so that most need no compiler to be asked, and for newer ones NVRTC."""

from __future__ import annotations

import re

from kgen.diagnostics import KgenError, error
from kgen.schedule.target import Target, target_of

#: From the oldest that kgen writes for to the newest that CUDA 13 knows.
_KNOWN = (75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121)
#: The first with features of its own alone (``sm_90a``), and the first of a family (``sm_100f``).
_SUFFIXED_FROM = {"": 0, "a": 90, "f": 100}
_FORM = re.compile(r"sm_([1-9][0-9]{1,3})([af]?)")


def target_for(arch: str | None) -> Target:
    """What may be relied on where files run on ``arch`` and later; None: everywhere.

    Raises :class:`~kgen.KgenError` (``unknown-arch``).
    """
    if arch is not None:
        require_known(arch)
    return target_of(arch)


def require_known(arch: object) -> None:
    """Raises :class:`~kgen.KgenError` (``unknown-arch``) for what names no architecture that kgen writes for."""
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


def _compiled_for() -> tuple[str, ...]:
    """What the NVRTC that is here compiles for; nothing where there is none."""
    from kgen.runtime.cuda.nvrtc import supported_archs

    try:
        return supported_archs()
    except KgenError:
        return ()
