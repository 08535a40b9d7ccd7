"""A judge: a set of tokens for each context that pass, beside the standard test; theorem T33."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import specsim
from specsim import acceptance_rate, guarantee, output_law, top_k_law, total_variation, verify_step
from specsim.testing.cases import random_laws
from specsim.verify.lookup import chain_rule
from specsim.verify.step import judge

P, Q = (np.array([Fraction(w, 10) for w in row], dtype=object) for row in ((5, 3, 2), (1, 3, 6)))


def told(judged: Any) -> dict[str, Any]:
    return {"rule": "judge", "params": {"judged": judged}}


def test_the_law_is_that_of_the_definition() -> None:
    """Every set on every pair: what passes is kept, else min(p, q); what is refused comes from (p - q)+."""
    sets = np.array(list(np.ndindex(2, 2, 2, 2)), dtype=bool)
    for p, q in zip(*random_laws(4, 12, seed=5), strict=True):
        left = [max(a - b, 0) for a, b in zip(p, q, strict=True)]
        for judged in sets:
            kept = [b if j else min(a, b) for a, b, j in zip(p, q, judged, strict=True)]
            law = [k + ((1 - sum(kept)) * r / sum(left) if sum(left) else 0) for k, r in zip(kept, left, strict=True)]
            assert output_law(p, q, **told(judged)).tolist() == law
            assert acceptance_rate(p, q, **told(judged)) == sum(kept)
            paid = sum(max(b - a, 0) for a, b, j in zip(p, q, judged, strict=True) if j)
            assert judge.bias(judge.prepare(p, q, 1, judged)) == total_variation(law, p) == paid


def test_each_row_has_its_own_set() -> None:
    """Whether rows stand alone, in a batch, or in an enumeration, which puts an axis behind them."""
    rng = np.random.default_rng(0)
    for vocab in (4, 6):  # as many tokens as rows, too: nothing then stops a set from being taken for another row's
        p, q = (w.reshape(2, 2, vocab) for w in random_laws(vocab, 4, seed=2))
        judged = rng.random((2, 2, vocab)) < 0.5
        for rows in ((p, q, judged), (p[0], q[0], judged[0])):
            law, rate = output_law(*rows[:2], **told(rows[2])), acceptance_rate(*rows[:2], **told(rows[2]))
            for i in np.ndindex(rate.shape):
                assert law[i].tolist() == output_law(rows[0][i], rows[1][i], **told(rows[2][i])).tolist()
                assert rate[i] == acceptance_rate(rows[0][i], rows[1][i], **told(rows[2][i]))


def test_the_sampler_draws_the_law() -> None:
    """Of drafts 2 a third passes by itself; nothing asks u[0] of a token that the judge lets pass."""
    for judged, u, token in (
        ([0, 0, 0], 0.33, 2),
        ([0, 0, 0], 0.34, 0),
        ([0, 0, 1], 0.999, 2),
        ([1, 1, 0], 0.34, 0),
    ):
        plan = judge.prepare(P, Q, 1, np.array(judged, dtype=bool))
        assert int(judge.verify(plan, np.array([2]), np.array([Fraction(u), Fraction(1, 2)]))) == token


def test_sets_at_every_place_of_a_chain() -> None:
    """In a decode loop each drafted place has a set of its own, also of a batch and on torch."""
    torch = pytest.importorskip("torch")
    p, q = np.array([[0.5, 0.3, 0.2]] * 3), np.array([[0.1, 0.3, 0.6]] * 2)
    drafts, u = np.array([[2, 2], [2, 2]]), np.full((2, 5), 0.9)
    judged = np.array([[[0, 0, 1], [0, 0, 0]], [[0, 0, 1], [0, 0, 1]]], dtype=bool)
    for make in (np.asarray, torch.asarray):
        rule = chain_rule("judge", {"judged": make(judged)})
        rows = [make(np.broadcast_to(w, (2, *w.shape)).copy()) for w in (p, q)]
        kept, token = rule.verify(rule.prepare(*rows), make(drafts), make(u))
        assert (kept.tolist(), token.tolist()) == ([1, 2], [0, 2])


def test_a_set_is_moved_to_where_the_laws_are() -> None:
    torch = pytest.importorskip("torch")
    p, q = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.1, 0.3, 0.6])
    for judged in ([False, False, True], np.array([0, 0, 1], dtype=bool), torch.tensor([False, False, True])):
        assert float(acceptance_rate(p, q, **told(judged))) == pytest.approx(1)


def test_where_nothing_passes_it_is_rejection() -> None:
    for p, q in zip(*random_laws(4, 20, seed=1), strict=True):
        assert (output_law(p, q, **told([False] * 4)) == p).all()
        assert acceptance_rate(p, q, **told([True] * 4)) == 1


def test_it_changes_a_greedy_target() -> None:
    assert not guarantee("judge").lossless
    assert not guarantee("judge", temperature=0).lossless


def test_rows_of_a_few_tokens_are_made_whole() -> None:
    """It goes by ids: the places of a union are none."""
    p, q = (top_k_law([1, 3], probs, 5) for probs in ([0.8, 0.2], [0.2, 0.8]))
    for passing, rate in ((0, 0.4), (1, 0.4), (3, 1.0)):
        assert float(acceptance_rate(p, q, **told(np.arange(5) == passing))) == pytest.approx(rate)


def test_hits_are_what_is_kept() -> None:
    result = verify_step(P, Q, [2], [Fraction(99, 100), 0], **told([False, False, True]))
    assert (int(result.token), bool(result.hit)) == (2, True)


@pytest.mark.parametrize(
    ("judged", "said"),
    [
        ([0, 1, 1], r"judged must be booleans of shape \(3,\), got int64 of shape \(3,\)"),
        ([True, False], r"judged must be booleans of shape \(3,\), got bool of shape \(2,\)"),
        ([[True, False, True]] * 2, r"judged must be booleans of shape \(3,\), got bool of shape \(2, 3\)"),
    ],
)
def test_a_bad_set_ends_in_one_line(judged: Any, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}$"):
        specsim.acceptance_rate([0.5, 0.3, 0.2], [0.1, 0.3, 0.6], **told(judged))


def test_sets_of_another_batch_are_refused() -> None:
    p, q = (np.array([row] * 4) for row in ([0.5, 0.3, 0.2], [0.1, 0.3, 0.6]))
    with pytest.raises(ValueError, match=r"^judged must be booleans of shape \(3,\) or \(4, 3\), got bool of"):
        acceptance_rate(p, q, **told(np.zeros((2, 3), dtype=bool)))
