"""Streams of any library, as the driver takes them."""

from __future__ import annotations

from typing import Any

from kgen.diagnostics import error


def stream_handle(stream: Any) -> int:
    """The raw handle of a stream: an int, or a torch, CuPy or ``__cuda_stream__`` object."""
    from kgen.arrays.base import MALFORMED

    try:
        handle = _handle(stream)
    except MALFORMED:
        handle = None
    if handle is None or not 0 <= handle < 1 << 64:
        raise error(
            "bad-stream",
            f"a {type(stream).__name__} is not a stream" if handle is None else f"{handle:#x} is not a stream handle",
            "pass an int handle, or a torch, CuPy or __cuda_stream__ object",
        )
    return handle


def _handle(stream: Any) -> int | None:
    if isinstance(stream, int):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for attribute in ("cuda_stream", "ptr", "handle"):
        found = getattr(stream, attribute, None)
        if found is not None:
            return int(found)
    return None
