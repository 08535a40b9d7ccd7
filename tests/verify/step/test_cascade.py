"""Speculative cascades (T53): six deferral rules by their formulas, and which of them pay no more than they must."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import specsim
from specsim.testing.cases import random_laws
from specsim.types import Array, LossyStepRule
from specsim.verify.step import cascade

RULE: LossyStepRule = cascade
ROWS, TOKENS = ("chow", "diff", "opt"), ("token_v1", "token_v2", "token_v3")
ALPHAS = [Fraction(n, 10) for n in (-2, 0, 1, 3, 6, 10)]


def deferred(p: Array, q: Array, deferral: str, alpha: Fraction) -> list[bool]:
    """r of each token, as the paper's equations have it."""
    distance = sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
    row = {
        "chow": max(q) < 1 - alpha,
        "diff": max(q) < max(p) - alpha,
        "opt": max(q) < max(p) - alpha * distance,
    }
    if deferral in row:
        return [row[deferral]] * len(p)
    return [
        {"token_v1": b < max(p) - alpha, "token_v2": a < max(p) - alpha, "token_v3": a < max(p) * (1 - alpha)}[deferral]
        for a, b in zip(p, q, strict=True)
    ]


@pytest.mark.parametrize("deferral", [*ROWS, *TOKENS])
def test_the_parts_of_the_theorem(deferral: str) -> None:
    off_the_line = 0
    for p, q in zip(*random_laws(4, 30, seed=53), strict=True):
        for alpha in ALPHAS:
            params = {"deferral": deferral, "alpha": alpha}
            r = deferred(p, q, deferral, alpha)
            eta = sum(b for b, yes in zip(q, r, strict=True) if yes)
            pi = [b * (not yes) + a * eta for a, b, yes in zip(p, q, r, strict=True)]
            plan = cascade.prepare(p, q, 1, **params)
            # 1.
            assert specsim.output_law(p, q, rule="cascade", params=params).tolist() == pi
            rate = specsim.acceptance_rate(p, q, rule="cascade", params=params)
            assert rate == sum(map(min, pi, q))
            assert cascade.bias(plan) == specsim.total_variation(pi, p)
            # 2 and 3.
            above = sum(max(c - max(a, b), 0) + max(min(a, b) - c, 0) for a, b, c in zip(p, q, pi, strict=True))
            assert cascade.bias(plan) - (rate - sum(map(min, p, q))) == above
            off_the_line += above > 0
    assert (off_the_line > 0) == (deferral in TOKENS)


@pytest.mark.parametrize("deferral", ["token_v2", "token_v3"])
def test_a_token_rule_can_be_worse_than_rejection_in_both(deferral: str) -> None:
    """4: the smallest case."""
    p, q = (np.array([Fraction(n, 3) for n in row]) for row in ((2, 1), (1, 2)))
    params = {"deferral": deferral, "alpha": Fraction(1, 5)}
    assert specsim.output_law(p, q, rule="cascade", params=params).tolist() == [Fraction(7, 9), Fraction(2, 9)]
    assert specsim.acceptance_rate(p, q, rule="cascade", params=params) == Fraction(5, 9)
    assert specsim.acceptance_rate(p, q) == Fraction(2, 3)
    assert cascade.bias(cascade.prepare(p, q, 1, **params)) == Fraction(1, 9)


def test_at_temperature_zero_a_sure_draft_is_kept() -> None:
    p, q = np.array([Fraction(1), Fraction(0)]), np.array([Fraction(0), Fraction(1)])
    for deferral in ("chow", "diff", "opt"):
        assert specsim.output_law(p, q, rule="cascade", params={"deferral": deferral}).tolist() == [0, 1]
    assert not specsim.guarantee("cascade").lossless
    assert not specsim.guarantee("cascade", temperature=0).lossless


def test_bad_parameters_end_in_one_line() -> None:
    with pytest.raises(ValueError, match=r"^deferral 'token_v4' is unknown; did you mean 'token_v3'\? known: chow, "):
        specsim.acceptance_rate([0.5, 0.5], [0.1, 0.9], rule="cascade", params={"deferral": "token_v4"})
    with pytest.raises(ValueError, match=r"^alpha is 2; it must lie in \[-1, 1\]$"):
        specsim.acceptance_rate([0.5, 0.5], [0.1, 0.9], rule="cascade", params={"alpha": 2})


@pytest.mark.parametrize(
    ("deferral", "p", "q", "alpha"),
    [
        ("chow", (3, 1), (1, 3), Fraction(1, 4)),
        ("diff", (3, 1), (2, 2), Fraction(1, 4)),
        ("opt", (3, 1), (2, 2), Fraction(1)),
        ("token_v1", (3, 1), (2, 2), Fraction(1, 4)),
        ("token_v2", (3, 1), (2, 2), Fraction(1, 2)),
        ("token_v3", (2, 1), (1, 2), Fraction(1, 2)),
    ],
)
def test_at_equality_the_drafts_law_is_kept(
    deferral: str, p: tuple[int, int], q: tuple[int, int], alpha: Fraction
) -> None:
    """Both sides of the rule's inequality are equal, for the row or for its second token: nothing is deferred."""
    target, draft = (np.array([Fraction(weight, sum(weights)) for weight in weights]) for weights in (p, q))
    assert (cascade.prepare(target, draft, deferral=deferral, alpha=alpha).pi == draft).all()
    # With a little less allowed it is deferred.
    less = alpha - Fraction(1, 100)
    assert (cascade.prepare(target, draft, deferral=deferral, alpha=less).pi != draft).any()
