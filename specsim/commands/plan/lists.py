"""Whole numbers in the options of a plan, alone and in lists, up to the largest that is sensible."""

from __future__ import annotations

from specsim.base import check, lists

# The largest sensible numbers: with larger ones an answer would take too long, or would mean nothing.
MOST = {
    "concurrency": 1024,
    "captured": 1 << 14,
    "batch": 1 << 14,
    "context": 1 << 30,
    "tp": 1 << 16,
    "max_gamma": 1000,
    "nodes": 1024,
    "ranks": 1000,
}


def whole_numbers(text: str, name: str, least: int) -> tuple[int, ...]:
    """Return the numbers of an option such as 1,8,64, 1-8,64 or 1k,32k.

    Examples
    --------
    >>> whole_numbers("512,32k", "context", 0)
    (512, 32768)
    """
    return lists.whole_numbers(text, name, least, MOST[name])


def bounded(value: int, name: str, least: int) -> int:
    """Return a whole number between `least` and the largest that is sensible."""
    number = check.integer(value, name, least)
    if number > MOST[name]:
        raise ValueError(f"{name} is {number}; it must be at most {MOST[name]}")
    return number
