"""What a text says of trees under traversal: in rationals against every tree and every outcome, and what is sampled."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers.enumerated_trees import calls, enumerated, mutant, rows

from specsim import renewal
from specsim.exact.chain import target_law
from specsim.exact.small_laws import rational_table
from specsim.lengths import traversal_texts
from specsim.lengths.blocks import text_survival
from specsim.trees import chain
from specsim.verify.chain import block

Array = Any
WITHOUT = "without_replacement"
CASES = [  # V, parents: branches at every level, three siblings, and more than V can give
    (3, (-1, -1, 0)),
    (2, (-1, -1, -1, 0, 1, 3)),
    (3, (-1, -1, 0, 0, 1)),
    (3, (-1, -1, -1, 1)),
    (3, (-1, 0, 0)),
    (3, (-1, 0, 0, 1)),
]


def check_survival(module: ModuleType, rule: str = "traversal") -> None:
    for (vocab, parents), seed in itertools.product(CASES, (2, 3)):
        target, draft, joint = enumerated(rule, WITHOUT, vocab, parents, seed)
        for text, wanted in joint.items():
            mass = math.prod(target[text[:i]][y] for i, y in enumerate(text))
            if mass:
                found = module.text_survival_traversal(rows(target, text), rows(draft, text), text, parents)
                assert all(isinstance(v, (int, Fraction)) for v in found.survival.flat)
                assert [mass * s for s in found.survival[0]] == wanted
                assert not found.error.any()


@pytest.mark.parametrize("rule", ["traversal", "lifted"])
def test_survival_is_that_of_every_tree_and_outcome(rule: str) -> None:
    check_survival(traversal_texts, rule)


@cache
def small() -> tuple[Array, Array, Array, Array]:
    """Rows (12, 4) of target and draft, tokens, and the survival in a tree of ten nodes in rationals."""
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 9, (2, 12, 4))
    p, q = (np.array([[Fraction(int(v), int(sum(row))) for v in row] for row in w], dtype=object) for w in counts)
    y = rng.integers(4, size=12)
    wanted = traversal_texts.text_survival_traversal(p, q, y, PARENTS).survival
    return p.astype(float), q.astype(float), y, wanted.astype(float)


PARENTS = (-1, -1, -1, 0, 0, 1, 1, 2, 3, 3)


def check_samples(module: ModuleType) -> None:
    """Sampled siblings are off by their standard error, all starts taken together."""
    (p, q, y, wanted), count = small(), 500
    drawn = module.traversal_samples(p, q, y, PARENTS, samples=count, seed=1)
    assert drawn.shape == (count, 12, 3)
    off, error = drawn.mean(axis=0) - wanted, drawn.std(axis=0, ddof=1) / count**0.5
    assert (abs(off.sum(axis=0)) < 1e-12 + 4 * (error**2).sum(axis=0) ** 0.5).all()
    assert (off**2).sum() > (error**2).sum() / 8
    told = module.text_survival_traversal(p, q, y, PARENTS, samples=count, seed=1)
    assert np.allclose(told.survival, traversal_texts.fitted(drawn.mean(axis=0)), rtol=0, atol=1e-12)
    inside = drawn.mean(axis=0)[:, 0] < 0.9
    assert np.allclose(told.error[inside, 0], error[inside, 0], rtol=0, atol=1e-9)


def test_sampled_siblings_are_off_by_their_error() -> None:
    check_samples(traversal_texts)


MUTANTS = {
    "every call has weight 1": ("target_mass, drawn = weight * at", "target_mass, drawn = at"),
    "weights of calls are not handed down": ("calls[node + 1] = handed,", "calls[node + 1] = ones[:, :starts],"),
    "the child's own weight is forgotten": ("accepted = handed * calls", "accepted = calls"),
    "not given the token": ("reach * drawn / p_token", "reach * drawn"),
    "weight stays when a sibling fails": ("mass / np.where(is_full, 1, mass + (1 - weight))", "weight"),
    "target stays when a sibling fails": ("normalize_or(left_over, target)", "target"),
    "left over of p, not of a p": ("= positive_part(scaled - draft)", "= positive_part(target - draft)"),
    "failures of p, not of a p": ("positive_part(draft - scaled))", "positive_part(draft - target))"),
    "siblings with replacement": ("without(draft, np.full(weight.shape, x))", "draft"),
    "all levels at one place": ("(w[depths[row] :] for w", "(w[:starts] for w"),
}
SAMPLED = {
    "failures of weight 1": ("reach * failed.sum(axis=-1)", "reach"),
    "siblings drawn from q": ("pick(failed, random", "pick(draft, random"),
    "sampled siblings with replacement": ("target, without(draft, x)", "target, draft"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_line_is_seen(name: str) -> None:
    wrong = mutant(traversal_texts, *MUTANTS[name])
    with pytest.raises((AssertionError, ValueError)):
        check_survival(wrong)


@pytest.mark.parametrize("name", SAMPLED)
def test_a_wrong_line_of_the_sampling_is_seen(name: str) -> None:
    wrong = mutant(traversal_texts, *SAMPLED[name])
    with pytest.raises((AssertionError, ValueError)):
        check_samples(wrong)


@pytest.mark.parametrize(("vocab", "length", "parents"), [(2, 4, (-1, -1, 0)), (3, 3, (-1, -1, 0, 1))])
def test_mean_of_renewal_blocks_is_the_decoder_s(vocab: int, length: int, parents: tuple[int, ...]) -> None:
    rng = np.random.default_rng([vocab, length])
    target, draft = (rational_table(rng, vocab, length) for _ in range(2))
    mean = sum(
        weight
        * renewal(traversal_texts.text_survival_traversal(rows(target, y), rows(draft, y), y, parents).survival).blocks
        for y, weight in target_law(target, length).items()
        if weight
    )
    assert mean == calls("traversal", WITHOUT, target, draft, parents, length)


def test_a_path_is_block_verification() -> None:
    rng = np.random.default_rng(2)
    p, q = rng.dirichlet(np.ones(7), (2, 30))
    y = rng.integers(7, size=30)
    p[3] = np.eye(7)[(y[3] + 1) % 7]  # rounding: the target gives its own token nothing
    there = p[np.arange(30), y], q[np.arange(30), y]
    wanted = text_survival(block.survival, np.where(there[0] > 0, there[1] / np.where(there[0] > 0, there[0], 1), 1), 3)
    found = traversal_texts.text_survival_traversal(p, q, y, chain(3))
    assert np.allclose(found.survival, np.where(np.arange(30)[:, None] + np.arange(3) < 30, wanted, 0), atol=1e-12)
    assert np.allclose(found.error, 0, atol=1e-12)


def test_what_cannot_be_summed_is_refused() -> None:
    law = np.array([[Fraction(1, 50)] * 50], dtype=object)
    with pytest.raises(ValueError, match=r"^50\^3 orders of failed siblings are too many to sum over in Fractions"):
        traversal_texts.text_survival_traversal(law, law, [0], [-1, -1, 1, 1, 1])
