"""Drafts prepared beside the pass before: closed forms, rounds followed one by one, the same in the planner."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from specsim import cache_hits, cached_drafts, draft_then_verify, plan, predict, relative_costs, residual, roofline, ssd
from specsim.latency import constant, in_one_pass
from specsim.lengths.blocks import accepted_length_law
from specsim.speed.shapes import fastest_shapes

F = Fraction


def followed(alpha: list[F], backup: list[F], hits: list[F], waited: F, beside: F, rounds: int) -> tuple[F, F]:
    """Expected tokens and time of rounds 1, ..., n from the first, which finds nothing: the chain itself."""
    laws = [accepted_length_law(np.array(one, dtype=object)).tolist() for one in (backup, alpha)]
    share, tokens, time = F(0), F(0), F(0)
    for _ in range(rounds):
        tokens += sum((n + 1) * ((1 - share) * m + share * h) for n, (m, h) in enumerate(zip(*laws, strict=True)))
        time += (1 - share) * waited + beside
        missed, hit = (sum(p * h for p, h in zip(law, hits, strict=True)) for law in laws)
        share = (1 - share) * missed + share * hit
    return tokens, time


def test_rounds_are_followed() -> None:
    alpha, backup, hits = [F(4, 5), F(1, 2)], [F(3, 5), F(1, 4)], [F(1, 2), F(9, 10), F(1, 5)]
    found = ssd(alpha, hits=hits, backup=backup, cost_ratio=F(1, 10), backup_cost=F(1, 20), verify_cost=[1, 1, F(5, 4)])
    assert isinstance(found.speedup, F)
    early, late = (followed(alpha, backup, hits, F(1, 20), F(5, 4), n) for n in (40, 41))
    assert float(late[0] - early[0]) == pytest.approx(float(found.tokens), abs=1e-12)
    assert float(late[1] - early[1]) == pytest.approx(float(found.time), abs=1e-12)
    # The mean of the law of hits over one kind of round is not the share of hits.
    mean = sum(p * h for p, h in zip(accepted_length_law(np.array(alpha, dtype=object)).tolist(), hits, strict=True))
    plain = ssd(alpha, hits=mean, backup=backup, cost_ratio=F(1, 10), backup_cost=F(1, 20), verify_cost=[1, 1, F(5, 4)])
    assert plain.speedup != found.speedup


def test_the_paper_s_ratio_and_its_ends() -> None:
    """With one chance of a hit, (pi E_h + (1 - pi) E_m) / (pi max(1, T_p) + (1 - pi)(1 + T_b)), arXiv:2603.03251."""
    pi, c, b = F(9, 10), F(1, 10), F(3, 100)
    for g in (1, 4):
        found = ssd(F(4, 5), hits=pi, gamma=g, cost_ratio=c, backup=F(1, 2), backup_cost=b)
        tau = [sum(a**i for i in range(g + 1)) for a in (F(4, 5), F(1, 2))]
        assert found.speedup == (pi * tau[0] + (1 - pi) * tau[1]) / (pi * max(1, g * c) + (1 - pi) * (1 + b))
        never = ssd(F(4, 5), hits=0, gamma=g, cost_ratio=c)
        assert never.speedup == draft_then_verify(F(4, 5), gamma=g, cost_ratio=c).speedup
        assert ssd(F(4, 5), hits=1, gamma=g, cost_ratio=c).speedup == tau[0]
    slow = ssd(F(4, 5), hits=1, gamma=4, cost_ratio=F(1, 2), interference=F(3, 2), overhead=F(1, 10))
    assert slow.time == F(3, 2) * 2 + F(1, 10)
    # Where a hit is sure after a hit and impossible after a miss, the first round decides, and it is a miss.
    assert ssd([1], hits=[0, 1], backup=[0], cost_ratio=F(1, 4)).time == F(5, 4)


def test_nothing_exceeds_the_bound() -> None:
    for a, b, h in product((F(0), F(1, 2), F(1)), repeat=3):
        found = ssd([a, a], hits=[h, F(1, 3), b], backup=[b, a], cost_ratio=F(1, 5))
        assert found.speedup <= found.bound
        assert found.check(float(found.speedup), rounding=1e-9) == ((), ())


@pytest.mark.parametrize("gamma", [1, 3, 8])
def test_the_planner_says_the_same(gamma: int) -> None:
    times = constant(0.25, verify_cost=[1 + 0.05 * m for m in range(17)], overhead=0.1)
    costs = relative_costs(times)._asdict()
    hits = [0.9, 0.8, 0.5]
    law = [*hits, *[0.5] * 14]
    model = cached_drafts(times, 0.7, hits)
    found = predict(model, 0.7, gamma=gamma)
    ours = ssd(0.7, hits=law[: gamma + 1], gamma=gamma, **costs)
    assert found.speedup.value == pytest.approx(float(ours.speedup), rel=1e-12)
    assert found.draft == pytest.approx(float(ours.time) - found.verify - 0.1)
    with_all = predict(cached_drafts(times, 0.7, 1), 0.7, gamma=gamma)
    assert with_all.cycle.value == pytest.approx(max(gamma * 0.25, 1 + 0.05 * gamma) + 0.1)


def test_a_block_in_one_pass_costs_the_same_at_every_length() -> None:
    times = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm", overhead_s=1e-3)
    flat = in_one_pass(times)
    for g, b, s in product((1, 2, 9), (1, 64), (0, 4096)):
        drafted = flat.parts(g, b, s)[0].value
        assert drafted == times.draft(b, s).value == times.parts(g, b, s)[0].value / g
    assert flat.cycle(0).value == times.cycle(0).value
    assert plan(flat, 0.8)[0].gamma > plan(times, 0.8)[0].gamma
    costs = relative_costs(flat, batch=8)
    ours = draft_then_verify(0.8, gamma=5, **costs._asdict()).speedup
    assert predict(flat, 0.8, gamma=5, batch=8).speedup.value == pytest.approx(float(ours))
    # Levels of a tree are drafted together, too: its chain is the best length of the planner.
    chain = fastest_shapes(flat, [0.8], nodes=12, depth=12).chain
    assert len(chain.parents) == plan(flat, 0.8, max_gamma=12)[0].gamma
    noisy = in_one_pass(times._replace(draft=lambda b, s: times.draft(b, s)._replace(error=1e-4)))
    assert [noisy.parts(g)[0].error for g in (1, 5)] == [1e-4, 1e-4]
    both = cached_drafts(flat, 0.8, 0.75)
    assert both.parts(5)[0].value == pytest.approx(0.25 * times.draft(1, 0).value)


def test_hits_of_a_cache_are_summed_out() -> None:
    """Over the refused draft and the token that comes instead, in rationals."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        size = int(rng.integers(2, 6))
        p, q = (np.array([F(int(w), 1) for w in rng.integers(0, 6, size)], dtype=object) + F(1, 9) for _ in range(2))
        p, q = p / p.sum(), q / q.sum()
        for fan_out in range(1, size + 1):
            found = cache_hits(p, q, fan_out=fan_out)
            order = sorted(range(size), key=lambda v: -q[v])
            refused = {x: max(q[x] - p[x], F(0)) for x in range(size)}
            total = sum(refused.values())
            if total:
                left = residual(p, q)
                guessed = {x: [v for v in order if v != x][:fan_out] for x in range(size)}
                hit = sum(refused[x] / total * sum(left[v] for v in guessed[x]) for x in range(size))
                assert found.rejected == hit
            assert found.whole == sum(p[v] for v in order[:fan_out])
    assert cache_hits([0.5, 0.5], [0.5, 0.5], fan_out=1).rejected == 0
    rows = cache_hits([[0.5, 0.5]] * 3, [0.25, 0.75], fan_out=1)
    assert rows.whole.shape == rows.rejected.shape == (3,)


BAD: list[tuple[Any, str]] = [
    (lambda: ssd(0.8, hits=1.2, gamma=2), r"^hits is 1\.2; it must lie in \[0, 1\]$"),
    (
        lambda: ssd(0.8, hits=[0.5, 0.5], gamma=2),
        r"^hits must be a number or 3, one for each number kept, got shape \(2,\)$",
    ),
    (lambda: ssd(0.8, hits=0.5, gamma=2, backup=[0.5]), r"^backup must be a number or 2 hazards, got shape \(1,\)$"),
    (lambda: ssd(0.8, hits=0.5, gamma=2, interference=0.5), r"^interference is 0\.5; it must lie in \[1, inf\)$"),
    (lambda: ssd([[0.8]], hits=0.5), r"^alpha must be a number or one hazard curve, got shape \(1, 1\)$"),
    (lambda: cached_drafts(constant(0.1), 0.8, [[0.9]]), r"^hits must be a number or one row of them"),
    (lambda: cached_drafts(constant(0.1), 0.8, -0.1), r"^hits is -0\.1; it must lie in \[0, 1\]$"),
    (lambda: cache_hits([1.0], [1.0], fan_out=0), r"^fan_out must be at least 1, got 0$"),
    (lambda: fastest_shapes(cached_drafts(constant(0.1), 0.8, 0.9), [0.8]), r"only chains of such drafts are planned"),
    (lambda: relative_costs(cached_drafts(constant(0.1), 0.8, 0.9)), r"what they add is no number of draft steps$"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
