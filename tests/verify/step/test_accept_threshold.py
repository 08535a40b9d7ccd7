"""Acceptance thresholds (T51): the law is that of the kernel, the bias that of a forced draft."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import specsim
from specsim.testing.cases import random_laws
from specsim.types import Array, LossyStepRule
from specsim.verify.step import accept_threshold

RULE: LossyStepRule = accept_threshold
THRESHOLDS = [(Fraction(a, 4), Fraction(b, 4)) for a in range(5) for b in range(1, 5)]


def kernel(p: Array, draft: int, coin: Any, final: Any, single: Any, acc: Any) -> int:
    """One draft in SGLang's kernel: coins on [0, 1), of which 0 is left out."""
    if coin <= p[draft] / max(acc, Fraction(1, 10**9)) or p[draft] >= single:
        return draft
    rest = [mass if v != draft else 0 * mass for v, mass in enumerate(p)]
    level, below = final * sum(rest), 0 * final
    for v, mass in enumerate(rest):
        below = below + mass
        if below > level:
            return v
    raise AssertionError("no token is left")


def test_the_sampler_is_the_kernel() -> None:
    rng = np.random.default_rng(51)
    for p, q in zip(*random_laws(4, 40, seed=51), strict=True):
        for single, acc in THRESHOLDS:
            plan = accept_threshold.prepare(p, q, 1, single, acc)
            for draft in range(4):
                # Odd over a power of two: never a boundary of these laws.
                coins = [Fraction(2 * int(k) + 1, 2**20) for k in rng.integers(0, 2**19, 2)]
                token = accept_threshold.verify(plan, np.array([draft]), np.array(coins))
                assert int(token) == kernel(p, draft, *coins, single, acc)


def test_the_parts_of_the_theorem() -> None:
    for p, q in zip(*random_laws(4, 20, seed=52), strict=True):
        rates = {}
        for single, acc in THRESHOLDS:
            params = {"threshold_single": single, "threshold_acc": acc}
            kept = [Fraction(1) if a >= single else min(Fraction(1), a / acc) for a in p]
            # 1 and 2: forced with g, else drawn from p.
            forced = [b * (k - a) / (1 - a) if a < 1 else b * (k == 1) for a, b, k in zip(p, q, kept, strict=True)]
            law = [f + (1 - sum(forced)) * a for f, a in zip(forced, p, strict=True)]
            plan = accept_threshold.prepare(p, q, 1, single, acc)
            assert specsim.output_law(p, q, rule="accept_threshold", params=params).tolist() == law
            assert accept_threshold.bias(plan) == specsim.total_variation(law, p) <= sum(forced)
            # 4: the acceptance, and the bound by one-hot drafts.
            rates[single, acc] = specsim.acceptance_rate(p, q, rule="accept_threshold", params=params)
            assert rates[single, acc] == sum(b * k for b, k in zip(q, kept, strict=True))
            assert accept_threshold.bias(plan) <= sum(b * (k - a) for a, b, k in zip(p, q, kept, strict=True))
        # 3 and 5.
        assert accept_threshold.bias(accept_threshold.prepare(p, q, 1, 1, 1)) == 0
        for low, high in ((one, two) for one in THRESHOLDS for two in THRESHOLDS):
            if low[0] <= high[0] and low[1] <= high[1]:
                assert rates[low] >= rates[high]


def test_with_one_draft_chosen_it_pays_the_least() -> None:
    """4, as the line of T33 has it."""
    for p, _ in zip(*random_laws(4, 20, seed=53), strict=True):
        for x in range(4):
            q = np.array([Fraction(v == x) for v in range(4)])
            plan = accept_threshold.prepare(p, q, 1, Fraction(1, 2), Fraction(1, 3))
            assert accept_threshold.bias(plan) == accept_threshold.acceptance(plan) - p[x]


def test_it_is_lossless_where_both_are_one_and_for_one_hot_targets() -> None:
    assert not specsim.guarantee("accept_threshold").lossless
    assert specsim.guarantee("accept_threshold", temperature=0).lossless
    for p, q in zip(*random_laws(3, 20, seed=54), strict=True):
        params = {"threshold_single": 1, "threshold_acc": 1}
        assert (specsim.output_law(p, q, rule="accept_threshold", params=params) == p).all()


def test_a_threshold_of_zero_divides_by_a_little() -> None:
    p, q = np.array([0.0, 1e-10, 1 - 1e-10]), np.array([0.5, 0.5, 0.0])
    plan = accept_threshold.prepare(p, q, 1, 1, 0)
    assert plan.accepted.tolist() == [0.0, pytest.approx(0.1), 1.0]
    assert accept_threshold.prepare(p, q, 1, 0, 1).accepted.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("name", ["threshold_single", "threshold_acc"])
def test_a_bad_threshold_ends_in_one_line(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} is 1.5; it must lie in \[0, 1\]$"):
        specsim.acceptance_rate([0.5, 0.5], [0.1, 0.9], rule="accept_threshold", params={name: 1.5})
