"""Numbers."""

ZERO = 0.0
