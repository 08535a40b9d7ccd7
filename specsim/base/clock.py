"""The time that a judgement is charged: wall time, less the time waited for a processor.

On a busy machine a budget of 60 seconds may take longer by the wall clock, and is worth as much as
on a quiet one. JAX compiles and runs in threads of its own, for which this one waits: where JAX is
loaded, all threads count.
"""

from __future__ import annotations

import math
import os
import sys
import time
from pathlib import Path

# Seconds for which one reading of the operating system's counter is used: a reading takes
# microseconds.
STEP = 0.05
# Part of the wall time that is charged at least, so that a judgement ends on a machine that is
# never free.
LEAST = 0.1
# Linux's file of a thread whose second number is the nanoseconds for which the thread was ready and
# had no processor.
WAITED = "schedstat"
# The module that is loaded where JAX may have threads.
JAX = "jaxlib"


class _Reading:
    """The last reading: the wall's clock, and the seconds waited, used and charged until then."""

    wall = time.monotonic()
    waited = used = 0.0
    charged = wall


def now() -> float:
    """Return seconds of a clock that stops while this thread waits for a processor; use differences only.

    >>> began = now()
    >>> 0 <= now() - began < 60
    True
    """
    wall = time.monotonic()
    passed = wall - _Reading.wall
    if abs(passed) > STEP:
        # Read the system's counters, and charge the time since the last reading.
        counted_threads, are_several = threads(Path("/proc/self"), JAX in sys.modules)
        waited = math.fsum(map(seconds_waited, counted_threads))
        used = time.process_time()
        least = used - _Reading.used if are_several else 0.0
        _Reading.charged += charged(passed, waited - _Reading.waited, least)
        # This reading is now the last one, and no time has passed since.
        _Reading.wall, _Reading.waited, _Reading.used = wall, waited, used
        passed = 0.0
    return _Reading.charged + passed


def threads(process: Path, has_jax: bool) -> tuple[list[Path], bool]:
    """Return the threads of a process (a folder of /proc) whose waiting counts, and if they may be several.

    Where JAX is loaded these are all threads; else the calling thread, or the first one of another
    process.
    """
    if has_jax and (process / "task").is_dir():
        return list((process / "task").iterdir()), True
    return [Path("/proc/thread-self") if process.name == "self" else process], False


def charged(passed: float, waited: float, used: float = 0.0) -> float:
    """Return the seconds charged for `passed` seconds of wall time: less those waited, at least `used`.

    A tenth (`LEAST`) of the wall time is charged in any case, and never more than all of it.

    >>> charged(2.0, 0.5), charged(2.0, 2.0), charged(2.0, 2.0, used=0.7), charged(2.0, 2.0, used=3.5)
    (1.5, 0.2, 0.7, 2.0)
    """
    return max(passed - max(waited, 0.0), LEAST * passed, min(used, passed))


class _Used:
    """The last reading of this process's processor time, and of the wall's clock then."""

    process = -1
    wall = 0.0
    seconds = 0.0


def used_lately() -> float:
    """Return the processor time of this process, in seconds, as it was at most `STEP` seconds ago.

    To ask the system costs as much as a short call, and milliseconds where many threads are to be
    added up.
    """
    wall, process = time.monotonic(), os.getpid()
    if process != _Used.process or not 0 <= wall - _Used.wall < STEP:
        _Used.process, _Used.wall, _Used.seconds = process, wall, time.process_time()
    return _Used.seconds


def seconds_waited(thread: Path) -> float:
    """Return the seconds that a thread (a folder of /proc) was ready without a processor; 0 if unknown."""
    try:
        return int((thread / WAITED).read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def seconds_used(process: int) -> float:
    """Return the processor time of another process, in seconds, over all its threads; 0 if unknown."""
    try:
        # Fields after the program's name, which stands in parentheses; two of them are the ticks
        # used by the program and by the system for it (utime and stime of proc(5)).
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0
