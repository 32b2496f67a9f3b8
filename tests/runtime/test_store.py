"""The store of machine code: what it keeps, and what a damaged or unusable one costs."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import kgen
from kgen.runtime.cache import summary
from kgen.runtime.store import Kind, Store, StoredEntry, note_of, store

CUBIN = b"\x7fELF" + bytes(range(256)) * 8


def entries(folder: Path) -> list[Path]:
    return [f for f in folder.rglob("*") if f.is_file() and f.stat().st_size >= len(CUBIN)]


def test_kept_between_stores(tmp_path: Path) -> None:
    """What one store puts, another one over the same folder gets; the bytes begin with the CUBIN, for cuobjdump."""
    Store(tmp_path).put("key", CUBIN)
    assert Store(tmp_path).get("key") == CUBIN
    assert Store(tmp_path).get("other") is None
    (entry,) = entries(tmp_path)
    assert entry.read_bytes().startswith(CUBIN)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
        lambda data: data + b"\0",
        lambda data: b"junk",
    ],
    ids=["cut by one", "cut in half", "empty", "one bit", "longer", "junk"],
)
def test_damage_is_a_miss(tmp_path: Path, damage: object) -> None:
    """An entry whose bytes changed is not used; putting it again mends it."""
    assert callable(damage)
    Store(tmp_path).put("key", CUBIN)
    (entry,) = entries(tmp_path)
    entry.write_bytes(damage(entry.read_bytes()))
    fresh = Store(tmp_path)
    assert fresh.get("key") is None
    fresh.put("key", CUBIN)
    assert Store(tmp_path).get("key") == CUBIN


def test_an_entry_of_another_key_is_a_miss(tmp_path: Path) -> None:
    """A file moved to another key's place does not pass for that key's."""
    one = Store(tmp_path)
    one.put("key", CUBIN)
    (source,) = entries(tmp_path)
    content = source.read_bytes()
    one.put("other", CUBIN + CUBIN)
    target = next(f for f in entries(tmp_path) if f != source)
    target.write_bytes(content)
    assert Store(tmp_path).get("other") is None


def test_an_unusable_folder_is_one_warning(tmp_path: Path) -> None:
    """Where nothing can be kept on disk, there is one warning, and memory serves this process."""
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    broken = Store(blocker / "cache")
    with pytest.warns(RuntimeWarning, match="cannot keep"):
        assert broken.get("key") is None
    broken.put("key", CUBIN)  # a second warning would be an error here
    assert broken.get("key") == CUBIN


def test_a_full_disk_is_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error while writing is a warning; the caller has its machine code."""
    full = Store(tmp_path)
    assert full.get("key") is None

    def no_space(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "replace", no_space)
    with pytest.warns(RuntimeWarning, match="No space left"):
        full.put("key", CUBIN)
    assert full.get("key") == CUBIN


@pytest.mark.parametrize("removed", ["the folder", "all above it"])
def test_a_folder_that_vanishes_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, removed: str) -> None:
    """Also between the making of a file and its move into place."""
    folder = tmp_path / "a" / "cubin"
    kept = Store(folder)
    kept.put("one", CUBIN)
    real, left = os.replace, [2]

    def replace(source: str, target: Path) -> None:
        if left[0]:
            left[0] -= 1
            shutil.rmtree(folder if removed == "the folder" else folder.parent)
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    kept.put("two", CUBIN)
    assert Store(folder).get("two") == CUBIN


@pytest.mark.parametrize("kind", ["cubin", "cpu"])
def test_both_kinds_are_capped(tmp_path: Path, kind: Kind) -> None:
    """The least recently used make room, when many are put."""
    kept = Store(tmp_path, kind, most=5000)
    for number in range(130):
        path = kept.put(f"k.{number}", bytes(1000))
        assert path is not None
        os.utime(path, (1000 + number, 1000 + number))
    assert sum(p.stat().st_size for p in tmp_path.iterdir()) < 5000 + 65 * 1100
    assert kept.find("k.0") is None
    assert kept.find("k.129") is not None


def test_notes(tmp_path: Path) -> None:
    """A line that tells entries apart; it is cut between characters."""
    kept = Store(tmp_path, "cpu")
    for note, found in {"": "", "out = a": "out = a", "é" * 300: "é" * 100, "\ud800": "?"}.items():
        path = kept.put("key", CUBIN, note)
        assert path is not None
        assert kept.find("key") == StoredEntry(path, CUBIN)
        assert note_of(path) == found
        path.write_bytes(path.read_bytes()[:-5])
        note_of(path)
    assert note_of(tmp_path / "none") == ""


def test_a_head_is_summed_up() -> None:
    """The program's statements and its operands."""
    x = kgen.spec((4,), "f16")
    text = kgen.jit("# c\nparam k = 2\nlet t = a * k\nout = t + b").source(x, x)
    assert summary(text) == "let t = a * k; out = t + b | a: float16, b: float16, k: float32 (by value)"
    assert summary("int x;") == ""


def test_in_memory_only() -> None:
    """Without a folder nothing touches the disk."""
    kept = Store(None)
    kept.put("key", CUBIN)
    assert kept.get("key") == CUBIN
    assert kept.get("other") is None


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KGEN_CACHE_DIR is read at each use, so that a test or a job can have its own."""
    monkeypatch.setenv("KGEN_CACHE_DIR", str(tmp_path))
    store("cubin").put("key", CUBIN)
    assert entries(tmp_path)
    assert store("cubin") is store("cubin")
