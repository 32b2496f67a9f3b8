"""The C interface is that of the last release: programs that were compiled against its headers still work."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.launcher.abi import HEADERS, RECORDED, header

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def functions(text: str) -> dict[str, str]:
    """The declaration of each function, by its name."""
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    found = re.findall(r"^((?:int|const char\*) (\w+)\([^;{]*\));", code, re.MULTILINE)
    return {name: " ".join(declaration.split()) for declaration, name in found}


def facts(text: str, folder: Path) -> dict[str, str]:
    """What a C compiler says of a header: sizes and offsets of structs, codes, and the bytes of each dtype."""
    assert CC
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    lines: list[str] = []
    for body, struct in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", code, re.DOTALL):
        lines.append(f'printf("{struct} %zu\\n", sizeof({struct}));')
        for declared, member in re.findall(r"([\w ]+\*?) (\w+);", body):
            place = f"offsetof({struct}, {member}), sizeof((({struct}*)0)->{member})"
            lines.append(f'printf("{struct}.{member}({declared.strip()}) %zu:%zu\\n", {place});')
    codes = re.findall(r"^    (KGEN_\w+) = ", code, re.MULTILINE)
    lines += [f'printf("{name} %d\\n", {name});' for name in codes]
    for dtype in re.findall(r"^#define (KGEN_\w+) \{", code, re.MULTILINE):
        lines.append(f'{{ kgen_dtype t = {dtype}; printf("{dtype} %d,%d,%d\\n", t.code, t.bits, t.lanes); }}')
    (folder / "header.h").write_text(text, encoding="utf-8")
    includes = '#include <stdio.h>\n#include "header.h"\n'
    (folder / "main.c").write_text(f"{includes}int main(void) {{\n{chr(10).join(lines)}\nreturn 0; }}\n")
    subprocess.run([CC, "-std=c99", "-o", "main", "main.c"], cwd=folder, check=True)
    said = subprocess.run(["./main"], cwd=folder, check=True, capture_output=True, text=True).stdout
    return dict(line.rsplit(" ", 1) for line in said.splitlines())


@pytest.mark.parametrize("name", HEADERS)
def test_functions(name: str) -> None:
    """Names, the order of parameters, and their types."""
    recorded = functions((RECORDED / f"{name}.h").read_text(encoding="utf-8"))
    assert len(recorded) == (9 if name == "sets" else 3)
    today = functions(header(name))
    assert {function: today.get(function) for function in recorded} == recorded


@pytest.mark.skipif(CC is None, reason="needs a C compiler")
@pytest.mark.parametrize("first", ["recorded", "today"])
def test_versions_side_by_side(first: str, tmp_path: Path) -> None:
    """A header of the last release and one of today fit one translation unit, in either order."""
    (tmp_path / "recorded.h").write_bytes((RECORDED / "kinds.h").read_bytes())
    (tmp_path / "today.h").write_text(header("rows"), encoding="utf-8")
    second = {"recorded": "today", "today": "recorded"}[first]
    use = "int main(void) { return kinds_launch == 0 || rows_launch == 0; }\n"
    (tmp_path / "main.c").write_text(f'#include "{first}.h"\n#include "{second}.h"\n{use}')
    command = [str(CC), "-std=c99", "-Wall", "-Wextra", "-Wno-address", "-Werror", "-fsyntax-only", "main.c"]
    subprocess.run(command, cwd=tmp_path, check=True)


@pytest.mark.skipif(CC is None, reason="needs a C compiler")
def test_layout_and_codes(tmp_path: Path) -> None:
    """Of ``kgen_array``, whose members are DLPack's, of status codes and of dtypes.  There may be more codes."""
    recorded = facts((RECORDED / "kinds.h").read_text(encoding="utf-8"), tmp_path)
    today = facts(header("kinds"), tmp_path)
    assert {fact: today.get(fact) for fact in recorded} == recorded
    assert {f for f in today if f.startswith("kgen_")} == {f for f in recorded if f.startswith("kgen_")}
    assert recorded["kgen_array"] == "48"
    assert {recorded["KGEN_SUCCESS"], recorded["KGEN_FLOAT32"]} == {"0", "2,32,1"}
