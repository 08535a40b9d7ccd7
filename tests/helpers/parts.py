"""Which tests are slow, and the parts of a suite, of which CI runs one each time."""

from __future__ import annotations

import tomllib
from zlib import crc32

# Seconds from which a case is slow.
LONG = 1.0


def slow_cases(listed: str, seconds: dict[str, float]) -> str:
    """Return the text of tests/slow.txt after a run: what was measured is listed if it was long, the rest stays."""
    cases = {case for case in listed.splitlines() if case not in seconds}
    cases |= {case for case, duration in seconds.items() if duration >= LONG}
    return "".join(f"{case}\n" for case in sorted(cases))


def killers(lines: str) -> set[str]:
    """Return the tests that the text of tests/mutants/lines.toml names as those that kill a wrong line."""
    return {line["killed_by"] for line in tomllib.loads(lines)["line"]}


def part_of(test: str, parts: int) -> int:
    """Return the part, from 1, that a test is in: a hash of its id, so that no list has to be kept."""
    return crc32(test.encode()) % parts + 1


def read(words: str) -> tuple[int, int]:
    """Return part and number of parts of "2/7"; ValueError for words that are none."""
    part, _, parts = words.partition("/")
    if not (part.isdigit() and parts.isdigit() and 1 <= int(part) <= int(parts)):
        raise ValueError(f"--part is {words!r}; expected K/N with K from 1 to N, as 2/7")
    return int(part), int(parts)
