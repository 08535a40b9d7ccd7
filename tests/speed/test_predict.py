"""Predictions with their error budgets, and the decisions drawn from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import specsim
from specsim import (
    block_efficiency,
    break_even_alpha,
    check_claim,
    estimate_hazards,
    from_measurements,
    latency,
    memory_bound,
    optimal_gamma,
    plan,
    predict,
    roofline,
)

NOISY = from_measurements({1: [20.0, 20.4], 5: [21.0, 21.2]}, {None: [1.0, 1.1]}, overhead=[0.5, 0.7])
FLAT = memory_bound(1.0, 0.1)
EXACT = from_measurements({1: 20.0, 2: 23.0, 3: 21.0, 9: 30.0}, {None: 1.0}, overhead=0.5)


@given(st.floats(0, 1), st.integers(0, 8), st.floats(0, 1))
def test_predict_agrees_with_speedup(alpha: float, gamma: int, cost: float) -> None:
    found = predict(latency.constant(cost, overhead=0.1), alpha, gamma=gamma)
    if gamma:
        by_hand = float(specsim.speedup(alpha, gamma=gamma, cost_ratio=cost, overhead=0.1))
        assert found.speedup.value == pytest.approx(by_hand)
    else:
        assert found.speedup == (1, 1, 1)
    assert found.speedup.low == found.speedup.high == found.speedup.value
    assert found.main_error == "none given"


def test_a_prediction_by_hand() -> None:
    found = predict(EXACT, [0.9, 0.5, 0.1], gamma=2, batch=4)
    assert found.tau.value == pytest.approx(1 + 0.9 + 0.45)
    assert (found.draft, found.verify, found.overhead, found.plain) == (2.0, 21.0, 0.5, 20.0)
    assert found.cycle == (23.5, None, None)
    assert found.tokens_per_time.value == pytest.approx(4 * 2.35 / 23.5)
    assert found.speedup.value == pytest.approx(2.35 * 20 / 23.5)
    assert (found.speedup.low, found.variance_time, found.main_error) == (None, None, "time, its error unknown")
    assert found.assumptions[0] == "hazards are exact, as given"
    # The slow pass over two tokens is kept, and said.
    assert predict(EXACT, 0.5, gamma=1).flags == ("verifying 2 tokens costs 1.15 plain steps, not one",)
    assert predict(EXACT, 0.5, gamma=2).flags == ()


def test_the_budget_names_the_larger_half() -> None:
    sharp, vague = (predict(NOISY, tau=3.2, tau_error=e, gamma=4) for e in (0.01, 0.3))
    assert (sharp.main_error, vague.main_error) == ("time", "acceptance")
    assert sharp.variance_time == vague.variance_time
    assert vague.variance_tau == pytest.approx((0.3 / 3.2) ** 2)
    time = NOISY.cycle(4)
    assert time.error is not None
    width = 1.959964 * ((0.3 / 3.2) ** 2 + (time.error / time.value) ** 2) ** 0.5
    assert vague.tokens_per_time.high == pytest.approx(vague.tokens_per_time.value * np.exp(width))
    assert vague.speedup.low is not None
    assert sharp.speedup.low is not None
    assert vague.speedup.low < sharp.speedup.low
    wide = predict(NOISY, tau=4.9, tau_error=0.3, gamma=4)
    assert wide.tau.high == 5.0  # no block emits more
    unsure = predict(NOISY, tau=1.4, tau_error=0.2, gamma=4)
    assert unsure.flags == ("the interval of the speedup holds 1: it may help or harm",)


def test_an_error_known_for_the_whole_cycle() -> None:
    """Where single times have no errors but cycles over steps do, the speedup has an interval, the cycle none."""
    bare, known = EXACT, EXACT._replace(cycle_error=lambda tokens: 0.06)
    assert predict(bare, 0.8, gamma=2).speedup.low is None
    found = predict(known, 0.8, gamma=2)
    assert found.speedup == pytest.approx([found.speedup.value * np.exp(1.959964 * 0.06 * s) for s in (0, -1, 1)])
    assert (found.cycle.low, found.variance_time, found.main_error) == (None, 0.06**2, "time")
    assert predict(known, 0.8, gamma=0).speedup == (1, 1, 1)
    assert predict(NOISY._replace(cycle_error=lambda tokens: 0.5), 0.8, gamma=4) == predict(NOISY, 0.8, gamma=4)


def test_few_blocks_are_said() -> None:
    few = predict(FLAT, estimate_hazards([2] * 29, 2), gamma=2)
    assert (few.tau.value, few.tau.high) == (3, 3)
    assert 2.5 < few.tau.low < 2.8  # type: ignore[operator]  # nothing was lost, but 29 blocks do not say that none is
    assert few.flags[0].startswith("only 29 blocks came to draft 2")
    assert predict(FLAT, estimate_hazards([2] * 30, 2), gamma=2).flags == ()
    last = predict(FLAT, estimate_hazards([0] * 90 + [2] * 10, 2), gamma=2)  # a hundred came to the first draft
    assert last.flags[0].startswith("only 10 blocks came to draft 2")
    expected = estimate_hazards([0] * 90 + [2] * 10, 2)._replace(tried=np.array([20.0, 0.34]))  # by the renewal law
    assert predict(FLAT, expected, gamma=2).flags[0].startswith("only 0.3 blocks came to draft 2")
    assert predict(FLAT, estimate_hazards([2] * 5, 2), gamma=0).flags == ()


def test_intervals_cover_where_every_block_kept_its_drafts() -> None:
    """In a fifth of these logs nothing is ever lost, and an interval of no width would miss in all of them."""
    rng, truth, exact, covered = np.random.default_rng(4), 1 + 0.98 + 0.98**2, 0, 0
    for _ in range(400):
        kept = (rng.random((40, 2)) < 0.98).cumprod(axis=1).sum(axis=1)
        found = predict(FLAT, estimate_hazards(kept, 2), gamma=2).tau
        assert found.low is not None
        assert found.high is not None
        exact += found.value == 3
        covered += found.low <= truth <= found.high
    assert exact > 60
    assert covered > 360


def test_intervals_cover_as_often_as_they_say() -> None:
    """Acceptance and times are both drawn anew, the truth is known; an interval from one half alone is too narrow."""
    rng = np.random.default_rng(3)
    hazards, gamma = np.array([0.8, 0.7, 0.6]), 3
    truth = float(block_efficiency(hazards)) * 20 / (gamma * 1.0 + 22 + 0.5)
    both = of_tau = of_time = 0
    for _ in range(400):
        kept = (rng.random((300, gamma)) < hazards).cumprod(axis=1).sum(axis=1)
        times = from_measurements(
            {m: rng.normal(v, 1.2, 6).tolist() for m, v in ((1, 20), (4, 22))},
            {None: rng.normal(1, 0.1, 6).tolist()},
            overhead=rng.normal(0.5, 0.05, 6).tolist(),
        )
        found = predict(times, estimate_hazards(kept, gamma), gamma=gamma, level=0.9)
        assert found.variance_time is not None
        gap = np.log(found.speedup.value / truth)
        both += abs(gap) < 1.645 * np.sqrt(found.variance_tau + found.variance_time)
        low, high = found.speedup[1:]
        assert low is not None
        assert high is not None
        assert (low < truth < high) == (abs(gap) < 1.6448536 * np.sqrt(found.variance_tau + found.variance_time))
        of_tau += abs(gap) < 1.645 * np.sqrt(found.variance_tau)
        of_time += abs(gap) < 1.645 * np.sqrt(found.variance_time)
    assert 0.84 < both / 400 < 0.95
    assert max(of_tau, of_time) / 400 < 0.84


def test_plan_is_the_best_length_and_switches_off() -> None:
    found = plan(latency.constant(0.05), 0.8)[0]
    assert (found.gamma, round(found.speedup.value, 4)) == (8, 3.0921)
    curve = [0.9, 0.8, 0.1, 0.9]
    assert plan(latency.constant(0.1), curve)[0].gamma == optimal_gamma(curve, cost_ratio=0.1).gamma == 2
    counted = estimate_hazards([0, 0, 1, 2], 4)  # nothing was seen beyond the third draft
    assert plan(latency.constant(0.0), counted)[0].gamma == 2
    assert plan(latency.constant(0.1), 0.05)[0].gamma == 0
    times = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
    batches = [1, 16, 64, 256, 512]
    best = plan(times, 0.7, batches=batches, contexts=[0, 32_000])
    assert [(b.batch, b.context) for b in best] == [(b, s) for b in batches for s in (0, 32_000)]
    short, long = best[::2], best[1::2]
    assert short[0].gamma > 0 == short[-1].gamma  # large batches are bound by arithmetic at short context
    assert [b.speedup.value for b in short] == sorted((b.speedup.value for b in short), reverse=True)
    assert long[-1].gamma > 0  # and by the caches at long
    for one in best:
        others = [predict(times, 0.7, gamma=g, batch=one.batch, context=one.context) for g in range(17)]
        assert one.speedup.value == max(o.speedup.value for o in others)


@given(st.floats(0.01, 0.9), st.integers(1, 8), st.floats(0, 1))
def test_break_even(cost: float, gamma: int, overhead: float) -> None:
    model = latency.constant(cost, overhead=overhead)
    alpha = break_even_alpha(model, gamma=gamma)
    if alpha is None:
        assert predict(model, 1.0, gamma=gamma).speedup.value < 1
    else:
        assert predict(model, alpha, gamma=gamma).speedup.value == pytest.approx(1)
        assert predict(model, min(alpha + 0.01, 1), gamma=gamma).speedup.value >= 1


def test_break_even_as_published() -> None:
    """Leviathan et al. 2023, corollary 3.9: some gamma helps iff alpha > c, then by (1 + alpha) / (1 + c) at least."""
    for c in (0.05, 0.3, 0.7):
        assert break_even_alpha(latency.constant(c), gamma=1) == pytest.approx(c)
        assert plan(latency.constant(c), c + 0.02)[0].gamma >= 1
        assert plan(latency.constant(c), c - 0.02)[0].gamma == 0
        assert plan(latency.constant(c), 0.8)[0].speedup.value >= 1.8 / (1 + c) - 1e-12
    assert break_even_alpha(latency.constant(2.0), gamma=3) is None
    assert break_even_alpha(from_measurements({1: 2.0, 2: 1.0}, {None: 0.1}), gamma=1) == 0


@pytest.mark.parametrize(("batch", "context"), [(1, 0), (64, 0), (64, 4096), (1, 30_000)])
def test_break_even_where_times_depend_on_batch_and_context(batch: int, context: int) -> None:
    times = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm", overhead_s=3e-4)
    alpha = break_even_alpha(times, gamma=3, batch=batch, context=context)
    assert alpha is not None
    assert predict(times, alpha, gamma=3, batch=batch, context=context).speedup.value == pytest.approx(1)


def test_break_even_at_certain_acceptance() -> None:
    assert break_even_alpha(latency.constant(1.0), gamma=1) == pytest.approx(1)  # two tokens in the time of two
    assert break_even_alpha(latency.constant(1.0 + 1e-9), gamma=1) is None


def test_a_plan_has_intervals_of_the_level_asked_for() -> None:
    for level in (0.5, 0.99):
        (best,) = plan(NOISY, estimate_hazards([2] * 20 + [1] * 20, 2), max_gamma=2, level=level)
        assert best == predict(NOISY, estimate_hazards([2] * 20 + [1] * 20, 2), gamma=best.gamma, level=level)


def test_claims() -> None:
    assert check_claim(2.5, gamma=5, tau=3.1, cost_ratio=0.05) == ((), ())
    assert check_claim(3.0, gamma=3, tau=4.2).refused == ("tau 4.2 is above gamma + 1 = 4",)
    assert check_claim(0.9, gamma=3, tau=0.8).refused == ("tau 0.8 is below 1: a target call emits a token",)
    assert check_claim(4.001, gamma=3).refused
    assert not check_claim(4.001, gamma=3, rounding=0.005).refused
    # EAGLE-3 (arXiv:2503.01840), table 1: 3.53x printed beside tau 3.33 for one row; flagged, not refused.
    assert check_claim(3.53, gamma=7, tau=3.33) == (
        (),
        ("speedup 3.53 is above tau 3.33: a cycle was cheaper than one plain step",),
    )


@given(st.floats(0, 1), st.integers(1, 12), st.floats(0, 1), st.floats(1, 3))
def test_no_prediction_is_refused(alpha: float, gamma: int, cost: float, verify: float) -> None:
    tau = float(block_efficiency(alpha, gamma=gamma))
    honest = tau / (gamma * cost + verify)
    assert check_claim(honest, gamma=gamma, tau=tau, cost_ratio=cost, verify_cost=verify, rounding=1e-9) == ((), ())
    top = (gamma + 1) / (gamma * cost + verify)
    assert check_claim(1.01 * top, gamma=gamma, cost_ratio=cost, verify_cost=verify).refused


NAN = float("nan")
BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: predict(FLAT, tau=5.2, gamma=4), r"^tau is 5\.2; a block of 4 drafts emits between 1 and 5 tokens$"),
    (lambda: predict(FLAT, tau=0.5, gamma=4), r"^tau is 0\.5; a block of 4 drafts emits between 1 and 5 tokens$"),
    (lambda: predict(FLAT, tau=NAN, gamma=4), r"^tau is nan; "),
    (lambda: predict(FLAT, gamma=4), r"^give acceptance or tau, one of them$"),
    (lambda: predict(FLAT, 0.5, tau=1.5, gamma=4), r"^give acceptance or tau, one of them$"),
    (lambda: predict(FLAT, 0.5, tau_error=0.1, gamma=4), r"^tau_error is 0\.1, but no tau is given$"),
    (lambda: predict(FLAT, tau=2, tau_error=-1, gamma=4), r"^tau_error is -1; "),
    (lambda: predict(FLAT, [0.5, 0.5], gamma=3), r"^acceptance has shape \(2,\); a curve needs 3 hazards"),
    (lambda: predict(FLAT, [0.5, 1.5], gamma=2), r"^acceptance\[1\] is 1\.5; it must lie in \[0, 1\]$"),
    (lambda: predict(FLAT, estimate_hazards([1], 1), gamma=2), r"^gamma is 2, but no block came .* position 1$"),
    (lambda: predict(FLAT, 0.5, gamma=-1), r"^gamma must be at least 0, got -1$"),
    (lambda: predict(FLAT, 0.5, gamma=1, batch=0), r"^batch must be at least 1, got 0$"),
    (lambda: predict(FLAT, 0.5, gamma=1, context=-1), r"^context must be at least 0, got -1$"),
    (lambda: predict(FLAT, 0.5, gamma=1, level=0), r"^level is 0; it must lie in \(0, 1\)$"),
    (lambda: predict(EXACT, 0.5, gamma=9), r"^target at tokens = 10 was not measured: its range is 1\.\.9$"),
    (lambda: plan(FLAT, 0.5, max_gamma=0), r"^max_gamma must be at least 1, got 0$"),
    (lambda: plan(FLAT, 2.0), r"^acceptance is 2\.0; it must lie in \[0, 1\]$"),
    (lambda: break_even_alpha(FLAT, gamma=0), r"^gamma must be at least 1, got 0$"),
    (lambda: check_claim(NAN, gamma=1), r"^speedup is nan; it must lie in \(0, inf\)$"),
    (lambda: check_claim(2, gamma=1, verify_cost=0), r"^verify_cost is 0; "),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
