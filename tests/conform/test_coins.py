"""Coins as inputs: thresholds of any type, and answers away from every corner."""

from __future__ import annotations

import numpy as np
import pytest

from specsim.conform import Subject, judge
from specsim.conform.evidence import coins
from specsim.types import Array


@pytest.mark.fast
def test_what_no_corner_shows_is_found_inside() -> None:
    """An answer of a sixteenth of the square, away from its edges."""
    found = coins.law(lambda u: bool((np.abs(u - 0.5) < 0.125).all()), 2)
    assert found.law[True] == pytest.approx(1 / 16, abs=1e-12)


@pytest.mark.fast
def test_what_only_a_corner_of_several_coins_shows_is_found() -> None:
    """An answer of 2^-40 of the square: no point inside it will ever be drawn."""
    found = coins.law(lambda u: bool((u < 2.0**-20).all()), 2)
    assert found.law[True] == 2.0**-40


def test_shorter_coins() -> None:
    """A threshold between two numbers of their type, which every coin is; it takes half as many runs."""

    def below(u: Array) -> bool:
        assert (u.astype(np.float32) == u).all()
        return bool(np.float32(u[0]) < np.float32(0.1) or u[1] < 0.5)

    short, whole = coins.law(below, 2, floats=np.float32), coins.law(lambda u: bool(u[0] < 0.1 or u[1] < 0.5), 2)
    assert short.law[False] == (1 - float(np.float32(0.1))) / 2
    assert whole.law[False] == pytest.approx(0.45, abs=1e-15)
    assert short.leaves < 0.75 * whole.leaves


def rejection(p: Array, q: Array, drafts: Array, u: Array) -> int:
    x, rest = int(drafts[0]), (p - q).clip(0).cumsum()
    return x if u[0] * q[x] <= p[x] else int((rest <= u[1] * rest[-1]).sum())


def test_a_rule_on_shorter_coins_is_acquitted() -> None:
    subject = Subject("short", "step", rejection, randomness="coins", sizes=(1,), dtype="float32")
    report = judge(subject, budget=100, properties=["marginal"])
    assert report.outcome == "lossless"
