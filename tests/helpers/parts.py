"""The slow tier in parts, of which CI runs one each time."""

from __future__ import annotations

from zlib import crc32


def part_of(test: str, parts: int) -> int:
    """Return the part, from 1, that a test is in: a hash of its id, so that no list has to be kept."""
    return crc32(test.encode()) % parts + 1


def read(words: str) -> tuple[int, int]:
    """Return part and number of parts of "2/7"; ValueError for words that are none."""
    part, _, parts = words.partition("/")
    if not (part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise ValueError(f"--part is {words!r}; expected K/N with K from 1 to N, as 2/7")
    return int(part), int(parts)
