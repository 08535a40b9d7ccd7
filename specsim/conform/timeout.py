"""A call that must come back: one that goes on for too long is interrupted, and is `Broken`."""

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
# What stands for the beginning of a call where there is none.
OUTSIDE = -1.0


class Shared:
    """Where the process that waits for this one reads when the call under way began, in seconds of the processor."""

    call: Any = SimpleNamespace(value=OUTSIDE)


class OutOfTime(Exception):
    """The budget is used up."""


class Hung(BaseException):
    """Raised inside the subject; no `except Exception` holds it back."""


@contextmanager
def within(patience: float, seconds: float, *, early: bool = True) -> Iterator[None]:
    """Interrupt what runs inside when it has used so much of the processor, or when the time of the judgement is up.

    It is Broken if it was given `patience` seconds of the processor, and OutOfTime if `seconds` (of `clock.now`) ended
    before: then nothing is known of it. Without `early` it may use all of `seconds`, as a first call may. Only in the
    main thread, where Python takes signals. Whatever the subject raises, `exit()` included, is Broken; an interruption
    by the user is not.
    """
    watched = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
    Shared.call.value = used = clock.used_lately()
    until = clock.now() + seconds
    before: Any = None

    def look(number: int, frame: FrameType | None) -> None:
        """End the call, or look again when one of its two limits may be reached."""
        open_ = patience - (time.process_time() - used)
        left = until - clock.now()
        if left <= 0 or (early and open_ <= 0):
            raise Hung
        signal.setitimer(signal.ITIMER_REAL, max(min(left, open_) if early else left, LOOK))

    if watched:
        before = signal.signal(signal.SIGALRM, look)
        signal.setitimer(signal.ITIMER_REAL, max(min(seconds, patience) if early else seconds, LOOK))
    try:
        yield
    except Hung:
        spent = time.process_time() - used
        if spent >= patience:
            raise TooSlow(f"did not come back within {spent:.3g} s of the processor") from None
        words = (
            f"a call did not come back in the {seconds:.3g} s that were left, {spent:.2g} s of them of the processor"
        )
        raise OutOfTime(words if patience == math.inf else f"{words}; after {patience:g} it is called broken") from None
    except (Broken, OutOfTime):
        raise
    except (Exception, SystemExit) as error:
        raise Broken(f"raised {type(error).__name__}: {' '.join(str(error).split())[:200]}") from error
    finally:
        Shared.call.value = OUTSIDE
        if watched:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
