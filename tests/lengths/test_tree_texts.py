"""What a text says of trees: in rationals against every tree and every outcome of the walk, and what is sampled."""

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
from specsim.lengths import tree_texts
from specsim.lengths.blocks import text_survival
from specsim.trees import chain, k_ary
from specsim.verify.chain import tokenwise as chain_tokenwise

Array = Any
CASES = [  # scheme, V, parents: ranks 1 to 4, branches at every level, other numbers of children at one depth
    ("iid", 3, (-1, -1, 0)),
    ("iid", 2, (-1, -1, -1, 0, 0, 1)),
    ("iid", 3, (-1, 0, 0, 0)),
    ("without_replacement", 3, (-1, -1, 0, 0)),
    ("without_replacement", 3, (-1, -1, -1, 0, 1, 2)),
    ("without_replacement", 3, (-1, -1, -1, 0, 0, 0)),
    ("without_replacement", 4, (-1, -1, -1, -1)),
    ("deterministic", 3, (-1, -1, 0, 0, 1)),
]


def check_survival(module: ModuleType) -> None:
    for (scheme, vocab, parents), seed in itertools.product(CASES, range(3)):
        target, draft, joint = enumerated("tokenwise", scheme, vocab, parents, seed)
        for text, wanted in joint.items():
            mass = math.prod(target[text[:i]][y] for i, y in enumerate(text))
            if mass:
                found = module.text_survival_tree(rows(target, text), rows(draft, text), text, parents, scheme=scheme)
                assert all(isinstance(v, (int, Fraction)) for v in found.survival.flat)
                assert [mass * s for s in found.survival[0]] == wanted
                assert not found.error.any()


@cache
def small() -> tuple[Array, Array, Array, Array]:
    """Rows (30, 5) of target and draft, tokens, and b of four ranks in rationals."""
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 9, (2, 30, 5))
    p, q = (np.array([[Fraction(int(v), int(sum(row))) for v in row] for row in w], dtype=object) for w in counts)
    y = rng.integers(5, size=30)
    wanted = tree_texts.acceptance_by_rank(p, q, y, 4, scheme="without_replacement")[0]
    return p.astype(float), q.astype(float), y, wanted.astype(float)


def check_samples(module: ModuleType) -> None:
    """Ranks 3 and 4 by sampled siblings are off by their standard error, all positions taken together."""
    (p, q, y, wanted), count = small(), 400
    drawn = module.acceptance_by_rank(p, q, y, 4, scheme="without_replacement", samples=count, seed=1)
    assert drawn.shape == (count, 30, 4)
    assert np.allclose(drawn[..., :2], wanted[:, :2], rtol=0, atol=1e-12)  # ranks 1 and 2 are sums
    error, off = drawn.std(axis=0, ddof=1)[:, 2:] / count**0.5, (drawn.mean(axis=0) - wanted)[:, 2:]
    assert (abs(off.sum(axis=0)) < 4 * (error**2).sum(axis=0) ** 0.5).all()  # errors of positions are independent
    assert (off**2).sum() > (error**2).sum() / 4  # and not smaller than they are said to be
    told = module.text_survival_tree(p, q, y, k_ary((4,)), scheme="without_replacement", samples=count, seed=1)
    total = drawn.mean(axis=0).sum(axis=-1)
    assert np.allclose(told.survival[:, 0], np.minimum(total, 1), rtol=0, atol=1e-12)
    spread = drawn.sum(axis=-1).std(axis=0, ddof=1) / count**0.5
    assert np.allclose(told.error[:, 0][total < 0.95], spread[total < 0.95], rtol=0, atol=1e-9)


def test_survival_is_that_of_every_tree_and_outcome() -> None:
    check_survival(tree_texts)


def test_sampled_ranks_are_off_by_their_error() -> None:
    check_samples(tree_texts)


MUTANTS = {
    "reach of later siblings": ("reached * excess.sum(axis=-1), normalize_or", "reached, normalize_or"),
    "i.i.d. left over, not a law": ("normalize_or(excess, row)\n", "excess\n"),
    "the draft keeps its mass": (
        "at(q, y)[:, None] / np.where(has_rest, rest, 1 + 0 * rest)",
        "at(q, y)[:, None]",
    ),
    "second sibling against p": ("np.minimum(at(left_over, y)[:, None], _", "np.minimum(at(p, y)[:, None], _"),
    "first sibling fails always": ("0 * q, positive_part(q - p))", "0 * q, q)"),
    "third sibling with replacement": ("without(q, x), y", "q, y"),
    "third sibling against r_1": ("_later_ranks(left_over, q, x + 0 * y", "_later_ranks(p, q, x + 0 * y"),
    "all levels at one place": ("b[..., depth - 1 :, rank]", "b[..., : max(b.shape[-2] - depth + 1, 0), rank]"),
    "every child is a first one": ("depth - 1 :, rank]", "depth - 1 :, 0]"),
    "node before, not parent": ("here * reach[parent]", "here * reach[-1]"),
    "one node of a depth": ("rows[..., depth - 1] + reach[-1]", "reach[-1]"),
    "not given the token": ("joint / np.where(is_known, p, 1 + 0 * p)[:, None]", "joint"),
    "the target's likeliest": ("likeliest(q, k)", "likeliest(p, k)"),
}
SAMPLED = {
    "failures of weight 1": ("mass[:, None] * _later_ranks", "_later_ranks"),
    "siblings drawn from q": ("pick(failed, random", "pick(q, random"),
    "one draw for all samples": ("random.random(len(y))", "np.random.default_rng(0).random(len(y))"),
    "a deviation for an error": ("((len(without) - 1) * without.var(axis=0))", "without.var(axis=0)"),
    "the mean of all but one": ("/ (len(ranks) - 1)", "/ len(ranks)"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_line_is_seen(name: str) -> None:
    wrong = mutant(tree_texts, *MUTANTS[name])
    with pytest.raises((AssertionError, ValueError)):
        check_survival(wrong)


@pytest.mark.parametrize("name", SAMPLED)
def test_a_wrong_line_of_the_sampling_is_seen(name: str) -> None:
    wrong = mutant(tree_texts, *SAMPLED[name])
    with pytest.raises((AssertionError, ValueError)):
        check_samples(wrong)


@pytest.mark.parametrize("scheme", ["iid", "without_replacement"])
@pytest.mark.parametrize(("vocab", "length", "parents"), [(2, 4, (-1, -1, 0)), (3, 3, (-1, -1, 0, 1)), (2, 3, (-1, 0))])
def test_mean_of_renewal_blocks_is_the_decoder_s(
    scheme: str, vocab: int, length: int, parents: tuple[int, ...]
) -> None:
    """Over all texts of the target, in rationals; near the end a tree is cut to the levels that count."""
    rng = np.random.default_rng([vocab, length])
    target, draft = (rational_table(rng, vocab, length) for _ in range(2))
    mean = sum(
        weight
        * renewal(
            tree_texts.text_survival_tree(rows(target, y), rows(draft, y), y, parents, scheme=scheme).survival
        ).blocks
        for y, weight in target_law(target, length).items()
        if weight
    )
    assert mean == calls("tokenwise", scheme, target, draft, parents, length)


def test_a_path_is_a_chain() -> None:
    """Under any scheme of draws, and where rounding left a token of the text no probability."""
    rng = np.random.default_rng(2)
    p, q = rng.dirichlet(np.ones(7), (2, 30))
    y = rng.integers(7, size=30)
    p[3], q[4] = np.eye(7)[(y[3] + 1) % 7], np.eye(7)[(y[4] + 1) % 7]
    there = p[np.arange(30), y], q[np.arange(30), y]
    ratio = np.where(there[0] > 0, there[1] / np.where(there[0] > 0, there[0], 1), 1.0)
    wanted = text_survival(chain_tokenwise.survival, ratio, 3)
    for scheme in ("iid", "without_replacement"):
        found = tree_texts.text_survival_tree(p, q, y, chain(3), scheme=scheme)
        assert np.allclose(found.survival, np.where(np.arange(30)[:, None] + np.arange(3) < 30, wanted, 0), atol=1e-12)
        assert renewal(found.survival).blocks == pytest.approx(renewal(wanted).blocks)


def test_mass_that_cancels_is_summed() -> None:
    """Without replacement after a first sibling of nearly all mass: 1 - q_x is rounding, the sum of the rest is not."""
    q = np.array([[1 - 3e-18, 2e-18, 1e-18]])
    p = np.array([[0.5, 0.25, 0.25]])
    ranks = tree_texts.acceptance_by_rank(p, q, [1], 2, scheme="without_replacement")[0, 0]
    assert ranks[1] == pytest.approx(0.5 * 0.5 / 0.25)  # x fails half the time; then y has 1/2 of r_2 and 2/3 of q_2


def test_where_rounding_left_nothing_the_first_child_counts() -> None:
    """The target wrote a token to which p, in another block size, gives nothing: only if the draft knows it."""
    for q, wanted in (([0.5, 0.5], [1, 0, 0]), ([1.0, 0.0], [0, 0, 0])):
        assert tree_texts.acceptance_by_rank([[1.0, 0.0]], [q], [1], 3)[0, 0].tolist() == wanted


def test_a_tree_without_nodes_keeps_nothing() -> None:
    found = tree_texts.text_survival_tree([[0.5, 0.5]] * 3, [[0.9, 0.1]] * 3, [0, 1, 1], [])
    assert (found.survival.shape, found.error.shape) == ((3, 0), (3, 0))
    assert renewal(found.survival).blocks == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scheme": "paths"}, "no exact law given the text is known for trees of scheme 'paths', only iid, without"),
        ({"step": "optimal"}, "no exact law given the text is known for step 'optimal' on 'iid', only 'recursive'"),
        ({"y": [0]}, r"y must have shape \(2,\), as p and q have rows, got \(1,\)"),
        ({"y": [0, 7]}, r"y\[1\] is token 7, outside the vocabulary 0..1"),
        ({"p": [0.5, 0.5], "q": [0.5, 0.5]}, r"p and q must have a row for each token of the text, \(T, V\)"),
        ({"q": [[0.5, 0.6]] * 2}, r"q\[0\] sums to 1.1"),
        ({"parents": [0]}, r"parents\[0\] is 0; a parent is an earlier node"),
        ({"samples": 0}, "samples must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"p": [[0.5, 0.5]] * 2, "q": [[0.9, 0.1]] * 2, "y": [0, 1], "parents": [-1, -1]}
    with pytest.raises(ValueError, match=f"^{message}"):
        tree_texts.text_survival_tree(**good | change)


def test_fractions_that_cannot_be_summed_are_refused() -> None:
    law = np.array([[Fraction(1, 50)] * 50], dtype=object)
    with pytest.raises(ValueError, match=r"^num_children is 5: 50\^3 orders of failed siblings are too many"):
        tree_texts.acceptance_by_rank(law, law, [0], 5, scheme="without_replacement")
