"""Lists of whole numbers, with ranges, as every command reads them: 1,8,64 or 1-8 or 1k,32k."""

from __future__ import annotations

# The most numbers of a range such as 1-64.
MOST_OF_A_RANGE = 4096


def whole_numbers(text: str, name: str, least: int, most: int) -> tuple[int, ...]:
    """Return the numbers of a list such as 1,8,64, 1-8,64 or 1k,32k; k is 1024.

    Examples
    --------
    >>> whole_numbers("512,32k", "context", 0, 2**20)
    (512, 32768)
    >>> whole_numbers("1-3,8", "batch", 1, 2**14)
    (1, 2, 3, 8)
    """
    values: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        low = _whole_number(first, part, name, least, most)
        high = _whole_number(last, part, name, least, most) if dash else low
        if low > high:
            raise ValueError(f"{name} has {_brief(part)}, an empty range; write the smaller number first")
        if high - low >= MOST_OF_A_RANGE:
            raise ValueError(f"{name} has {_brief(part)}, a range of more than {MOST_OF_A_RANGE} numbers; list some")
        values += range(low, high + 1)
    return tuple(values)


def distinct_numbers(text: str, name: str, least: int, most: int) -> tuple[int, ...]:
    """Return the numbers of a list as `whole_numbers` reads it; ValueError if one is there twice.

    >>> distinct_numbers("1-4,8", "gamma", 1, 100)
    (1, 2, 3, 4, 8)
    """
    values = whole_numbers(text, name, least, most)
    seen: set[int] = set()
    for value in values:
        if value in seen:
            raise ValueError(f"{name} has {value} twice; leave out one of them")
        seen.add(value)
    return values


def _whole_number(text: str, part: str, name: str, least: int, most: int) -> int:
    """Return one number of a list; `part` is the entry that it stands in."""
    digits = text.strip().lower()
    unit = 1024 if digits.endswith("k") else 1
    if not digits.removesuffix("k").isdecimal():
        raise ValueError(f"{name} has {_brief(part)}, which is no whole number; write 1,8,64 or 1-8 or 1k,32k")
    if len(digits) > 12 or int(digits.removesuffix("k")) * unit > most:
        raise ValueError(f"{name} is {digits[:20]}; it must be at most {most}")
    value = int(digits.removesuffix("k")) * unit
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    return value


def _brief(part: str) -> str:
    """Return an entry as a message shows it: on one line of at most 60 characters."""
    words = repr(part.strip())
    return words if len(words) <= 60 else f"{words[:57]}..."


def number_in(text: str | None, where: str, allowed: str) -> float:
    """Return the number that a text holds, in the interval `allowed`; ValueError with its place."""
    try:
        value = float(text or "")
    except ValueError:
        raise ValueError(f"{where} is {text!r}, not a number") from None
    # NumPy is loaded only here: help texts need none.
    from specsim.base import check

    return float(check.scalar(value, where, allowed))
