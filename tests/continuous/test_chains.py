"""Chains of two Gaussian steps that share the first one's noise: law, acceptance, proposals, and the published rule."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from specsim.continuous import Emitted, emit, gaussian_overlap, gaussian_step


class Chain(NamedTuple):
    """x1 ~ N(mean, sd^2), then x0 ~ N(slope x1 + shift, last^2), in every coordinate."""

    mean: float
    sd: float
    last: float
    shift: float
    slope: float = 0.8


TARGET = Chain(0.0, 1.0, 0.5, 0.0)
SAME, OTHER = Chain(0.4, 1.0, 0.5, 0.1), Chain(0.4, 1.6, 0.7, 0.1)


def run(draft: Chain, n: int, d: int = 1, *, published: bool = False, aligned: bool = True, **told: Any) -> Emitted:
    """Tokens (n, d) of the target, drafted by the other chain."""
    rng = np.random.default_rng([d, n])
    noise, own = rng.standard_normal((2, n, d))
    means = [c.slope * (c.mean + c.sd * z) + c.shift for c, z in ((TARGET, noise if aligned else own), (draft, noise))]
    step = gaussian_step(*means, TARGET.last, draft.last)
    x = step.mean_q + draft.last * rng.standard_normal((n, d))
    factor = (draft.sd / TARGET.sd) ** d if published else 1
    return emit(step, x, rng.random(n), rng, factor=factor, **told)


def distance(token: np.ndarray, cells: int = 200) -> float:
    """TV of the histogram of the first coordinate from the target's law."""
    law = stats.norm(TARGET.slope * TARGET.mean + TARGET.shift, np.hypot(TARGET.slope * TARGET.sd, TARGET.last))
    edges = law.mean() + law.std() * np.linspace(-5, 5, cells + 1)
    counts = np.histogram(token[:, 0], edges)[0] / len(token)
    return float(np.abs(counts - np.diff(law.cdf(edges))).sum() / 2)


FLOOR = 0.0087  # of 200,000 draws of the law itself


def test_the_floor_is_that_of_the_law_itself() -> None:
    draws = np.random.default_rng(0).normal(0, np.hypot(0.8, 0.5), (200_000, 1))
    assert distance(draws) == pytest.approx(FLOOR, rel=0.15)


@pytest.mark.parametrize(
    ("draft", "told"),
    [
        (SAME, {"instead": "reflection"}),
        (SAME, {"instead": "line"}),
        (SAME, {"instead": "loop"}),
        (SAME, {"instead": "reflection", "aligned": False}),
        (SAME, {"instead": "reflection", "published": True}),  # equal variances: the factor is 1
        (OTHER, {"instead": "loop"}),
    ],
)
def test_the_law_is_the_targets(draft: Chain, told: dict[str, Any]) -> None:
    n = 50_000 if told["instead"] == "line" else 200_000
    assert distance(run(draft, n, **told).token) < 1.3 * FLOOR * np.sqrt(200_000 / n)


def test_the_published_rule_changes_it_where_variances_differ() -> None:
    assert 0.055 < distance(run(OTHER, 200_000, published=True, instead="loop").token) < 0.075


@pytest.mark.parametrize(("d", "expected"), [(1, 0.6745), (4, 0.4009), (16, 0.0930)])
def test_acceptance_is_the_overlap_of_the_last_steps(d: int, expected: float) -> None:
    """2 Phi(-gap / 2), whatever the shared noise is; it falls with the dimension."""
    step = gaussian_step(np.zeros(d), np.full(d, 0.8 * 0.4 + 0.1), 0.5)
    assert float(gaussian_overlap(step)) == pytest.approx(expected, abs=5e-5)
    kept = run(SAME, 50_000, d).kept
    assert abs(kept.mean() - expected) < 3 * np.sqrt(expected * (1 - expected) / 50_000)


def test_noise_that_is_not_shared_costs_acceptance() -> None:
    assert run(SAME, 50_000).kept.mean() > 1.3 * run(SAME, 50_000, aligned=False).kept.mean()


@pytest.mark.parametrize("draft", [SAME, OTHER])
@pytest.mark.parametrize("aligned", [True, False])
def test_a_loop_needs_one_proposal_a_token(draft: Chain, aligned: bool) -> None:
    made = run(draft, 100_000, instead="loop", aligned=aligned)
    assert made.proposals.mean() == pytest.approx(1, abs=0.02)
    assert (made.proposals[made.kept] == 0).all()
    assert (made.proposals[~made.kept] >= 1).all()
