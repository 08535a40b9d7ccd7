"""What a text says of trees under lifted rules: in rationals against every tree and outcome, and what is sampled."""

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
from specsim.lengths import lifted_texts
from specsim.lengths.blocks import text_survival
from specsim.trees import chain
from specsim.verify.chain import block

Array = Any
CASES = [(3, (-1, -1, 0)), (3, (-1, 0, 0)), (2, (-1, -1, -1)), (2, (-1, -1, 0, 0, 1)), (2, (-1, -1, -1, 2))]
PARENTS = (-1, -1, 0, 0, 1, 1)


def check_survival(module: ModuleType) -> None:
    for (vocab, parents), seed in itertools.product(CASES, range(2)):
        target, draft, joint = enumerated("lifted", "iid", vocab, parents, seed)
        for text, wanted in joint.items():
            mass = math.prod(target[text[:i]][y] for i, y in enumerate(text))
            if mass:
                found = module.lifted_samples(rows(target, text), rows(draft, text), text, parents)
                assert len(found) == 1
                assert [mass * s for s in found[0, 0]] == wanted


def test_survival_is_that_of_every_tree_and_outcome() -> None:
    check_survival(lifted_texts)


@cache
def small(parents: tuple[int, ...]) -> tuple[Array, Array, Array, Array]:
    """Rows (8, 3) of target and draft, tokens, and the survival in a tree in rationals."""
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 9, (2, 8, 3))
    p, q = (np.array([[Fraction(int(v), int(sum(row))) for v in row] for row in w], dtype=object) for w in counts)
    y = rng.integers(3, size=8)
    wanted = lifted_texts.lifted_samples(p, q, y, parents)[0]
    return p.astype(float), q.astype(float), y, wanted.astype(float)


def check_samples(module: ModuleType, parents: tuple[int, ...] = PARENTS, seed: int = 1) -> None:
    """Sampled siblings are off by their standard error, all starts taken together."""
    (p, q, y, wanted), count = small(parents), 2000
    drawn = module.lifted_samples(p, q, y, parents, samples=count, seed=seed)
    assert drawn.shape == (count, 8, wanted.shape[1])
    off, error = drawn.mean(axis=0) - wanted, drawn.std(axis=0, ddof=1) / count**0.5
    assert (abs(off.sum(axis=0)) < 4 * (error**2).sum(axis=0) ** 0.5).all()
    assert (off**2).sum() < 4 * (error**2).sum()


def test_sampled_siblings_are_off_by_their_error() -> None:
    check_samples(lifted_texts)


def test_of_three_siblings_the_last_may_be_the_first_with_the_token() -> None:
    """Those before it are two that have another: a factor 1 - q(y) for each."""
    check_samples(lifted_texts, (-1, -1, -1), seed=2)


MUTANTS = {
    "equal siblings are called twice": ("(siblings[..., :k] != x[..., None]).all(axis=-1)", "(x == x)"),
    "weights of calls are not handed down": ("np.minimum(handed, 1), reached", "ones[:, :starts], reached"),
    "siblings before never fail to win": ("reached * is_called * at", "reached * at"),
    "weight of a call as if it were the first": ("success / np.where(can_be_called, is_called, 1)", "success"),
    "no failure in the target": ("1 - weight[..., None]], axis", "0 * weight[..., None]], axis"),
    "siblings before may have the token": ("without_y if j < rank else drafts", "drafts"),
    "any place of the token counts": (
        "_chance_of_others(others, part, rank) * not_y**rank",
        "_chance_of_others(others, part, rank)",
    ),
    "not given the token": (
        "accepted = reached * success * at(drafts, token) / p_token",
        "accepted = reached * success * at(drafts, token)",
    ),
    "all levels at one place": ("(w[depths[row] :] for w", "(w[:starts] for w"),
}
SAMPLED = {
    "any place of the token counts": ("np.broadcast_to(not_y**rank, shape)", "np.broadcast_to(0 * not_y + 1, shape)"),
    "flat siblings": ("pick(np.broadcast_to(w, (*shape, w.shape[-1]))", "pick(np.ones((*shape, w.shape[-1]))"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_line_is_seen(name: str) -> None:
    wrong = mutant(lifted_texts, *MUTANTS[name])
    with pytest.raises((AssertionError, ValueError)):
        check_survival(wrong)


@pytest.mark.parametrize("name", SAMPLED)
def test_a_wrong_line_of_the_sampling_is_seen(name: str) -> None:
    wrong = mutant(lifted_texts, *SAMPLED[name])
    with pytest.raises((AssertionError, ValueError)):
        check_samples(wrong)


def test_mean_of_renewal_blocks_is_the_decoder_s() -> None:
    rng, length, parents = np.random.default_rng(4), 4, (-1, -1, 0)
    target, draft = (rational_table(rng, 2, length) for _ in range(2))
    mean = sum(
        weight * renewal(lifted_texts.lifted_samples(rows(target, y), rows(draft, y), y, parents)[0]).blocks
        for y, weight in target_law(target, length).items()
        if weight
    )
    assert mean == calls("lifted", "iid", target, draft, parents, length)


def test_a_path_is_block_verification() -> None:
    rng = np.random.default_rng(2)
    p, q = rng.dirichlet(np.ones(7), (2, 30))
    y = rng.integers(7, size=30)
    wanted = text_survival(block.survival, q[np.arange(30), y] / p[np.arange(30), y], 3)
    found = lifted_texts.lifted_samples(p, q, y, chain(3), samples=2)
    assert np.allclose(found, np.where(np.arange(30)[:, None] + np.arange(3) < 30, wanted, 0), atol=1e-12)


def test_a_step_for_other_siblings_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^rule 'recursive_wor' expects drafts drawn 'without_replacement', not 'iid'"
    ):
        lifted_texts.lifted_samples([[0.5, 0.5]], [[0.9, 0.1]], [0], [-1, -1], step="recursive_wor")
