"""One record of acceptance: whatever it is made from, tau, hazards and intervals are those of the formulas."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from specsim import HazardEstimate, block_efficiency, estimate_hazards, latency, pool_texts, predict, renewal
from specsim.base.arrays import at
from specsim.base.limits import MAX_GAMMA
from specsim.lengths.acceptance_record import Acceptance, as_acceptance, from_histogram, from_rows
from specsim.lengths.blocks import text_survival
from specsim.verify.chain import tokenwise

COUNTED = estimate_hazards([0, 1, 2, 3], 3, counts=[40, 30, 10, 20])
CURVE = [0.9, 0.5, 0.25]
GIVEN: list[tuple[str, Any, int | None, list[float]]] = [
    ("number", 0.75, None, [0.75] * 3),
    ("array", np.array(0.75), None, [0.75] * 3),
    ("rational", Fraction(3, 4), None, [0.75] * 3),
    ("curve", CURVE, 3, CURVE),
    ("log", COUNTED, 3, COUNTED.hazards.tolist()),
    ("function", lambda gamma: CURVE[:gamma], None, CURVE),
    ("function of logs", lambda gamma: COUNTED, None, COUNTED.hazards.tolist()),
    ("record", as_acceptance(CURVE), 3, CURVE),
]


@pytest.mark.parametrize(("given", "longest", "hazards"), [g[1:] for g in GIVEN], ids=[g[0] for g in GIVEN])
def test_every_form_says_the_same(given: Any, longest: int | None, hazards: list[float]) -> None:
    kept = as_acceptance(given)
    assert kept.longest == longest
    assert kept.most(2) == 2
    assert kept.most(8) == (longest or 8)
    for gamma in range(4):
        assert kept.hazards(gamma) == pytest.approx(hazards[:gamma])
        mean, error = kept.tau(gamma)
        assert mean == pytest.approx(float(block_efficiency(hazards[:gamma])))
        counted = kept.counted(gamma) if gamma else None
        assert error == (COUNTED.tau(gamma, wary=True)[1] if isinstance(counted, HazardEstimate) else 0)
        low, high = kept.interval(gamma, 0.95)
        assert (low, high) == (
            max(1, mean - 1.959963984540054 * error),
            min(gamma + 1, mean + 1.959963984540054 * error),
        )
        found = predict(latency.constant(0.1), given, gamma=gamma)
        assert (found.tau.value, found.tau.low, found.tau.high) == pytest.approx((mean, low, high))
        assert found.assumptions[0] == kept.words


def test_intervals_are_cut_at_what_is_possible() -> None:
    few, most = (as_acceptance(estimate_hazards([0] * lost + [1] * kept, 1)) for lost, kept in ((9, 1), (1, 9)))
    assert few.interval(1, 0.99)[0] == 1
    assert most.interval(1, 0.99)[1] == 2
    assert 1 < few.interval(1, 0.5)[0] < most.interval(1, 0.5)[1] < 2


def test_no_drafts_have_no_error() -> None:
    """A pooled estimate has one error, that of its full length: plain decoding still has none."""
    pooled = pool_texts([[9, 5], [7, 2]], [[10, 9], [10, 7]])
    assert as_acceptance(lambda gamma: pooled).tau(0) == (1.0, 0.0)
    assert as_acceptance(pooled).tau(0) == (1.0, 0.0)
    assert as_acceptance(pooled).tau(2)[1] > 0


def test_a_histogram_and_rows() -> None:
    assert from_histogram(range(4), 3, [40, 30, 10, 20]).hazards(3) == COUNTED.hazards.tolist()
    p = np.array([[0.5, 0.5], [0.25, 0.75]])
    q = np.array([[0.75, 0.25], [0.25, 0.75]])
    assert from_rows(p, q).hazards(2) == [0.875, 0.875]  # the mean over positions
    assert from_rows(p, q, np.array([1, 1])).hazards(1) == [0.5]  # the block at the last token is cut by the end
    with pytest.raises(ValueError, match=r"^mine: token 0 has probability 0 under the target"):
        from_rows(np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]]), np.array([1]), source="mine")


def test_rows_of_several_texts() -> None:
    """Pooled with an error that is that of a sample of texts; what is said of it depends on how many there are."""
    rng = np.random.default_rng(3)
    p, q = rng.dirichlet(np.ones(3), (2, 60))
    y = rng.integers(3, size=60)
    for count, said in ((1, "of one text, so its"), (2, "so few that"), (9, "so few that"), (10, "sample of texts")):
        sizes = [60 // count] * (count - 1)
        kept = from_rows(p, q, y, [*sizes, 60 - sum(sizes)])
        assert (said in kept.words, "so few" in kept.words) == (True, 1 < count < 10)
        texts = [
            renewal(text_survival(tokenwise.survival, r, 2)) for r in np.split(at(q, y) / at(p, y), np.cumsum(sizes))
        ]
        tried = np.array([text.tried for text in texts])
        hazards = np.array([text.hazards for text in texts]) * tried
        assert kept.hazards(2) == pytest.approx(hazards.sum(axis=0) / tried.sum(axis=0))
        assert kept.tau(2).error == (0 if count == 1 else pytest.approx(pool_texts(hazards, tried).tau_error))
    assert from_rows(p[:4], q[:4], y[:4], [2, 2]).hazards(3)[1:] == [0, 0]  # no text is so long that a block tries them


BAD: list[tuple[Callable[[Acceptance], Any], Any, str]] = [
    (lambda kept: kept, 1.5, r"^acceptance is 1\.5; it must lie in \[0, 1\]$"),
    (lambda kept: kept, [0.5, -1], r"^acceptance\[1\] is -1\.0; "),
    (lambda kept: kept, [[0.5]], r"^acceptance has shape \(1, 1\); give a number, or one curve of hazards$"),
    (lambda kept: kept.hazards(4), CURVE, r"^acceptance has shape \(3,\); a curve needs 4 hazards for gamma = 4$"),
    (lambda kept: kept.hazards(4), COUNTED, r"^gamma is 4, but no block came to test a draft beyond position 3$"),
    (lambda kept: kept.tau(-1), 0.5, r"^gamma must be at least 0, got -1$"),
    (lambda kept: kept.tau(10**9), 0.5, rf"^gamma is 1000000000; the largest that is sensible is {MAX_GAMMA}$"),
    (lambda kept: kept.most(10**9), 0.5, rf"^max_gamma is 1000000000; the largest that is sensible is {MAX_GAMMA}$"),
]


@pytest.mark.parametrize(("call", "given", "message"), BAD, ids=[m for _, _, m in BAD])
def test_bad_input(call: Callable[[Acceptance], Any], given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(as_acceptance(given))
    with pytest.raises(TypeError):
        as_acceptance(True)
