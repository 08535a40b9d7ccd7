"""What a command does with an exception: one line for what is the user's, a traceback for what is ours."""

from __future__ import annotations

from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from specsim.commands import errors


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file or directory", "a [1].json"), "a [1].json: No such file or directory"),
        (OSError("org/x is no folder and no model of the hub"), "org/x is no folder and no model of the hub"),
        (OSError(28, "No space left on device", "run.npz"), "run.npz: No space left on device"),
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (MemoryError("Unable to allocate 8 GiB"), "memory ran out: Unable to allocate 8 GiB"),
        (MemoryError(), "memory ran out"),
        (ValueError("two\nlines"), "two lines"),
        (ValueError(), "ValueError"),
        (ImportError("plots need matplotlib (extra `plot`)"), "plots need matplotlib (extra `plot`)"),
        (ModuleNotFoundError("No", name="scipy.sparse"), "this needs scipy, which is not installed: pip install scipy"),
        (ModuleNotFoundError("No", name="cvxpy.x"), "this needs cvxpy: install the extra `solve` (specsim-llm[solve])"),
    ],
)
def test_one_line_for_every_kind(error: Exception, said: str) -> None:
    def raises() -> None:
        raise error

    assert errors.sentence(error) == said
    small = typer.Typer()
    small.command()(errors.one_line(raises))
    ended = CliRunner().invoke(small, [])
    assert (ended.exit_code, ended.stderr) == (2, f"error: {said}\n")


def test_a_bug_keeps_its_traceback() -> None:
    def raises() -> Any:
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        errors.one_line(raises)()
    with pytest.raises(ImportError):
        errors.one_line(lambda: __import__("specsim.nothing"))()
    with pytest.raises(OSError, match="No space"):  # of standard output: left to `run`
        errors.one_line(lambda: (_ for _ in ()).throw(OSError(28, "No space")))()
