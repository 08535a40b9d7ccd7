"""SpecTr-GBV as released: its procedure run by hand, one path, what it keeps and at which bias, and what it refuses."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import specsim
from specsim import discover, expected_kept, verify_tree
from specsim.checks import TREE_CHECKS
from specsim.checks.contract import missing
from specsim.exact.chain import strong_law
from specsim.exact.small_laws import rational_table
from specsim.exact.tree import continued_law, kept_law
from specsim.forking import rational
from specsim.trees import depths, enumerate_trees, paths
from specsim.types import TokenTree, TreeRule
from specsim.verify.lossy import naive_hierarchical
from specsim.verify.lossy_tree import spectr_gbv

Array = Any
TOY_P, TOY_Q = (np.array([F(k, 3), F(3 - k, 3)]) for k in (1, 2))


def bias(target: Any, draft: Any, count: int, length: int, rule: Any = spectr_gbv) -> F:
    """Total variation distance from the target over one token more than a path has."""
    trees = enumerate_trees(draft, paths(count, length), scheme="paths")
    law = kept_law(rule, target, trees)
    assert sum(law.values()) == 1
    return sum((abs(made - goal) / 2 for _, made, goal in continued_law(law, target, length + 1)), F(0))


def by_hand(target: Any, draft: Any, tokens: Array) -> dict[tuple[int, ...], F]:
    """P(x^n is kept) for paths (K, L), test by test as the released engine goes through them, failed prefixes noted."""
    count, length = tokens.shape
    vocab = len(target(()))

    def both(text: tuple[int, ...]) -> tuple[F, F]:
        above = below = F(1)
        for i, y in enumerate(text):
            above, below = above * target(text[:i])[y], below * draft(text[:i])[y]
        return above, below

    def covered(text: tuple[int, ...]) -> F:
        above, below = both(text)
        return above * (1 - (1 - min(F(1), below / above)) ** count) if above else F(0)

    def passes(text: tuple[int, ...]) -> F:
        lower = sum((covered((*text, v)) for v in range(vocab)), F(0)) if len(text) < length else F(0)
        there = 1 - (1 - both(text)[1]) ** count - lower
        return (covered(text) - lower) / there if there else F(0)

    states: dict[tuple[tuple[int, ...], frozenset[tuple[int, ...]]], F] = {((), frozenset()): F(1)}
    for path in map(tuple, tokens.tolist()):
        after: dict[Any, F] = {}
        for (kept, failed), weight in states.items():
            prefixes = [path[: i + 1] for i in range(len(kept), length)] if len(kept) < length else []
            tested = [x for x in prefixes if x not in failed or len(x) == length]
            for outcome in product((True, False), repeat=len(tested)):
                chance = weight
                now, lost = kept, set(failed)
                for x, passed in zip(tested, outcome, strict=True):
                    chance *= passes(x) if passed else 1 - passes(x)
                    now = x if passed else now
                    lost |= set() if passed else {x}
                key = now, frozenset(lost)
                after[key] = after.get(key, F(0)) + chance
        states = after
    found: dict[tuple[int, ...], F] = {}
    for (kept, _), weight in states.items():
        found[kept] = found.get(kept, F(0)) + weight
    return found


@pytest.mark.parametrize(("count", "length", "vocab"), [(2, 2, 2), (3, 1, 3), (3, 2, 2), (2, 1, 3), (2, 3, 2)])
def test_what_is_kept_is_what_the_procedure_keeps(count: int, length: int, vocab: int) -> None:
    rng = np.random.default_rng(count + length)
    target, draft = (rational_table(rng, vocab, length).__getitem__ for _ in range(2))
    for tree, q, _ in enumerate_trees(draft, paths(count, length), scheme="paths")[::3]:
        texts = specsim.exact.tree.texts(tree)
        p = np.array([target(text) for text in texts])
        plan = spectr_gbv.prepare(p, q, tree)
        law = spectr_gbv.transition(plan).sum(axis=-1)
        wanted = by_hand(target, draft, tree.tokens.reshape(count, length))
        first = {text: i for i, text in reversed(list(enumerate(texts)))}
        assert all((0 <= x <= 1) for x in plan.tests.ravel())
        assert law.tolist() == [wanted.get(text, F(0)) * (first[text] == i) for i, text in enumerate(texts)]


def test_the_next_token_is_drawn_as_released() -> None:
    """P (1 - min(1, Q/P)^K): of three tokens, two paths; the other power gives another law."""
    p, q = (np.array([F(a, 6) for a in row]) for row in ((3, 2, 1), (1, 1, 4)))
    tree = TokenTree(paths(2, 1), np.array([2, 2]), depths(paths(2, 1)), "paths")
    law = spectr_gbv.transition(spectr_gbv.prepare(np.stack([p] * 3), np.stack([q] * 3), tree))[0]
    left = [a * (1 - min(F(1), b / a) ** 2) for a, b in zip(p, q, strict=True)]
    assert (law / law.sum()).tolist() == [x / sum(left) for x in left]


@pytest.mark.parametrize(("vocab", "length"), [(2, 1), (2, 2), (3, 2), (2, 3)])
def test_one_path_is_naive_hierarchical_verification(vocab: int, length: int) -> None:
    """T41, 2."""
    rng = np.random.default_rng([vocab, length])
    for _ in range(3):
        target, draft = rational_table(rng, vocab, length), rational_table(rng, vocab, length)
        trees = enumerate_trees(draft.__getitem__, paths(1, length), scheme="paths")
        found = kept_law(spectr_gbv, target.__getitem__, trees)
        kept = sum((len(text) - 1) * chance for text, chance in found.items())
        _, wanted = strong_law(naive_hierarchical, target, draft, length)
        assert kept == wanted
        for tree, q, _ in trees:
            p = np.array([target[text] for text in specsim.exact.tree.texts(tree)])
            ours = spectr_gbv.transition(spectr_gbv.prepare(p, q, tree))
            theirs = naive_hierarchical.transition(naive_hierarchical.prepare(p, q[:-1]), tree.tokens)
            assert (ours == theirs).all()


CASES: list[tuple[tuple[Array, Array], int, int, str, str]] = [
    ((TOY_P, TOY_Q), 1, 2, "4/3", "1/9"),
    ((TOY_P, TOY_Q), 1, 3, "50/27", "1/9"),
    ((TOY_P, TOY_Q), 2, 1, "319/400", "7/240"),
    ((TOY_P, TOY_Q), 2, 2, "19079087/13594560", "2633413/40783680"),
    ((TOY_P, TOY_P), 2, 1, "91/100", "13/300"),
    ((TOY_P, np.array([F(1), F(0)])), 2, 1, "5/9", "2/9"),
]


@pytest.mark.parametrize(("pair", "count", "length", "kept", "lost"), CASES)
def test_lengths_and_biases(pair: tuple[Array, Array], count: int, length: int, kept: str, lost: str) -> None:
    """T41: the toy, a draft that is the target, and a draft of one token, of which more than c = 1/3 is kept."""
    p, q = pair
    found = expected_kept(p, q, rule=spectr_gbv, parents=paths(count, length), scheme="paths")
    assert (str(found), str(bias(lambda _: p, lambda _: q, count, length))) == (kept, lost)


def test_the_fitting_residual_does_not_mend_it() -> None:
    """T41, 3: with P (1 - min(1, Q/P))^K, three tokens, two paths of one draft."""

    def prepare(p: Array, q: Array, tree: TokenTree) -> Any:
        plan = spectr_gbv.prepare(p, q, tree)
        left = (p * (1 - spectr_gbv._ratio(p, q)) ** 2)[:, :1]
        return plan._replace(rows=np.concatenate([left, plan.rows[:, 1:]], axis=1))

    p, q = (np.array([F(a, 6) for a in row]) for row in ((3, 2, 1), (1, 1, 4)))
    other = SimpleNamespace(prepare=prepare, transition=spectr_gbv.transition)
    found = [bias(lambda _: p, lambda _: q, 2, 1, rule) for rule in (spectr_gbv, other)]
    assert min(found) > 0
    assert found[0] != found[1]


@pytest.mark.parametrize(("count", "length"), [(0, 0), (1, 1), (2, 2), (3, 1)])
def test_the_sampler_follows_its_law(count: int, length: int) -> None:
    rng = np.random.default_rng(count)
    target, draft = (rational_table(rng, 2, length).__getitem__ for _ in range(2))
    shape = paths(count, length) if count else np.zeros(0, dtype=np.int64)
    for tree, q, _ in enumerate_trees(draft, shape, scheme="paths")[::3]:
        p = np.array([target(text) for text in specsim.exact.tree.texts(tree)])
        plan = spectr_gbv.prepare(p, q, tree)

        def program(fork: rational.Fork, plan: Any = plan, tree: TokenTree = tree) -> tuple[int, int]:
            node, token = spectr_gbv.verify(plan, fork.uniforms(spectr_gbv.uniforms(tree)))
            return int(node), int(token)

        law = np.full(p.shape, F(0))
        for outcome, weight in rational.law(program).items():
            law[outcome] += weight
        assert (spectr_gbv.transition(plan) == law).all()


def test_floats_batches_and_long_paths() -> None:
    """A hundred and twenty tokens of probability 2^-10 each: Q is 0 in float64, its ratio to P is not."""
    small, length, count = 2.0**-10, 120, 2
    p, q = np.array([1 - 2 * small, small, small]), np.array([1 - 1.5 * small, small, small / 2])
    shape = paths(count, length)
    tree = TokenTree(shape, np.ones((3, count * length), dtype=np.int64), depths(shape), "paths")
    rows = [np.tile(w, (3, count * length + 1, 1)) for w in (p, q)]
    plan = spectr_gbv.prepare(*rows, tree)
    one = tree._replace(tokens=tree.tokens[0])
    exact = spectr_gbv.prepare(*(np.array([[F(v) for v in row] for row in w[0]]) for w in rows), one)
    assert np.allclose(plan.tests[1], exact.tests.astype(float), rtol=1e-9, atol=1e-12)
    assert np.allclose(spectr_gbv.transition(plan).sum(axis=(-2, -1)), 1)
    u = np.random.default_rng(0).random((3, count * length + 1))
    assert verify_tree(*rows, tree, u, rule=spectr_gbv).node.shape == (3,)


def test_nobody_meets_it_unasked() -> None:
    assert missing(spectr_gbv, TreeRule) == ""
    assert "spectr_gbv" not in [one for family in discover.FAMILIES for one in discover.names(family)]
    with pytest.raises(ValueError, match=r"^rule 'spectr_gbv' changes the target; expected_kept takes its module, "):
        specsim.guarantee("spectr_gbv")


@pytest.mark.parametrize(
    ("parents", "tokens", "message"),
    [
        ([-1, 0, -1], [0, 0, 0], r"^spectr_gbv verifies paths of equal length, .* not \[-1, 0, -1\]"),
        ([-1, -1], [0, -1], "^spectr_gbv verifies whole paths; a node is absent"),
    ],
)
def test_bad_input(parents: list[int], tokens: list[int], message: str) -> None:
    shape = np.array(parents)
    rows = np.full((len(shape) + 1, 2), 0.5)
    with pytest.raises(ValueError, match=message):
        spectr_gbv.prepare(rows, rows, TokenTree(shape, np.array(tokens), depths(shape), "paths"))


@pytest.mark.parametrize(
    "name",
    [
        *("contract", "batches", "floats_follow_fractions", "transition_is_a_law"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("edges", "same_on_every_backend")),
    ],
)
def test_it_passes_the_checks_of_tree_rules(name: str) -> None:
    TREE_CHECKS[name](spectr_gbv)


def test_the_checks_see_that_it_is_lossy() -> None:
    with pytest.raises(AssertionError, match="has probability"):
        TREE_CHECKS["strongly_lossless"](spectr_gbv)
