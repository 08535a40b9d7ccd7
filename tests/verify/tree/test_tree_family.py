"""How far lifted rules fall behind K paths (T40, 4 and 5)."""

from __future__ import annotations

from math import log, sqrt

import pytest
import table_tree_family as bench

from specsim import path_optimum

CASES = [(1, 2, 0.3), (1, 3, 0.4), (2, 2, 0.25)]  # levels below the first, paths, probability of token 0


@pytest.mark.parametrize(("levels", "num_paths", "first"), CASES)
@pytest.mark.parametrize("scale", [0.5, 1.0, 1.4])
def test_the_best_is_the_optimum_of_paths(levels: int, num_paths: int, first: float, scale: float) -> None:
    pytest.importorskip("cvxpy", reason="cvxpy (extra `solve`) is not installed")
    second = scale * bench.matching(first, num_paths)
    target, draft = bench.models(first, second)
    optimum = path_optimum(target, draft, num_paths=num_paths, gamma=1 + levels).value
    assert bench.best(first, second, levels, num_paths) == pytest.approx(optimum, abs=1e-7)


@pytest.mark.parametrize(("levels", "num_paths", "first"), CASES)
def test_the_share_lies_between_its_bounds(levels: int, num_paths: int, first: float) -> None:
    second = bench.matching(first, num_paths)
    own, most = (rule(first, second, levels, num_paths) for rule in (bench.lifted, bench.best))
    assert most / (1 + levels) <= own < 0.96 * most
    assert most >= 1 + levels * first - first**num_paths
    below = first * (1 - (1 - second) * (1 - first * second) ** (num_paths - 1))
    spread = sqrt((1 - 2 * first * second + first * second**2) ** num_paths - (1 - first) ** 2)
    assert own <= 1 + levels * (below + first**2 + spread)
    assert num_paths * first * second <= -log(1 - first)


def test_the_record_is_what_the_code_gives() -> None:
    text = (bench.HERE / "tree_family.txt").read_text(encoding="utf-8")
    assert bench.shown() == text
    assert text.strip() in (bench.HERE.parents[1] / "proofs" / "T40_tree_optimum.md").read_text(encoding="utf-8")
    shares = [float(line.split()[-1]) for line in text.splitlines()[1:]]
    assert max(shares) < 0.95
    assert min(shares) < 0.7
