"""Documents are true: files that they name exist, snippets run, tables and texts that they show are current."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kgen
from kgen.functions import FUNCTIONS, KEYWORDS
from tests.accuracy.document import accuracy_section
from tests.test_architecture import PACKAGE, ROOT

Bless = Callable[[Path, str], None]


DOCUMENTS = [p.relative_to(ROOT).as_posix() for p in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_that_documents_name_exist(document: str) -> None:
    """Every path and link in a document leads somewhere."""
    text = (ROOT / document).read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    paths = set(re.findall(r"`([\w./-]+/[\w.-]*|[\w/-]+\.(?:py|md|k|lark|toml))`", prose))
    paths |= {link for link in re.findall(r"\]\(([^)#]+)", prose) if "://" not in link}
    folders = [ROOT, (ROOT / document).parent, ROOT / "templates", *(p for p in PACKAGE.iterdir() if p.is_dir())]
    missing = [p for p in paths if not any((folder / p).exists() for folder in folders)]
    assert not missing


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def marked(name: str) -> str:
    """The block of README after ``<!-- name -->``."""
    found = re.search(rf"<!-- {re.escape(name)} -->\n```\w+\n(.*?)```", readme(), re.DOTALL)
    assert found, name
    return found[1]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", readme(), re.DOTALL | re.MULTILINE)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the examples, as README's commands find them, and ``kgen`` on the PATH."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "bin").mkdir()
    for name, what in {"kgen": f'"{sys.executable}" -m kgen', "python": f'"{sys.executable}"'}.items():
        script = tmp_path / "bin" / name
        script.write_text(f'#!/bin/sh\nexec {what} "$@"\n')
        script.chmod(0o755)
    return tmp_path


def without_setup(command: str) -> str:
    """A command of README that sets up an environment, as in an environment that is there."""
    parts = command.strip().split(" && ")
    return " && ".join(p for p in parts if "-m venv" not in p and "pip install" not in p).replace(".venv/bin/", "")


def shell(command: str, folder: Path) -> str:
    environ = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    argv = ["bash", "-euo", "pipefail", "-c", command]
    done = subprocess.run(argv, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_readme_python_runs() -> None:
    """Every Python block runs, one after another."""
    namespace: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), namespace)
    first = blocks("python")[0].rstrip().split("\n")[-1]  # a call, and its result in a comment
    call, _, result = first.partition("  # ")
    assert repr(eval(call, namespace | {"k": kgen.jit("param alpha = 1.0; out = alpha * x + y")})) == result


def test_readme_commands_run(checkout: Path) -> None:
    """Every command does, those that set up an environment without that part (CI runs it).

    ``tests/library`` runs those that build libraries.
    """
    for block in blocks("bash"):
        command = without_setup(block)
        if not any(word in command for word in ("pytest", "kgen build", "cmake")):
            shell(command, checkout)


def test_readme_main_job_prints_what_it_says(checkout: Path) -> None:
    """The output shown is the output, but for the time and the device."""
    out = shell(without_setup(marked("main job")), checkout)
    said = re.search(r"compilation included\n(.*?)\n", out)
    assert said
    assert said[1] in readme()


def test_readme_shows_the_kernel_that_is_made(bless: Bless, checkout: Path) -> None:
    """The kernel in README is kgen's output today, up to the launcher (``pytest --bless`` renews it)."""
    text = readme()
    made = shell("kgen compile examples/axpy.k --shape x=1000000,y=1000000", checkout).partition("\n// --- Host code")[
        0
    ]
    shown = "<!-- generated: compile examples/axpy.k --shape x=1000000,y=1000000 -->\n```cuda\n"
    before, _, after = text.partition(shown)
    assert after
    bless(ROOT / "README.md", before + shown + made + "```" + after.partition("```")[2])


def test_ci_runs_the_test_command_of_readme() -> None:
    """The very line."""
    assert f"\n{marked('test')}" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_workflow_runs_ci() -> None:
    """GitHub runs the one script."""
    assert "- run: .ci/run\n" in (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")


def test_pictures_are_current(bless: Bless) -> None:
    """``docs/images`` holds what its script draws, and documents show each picture."""
    made = runpy.run_path(str(ROOT / "docs" / "images" / "draw.py"))["pictures"]()
    shown = "".join(p.read_text(encoding="utf-8") for p in ROOT.glob("docs/*.md"))
    assert {p.name for p in (ROOT / "docs" / "images").glob("*.svg")} == set(made)
    for name, text in made.items():
        assert f"(images/{name})" in shown
        bless(ROOT / "docs" / "images" / name, text)


def test_rules_of_performance_name_entries_of_the_log() -> None:
    """The last columns of ``docs/performance.md`` name entries of the log, of which it leaves out none."""
    log = (ROOT / "docs" / "performance-log.md").read_text(encoding="utf-8")
    entries = set(re.findall(r"^### (.*)$", log, re.MULTILINE))
    rules = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    cells = [re.split(r"(?<!\\)\|", line)[-2] for line in rules.split("\n") if line.startswith("| ")]
    titles = {title for cell in cells for title in re.findall(r"\*([^*]+)\*", cell)}
    assert titles
    assert titles - entries == set()
    assert {entry for entry in entries if f"*{entry}*" not in rules} == set()


def test_the_glossary_is_sorted() -> None:
    """Each term once, alphabetically."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = [term.lower() for term in re.findall(r"^\| \*\*(.*?)\*\*", text, re.MULTILINE)]
    assert terms == sorted(set(terms))


def test_documents_name_no_machine() -> None:
    """No package index and no path of somebody's machine."""
    more = [".ci/run", ".github/workflows/ci.yml", ".pre-commit-config.yaml", "pyproject.toml"]
    for path in [*(ROOT / name for name in (*more, *DOCUMENTS))]:
        assert not re.search(r"index-url|(?<![\w.])/(home|root|work)/", path.read_text(encoding="utf-8")), path


def test_what_is_installed_is_kgen_cuda() -> None:
    """No document and no hint says to install ``kgen``, which is another project on PyPI."""
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / ".ci" / "run", *PACKAGE.rglob("*.py")]
    for path in texts:
        assert not re.search(r"pip install[^\n`&]*\bkgen\b(?!-cuda)", path.read_text(encoding="utf-8")), path


def test_function_table_is_current(bless: Bless) -> None:
    """``docs/functions.md`` is written from ``kgen/functions.py`` (``pytest --bless`` renews it)."""
    bless(ROOT / "docs" / "functions.md", function_table())


#: The rules of ``kgen/functions.py``: what the document calls them, and what all of their functions do.
RULES = {
    "float": ("Functions of floats", "Integers and bools become `float32`."),
    "keep": ("Rounding, magnitude and sign", "Integers stay integers."),
    "predicate": ("Tests of numbers", "The result is `bool`."),
    "integer": ("Bits of integers", "The result is `int32`."),
    "ordered": ("Functions with an integer", "The first argument of `jn` and `yn`, the second of `ldexp`."),
    "operator": ("Operators", "Under the names that NumPy has for them."),
    "special": ("Choices, complex numbers, coordinates", "[language.md](language.md) has their rules."),
    "prelude": ("Written in the language", "In `kgen/prelude.k`."),
    "lifted": (
        "Activations and others",
        "Also in the prelude, on floats: integers and bools become `float32`, or `float64` beside one.",
    ),
    "view": ("Views", "The elements of their arguments in other places, of arrays and expressions."),
    "reduction": ("Reductions", "Over axes; `min` and `max` of several arguments are elementwise."),
}

#: What functions give whose names do not say it.
MEANINGS = {
    "rcbrt": "`1 / cbrt(x)`",
    "sinpi": "`sin(pi * x)`",
    "cospi": "`cos(pi * x)`",
    "erfc": "`1 - erf(x)`",
    "erfcx": "`exp(x * x) * erfc(x)`",
    "normcdf": "the distribution function of the normal distribution",
    "normcdfinv": "its inverse",
    "gelu_derivative": "the derivative of `gelu`",
    "j0": "Bessel functions of the first kind",
    "y0": "of the second kind",
    "cyl_bessel_i0": "modified Bessel functions",
    "logb": "the exponent, as a float",
    "ilogb": "the exponent, as `int32`",
    "rhypot": "`1 / hypot(x, y)`",
    "copysign": "`abs(x)` with the sign of `y`",
    "nextafter": "the next number after `x` towards `y`",
    "fdim": "`max(x - y, 0)`",
    "mul_rn": "`x * y` that is never part of an fma",
    "fma": "`x * y + z`, rounded once",
    "norm3d": "`sqrt(x * x + y * y + z * z)`",
    "rnorm3d": "`1 / norm3d(x, y, z)`",
    "norm4d": "the same of four numbers",
    "rnorm4d": "`1 / norm4d(x, y, z, w)`",
    "popcount": "how many bits are 1",
    "clz": "how many bits before the first 1",
    "ffs": "the place of the lowest 1, counted from 1; 0 of 0",
    "jn": "Bessel functions of order `n`: `jn(n, x)`",
    "yn": "`yn(n, x)`",
    "ldexp": "`x * 2 ** n`",
    "logical_xor": "`(x != 0) != (y != 0)`",
    "maximum": "`max(x, y)`",
    "minimum": "`min(x, y)`",
    "where": "`where(c, x, y)` is `c ? x : y`, with the shape of all three",
    "angle": "`atan2(imag(z), real(z))`",
    "complex": "`complex(x, y)` is `x + 1j * y`",
    "fmod": "C's `%`: the remainder has the sign of `x`",
    "fmin": "`min`, which ignores NaN",
    "fmax": "`max`, which ignores NaN",
    "index": "`index(0)`: the coordinate of the element along axis 0",
    "size": "`size(0)`, `size(x, 0)`: the extent of axis 0",
    "expand": "`expand(w, axis=(1, 2))`: new axes of one element",
    "transpose": "`transpose(x, (1, 0))`: the axes in this order",
    "flip": "`flip(x, axis=0)`: from the last element to the first",
    "split": "`split(x, axis=-1, by=128)`: two axes in place of one",
    "merge": "`merge(x, axis=(-2, -1))`: one axis in place of several",
    "repeat": "`repeat(x, 4, axis=1)`: each element four times",
    "take": '`take(x, i, axis=0, mode="clamp")`: the elements at `i`',
    "concat": "`concat(x, y, axis=0)`: one after the other",
    "stack": "`stack(x, y, axis=0)`: along a new axis",
    "count_nonzero": "how many elements are not 0",
    "norm": "`sqrt(sum(x * x))`",
    "logsumexp": "`log(sum(exp(x)))`",
}


def function_table() -> str:
    """The document: a table for each rule of typing, aliases beside the name that they stand for."""
    assert {f.rule for f in FUNCTIONS.values()} == set(RULES)
    assert set(FUNCTIONS) >= set(MEANINGS)
    out = ["# Functions", "", "Written from `kgen/functions.py` by `pytest --bless`; do not edit.", ""]
    out += ["Names are those of NumPy and the array API, with CUDA's as aliases. *z*: takes complex arguments.", ""]
    for rule, (title, meaning) in RULES.items():
        names = {n: f for n, f in FUNCTIONS.items() if f.rule == rule}
        out += [f"## {title}", "", meaning, "", "| name | aliases | arguments | |", "| --- | --- | --- | --- |"]
        groups: dict[tuple[str, tuple[int, ...]], list[str]] = {}
        for name, function in names.items():
            groups.setdefault((function.target, function.arity), []).append(name)
        for (target, arity), group in groups.items():
            first, *others = group
            counts = f"{arity[0]} or more" if len(arity) > 4 else " or ".join(map(str, arity))
            notes = ", ".join(filter(None, _notes(first, rule, target, arity[0])))
            out.append(f"| `{first}` | {', '.join(f'`{o}`' for o in others)} | {counts} | {notes} |")
        out.append("")
    return "\n".join(out) + "\n" + accuracy_section()


def _notes(name: str, rule: str, target: str, arguments: int) -> Iterator[str]:
    """What the last column says: the operator, the definition, the keywords, and whether complex numbers are taken."""
    yield MEANINGS.get(name, "")
    if rule == "operator":
        yield f"`{target}`".replace("|", "\\|")
    if rule in ("prelude", "lifted"):
        definition = re.search(
            rf"^def {name}(\(.*)$", (PACKAGE / "prelude.k").read_text(encoding="utf-8"), re.MULTILINE
        )
        assert definition
        yield _definition(definition[1])
    yield ", ".join(f"`{keyword}=`" for keyword in sorted(KEYWORDS.get(name, ())))
    if FUNCTIONS[name].is_complex and _takes_complex(name, arguments):
        yield "*z*"


def _definition(text: str) -> str:
    """The parameters and what they give: the comment, where there is one, which says it plainly."""
    written, _, meaning = text.partition("  # ")
    return f"`{written.partition(' = ')[0]} = {meaning}`" if meaning else f"`{written}`"


def _takes_complex(name: str, arguments: int) -> bool:
    call = ", ".join("abc"[:arguments]) + (", axis=0" if name == "expand" else "")
    try:
        kgen.jit(f"out = {name}({call})").source(dtypes="c64", layout="contiguous")
    except kgen.KgenError as problem:
        return problem.code not in ("no-function", "no-operator")
    return True


# --- errors ------------------------------------------------------------------------------------------


def documented() -> dict[str, str]:
    """Every code of ``docs/errors.md``, and the program beside it in the tables that have programs."""
    rows: dict[str, str] = {}
    has_programs = True
    for line in (ROOT / "docs" / "errors.md").read_text(encoding="utf-8").split("\n"):
        has_programs = has_programs and line != "## Calls"
        cells = re.split(r"(?<!\\)\|", line)
        if len(cells) == 5 and cells[1].strip().startswith("`"):
            example = cells[3].strip().strip("`").replace("\\|", "|")
            rows |= dict.fromkeys(re.findall(r"`([a-z-]+)`", cells[1]), example if has_programs else "")
    return rows


def used() -> set[str]:
    """Every code in kgen: the first argument where a diagnostic is made, and words of that form elsewhere."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    other = {"utf-8", "0-7", "numba-cuda", "tvm-ffi", "apache-tvm-ffi"}
    made = re.findall(r'\b(?:error|lint|report|Diagnostic|Problem|_error)\(\s*"([a-z-]+)"', text)
    return {*made, *re.findall(r'"([a-z]+(?:-[a-z]+)+)"', text)} - other


def test_every_error_code_is_documented() -> None:
    """No code is missing from ``docs/errors.md``, and none is there that kgen does not have."""
    texts = "".join(p.read_text(encoding="utf-8") for p in PACKAGE.rglob("*.py"))
    by_role = {f"unused-{role}" for role in ("input", "param", "let")}
    assert used() - set(documented()) == set()
    assert {code for code in documented() if f'"{code}"' not in texts} - by_role == set()


@pytest.mark.parametrize("code", [c for c, example in documented().items() if example])
def test_examples_of_errors(code: str) -> None:
    """The example beside a code is a program that ends in it."""
    with pytest.raises(kgen.KgenError) as caught:
        kgen.jit(documented()[code]).source()
    assert code in {d.code for d in caught.value.diagnostics}
