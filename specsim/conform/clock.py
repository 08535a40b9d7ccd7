"""The time that a judgement is charged: that of the wall, less what this thread waited for a processor.

On a busy machine a budget of 60 seconds may take longer by the wall clock, and is worth as much as on a quiet one.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

# Seconds for which a reading of the operating system's counter is used: reading it takes microseconds.
STEP = 0.05
# Part of the wall's time that is charged at least, so that a judgement ends on a machine that is never free.
LEAST = 0.1
# Its second number is the nanoseconds for which a thread was ready and had no processor (Linux).
WAITED = "schedstat"


class _Reading:
    """The last reading: what the wall's clock said, what was waited until then, and what was charged."""

    wall = time.monotonic()
    waited = 0.0
    charged = wall


def now() -> float:
    """Seconds on a clock that stands still while this thread waits for a processor; only differences mean something.

    >>> began = now()
    >>> 0 <= now() - began < 60
    True
    """
    wall = time.monotonic()
    passed = wall - _Reading.wall
    if abs(passed) > STEP:
        waited = seconds_waited(Path("/proc/thread-self"))
        _Reading.charged += charged(passed, waited - _Reading.waited)
        _Reading.wall, _Reading.waited, passed = wall, waited, 0.0
    return _Reading.charged + passed


def charged(passed: float, waited: float) -> float:
    """Seconds that are charged of those that passed, of which some were waited.

    >>> charged(2.0, 0.5), charged(2.0, 2.0)
    (1.5, 0.2)
    """
    return max(passed - max(waited, 0.0), LEAST * passed)


class _Used:
    """The last reading of what this process used of the processor, and what the wall's clock said then."""

    process = -1
    wall = 0.0
    seconds = 0.0


def used_lately() -> float:
    """Seconds of the processor that this process had used at most `STEP` seconds ago.

    To ask the system costs as much as a short call, and milliseconds where many threads are to be added up.
    """
    wall, process = time.monotonic(), os.getpid()
    if process != _Used.process or not 0 <= wall - _Used.wall < STEP:
        _Used.process, _Used.wall, _Used.seconds = process, wall, time.process_time()
    return _Used.seconds


def seconds_waited(thread: Path) -> float:
    """Seconds for which a thread, a folder of /proc, was ready and had no processor; 0 where nothing counts them."""
    try:
        return int((thread / WAITED).read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def seconds_used(process: int) -> float:
    """Seconds of the processor that another process has used, all of its threads together; 0 where they are unknown."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0
