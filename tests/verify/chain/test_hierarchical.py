"""Hierarchical verification: the paper's rule is block verification, the released test of the last draft is lossy."""

from __future__ import annotations

import itertools
from fractions import Fraction as F
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from specsim import expected_tokens, fill
from specsim.exact.chain import blocks, strong_law, target_law
from specsim.exact.small_laws import rational_laws, rational_table
from specsim.verify.chain import block, capped
from specsim.verify.lossy import naive_hierarchical, uncapped

PREFIXES = [(), (0,), (1,)]
LOSSY = (uncapped, naive_hierarchical)
# Two tokens, two drafts: where the first token is 1, R = 2 after it, and 1 after another 1. Elsewhere q is p.
SMALLEST = {(): ([F(0), F(1)], [F(1, 2), F(1, 2)]), (1,): ([F(1, 2), F(1, 2)], [F(0), F(1)])}


def models(rows: dict[tuple[int, ...], Any]) -> tuple[dict[tuple[int, ...], Any], dict[tuple[int, ...], Any]]:
    """Target and draft of two tokens, of which some prefixes have laws of their own, and both a fair coin elsewhere."""
    fair, every = [F(1, 2), F(1, 2)], [x for n in range(3) for x in np.ndindex(*(2,) * n)]
    target, draft = (
        {x: np.array(rows[x][side] if x in rows else fair, dtype=object) for x in every} for side in (0, 1)
    )
    return target, draft


def bias(rule: ModuleType, target: Any, draft: Any, gamma: int) -> Any:
    law, goal = strong_law(rule, target, draft, gamma)[0], target_law(target, gamma + 1)
    return sum((max(goal[x] - law.get(x, 0), F(0)) for x in goal), F(0))


@pytest.mark.parametrize(
    ("vocab", "denominator", "gamma"),
    [
        *((2, 3, 0), (2, 3, 1), (2, 2, 2), (3, 2, 1)),
        *(pytest.param(*size, marks=pytest.mark.slow) for size in ((2, 3, 2), (2, 2, 3))),
    ],
)
def test_the_paper_s_rule_is_block_verification(vocab: int, denominator: int, gamma: int) -> None:
    """T36, part 2: the joint law of (kept, next token) for every block of small laws, ==, those never drafted too."""
    laws = rational_laws(vocab, denominator)
    drafts = list(np.ndindex(*(vocab,) * gamma))
    at = np.array(list(itertools.product(range(len(laws)), repeat=2 * gamma + 1)))
    rows = np.repeat(laws[at], len(drafts), axis=0)
    x = np.tile(np.array(drafts, dtype=np.int64).reshape(len(drafts), gamma), (len(at), 1))
    p, q = rows[:, : gamma + 1], rows[:, gamma + 1 :]
    found, wanted = (rule.transition(rule.prepare(p, q), x) for rule in (capped, block))
    possible = np.ones(len(x), dtype=bool)
    for i in range(gamma):
        possible &= q[np.arange(len(x)), i, x[:, i]] > 0
    assert possible.sum() >= len(laws) ** (gamma + 1)
    assert (found == wanted)[possible].all()
    u = np.random.default_rng(gamma).random((len(x), gamma + 1))
    outcomes = [rule.verify(rule.prepare(p, q), x, u) for rule in (capped, block)]
    assert all((one == other)[possible].all() for one, other in zip(*outcomes, strict=True))


def test_so_it_is_on_larger_tables() -> None:
    for seed, (vocab, gamma) in enumerate([(3, 3), (2, 4)]):
        rng = np.random.default_rng(seed)
        target, draft = rational_table(rng, vocab, gamma), rational_table(rng, vocab, gamma)
        assert blocks(capped, target, draft, gamma) == blocks(block, target, draft, gamma)


def test_ratios_too_large_for_floats() -> None:
    """Joint ratios of 1e360 and back to 1e160: the weight is what block verification has, not a NaN."""
    p = np.array([[1.0, 0.0]] * 2 + [[1e-200, 1.0]] * 2)
    q = np.array([[1e-180, 1.0]] * 2 + [[1.0, 0.0]])
    x = np.zeros(3, dtype=np.int64)
    for rule in (capped, block):
        law = rule.transition(rule.prepare(p, q), x)
        assert law[3].sum() == pytest.approx(1e-200, rel=1e-9)
        assert law.sum() == pytest.approx(1)


@pytest.mark.parametrize(("rule", "lengths"), [(uncapped, ("4/3", "16/9")), (naive_hierarchical, ("4/3", "50/27"))])
def test_the_released_test_is_lossy(rule: ModuleType, lengths: tuple[str, str]) -> None:
    """T36, parts 3 and 4, on the toy of block verification: more drafts than its 11/9 and 5/3, at a bias."""
    p, q = (np.array(w, dtype=object) for w in ([F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)]))
    found = []
    for gamma in (2, 3):
        every = [x for n in range(gamma + 1) for x in np.ndindex(*(2,) * n)]
        target, draft = dict.fromkeys(every, p), dict.fromkeys(every, q)
        found.append((strong_law(rule, target, draft, gamma)[1], bias(rule, target, draft, gamma)))
        assert found[-1][0] > expected_tokens(p, q, gamma=gamma, rule="capped") - 1
    second = F(5, 81) if rule is uncapped else F(1, 9)
    assert found == [(F(lengths[0]), F(1, 9)), (F(lengths[1]), second)]


@pytest.mark.parametrize("rule", LOSSY)
def test_no_smaller_counterexample(rule: ModuleType) -> None:
    """With denominators of 2, over two tokens and two drafts; none with one draft, nor one law for all contexts."""
    target, draft = models(SMALLEST)
    assert bias(rule, target, draft, 2) == F(1, 4)
    law, goal = strong_law(rule, target, draft, 2)[0], target_law(target, 3)
    assert (law[(1, 1, 0)], goal[(1, 1, 0)]) == (F(3, 8), F(1, 4))
    for p, q in itertools.product(rational_laws(2, 2), repeat=2):
        assert bias(rule, *models(dict.fromkeys(PREFIXES, (p, q))), 2) == 0
    for p, q in itertools.product(rational_laws(2, 4), repeat=2):
        assert bias(rule, *models({(): (p, q)}), 1) == 0


def test_it_is_lossy_where_a_ratio_is_capped() -> None:
    """T36, part 3, both ways, on every pair of tables with these first laws and later ones of denominator 2."""
    first, later, seen = ([F(1, 3), F(2, 3)], [F(1, 1), F(0, 1)]), rational_laws(2, 2), set()
    for p, q in itertools.product(first, ([F(2, 3), F(1, 3)],)):
        for (p0, q0), (p1, q1) in itertools.product(itertools.product(later, repeat=2), repeat=2):
            target, draft = models({(): (p, q), (0,): (p0, q0), (1,): (p1, q1)})
            capped_somewhere = any(
                q[x] > 0 and b[y] > 0 and p[x] > q[x] and 0 < a[y] < b[y]
                for x, (a, b) in enumerate(((p0, q0), (p1, q1)))
                for y in range(2)
            )
            assert (bias(uncapped, target, draft, 2) > 0) == capped_somewhere
            seen.add(capped_somewhere)
    assert seen == {True, False}


def test_texts_filled_by_them_have_their_bias() -> None:
    target = {x: rows[0] for x, rows in SMALLEST.items()}
    draft = {x: rows[1] for x, rows in SMALLEST.items()}
    fair = [F(1, 2), F(1, 2)]
    for rule in ("uncapped", "naive_hierarchical"):
        with pytest.raises(ValueError, match=f"^rule '{rule}' is lossy"):
            fill([F(1, 3), F(2, 3)], "left_to_right", length=3, rule=rule, draft=[F(2, 3), F(1, 3)])
        found = fill(
            lambda x: target.get(x, fair),
            "left_to_right",
            length=3,
            rule=rule,
            lossy=rule,
            draft=lambda x: draft.get(x, fair),
            params={"gamma": 2},
        )
        assert found.bias == F(1, 4)
