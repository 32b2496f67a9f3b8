"""One program gives the same bits by every schedule, which are those of the oracle, wherever its work is exact."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.fuzz.arrays import Array
from tests.fuzz.oracle import same
from tests.fuzz.test_reductions import expected

from .values import special_rows
from .ways import Run, run_every_way

#: All that is exact, of floats and of integers: reductions, and what is divided by them or compared with them.
OF_FLOATS = """let m = max(x, axis={axis}, keepdims=true)
let t = max(abs(x), axis={axis}, keepdims=true)
top = m
low = min(x, axis={axis})
at = argmax(x, axis={axis})
least = argmin(x, axis={axis})
many = count_nonzero(x, axis={axis})
some = any(x, axis={axis})
every = all(x, axis={axis})
equal = x == m
share = x / t
back = 1 / (x / t)
over = x / min(x, axis={axis}, keepdims=true)"""

OF_INTEGERS = """let m = max(x, axis={axis}, keepdims=true)
top = m
low = min(x, axis={axis})
at = argmax(x, axis={axis})
least = argmin(x, axis={axis})
many = count_nonzero(x, axis={axis})
every = all(x, axis={axis})
total = sum(x, axis={axis})
product = prod(x, axis={axis})
equal = x == m"""

NARROW = """let t = max(abs(x), axis={axis}, keepdims=true)
share: half = cast<float>(x) / cast<float>(t)
small = cast<float8_e4m3fn, sat>(cast<float>(x) / cast<float>(t))
tiny = cast<float8_e5m2, sat>(cast<float>(x) / cast<float>(min(x, axis={axis}, keepdims=true)))"""

#: One round and one result for each row: schedules that chains have not.
PLAIN = """low = min(x, axis={axis})
at = argmax(x, axis={axis})
many = count_nonzero(x, axis={axis})
every = all(x, axis={axis})"""


def laid(array: Array, layout: str) -> tuple[Array, str]:
    """``array``, of rows, in memory as ``layout`` says, and the axis along which its rows lie then."""
    rows, width = array.shape
    match layout:
        case "dense":
            return array, "-1"
        case "misaligned":  # rows begin anywhere between aligned addresses
            memory = np.empty(rows * (width + 3) + 1, array.dtype)
            view = memory[1:].reshape(rows, width + 3)[:, :width]
        case "every other":
            view = np.empty((rows, 2 * width), array.dtype)[:, ::2]
        case "backwards":
            view = np.empty((rows, width), array.dtype)[:, ::-1]
        case "columns":
            view = np.empty((width, rows), array.dtype)
            view[...] = array.T
            return view, "0"
        case _:
            raise ValueError(layout)
    view[...] = array
    return view, "-1"


def assert_exact(text: str, arrays: dict[str, Array], runs: Sequence[Run]) -> None:
    want = expected(text, arrays)
    for run in runs:
        for number, (one, other) in enumerate(zip(run.results, want, strict=True)):
            assert (one.shape, one.dtype) == (other.shape, other.dtype), (run.name, run.kernel.outputs[number])
            differ = ~same(one, other)
            assert not differ.any(), (
                f"{run.name}: {run.kernel.outputs[number]} at {np.argwhere(differ)[:5].tolist()}: "
                f"{one[differ][:5]} and not {other[differ][:5]}"
            )


def check(texts: Sequence[str], dtype: str, shape: tuple[int, int], layout: str, only: Sequence[str] = ()) -> int:
    """Every text of such rows, by every way; how many kernels that were."""
    array, axis = laid(special_rows(dtype, *shape), layout)
    programs = [(text.format(axis=axis), {"x": array}) for text in texts]
    with np.errstate(all="ignore"):
        runs = run_every_way(programs, only=only)
        for (text, arrays), found in zip(programs, runs, strict=True):
            assert_exact(text, arrays, found)
    return sum(map(len, runs))


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ((23, 24), "dense"), ((23, 100), "misaligned"), ((12, 1001), "columns"),
        pytest.param((12, 2048), "dense", marks=pytest.mark.whole),
        pytest.param((23, 100), "columns", marks=pytest.mark.whole),
        pytest.param((12, 1001), "dense", marks=pytest.mark.whole),
        pytest.param((12, 2048), "misaligned", marks=pytest.mark.whole),
    ],
    ids=str,
)  # fmt: skip
def test_floats_by_every_schedule(shape: tuple[int, int], layout: str) -> None:
    """float32, in rows shorter and longer than a warp's work, whole vectors or not."""
    assert check([OF_FLOATS, PLAIN], "float32", shape, layout) >= 8


#: One way of each kind.
SOME = (
    "as chosen", "held by 8", "held by 128", "read again by 32", "one by one, by 64", "peeled, by 64", "shifted",
    "split", "columns, 32", "narrow columns, several", "columns kept, 16",
)  # fmt: skip


def half(number: int) -> tuple[str, ...]:
    """Every other one of them, in turn, for what is compiled for many dtypes."""
    return ("as chosen", *SOME[1 + number % 2 :: 2])


@pytest.mark.parametrize(
    ("number", "dtype", "layout"),
    [
        (0, "float64", "dense"), (3, "float16", "misaligned"), (6, "bfloat16", "columns"),
        *(
            pytest.param(*case, marks=pytest.mark.whole)
            for case in ((1, "float64", "columns"), (2, "float16", "dense"), (4, "bfloat16", "misaligned"))
        ),
    ],
)  # fmt: skip
def test_other_floats(number: int, dtype: str, layout: str) -> None:
    check([OF_FLOATS, PLAIN], dtype, (12, 1001), layout, half(number))


@pytest.mark.parametrize(
    ("dtype", "width"),
    [("float32", 40), ("bfloat16", 7), ("bfloat16", 1001), ("float8_e4m3fn", 1024), ("float8_e5m2", 1001)],
)
def test_narrow_results(dtype: str, width: int) -> None:
    """Halves and bytes keep the sign of a zero, and what overflows."""
    check([NARROW], dtype, (12, width), "dense", ("as chosen", "held by 8", "peeled, by 64", "read again by 32"))


@pytest.mark.parametrize(
    ("number", "dtype", "layout"),
    [
        (0, "int8", "dense"), (2, "uint8", "columns"), (3, "int16", "misaligned"), (5, "int32", "columns"),
        (7, "int64", "misaligned"), (9, "bool", "dense"),
        *(
            pytest.param(*case, marks=pytest.mark.whole)
            for case in (
                (1, "int8", "misaligned"), (4, "uint16", "dense"), (6, "uint32", "dense"), (8, "uint64", "dense"),
                (10, "bool", "columns"),
            )
        ),
    ],
)  # fmt: skip
def test_integers(number: int, dtype: str, layout: str) -> None:
    """Sums and products wrap as the oracle's do."""
    text = OF_INTEGERS.replace("equal = x == m", "equal = x != m") if dtype == "bool" else OF_INTEGERS
    check([text, PLAIN], dtype, (12, 260), layout, half(number))


@pytest.mark.parametrize(
    ("number", "dtype", "layout"),
    [
        pytest.param(number, dtype, layout, marks=[] if (number + column) % 2 == 0 else [pytest.mark.whole])
        for number, dtype in enumerate(("float32", "float16", "int8"))
        for column, layout in enumerate(("every other", "backwards"))
    ],
)
def test_other_layouts(number: int, dtype: str, layout: str) -> None:
    text = OF_FLOATS if dtype.startswith("float") else OF_INTEGERS
    check([text, PLAIN], dtype, (12, 133), layout, half(number))


@pytest.mark.parametrize(
    ("rows", "width", "dtype"),
    [
        pytest.param(*shape, dtype, marks=[] if (row + column) % 2 == 0 else [pytest.mark.whole])
        for row, shape in enumerate([(3, 70_001), (200, 4096), (5000, 7), (700, 52)])
        for column, dtype in enumerate(("float32", "bfloat16"))
    ],
)
def test_as_chosen(rows: int, width: int, dtype: str) -> None:
    """Rows that are long, many, or so short that they go by way of shared memory."""
    check([OF_FLOATS, PLAIN], dtype, (rows, width), "dense", ("as chosen",))
