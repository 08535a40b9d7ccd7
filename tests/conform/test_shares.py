"""How far a share of an event may be from its expectation."""

from __future__ import annotations

import pytest

from specsim.conform.evidence import shares


@pytest.mark.parametrize("runs", [100, 1000])
@pytest.mark.parametrize("expected", [0.002, 0.1, 0.5])
def test_shares_raise_as_few_alarms_as_is_said(expected: float, runs: int) -> None:
    """Exactly, by the binomial tails: not more than half of the rate on each side, and not 10,000 times less."""
    from math import comb

    delta = 1e-4
    limit = shares.nats(1, delta)
    tails = [0.0, 0.0]
    for seen in range(runs + 1):
        if shares.excess(shares.Share("", seen / runs, expected), runs, 0.0) > limit:
            chance = comb(runs, seen) * expected**seen * (1 - expected) ** (runs - seen)
            tails[seen / runs > expected] += chance
    assert max(tails) <= delta / 2
    assert sum(tails) > delta / 1e4


def test_rounding_explains_what_it_can() -> None:
    share = shares.Share("", 0.52, 0.5)
    assert shares.excess(share, 10_000, 0.0) > 0 == shares.excess(share, 10_000, 0.02)
    assert 0.02 < shares.seen_from(0.5, 10_000, 25.0) < 0.05
    assert shares.seen_from(0.5, 10, 25.0) == 1.0
