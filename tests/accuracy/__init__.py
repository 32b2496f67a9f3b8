"""How far every function is from its true value: measured against mpmath, kept as data, shown in docs/functions.md."""
