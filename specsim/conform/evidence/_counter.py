"""The uniforms of a run, counted, and the one of them that is at an end."""

from __future__ import annotations

from typing import NamedTuple


class End(NamedTuple):
    """One end of one uniform: its number among those that a run asks for, and whether it is the upper end.

    `inside` counts the possible values of the uniform between it and that end.
    """

    place: int
    upper: bool
    inside: int = 0


class Counter:
    """The uniforms that a run has asked for so far, and which of them is to be at an end."""

    def __init__(self) -> None:
        self.count, self.end = 0, End(-1, False)
        # Bits of the uniform that was at an end last.
        self.bits = 0

    def start(self, end: End | None) -> None:
        """Begin a run."""
        self.count, self.end = 0, end or End(-1, False)

    def next(self, size: int) -> int | None:
        """Count the next `size` uniforms; return the place of the end among them, None if it is not one of them."""
        first, self.count = self.count, self.count + size
        return self.end.place - first if first <= self.end.place < self.count else None

    def value(self, bits: int) -> float:
        """Return the number that stands at the end, of a uniform that is a multiple of 2^-bits."""
        self.bits = bits
        step = 2.0**-bits
        return 1 - (self.end.inside + 1) * step if self.end.upper else self.end.inside * step
