"""What of the benchmarks needs no GPU: their programs, their peers' names, merging and judging of results."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kgen
from benchmarks import candidates, cub, peers, random_programs, row_peers, torch_programs, ways
from benchmarks.elementwise import ALL as WORKLOADS
from benchmarks.report import Results, Row, small_table
from kgen import pipeline
from kgen.runtime.cuda.architectures import target_for
from tests.fuzz import generate, reductions
from tests.fuzz.arrays import Recipe, build
from tests.fuzz.oracle import reference
from tests.fuzz.program import Arguments


def row(name: str, share: float, target: float | None = 1.0, **rivals: float) -> Row:
    return Row(name, "contiguous", ["contiguous"], 1024, 4000.0, share, target, rivals)


def test_workloads() -> None:
    """Every program is one, names are not used twice, and CUB's are workloads."""
    names = [w.name for w in WORKLOADS]
    assert len(set(names)) == len(names)
    for workload in WORKLOADS:
        assert pipeline.load(workload.program).outputs
    written = re.findall(r"^WORKLOAD\((\w+)\)", cub.SOURCE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(written) > 5
    assert {w.kind for w in WORKLOADS if w.name in written} == {"contiguous"}
    assert set(written) <= set(names)


def test_missing_peers_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that cannot run leaves its column out and says why."""
    cub.library.cache_clear()
    monkeypatch.setattr("shutil.which", lambda _: None)
    notes: list[str] = []
    assert peers.usable(["eager", "cub", "nosuch"], notes) == ["eager"]
    assert notes[0] == "no column cub: there is no nvcc"
    assert notes[1].startswith("no column nosuch: it is none of eager, ")


def test_converted_weights_belong_to_arrays_that_live(monkeypatch: pytest.MonkeyPatch) -> None:
    """A weight may get the address of an earlier one: QuACK is given its own values all the same."""

    class Weight:
        def __init__(self, value: int) -> None:
            self.value = value

        def float(self) -> int:
            return self.value

    module = SimpleNamespace(layernorm_fwd=lambda x, w, b, eps: (w, b), softmax=None)
    monkeypatch.setattr(row_peers, "import_module", lambda name: module)
    layernorm = row_peers.functions_of(None, "quack")["layernorm"]
    for n in range(100):
        assert layernorm(None, Weight(n), Weight(-n)) == (n, -n)


def test_results_merge(tmp_path: Path) -> None:
    """Rows that are measured again take the place of earlier ones, and the rest stays."""
    first = Results("first", ["a note"], [{"name": "copy", "gigabytes_per_second": 1.0, "share": 1.0}])
    first.rows = [row("x", 1.0), row("z", 1.0)]
    first.small = [{"bytes": 1024, "copy": 1e-6, "kgen": 1e-6, "eager": 1e-6}]
    assert "**1.000**" in first.write(tmp_path)
    earlier = Results.read(tmp_path)
    assert earlier == first
    second = Results("second", rows=[row("x", 0.5, eager=0.7), row("y", 0.9)])
    merged = second.merged(earlier, ["z", "y", "x"])
    assert [(r.name, r.share) for r in merged.rows] == [("z", 1.0), ("y", 0.9), ("x", 0.5)]
    assert merged.yardsticks
    assert merged.small
    assert merged.notes == ["a note"]
    assert Results.read(tmp_path / "nowhere") is None


def test_what_is_met() -> None:
    """A target within half a percent, and the best peer within one; small sizes within 3% or 0.1 us."""
    assert row("x", 0.996).met
    assert not row("x", 0.99).met
    assert not row("x", 1.0, eager=1.02).met
    assert row("x", 0.5, None, eager=0.5, cub=0.4).met
    times = {"bytes": 1024, "copy": 1e-7, "kgen": 1.09e-6, "eager": 1e-6}
    assert small_table([times]).endswith("| yes |")
    assert small_table([{**times, "kgen": 1.2e-6}]).endswith("| no |")


def test_random_programs() -> None:
    """Each seed has a program that type-checks, over layouts that PyTorch has as well."""
    for seed in (*range(60), 110018, 110157):
        one = random_programs.program(seed)
        shapes: dict[str, Any] = {n: kgen.spec(o.shape, o.dtype, o.strides) for n, o in one.operands.items()}
        assert kgen.jit(one.text).explain(**shapes).steps
        assert one == random_programs.program(seed)
        assert all(o.strides == () or min(o.strides) >= 0 for o in one.operands.values())


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_at_places(seed: int) -> None:
    """What their translation gives, for small arrays on the CPU."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    one = random_programs.program(seed, ("places",))
    assert one.bytes
    rows = 1 if seed % 4 == 0 else 6
    small = {"a": (rows, 20), "b": (rows, 20), "t": (9, 20), "i": (rows,), "j": (rows,), "k": (20,)}
    most = {"i": 9, "j": 20, "k": 20}
    given = {
        n: torch.from_numpy(rng.integers(0, most.get(n, 8), small[n])).to(getattr(torch, o.dtype))
        for n, o in one.operands.items()
    }
    operands = {n: torch_programs.operand(o.dtype, small[n], given[n].stride()) for n, o in one.operands.items()}
    want = torch_programs.function(one.text, operands)(*given.values())
    got = kgen.jit(one.text, device="cpu")(**given)
    for found, wanted in zip(got if isinstance(got, tuple) else (got,), want, strict=True):
        assert torch.allclose(found.double(), wanted.double(), rtol=1e-2, atol=1e-2, equal_nan=True)


def test_indices_stay_on_the_device() -> None:
    """An index that is one number is no Python number on the way: CUDA graphs capture the translation."""
    torch = pytest.importorskip("torch")
    from torch.utils._python_dispatch import TorchDispatchMode

    class Calls(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, call: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            called.append(str(call))
            return call(*args, **(kwargs or {}))

    called: list[str] = []
    given = {"a": torch.rand(1, 20), "j": torch.tensor([7])}
    kinds = {"a": torch_programs.operand("float32", (1, 20), (20, 1))}
    kinds["j"] = torch_programs.operand("int64", (1,), (1,))
    plain = torch_programs.function("out = a[index(0), j]", kinds)
    with Calls():
        (found,) = plain(*given.values())
    assert torch.equal(found, given["a"][:, 7])
    assert "aten.index.Tensor" in called
    assert "aten._local_scalar_dense.default" not in called


def test_random_programs_in_torch() -> None:
    """What the translation of a program gives is what kgen gives, for small arrays on the CPU."""
    torch = pytest.importorskip("torch")
    text = "let z = cast<float>(gelu(cast<float>(a)) + b)\nout = z * rsqrt(mean(z * z, axis=0, keepdims=true) + 1e-6)"
    a, b = torch.rand(17, 5), torch.rand(5, 17).to(torch.bfloat16).T
    kinds = {
        n: torch_programs.operand(d, (17, 5), x.stride()) for n, d, x in (("a", "float32", a), ("b", "bfloat16", b))
    }
    (want,) = torch_programs.function(text, kinds)(a, b)
    assert torch.allclose(kgen.jit(text, device="cpu")(a, b), want, rtol=1e-5)
    constant, size = torch_programs.function("out = imag(a) + 2\nn = size(a, 1)", {"a": kinds["a"]})(a)
    assert torch.equal(constant, torch.full((17, 5), 2.0))
    assert size.shape == ()
    assert size == 5
    with pytest.raises(torch_programs.Inexpressible):
        torch_programs.function("out = clz(a)", {"a": torch_programs.operand("int32", (4,), (1,))})


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_programs_of_fuzzers_in_torch(first: int) -> None:
    """Their translations are what the oracle gives, where PyTorch has the ops for such dtypes."""
    torch = pytest.importorskip("torch")
    compared = 0
    for seed in range(first, first + 20):
        shape = (3, 5, 4)[: 1 + seed % 3]
        one, call = reductions.generate(seed, shape), generate.generate(seed, exact=True, shape=shape)
        plain = one.sort == "plain" and not (one.updated or one.params)
        compared += plain and in_torch(torch, one.text, one.arrays())
        if not (call.params or call.inout) and all(isinstance(r, Recipe) for r in call.inputs.values()):
            compared += in_torch(torch, call.text, {n: build(r) for n, r in call.inputs.items()})
    assert compared > 5


def in_torch(torch: Any, text: str, arrays: dict[str, Any]) -> bool:
    """Whether PyTorch can run a program; fails where its results are not the oracle's."""
    arrays = {n: a.astype(a.dtype.newbyteorder("=")) for n, a in arrays.items()}
    operands = {n: torch_programs.operand(str(a.dtype), a.shape, ()) for n, a in arrays.items()}
    tensors = [
        torch.frombuffer(bytearray(a.tobytes()), dtype=getattr(torch, str(a.dtype))).reshape(a.shape)
        for a in arrays.values()
    ]
    try:
        found = torch_programs.function(text, operands)(*tensors)
    except (torch_programs.Inexpressible, kgen.KgenError, NotImplementedError, RuntimeError, IndexError):
        return False
    program = pipeline.load(text)
    inputs = {i.name: arrays[i.name] for i in program.arguments}
    wanted = reference(program, Arguments(inputs, {}, None, None)).expected.values()
    for got, want in zip(found, wanted, strict=True):
        wide = torch.complex128 if got.is_complex() else torch.float64
        expected = want.value.astype(np.complex128 if got.is_complex() else np.float64)
        assert got.shape == expected.shape, text
        assert np.allclose(got.to(wide), expected, rtol=2e-2, atol=2e-2, equal_nan=True), text
    return True


@pytest.mark.parametrize("seed", [900006, 900020, 900038])
def test_ways(seed: int) -> None:
    """Several are found, which calls take, too; and what is chosen is found among those that were timed."""
    one, target = random_programs.program(seed), target_for("sm_90")
    found = ways.ways(one, target)
    kinds = {way.among for way, _ in found}
    assert len({kernels for _, kernels in found}) > 2
    assert {"", "families"} < kinds
    way, kernels = found[-1]
    with ways.forcing(way):
        called = ways.lowered(one, target, kgen.jit(one.text)._engine.lowering)
    assert ways.key(called) == kernels != found[0][1]
    seconds = {k: 1e-3 * (1 + n) for n, k in enumerate(dict.fromkeys(k for _, k in found))}
    timed = [candidates.Timed(seed, str(w), candidates.digest_of(k), w.among, w.seconds, seconds[k]) for w, k in found]
    assert candidates.chosen_now(seed) == (seed, timed[0].kernels)
    text = candidates.report("", timed, {seed: timed[-1].kernels})
    assert f"{seed}: 1000.0 -> {1e6 * timed[-1].seconds:.1f} us of 1000.0" in text


def test_rank_correlation() -> None:
    """Spearman's: 1 for the same order, -1 for the opposite, and equal values share a rank."""
    assert candidates.correlation([(1, 10), (2, 20), (3, 70)]) == pytest.approx(1)
    assert candidates.correlation([(1, 3), (2, 2), (3, 1)]) == pytest.approx(-1)
    assert candidates.correlation([(1, 1), (1, 2), (2, 1), (2, 2)]) == pytest.approx(0)
