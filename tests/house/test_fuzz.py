"""Every public function and command option with one bad argument each: refused in a line, or answered, in seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import fuzzing, good_calls, good_real_calls

import real

ROOT = Path(__file__).parents[2]
SAMPLE = 120  # calls of the default tier; all of them are slow
GOOD, PUBLIC = good_calls.calls(), good_calls.functions()


def sweep(arguments: list[str]) -> str:
    """The sweep in a process of its own, where no library has started threads."""
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "helpers.fuzzing", *arguments]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_every_public_function_has_a_good_call() -> None:
    assert sorted(GOOD) == sorted(PUBLIC)


@pytest.mark.slow
def test_every_public_function_of_real_has_one() -> None:
    of_real = {name: symbol for name in real.__all__ if callable(symbol := getattr(real, name))}
    methods = {
        f"Pair.{name}": symbol for name, symbol in vars(real.Pair).items() if name[0] != "_" and callable(symbol)
    }
    records = {"Comparison", "Generation", "Pair"}  # made by the others, of fields that are not checked
    assert {f"real.{name}" for name in of_real | methods if name not in records} == set(good_real_calls.OF_REAL)


def test_a_sample_of_bad_arguments_is_refused_or_answered() -> None:
    assert sweep(["sample", str(SAMPLE)]) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", [*sorted(GOOD), *good_real_calls.OF_REAL])
def test_bad_arguments_are_refused_or_answered(name: str) -> None:
    assert sweep([name]) == ""


@pytest.mark.parametrize("command", [*sorted(good_calls.COMMANDS), *(f"real {name}" for name in good_calls.REAL)])
@pytest.mark.slow
def test_bad_options_are_refused_or_answered(command: str) -> None:
    """None of them writes into the package: `train-images` once trained its weights anew."""
    weights = {path: path.stat().st_mtime_ns for path in (ROOT / "real").rglob("*.safetensors")}
    assert sweep([f"command {command}"]) == ""
    assert {path: path.stat().st_mtime_ns for path in weights} == weights


def test_every_command_has_good_words() -> None:
    assert sorted(good_calls.COMMANDS) == sorted(fuzzing.commands())
    assert {line.split()[0] for line in good_calls.REAL.values()} == set(fuzzing.commands("specsim-real"))


def test_a_sample_of_bad_options_is_refused_or_answered() -> None:
    assert sweep(["options", "40"]) == ""


def test_a_sample_of_bad_options_of_real_is_refused_or_answered() -> None:
    """As far as torch is loaded, which this process does not allow; `-m slow` goes on to the first forward."""
    assert sweep(["real options", "32"]) == ""


def test_the_sweep_sees_each_way_to_misbehave() -> None:
    assert sweep(["planted"]).splitlines() == [
        f"{name}: {text}"
        for name, text in [
            ("hangs", "takes more than 0.5 s (-27)"),
            ("takes_memory", "raises MemoryError"),
            ("warns", "warns RuntimeWarning"),
            ("crashes", "ends its process (-9)"),
            ("answers_nan", "returns NaN"),
            ("refuses_at_length", "raises ValueError with 2 lines"),
            ("breaks_inside", "raises AttributeError"),
        ]
    ]
