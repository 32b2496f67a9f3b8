"""The choice of a call's device."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.call.arguments import ArrayValue, Value
from kgen.diagnostics import KgenError, error
from kgen.runtime.backend import CudaBackend, HostBackend, backend_of, default_backend, parse_device


# branches: one error for each way in which devices and arrays disagree
def choose_backend(wanted: str | None, values: Sequence[Value]) -> HostBackend | CudaBackend:
    """The device of the arrays, or ``wanted``.

    NumPy arrays run on ``wanted``, else on a GPU if there is one.  Raises :class:`~kgen.KgenError`
    (``mixed-devices``, ``wrong-device``) naming the arguments.
    """
    arrays = [v for v in values if isinstance(v, ArrayValue)]
    specs = [v.name for v in arrays if v.adapter is None]
    if specs:
        raise error(
            "not-an-array",
            f"`{specs[0]}` is a spec, which has no data to run on",
            "meta, source and explain take specs",
        )
    asked = None if wanted is None else parse_device(wanted)
    placed = [(v.name, v.device) for v in arrays if v.device is not None]
    # A 0-d array of the host may be combined with arrays of a GPU: it is passed by value.
    walked = [
        (v.name, v.device)
        for v in arrays
        if v.device is not None and not (v.device.kind == "cpu" and v.spec.shape == ())
    ]
    found = walked or placed
    if not found:
        return default_backend(wanted)
    name, device = found[0]
    for other_name, other in found[1:]:
        if other != device:
            raise _mixed(f"`{name}` is on {device} and `{other_name}` is on {other}")
    numpy = [v.name for v in arrays if v.device is None and v.spec.shape != ()]
    if device.kind == "cuda" and numpy:
        raise _mixed(f"`{name}` is on {device} and `{numpy[0]}` is a NumPy array")
    if asked is not None and asked != device and not (wanted == "cuda" and device.kind == "cuda"):
        raise error(
            "wrong-device",
            f"`{name}` is on {device} and the kernel was made for {wanted}",
            "move the array, or remove device=",
        )
    return backend_of(device)


def _mixed(message: str) -> KgenError:
    return error("mixed-devices", message, "move one of them; kgen never copies between devices by itself")
