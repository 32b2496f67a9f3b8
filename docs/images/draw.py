"""Draws the pictures of docs/kernels.md, as SVG that reads on light and dark pages.

    python docs/images/draw.py

A colour stands for a thread (or a block, where the picture says so); grey is memory that no thread of the picture has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from textwrap import wrap

HERE = Path(__file__).parent
WIDTH = 760

STYLE = """
  .page { fill: #ffffff; stroke: #d0d7de } .ink, text { fill: #1f2328 } .line { stroke: #57606a; fill: none }
  .head { fill: #57606a }
  .dashed { stroke-dasharray: 5 3 }
  .cell { stroke: #57606a; stroke-width: .8 } .none { fill: #e4e7eb } .shared { fill: #f3ecd2 }
  .t0 { fill: #9ec5fe } .t1 { fill: #ffc896 } .t2 { fill: #a8dfb4 } .t3 { fill: #f2b5d4 } .t4 { fill: #d0bfff }
  .t5 { fill: #f5f1a3 }
  text { font: 13px system-ui, sans-serif } .small { font-size: 11px } .bold { font-weight: 600 }
  .label { fill: #1f2328; font-size: 11px; text-anchor: middle; dominant-baseline: central }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #30363d } .ink, text { fill: #e6edf3 }
    .line { stroke: #9198a1 } .head { fill: #9198a1 }
    .none { fill: #a3abb4 } .shared { fill: #d8cfae } .label { fill: #1f2328 }
  }
"""


class Figure:
    """One picture: shapes are added from the top left corner, in pixels."""

    def __init__(self, title: str, height: int) -> None:
        self.height = height
        self.parts: list[str] = [f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>"]
        self.parts.append(f'<rect class="page" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>')

    def cell(self, x: float, y: float, colour: str, label: str = "", *, w: float = 26, h: float = 24) -> None:
        self.parts.append(f'<rect class="cell {colour}" x="{x}" y="{y}" width="{w}" height="{h}"/>')
        if label:
            self.parts.append(f'<text class="label" x="{x + w / 2}" y="{y + h / 2}">{escape(label)}</text>')

    def strip(
        self, x: float, y: float, colours: Sequence[str], labels: Sequence[str] = (), *, w: float = 26, h: float = 24
    ) -> None:
        """Cells side by side."""
        for i, colour in enumerate(colours):
            self.cell(x + i * w, y, colour, labels[i] if i < len(labels) else "", w=w, h=h)

    def text(self, x: float, y: float, words: str, *, kind: str = "") -> None:
        self.parts.append(f'<text class="{kind}" x="{x}" y="{y}">{escape(words)}</text>')

    def note(self, y: float, words: str) -> None:
        """A few lines of text from ``y`` on."""
        for n, line in enumerate(wrap(words, 104)):
            self.text(24, y + 18 * n, line)

    def frame(self, x: float, y: float, w: float, h: float, words: str = "") -> None:
        self.parts.append(f'<rect class="line dashed" x="{x}" y="{y}" width="{w}" height="{h}" rx="4"/>')
        if words:
            self.text(x + 6, y + 14, words, kind="small")

    def arrow(self, x1: float, y1: float, x2: float, y2: float) -> None:
        length = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 1)
        dx, dy = (x2 - x1) / length, (y2 - y1) / length
        left, right = (x2 - 8 * dx - 4 * dy, y2 - 8 * dy + 4 * dx), (x2 - 8 * dx + 4 * dy, y2 - 8 * dy - 4 * dx)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in ((x2, y2), left, right))
        self.parts.append(f'<path class="line" d="M{x1} {y1}L{x2 - 6 * dx:.1f} {y2 - 6 * dy:.1f}"/>')
        self.parts.append(f'<polygon class="head" points="{points}"/>')

    def svg(self) -> str:
        size = f'width="{WIDTH}" height="{self.height}" viewBox="0 0 {WIDTH} {self.height}"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n' + "\n".join(self.parts) + "\n</svg>\n"


def threads(count: int, each: int) -> list[str]:
    """Colours of elements, ``each`` of them a thread."""
    return [f"t{i // each % 5}" for i in range(count)]


def numbers(count: int, first: int = 0) -> list[str]:
    return [str(first + i) for i in range(count)]


# --- elementwise ------------------------------------------------------------------------------------------


def contiguous() -> Figure:
    f = Figure("Contiguous kernel: each thread moves one vector of every operand", 176)
    for row, name in enumerate(("x", "y", "out")):
        f.text(24, 42 + 40 * row, name, kind="bold")
        f.strip(70, 26 + 40 * row, threads(20, 4), numbers(20), w=32)
    for t in range(5):
        f.text(106 + 128 * t, 160, f"thread {t}", kind="small")
    return f


def flat() -> Figure:
    f = Figure("Flat kernel: vectors over the whole output, a computed offset for what is not dense", 220)
    f.text(24, 42, "x, out", kind="bold")
    f.text(90, 18, "two rows of 7 elements, dense: vectors cross from one row to the next", kind="small")
    f.strip(90, 26, threads(14, 4), [f"{i // 7},{i % 7}" for i in range(14)], w=40)
    f.text(24, 158, "bias", kind="bold")
    f.strip(90, 142, ["t1", "none", "none", "none", "t1", "t1", "t1"], numbers(7), w=40)
    for element in (4, 5, 6, 7):
        f.arrow(110 + 40 * element, 52, 110 + 40 * (element % 7), 140)
    f.note(
        196,
        "thread 1: one vector of x; for each of its elements e, bias[e % 7] by a multiply-high division",
    )
    return f


def rows() -> Figure:
    f = Figure("Row kernel: where a row begins is computed once for a group", 240)
    f.text(24, 20, "x (padded rows)", kind="bold")
    for row in range(3):
        colours = [f"t{(row * 2 + i // 4) % 5}" for i in range(8)]
        f.strip(150, 30 + 30 * row, [*colours, "none", "none"], [f"{row},{i}" for i in range(8)], w=38)
        f.text(24, 46 + 30 * row, f"row {row}: {row} * stride", kind="small")
        f.cell(580, 30 + 30 * row, f"t{row * 2 % 5}", f"{row}", w=38)
    f.text(560, 20, "one element a row", kind="small")
    f.text(540, 138, "scale: loaded once a group", kind="small")
    f.text(456, 138, "padding", kind="small")
    f.strip(150, 156, threads(8, 4), numbers(8), w=38)
    f.text(24, 172, "bias: all rows share it", kind="small")
    f.note(
        212,
        "a thread has one group (here 4 elements) of one row: one division an outer dimension, then vectors",
    )
    return f


def tiled() -> Figure:
    f = Figure("Tile kernel: operands that are consecutive along another dimension go through shared memory", 292)
    f.text(24, 20, "transposed operand in memory", kind="bold")
    f.text(290, 20, "tile in shared memory", kind="bold")
    f.text(540, 20, "output in memory", kind="bold")
    for p in range(4):
        for q in range(4):
            thread, label = f"t{(4 * p + q) % 6}", f"{p},{q}"
            f.cell(24 + 48 * q, 34 + 40 * p, thread, label, w=48, h=40)
            f.cell(290 + 48 * (p ^ q), 34 + 40 * q, thread, label, w=48, h=40)
            f.cell(540 + 48 * p, 34 + 40 * q, "none", label, w=48, h=40)
    f.arrow(222, 114, 284, 114)
    f.arrow(488, 114, 534, 114)
    f.note(
        216,
        "A cell is a square of G x G elements (G elements are 16 bytes) at place p,q. A thread (colour) loads a square "
        "as G vectors, transposes it in registers, and stores G vectors to shared memory. Slots of a row of the tile "
        "are swizzled (slot = p ^ q), so that there are no bank conflicts. The output is written in vectors along p.",
    )
    return f


def strided() -> Figure:
    f = Figure("Strided kernel: one element a thread, at an offset computed from its coordinates", 150)
    f.text(24, 42, "x", kind="bold")
    f.strip(70, 26, [f"t{i // 3 % 5}" if i % 3 == 0 else "none" for i in range(20)], numbers(20), w=32)
    f.text(24, 92, "out", kind="bold")
    f.strip(70, 76, threads(7, 1), numbers(7), w=32)
    for i in range(7):
        f.arrow(86 + 96 * i, 52, 86 + 32 * i, 74)
    f.note(
        132,
        "thread i: c0, c1, ... from i by divisions; offset = c0 * stride[0] + c1 * stride[1] + ...",
    )
    return f


# --- row reductions ---------------------------------------------------------------------------------------


def rows_in_registers() -> Figure:
    f = Figure("Row reduction with the row in registers", 260)
    f.text(24, 20, "a row in memory, in vectors of 16 bytes; 4 threads share it, 3 vectors each", kind="bold")
    f.strip(24, 30, [f"t{i % 4}" for i in range(12)], [f"v{i // 4}" for i in range(12)], w=58)
    for t in range(4):
        x = 24 + 180 * t
        f.frame(x, 78, 164, 62, f"thread {t}: registers")
        f.strip(x + 10, 100, [f"t{t}"] * 3, ["v0", "v1", "v2"], w=48)
        f.arrow(x + 82, 142, x + 82, 166)
        f.cell(x + 42, 168, f"t{t}", "state", w=80)
    f.note(
        214,
        "Round 1: each thread folds its elements into a state. States are merged by warp shuffles, then, "
        "where several warps share the row, through shared memory. Round 2, and the output, use the same "
        "registers: memory is read once and written once.",
    )
    return f


def long_rows() -> Figure:
    f = Figure("Row reduction of a row that does not fit in registers", 210)
    f.text(24, 20, "a row in memory; the block walks it in steps of all its threads", kind="bold")
    for step in range(3):
        f.strip(24 + 220 * step, 30, threads(4, 1), [f"T{t}" for t in range(4)], w=52)
        f.text(24 + 220 * step, 72, f"step {step}", kind="small")
    f.text(690, 46, "...")
    for n, words in enumerate(("round 1: maximum", "round 2: sum of exponentials", "output")):
        f.cell(24, 90 + 28 * n, "shared", words, w=220)
        f.text(256, 106 + 28 * n, "reads the whole row again (from L2 or memory)", kind="small")
    f.note(
        196,
        "Rounds are fused where that is possible (online softmax), so that the row is read fewer times.",
    )
    return f


def cluster() -> Figure:
    f = Figure("Row reduction by a thread-block cluster", 250)
    f.text(24, 20, "one row; a colour is a block of the cluster (up to 8 blocks)", kind="bold")
    f.strip(24, 30, [f"t{i // 3}" for i in range(12)], w=58)
    for b in range(4):
        x = 24 + 180 * b
        f.frame(x, 72, 164, 96, f"block {b} of the cluster")
        f.cell(x + 10, 94, f"t{b}", "registers: its part", w=144)
        f.cell(x + 10, 130, "shared", "slots of all warps", w=144)
        f.arrow(x + 82, 119, x + 82, 129)
        if b:
            f.arrow(x - 26, 142, x + 8, 142)
            f.arrow(x + 8, 148, x - 26, 148)
    f.note(
        196,
        "Each warp writes its state into the shared memory of every block (st.async). Each block waits for "
        "the bytes on its own mbarrier, and merges all states: one exchange a round, no cluster barrier "
        "between rounds. Memory is read once and written once.",
    )
    return f


def persistent_clusters() -> Figure:
    f = Figure("Persistent clusters take row after row", 230)
    f.text(24, 20, "time", kind="bold")
    f.arrow(64, 16, 736, 16)
    rows_of = (("0", "3", "4", "8"), ("1", "5", "7"), ("2", "6", "9"))
    widths = ((130, 150, 150, 140), (200, 190, 180), (170, 180, 210))
    for c in range(3):
        f.text(24, 54 + 44 * c, f"cluster {c}", kind="small")
        f.cell(92, 36 + 44 * c, "shared", "weights", w=60, h=28)
        x = 152
        for number, w in zip(rows_of[c], widths[c], strict=True):
            f.cell(x, 36 + 44 * c, f"t{c}", f"row {number}", w=w, h=28)
            x += w
    f.note(
        186,
        "As many clusters as fit the device are launched. Each loads an operand that all rows share into "
        "shared memory once, then takes rows from a global counter; the next row's number travels with the "
        "results of this one. Cluster barriers, and loads of weights, are paid once, not once a row.",
    )
    return f


def staged() -> Figure:
    f = Figure("Short rows staged through shared memory", 262)
    f.text(24, 20, "memory: rows of 5 elements, one after the other; the block's threads move them as 16-byte vectors")
    f.strip(24, 30, threads(20, 4), [f"{i // 5},{i % 5}" for i in range(20)], w=35)
    f.arrow(375, 56, 375, 84)
    f.text(386, 76, "vectors, flat", kind="small")
    f.text(24, 104, "shared memory: each thread takes a row (or several threads share one, or one takes several)")
    f.strip(24, 112, [f"t{i // 5}" for i in range(20)], [f"{i // 5},{i % 5}" for i in range(20)], w=35)
    for t in range(4):
        f.arrow(111 + 175 * t, 138, 111 + 175 * t, 160)
        f.cell(61 + 175 * t, 162, f"t{t}", f"thread {t}: registers", w=100 + 40)
    f.note(
        214,
        "Results of whole rows go back to shared memory, in the same place, and then to memory as vectors. "
        "Rows that threads of a warp take at the same time are apart, so that they are in different banks. "
        "Results of one element a row are written directly.",
    )
    return f


def peeled() -> Figure:
    f = Figure("Rows of odd length: vectors begin where an operand is aligned", 196)
    f.text(24, 20, "16-byte boundaries", kind="small")
    for i in range(6):
        f.arrow(50 + 128 * i, 26, 50 + 128 * i, 44)
    colours = ["none"] + ["t4"] * 3 + threads(16, 4) + ["t4"] * 2
    labels = ["", "0", "1", "2", *numbers(16, 3), "19", "20"]
    f.strip(50, 46, colours, labels, w=32)
    f.text(60, 92, "head", kind="small")
    f.text(380, 92, "vectors", kind="small")
    f.text(700, 92, "tail", kind="small")
    f.note(
        124,
        "One operand is the alignment anchor: vectors begin where it is aligned. The elements of head and "
        "tail (fewer than two vectors, plus a margin) are taken one each by the first threads of the row. "
        "Operands with another alignment are loaded as two aligned blocks and shifted, or element by element.",
    )
    return f


def split_rows() -> Figure:
    f = Figure("Several blocks share a row", 220)
    f.text(24, 20, "one long row; a colour is a block (blockIdx.y)", kind="bold")
    f.strip(24, 30, threads(20, 4), w=35)
    for b in range(5):
        x = 24 + 140 * b
        f.arrow(x + 70, 56, x + 70, 80)
        f.cell(x + 20, 82, f"t{b}", f"state of block {b}", w=100)
        f.arrow(x + 70, 108, 374, 134)
    f.cell(274, 136, "t2", "the last block to arrive merges all", w=200)
    f.note(
        188,
        "States go through global memory. An atomic counter for each row says which block is the last; it "
        "merges the states in a fixed order, so that results have the same bits in every run.",
    )
    return f


# --- column reductions ------------------------------------------------------------------------------------


def _columns(f: Figure, x: float, y: float, height: int, colour: Callable[[int, int], str]) -> None:
    for row in range(height):
        f.strip(x, y + 24 * row, [colour(row, column) for column in range(12)], w=30)


def columns() -> Figure:
    f = Figure("Column reduction: the kept axis is the fastest", 268)
    f.text(24, 20, "memory: columns side by side", kind="bold")
    _columns(f, 24, 30, 6, lambda row, column: f"t{column // 4 + 3 * (row % 2)}")
    f.text(400, 46, "a vector of 4 columns: one thread", kind="small")
    f.text(400, 70, "rows 0, 2, 4, ...: one thread of the column group", kind="small")
    f.text(400, 94, "rows 1, 3, 5, ...: the other one", kind="small")
    f.arrow(204, 176, 204, 196)
    f.cell(
        24,
        198,
        "shared",
        "shared memory: merges the states of threads that share columns, a column a thread",
        w=560,
    )
    f.note(
        242,
        "A thread reads several rows of its columns at once, and keeps a state for each column. Where columns "
        "are few and tall, several blocks share them, and the last one merges their results, as for split "
        "rows.",
    )
    return f


def columns_in_registers() -> Figure:
    f = Figure("Chains of reductions over columns, kept in registers", 262)
    f.text(24, 20, "memory: columns side by side, 6 elements each", kind="bold")
    _columns(f, 24, 30, 6, lambda row, column: f"t{column // 4 * 2 + row % 2}")
    for t in range(2):
        f.frame(420, 30 + 72 * t, 300, 62, f"thread {t} of columns 0 to 3: registers")
        for v in range(3):
            f.cell(430 + 96 * v, 52 + 72 * t, f"t{t}", f"row {2 * v + t}", w=90)
    f.note(
        204,
        "A block keeps all elements of some columns. After each round, threads of a warp that share columns "
        "merge by shuffles; then one thread a column merges the results of all warps in shared memory. The "
        "next round and the output use the same registers: memory is read once and written once.",
    )
    return f


FIGURES = (
    contiguous, flat, rows, tiled, strided, rows_in_registers, long_rows, cluster, persistent_clusters, staged, peeled,
    split_rows, columns, columns_in_registers,
)  # fmt: skip


def pictures() -> dict[str, str]:
    """The text of each file, by its name."""
    return {f"{figure.__name__}.svg": figure().svg() for figure in FIGURES}


if __name__ == "__main__":
    for name, text in pictures().items():
        (HERE / name).write_text(text, encoding="utf-8")
