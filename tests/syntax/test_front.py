"""The pieces around the parser: tables, resources, the prelude, and that every code has a golden case."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kgen import prelude, resources
from kgen.functions import FUNCTIONS, RESERVED
from kgen.syntax import tables
from kgen.syntax.lexer import STATEMENT_WORDS
from kgen.syntax.tree import Def

from .printer import show
from .test_reject import CASES

ROOT = Path(resources.__file__).parent


def test_every_prelude_function_parses() -> None:
    """Each line of prelude.k and complex.k is a def, found under its name with spans into the file."""
    texts = [prelude.source(file).text for file in prelude.FILES]
    for name in prelude.names():
        node = prelude.prelude_def(name)
        assert isinstance(node, Def)
        assert sum(text[node.span.start : node.span.end].startswith(f"def {name}(") for text in texts) == 1
    assert len(set(prelude.names())) == sum(text.count("\ndef ") for text in texts)
    assert show(getattr(prelude.prelude_def("relu"), "body")) == "(max x 0)"  # noqa: B009
    assert prelude.prelude_def("no_such_function") is None


def test_prelude_has_what_the_table_names() -> None:
    """Every function of rules `prelude` and `lifted` is defined with the arity of its row."""
    for function in FUNCTIONS.values():
        if function.rule in ("prelude", "lifted"):
            node = prelude.prelude_def(function.target)
            assert node is not None
            assert len(node.params) in function.arity


def test_tables_from_a_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table file is used when its digest is right, and built anew when it is not."""
    data = tables.build()
    built: list[bytes] = []

    def build() -> bytes:
        built.append(data)
        return data

    monkeypatch.setattr(tables, "build", build)
    for content, builds in [(data, 0), (b"?" * len(data), 1), (b"", 2), (None, 3), (data[:-9], 4)]:
        monkeypatch.setattr(resources, "built", lambda file, content=content: content)
        tables.load.cache_clear()
        assert tables.load().rules
        assert len(built) == builds
    tables.load.cache_clear()


def test_tables_are_reproducible() -> None:
    """The table file is the same bytes in every process, so that wheels are reproducible."""
    code = "import sys, hashlib; from kgen.syntax.tables import build; print(hashlib.sha256(build()).hexdigest())"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT.parent)},
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1


def test_the_parser_imports_no_lark() -> None:
    """lark is imported only where tables have to be built."""
    code = "import sys, kgen.syntax.parser, kgen.resolve; assert not {'lark', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(ROOT.parent)})


def test_missing_folder() -> None:
    """An installation without its data says so."""
    with pytest.raises(RuntimeError, match="install kgen again"):
        resources.folder("no_such_folder")


def test_reserved_words_are_the_grammars() -> None:
    """The words that no name may be are exactly the quoted words of the grammar."""
    words = {word for word in tables.load().words if word.isalpha()}
    assert words - {"if"} == RESERVED  # `if` is one behind a value only
    assert words >= STATEMENT_WORDS


def test_every_code_has_a_case() -> None:
    """Each error code of the front end appears in a golden case of cases/reject."""
    sources = [*(ROOT / "syntax").glob("*.py"), *(ROOT / "resolve").glob("*.py")]
    call = re.compile(r'(?:error|report|Problem)\(\s*"([a-z-]+)"')
    codes = {code for path in sources for code in call.findall(path.read_text(encoding="utf-8"))}
    seen = {code for path in CASES.glob("*.txt") for code in re.findall(r"error\[([a-z-]+)\]", path.read_text("utf-8"))}
    assert codes - {"too-large"} <= seen  # a program of that size is in test_robust.py
    assert len(codes) > 40
