"""Optima known to an error only, many drafts of a peaked law without replacement: the value is an upper bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from specsim import optimum
from specsim.bounds.schemes import without_replacement

Array = Any


def optimum_by_arrivals(p: Array, q: Array, num_drafts: int) -> float:
    """The least of 1 + p(H) - Pr[all drafts in H] over the prefixes H by p/q: token i arrives at rate q_i, and H holds
    all K drafts if K of its own come before the first of the others, at time T: a sum over fine steps of log T, and
    over which of H have come by then, one token at a time."""
    order = np.argsort(p / q)
    p, q = p[order], q[order]
    step = 0.02
    time = np.exp(np.arange(-10, 235, step))
    come = np.zeros((len(time), num_drafts + 1))  # probability that so many of H have come; the last: that many or more
    come[:, 0] = 1
    best = 1.0
    for i in range(len(q) - 1):
        later, here = np.exp(-q[i] * time), -np.expm1(-q[i] * time)
        moved = come * here[:, None]
        come *= later[:, None]
        come[:, -1] += moved[:, -1]
        come[:, 1:] += moved[:, :-1]
        outside = q[i + 1 :].sum()
        first = outside * time * np.exp(-outside * time) * step
        best = min(best, 1 + p[: i + 1].sum() - float(come[:, -1] @ first))
    return best


@pytest.mark.parametrize(
    ("vocab", "smallest", "num_drafts"),
    [(200, -100, 60), (40, -25, 20), (12, -2, 4)],
)
@pytest.mark.parametrize("step", [None, 0.7])
def test_an_upper_bound_is_above_the_optimum(
    vocab: int, smallest: float, num_drafts: int, step: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The value, not its status alone: never below the optimum, and above it by twice the error at most."""
    if step is not None:  # too few times to sum over, as where K is large: the plain sum is too low, too
        monkeypatch.setattr(without_replacement, "widest_step", lambda *_: step)
    q = np.logspace(0, smallest, vocab)
    p, q = np.full(vocab, 1 / vocab), q / q.sum()
    best = optimum(p, q, num_drafts=num_drafts, scheme="without_replacement")
    truth = optimum_by_arrivals(p, q, num_drafts)
    assert (best.status == "upper bound") == (best.error > 1e-9)
    assert -1e-12 < best.value - truth <= 2 * best.error + 1e-12
    if step is not None and vocab < 200:  # so the sum by itself would fail here
        assert best.value - best.error < truth - 1e-9


def test_an_uncertain_value_is_an_upper_bound() -> None:
    """Many drafts of a law from 1 to 1e-100: the sum over times is known to a few per cent, and says so."""
    q = np.logspace(0, -100, 200)
    best = optimum(np.full(200, 1 / 200), q / q.sum(), num_drafts=60, scheme="without_replacement")
    assert best.status == "upper bound"
    assert best.error > 1e-3
    sure = optimum(np.full(200, 1 / 200), q / q.sum(), num_drafts=4, scheme="without_replacement")
    assert (sure.status, bool(sure.error < 1e-12)) == ("optimal", True)
