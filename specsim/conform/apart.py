"""A judgement in a process of its own: what kills the process, or never returns to Python, ends in a verdict, too."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from specsim.base import check
from specsim.conform import judgement
from specsim.conform.subject import Subject
from specsim.conform.verdict import Report, Verdict

LATE = 0.15  # of the budget, after which a process that does not end is killed; judge itself needs less


def judge(subject: Subject, *, budget: float, say: Callable[[Verdict], None], **more: Any) -> Report:
    """What `judgement.judge` says; of a process that died, what it had said, and how it ended.

    Where processes cannot be forked safely, or the subject needs a device, it is judged in this one.
    """
    check.scalar(budget, "budget", "(0, inf)")
    if sys.platform != "linux" or subject.needs_device:
        return judgement.judge(subject, budget=budget, say=say, **more)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_in_child, args=(sender, subject, {"budget": budget} | more))
    deadline, verdicts = time.monotonic() + (1 + LATE) * budget, list[Verdict]()
    with warnings.catch_warnings():
        for kind in (DeprecationWarning, RuntimeWarning):  # of threads, none of which holds what a judgement needs
            warnings.simplefilter("ignore", kind)
        child.start()
    sender.close()
    try:
        with _passed_on(child.pid):
            while receiver.poll(max(deadline - time.monotonic(), 0)):
                try:
                    found = receiver.recv()
                except EOFError:
                    break
                if isinstance(found, Verdict):
                    verdicts.append(found)
                    say(found)
                elif isinstance(found, Report):
                    return found
                else:
                    raise found
            else:
                return _ended(subject, verdicts, f"did not come back within {budget:g} s, and was killed")
    finally:
        if child.is_alive():
            child.kill()
        child.join()
    return _ended(subject, verdicts, f"ended the process: {_reason(child.exitcode or 0)}")


def _in_child(sender: Any, subject: Subject, more: dict[str, Any]) -> None:
    os.setpgid(0, 0)  # Ctrl-C in a terminal goes to the parent alone, which passes it on once
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)  # a pool of threads does not survive a fork
    try:
        sender.send(judgement.judge(subject, say=sender.send, **more))
    except Exception as error:
        sender.send(error)


@contextmanager
def _passed_on(pid: int | None) -> Iterator[None]:
    """An interruption ends the judgement, and not the waiting for what it found; a second one kills it."""
    signals = iter((signal.SIGINT, signal.SIGKILL))

    def interrupt(*_: Any) -> None:
        os.kill(pid or 0, next(signals, signal.SIGKILL))

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _ended(subject: Subject, verdicts: list[Verdict], words: str) -> Report:
    end = Verdict(subject.name, "all", "broken", words=words)
    return Report(subject.name, (*verdicts, end), complete=False)


def _reason(status: int) -> str:
    return f"status {status}" if status >= 0 else signal.strsignal(-status) or f"signal {-status}"
