"""A call that must come back: after so many seconds it is interrupted, and is `Broken`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from specsim.conform.calls import Broken


class OutOfTime(Exception):
    """The budget is used up."""


class Hung(BaseException):
    """Raised inside the subject; no `except Exception` holds it back."""


@contextmanager
def within(seconds: float, late: Exception | None = None) -> Iterator[None]:
    """Interrupt what runs inside after so many seconds; only in the main thread, where Python takes signals.

    What is interrupted is Broken, or `late` is raised: whoever waited had no more time. Whatever the subject raises,
    `exit()` included, is Broken; an interruption by the user is not.
    """
    watched = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    before: Any = None
    if watched:
        before = signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except Hung:
        raise late or Broken(f"did not come back within {seconds:g} s") from None
    except Broken:
        raise
    except (Exception, SystemExit) as error:
        raise Broken(f"raised {type(error).__name__}: {' '.join(str(error).split())[:200]}") from error
    finally:
        if watched:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Hung
