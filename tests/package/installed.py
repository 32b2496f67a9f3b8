"""Tries an installed kgen, from a wheel, away from the repository.  Usage: installed.py PROGRAM; not a pytest file."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def main(program: Path) -> None:
    """Compile, run and explain ``program``; say what import and the first source() took, and what was loaded."""
    code = (
        "import json, sys, time\n"
        "start = time.perf_counter()\n"
        "import kgen\n"
        "imported = time.perf_counter()\n"
        "heavy = [m for m in ('lark', 'jinja2', 'numpy', 'ml_dtypes', 'cuda', 'click', 'rich') if m in sys.modules]\n"
        "kgen.jit('out = a * x + y').source()\n"
        "done = time.perf_counter()\n"
        "compiler = [m for m in ('lark', 'numpy', 'cuda') if m in sys.modules]\n"
        "print(json.dumps([imported - start, done - imported, heavy, compiler, kgen.__file__]))"
    )
    imports, sources = [], []
    for _ in range(5):
        seconds, first, heavy, compiler, place = json.loads(_output(sys.executable, "-c", code))
        imports.append(seconds)
        sources.append(first)
        assert heavy == [], f"`import kgen` loads {heavy}"
        assert compiler == [], f"source() loads {compiler}: the wheel's build products are not used"
        assert "site-packages" in place, f"kgen is not the installed one: {place}"
    print(f"import kgen {min(imports) * 1e3:.0f} ms, first source() {min(sources) * 1e3:.0f} ms (best of 5)")
    assert min(imports) < 0.3, "three times the target of 100 ms"
    assert min(sources) < 0.45, "three times the target of 150 ms"

    kgen = str(Path(sys.executable).with_name("kgen"))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.cu"
        print(_output(kgen, "compile", str(program), "-o", str(out), "--emit", "cu,cubin", "--arch", "sm_90"), end="")
        assert "__global__" in out.read_text()
        print(_output(kgen, "check", folder, str(program)), end="")
        _output(sys.executable, "-c", "import numpy; numpy.save('x.npy', numpy.ones(5, 'f4'))", folder=folder)
        argv = ["run", str(program), "--input", "x=x.npy,y=x.npy", "-o", "out.npy", "--device", "cpu"]
        print(_output(kgen, *argv, folder=folder), end="")
        print(_output(kgen, "explain", str(program)).split("\n")[-1])
        library = Path(folder) / "libmine.so"
        argv = ["build", str(program), "-o", str(library), "--arch", "sm_90", "--compiler", "nvrtc"]
        _output(kgen, *argv)
        functions = ctypes.CDLL(str(library))
        nothing = (None, None, None, ctypes.c_double(2.0), None, ctypes.c_size_t(), None)
        assert functions.axpy_launch(*nothing) == 257, "a null array"
        project = "cmake_minimum_required(VERSION 3.20)\nproject(p NONE)\nfind_package(kgen 0.1 REQUIRED)\n"
        (Path(folder) / "CMakeLists.txt").write_text(project)
        place = _output(kgen, "--cmake-dir").strip()
        assert Path(place, "kgen-config.cmake").is_file()
        if shutil.which("cmake"):
            _output("cmake", "-S", folder, "-B", f"{folder}/made", f"-Dkgen_DIR={place}")
        print(_output(kgen, "--version"), end="")


def _output(*argv: str, folder: str | None = None) -> str:
    return subprocess.run(argv, cwd=folder, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
