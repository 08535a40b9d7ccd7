"""T38: a draft chosen from K without replacement by tiers and weights reaches the optimum; any weights are lossless."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import table_wor_selection as bench
from helpers.wor_selection import Selection, choice, chosen_law, selection, set_law, wanted, within

from specsim import optimum

Array = Any
CASES = [(2, 2), (3, 2), (4, 2), (4, 3), (5, 3), (5, 4)]
SEEDS = 5


def fractions(rng: np.random.Generator, vocab: int) -> Array:
    """A law without zeros."""
    parts = rng.integers(1, 10, vocab)
    return np.array([Fraction(int(part), int(parts.sum())) for part in parts], dtype=object)


def rows(vocab: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return fractions(rng, vocab), fractions(rng, vocab)


def best(p: Array, q: Array, num_drafts: int) -> Any:
    return optimum(p, q, num_drafts=num_drafts, scheme="without_replacement").value


def floats(row: Array) -> Array:
    return np.asarray(row, dtype=float)


@pytest.mark.parametrize(("vocab", "num_drafts"), CASES)
def test_no_set_asks_for_more_than_the_wanted_law_gives(vocab: int, num_drafts: int) -> None:
    """Part 1, in rationals, over every set: w is a law, w(H) >= F(H), and sum min(p, w) is the optimum."""
    for seed in range(SEEDS):
        p, q = rows(vocab, seed)
        law = set_law(q, num_drafts)
        w = wanted(p, q, law)
        assert sum(w) == 1
        assert sum(map(min, p, w)) == best(p, q, num_drafts)
        for chosen in range(1 << vocab):
            assert sum(w[i] for i in range(vocab) if chosen >> i & 1) >= within(law, chosen)


@pytest.mark.parametrize(("vocab", "num_drafts"), CASES)
def test_tiers_and_weights_reach_the_optimum(vocab: int, num_drafts: int) -> None:
    """Part 2: the draft that is chosen has the law w."""
    for seed in range(SEEDS):
        p, q = map(floats, rows(vocab, seed))
        law = set_law(q, num_drafts)
        w = wanted(p, q, law)
        found = chosen_law(law, selection(w, law))
        assert found == pytest.approx(w, abs=1e-10)
        assert np.minimum(p, found).sum() == pytest.approx(best(p, q, num_drafts), abs=1e-10)


def test_one_tier_is_not_enough() -> None:
    """Where a set is tight, weights in one tier come as near as one likes, and never there."""
    p, q = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.3, 0.5])
    law = set_law(q, 2)
    w = wanted(p, q, law)
    how = selection(w, law)
    assert max(how.tier) == 1
    near = []
    for much in (1.0, 1e2, 1e4):
        weight = [x * much**tier for tier, x in zip(how.tier, how.weight, strict=True)]
        near.append(float(np.minimum(p, chosen_law(law, Selection([0] * 3, weight))).sum()))
    assert near[0] < near[1] < near[2] < best(p, q, 2) - 1e-7


@pytest.mark.parametrize("seed", range(3))
def test_any_tiers_and_weights_are_lossless(seed: int) -> None:
    """Part 3, in rationals: the chosen draft against its own law, then the residual."""
    rng = np.random.default_rng(seed)
    p, q = fractions(rng, 4), fractions(rng, 4)
    how = Selection(rng.integers(0, 2, 4).tolist(), fractions(rng, 4).tolist())
    law = set_law(q, 2)
    w = chosen_law(law, how)
    out: list[Any] = [Fraction(0)] * 4
    short = [max(a - b, Fraction(0)) for a, b in zip(p, w, strict=True)]
    kept = Fraction(0)
    for drawn, chance in law.items():
        for token, share in choice(drawn, how).items():
            accepted = min(Fraction(1), p[token] / w[token])
            out[token] += chance * share * accepted
            kept += chance * share * accepted
            for other, mass in enumerate(short):
                out[other] += chance * share * (1 - accepted) * mass / (sum(short) or 1)
    assert out == p.tolist()
    assert kept == sum(map(min, p, w)) <= best(p, q, 2)


def test_labels_drawn_token_by_token_collide() -> None:
    """Part 5: labels of drafts without replacement, drawn one by one, are different for permutations only."""
    q = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    law = set_law(q, 2)
    for moved in (Fraction(0), Fraction(1, 2), Fraction(1)):  # tokens 1 and 2 exchange labels with that probability
        kernel = [{0: Fraction(1)}, {1: 1 - moved, 2: moved}, {1: moved, 2: 1 - moved}]
        twice = Fraction(0)
        for drawn, chance in law.items():
            first, second = (i for i in range(3) if drawn >> i & 1)
            pairs = product(kernel[first].items(), kernel[second].items())
            twice += sum(chance * a * b for (x, a), (y, b) in pairs if x == y)
        assert (twice == 0) == (moved in {0, 1})


def test_the_record_is_what_the_code_gives() -> None:
    text = (bench.HERE / "wor_selection.txt").read_text(encoding="utf-8").strip()
    note = bench.HERE.parents[1] / "proofs" / "T38_without_replacement_reached.md"
    assert text in note.read_text(encoding="utf-8")
    rows = np.array([bench.accepted(3, 2, seed) for seed in range(bench.PAIRS)]).mean(axis=0)
    assert re.search(r"^ +3 +2 +([\d.]+) +([\d.]+) +([\d.]+) ", text, re.M).groups() == tuple(f"{x:.4f}" for x in rows)


@pytest.mark.slow
def test_the_recorded_trees_are_what_the_code_gives() -> None:
    text = (bench.HERE / "wor_selection.txt").read_text(encoding="utf-8")
    means = [
        np.mean([bench.kept(seed, "lifted", "without_replacement", step) for seed in range(20)])
        for step in ("recursive_wor", "optimal_wor")
    ]
    assert all(f", without_replacement{' ' * n}{mean:.4f}" in text for n, mean in zip((2, 4), means, strict=True))
    assert round(100 * (means[1] / means[0] - 1)) == 11
