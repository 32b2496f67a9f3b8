"""``kgen.jit``: from a text to a :class:`~kgen.Kernel`."""

from __future__ import annotations

import os
import re
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import ref

from kgen.call.kept import MOST_TEXT as MOST_KEPT_TEXT, Kept
from kgen.diagnostics import error, public, shown
from kgen.kernel import Kernel, loaded, new_kernel

if TYPE_CHECKING:  # imported where they are used, so that `import kgen` stays cheap
    from kgen.program import Program

MOST_TEXT = 1 << 24  #: bytes of a program's file
MOST_SHARED = 128  #: kernels that are kept for later calls of :func:`jit` with the same arguments
_PATH = re.compile(r"\s*[^\n=#]{1,200}\.k\s*")  #: a path; a program has a `=`

_IN_CALL = "<string>"  #: the name of a text that is no file's
_PROGRAM = 'write kgen.jit("out = a * b"), or kgen.jit(path="expr.k") for a file'


@public
# many: one for each option of a kernel
def jit(
    text: str | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
    device: str | None = None,
    name: str | None = None,
    fmad: bool = True,
    fast: bool = False,
    pdl: bool = True,
    deterministic: bool = False,
    tuning: int = 0,
) -> Kernel:
    """Compile a program, given as text or as the ``path`` of a ``.k`` file, into a callable.

    ``device``: ``"cuda"``, ``"cuda:1"``, ``"cpu"`` or None (the arrays' own; NumPy arrays go to a GPU if there is
    one, else to the CPU).  ``name``: what kernels are called in profilers, an identifier.  ``fmad=False`` forbids
    contraction to fma, so that results are defined bit for bit; ``fast=True`` allows approximate functions.
    ``pdl=False`` forbids a call's first kernel to start before the kernel ahead of it in the stream is complete
    (programmatic dependent launch, on sm_90 and later); results are the same.  ``deterministic=True`` gives updates at
    computed places the same bits at every call.  ``tuning``: the number that :meth:`Kernel.tune` found, for arrays like
    those that it was given; numbers are those of one version of kgen.

    The same arguments give the same kernel again, so asking for it in a loop costs a few microseconds; of the last
    128 programs of up to 4096 characters, except those that warned or own more than a megabyte of scratch memory.
    Environment variables are read when a kernel is made and first called.

    Raises :class:`~kgen.KgenError` with every syntax and name error of the text, and warns (:class:`~kgen.LintWarning`)
    of what is legal and probably not meant.  Nothing is compiled for a device before the first call.
    """
    if (text is None) == (path is None):
        raise error("bad-call", "jit() takes a program's text or path=, one of the two")
    if text is not None and not isinstance(text, str):
        raise error("bad-call", f"a program is a str, not {type(text).__name__}", _PROGRAM)
    if path is not None and not isinstance(path, str | os.PathLike):
        raise error("bad-call", f"path= is the path of a file, not {type(path).__name__}", 'such as path="expr.k"')
    for option, value in (("fmad", fmad), ("fast", fast), ("pdl", pdl), ("deterministic", deterministic)):
        if not isinstance(value, bool):
            raise error("bad-call", f"{option}= is True or False, not {shown(value)}")
    if type(tuning) is not int or tuning:
        _check_tuning(tuning)
    if fast and not fmad:
        raise error("bad-call", "fast=True allows contraction and fmad=False forbids it", "leave one of them out")
    source = _IN_CALL
    if path is not None:
        text, source = read_program(Path(path)), Path(path).name
    assert text is not None
    choices = fmad, fast, pdl, deterministic, tuning
    # Subclasses of str may hash as they like; other types are refused.
    plain = all(one is None or type(one) is str for one in (text, name, device)) and len(text) <= MOST_KEPT_TEXT
    kept = _kept(text, source, name, device, choices, os.environ.get("KGEN_NVTX")) if plain else Kept()
    kernel: Kernel | None = kept.kernel
    if kernel is None or kernel.has_warned:
        kernel = kept.kernel = _made(text, source, name, device, choices, kept)
    return kernel


def _check_tuning(number: object) -> None:
    """Raises :class:`~kgen.KgenError` (``bad-call``) for what is the number of no table."""
    from kgen.options import OTHER_TABLES

    if type(number) is not int or not 0 <= number <= OTHER_TABLES:
        message = f"tuning= is a number from 0 to {OTHER_TABLES}, not {shown(number)}"
        raise error("bad-call", message, "take options.tuning of the kernel that tune() returned")


@lru_cache(MOST_SHARED)
def _kept(*arguments: object) -> Kept:
    """What is kept of these arguments."""
    return Kept()


# many: those of the kernel, and where to keep it
def _made(
    text: str,
    source: str,
    name: str | None,
    device: str | None,
    choices: tuple[bool, bool, bool, bool, int],
    kept: Kept,
) -> Kernel:
    from kgen.call import stored_call
    from kgen.options import Options

    if source == _IN_CALL and looks_like_path(text):
        hint = f"to read a file write kgen.jit(path={text.strip()!r})"
        raise error("bad-call", f"`{text.strip()}` is the path of a program, not its text", hint)
    fmad, fast, pdl, deterministic, tuning = choices
    options = Options(fmad, fast, pdl, deterministic=deterministic, tuning=tuning)
    key = stored_call.key_of(text, source, name, device, options)
    stored = stored_call.find(key)
    if stored:  # it had no errors and no lints
        return new_kernel(partial(loaded, text, source), stored[0].base, device, options, key, stored, ref(kept))
    program = loaded(text, source)
    kernel = new_kernel(lambda: program, _base(program, name, device), device, options, key, (), ref(kept))
    kernel._engine.lowering.warn(program.lints)
    return kernel


def _base(program: Program, name: str | None, device: str | None) -> str:
    """What kernels are called.  Raises :class:`~kgen.KgenError` for names and devices that cannot be."""
    from kgen.codegen.names import named_base
    from kgen.header import default_base

    base = default_base(program) if name is None else named_base(name)
    if device is not None:
        from kgen.runtime.backend import parse_device

        parse_device(device)
    return base


def looks_like_path(text: str) -> bool:
    """Whether a text is the path of a program, not a program."""
    return _PATH.fullmatch(text) is not None


def read_program(path: Path) -> str:
    """The text of a ``.k`` file.  Raises :class:`~kgen.KgenError` (``unreadable-file``)."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MOST_TEXT + 1)
    except UnicodeDecodeError:
        raise error("unreadable-file", f"{path} is not UTF-8 text", "save it as UTF-8") from None
    except (OSError, ValueError) as problem:  # ValueError: a null byte in the path
        why = getattr(problem, "strerror", None) or problem
        raise error("unreadable-file", f"cannot read {path}: {why}", unreadable_hint(problem)) from None
    check_length(text, str(path))
    return text


def check_length(text: str | bytes, shown: str) -> None:
    """Raises :class:`~kgen.KgenError` (``unreadable-file``) for a program that is read without end, as of /dev/zero."""
    if len(text) > MOST_TEXT:
        raise error(
            "unreadable-file", f"{shown} is longer than {MOST_TEXT:,} bytes, so it is no program", "name a `.k` file"
        )


def unreadable_hint(problem: Exception) -> str:
    """What to do about a file that the system does not read."""
    match problem:
        case IsADirectoryError():
            return "name a file of that folder"
        case PermissionError():
            return "allow reading it, such as by chmod u+r"
        case _:
            return "name a file that exists"
