"""Every public function and every command option with one bad argument each: refused in a line, or answered, in seconds."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import fuzzing, good_calls

ROOT = Path(__file__).parents[2]
SAMPLE = 200  # calls of the fast tier
GOOD, PUBLIC = good_calls.calls(), good_calls.functions()


def sweep(arguments: list[str]) -> str:
    """The sweep in a process of its own, where no library has started threads."""
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "helpers.fuzzing", *arguments]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_every_public_function_has_a_good_call() -> None:
    assert sorted(GOOD) == sorted(PUBLIC)


def test_a_sample_of_bad_arguments_is_refused_or_answered() -> None:
    assert sweep(["sample", str(SAMPLE)]) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(GOOD))
def test_bad_arguments_are_refused_or_answered(name: str) -> None:
    assert sweep([name]) == ""


@pytest.mark.parametrize("command", sorted(good_calls.COMMANDS))
@pytest.mark.slow
def test_bad_options_are_refused_or_answered(command: str) -> None:
    assert sweep([f"command {command}"]) == ""


def test_every_command_has_good_words() -> None:
    assert sorted(good_calls.COMMANDS) == sorted(fuzzing.commands())


def test_a_sample_of_bad_options_is_refused_or_answered() -> None:
    assert sweep(["options", "40"]) == ""


def hangs() -> None:
    while True:
        pass


def takes_memory() -> int:
    return int(np.ones(1 << 28).sum())  # 2 GiB


def warns() -> float:
    return float(np.multiply(1e-300, 1e-300))


def crashes() -> None:
    os.abort()


def answers_nan() -> tuple[float, ...]:
    return (1.0, float(np.array([0.0, np.nan])[1]))


def refuses_at_length() -> None:
    raise ValueError("two\nlines")


def breaks_inside() -> None:
    raise AttributeError("'int' object has no attribute 'shape'")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (hangs, "takes more than 0.5 s"),
        (takes_memory, "MemoryError"),
        (warns, "warns RuntimeWarning: underflow"),
        (crashes, "ends its process"),
        (answers_nan, "returns NaN"),
        (refuses_at_length, "with 2 lines"),
        (breaks_inside, "raises AttributeError"),
    ],
)
def test_the_sweep_sees_each_way_to_misbehave(call: Callable[[], Any], words: str) -> None:
    good = ("as it is", lambda: None, (), False)
    cases = [good, ("bad", call, ("TypeError", "ValueError"), False), ("after", lambda: 1, (), False)]
    found = fuzzing.judged(cases, seconds=0.5)
    assert list(found) == ["bad"]
    assert words in found["bad"]


def test_the_sample_is_spread_over_the_functions() -> None:
    drawn = random.Random(0).sample(sorted(GOOD), 20)
    assert len({name.split(".")[1] for name in drawn}) > 1
