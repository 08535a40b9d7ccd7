"""Judgements in a child process: a subject that kills it, or never returns to Python, ends in a verdict, too.

The child ends with this process, in whatever way this one ends. So do the processes that the child
started, unless this one is killed by a signal that no program can handle.
"""

from __future__ import annotations

import ctypes
import math
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from specsim.base import check, clock
from specsim.conform import judgement, libraries, timeout
from specsim.conform.output import aside
from specsim.conform.subject import Subject
from specsim.conform.verdict import ALL, LARGER, Outcome, Report, Verdict

# Part of the budget, and seconds, after which a call that does not return to Python is killed.
LATE, AT_LEAST = 0.15, 1.0
# Times the budget after which the harness itself is killed: it was not the subject that was late.
HARNESS = 2.0
# Seconds between two looks at a process that says nothing. Longer waits are cut: a system call may
# not take them.
LOOK = 0.1
# Signals that end this process, and with it the one that judges.
ENDING = ("SIGTERM", "SIGHUP")
# Of Linux's prctl: which signal a process gets when its parent ends.
PR_SET_PDEATHSIG = 1


def judge(subject: Subject, *, budget: float, say: Callable[[Verdict], None], **more: Any) -> Report:
    """Return the report of `judgement.judge`; if the process died, its verdicts so far, and how it ended.

    Where processes cannot be forked safely, or the subject needs a device, it is judged in this
    one.
    """
    check.scalar(budget, "budget", f"(0, {judgement.LONGEST:g}]")
    if sys.platform != "linux" or subject.needs_device or libraries.is_running(subject):
        return judgement.judge(subject, budget=budget, say=say, **more)
    # The child writes into a pipe, and into a shared number when its call began.
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    call = context.RawValue("d", timeout.OUTSIDE)
    child = context.Process(target=_in_child, args=(sender, call, subject, {"budget": budget} | more, os.getpid()))
    with warnings.catch_warnings():
        # Warnings of threads, none of which holds what a judgement needs.
        for kind in (DeprecationWarning, RuntimeWarning):
            warnings.simplefilter("ignore", kind)
        child.start()
    # Wait for its report; it is killed in any case.
    sender.close()
    assert child.pid is not None
    try:
        with _killed_at_our_end(child.pid), _interruptions_passed_on(child.pid):
            return _awaited(child, receiver, _Waiting(subject, budget, call, more), say)
    finally:
        _kill(child.pid)
        child.join()


class _Waiting(NamedTuple):
    """The judgement of a child process: its subject, its budget in seconds, and the other options.

    `call` is a shared number: seconds of the processor at the beginning of the call that is under
    way, or `timeout.OUTSIDE`.
    """

    subject: Subject
    budget: float
    call: Any
    more: dict[str, Any]


def _awaited(child: Any, receiver: Any, waiting: _Waiting, say: Callable[[Verdict], None]) -> Report:
    """Return the report that the child sends, or the verdicts so far if it died or is late."""
    verdicts: dict[str, Verdict] = {}
    began, process = time.monotonic(), Path(f"/proc/{child.pid}")
    ends = waiting.budget + max(LATE * waiting.budget, AT_LEAST)

    def ended(outcome: Outcome, words: str) -> Report:
        """Return the report of a child that sent none, with a verdict that says how it ended."""
        verdict = Verdict(waiting.subject.name, ALL, outcome, words=words)
        say(verdict)
        return Report(waiting.subject.name, (*verdicts.values(), verdict), complete=False, seconds=waiting.budget)

    while True:
        # Pass on what the child says.
        if receiver.poll(LOOK):
            try:
                message = receiver.recv()
            except EOFError:
                child.join()
                return ended("broken", f"ended the process: {_reason(child.exitcode or 0)}")
            if isinstance(message, Report):
                return message
            if not isinstance(message, Verdict):
                raise message
            verdicts[message.property] = message
            say(message)
            continue

        # It says nothing: is it late? Time in which it had no processor does not count.
        call_began, processor = waiting.call.value, clock.seconds_used(child.pid)
        threads, has_threads = clock.threads(process, waiting.subject.arrays == "jax")
        waited = math.fsum(map(clock.seconds_waited, threads))
        charged = clock.charged(time.monotonic() - began, waited, processor if has_threads else 0.0)
        if charged < (HARNESS * ends if call_began == timeout.OUTSIDE else ends):
            continue
        seconds = f"in {charged:.3g} s, {processor:.2g} s of them of the processor, and was killed"
        if call_began == timeout.OUTSIDE:
            return ended("inconclusive", f"the harness did not end {seconds}: give it {LARGER}")
        patience = waiting.more.get("patience", judgement.PATIENCE)
        if processor - call_began >= patience:
            return ended("broken", f"a call did not come back to Python {seconds}")
        return ended("inconclusive", f"a call did not come back to Python {seconds}: give it {LARGER}")


def _in_child(sender: Any, call: Any, subject: Subject, more: dict[str, Any], parent: int) -> None:
    """Judge in the child process, and send verdicts and the report."""
    # The child ends with its parent, which may have ended before that was asked for.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    # Ctrl-C in a terminal goes to the parent alone, which passes it on once.
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    timeout.Shared.call = call
    # A pool of threads does not survive a fork.
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    try:
        with aside():
            sender.send(judgement.judge(subject, say=sender.send, **more))
    except Exception as error:
        sender.send(error)


@contextmanager
def _killed_at_our_end(pid: int) -> Iterator[None]:
    """Kill the child first if a signal ends this process."""

    def end(number: int, _: Any) -> None:
        """Kill the child, then let the signal end this process."""
        _kill(pid)
        signal.signal(number, before[number])
        os.kill(os.getpid(), number)

    numbers = [getattr(signal, name) for name in ENDING]
    before = {number: signal.getsignal(number) for number in numbers}
    handled = [number for number in numbers if before[number] not in (signal.SIG_IGN, None)]
    for number in handled:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])


@contextmanager
def _interruptions_passed_on(pid: int) -> Iterator[None]:
    """Pass the first interruption on to the child, whose report is still awaited; a second one kills it."""
    signals = iter((signal.SIGINT, signal.SIGKILL))

    def interrupt(*_: Any) -> None:
        """Send the next of the two signals to the child."""
        os.kill(pid, next(signals, signal.SIGKILL))

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _kill(pid: int) -> None:
    """End a process and those that it started."""
    for end in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            end(pid, signal.SIGKILL)


def _reason(status: int) -> str:
    """Return in words how a process ended, by its exit status."""
    return f"status {status}" if status >= 0 else signal.strsignal(-status) or f"signal {-status}"
