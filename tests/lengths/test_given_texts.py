"""The door to what a text says of trees: unbiased samples, every rule its own law, and what is not known."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from specsim import hit_posterior, tree_posterior
from specsim.lengths import given_texts

Array = Any
PARENTS = (-1, -1, 0, 0, 1)
# Fixed before the first run: over 20 tables and every rule that samples, each mean over starts and depths lies within
# 3 standard errors of the sum over all siblings.
TABLES, SAMPLES = 20, 200
SAMPLED = [("lifted", "iid"), ("lifted", "without_replacement"), ("traversal", "without_replacement")]


def table(seed: int, length: int = 4, vocab: int = 3) -> tuple[Array, Array, Array]:
    """Rows of Fractions (T, V) of target and draft, and a text."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 9, (2, length, vocab))
    p, q = (np.array([[Fraction(int(v), int(sum(row))) for v in row] for row in w], dtype=object) for w in counts)
    return p, q, rng.integers(vocab, size=length)


@pytest.mark.parametrize(("rule", "scheme"), SAMPLED)
def test_samples_are_unbiased(rule: str, scheme: str) -> None:
    for seed in range(TABLES):
        p, q, y = table(seed)
        exact = tree_posterior(p, q, y, PARENTS, rule=rule, scheme=scheme)
        assert not exact.error.any()
        drawn = tree_posterior(
            p.astype(float), q.astype(float), y, PARENTS, rule=rule, scheme=scheme, samples=SAMPLES, seed=seed
        )
        off = drawn.survival - exact.survival.astype(float)
        assert abs(off.mean()) <= 3 * np.sqrt((drawn.error**2).sum()) / off.size + 1e-12, seed


def test_every_rule_has_its_own_law() -> None:
    found: dict[tuple[str, str], list[Any]] = {}
    for seed in range(4):
        p, q, y = table(seed)
        for rule, schemes in given_texts.KNOWN.items():
            for scheme in schemes:
                one = tree_posterior(p, q, y, PARENTS, rule=rule, scheme=scheme).survival.tolist()
                found.setdefault((rule, scheme), []).append(one)
    assert found.pop(("lifted", "without_replacement")) == found["traversal", "without_replacement"]  # T23, 3
    for a, b in itertools.combinations(found, 2):
        assert found[a] != found[b], (a, b)


def test_one_path_and_one_level_are_known() -> None:
    """A chain under `lifted` is block verification; one level of a walk is the posterior of its step rule."""
    p, q, y = table(1)
    chain = tree_posterior(p, q, y, [-1, 0], rule="lifted").survival
    first = [min(Fraction(1), q[t, y[t]] / p[t, y[t]]) for t in range(len(y))]
    assert chain[:, 0].tolist() == first
    level = tree_posterior(p, q, y, [-1, -1], rule="tokenwise").survival[:, 0]
    wanted = hit_posterior(p, q, rule="recursive", num_drafts=2)
    assert level.tolist() == [wanted[t, y[t]] for t in range(len(y))]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rule": "target_only"}, r"^no law given the text is known of rule 'target_only' on scheme 'iid'; known: tok"),
        ({"rule": "traversal"}, r"on scheme 'iid'; known: .*traversal: without_replacement"),
        ({"samples": 0}, r"^samples must be at least 1, got 0$"),
        (
            {"rule": "lifted", "scheme": "without_replacement", "step": "optimal"},
            r"^step must be 'recursive_wor' for drafts without replacement, got 'optimal'$",
        ),
    ],
)
def test_what_is_not_known_is_said(changes: dict[str, Any], message: str) -> None:
    p, q, y = table(0)
    with pytest.raises(ValueError, match=message):
        tree_posterior(p, q, y, PARENTS, **changes)
