"""Time limits of calls: a call that goes on for too long is interrupted, and is `Broken`."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, SimpleNamespace
from typing import Any

from specsim.base import clock
from specsim.conform.subject_call import Broken, TooSlow

# Seconds between two looks at a call that goes on, at least.
LOOK = 0.01
# Beginning of the call under way where there is none.
OUTSIDE = -1.0


class Shared:
    """The place where the parent process reads when the call under way began, in seconds of the processor."""

    call: Any = SimpleNamespace(value=OUTSIDE)


class OutOfTime(Exception):
    """The budget is used up."""


class Hung(BaseException):
    """Raised inside the subject; no `except Exception` holds it back."""


@contextmanager
def within(patience: float, seconds: float, *, early: bool = True) -> Iterator[None]:
    """Interrupt the call inside when it has used `patience` seconds of the processor, or when its time is up.

    It is Broken if it used `patience` seconds of the processor, and OutOfTime if `seconds` (of
    `clock.now`) ended before: then nothing is known of it. Without `early` it may use all of
    `seconds`, as a first call may. Limits hold in the main thread only, where Python takes signals.
    Whatever the subject raises, `exit()` included, is Broken; an interruption by the user is not.
    """
    watched = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    Shared.call.value = begun_at = clock.used_lately()
    until = clock.now() + seconds
    before: Any = None

    def look(number: int, frame: FrameType | None) -> None:
        """End the call, or look again when one of its two limits may be reached."""
        unused = patience - (time.process_time() - begun_at)
        left = until - clock.now()
        if left <= 0 or (early and unused <= 0):
            raise Hung
        signal.setitimer(signal.ITIMER_REAL, max(min(left, unused) if early else left, LOOK))

    # Set the timer, and take the handler away in the end.
    if watched:
        before = signal.signal(signal.SIGALRM, look)
        signal.setitimer(signal.ITIMER_REAL, max(min(seconds, patience) if early else seconds, LOOK))
    try:
        yield
    except Hung:
        spent = time.process_time() - begun_at
        if spent >= patience:
            raise TooSlow(f"did not come back within {spent:.3g} s of the processor") from None
        words = (
            f"a call did not come back in the {seconds:.3g} s that were left, {spent:.2g} s of them of the processor"
        )
        verdict = "" if patience == math.inf else f"; after {patience:g} it is called broken"
        raise OutOfTime(f"{words}{verdict}") from None
    except (Broken, OutOfTime):
        raise
    except (Exception, SystemExit) as error:
        raise Broken(f"raised {type(error).__name__}: {' '.join(str(error).split())[:200]}") from error
    finally:
        Shared.call.value = OUTSIDE
        if watched:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
