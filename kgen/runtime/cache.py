"""Where compiled kernels are kept between processes."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """``$KGEN_CACHE_DIR``, else the user's cache folder; it need not exist yet."""
    chosen = os.environ.get("KGEN_CACHE_DIR")
    if chosen:
        return Path(chosen)
    import platformdirs  # only here: it costs a few milliseconds of import

    return Path(platformdirs.user_cache_dir("kgen"))
