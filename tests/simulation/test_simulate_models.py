"""Toy models: the laws they claim, their pairs, what they do in the long run; and every error of the simulator."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from specsim import (
    Automaton,
    block_chain,
    conditional_tau,
    context_free,
    expected_tokens,
    markov,
    mixture,
    ngram,
    recorded,
    renewal,
    simulate,
    stationary,
    stationary_tau,
)
from specsim.lengths.blocks import text_survival
from specsim.simulation.toys.pair import paired
from specsim.types import Array
from specsim.verify.chain import block

HALF = [0.5, 0.5]


def random_rows(rng: np.random.Generator, *shape: int) -> Array:
    """Laws of Fractions with zeros."""
    weights = rng.integers(0, 4, shape)
    weights[..., 0] += weights.sum(axis=-1) == 0
    rows = weights.astype(object) * F(1)
    return rows / rows.sum(axis=-1, keepdims=True)


def test_markov_of_order_two() -> None:
    table = random_rows(np.random.default_rng(0), 3, 3, 3)
    model = markov(table, start=3 * 2 + 1)
    for text in itertools.product(range(3), repeat=4):
        for n in range(5):
            context = (2, 1, *text[:n])[-2:]
            assert (model(text[:n]) == table[context]).all()


def test_mixture_is_a_hidden_chain_told() -> None:
    """The kinds move by `weights`; the law of the symbols alone is the hidden Markov law, summed over kinds."""
    weights, laws = random_rows(np.random.default_rng(1), 2, 2), random_rows(np.random.default_rng(2), 2, 3)
    model = mixture(weights, laws, start=1)
    for symbols in itertools.product(range(3), repeat=3):
        found = expected = F(0)
        for kinds in itertools.product(range(2), repeat=3):
            tokens = [3 * c + v for c, v in zip(kinds, symbols, strict=True)]
            found += math.prod(model(tokens[:i])[y] for i, y in enumerate(tokens))
            chain = math.prod(weights[a, b] for a, b in itertools.pairwise((1, *kinds)))
            expected += chain * math.prod(laws[c, v] for c, v in zip(kinds, symbols, strict=True))
        assert found == expected
    assert (mixture(weights[0], laws)(()) == mixture(weights[[0, 0]], laws)((4,))).all()


def test_ngram_counts() -> None:
    text, lam = "abbabcabba", 0.5
    model = ngram(text, order=2, vocab="cab", smoothing=lam)
    for context in itertools.product("abc", repeat=2):
        seen = [text[i + 2] for i in range(len(text) - 2) if tuple(text[i : i + 2]) == context]
        wanted = [(seen.count(c) + lam) / (len(seen) + 3 * lam) for c in "cab"]
        assert np.allclose(model(["cab".index(c) for c in context]), wanted)
    assert np.array_equal(model(()), model([2, 1]))  # goes on where the text ends: b, a
    assert np.array_equal(ngram([1, 2, 2, 1], order=1).rows, ngram("bccb", order=1, vocab="abc").rows)
    assert np.allclose(ngram("aab", order=0)(()), [3 / 5, 2 / 5])


def test_recorded_rows_recite() -> None:
    p, q = random_rows(np.random.default_rng(3), 5, 3), random_rows(np.random.default_rng(4), 5, 3)
    target, draft = recorded(p, q)
    for n in range(7):
        assert (target((0,) * n) == p[n % 5]).all()
        assert (draft((2,) * n) == q[n % 5]).all()
    assert len(paired(target, draft).p) == 5


def test_pairs_go_through_both_models() -> None:
    rng = np.random.default_rng(5)
    target, draft = markov(random_rows(rng, 3, 3, 3)), markov(random_rows(rng, 3, 3), start=2)
    pair = paired(target, draft)
    assert len(pair.p) == 9 + 1  # the empty text, where the contexts contradict each other, is a state of its own
    for text in itertools.product(range(3), repeat=4):
        state = pair.start
        for n in range(5):
            assert (pair.p[state] == target(text[:n])).all()
            assert (pair.q[state] == draft(text[:n])).all()
            state = pair.step[3 * state + text[n]] if n < 4 else state
    assert len(paired(target, target).p) == 9


@pytest.mark.parametrize("seed", range(6))
def test_stationary_is_left_as_it_is(seed: int) -> None:
    model = markov(random_rows(np.random.default_rng(seed), 4, 4))
    law = stationary(model)
    assert law.sum() == 1
    assert (law @ model.rows == law).all()  # of one token of context, the rows are the chain


def test_long_run_of_chains_that_do_not_mix() -> None:
    clock = markov([[0, 1.0, 0], [0, 0, 1.0], [1.0, 0, 0]])
    assert np.allclose(stationary(clock), 1 / 3)
    left = markov([[0.5, 0.5, 0], [0, 0, 1.0], [0, 1.0, 0]])
    assert stationary(left).tolist() == [0, 0.5, 0.5]
    split = markov([[0, 0.5, 0.5], [0, 1.0, 0], [0, 0, 1.0]])
    with pytest.raises(ValueError, match=r"^the text can end up in contexts that never meet again"):
        stationary(split)
    assert stationary(split._replace(start=1)).tolist() == [0, 1, 0]


def test_blocks_in_every_context() -> None:
    """tau of a block by where it starts: expected_tokens of the models started there, as rationals."""
    rng = np.random.default_rng(6)
    target, draft = (markov(random_rows(rng, 3, 3, 3)) for _ in range(2))  # two tokens of context
    for rule in ("tokenwise", "block"):
        chain = block_chain(target, draft, rule=rule, gamma=2)
        assert (chain.jump.sum(axis=1) == 1).all()
        for s in range(9):
            here, there = (m._replace(start=s) for m in (target, draft))
            assert chain.tau[s] == expected_tokens(here, there, gamma=2, rule=rule)


def test_long_run_tau_is_what_the_renewal_law_of_a_text_says() -> None:
    """Two independent ways: the chain of block starts, and one long text of the target scored position by position."""
    rng = np.random.default_rng(7)
    target, draft = (markov(rows) for rows in rng.dirichlet(np.ones(3), (2, 3)))
    text, state = [], 0
    for u in rng.random(20_000):
        state = int((target.rows[state].cumsum() <= u).sum())
        text.append(state)
    before = [0, *text[:-1]]
    ratio = draft.rows[before, text] / target.rows[before, text]
    estimate = renewal(text_survival(block.survival, ratio, 3)).tau
    assert abs(estimate / stationary_tau(target, draft, rule="block", gamma=3) - 1) < 0.01


def run(**options: Any) -> Callable[[], Any]:
    return lambda: simulate(
        options.pop("target", HALF),
        options.pop("draft", HALF),
        **({"rule": "block", "gamma": 1, "blocks": 1} | options),
    )


two = context_free(HALF)
ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: context_free([0.5, 0.6]), ValueError, r"^law sums to 1\.1; "),
    (lambda: context_free([HALF, HALF]), ValueError, r"^law must be one row of shape \(V,\), got \(2, 2\)"),
    (lambda: markov([HALF, HALF, HALF]), ValueError, r"^table has shape \(3, 2\); every axis must have V=2 entries"),
    (lambda: markov([HALF, [0.5, 0.4]]), ValueError, r"^table\[1\] sums to 0\.9; "),
    (lambda: markov([HALF, HALF], start=2), ValueError, r"^table\.start is 2; states are 0\.\.1$"),
    (lambda: mixture([[0.5, 0.5]], [HALF, HALF]), ValueError, r"^weights has shape \(1, 2\), but components has 2"),
    (lambda: mixture([0.5, 0.4], [HALF, HALF]), ValueError, r"^weights sums to 0\.9; "),
    (lambda: mixture(HALF, HALF), ValueError, r"^components must have shape \(C, V\), got \(2,\)"),
    (lambda: ngram("ab", order=2), ValueError, r"^text has 2 tokens; contexts of order=2 need more$"),
    (lambda: ngram("abc", vocab="ab"), ValueError, r"^text\[2\] is 'c', which vocab lacks$"),
    (lambda: ngram([0, 3], order=1, vocab=3), ValueError, r"^text\[1\] is token 3, outside the vocabulary 0\.\.2$"),
    (lambda: ngram("abc", vocab=3), TypeError, r"^vocab must be the characters of a str text, or the number"),
    (lambda: ngram("abc", smoothing=0), ValueError, r"^smoothing is 0; it must lie in \(0, inf\)$"),
    (lambda: ngram("abc" * 9, order=20), ValueError, r"^3\^21 entries of order=20 are more than"),
    (lambda: recorded([HALF], [HALF, HALF]), ValueError, r"^p_rows and q_rows must both be \(T, V\), got \(1, 2\)"),
    (lambda: recorded([[0.5, 0.6]], [HALF]), ValueError, r"^p_rows\[0\] sums to 1\.1; "),
    (run(target=lambda text: HALF), TypeError, r"^target is a function; simulation needs an Automaton"),
    (run(draft=[0.2, 0.3, 0.5]), ValueError, r"^target\.rows has 2 tokens and draft\.rows has 3: the vocabularies"),
    (run(draft=[0.5, 0.6]), ValueError, r"^draft sums to 1\.1; "),
    (run(target=[HALF, HALF]), ValueError, r"^target must be one law of shape \(V,\), or an Automaton, got"),
    (run(target=two._replace(step=np.array([[0, 1]]))), ValueError, r"^target\.step\[0\]\[1\] is 1; states are 0\.\."),
    (run(draft=two._replace(step=np.zeros((1, 2)))), ValueError, r"^draft\.step must be integers of shape \(1, 2\)"),
    (run(draft=two._replace(rows=np.array([0.5, 0.5]))), ValueError, r"^draft\.rows must have shape \(S, V\), got"),
    (run(draft=Automaton(np.array([[0.5, 0.6]]), two.step, 0)), ValueError, r"^draft\.rows\[0\] sums to 1\.1; "),
    (run(rule="nope"), ValueError, r"^rule 'nope' is unknown; chain rules: block, .*; step rules: "),
    (run(rule=np), TypeError, r"^rule <module 'numpy'.* is no chain or step rule$"),
    (run(gamma=None), ValueError, r"^give gamma .* or a tree .*, one of the two$"),
    (run(parents=[-1]), ValueError, r"^give gamma .* or a tree .*, one of the two$"),
    (run(gamma=-1), ValueError, r"^gamma must be at least 0, got -1$"),
    (run(gamma=None, parents=[0], rule="traversal"), ValueError, r"^parents\[0\] is 0; a parent is an earlier node"),
    (run(num_drafts=2), ValueError, r"^chain rule 'block' has no num_drafts, got 2$"),
    (run(rule="rejection", num_drafts=2), ValueError, r"^rule 'rejection' does not verify num_drafts=2"),
    (run(scheme="greedy"), ValueError, r"^rule 'block' expects drafts drawn iid, not 'greedy'$"),
    (run(blocks=None), ValueError, r"^give blocks or tokens, one of the two$"),
    (run(tokens=5), ValueError, r"^give blocks or tokens, one of the two$"),
    (run(blocks=0), ValueError, r"^blocks must be at least 1, got 0$"),
    (run(seed=1 << 64), ValueError, r"^seed is 1844674\d*616; the largest that is sensible is 1844674\d*615$"),
    (run(seed=-1), ValueError, r"^seed must be at least 0, got -1$"),
    (run(sequences=0), ValueError, r"^sequences must be at least 1, got 0$"),
    (run(sequences=range(0, 6, 2)), ValueError, r"^sequences must be a range of consecutive numbers from 0 on"),
    (run(sequences=1 << 25), ValueError, r"^sequences must be at most 16777216, of"),
    (run(sequences=1 << 70), ValueError, r"^sequences is 1180591620717411303424; the largest that is sensible is"),
    (run(sequences=range(1 << 60, (1 << 60) + 1)), ValueError, r"^sequences must be at most 16777216, of"),
    (run(burn_in=-1), ValueError, r"^burn_in must be at least 0, got -1$"),
    (run(gamma=1.5), TypeError, r"^gamma must be an integer, got 1\.5$"),
    (run(gamma=None, parents=[], rule="traversal"), ValueError, r"^parents must list those of a tree's .*, got \[\]; "),
    (run(gamma=None, parents=3, rule="traversal"), ValueError, r"^parents must list those of a tree's .*, got 3; "),
    (run(scheme="beam"), ValueError, r"^rule 'block' expects drafts drawn iid, not 'beam', which draws trees"),
    (lambda: conditional_tau(HALF, HALF, rule="traversal", parents=[-1], seed=1 << 64), ValueError, "^seed is 1"),
    (lambda: expected_tokens(HALF, HALF, gamma=-1), ValueError, r"^gamma must be at least 0, got -1$"),
    (run(backend="torch"), ValueError, r"^backend 'torch' is unknown; known: numpy, jax$"),
    (lambda: block_chain(HALF, HALF, rule="block", gamma=40), ValueError, r"^there are 1\.1e\+12 drafts to sum over"),
    (lambda: block_chain(HALF, HALF, rule="block", gamma=1).mean(0), ValueError, r"^blocks must be at least 1, got 0$"),
]  # fmt: skip


def test_a_backend_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ImportError, match=r"^backend 'jax' needs jax: install the extra `jax`"):
        run(backend="jax")()


@pytest.mark.parametrize(("call", "error", "message"), ERRORS, ids=[m[1:40] for _, _, m in ERRORS])
def test_errors_name_what_is_wrong(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
