"""How near lifted rules come to the optimum of K paths (T40): an instance in rationals, and the recorded shares."""

from __future__ import annotations

import json
from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest
import table_tree_optimum as bench
from helpers.best_lifted import best_lifted

pytest.importorskip("cvxpy", reason="cvxpy (extra `solve`) is not installed")

ROOT, DRAFT = np.array([1, 2]) / 3, np.array([[1, 2], [1, 2]]) / 3
TARGET = np.array([[2 / 3, 1 / 3], [0, 1]])


def test_no_plan_and_no_order_reaches_the_optimum() -> None:
    """Target and draft agree on the first token: what is worth looking at lies below it."""
    own, best, optimum = bench.kept(ROOT, ROOT, TARGET, DRAFT, 2)
    assert own == pytest.approx(float(F(149, 81)), abs=1e-12)
    assert best == pytest.approx(float(F(151, 81)), abs=1e-9)
    assert optimum == pytest.approx(float(F(155, 81)), abs=1e-9)


def test_one_path_is_block_verification() -> None:
    """There is no choice then: the three are one number."""
    for seed in range(5):
        own, best, optimum = bench.kept(*bench.table(3, seed), 1)
        assert own == pytest.approx(optimum, abs=1e-9)
        assert best == pytest.approx(optimum, abs=1e-9)


def test_the_best_lies_between() -> None:
    better = 0
    for seed in range(6):
        own, best, optimum = bench.kept(*bench.table(3, seed), 2)
        assert own <= best + 1e-9
        assert best <= optimum + 1e-9
        better += best > own + 1e-6
    assert better, "a plan that knows what children are worth is never better"


def test_equal_laws_are_kept_whole() -> None:
    same = np.array([[0.5, 0.5], [0.25, 0.75]])
    assert best_lifted(np.array([0.3, 0.7]), np.array([0.3, 0.7]), same, same, 2) == pytest.approx(2)


def test_the_record_is_what_the_code_gives() -> None:
    record = json.loads((bench.HERE / "tree_optimum.json").read_text(encoding="utf-8"))
    text = (bench.HERE / "tree_optimum.txt").read_text(encoding="utf-8")
    assert bench.shown(record["rows"]) == text
    assert text.strip() in (bench.HERE.parents[1] / "proofs" / "T40_tree_optimum.md").read_text(encoding="utf-8")
    first = record["rows"][0]
    shares = [own / optimum for own, _, optimum in (bench.kept(*bench.table(2, seed), 2) for seed in range(10))]
    assert first["worst"] <= min(shares)
    assert record["tables"] == bench.TABLES
    assert all(row["worst"] > 0.94 for row in record["rows"])


@pytest.mark.slow
def test_no_smaller_case() -> None:
    """Every table of two tokens whose entries are multiples of 1/2."""
    rows = [np.array([0.0, 1.0]), np.array([0.5, 0.5]), np.array([1.0, 0.0])]
    for p, q, first, second, left, right in product(rows, repeat=6):
        _, best, optimum = bench.kept(p, q, np.array([first, second]), np.array([left, right]), 2)
        assert best == pytest.approx(optimum, abs=1e-9)


@pytest.mark.slow
def test_every_row_is_made_anew() -> None:
    record = json.loads((bench.HERE / "tree_optimum.json").read_text(encoding="utf-8"))["rows"]
    for found, row in zip(bench.measured(), record, strict=True):
        assert found == pytest.approx(row, abs=1e-6)
