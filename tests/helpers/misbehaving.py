"""Functions that misbehave, one in each way that the sweep of bad arguments must see."""

from __future__ import annotations

import os
import signal

import numpy as np


def hangs() -> None:
    while True:
        pass


def takes_memory() -> int:
    return int(np.ones(1 << 28).sum())  # 2 GiB


def warns() -> float:
    return float(np.multiply(1e-300, 1e-300))


def crashes() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def answers_nan() -> tuple[float, ...]:
    return (1.0, float(np.array([0.0, np.nan])[1]))


def refuses_at_length() -> None:
    raise ValueError("two\nlines")


def breaks_inside() -> None:
    raise AttributeError("'int' object has no attribute 'shape'")


def is_fine() -> int:
    return 1


PLANTED = (hangs, takes_memory, warns, crashes, answers_nan, refuses_at_length, breaks_inside, is_fine)
