"""Gaussian steps: the law of what is emitted, by quadrature and by tests of frequencies with a known distance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from specsim import continuous
from specsim.continuous import (
    Step,
    emit,
    gaussian_overlap,
    gaussian_step,
    keeps,
    reflection,
    refused,
    residual_quantile,
)


@pytest.mark.parametrize("gap", [0.01, 0.5, 1.0, 3.0, 8.0])
def test_overlap_is_the_integral_of_the_smaller_density(gap: float) -> None:
    smaller, _ = quad(lambda t: min(stats.norm.pdf(t), stats.norm.pdf(t - gap)), -12, 12 + gap, points=[gap / 2])
    assert float(gaussian_overlap(gaussian_step([0.0], [2 * gap], 2.0))) == pytest.approx(smaller, abs=1e-9)


@pytest.mark.parametrize("gap", [1e-6, 0.3, 1.0, 5.0])
def test_quantiles_are_those_of_the_residual(gap: float) -> None:
    """F at the quantile is u, with F from the density (phi(t) - phi(t - g))+."""
    u = np.array([0.001, 0.2, 0.5, 0.9, 0.999])
    found = residual_quantile(gap, u)
    assert (found <= gap / 2).all()
    difference = stats.norm.cdf(found) - stats.norm.cdf(found - gap)
    whole = 2 * stats.norm.cdf(gap / 2) - 1
    assert difference / whole == pytest.approx(u, abs=1e-7)


def test_reflection_is_the_mirror_image() -> None:
    step = gaussian_step([0.0, 0.0], [3.0, 4.0], 2.0)
    x = np.array([[1.0, 2.0], [3.0, 4.0], [-7.0, 0.5]])
    along = np.array([0.6, 0.8])
    mirrored = x - 2 * ((x - np.array([1.5, 2.0])) @ along)[:, None] * along
    assert reflection(step, x) == pytest.approx(mirrored)


STEPS = {
    "one dimension": gaussian_step([0.2], [1.1], 0.9),
    "three": gaussian_step([0.0, 0.4, -0.2], [0.5, 0.0, 0.3], 0.7),
    "unequal": gaussian_step([0.2], [0.6], 0.9, 1.3),
    "three, unequal": gaussian_step([0.0, 0.4, -0.2], [0.5, 0.0, 0.3], 0.7, 0.9),
    "target wider": gaussian_step([0.2], [0.6], 1.3, 0.9),
}


def many(n: int = 50, d: int = 3) -> Step:
    """Steps whose deviations are each its own."""
    rng = np.random.default_rng(11)
    return gaussian_step(*rng.standard_normal((2, n, d)), *np.exp(rng.standard_normal((2, n, 1)) / 4))


def test_ratio_is_that_of_the_densities() -> None:
    for step in (many(), *STEPS.values()):
        x = step.mean_q + 1.5
        logs = [stats.norm.logpdf(x, m, s).sum(-1) for m, s in ((step.mean_p, step.sd_p), (step.mean_q, step.sd_q))]
        assert continuous.log_density_ratio(step, x) == pytest.approx(logs[0] - logs[1])
        u = np.linspace(0, 1, 50)[:, None] if x.ndim == 1 else np.linspace(0, 1, 50)
        assert (continuous.keeps(step, x, u) == (np.log(np.maximum(u, 1e-300)) < logs[0] - logs[1])).all()


def test_narrower_floats_are_taken() -> None:
    """As networks give them."""
    mean = np.array([[0.0, 1.0]], dtype=np.float32)
    step = gaussian_step(mean, mean + np.float32(0.5), np.float32(0.25))
    assert step.mean_q.dtype == np.float64
    assert continuous.keeps(step, mean, np.array([0.5], dtype=np.float32)).tolist() == [True]


@pytest.mark.parametrize("instead", ["reflection", "line"])
def test_points_have_deviations_of_their_own(instead: str) -> None:
    sd = np.linspace(0.2, 3, 30_000)[:, None]
    step = gaussian_step(np.zeros((30_000, 2)), sd * [0.6, -0.8], sd)
    assert continuous.gaussian_overlap(step) == pytest.approx(2 * stats.norm.cdf(-0.5))
    rng = np.random.default_rng(2)
    x = step.mean_q + sd * rng.standard_normal((30_000, 2))
    token = emit(step, x, rng.random(30_000), rng, instead=instead).token
    assert min(stats.kstest((token / sd) @ e, "norm").pvalue for e in np.eye(2)) > 1e-4


def test_equal_means_keep_every_draft() -> None:
    mean = np.array([[0.3, -1.0], [0.3, -1.0]])
    step = gaussian_step(mean, mean + np.array([[0.0], [0.5]]), 0.4)
    assert continuous.gaussian_overlap(step)[0] == 1
    x, rng = mean + 0.1, np.random.default_rng(0)
    for instead in ("reflection", "line", "loop"):
        made = emit(step, x, np.array([1 - 2**-53, 0.0]), rng, instead=instead)
        assert made.kept.all()
        assert np.array_equal(made.token, x)
    assert np.array_equal(reflection(step, x)[0], x[0])


@pytest.mark.parametrize("name", ["one dimension", "unequal", "target wider"])
@pytest.mark.parametrize("factor", [0.8, 1.0, 1.3])
def test_a_factor_emits_the_law_that_it_makes(name: str, factor: float) -> None:
    """The smaller of q and factor p, and for what is refused (factor p - q)+, normalised: p for a factor of 1 alone."""
    step, rng = STEPS[name], np.random.default_rng(9)
    t = np.linspace(-12, 12, 40_001)
    p, q = (stats.norm.pdf(t, m[0], s) for m, s in ((step.mean_p, step.sd_p), (step.mean_q, step.sd_q)))
    kept, other = np.minimum(q, factor * p), np.maximum(factor * p - q, 0)
    cdf = np.cumsum(kept + other * (1 - kept.sum() * (t[1] - t[0])) / other.sum() / (t[1] - t[0])) * (t[1] - t[0])
    n = 30_000
    x = step.mean_q + step.sd_q * rng.standard_normal((n, 1))
    token = emit(step, x, rng.random(n), rng, instead="loop", factor=factor).token[:, 0]
    assert stats.kstest(token, lambda v: np.interp(v, t, cdf)).pvalue > 1e-4


def test_the_highest_ratio_is_the_highest() -> None:
    t = np.linspace(-40, 40, 800_001)[:, None]
    step = STEPS["unequal"]
    assert continuous.log_density_ratio(step, t).max() == pytest.approx(float(refused._highest_log_ratio(step)))
    assert refused._highest_log_ratio(STEPS["three, unequal"]) > 0
    assert [float(refused._highest_log_ratio(STEPS[name])) for name in ("three", "target wider")] == [np.inf] * 2
    same = gaussian_step([0.5], [0.5], 1.0)
    assert float(refused._highest_log_ratio(same)) == 0


def test_a_loop_that_would_never_end_is_refused() -> None:
    """p is at most 1.46 times q here: factors above 1 / 1.46 leave points to replace a draft by."""
    step, rng = gaussian_step([[0.0], [0.2]], [[0.3], [0.6]], 0.9, 1.3), np.random.default_rng(0)
    highest = float(np.exp(refused._highest_log_ratio(step)[1]))
    x, u = np.array([[0.0], [9.0]]), np.array([0.0, 0.9])
    assert np.isfinite(emit(step, x, u, rng, instead="loop", factor=1.1 / highest).token).all()
    with pytest.raises(ValueError, match=r"leaves no point to replace the refused draft\[1\] by"):
        emit(step, x, u, rng, instead="loop", factor=0.99 / highest)


def distance(step: Step, n: int = 40_000, **told: Any) -> tuple[float, float]:
    """The smallest p-value of Kolmogorov and Smirnov over directions, and the acceptance, of n steps."""
    rng = np.random.default_rng(7)
    d = step.mean_p.shape[-1]
    x = step.mean_q + step.sd_q * rng.standard_normal((n, d))
    made = emit(step, x, rng.random(n), rng, **told)
    z = (made.token - step.mean_p) / step.sd_p
    directions = [*np.eye(d), (step.mean_q - step.mean_p) / np.linalg.norm(step.mean_q - step.mean_p)]
    return min(stats.kstest(z @ e, "norm").pvalue for e in directions), float(made.kept.mean())


@pytest.mark.parametrize("name", ["three, unequal", "target wider"])
def test_the_law_is_the_targets_whatever_the_deviations(name: str) -> None:
    assert distance(STEPS[name], instead="loop")[0] > 1e-4


@pytest.mark.parametrize("name", ["one dimension", "three"])
@pytest.mark.parametrize("instead", ["reflection", "line", "loop"])
def test_the_law_is_the_targets(name: str, instead: str) -> None:
    p_value, kept = distance(STEPS[name], instead=instead)
    expected = float(gaussian_overlap(STEPS[name]))
    assert p_value > 1e-4
    assert abs(kept - expected) < 4 * np.sqrt(expected * (1 - expected) / 40_000)


def test_unequal_deviations_need_one_proposal_a_step() -> None:
    step, rng = STEPS["unequal"], np.random.default_rng(3)
    assert distance(step, instead="loop")[0] > 1e-4
    x = step.mean_q + step.sd_q * rng.standard_normal((40_000, 1))
    made = emit(step, x, rng.random(40_000), rng, instead="loop")
    error = made.proposals.std() / 200
    assert abs(made.proposals.mean() - 1) < 4 * error


@pytest.mark.parametrize(
    "told",
    [
        {"instead": "reflection", "factor": 1.2},  # the published factor of unequal earlier steps
        {"instead": "loop", "factor": 0.8},
    ],
)
def test_a_factor_changes_the_law(told: dict[str, Any]) -> None:
    assert distance(STEPS["one dimension"], **told)[0] < 1e-6


def test_a_wrong_mirror_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refused, "reflection", lambda step, x: step.mean_p + x - step.mean_q)
    assert distance(STEPS["one dimension"])[0] < 1e-6


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: gaussian_step([np.nan], [0.0], 1.0), r"mean_p\[0\] is nan"),
        (lambda: gaussian_step([0.0, 1.0], [0.0], 1.0), "mean_p has shape"),
        (lambda: gaussian_step([0.0], [0.0], 0.0), r"sd_p is 0\.0; it must lie in \[1e-50, 1e\+50\]"),
        (lambda: gaussian_step([[0.0], [np.inf]], [[0.0], [0.0]], 1.0), r"mean_p\[1\]\[0\] is inf"),
        (lambda: gaussian_step([0.0, 0.0], [0.0, 0.0], [1.0, 2.0]), r"sd_p has shape \(2,\); give a number, or \(1,\)"),
        (lambda: keeps(STEPS["three"], np.zeros(2), 0.5), r"x has shape \(2,\); points have 3 coordinates"),
        (lambda: keeps(STEPS["three"], np.zeros((2, 3)), np.full(4, 0.5)), r"leading axes of u and x .*\(4,\), \(2,\)"),
        (lambda: keeps(STEPS["three"], np.zeros(3), 1.5), r"u is 1\.5; it must lie in \[0, 1\]"),
        (lambda: keeps(STEPS["three"], np.zeros(3), 0.5, factor=0), r"factor is 0"),
        (lambda: residual_quantile(-1.0, 0.5), r"gap is -1\.0"),
        (lambda: gaussian_step([0.0, 1.0], [0.0, 1.0], 1.0, [1.0, 2.0]), r"sd_q has shape \(2,\); give a number"),
        (lambda: gaussian_step(np.zeros((3, 2)), np.zeros((3, 2)), np.ones(3)), r"sd_p has shape \(3,\)"),
        (lambda: continuous.keeps(STEPS["three"], np.zeros((1, 3)), np.ones(1), 0.0), r"factor is 0.0; it must lie in"),
        (
            lambda: reflection(STEPS["unequal"], np.zeros((1, 1))),
            "needs equal deviations, got sd_p .*0.9.*, sd_q .*1.3",
        ),
        (
            lambda: emit(STEPS["three"], np.zeros((1, 3)), np.ones(1), np.random.default_rng(), instead="x"),
            "instead 'x'",
        ),
    ],
)
def test_bad_steps_end_in_one_line(call: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()
