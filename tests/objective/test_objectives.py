"""What objectives are worth, which way they push, and what they refuse."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import specsim
from specsim import discover
from specsim.checks.log_numbers import NoValue, Number, gradient, log_softmax, numbers
from specsim.objective import loss

P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])


def rows(count: int, vocab: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(vocab), count), rng.dirichlet(np.ones(vocab), count)


def slope(name: str, p: Any, q: Any, **params: Any) -> Any:
    return discover.with_params(discover.find("objective", name), params).gradient(p, np.log(q))


def test_the_distance_is_what_acceptance_lacks() -> None:
    for p, q in zip(*rows(5, 7, 0), strict=True):
        assert loss("tvd", p, np.log(q)) == pytest.approx(1 - specsim.acceptance_rate(p, q))


def test_divergences_are_what_they_are_called() -> None:
    forward, reverse = (float((a * np.log(a / b)).sum()) for a, b in ((P, Q), (Q, P)))
    assert loss("fkl", P, np.log(Q)) == pytest.approx(forward)
    assert loss("rkl", P, np.log(Q)) == pytest.approx(reverse)
    assert loss("cross_entropy", P, np.log(Q)) == pytest.approx(forward - (P * np.log(P)).sum())
    assert loss("cross_entropy", P, np.log(Q), 2) == pytest.approx(-math.log(0.6))
    mixed = (P + Q) / 2
    assert loss("jsd", P, np.log(Q)) == pytest.approx(sum(0.5 * (w * np.log(w / mixed)).sum() for w in (P, Q)))


def test_the_mixture_tends_to_both() -> None:
    small = 1e-6
    assert loss("jsd", P, np.log(Q), params={"beta": small}) / small == pytest.approx(
        loss("fkl", P, np.log(Q)), rel=1e-4
    )
    assert loss("jsd", P, np.log(Q), params={"beta": 1 - small}) / small == pytest.approx(
        loss("rkl", P, np.log(Q)), rel=1e-4
    )


def test_exact_tvdpp_points_where_tvd_does() -> None:
    """Gradient cosine 1, on any batch; the ratio is one over the deviation."""
    for seed in range(4):
        p, q = rows(6, 5, seed)
        one, other = slope("tvd", p, q).ravel(), slope("tvdpp", p, q).ravel()
        assert one @ other / np.sqrt((one @ one) * (other @ other)) == pytest.approx(1, abs=1e-12)
        chance = np.where(p > q, q, 0).sum(-1).mean()
        assert np.linalg.norm(other) / np.linalg.norm(one) == pytest.approx(1 / math.sqrt(chance * (1 - chance)))


def test_rows_weigh_what_their_company_makes_of_them() -> None:
    """T35, part 5, with four rows: the expected gradient of each is a positive multiple of that of its own distance."""
    (p, q), count = rows(4, 3, 8), 4
    total = np.zeros((count, 3))
    for tokens in itertools.product(range(3), repeat=count):
        x = np.array(tokens)
        chance, said = math.prod(q[np.arange(count), x]), np.log(q[np.arange(count), x])
        reward = -loss("tvdpp_sampled", p, np.log(q), x) / said
        total -= chance * reward[:, None] * (np.eye(3)[x] - q)
    own = slope("tvd", p, q)
    weight = (total * own).sum(-1) / (own * own).sum(-1)
    assert np.allclose(total, weight[:, None] * own)
    assert (weight > 0).all()
    assert weight.max() / weight.min() > 1.03, "a bias among rows"


def test_one_row_alone_has_no_company() -> None:
    assert loss("tvdpp_sampled", P, np.log(Q), 0) == 0
    assert loss("tvdpp", P, np.log(Q)) == pytest.approx(0.4 / 0.3)


def test_a_target_with_zeros_is_finite_but_for_what_must_not_be() -> None:
    p, q = np.array([0.0, 1.0, 0.0]), np.array([0.25, 0.25, 0.5])
    assert loss("fkl", p, np.log(q)) == pytest.approx(math.log(4))
    assert 100 < loss("rkl", p, np.log(q)) < 1000, "the smallest normal number stands for 0"
    with np.errstate(divide="ignore"):
        never = np.log(np.array([1.0, 0.0, 0.0]))
    assert loss("fkl", p, never) == math.inf
    assert loss("tvd", p, never) == 1
    assert loss("jsd", p, never) == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: loss("tvdd", P, np.log(Q)), "^objective 'tvdd' is unknown; did you mean 'tvd'[?] objectives: "),
        (lambda: loss("tvd_sampled", P, np.log(Q)), "^objective 'tvd_sampled' is sampled: it needs tokens"),
        (lambda: loss("tvdpp_sampled", P, np.log(Q)), "^objective 'tvdpp_sampled' is sampled: it needs tokens"),
        (lambda: loss("tvd_sampled", P, np.log(Q), 3), "^tokens is token 3, outside the vocabulary"),
        (lambda: loss("tvd_sampled", [P], np.log([Q]), 0), r"^tokens have shape \(\); rows are \(1,\)$"),
        (lambda: loss("jsd", P, np.log(Q), params={"beta": 1}), r"^beta is 1; it must lie in \(0, 1\)$"),
        (lambda: loss("jsd", P, np.log(Q), params={"b": 1}), "^objective 'jsd' has no parameter 'b'; known: beta$"),
        (lambda: loss("tvd", P, Q), r"^exp\(log_q\) sums to"),
        (lambda: loss("tvd", P, np.log(Q[:2] / Q[:2].sum())), "^p has 3 tokens and log_q has 2: the vocabularies "),
        (lambda: loss("static", P, np.log(Q)), "^objective 'static' is unknown"),
    ],
)  # fmt: skip
def test_bad_input_ends_in_one_line(call: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


def test_exact_numbers_keep_logarithms() -> None:
    six, two, three = (Number.of(n).log() for n in (6, 2, 3))
    assert six == two + three
    assert six - two - three == 0
    assert two.exp() == 2
    assert (2 * two).exp() == 4
    assert Number.of(Fraction(4, 9)).sqrt() == Fraction(2, 3)
    assert (6 / Number.of(4)) == Fraction(3, 2)
    calls: list[Callable[[], Any]] = [
        lambda: two * three,
        lambda: Number.of(2).sqrt(),
        lambda: Number.of(0.5),
        lambda: (two / 2).exp(),
    ]
    for wrong in calls:
        with pytest.raises(NoValue):
            wrong()


def test_their_gradients_are_those_of_softmax() -> None:
    q = [[Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]]
    z = log_softmax(q)
    mass = gradient(np.exp(z)[0, 1], (1, 3))
    assert mass.ravel().tolist() == [Fraction(1, 3) * (int(y == 1) - q[0][y]) for y in range(3)]
    square = gradient((np.exp(z) * np.exp(z))[0, 0], (1, 3))
    assert square[0, 0] == 2 * Fraction(1, 6) * Fraction(1, 6) * Fraction(5, 6)
    inverse = gradient((1 / np.exp(z))[0, 0], (1, 3))
    assert inverse[0, 0] == -6 * Fraction(5, 6)
    assert all(slope == 0 for slope in gradient(numbers([3])[0], (1, 3)).ravel())
