"""Exponential races: by weights of next to nothing, over uniforms that are known, and drawn anew."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from specsim.conform import Subject, judge, judgement, standard_cases
from specsim.conform.standard_cases import standard
from specsim.conform.subject_call import call, inputs
from specsim.forking.programs import scripted
from specsim.types import Array

FLOORS = (1e-300, 1e-38, 1e-20, 1e-14, 1e-12)
P = np.array([0.5, 0.3, 0.2])


def spare_row(floor: float, gumbel: bool = False, wrong: bool = False) -> Any:
    """One race for all rows: what is left of each, but for a floor, over the same exponentials."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
        count = len(drafts)
        left = np.maximum(p[:count] - q, floor)
        left = left / left.sum(-1, keepdims=True)
        noise = random.exponential(size=p.shape[1])
        rows = p[:count] if wrong else left
        spare = [int((np.log(row) - np.log(noise) if gumbel else row / noise).argmax()) for row in rows]
        for i, x in enumerate(drafts):
            if not random.random() * q[i, x] < p[i, x]:
                return i, spare[i]
        return count, int(random.choice(p.shape[1], p=p[count]))

    return run


@pytest.mark.parametrize(("floor", "gumbel"), [(1e-38, False), (1e-14, True)])
def test_report_24_one_race_for_all_rows_with_a_floor_is_lossless(
    floor: float, gumbel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was called broken: of a race that only the floor can win nothing was left for the next one."""
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)
    if floor > 1e-20:  # each of 300 tokens can win
        monkeypatch.setattr(standard_cases, "on_more_tokens", lambda subject: ())
    subject = Subject("one race, floor of 1e-38", "chain", spare_row(floor, gumbel), sizes=(1, 2))
    report = judge(subject, properties=["joint", "degenerate"])
    assert [(v.outcome, v.evidence) for v in report.verdicts] == [("lossless", "scripted")] * 2
    assert max(v.distance for v in report.verdicts) < 1e-11
    wrong = subject._replace(run=spare_row(floor, gumbel, wrong=True))
    assert judge(wrong, properties=["joint"]).outcome == "convicted"


@pytest.mark.slow
def test_a_race_that_each_of_many_tokens_can_win_leaves_other_cases_exact() -> None:
    report = judge(
        Subject("one race", "chain", spare_row(1e-14, True), sizes=(1, 2)), properties=["joint", "degenerate"]
    )
    assert [(v.outcome, v.evidence) for v in report.verdicts] == [("lossless", "Monte Carlo"), ("lossless", "scripted")]


@pytest.mark.parametrize("floor", FLOORS)
def test_races_over_the_same_exponentials_with_a_floor(floor: float) -> None:
    """Each race alone has its own weights, whatever the others have."""
    rows = np.maximum([[0.5, 0.0, 0.2], [0.0, 0.6, 0.4], [0.0, 0.0, 1.0]], floor)
    found = scripted.law(lambda random: tuple((rows / random.exponential(size=3)).argmax(-1).tolist()))
    assert math.fsum(found.law.values()) == pytest.approx(1, abs=1e-12)
    for race, row in enumerate(rows):
        alone = [math.fsum(mass for winners, mass in found.law.items() if winners[race] == i) for i in range(3)]
        assert alone == pytest.approx(row / row.sum(), abs=1e-11)


def test_an_exponential_whose_uniform_was_compared_does_not_race_as_if_fresh() -> None:
    """Above a half its exponential is below log 2: it wins more often than its weight says."""

    def program(random: Any) -> tuple[bool, int]:
        u = random.random(3)
        noise = -np.log(u)
        return bool(u[0] < 0.5), int((P / noise).argmax())

    with pytest.raises(scripted.NotScriptable, match="one exponential in two races"):
        scripted.law(program)


def test_uniforms_and_races_that_are_drawn_anew_forget_their_factors() -> None:
    torch = pytest.importorskip("torch")
    weights = torch.tensor(P)

    def uniforms(random: Any) -> bool:
        u = torch.empty(1).uniform_()
        u.mul_(0.5)
        u.uniform_()
        return bool(u[0] < 0.25)

    def race(random: Any) -> tuple[int, int]:
        noise = torch.empty(3, dtype=torch.float64).exponential_()
        first = int((weights / noise).argmax())
        noise.exponential_()
        return first, int((weights / noise).argmax())

    assert scripted.law(uniforms).law == {True: 0.25, False: 0.75}
    found = scripted.law(race).law
    assert all(found[i, j] == pytest.approx(P[i] * P[j], abs=1e-12) for i in range(3) for j in range(3))


def test_paths_of_next_to_no_probability_are_not_followed() -> None:
    """Float64 does not resolve them beside the others; a coin of 1e-12 it does."""
    assert scripted.law(lambda random: int(random.choice(2, p=[1e-20, 1 - 1e-20]))).leaves == 1
    assert scripted.law(lambda random: bool(random.random() < 1e-12)).law[True] == pytest.approx(1e-12)


def test_report_24_first_case_takes_few_paths() -> None:
    subject = Subject("one race", "chain", spare_row(1e-38), sizes=(2,))
    case = next(standard(subject))
    found = [scripted.law(partial(call, subject, case, one)) for one in inputs(subject, case)]
    assert sum(one.leaves for one in found) < 300
