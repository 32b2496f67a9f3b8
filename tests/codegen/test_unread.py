"""Declarations that nothing reads."""

from __future__ import annotations

from kgen.codegen.unread import without_unread

TEXT = """\
{
    const int lane = threadIdx.x;
    const unsigned int row = blockIdx.x;
    const int next = atomicAdd(&taken, 1);
    for (int i = lane; i < n; ++i) {
        const unsigned int s0 = i / 7;  // of row
        const int r0 = (int)(i - s0 * 7);
        total += x[i];
    }
    for (int i = lane; i < n; ++i) {
        const unsigned int s0 = i / 7;
        const int r0 = (int)(i - s0 * 7);
        total += x[r0];
    }
}
"""

LEFT = """\
{
    const int lane = threadIdx.x;
    const int next = atomicAdd(&taken, 1);
    for (int i = lane; i < n; ++i) {
        total += x[i];
    }
    for (int i = lane; i < n; ++i) {
        const unsigned int s0 = i / 7;
        const int r0 = (int)(i - s0 * 7);
        total += x[r0];
    }
}
"""


def test_unread() -> None:
    """A name counts where its block can see it, not in comments; what does more than declare stays."""
    assert without_unread(TEXT) == LEFT
    assert without_unread(LEFT) == LEFT
