"""The wheel and the sdist: what is in them, and that build products save time without changing anything."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import kgen
from kgen._extension import Uncompiled, compile_extension, has_headers

ROOT = Path(__file__).parents[2]
PARTS = ["kgen", "grammar", "templates", "pyproject.toml", "README.md", "LICENSE"]

STALE = [
    "kgen/_call.cpython-311-x86_64-linux-gnu.so", "kgen/_data/kgen.lark.bin", "kgen/_data/compiled/tmpl_0.pyc",
    "kgen/__pycache__/plan.cpython-311.pyc", "tests/x.so",
]  # fmt: skip

USE = """
import builtins, sys
compile_, compiled = exec, 0
def exec_(*args):
    global compiled
    compiled += isinstance(args[0], str)
    compile_(*args)
builtins.exec = exec_
import kgen
from kgen import resources
from kgen.codegen import templates
from kgen.syntax import tables
text = kgen.jit("let t = gelu(a)\\nout = t * b").source()
print(resources.folder("grammar"), type(templates.environment().loader).__name__, "lark" in sys.modules, compiled)
sys.stdout.write(text)
"""


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("build")
    (folder / "tree").mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / "tree" / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, folder / "tree" / part)
    for stale in STALE:  # of a build in place
        (folder / "tree" / stale).parent.mkdir(parents=True, exist_ok=True)
        (folder / "tree" / stale).write_bytes(b"stale")
    argv = [sys.executable, "-m", "build", "--no-isolation", "-o", str(folder / "dist"), str(folder / "tree")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "dist"


@pytest.fixture
def installed(built: Path, tmp_path: Path) -> Path:
    """A folder that the wheel was unpacked into."""
    (wheel,) = built.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    return tmp_path / "site"


def use(site: Path) -> tuple[str, str, str, int, str]:
    """Where the grammar was, the loader of templates, whether lark was loaded, how often Python's compiler ran, and the
    text that came out."""
    argv = [sys.executable, "-P", "-c", USE]
    environ = {"PYTHONPATH": str(site), "PATH": ""}
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=environ, cwd=site)
    first, _, text = done.stdout.partition("\n")
    grammar, loader, lark, compiled = first.split()
    return grammar, loader, lark, int(compiled), text


def test_the_wheel_has_the_extension(built: Path, installed: Path) -> None:
    """Built where there is a C compiler, a wheel is of this Python and platform, and its calls go through C."""
    if not has_headers():
        pytest.skip("this Python has no Python.h (python3-dev)")
    (wheel,) = built.glob("*.whl")
    assert not wheel.name.endswith("-none-any.whl")
    code = """
import sys, kgen, numpy
k = kgen.jit("out = a + 1", device="cpu")
for _ in range(3): k(numpy.ones(4, "f"))
print(type(k._fast_calls[0]).__module__)
"""
    argv = [sys.executable, "-P", "-c", code]
    environ = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env=environ, cwd=installed)
    assert done.stdout.strip() == "kgen._call"
    assert not list(installed.rglob("*.c"))


EXPECTED = "let t = gelu(a)\nout = t * b"


def test_the_wheel_uses_its_build_products(installed: Path) -> None:
    """Tables, compiled templates and code of dataclasses are in the wheel and used; what comes out is what a checkout
    gives."""
    grammar, loader, lark, compiled, text = use(installed)
    assert compiled == 0
    assert (grammar, loader, lark) == (str(installed / "kgen/_data/grammar"), "ModuleLoader", "False")
    assert text == kgen.jit(EXPECTED).source()


@pytest.mark.parametrize("damage", ["gone", "of another version", "cut short"])
def test_build_products_are_never_needed(installed: Path, damage: str) -> None:
    """Missing or stale ones are made anew in memory, with the same result."""
    data = installed / "kgen" / "_data"
    products = [data / "kgen.lark.bin", data / "compiled.digest", data / "initialisers.bin"]
    for path in products:
        if damage == "gone":
            path.unlink()
        elif damage == "cut short":
            path.write_bytes(path.read_bytes()[:-1])
        else:
            path.write_bytes(b"0" * 32 + path.read_bytes()[32:])
    _, loader, lark, compiled, text = use(installed)
    assert (loader, lark, compiled > 0) == ("FileSystemLoader", "True", True)
    assert text == kgen.jit(EXPECTED).source()


def test_a_changed_template_beats_its_compiled_form(installed: Path) -> None:
    """Editing a template of an installed kgen takes effect."""
    template = installed / "kgen" / "_data" / "templates" / "module.cu.j2"
    template.write_text(template.read_text() + "// edited\n")
    assert "// edited\n" in use(installed)[-1]


def test_what_the_wheel_holds(built: Path) -> None:
    """The package, its data and licence; no tests, no build hook, no caches."""
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top.split("-")[0] for top in tops} == {"kgen", "kgen_cuda"}
    for wanted in (
        "kgen/py.typed",
        "kgen/prelude.k",
        "kgen/complex.k",
        "kgen/_data/kgen.lark.bin",
        "kgen/runtime/cpu/include/kgen_cpu.h",
        "kgen/cmake/kgen-config.cmake",
        "kgen/cmake/kgen-config-version.cmake",
    ):
        assert wanted in names
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert not [name for name in names if "__pycache__" in name or name == "kgen/_build.py"]


def test_what_the_sdist_holds(built: Path) -> None:
    """Sources, and nothing that a build makes."""
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        stale = [m.name for m in archive.getmembers() if m.isfile() and archive.extractfile(m).read() == b"stale"]  # type: ignore[union-attr]
    sources = {p.relative_to(ROOT).as_posix() for part in ("kgen", "grammar", "templates") for p in _files(ROOT / part)}
    assert not stale
    assert {n for n in names if n.split("/")[0] in ("kgen", "grammar", "templates")} == sources


def _files(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file() and p.suffix != ".so" and "__pycache__" not in p.parts]


def test_no_stale_product_is_in_the_wheel(built: Path) -> None:
    """What lay in the tree from an earlier build."""
    (wheel,) = built.glob("*.whl")
    archive = zipfile.ZipFile(wheel)
    assert not [name for name in archive.namelist() if archive.read(name) == b"stale"]


@pytest.mark.parametrize("chosen", ["ccache gcc", "gcc -m64 -DCHOSEN", "gcc", None])
def test_every_word_of_cc_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str | None) -> None:
    """A compiler behind another, and one with options."""
    if not has_headers():
        pytest.skip("this Python has no Python.h (python3-dev)")
    for name in ("ccache", "gcc"):
        last = 'exec "$@"' if name == "ccache" else f'exec {shutil.which("gcc") or "cc"} "$@"'
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {tmp_path}/log\n{last}\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.delenv("CC", raising=False)
    if chosen is not None:
        monkeypatch.setenv("CC", chosen)
    (tmp_path / "x.c").write_text("#include <Python.h>\n")
    assert compile_extension(tmp_path / "x.c", tmp_path).is_file()
    if chosen is not None:
        assert (tmp_path / "log").read_text().startswith(f"{chosen} ")


@pytest.mark.parametrize("chosen", ["no-such-compiler", "gcc --nonsense", "gcc 'x"])
def test_no_extension_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str) -> None:
    """And which compiler was asked."""
    monkeypatch.setenv("CC", chosen)
    (tmp_path / "x.c").write_text("")
    with pytest.raises(Uncompiled) as caught:
        compile_extension(tmp_path / "x.c", tmp_path)
    assert chosen.split()[-1].strip("'") in str(caught.value)


def test_the_distribution_has_a_name_of_its_own(built: Path) -> None:
    """``kgen`` is another project on PyPI; the import name and the command stay ``kgen``."""
    assert [path.name.partition("-")[0] for path in sorted(built.iterdir())] == ["kgen_cuda", "kgen_cuda"]
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        info = next(n.partition("/")[0] for n in archive.namelist() if ".dist-info/" in n)
        assert "\nName: kgen-cuda\n" in archive.read(f"{info}/METADATA").decode()
        assert "kgen = kgen.cli:main" in archive.read(f"{info}/entry_points.txt").decode()


def test_the_same_tree_gives_the_same_wheel(built: Path, tmp_path: Path) -> None:
    """Byte for byte, when the sdist is built again."""
    (sdist,) = built.glob("*.tar.gz")
    subprocess.run(["tar", "-xzf", str(sdist), "-C", str(tmp_path)], check=True)
    (tree,) = tmp_path.iterdir()
    argv = [sys.executable, "-m", "build", "--no-isolation", "-w", "-o", str(tmp_path / "dist"), str(tree)]
    subprocess.run(argv, capture_output=True, check=True)
    (first,) = built.glob("*.whl")
    (second,) = (tmp_path / "dist").glob("*.whl")
    assert first.read_bytes() == second.read_bytes()
