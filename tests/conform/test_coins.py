"""Coins as inputs: thresholds of any type, and answers away from every corner."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from specsim.base import clock
from specsim.conform import Subject, coin_laws, judge
from specsim.conform.evidence import coins
from specsim.conform.observation import distance
from specsim.conform.observing import observe
from specsim.conform.standard_cases import standard
from specsim.conform.subject_call import inputs
from specsim.conform.trial import begin
from specsim.types import Array


def test_what_no_corner_shows_is_found_inside() -> None:
    """An answer of a sixteenth of the square, away from its edges."""
    found = coins.law(lambda u: bool((np.abs(u - 0.5) < 0.125).all()), 2)
    assert found.law[True] == pytest.approx(1 / 16, abs=1e-12)


def test_what_only_a_corner_of_several_coins_shows_is_found() -> None:
    """An answer of 2^-40 of the square: no point inside it will ever be drawn."""
    found = coins.law(lambda u: bool((u < 2.0**-20).all()), 2)
    assert found.law[True] == 2.0**-40


def somewhere(u: Array) -> bool:
    """Whether eight coins are in a slab of 144/10,000 of their cube, away from its edges and its middle."""
    return bool(0.35 <= u[2] < 0.47 and 0.56 <= u[3] < 0.68)


def test_what_boxes_hide_is_found_by_points_that_must_agree() -> None:
    assert coins.law(somewhere, 8).law == {False: 1.0}
    found = coins.law(somewhere, 8, agreed=2_000)
    assert found.law[True] == pytest.approx(0.12 * 0.12, rel=1e-9)
    assert found.leaves > 2_000


def compensated(p: Array, q: Array, drafts: Array, u: Array) -> int:
    """Token 0 in that slab, and elsewhere what is then missing of p: the target's law, whatever was drafted."""
    hidden = 0.12 * 0.12
    if p[0] < hidden:
        return int(np.searchsorted(p.cumsum(), u[0] * p.sum(), side="right"))
    rest = p - hidden * (np.arange(len(p)) == 0)
    return 0 if somewhere(u) else int(np.searchsorted(rest.cumsum(), u[0] * rest.sum(), side="right"))


def test_what_boxes_hide_is_no_distance_from_the_target() -> None:
    subject = Subject("odd", "step", compensated, randomness="coins", coins=lambda _: 8, sizes=(1,))
    trial = begin(subject, deadline=clock.now() + 60, patience=60, delta=1e-6, seed=0, kinds=["coins"])
    case = next(case for case in standard(subject) if min(case.p(())) > 0.2)
    seen = observe(trial, case)
    assert distance(seen.joint(case.length), seen.goal(case.length)) < 1e-9
    given = inputs(subject, case)
    alone = [coins.law(partial(coin_laws.fixed, trial, case, one), 8).law for one in given]
    assert any(abs(law[answer] - seen.law[answer]) > 1e-5 for law in alone for answer in law), "it was hidden"


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
    return x if u[0] * q[x] < p[x] else int((rest <= u[1] * rest[-1]).sum())


def test_a_rule_on_shorter_coins_is_acquitted() -> None:
    subject = Subject("short", "step", rejection, randomness="coins", sizes=(1,), dtype="float32")
    report = judge(subject, budget=100, properties=["marginal"])
    assert report.outcome == "lossless"
