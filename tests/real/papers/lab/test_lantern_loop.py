"""LANTERN in the decode loop: laws of its blocks, greedy texts, and what is timed and read."""

from __future__ import annotations

import numpy as np
import pytest

from real.papers.lab import lantern_loop
from real.papers.lab.lantern_loop import Exact, Relaxed, complete, openings
from real.papers.models.images.data import digits
from real.papers.systems.lantern import nearest
from specsim import output_law
from specsim.base.arrays import pick
from specsim.types import Array

NEAR, RUNS = nearest()[:, :4], 100_000


def laws(rows: int, seed: int) -> Array:
    """Random laws of 32 tokens, of which the last 16 are no grey levels."""
    return np.random.default_rng(seed).dirichlet(np.ones(32), size=(1, rows))


def first_tokens(way: lantern_loop.Way, p: Array, q: Array) -> tuple[Array, float]:
    """Law of a block's first token over many runs, and how many drafts are accepted."""
    rng = np.random.default_rng(0)
    levels = q[..., :16] / q[..., :16].sum(-1, keepdims=True)
    drafts = pick(np.repeat(levels, RUNS, 0), rng.random((RUNS, q.shape[1])))
    plan = way.prepare(np.repeat(p, RUNS, 0), np.repeat(q, RUNS, 0))
    accepted, token = way.verify(plan, drafts, rng.random((RUNS, way.uniforms(q.shape[1]))))
    first = np.where(accepted > 0, drafts[:, 0], token)
    return np.bincount(first, minlength=16) / RUNS, float(accepted.mean())


@pytest.mark.parametrize("delta", [0.0, 0.2])
def test_the_law_of_a_token_is_the_rules(delta: float) -> None:
    """Exact speculation has the target's law, and so has delta = 0; frequencies are within five standard errors."""
    p, q = laws(3, 1), laws(2, 2)
    cut = [law[0, 0, :16] / law[0, 0, :16].sum() for law in (p, q)]
    due = output_law(*cut, rule="lantern", params={"neighbours": NEAR, "delta": delta})
    relaxed, relaxed_mean = first_tokens(Relaxed(NEAR, delta, greedy=False), p, q)
    exact, exact_mean = first_tokens(Exact(greedy=False), p, q)
    np.testing.assert_allclose(relaxed, due, atol=5 * 0.5 / RUNS**0.5)
    np.testing.assert_allclose(exact, cut[0], atol=5 * 0.5 / RUNS**0.5)
    assert (relaxed_mean > exact_mean + 0.05) == (delta > 0)
    if delta:
        assert np.abs(due - cut[0]).max() > 0.02, "the check can fail"


def test_greedy_drafts_are_kept_with_their_neighbours_mass() -> None:
    """Level 5 has 0.3, its neighbours 0.15 at most; level 12 is the likeliest, with 0.4."""
    p = np.full((1, 2, 32), 1e-9)
    p[0, :, 5], p[0, :, 4], p[0, :, 12], p[0, :, 9] = 0.3, 0.15, 0.4, 0.15
    q, u = p[:, :1], np.zeros((1, 3))
    for delta, draft, accepted in ((0.2, 5, 1), (0.1, 5, 0), (0.2, 12, 1), (0.0, 12, 1), (0.2, 9, 0)):
        way = Relaxed(NEAR, delta, greedy=True)
        number, token = way.verify(way.prepare(p, q), np.array([[draft]]), u)
        assert (number.tolist(), token.tolist()) == ([accepted], [12])
    exact = Exact(greedy=True)
    for draft, accepted in ((5, 0), (12, 1)):
        number, token = exact.verify(exact.prepare(p, q), np.array([[draft]]), u)
        assert (number.tolist(), token.tolist()) == ([accepted], [12])


def test_greedy_images_are_those_of_plain_decoding() -> None:
    """Exact speculation's are, and those where nothing is relaxed; others are not."""
    prompts = openings(digits().held_out())[:6]
    plain = [run.tokens for run in complete(prompts, Exact(greedy=True), 0, 0)]
    ways = [Exact(greedy=True), *(Relaxed(NEAR, delta, greedy=True) for delta in (0.0, 0.4))]
    same = [[run.tokens for run in complete(prompts, way, 3, 0)] == plain for way in ways]
    assert same == [True, True, False]
    assert all(0 <= level < 16 for text in plain for level in text)


def test_times_are_the_least_of_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reading of the clock is 1 s later than the last, and every third turn takes longer."""
    steps = iter(np.tile([1.0, 1.0, 1.0, 1.0, 1.0, 5.0], 10).cumsum().tolist())
    monkeypatch.setattr("time.process_time", lambda: next(steps))
    prompts, way = openings(digits().held_out())[:2], Exact(greedy=True)
    timings = lantern_loop.timed(prompts, [(way, 0), (way, 2)], 0, turns=2)
    assert timings.seconds.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert timings.passes[0].tolist() == [56, 56]
    assert (timings.passes[1] < 40).all()


def test_digits_are_read() -> None:
    held, learned = digits().held_out(), digits().learned()
    assert (lantern_loop.read_digits(held.images) == held.labels).double().mean() > 0.97
    assert (lantern_loop.read_digits(learned.images[:50]) == learned.labels[:50]).all()
