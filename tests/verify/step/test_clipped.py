"""The clipped ratio: its output is the closest that accepts as often, in every divergence; theorem T44."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from specsim import acceptance_rate, guarantee, nearest_output, output_law, total_variation
from specsim.laws.divergences import DIVERGENCES, divergence_of
from specsim.testing.cases import random_laws
from specsim.verify.step import clipped

EPSILONS = (Fraction(1), Fraction(9, 10), Fraction(1, 3), Fraction(1, 100))
PAIRS = [*zip(*random_laws(5, 24, seed=44), strict=True)]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_output_is_the_nearest_with_that_acceptance(epsilon: Fraction) -> None:
    """In rationals: the law, and its acceptance, that of lenience."""
    for p, q in PAIRS:
        options = {"rule": "clipped", "params": {"epsilon": epsilon}}
        accepted = acceptance_rate(p, q, **options)
        assert accepted == acceptance_rate(p, q, rule="lenience", params={"epsilon": epsilon})
        near = nearest_output(p, q, acceptance=np.array(accepted))
        law = output_law(p, q, **options)
        assert (law == near.output).all()
        assert clipped.bias(clipped.prepare(p, q, 1, epsilon)) == total_variation(law, p)


def test_lenience_is_as_far_in_total_variation_and_farther_in_the_others() -> None:
    farther = dict.fromkeys(DIVERGENCES, 0)
    for p, q in PAIRS:
        laws = [
            output_law(p, q, rule=rule, params={"epsilon": Fraction(1, 3)}).astype(float)
            for rule in ("clipped", "lenience")
        ]
        for name in DIVERGENCES:
            ours, theirs = (divergence_of(law, p.astype(float), name) for law in laws)
            assert ours <= theirs + 1e-12
            farther[name] += bool(theirs > ours + 1e-6)
    assert farther["tv"] == 0
    assert min(farther[name] for name in ("kl", "reverse_kl", "chi2")) > 8


def test_with_an_epsilon_of_one_it_is_rejection() -> None:
    for p, q in PAIRS:
        assert (output_law(p, q, rule="clipped", params={"epsilon": 1}) == p).all()


def test_the_sampler_draws_the_law() -> None:
    """A refused draft goes to the token of the lowest ratio first, in rationals."""
    p, q = (np.array([Fraction(w, 10) for w in row]) for row in ((4, 4, 2), (1, 2, 7)))
    # Keeps 4/7 of the drafts 2 and all others; 3/10 is refused, and fills token 0 to 3/10, token 1 to 3/10.
    plan = clipped.prepare(p, q, 1, Fraction(1, 2))
    assert plan.replacement.tolist() == [Fraction(2, 3), Fraction(1, 3), 0]
    for draft, u, second, token in ((2, 0.57, 0, 2), (2, 0.58, 0.66, 0), (2, 0.58, 0.67, 1), (0, 0.99, 0.99, 0)):
        assert int(clipped.verify(plan, np.array([draft]), np.array([Fraction(u), Fraction(second)]))) == token


def test_it_is_lossless_for_one_hot_targets_only() -> None:
    assert not guarantee("clipped").lossless
    assert guarantee("clipped", temperature=0).lossless


@pytest.mark.parametrize("epsilon", [0, -1, 1.5, float("nan")])
def test_a_bad_epsilon_ends_in_one_line(epsilon: float) -> None:
    with pytest.raises(ValueError, match=r"^epsilon is .*; it must lie in \[1e-6, 1\]$"):
        acceptance_rate([0.5, 0.5], [0.1, 0.9], rule="clipped", params={"epsilon": epsilon})
