"""Lists of whole numbers, with ranges: 1,8,64 or 1-8 or 1k,32k."""

from __future__ import annotations

from specsim.base import check

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
# The most numbers of a range such as 1-64.
MOST_OF_A_RANGE = 4096


def whole_numbers(text: str, name: str, least: int) -> tuple[int, ...]:
    """Return the numbers of a list such as 1,8,64, 1-8,64 or 1k,32k; k is 1024.

    Examples
    --------
    >>> whole_numbers("512,32k", "context", 0)
    (512, 32768)
    >>> whole_numbers("1-3,8", "batch", 1)
    (1, 2, 3, 8)
    """
    values: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        low = _whole_number(first, part, name, least)
        high = _whole_number(last, part, name, least) if dash else low
        if low > high:
            raise ValueError(f"{name} has {part.strip()!r}, an empty range; write the smaller number first")
        if high - low >= MOST_OF_A_RANGE:
            raise ValueError(f"{name} has {part.strip()!r}, a range of more than {MOST_OF_A_RANGE} numbers; list some")
        values += range(low, high + 1)
    return tuple(values)


def _whole_number(text: str, part: str, name: str, least: int) -> int:
    """Return one number of a list; `part` is the entry that it stands in."""
    digits = text.strip().lower()
    unit = 1024 if digits.endswith("k") else 1
    if not digits.removesuffix("k").isdecimal():
        raise ValueError(f"{name} has {part.strip()!r}, which is no whole number; write 1,8,64 or 1k,32k")
    if len(digits) > 12 or int(digits.removesuffix("k")) * unit > MOST[name]:
        raise ValueError(f"{name} is {digits[:20]}; it must be at most {MOST[name]}")
    return check.integer(int(digits.removesuffix("k")) * unit, name, least)


def bounded(value: int, name: str, least: int) -> int:
    """Return a whole number between `least` and the largest that is sensible."""
    number = check.integer(value, name, least)
    if number > MOST[name]:
        raise ValueError(f"{name} is {number}; it must be at most {MOST[name]}")
    return number
