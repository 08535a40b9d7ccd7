"""The best draft temperature against a fine grid; never worse than temperature 1."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from specsim import best_draft_temperature, optimal_acceptance
from specsim.bounds import temperature

Array = Any


def softmax(logits: Array) -> Array:
    w = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return w / w.sum(axis=-1, keepdims=True)


def pairs(spread: float, noise: float, rows: int = 6, vocab: int = 40) -> tuple[Array, Array]:
    """Laws of logits that share a part of this spread and differ by this noise."""
    rng = np.random.default_rng(int(10 * spread + noise))
    shared = spread * rng.standard_normal((rows, vocab))
    return softmax(shared + noise * rng.standard_normal((rows, vocab))), softmax(
        shared + noise * rng.standard_normal((rows, vocab))
    )


def mean_at(p: Array, q: Array, t: float, num_drafts: int, scheme: str) -> float:
    draft = softmax(np.log(q) / t)
    return float(optimal_acceptance(p, draft, num_drafts=num_drafts, scheme=scheme).mean())


CASES = [(3, 0.5), (1, 2), (6, 0.5), (0.2, 0.2)]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("scheme", ["iid", "distinct", "without_replacement", "greedy"])
def test_is_the_best_of_a_fine_grid(case: tuple[float, float], scheme: str) -> None:
    p, q = pairs(*case)
    best = best_draft_temperature((p, q), num_drafts=2, scheme=scheme)
    grid = np.exp(np.linspace(np.log(1 / 8), np.log(8), 200))
    values = [mean_at(p, q, t, 2, scheme) for t in grid]
    assert best.value >= max(values) - 1e-5
    assert best.value == pytest.approx(mean_at(p, q, best.temperature, 2, scheme), abs=1e-12)
    assert best.at_one == optimal_acceptance(p, q, num_drafts=2, scheme=scheme).mean() <= best.value
    assert (np.diff(best.curve[:, 0]) > 0).all()
    assert best.curve[:, 1].max() == best.value
    assert [best.temperature, best.value] in best.curve.tolist()
    assert [1.0, best.at_one] in best.curve.tolist()


def test_a_noisy_pair_wants_a_flatter_draft_and_a_peaked_target_a_sharper_one() -> None:
    p, q = pairs(1, 2)
    noisy = best_draft_temperature((p, q), num_drafts=2, scheme="iid")
    assert noisy.temperature > 1.1
    assert noisy.value > noisy.at_one + 0.01
    shared = np.random.default_rng(0).standard_normal((6, 40))
    sharp = best_draft_temperature((softmax(4 * shared), softmax(shared)), num_drafts=1, scheme="iid")
    assert sharp.temperature == pytest.approx(1 / 4, abs=2e-3)  # q^4 is p
    assert sharp.value == pytest.approx(1, abs=1e-3)


def test_powers_the_wrong_way_round_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A negative control: q^T instead of q^(1/T)."""
    right = temperature.apply
    monkeypatch.setattr(temperature, "apply", lambda x, **k: right(x, **{**k, "temperature": 1 / k["temperature"]}))
    p, q = pairs(1, 2)
    best = best_draft_temperature((p, q), num_drafts=2, scheme="iid")
    assert best.value != pytest.approx(mean_at(p, q, best.temperature, 2, "iid"), abs=1e-3)


def test_what_temperature_cannot_change() -> None:
    """One-hot and uniform drafts are the same at every temperature; p = q needs none."""
    law, spread = np.array([0.5, 0.3, 0.2]), np.full(3, 1 / 3)
    for p, q in ((law, np.eye(3)[1]), (law, spread), (law, law), (np.eye(3)[0], np.eye(3)[1])):
        best = best_draft_temperature((p, q), num_drafts=1, scheme="iid")
        assert best.value == pytest.approx(best.at_one, abs=1e-12)
        assert best.temperature == pytest.approx(1, abs=1e-6)


def test_refusals() -> None:
    law = [0.5, 0.5]
    with pytest.raises(ValueError, match=r"^rows must be a tuple \(p, q\) of target and draft laws$"):
        best_draft_temperature([law], num_drafts=2, scheme="iid")
    with pytest.raises(ValueError, match=r"^q sums to 0\.9; "):
        best_draft_temperature((law, [0.5, 0.4]), num_drafts=2, scheme="iid")
    with pytest.raises(TypeError, match=r"^rows hold Fractions, whose powers are irrational; give floats$"):
        best_draft_temperature(([Fraction(1)], [Fraction(1)]), num_drafts=2, scheme="iid")
    with pytest.raises(ValueError, match=r"^num_drafts must be at least 1, got 0$"):
        best_draft_temperature((law, law), num_drafts=0, scheme="iid")
