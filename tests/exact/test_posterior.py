"""Tau from the emitted text alone, for several drafts and for fixed trees; and tau of trees by conditional sampling."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import acceptance_rate, block_chain, discover, markov, renewal, simulate, stationary_tau, trees
from specsim.exact.posterior import hit_posterior, tree_survival
from specsim.simulation import conditional_tau
from specsim.simulation.toys.long_run import long_run
from specsim.simulation.toys.models import Automaton
from specsim.testing.strategies import law_pairs
from specsim.verify.chain import block, tokenwise

Array = Any
LOSSLESS = [n for n, r in discover.rules("step").items() if not discover.facts(r).bias and r.DRAFTS != "independent"]


def markov_pair(vocab: int, seed: int, order: int = 1) -> tuple[Automaton, Automaton]:
    """Target and draft whose laws depend on the last tokens, zeros included, as Fractions."""
    rng = np.random.default_rng(seed)

    def table() -> Array:
        weights = rng.integers(0, 5, (vocab,) * (order + 1)) + np.eye(vocab, dtype=int)
        rows = [[Fraction(int(w), int(row.sum())) for w in row] for row in weights.reshape(-1, vocab)]
        return np.array(rows, dtype=object).reshape(weights.shape)

    return markov(table()), markov(table())


def tau_of_texts(target: Automaton, length: int, survival: Callable[[int, tuple[int, ...]], Array]) -> Fraction:
    """Long-run tau from P(n >= i | text y, a block starts in state s), summed over every text of length + 1 tokens."""
    count, vocab = target.rows.shape
    jump, tau = np.zeros((count, count), dtype=object), np.zeros(count, dtype=object)
    for s, text in itertools.product(range(count), itertools.product(range(vocab), repeat=length + 1)):
        chance, states = Fraction(1), [s]
        for y in text:
            chance *= target.rows[states[-1], y]
            states.append(int(target.step[states[-1], y]))
        if chance:
            at_least = np.concatenate([[Fraction(1)], survival(s, text), [Fraction(0)]])
            for n in range(length + 1):
                mass = chance * (at_least[n] - at_least[n + 1])
                jump[s, states[n + 1]] += mass
                tau[s] += mass * (n + 1)
    share: Fraction = (long_run(jump, target.start) * tau).sum()
    return share


def along(target: Automaton, text: tuple[int, ...], s: int, row: Callable[[int], Array]) -> Array:
    """row(state)[y] at every token of a text that starts in state s."""
    out = []
    for y in text:
        out.append(row(s)[y])
        s = int(target.step[s, y])
    return np.array(out, dtype=object)


@pytest.mark.parametrize("gamma", [1, 3])
@pytest.mark.parametrize("rule", ["tokenwise", "block"])
def test_tau_of_chains_from_texts(rule: str, gamma: int) -> None:
    """theory/latency.md 4b: the renewal law with block verification's survival is the decoder's, in rationals."""
    module = {"tokenwise": tokenwise, "block": block}[rule]
    for seed, order in ((0, 1), (1, 2), (2, 2)):
        target, draft = markov_pair(2, seed, order)

        def ratio(s: int, p: Array = target.rows, q: Array = draft.rows) -> Array:
            return np.array([b / a if a else Fraction(0) for a, b in zip(p[s], q[s], strict=True)], dtype=object)

        found = tau_of_texts(target, gamma, lambda s, y: module.survival(along(target, y, s, ratio)[:gamma]))  # noqa: B023
        assert found == stationary_tau(target, draft, rule=rule, gamma=gamma)


@pytest.mark.parametrize("rule", LOSSLESS)
def test_tau_of_several_drafts_from_texts(rule: str) -> None:
    target, draft = markov_pair(3, seed=1)
    count = 1 if discover.facts(discover.find("step", rule)).counts == (1,) else 2
    b = np.array(
        [hit_posterior(p, q, rule=rule, num_drafts=count) for p, q in zip(target.rows, draft.rows, strict=True)]
    )
    found = tau_of_texts(target, 2, lambda s, y: tokenwise.survival(along(target, y, s, lambda t: b[t])[:2]))
    assert found == stationary_tau(target, draft, rule=rule, gamma=2, num_drafts=count)


def test_posterior_of_another_rule_gives_another_tau() -> None:
    """Negative control: with the posterior of one rule the tau of another is missed."""
    target, draft = markov_pair(3, seed=1)
    b = np.array(
        [hit_posterior(p, q, rule="naive", num_drafts=2) for p, q in zip(target.rows, draft.rows, strict=True)]
    )
    found = tau_of_texts(target, 2, lambda s, y: tokenwise.survival(along(target, y, s, lambda t: b[t])[:2]))
    assert found != stationary_tau(target, draft, rule="recursive", gamma=2, num_drafts=2)


@pytest.mark.parametrize("parents", [[-1], [-1, 0, 1], [-1, -1, 0], [-1, 0, -1, 2, 2]])
def test_tau_of_deterministic_trees_from_texts(parents: list[int]) -> None:
    depth = int(trees.depths(parents).max())
    for seed, order in ((0, 1), (1, 1), (2, 2)):
        target, draft = markov_pair(3, seed, order)

        def drafted(s: int, draft: Automaton = draft) -> Array:
            def model(text: tuple[int, ...]) -> Array:
                for y in text:
                    s_now[0] = int(draft.step[s_now[0], y])
                law, s_now[0] = draft.rows[s_now[0]], s
                return law

            s_now = [s]
            ((tree, _, _),) = trees.enumerate_trees(model, parents, scheme="deterministic")
            return tree.tokens

        def kept(s: int, text: tuple[int, ...], drafted: Any = drafted) -> Array:
            tokens = np.stack([drafted(s)] + [np.full(len(parents), -1)] * (len(text) - 1))
            return np.array([Fraction(int(v)) for v in tree_survival(parents, tokens, np.array(text))[0]], dtype=object)

        found = tau_of_texts(target, depth, kept)
        assert found == stationary_tau(target, draft, rule="target_only", parents=parents, scheme="deterministic")


def test_renewal_counts_the_calls_of_a_tree_decoder() -> None:
    """One text by hand: trees that hold two, none and one of its next tokens."""
    rows = tree_survival([-1, 0, -1], [[1, 2, 5], [7, 7, 7], [3, 3, 9], [9, 9, 4]], [1, 2, 3, 4])
    assert rows.tolist() == [[1, 1], [0, 0], [1, 0], [1, 0]]
    assert renewal(rows).blocks == 2  # tokens 1, 2, 3 in one call, 4 in the next
    deep = tree_survival([-1, 0, 1, 2, 3], [[1, 2, 3, 4, 5], [2, 3, 4, 5, 6], [9, 9, 9, 9, 9]], [1, 2, 3])
    assert deep.tolist() == [[1, 1, 1, 0, 0], [1, 1, 0, 0, 0], [0] * 5]  # a text that ends before its tree
    absent = tree_survival([-1, 0], [[5, -1], [6, -1]], [5, 6])
    assert absent.tolist() == [[1, 0], [1, 0]]  # nor is a node that is absent the token that a text lacks


@given(st.integers(1, 4).flatmap(law_pairs))
def test_posterior_of_one_draft_is_the_clipped_ratio(pair: tuple[Array, Array]) -> None:
    p, q = pair
    wanted = [min(Fraction(1), b / a) if a else Fraction(0) for a, b in zip(p, q, strict=True)]
    assert hit_posterior(p, q, rule="rejection").tolist() == wanted


@given(st.integers(1, 3).flatmap(law_pairs))
def test_posterior_averages_to_the_acceptance(pair: tuple[Array, Array]) -> None:
    p, q = pair
    for rule in ("recursive", "kseq", "optimal"):
        b = hit_posterior(p, q, rule=rule, num_drafts=2)
        assert (p * b).sum() == acceptance_rate(p, q, rule=rule, num_drafts=2)


@pytest.mark.parametrize(
    ("rule", "scheme", "shape"),
    [
        ("traversal", "without_replacement", [-1, -1, 0, 1]),
        ("lifted", "iid", [-1, -1, 0, 0]),
        ("multipath_block", "paths", trees.paths(2, 2).tolist()),
        ("tokenwise", "iid", [-1, -1, 0, 1]),
    ],
)
def test_conditional_tau(rule: str, scheme: str, shape: list[int]) -> None:
    """The 99.9 % interval holds the exact value; where contexts play no part it is narrower than that of simulation."""
    what: dict[str, Any] = {"rule": rule, "parents": shape, "scheme": scheme}
    target, draft = markov_pair(2, seed=12, order=2)
    exact = float(block_chain(target, draft, **what).mean(blocks=100))
    floats = [Automaton(m.rows.astype(float), m.step, m.start) for m in (target, draft)]
    found = conditional_tau(*floats, **what, blocks=25_600, level=0.999)
    assert found.blocks == 25_600
    assert found.low < exact < found.high
    found = conditional_tau([1 / 3, 2 / 3], [2 / 3, 1 / 3], **what, level=0.999)
    low, high = simulate([1 / 3, 2 / 3], [2 / 3, 1 / 3], **what, blocks=10_000).tau_interval(0.999)
    assert found.high - found.low < 0.8 * (high - low)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"tokens must have shape \(T, n\) = \(3, 2\)"):
        tree_survival([-1, 0], [[1, 2]], [1, 2, 3])
    with pytest.raises(ValueError, match="sequences must be at least 2, got 1"):
        conditional_tau([0.5, 0.5], [0.5, 0.5], rule="traversal", parents=[-1], sequences=1)


def test_lossy_rules_have_no_posterior() -> None:
    with pytest.raises(ValueError, match=r"^rule 'greedy' is lossy: .* differs from p\[1\] by TV 0\.5$"):
        hit_posterior([[1.0, 0.0], [0.5, 0.5]], [[0.9, 0.1]] * 2, rule="greedy")
    assert hit_posterior([[1.0, 0.0]], [[0.9, 0.1]], rule="greedy").tolist() == [[0.9, 0.0]]  # greedy decoding
    nearly = [Fraction(10**7 - 1, 10**7), Fraction(1, 10**7)]  # no rounding among Fractions: any bias is one
    with pytest.raises(ValueError, match=r"^rule 'greedy' is lossy: its token's law differs from p by TV 1e-07$"):
        hit_posterior(nearly, [Fraction(9, 10), Fraction(1, 10)], rule="greedy")
