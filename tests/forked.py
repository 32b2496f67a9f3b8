"""Work in a fork of this process, which has imported what it needs and may end in any way."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable

from kgen import pipeline, resources  # noqa: F401  the stages
from kgen.codegen.templates import environment
from kgen.syntax import tables


def prepare_forks() -> None:
    """Reads what every process reads: the stages, the parser's tables and the templates.  Forks have them."""
    tables.load()
    templates = resources.folder("templates")
    for path in templates.rglob("*.j2"):
        environment().get_template(path.relative_to(templates).as_posix())


def in_a_fork(do: Callable[[], None]) -> tuple[int, str]:
    """The exit status of a process that did it, 1 after an exception, and the end of what it said."""
    with tempfile.TemporaryFile() as output:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of JAX, whose threads no fork needs
            child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            status = 1
            try:
                do()
                status = 0
            except SystemExit as end:
                status = int(str(end.code))
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        _, status = os.waitpid(child, 0)
        output.seek(0)
        return os.waitstatus_to_exitcode(status), output.read().decode("utf-8", "replace")[-6000:]
