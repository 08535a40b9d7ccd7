"""What coupled rules are worth: known values, frequencies, the same text from every drafter, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

import specsim
from specsim import discover
from specsim.base.uniforms import keyed_uniforms
from specsim.forking import rational_races
from specsim.testing import assert_law, grid
from specsim.verify.coupled import acceptance, emit

P, Q = [0.2, 0.3, 0.5], [0.6, 0.3, 0.1]
RULES = list(discover.rules("coupled"))


def test_the_family_is_found() -> None:
    assert RULES == ["list_race", "race", "ranked_race"]
    for name in RULES:
        facts = discover.facts(discover.find("coupled", name))
        assert (facts.family, facts.theorem, facts.exact) == ("coupled", "T37", True)
        assert facts.drafts == ("without_replacement" if name == "ranked_race" else "iid")


def test_two_tokens_lose_nothing() -> None:
    p, q = grid(2, 5)
    assert acceptance("race", p, q).tolist() == specsim.acceptance_rate(p, q).tolist()


@pytest.mark.parametrize("d", [2, 3, 5])
def test_shifted_uniforms(d: int) -> None:
    """arXiv:2408.07978: (d - 1)/(d + 1), which is also the bound, beside 1 - 1/d."""
    p, q = [F(1, d)] * d + [F(0)], [F(0)] + [F(1, d)] * d
    assert acceptance("race", p, q) == F(d - 1, d + 1)
    assert specsim.acceptance_rate(p, q) == F(d - 1, d)


def test_more_drafts_are_worth_more_and_one_is_a_race() -> None:
    p, q = grid(3, 3)
    one = acceptance("race", p, q)
    for name in ("list_race", "ranked_race"):
        values = [acceptance(name, p, q, num_drafts=k) for k in (1, 2, 3)]
        assert (values[0] == one).all()
        assert (values[0] <= values[1]).all()
        assert (values[1] <= values[2]).all()


def test_all_drafts_are_a_hit() -> None:
    p, q = grid(3, 4)
    whole = (q > 0).all(axis=-1)
    assert (acceptance("ranked_race", p, q, num_drafts=3)[whole] == 1).all()


def test_the_lemma_is_exact_where_it_should_be() -> None:
    """K = 1, a one-hot draft; elsewhere the exact value is larger."""
    module = discover.find("coupled", "list_race")
    p = np.array([F(1, 6), F(1, 3), F(1, 2)])
    for q, k, same in (
        ([0, 1, 0], 3, True),
        ([F(1, 4), F(1, 2), F(1, 4)], 1, False),
        ([F(1, 4)] * 2 + [F(1, 2)], 2, False),
    ):
        row = np.array([F(v) for v in q])
        value, lemma = acceptance("list_race", p, row, num_drafts=k), module.bound(p, row, k)
        assert (value == lemma) == (same or k == 1)
        assert value >= lemma


@pytest.mark.parametrize(("name", "num_drafts"), [("race", 1), ("list_race", 3), ("ranked_race", 2)])
def test_frequencies(name: str, num_drafts: int) -> None:
    """In float64, from uniforms: 40,000 (token, hit), false-alarm rate 1e-9, beside p and the exact hits."""
    module, n = discover.find("coupled", name), 40_000
    p, q = np.array(P), np.array(Q)
    u = np.random.default_rng(7).random((n, 3 * module.races(num_drafts)))
    found = emit(name, np.broadcast_to(p, (n, 3)), np.broadcast_to(q, (n, 3)), u, num_drafts)
    hits = module.hits(p, q, num_drafts)
    law = np.stack([p - hits, hits], axis=-1).ravel()
    assert_law(2 * found.token + found.hit, law, false_alarm=1e-9)
    assert acceptance(name, P, Q, num_drafts) == pytest.approx(hits.sum())


@pytest.mark.parametrize("name", RULES)
def test_two_drafters_write_one_text(name: str) -> None:
    """Variates keyed by place: thirty tokens, each law by the token before, and any draft model."""
    count, texts = (1 if name == "race" else 2), []
    for seed in (1, 2):
        rng, text = np.random.default_rng(seed), [0]
        for place in range(30):
            u = keyed_uniforms(5, 0, place, 3 * discover.find("coupled", name).races(count))
            text.append(int(emit(name, np.roll(P, text[-1]), rng.dirichlet(np.ones(3)), u, count).token))
        texts.append(text)
    assert texts[0] == texts[1]
    assert set(texts[0]) == {0, 1, 2}


def test_a_sharp_law_is_finite() -> None:
    """Rates of 1e-300 and odds of 1e300: no NaN, no more than 1."""
    p, q = [1e-300, 1 - 1e-15, 1e-15], [1 - 1e-15, 1e-300, 1e-15]
    for name in RULES:
        value = float(acceptance(name, p, q, num_drafts=1 if name == "race" else 2))
        assert 0 <= value <= 1
        assert not math.isnan(value)


def test_cones_of_exponentials() -> None:
    half = rational_races.cone(frozenset({(0, F(1), 1)}))
    assert half == F(1, 2)
    assert rational_races.cone(frozenset({(0, F(2), 1)})) == F(1, 3)  # E_0 > 2 E_1
    assert rational_races.cone(frozenset({(0, F(1), 1), (1, F(1), 2)})) == F(1, 6)
    assert rational_races.cone(frozenset({(0, F(1), 1), (1, F(1), 2), (2, F(1), 0)})) == 0
    assert rational_races.cone(frozenset({(0, F(1), 1), (1, F(1), 0)})) == 0
    with pytest.raises(TypeError, match=r"^a variate was compared with 0\.5; compare it with another one$"):
        rational_races.law(lambda race: bool(race.variates(1)[0] < 0.5))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: emit("races", P, Q, [0.5] * 3), "^rule 'races' is unknown; did you mean 'race'[?] coupled rules: "),
        (lambda: emit("race", P, Q, [0.5] * 2), r"^u has shape \(2,\)"),
        (lambda: emit("race", P, Q, [0.5, 0.5, 1.0]), "^u"),
        (lambda: emit("race", P, Q[:2], [0.5] * 3), "^q sums to|^p has 3 tokens"),
        (lambda: emit("race", P, Q, [0.5] * 3, 2), "^rule 'race' drafts 1, got num_drafts=2$"),
        (lambda: acceptance("race", P, Q, 0), "^num_drafts must be at least 1, got 0$"),
        (lambda: acceptance("list_race", P, [0.5, 0.6, 0.1]), "^q sums to"),
        (lambda: acceptance("list_race", [1 / 64] * 64, [1 / 64] * 64, 4), "^num_drafts is 4 at 64 tokens: more than"),
        (lambda: acceptance("block", P, Q), "^rule 'block' is a chain rule, not a coupled rule; "),
    ],
)  # fmt: skip
def test_bad_input_ends_in_one_line(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


def test_fractions_have_no_logarithm() -> None:
    with pytest.raises(TypeError, match=r"^p and q hold Fractions, and variates are logarithms: "):
        emit("race", [F(1, 2)] * 2, [F(1, 2)] * 2, [0.5, 0.5])
