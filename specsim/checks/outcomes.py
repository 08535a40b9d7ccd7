"""The three outcomes of a check: it passes, it fails, or it is skipped for a reason that it names."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec

import numpy as np

from specsim.types import Array

Outcome = Literal["pass", "FAIL", "skipped"]
Check = Callable[[ModuleType], None]
P = ParamSpec("P")


class Skipped(Exception):
    """Raised by a check that has nothing to say of a rule; the message is the reason."""


class Finding(NamedTuple):
    """One check on one rule: its name, its outcome, and the failure or the reason of a skip."""

    check: str
    outcome: Outcome
    detail: str

    @property
    def passed(self) -> bool:
        """Whether the check ran and held; a check that was skipped has not passed."""
        return self.outcome == "pass"

    @property
    def failed(self) -> bool:
        """Whether the check ran and did not hold."""
        return self.outcome == "FAIL"


def in_fractions(check: Callable[Concatenate[ModuleType, P], None]) -> Callable[Concatenate[ModuleType, P], None]:
    """Return the check, skipped for a rule that says EXACT = False: its exp or log has no value among Fractions."""

    @wraps(check)
    def exact(rule: ModuleType, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Run the check, or skip it."""
        if not rule.EXACT:
            raise Skipped("the rule says EXACT = False, and this check runs in Fractions")
        check(rule, *args, **kwargs)

    return exact


def find(name: str, check: Check, rule: ModuleType) -> Finding:
    """Return the outcome of one check; whatever a rule under test raises is a failure."""
    try:
        # Warnings of a rule about its laws are no findings.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            check(rule)
    except Skipped as reason:
        return Finding(name, "skipped", str(reason))
    except AssertionError as failure:
        return Finding(name, "FAIL", str(failure) or _place(failure))
    except Exception as error:
        return Finding(name, "FAIL", f"{type(error).__name__}: {str(error) or _place(error)}")
    return Finding(name, "pass", "")


def _place(error: Exception) -> str:
    """Return where an exception without words was raised: the last line of a file that it passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    return f"raised in {Path(last.filename).name}, line {last.lineno}, in {last.name}" if last else "raised"


def written(values: Any) -> str:
    """Return an array, or a law by token, as text that can be pasted.

    Fractions are written as 1/2, floats to the last digit.
    """
    if isinstance(values, dict):
        return f"{{{', '.join(f'{token}: {written(mass)}' for token, mass in values.items())}}}"
    if np.ndim(values):
        return f"[{', '.join(written(value) for value in values)}]"
    value = values.item() if isinstance(values, (np.generic, np.ndarray)) else values
    return str(value) if isinstance(value, Fraction) else repr(value)


def close(values: Array, wanted: Array, what: str) -> None:
    """Fail if floats are not within 1e-12 of what they should be."""
    error = np.abs(np.asarray(values, dtype=float) - np.asarray(wanted, dtype=float)).max()
    assert error <= 1e-12, f"{what} differs by {error:.3g}"
