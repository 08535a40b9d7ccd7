"""Grids of predictions, schedules by batch size and the boundary in the context, against `predict` and brute force."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import batch_schedule, context_boundary, estimate_hazards, latency, plan, predict, roofline, sweep
from specsim.latency import LatencyModel, Timing
from specsim.lengths.acceptance_record import as_acceptance
from specsim.speed.boundary import helpful_contexts

GPU = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm", overhead_s=3e-4)
SELF = roofline("llama-3.1-8b", "llama-3.1-8b", "a100-sxm4-80gb", draft_context=512)  # a compressed cache, as MagicDec
COUNTED = estimate_hazards([0, 1, 2, 3], 3, counts=[40, 30, 10, 20])


def test_a_sweep_is_the_predictions_one_by_one() -> None:
    alphas, gammas, batches, contexts = [0.0, 0.3, 0.8, 1.0], [0, 1, 5], [1, 32], [0, 3000]
    for model in (GPU, latency.constant(0.1, overhead=0.2)):
        found = sweep(model, alphas, gammas=gammas, batches=batches, contexts=contexts)
        assert found.shape == (4, 3, 1, 2, 2)
        for (i, a), (j, g), (k, b), (n, s) in product(*(enumerate(v) for v in (alphas, gammas, batches, contexts))):
            one = predict(model, a, gamma=g, batch=b, context=s).speedup.value
            assert found[i, j, 0, k, n] == pytest.approx(one, rel=1e-12)


def test_every_part_of_a_cycle_has_its_batch_and_context() -> None:
    parts = LatencyModel(
        lambda tokens, batch, context: Timing(1 + 0.1 * tokens + 0.01 * batch + 0.001 * context),
        lambda batch, context: Timing(0.1 + 0.02 * batch + 0.0002 * context),
        lambda batch, context: Timing(0.05 * batch + 0.0003 * context),
        "s",
        (),
    )
    found = sweep(parts, 0.8, gammas=[0, 3], batches=[1, 7], contexts=[0, 500])
    for (j, g), (k, b), (n, s) in product(enumerate((0, 3)), enumerate((1, 7)), enumerate((0, 500))):
        assert found[0, j, 0, k, n] == pytest.approx(predict(parts, 0.8, gamma=g, batch=b, context=s).speedup.value)
    schedule = batch_schedule(parts, 0.8, max_batch=9, context=500, max_gamma=4)
    best = plan(parts, 0.8, batches=range(1, 10), contexts=[500], max_gamma=4)
    assert [g for first, last, g in schedule for _ in range(first, last + 1)] == [one.gamma for one in best]


def test_a_speedup_of_one_is_no_gain() -> None:
    """Two tokens in the time of two, whatever the context."""
    even = latency.constant(1.0)
    assert context_boundary(even, 1.0, batch=1, max_gamma=1, max_context=50) is None
    assert helpful_contexts(even, 1.0, batch=1, max_gamma=1, max_context=50) == []
    assert helpful_contexts(latency.constant(0.5), 1.0, batch=1, max_gamma=1, max_context=50) == [(0, 50)]


def test_a_sweep_over_draft_costs_replaces_the_draft() -> None:
    found = sweep(GPU, 0.7, gammas=[0, 3], cost_ratios=[0.0, 0.25], batches=[8], contexts=[512])
    for k, c in enumerate((0.0, 0.25)):
        step = c * GPU.target(1, 8, 512).value
        other = GPU._replace(draft=lambda batch, context, step=step: Timing(step))
        assert found[0, 1, k, 0, 0] == pytest.approx(predict(other, 0.7, gamma=3, batch=8, context=512).speedup.value)
    assert found[0, 0].tolist() == [[[1.0]], [[1.0]]]


@pytest.mark.parametrize(
    "acceptance",
    [0.7, [0.9, 0.7, 0.3], COUNTED, lambda g: [0.8 - 0.05 * g] * g],
    ids=["number", "hazards", "log", "function"],
)
def test_the_schedule_is_the_plan_of_every_batch(acceptance: Any) -> None:
    found = batch_schedule(GPU, acceptance, max_batch=200, context=100, max_gamma=6)
    lengths = [g for first, last, g in found for _ in range(first, last + 1)]
    assert [first for first, _, _ in found] == [1, *(last + 1 for _, last, _ in found[:-1])]
    assert all(a[2] != b[2] for a, b in pairwise(found))
    best = plan(GPU, acceptance, batches=range(1, 201), contexts=[100], max_gamma=6)
    assert lengths == [one.gamma for one in best]


def brute(model: LatencyModel, acceptance: Any, batch: int, larger: int | None, top: int, max_gamma: int) -> int | None:
    """Every context in turn, by `predict`."""

    def best(b: int, s: int) -> float:
        lengths = range(1, as_acceptance(acceptance).most(max_gamma) + 1)
        return max(predict(model, acceptance, gamma=g, batch=b, context=s).speedup.value for g in lengths)

    found = None
    for s in reversed(range(top + 1)):
        if best(larger or batch, s) <= (1 if larger is None else best(batch, s)):
            return found
        found = s
    return found


@settings(max_examples=25)
@given(
    st.sampled_from([(GPU, 1), (SELF, 1), (GPU, 3), (SELF, 4)]),
    st.floats(0.05, 0.95),
    st.sampled_from([1, 16, 90, 300]),
    st.sampled_from([None, 2, 5]),
    st.integers(0, 700),
)
def test_the_boundary_is_where_brute_force_finds_it(
    model: tuple[LatencyModel, int], alpha: float, batch: int, more: int | None, top: int
) -> None:
    larger = None if more is None else more * batch
    found = context_boundary(model[0], alpha, batch=batch, larger=larger, max_gamma=model[1], max_context=top)
    assert found == brute(model[0], alpha, batch, larger, top, model[1])


def bumpy(context: int) -> bool:
    """Helps at first, harms in between, helps again."""
    return context < 300 or context >= 340


BUMPY = LatencyModel(
    lambda tokens, batch, context: Timing(1.0 if tokens == 1 or bumpy(context) else 9.0),
    lambda batch, context: Timing(0.1),
    lambda batch, context: Timing(0.0),
    "target steps",
    (),
)


def test_the_last_failure_counts() -> None:
    """Where speculation helps on both sides of a gap, the boundary is behind it; bisection alone would miss the gap."""
    assert context_boundary(BUMPY, 0.8, batch=1, max_context=1000) == 340
    assert context_boundary(BUMPY, 0.8, batch=1, max_context=320) is None
    assert context_boundary(BUMPY, 0.8, batch=1, max_context=299) == 0
    assert bisect_left(range(1001), True, key=bumpy) == 0


TURNED = LatencyModel(
    lambda tokens, batch, context: Timing(9.0 if tokens > 2 and context >= 100 else 1.0),
    lambda batch, context: Timing(0.1),
    lambda batch, context: Timing(1.0 if context < 100 else 0.0),
    "target steps",
    (),
)


def test_another_length_may_be_the_one_that_helps() -> None:
    """Below 100 only long drafts pay for what a cycle costs beside the models, from there on only one draft does."""
    assert context_boundary(TURNED, 0.9, batch=1, max_context=300) == 0
    assert helpful_contexts(TURNED, 0.9, batch=1, max_context=300) == [(0, 300)]
    assert plan(TURNED, 0.9, contexts=[0])[0].gamma > 2 > plan(TURNED, 0.9, contexts=[100])[0].gamma == 1


def test_ranges_of_contexts_that_help() -> None:
    for top, ranges in (
        (1000, [(0, 299), (340, 1000)]),
        (320, [(0, 299)]),
        (340, [(0, 299), (340, 340)]),
        (0, [(0, 0)]),
    ):
        assert helpful_contexts(BUMPY, 0.8, batch=1, max_context=top) == ranges
    assert helpful_contexts(GPU, 0.01, batch=1, max_context=100) == []


def test_the_boundaries_of_a_real_pair() -> None:
    """A draft as large as its target pays where caches are what is read; there larger batches gain more."""
    for batch in (1, 64, 256):
        helps = context_boundary(SELF, 0.8, batch=batch)
        assert helps
        before, there = plan(SELF, 0.8, batches=[batch], contexts=[helps - 1, helps])
        assert before.gamma == 0 < there.gamma
    gains = context_boundary(SELF, 0.8, batch=64, larger=128)
    assert gains is not None
    assert gains > 0
    for s, more in ((gains - 1, False), (gains, True)):
        small, large = plan(SELF, 0.8, batches=[64, 128], contexts=[s])
        assert (large.speedup.value > small.speedup.value) is more
    assert context_boundary(latency.constant(0.1), 0.8, batch=1, larger=2) is None  # the same at every batch
    assert context_boundary(latency.constant(0.9), 0.5, batch=1) is None


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: sweep(GPU, 1.5, gammas=[1]), r"^alpha is 1\.5; it must lie in \[0, 1\]$"),
    (lambda: sweep(GPU, [0.5, float("nan")], gammas=[1]), r"^alpha\[1\] is nan; "),
    (lambda: sweep(GPU, 0.5, gammas=[-1]), r"^gammas must be at least 0, got -1$"),
    (lambda: sweep(GPU, 0.5, gammas=[1], cost_ratios=[-0.1]), r"^cost_ratios\[0\] is -0\.1; "),
    (lambda: sweep(GPU, 0.5, gammas=[1], batches=[0]), r"^batch must be at least 1, got 0$"),
    (lambda: sweep(GPU, 0.5, gammas=[1], contexts=[-5]), r"^context must be at least 0, got -5$"),
    (lambda: batch_schedule(GPU, 0.5, max_batch=0), r"^max_batch must be at least 1, got 0$"),
    (lambda: batch_schedule(GPU, 0.5, max_batch=10**9), r"^max_batch is 1000000000; the largest .* sensible is 16384$"),
    (lambda: batch_schedule(GPU, 0.5, max_batch=4, max_gamma=10**9), r"^max_gamma is 1000000000; the largest that is"),
    (lambda: batch_schedule(GPU, 2.0, max_batch=4), r"^acceptance is 2\.0; it must lie in \[0, 1\]$"),
    (lambda: context_boundary(GPU, 0.5, batch=0), r"^batch must be at least 1, got 0$"),
    (lambda: context_boundary(GPU, 0.5, batch=8, larger=8), r"^larger is 8, not above batch 8$"),
    (lambda: context_boundary(GPU, 0.5, batch=1, max_context=-1), r"^max_context must be at least 0, got -1$"),
    (lambda: context_boundary(GPU, [1.5], batch=1), r"^acceptance\[0\] is 1\.5; "),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
