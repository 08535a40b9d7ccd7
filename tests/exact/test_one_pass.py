"""Drafts of one pass: their laws against every block that can be drafted, and what corrections buy (T60)."""

from __future__ import annotations

import itertools
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from specsim import expected_tokens, one_pass_draft, one_pass_tokens, product_draft
from specsim.exact import chain, one_pass
from specsim.exact.small_laws import rational_table
from specsim.verify.chain import block, tokenwise

Text = tuple[int, ...]
COIN = np.array([F(1, 2), F(1, 2)])
SIDES = {(v,): np.array([F(v == w) for w in (0, 1)]) for v in (0, 1)}


def coin(text: Text) -> Any:
    """A coin, and then the same side for ever."""
    return SIDES[text[:1]] if text else COIN


def kept_tokenwise(target: chain.Table, rows: Any) -> F:
    """E[n] by the closed form: overlaps of a product of laws with the target's conditionals."""
    vocab = rows.shape[1]
    total = F(0)
    for length in range(1, len(rows) + 1):
        for text in itertools.product(range(vocab), repeat=length):
            total += np.prod([min(target[text[:i]][v], rows[i][v]) for i, v in enumerate(text)])
    return total


def kept_as_block(target: chain.Table, rows: Any) -> F:
    """E[n] by the closed form: the least of Q(first j) P(the others | first j) over j."""
    vocab = rows.shape[1]
    total = F(0)
    for length in range(1, len(rows) + 1):
        for text in itertools.product(range(vocab), repeat=length):
            p = [target[text[:i]][v] for i, v in enumerate(text)]
            q = [rows[i][v] for i, v in enumerate(text)]
            total += min(np.prod([*q[:j], *p[j:]]) for j in range(length + 1))
    return total


def by_hand(target: chain.Table, rows: Any, rule: Any) -> tuple[Any, Any]:
    """The law of gamma + 1 tokens, and E[n], from every block and every outcome of the rule."""
    gamma, vocab = rows.shape
    draft = {text: rows[n] for n in range(gamma) for text in itertools.product(range(vocab), repeat=n)}
    return chain.strong_law(rule, target, draft, gamma)


def marginals(target: chain.Table, gamma: int) -> Any:
    """The target's law at each of the first positions, by summing its law of texts."""
    law = chain.target_law(target, gamma)
    vocab = len(target[()])
    return np.array([[sum(m for t, m in law.items() if t[i] == v) for v in range(vocab)] for i in range(gamma)])


@pytest.mark.parametrize("tables", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_laws_are_those_of_every_block(tables: int) -> None:
    rng = np.random.default_rng(60)
    for number in range(tables):
        vocab, gamma = ((2, 3), (3, 2), (2, 2))[number % 3]
        target = rational_table(rng, vocab, gamma)
        rows = np.array([rational_table(rng, vocab, 0)[()] for _ in range(gamma)])
        for rule, closed in ((tokenwise, kept_tokenwise), (block, kept_as_block)):
            law, kept = by_hand(target, rows, rule)
            assert {text: mass for text, mass in chain.target_law(target, gamma + 1).items() if mass} == law
            assert kept == closed(target, rows)
            assert 1 + kept == expected_tokens(target.__getitem__, product_draft(rows), gamma=gamma, rule=rule)


def test_order_0_gives_the_marginals() -> None:
    rng = np.random.default_rng(1)
    for vocab, gamma in ((2, 3), (3, 2)):
        target = rational_table(rng, vocab, gamma)
        draft = one_pass_draft(target.__getitem__, gamma=gamma)
        assert [draft((0,) * i).tolist() for i in range(gamma)] == marginals(target, gamma).tolist()


@pytest.mark.parametrize("tables", [2, pytest.param(1000, marks=pytest.mark.slow)])
def test_every_order_after_a_prefix_is_the_law_given_the_last_drafts(tables: int) -> None:
    rng = np.random.default_rng(2)
    for _ in range(tables):
        _check_orders(rational_table(rng, 2, 4), (1,))


def _check_orders(target: chain.Table, prefix: Text) -> None:
    """Compare each order's draft with the conditional law, summed over the texts of a table."""
    after = {text[len(prefix) :]: law for text, law in target.items() if text[: len(prefix)] == prefix}
    texts = chain.target_law(after, 3)
    for order in (0, 1, 2):
        draft = one_pass_draft(target.__getitem__, gamma=3, order=order, prefix=prefix)
        for text in [t for n in range(3) for t in itertools.product((0, 1), repeat=n)]:
            seen = {i: v for i, v in enumerate(text) if i >= len(text) - order}
            fits = [
                [sum(m for t, m in texts.items() if t[len(text)] == v and all(t[i] == w for i, w in seen.items()))]
                for v in (0, 1)
            ]
            total = fits[0][0] + fits[1][0]
            if total:
                assert draft((*prefix, *text)).tolist() == [mass / total for (mass,) in fits]


@pytest.mark.parametrize("tables", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_whole_past_is_the_target_and_keeps_everything(tables: int) -> None:
    rng = np.random.default_rng(3)
    for _ in range(tables):
        target = rational_table(rng, 2, 3).__getitem__
        assert expected_tokens(target, one_pass_draft(target, gamma=3, order=2), gamma=3) == 4


def test_drafts_that_the_target_never_writes_fall_back_to_what_it_does_write() -> None:
    draft = one_pass_draft(coin, gamma=3, order=2)
    assert draft((0, 1)).tolist() == [0, 1] == draft((1,)).tolist()
    certain = {(): np.array([F(1), F(0)]), (0,): COIN, (1,): COIN}
    assert one_pass_draft(certain.__getitem__, gamma=2, order=1)((1,)).tolist() == COIN.tolist()


@pytest.mark.parametrize("tables", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_block_verification_recovers_nothing_of_two_drafts_from_exact_marginals(tables: int) -> None:
    rng, gains = np.random.default_rng(4), 0
    for _ in range(tables):
        target = rational_table(rng, 2, 3).__getitem__
        draft = one_pass_draft(target, gamma=3)
        two, three = (
            [expected_tokens(target, draft, gamma=g, rule=rule) for rule in ("tokenwise", "block")] for g in (2, 3)
        )
        assert two[0] == two[1]
        assert three[0] <= three[1]
        gains += three[0] < three[1]
    assert gains


@pytest.mark.parametrize("tables", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_when_block_verification_recovers_some_of_the_loss(tables: int) -> None:
    """Just where a ratio above 1 follows, in a block that can be drafted, one below 1 without a 0 between."""
    rng, seen = np.random.default_rng(5), set()
    for _ in range(tables):
        target = rational_table(rng, 2, 3)
        rows = np.array([rational_table(rng, 2, 0)[()] for _ in range(3)])
        follows = False
        for text in itertools.product((0, 1), repeat=3):
            weight, drafted = F(1), True
            for i, v in enumerate(text):
                drafted = drafted and rows[i][v] > 0
                if drafted:
                    follows = follows or (0 < weight < 1 and target[text[:i]][v] > rows[i][v])
                    weight *= min(F(1), target[text[:i]][v] / rows[i][v])
        values = [
            expected_tokens(target.__getitem__, product_draft(rows), gamma=3, rule=rule)
            for rule in ("tokenwise", "block")
        ]
        assert (values[0] < values[1]) == follows
        seen.add(follows)
    assert seen == {True, False}


@pytest.mark.parametrize("tables", [4, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_target_that_looks_back_one_token_has_a_closed_form(tables: int) -> None:
    rng = np.random.default_rng(6)
    for number in range(tables):
        vocab = 2 + number % 2
        first, *steps = (rational_table(rng, vocab, 0)[()] for _ in range(1 + 2 * vocab))
        rows = np.array([rational_table(rng, vocab, 0)[()] for _ in range(3)])
        both = np.array(steps).reshape(2, vocab, vocab)

        def target(text: Text, first: Any = first, both: Any = both) -> Any:
            return both[len(text) - 1][text[-1]] if text else first

        tau = one_pass_tokens(first, both, rows)
        assert tau == expected_tokens(target, product_draft(rows), gamma=3)
    same = one_pass_tokens(first, both[0], rows)
    assert same == one_pass_tokens(first, np.array([both[0], both[0]]), rows)


def test_a_bet_on_one_side_keeps_more_than_the_marginals() -> None:
    """Of a coin that is copied the marginals keep less than 2 drafts, however long the block; a bet keeps half."""
    side = np.array([F(1), F(0)])
    for gamma in (2, 3, 6):
        fair = one_pass_tokens(COIN, np.array([SIDES[0,], SIDES[1,]]), np.array([COIN] * gamma))
        bet = one_pass_tokens(COIN, np.array([SIDES[0,], SIDES[1,]]), np.array([COIN, *[side] * (gamma - 1)]))
        assert (fair, bet) == (3 - F(1, 2 ** (gamma - 1)), 2 + F(gamma - 1, 2))


def test_bad_arguments_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_pass, "MAX_TEXTS", 8)
    for arguments, words in (
        ({"gamma": 0}, "gamma"),
        ({"gamma": 2, "order": 2}, "order is 2"),
        ({"gamma": 5}, "^gamma is 5: .*too many to enumerate"),
    ):
        with pytest.raises(ValueError, match=words):
            one_pass_draft(lambda text: np.array([0.5, 0.5]), **arguments)
    with pytest.raises(ValueError, match=r"give one law for each position, \(gamma, V\)"):
        product_draft([0.5, 0.5])
    with pytest.raises(ValueError, match="rows has laws for 1 positions"):
        product_draft([[0.5, 0.5]])((0,))
    with pytest.raises(ValueError, match=r"is not the prefix \(1,\) with fewer than gamma=2 drafts"):
        one_pass_draft(lambda text: np.array([0.5, 0.5]), gamma=2, prefix=(1,))((0, 1))
    with pytest.raises(ValueError, match="shapes do not fit"):
        one_pass_tokens([0.5, 0.5], [[0.5, 0.5]] * 2, [[0.2, 0.3, 0.5]])
