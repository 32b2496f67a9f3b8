"""Which folders are trusted with code that is loaded, and what stands in for those that are not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgen.diagnostics import KgenError
from kgen.runtime import folders
from kgen.runtime.folders import cache_dir, unusable, unwritable
from kgen.runtime.store import Store

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A folder to mount something on, which is unmounted afterwards."""
    (tmp_path / "mounted").mkdir()
    yield tmp_path / "mounted"
    subprocess.run(["umount", tmp_path / "mounted"], check=False, capture_output=True)


def mount(folder: Path, options: str) -> None:
    command = ["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "tmpfs", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("this root may not mount")


def test_a_new_folder_is_private(tmp_path: Path) -> None:
    """Whatever the umask; so is all that has to be made above it."""
    before = os.umask(0)
    try:
        assert unusable(tmp_path / "a" / "b" / "cpu", runs=True) is None
        Store(tmp_path / "a" / "b" / "cpu", "cpu").put("key", b"x")
    finally:
        os.umask(before)
    for folder in (tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "cpu"):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "a" / "b" / "cpu" / "key.so").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("which", ["itself", "above"])
@pytest.mark.parametrize("mode", [0o777, 0o702, 0o1777])
def test_a_folder_that_others_write_to_is_not_used(tmp_path: Path, which: str, mode: int) -> None:
    """Nor is one that lies in such a folder, but for sticky ones like /tmp."""
    folder = tmp_path / "above" / "itself"
    folder.mkdir(parents=True, mode=0o700)
    (folder if which == "itself" else folder.parent).chmod(mode)
    is_sticky = which == "above" and mode == 0o1777
    assert (unusable(folder, runs=True) is None) is is_sticky
    assert is_sticky or "other users can write" in str(unusable(folder, runs=True))


@as_root
@pytest.mark.parametrize("which", ["itself", "above"])
def test_a_folder_of_another_user_is_not_used(tmp_path: Path, which: str) -> None:
    """Its owner may put anything into it."""
    folder = tmp_path / "above" / "itself"
    folder.mkdir(parents=True)
    os.chown(folder if which == "itself" else folder.parent, 12345, 12345)
    assert "another user" in str(unusable(folder, runs=True))


def test_a_group_counts_unless_it_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a umask of 002 folders are writable by a group that has no other member."""
    tmp_path.chmod(0o770)
    monkeypatch.setattr(folders, "_is_private_group", lambda group: True)
    assert unusable(tmp_path, runs=True) is None
    monkeypatch.setattr(folders, "_is_private_group", lambda group: False)
    assert unusable(tmp_path, runs=True) is not None


@pytest.mark.parametrize("damage", ["file", "link to nothing", "below a file"])
def test_what_is_no_folder(tmp_path: Path, damage: str) -> None:
    """Is a reason, not an exception."""
    folder = tmp_path / "cache"
    if damage == "link to nothing":
        folder.symlink_to(tmp_path / "nowhere" / "else")
    else:
        folder.write_text("")
    assert unusable(folder / "cpu" if damage == "below a file" else folder, runs=True)


@as_root
@pytest.mark.parametrize(("options", "why"), [("noexec", "noexec"), ("ro", "Read-only"), ("size=4k", "No space")])
def test_filesystems(mounted: Path, options: str, why: str) -> None:
    """Where nothing may be run, where nothing can be written, and where there is no room."""
    mount(mounted, options)
    if "size" in options:
        (mounted / "full").write_bytes(bytes(4096))
    folder = mounted if "size" in options else mounted / "cpu"
    assert why in str(unusable(folder, runs=True) or unwritable(folder))
    if options == "noexec":
        assert unusable(folder, runs=False) is None


@pytest.mark.parametrize(
    ("chosen", "found"),
    [("/some/where", "/some/where"), ("~/x", "{home}/x"), ("x/../y", "{here}/y"), ("", "{home}/.cache/kgen")],
)
def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, chosen: str, found: str) -> None:
    """As the environment says: `~` is the home folder, and nothing chosen is the user's cache folder."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KGEN_CACHE_DIR", chosen)
    assert cache_dir() == Path(found.format(home=tmp_path, here=os.getcwd()))


def test_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is made below the current folder."""
    assert unusable(Path("~/.cache/kgen"), runs=True) == "there is no home folder"


# --- temporary folders --------------------------------------------------------------------------------

_HOLD = """
import sys, time
from kgen.runtime import folders
if sys.argv[1] == "own":
    print(folders.of_this_process(), flush=True)
    time.sleep(float(sys.argv[2]))
else:
    with folders.temporary() as folder:
        print(folder, flush=True)
        time.sleep(float(sys.argv[2]))
"""


def hold(folder: Path, kind: str, seconds: float) -> tuple[subprocess.Popen[str], Path]:
    environ = {**os.environ, "TMPDIR": str(folder)}
    command = [sys.executable, "-c", _HOLD, kind, str(seconds)]
    process = subprocess.Popen(command, env=environ, text=True, stdout=subprocess.PIPE)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


@pytest.mark.parametrize("kind", ["own", "with"])
def test_temporary_folders_go_with_their_process(tmp_path: Path, kind: str) -> None:
    """At its end at once; after a kill with the next process, unless somebody still has them."""
    ended, _ = hold(tmp_path, kind, 0)
    ended.communicate()
    assert list(tmp_path.iterdir()) == []
    killed, left = hold(tmp_path, kind, 60)
    alive, held = hold(tmp_path, kind, 60)
    killed.kill()
    killed.communicate()
    young = tmp_path / left.name.replace(left.name[-3:], "new")
    young.mkdir()
    foreign = tmp_path / "kgen-of-somebody"
    foreign.mkdir()
    for one in (left, held, foreign):
        os.utime(one, (time.time() - 1000, time.time() - 1000))
    hold(tmp_path, kind, 0)[0].communicate()
    assert set(tmp_path.iterdir()) == {held, young, foreign}
    alive.kill()
    alive.communicate()


def test_a_forked_process_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And does not remove its parent's."""
    code = (
        "import os, sys\n"
        "from kgen.runtime import folders\n"
        "mine = folders.of_this_process()\n"
        "if os.fork() == 0:\n"
        "    assert folders.of_this_process() != mine\n"
        "    sys.exit()\n"
        "os.wait()\n"
        "print(mine.is_dir())\n"
    )
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
    assert list(tmp_path.iterdir()) == []


def test_without_a_temporary_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """There is a diagnostic."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(KgenError, match="TMPDIR") as caught, folders.temporary():
        pass
    assert caught.value.code == "no-cache"
