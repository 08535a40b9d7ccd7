"""Calls that once ended in a traceback, took minutes or took all memory: each is refused in a line, or answered."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import specsim
from specsim import trees
from specsim.latency import Timing, constant
from specsim.logs.measures import log_acceptance
from specsim.logs.record import EngineLog
from specsim.speed.boundary import helpful_contexts

OFF = EngineLog("own", "off", False, token=Timing(0.010, 0.0001))
ON = EngineLog("own", "on", True, length=1, tau=Timing(1.9, 0.01), token=Timing(0.012, 0.0001))
SERVED = specsim.service_costs(constant(0.1), 0.8, gamma=3, prompt=8, output=65, limit=4)
DRAFT = {"gamma": 3, "cost_ratio": 0.1}
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "context_boundary, acceptance=[]": (
        lambda: specsim.context_boundary(constant(0.1), [], batch=1),
        "^acceptance has no position; expected that of one draft at least$",
    ),
    "context_boundary, acceptance=[], larger": (
        lambda: specsim.context_boundary(constant(0.1), [], batch=1, larger=2),
        "^acceptance has no position",
    ),
    "helpful_contexts, acceptance=[]": (
        lambda: helpful_contexts(constant(0.1), [], batch=1),
        "^acceptance has no position",
    ),
    "diagnose, off='x'": (lambda: specsim.diagnose("x", [ON]), "^off must be a list of EngineLog, got 'x'$"),
    "diagnose, off=[None]": (lambda: specsim.diagnose([None], [ON]), r"^off\[0\] must be a EngineLog, got None$"),
    "diagnose, on=[[]]": (lambda: specsim.diagnose([OFF], [[]]), r"^on\[0\] must be a EngineLog, got \[\]$"),
    "diagnose, on=log": (lambda: specsim.diagnose([OFF], ON), "^on must be a list of EngineLog, got EngineLog"),
    "log_acceptance": (lambda: log_acceptance([0.5]), r"^run must be a EngineLog, got \[0\.5\]$"),
    "translated_draft, vocab=10**9": (
        lambda: specsim.translated_draft([0.5, 0.5], specsim.shared_tokens("ab", "ab"), vocab=10**9),
        "^vocab is 1000000000; the largest that is sensible is",
    ),
    "renewal": (
        lambda: specsim.renewal(Fraction(1, 2)),
        r"^survival must have shape \(T, gamma\) with T >= 1, got \(\)$",
    ),
    "pearl": (
        lambda: specsim.pearl(0.8, **DRAFT, verify_cost={0: 1}),
        "^verify_cost must be a function or a sequence, got {0: 1}$",
    ),
    "beam_uniforms": (
        lambda: trees.beam_uniforms(np.datetime64("2026-01-01"), 2, 3),
        "^width must be an integer, got ",
    ),
    "beam_uniforms, depth=0": (lambda: trees.beam_uniforms(2, 0, 3), "^depth must be at least 1, got 0$"),
    "simulate_requests": (
        lambda: specsim.simulate_requests(SERVED, 5e-324),
        "^rate is 4.94066e-324; 4000 requests at that rate come at times beyond 1e.300$",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_it_is_refused_in_a_line(name: str) -> None:
    call, message = BAD[name]
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@pytest.mark.parametrize("rate", [1e-300, 5e-324, 1e-30])
def test_a_rate_of_almost_nothing_is_no_load(rate: float) -> None:
    found, little = specsim.request_times(SERVED, rate), specsim.request_times(SERVED, 1e-14)
    assert found.rate == rate
    assert (found.first_s, found.token_s, found.total_s) == pytest.approx(
        (little.first_s, little.token_s, little.total_s), rel=1e-12
    )


def test_steps_that_cannot_be_reached_are_not_drafted() -> None:
    ranks = [0.5, 0.3, 0.1]
    for top_k, tokens in ((1, 5), (2, 6), (3, 9)):
        enough = specsim.engine_tree(ranks, steps=tokens - 1, top_k=top_k, tokens=tokens)
        assert specsim.engine_tree(ranks, steps=10**9, top_k=top_k, tokens=tokens) == enough


def test_a_draft_that_costs_almost_nothing_costs_nothing() -> None:
    found = specsim.dsi(0.8, gamma=3, cost_ratio=5e-324)
    assert found.speedup == pytest.approx(specsim.dsi(0.8, gamma=3, cost_ratio=0).speedup)
    assert "without limit" in found.assumptions[1]
