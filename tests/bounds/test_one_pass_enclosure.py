"""Ceilings of drafts of one pass under a rule: enclosed, against every law of a grid on random tables (T60)."""

from __future__ import annotations

import itertools
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from specsim import expected_tokens, markov, one_pass_ceiling, one_pass_draft, one_pass_enclosure, product_draft
from specsim.bounds import one_pass_enclosure as module
from specsim.bounds.one_pass import levels_of
from specsim.exact import chain
from specsim.exact.small_laws import rational_table
from specsim.types import Array

Text = tuple[int, ...]
# Parts of the grid of each law over two tokens.
PARTS = 10


def floats(table: chain.Table) -> Any:
    """The model of a table, in floats."""
    return {text: law.astype(float) for text, law in table.items()}.__getitem__


def on_a_grid(table: chain.Table, rule: str) -> Array:
    """1 + E[n] of three drafts by the closed forms, for every three laws of a grid over two tokens."""
    heads = np.linspace(0, 1, PARTS + 1)
    one, two, three = np.meshgrid(heads, heads, heads, indexing="ij")
    q = [np.stack([w, 1 - w]) for w in (one, two, three)]
    p = {text: law.astype(float) for text, law in table.items()}
    total = np.ones_like(one)
    for length in (1, 2, 3):
        for text in itertools.product((0, 1), repeat=length):
            target = [p[text[:i]][v] for i, v in enumerate(text)]
            drafts = [q[i][v] for i, v in enumerate(text)]
            if rule == "tokenwise":
                total += np.prod([np.minimum(*pair) for pair in zip(target, drafts, strict=True)], axis=0)
            else:
                # Ways to divide the text: j drafts of the drafter, the rest by the target.
                ends = range(length + 1) if rule == "block" else (0, length)
                total += np.min([_joint(drafts[:j]) * np.prod(target[j:]) for j in ends], axis=0)
    return total


def _joint(factors: list[Array]) -> Array:
    """The product of laws of the grid; 1 of none."""
    return np.prod(factors, axis=0) if factors else np.ones((PARTS + 1,) * 3)


@pytest.mark.parametrize("rule", ["tokenwise", "block", "any"])
@pytest.mark.parametrize("tables", [8, pytest.param(1000, marks=pytest.mark.slow)])
def test_no_law_of_a_grid_exceeds_the_ceiling(tables: int, rule: str) -> None:
    """The grid stays below the upper end, and comes near; the lower end is attained by the laws that are named."""
    rng = np.random.default_rng(37)
    for _ in range(tables):
        table = rational_table(rng, 2, 3)
        found = one_pass_enclosure(floats(table), gamma=3, rule=rule, within=0.02)
        most = float(on_a_grid(table, rule).max())
        assert found.low <= found.high <= found.low + 0.02 + 1e-12
        assert found.high - 0.4 < most <= found.high + 1e-12
        assert found.rows.sum(axis=-1) == pytest.approx(1)
        if rule != "any":
            attained = expected_tokens(floats(table), product_draft(found.rows), gamma=3, rule=rule)
            assert attained == pytest.approx(found.low, abs=1e-9)
        if rule == "tokenwise":
            assert found.low - 1e-9 <= one_pass_ceiling(table.__getitem__, gamma=3).tau <= found.high + 1e-9


def test_in_fractions_both_ends_are_exact() -> None:
    rng = np.random.default_rng(1)
    for vocab, gamma in ((2, 3), (3, 2)):
        target = rational_table(rng, vocab, gamma).__getitem__
        found = one_pass_enclosure(target, gamma=gamma, within=F(1, 20))
        assert isinstance(found.low, F)
        assert isinstance(found.high, F)
        assert expected_tokens(target, product_draft(found.rows), gamma=gamma, rule="block") == found.low <= found.high
        assert found.high <= found.low + F(1, 20)


def test_of_two_drafts_all_ceilings_are_equal() -> None:
    rng = np.random.default_rng(2)
    for vocab in (2, 3):
        target = rational_table(rng, vocab, 2).__getitem__
        tau = one_pass_ceiling(target, gamma=2).tau
        for rule in ("tokenwise", "block", "any"):
            found = one_pass_enclosure(target, gamma=2, rule=rule, within=F(1, 50))
            assert found.low <= tau <= found.high


def of_halves(**laws: int) -> Any:
    """The target whose law after a text is a coin, or token 0 or 1 for certain, as `after_01=1` says."""

    def target(text: Text) -> Any:
        side = laws.get("after_" + "".join(map(str, text)))
        return np.array([F(1, 2)] * 2 if side is None else [F(v == side) for v in (0, 1)])

    return target


# Targets of T60.9: after 0 comes 1, after 1 a coin; then certain tokens, and a coin after 01 or after 11.
RECOVERED = of_halves(after_0=1, after_00=1, after_10=1, after_11=1)
SHIFTED = of_halves(after_0=1, after_00=1, after_01=1, after_10=1)


def test_of_three_drafts_block_verification_has_a_ceiling_of_its_own() -> None:
    """27/8 tokenwise; 7/2 as a block, which the laws (1/2, 1/2), (0, 1), (1/2, 1/2) keep."""
    rows = np.array([[F(1, 2)] * 2, [F(0), F(1)], [F(1, 2)] * 2])
    assert one_pass_ceiling(RECOVERED, gamma=3).tau == F(27, 8)
    assert expected_tokens(RECOVERED, product_draft(rows), gamma=3, rule="block") == F(7, 2)
    found = one_pass_enclosure(RECOVERED, gamma=3, within=F(1, 100))
    assert found.low <= F(7, 2) <= found.high


def test_under_block_verification_the_first_law_need_not_be_the_targets() -> None:
    """With the target's first law the ceiling is 27/8; without, 29/4 - sqrt(15) is kept, and any rule keeps more."""
    rows = np.array([[F(9, 17), F(8, 17)], [F(1, 17), F(16, 17)], [F(0), F(1)]])
    assert expected_tokens(SHIFTED, product_draft(rows), gamma=3, rule="block") == F(1951, 578)
    found, any_rule = (
        one_pass_enclosure(lambda text: SHIFTED(text).astype(float), gamma=3, rule=rule, within=0.02)
        for rule in ("block", "any")
    )
    assert found.low <= 29 / 4 - 15**0.5 <= found.high
    assert found.high < any_rule.low

    # The target's first law: a grid of second laws, each with the best third.
    levels = levels_of(SHIFTED, 3, ())
    second = [np.array([F(b, 40), 1 - F(b, 40)]) for b in range(41)]
    values = [1 + module._kept(levels, [levels[0].rows[0], law], "block")[0] for law in second]
    assert max(values) == F(27, 8)


def test_a_last_law_of_which_little_is_of_use_is_a_law() -> None:
    """Room for 1/4 of either token, or no text that can be drafted: the rest goes to the first token."""
    for slope, law in (([F(1)], [F(3, 4), F(1, 4)]), ([F(0)], [1, 0])):
        assert module._last_law(np.array(slope), np.array([[F(1, 4), F(1, 4)]])).tolist() == law


def test_one_draft_keeps_everything_and_a_prefix_is_read() -> None:
    table = rational_table(np.random.default_rng(4), 3, 3)
    found = one_pass_enclosure(table.__getitem__, gamma=1)
    assert (found.low, found.high, found.rows.tolist()) == (2, 2, [table[()].tolist()])
    after = {text[1:]: law for text, law in table.items() if text[:1] == (2,)}
    whole, alone = (
        one_pass_enclosure(t, gamma=2, within=F(1, 10), prefix=prefix)
        for t, prefix in ((table.__getitem__, (2,)), (after.__getitem__, ()))
    )
    assert (whole.low, whole.high) == (alone.low, alone.high)


def test_as_many_boxes_are_halved_as_the_limit_says(monkeypatch: pytest.MonkeyPatch) -> None:
    halved = []
    halves = module._halves
    monkeypatch.setattr(module, "MAX_BOXES", 64)
    monkeypatch.setattr(module, "_halves", lambda box: halved.append(box) or halves(box))
    for seed in range(3):
        halved.clear()
        with pytest.raises(ValueError, match=r"^after 64 boxes "):
            one_pass_enclosure(floats(rational_table(np.random.default_rng(seed), 3, 3)), gamma=3, within=1e-6)
        assert len(halved) == 64


def test_a_printed_ceiling_says_that_it_has_rows() -> None:
    target = floats(rational_table(np.random.default_rng(6), 3, 2))
    for found in (one_pass_ceiling(target, gamma=2), one_pass_enclosure(target, gamma=2, within=0.5)):
        assert "rows=array of shape (2, 3)" in repr(found)


def test_a_prefix_that_is_no_text_of_the_target_is_named() -> None:
    chain, table = markov([[0.5, 0.5], [1.0, 0.0]]), {(): np.array([0.5, 0.5])}
    for function in (one_pass_ceiling, one_pass_enclosure, one_pass_draft):
        for prefix in ((5,), (0, -1)):
            place, token = len(prefix) - 1, prefix[-1]
            words = rf"\(ValueError: text\[{place}\] is {token}; the tokens of this model are 0..1\)"
            with pytest.raises(ValueError, match=rf"^prefix is .*, after which target has no law {words}"):
                function(chain, gamma=2, prefix=prefix)
        with pytest.raises(ValueError, match=r"^prefix is \(1,\), after which target has no law \(KeyError: \(1,\)\)"):
            function(table.__getitem__, gamma=2, prefix=(1,))


def test_bad_arguments_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    target = floats(rational_table(np.random.default_rng(5), 2, 3))
    with pytest.raises(ValueError, match="greedy"):
        one_pass_enclosure(target, gamma=2, rule="greedy")
    with pytest.raises(ValueError, match="within"):
        one_pass_enclosure(target, gamma=2, within=0)
    with pytest.raises(ValueError, match=r"^within is an integer of 1329 bits, which is beyond the range of floats"):
        one_pass_enclosure(target, gamma=2, within=10**400)
    monkeypatch.setattr(module, "MAX_BOXES", 2)
    with pytest.raises(ValueError, match=r"^after 2 boxes the largest tau lies between .* and within is 1e-06; give a"):
        one_pass_enclosure(target, gamma=3, within=1e-6)
