"""Stochastic beam search: its law in rationals, the Gumbel sampler against it, and what makes RSD-S lossless."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from specsim import beam_tree, trees
from specsim.base.arrays import row_at
from specsim.checks import backends
from specsim.draft import without_replacement
from specsim.exact.chain import target_law
from specsim.exact.small_laws import rational_table
from specsim.testing import assert_law
from specsim.trees import beam
from specsim.verify.hits import draft_tuples
from specsim.verify.step import recursive_wor

Array = Any
Table = dict[tuple[int, ...], Array]
FLAT = {t: np.array([Fraction(v, 10) for v in w]) for t, w in {(): (5, 3, 2), (0,): (1, 6, 3), (1,): (4, 4, 2)}.items()}
FLAT[(2,)] = np.array([Fraction(1, 10), Fraction(1, 10), Fraction(8, 10)])


def exact_tables(count: int) -> list[Table]:
    """Two levels of three tokens: one table without zeros, the others random with some."""
    return [FLAT, *(rational_table(np.random.default_rng(seed), 3, 1) for seed in range(count - 1))]


def texts_of(tree: Any) -> list[tuple[int, ...]]:
    """The text of every node, the root's first."""
    texts: list[tuple[int, ...]] = [()]
    for parent, token in zip(tree.parents.tolist(), tree.tokens.tolist(), strict=True):
        texts.append((*texts[parent + 1], token))
    return texts


@pytest.mark.parametrize("width", [1, 2, 3])
def test_every_level_is_drawn_without_replacement_from_the_sequences(width: int) -> None:
    """The exact law of each level, in order, is that of draws without replacement; W = 1 is plain sampling."""
    for table in exact_tables(3):
        law = trees.enumerate_beams(table.__getitem__, width=width, depth=2)
        assert sum(weight for *_, weight in law) == 1
        for length in (1, 2):
            texts = target_law(table, length)
            row, names = np.array(list(texts.values())), list(texts)
            size = min(width, int((row > 0).sum()))
            found: dict[Any, Any] = {}
            for tree, q, weight in law:
                assert len(q) == len(trees.check(tree, 3).parents) + 1
                level = tuple(t for t in texts_of(tree) if len(t) == length)
                found[level] = found.get(level, 0) + weight
            for tokens in itertools.permutations(range(len(row)), size):
                wanted = without_replacement.probability(row, np.array(tokens), size)
                assert found.get(tuple(names[t] for t in tokens), 0) == wanted


def test_siblings_are_draws_without_replacement_whatever_the_shape() -> None:
    """Given that a node has a k-th child and the siblings before it, the child is a draw from q without those.

    What makes recursive rejection lossless on these trees: the first child's marginal is q.
    """
    for table in exact_tables(4):
        seen: dict[Any, dict[int, Any]] = {}
        for tree, _, weight in trees.enumerate_beams(table.__getitem__, width=3, depth=2):
            texts = texts_of(tree)
            for row, siblings in enumerate(trees.children(tree.parents)):
                tokens = tuple(int(tree.tokens[i]) for i in siblings)
                for k, token in enumerate(tokens):
                    counts = seen.setdefault((texts[row], tokens[:k]), {})
                    counts[token] = counts.get(token, 0) + weight
        assert len(seen) > 4
        for (text, before), counts in seen.items():
            q = table[text]
            for token in before:
                q = without_replacement.without(q, np.asarray(token))
            total = sum(counts.values())
            assert [counts.get(v, 0) / total for v in range(3)] == q.tolist()


def walked(table: Table, target: Table, drafted: Any, order: Any = None) -> dict[tuple[int, ...], Any]:
    """Law of the text that recursive rejection without replacement emits on one tree, walking from the root."""
    tree, q = drafted
    below, law = trees.children(tree.parents), {}

    def walk(row: int, text: tuple[int, ...], weight: Any) -> None:
        siblings = below[row]
        if not siblings:
            for y, w in enumerate(target[text]):
                law[(*text, y)] = law.get((*text, y), 0) + weight * w
            return
        children = np.array([int(tree.tokens[i]) for i in siblings])
        if order is not None:
            children = children[np.argsort(order(q[row])[children], kind="stable")]
        plan = recursive_wor.prepare(target[text], q[row], len(children))
        node_of = {int(tree.tokens[i]): i for i in siblings}
        for y, w in enumerate(recursive_wor.transition(plan, children)):
            if w and y in node_of:
                walk(node_of[y] + 1, (*text, y), weight * w)
            elif w:
                law[(*text, y)] = law.get((*text, y), 0) + weight * w

    walk(0, (), 1)
    return law


def loss(table: Table, target: Table, order: Any = None) -> Any:
    """Total variation of one block on RSD-S trees, continued by the target to three tokens, from the target's law."""
    law: dict[Any, Any] = {}
    for tree, q, weight in trees.enumerate_beams(table.__getitem__, width=2, depth=2):
        for text, w in walked(table, target, (tree, q), order).items():
            for rest in itertools.product(range(3), repeat=3 - len(text)):
                full = text + rest
                tail = math.prod([target[full[:i]][full[i]] for i in range(len(text), 3)])
                law[full] = law.get(full, 0) + weight * w * tail
    goal = target_law(target, 3)
    return sum(abs(law.get(text, 0) - mass) for text, mass in goal.items()) / 2


def test_recursive_rejection_is_lossless_on_beam_trees() -> None:
    """Exactly, though the shape depends on the draws; not if siblings are tried by probability instead."""
    for seed, table in enumerate(exact_tables(3)):
        target = rational_table(np.random.default_rng(seed + 20), 3, 2)
        assert loss(table, target) == 0
    assert loss(FLAT, target, order=lambda q: -q) > 0


SAMPLES = 60_000


def sampled_trees(width: int) -> tuple[Array, Array]:
    """Trees of the Gumbel sampler as numbers of outcomes, and the exact law of those outcomes."""
    law = trees.enumerate_beams(FLAT.__getitem__, width=width, depth=2)
    codes = [tuple(texts_of(tree)) for tree, *_ in law]
    table = {text: row.astype(float) for text, row in FLAT.items()}

    def model(text: tuple[Any, ...]) -> Array:
        return np.array([table[(v,)] for v in range(3)])[text[0]] if text else table[()]

    u = np.random.default_rng(width).random((SAMPLES, trees.beam_uniforms(width, 2, 3)))
    one, two = beam.beams(model, u, width=width, depth=2)
    first = np.take_along_axis(one.tokens, two.parents, axis=-1)
    rows, numbers = np.unique(np.concatenate([one.tokens, first, two.tokens], axis=-1), axis=0, return_inverse=True)
    outcome = []
    for row in rows.tolist():
        a, b, c = row[:width], row[width : 2 * width], row[2 * width :]
        code = ((), *((v,) for v in a), *zip(b, c, strict=True))
        outcome.append(codes.index(code) if code in codes else len(codes))
    weights = [float(weight) for *_, weight in law]
    return np.array(outcome)[numbers], np.array([*weights, 0.0])


@pytest.mark.parametrize("width", [1, 2, 3])
def test_gumbel_sampler_draws_the_exact_law_of_trees(width: int) -> None:
    """Whole trees, shape and order included: false-alarm rate 1e-9; detects a distance of 0.12."""
    numbers, law = sampled_trees(width)
    test = assert_law(numbers, law, false_alarm=1e-9)
    assert test.detectable < 0.12


def test_without_conditioning_the_law_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh noise on every level forgets the parent's score: the check above sees it. So does unsorted noise."""
    monkeypatch.setattr(beam, "condition_maximum", lambda perturbed, score: perturbed)
    with pytest.raises(AssertionError, match="from the claimed law"):
        assert_law(*sampled_trees(2), false_alarm=1e-9)
    monkeypatch.setattr(beam, "condition_maximum", lambda perturbed, score: perturbed + score)
    with pytest.raises(AssertionError, match="from the claimed law"):
        assert_law(*sampled_trees(2), false_alarm=1e-9)


def test_conditioning_is_the_formula_and_stays_finite() -> None:
    """Against 60 digits to 1e-12; where exponentials overflow, and at the maximiser, the plain formula has no value."""
    rng = np.random.default_rng(0)
    perturbed, score = rng.normal(0, 5, (200, 4)), rng.normal(0, 5, (200, 1))
    moved = beam.condition_maximum(perturbed, score)
    with localcontext() as context:
        context.prec = 60
        for row, (bound,), found in zip(perturbed.tolist(), score.tolist(), moved.tolist(), strict=True):
            shift = (-Decimal(bound)).exp() - (-Decimal(max(row))).exp()
            wanted = [float(-(shift + (-Decimal(v)).exp()).ln()) for v in row]
            assert found == pytest.approx(wanted, abs=1e-12, rel=1e-12)
    assert (moved.max(axis=-1) == score[:, 0]).all()
    far, low = np.array([-900.0, -1000.0, -np.inf]), np.array([-2000.0])
    found = beam.condition_maximum(far, low)
    assert found[0] == -2000
    assert np.isfinite(found[:2]).all()
    assert found[2] == -np.inf
    with np.errstate(all="ignore"):
        plain = -np.log(np.exp(-low) - np.exp(-far.max()) + np.exp(-far))
    assert np.isnan(plain).any()


def test_every_uniform_serves_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels that shared their noise would draw each tree of three levels and more with another probability."""
    used, honest = list[Array](), beam.gumbel_noise

    def gumbel(u: Array) -> Array:
        used.append(u.ravel())
        return honest(u)

    monkeypatch.setattr(beam, "gumbel_noise", gumbel)
    u = np.random.default_rng(0).random(trees.beam_uniforms(2, 4, 3))
    trees.beam_tree(lambda text: np.array([0.5, 0.3, 0.2]), u, width=2, depth=4)
    assert np.concatenate(used).tolist() == u.tolist()


def test_gumbel_top_k_is_without_replacement() -> None:
    """False-alarm rate 1e-9, detects a distance of 0.05; beyond the support the last token repeats."""
    q = np.array([0.4, 0.3, 0.2, 0.1, 0.0])
    found = trees.gumbel_top_k(q, np.random.default_rng(0).random((60_000, 5)), 2)
    tuples = draft_tuples(5, 2)
    assert_law(found @ [5, 1], without_replacement.probability(q, tuples, 2), false_alarm=1e-9)
    assert trees.gumbel_top_k(np.array([0.0, 1.0, 0.0]), np.array([0.9, 0.0, 0.9]), 3).tolist() == [1, 1, 1]
    half = trees.gumbel_top_k(np.array([0.5, 0.0, 0.5]), np.array([0.0, 0.9, 1 - 2.0**-53]), 3)
    assert half.tolist() == [2, 0, 0]


def test_same_beams_on_every_backend() -> None:
    rng = np.random.default_rng(3)

    def kernel(table: Array, u: Array) -> Array:
        def model(text: tuple[Any, ...]) -> Array:
            return row_at(table, text[-1]) if text else table[..., 0, :]

        levels = beam.beams(model, u, width=2, depth=2)
        return levels[0].tokens + 4 * levels[1].parents + 16 * levels[1].tokens

    rows, u = rng.dirichlet(np.ones(3), (32, 3)), rng.random((32, trees.beam_uniforms(2, 2, 3)))
    runs = backends.backends(kernel)
    runs.pop("jax", None)  # compiles operation by operation what jax.jit runs as well: five seconds
    for name, run in runs.items():
        assert (np.asarray(run(rows, u)) == kernel(rows, u)).all(), name


def test_trees_of_a_batch_are_the_trees_of_its_rows() -> None:
    """And a beam wider than the texts that exist holds those that do; scores fall within a level."""
    table = {text: row.astype(float) for text, row in rational_table(np.random.default_rng(2), 2, 2).items()}
    table[()] = np.array([1.0, 0.0])
    u = np.random.default_rng(0).random(trees.beam_uniforms(5, 3, 2))
    drafted = beam_tree(table.__getitem__, u, width=5, depth=3)
    texts = texts_of(trees.check(drafted.tree, 2))
    assert len(texts) == len(set(texts))
    for length in (1, 2, 3):
        possible = [t for t, mass in target_law(table, length).items() if mass > 0]
        assert sorted(t for t in texts if len(t) == length) == possible[:5]
    for row, text in zip(drafted.q, texts, strict=True):
        assert len(text) == 3 or (row == table[text]).all()
    for level in beam.beams(table.__getitem__, u, width=5, depth=3):
        alive = level.tokens >= 0
        assert (np.diff(level.score[alive]) <= 0).all()
        assert np.isneginf(level.score[~alive]).all()


def test_bad_input() -> None:
    def model(text: Any) -> Array:
        return np.array([0.5, 0.5])

    for width, depth, message in ((0, 1, "^width must be at least 1, got 0$"), (1, 0, "^depth must be at least 1")):
        with pytest.raises(ValueError, match=message):
            beam_tree(model, np.zeros(2), width=width, depth=depth)
    with pytest.raises(ValueError, match=r"^u has shape \(3,\); this rule needs \(2,\)$"):
        beam_tree(model, np.zeros(3), width=1, depth=1)
    with pytest.raises(ValueError, match=r"^u has shape \(1, 2\); one tree takes one row"):
        beam_tree(model, np.zeros((1, 2)), width=1, depth=1)
    with pytest.raises(TypeError, match=r"^stochastic beams need log and exp: give laws of floats"):
        beam_tree(lambda text: np.array([Fraction(1, 2)] * 2), np.zeros(2), width=1, depth=1)
