"""What the contract decides otherwise than torch: on these samples of OpInfo kgen is meant to give something else."""

from __future__ import annotations

#: Operator, dtypes (a regular expression), a part of what is found, and the reason.
DECIDED: tuple[tuple[str, str, str, str], ...] = ()
