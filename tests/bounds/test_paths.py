"""The program of all verifiers of K paths: known values, rules below it, and solvers that lie."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from specsim import discover, expected_tokens
from specsim.bounds import paths as program
from specsim.bounds.paths import path_bound, path_optimum
from specsim.exact.small_laws import rational_table
from specsim.exact.tree import expected_kept
from specsim.trees import paths

Array = Any
TOY_P, TOY_Q = [Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]
RULES = [name for name, rule in discover.rules("tree").items() if "paths" in rule.CHILDREN]


def tables(vocab: int, gamma: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng([vocab, gamma, seed])
    target, draft = (rational_table(rng, vocab, gamma) for _ in range(2))
    return target.__getitem__, draft.__getitem__


def test_numbers_of_the_toy() -> None:
    """theory/verification.md 12: at K = L = 2 the program is reached by the highest path, 131/81; F_K is 134/81."""
    assert path_bound(TOY_P, TOY_Q, num_paths=2, gamma=2) == Fraction(134, 81)
    assert path_bound(TOY_P, TOY_Q, num_paths=3, gamma=2) == Fraction(1351, 729)
    for solver in ("HIGHS", "CLARABEL"):
        for num_paths, gamma, wanted in ((2, 2, 131 / 81), (3, 2, 1351 / 729), (2, 3, 1621 / 729)):
            best = path_optimum(TOY_P, TOY_Q, num_paths=num_paths, gamma=gamma, solver=solver)
            assert best.value <= wanted + 1e-12
            assert wanted <= best.dual + 1e-12
            assert best.gap < 1e-7
    kept = float(expected_kept(np.array(TOY_P), np.array(TOY_Q), rule="lifted", parents=paths(3, 2), scheme="paths"))
    assert 1.8313 < kept < path_optimum(TOY_P, TOY_Q, num_paths=3, gamma=2).dual


@pytest.mark.parametrize(("vocab", "gamma"), [(2, 3), (3, 2), (4, 1), (2, 0)])
def test_one_path(vocab: int, gamma: int) -> None:
    """The program is block verification; the bound is full information."""
    for seed in range(4):
        target, draft = tables(vocab, gamma, seed)
        block, full = (expected_tokens(target, draft, gamma=gamma, rule=r) - 1 for r in ("block", "greedy_block"))
        best = path_optimum(target, draft, num_paths=1, gamma=gamma)
        assert best.value == pytest.approx(float(block), abs=1e-9)
        assert best.gap == pytest.approx(0, abs=1e-9)
        assert path_bound(target, draft, num_paths=1, gamma=gamma) == full


@pytest.mark.parametrize(("vocab", "num_paths", "gamma"), [(2, 2, 2), (3, 2, 2), (2, 3, 2), (2, 2, 3), (3, 3, 1)])
def test_no_rule_beats_the_program(vocab: int, num_paths: int, gamma: int) -> None:
    assert {"lifted", "multipath_block"} <= set(RULES)
    reached = 0
    for seed in range(3, 7):
        target, draft = tables(vocab, gamma, seed)
        best = path_optimum(target, draft, num_paths=num_paths, gamma=gamma)
        bound = path_bound(target, draft, num_paths=num_paths, gamma=gamma)
        assert best.gap < 1e-9
        assert best.value <= float(bound) + 1e-9
        for rule in RULES:
            kept = float(expected_kept(target, draft, rule=rule, parents=paths(num_paths, gamma), scheme="paths"))
            assert kept <= best.dual + 1e-12, f"{rule} keeps {kept}"
            reached += kept > best.value - 1e-9
    assert reached, "the program is above every rule in every case: it may be too large"


def test_one_level_is_the_transport_problem() -> None:
    """At gamma = 1 the program and the bound are the optimal acceptance."""
    for seed in range(4):
        target, draft = tables(4, 1, seed)
        best = path_optimum(target, draft, num_paths=3, gamma=1)
        assert best.value == pytest.approx(float(path_bound(target, draft, num_paths=3, gamma=1)), abs=1e-9)


def test_the_price_proves_the_dual() -> None:
    """T22, 3, from its definition: any prices bound every rule, the solver's by the optimum."""
    p, q, rng = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6]), np.random.default_rng(0)
    best = path_optimum(p, q, num_paths=2, gamma=2)
    assert proved(p, q, best.price) == pytest.approx(best.dual, abs=1e-12)
    for _ in range(5):
        assert proved(p, q, {text: rng.random() for text in best.price}) >= best.value


def proved(p: Array, q: Array, price: dict[tuple[int, ...], float]) -> float:
    """Mean over two paths of two tokens of the largest g."""

    def g(x: tuple[int, ...]) -> float:
        worth = sum(1 - price[x[:i]] for i in range(1, len(x) + 1))
        return worth + sum(p[y] * price[(*x[:i], y)] for i in range(min(len(x), 1) + 1) for y in range(3))

    total = 0.0
    for a, b in np.ndindex(9, 9):
        one, two = divmod(a, 3), divmod(b, 3)
        total += q[[*one, *two]].prod() * max(g(x[:i]) for x in (one, two) for i in range(3))
    return float(total)


def test_solvers_cannot_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stops twice too many and prices of noise: still a rule that exists and a true bound, only further apart."""
    import cvxpy

    target, draft = tables(3, 2, 1)
    wanted = path_optimum(target, draft, num_paths=2, gamma=2).value
    honest, rng = cvxpy.Variable.value.fget, np.random.default_rng(0)
    monkeypatch.setattr(cvxpy.constraints.constraint.Constraint, "dual_value", property(lambda c: rng.random(c.size)))
    for bend in (lambda v: 2 * v + 0.1, lambda v: v[::-1], lambda v: v + 0.3 * rng.random(v.shape)):
        monkeypatch.setattr(
            cvxpy.Variable, "value", property(lambda v, f=bend: f(honest(v)), cvxpy.Variable.value.fset)
        )
        best = path_optimum(target, draft, num_paths=2, gamma=2)
        assert 0 <= best.value <= wanted + 1e-12 <= best.dual
        assert best.gap > 1e-3
    monkeypatch.setattr(program, "_feasible", lambda stops, *_: stops)
    assert path_optimum(target, draft, num_paths=2, gamma=2).value > wanted  # what was caught above


HALF = [0.5, 0.5]
BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "num_paths": (lambda: path_optimum(HALF, HALF, num_paths=0, gamma=1), ValueError, "^num_paths must be at least 1"),
    "gamma": (lambda: path_bound(HALF, HALF, num_paths=1, gamma=-1), ValueError, "^gamma must be at least 0"),
    "one of each": (lambda: path_bound(HALF, lambda _: HALF, num_paths=1, gamma=1), TypeError, "must both be models"),
    "a row": (
        lambda: path_optimum(lambda _: HALF, lambda x: [0.5, 0.5 + 0.1 * len(x)], num_paths=1, gamma=2),
        ValueError,
        r"^draft\(0,\) sums to 1\.1",
    ),
    "rows": (lambda: path_optimum([HALF], HALF, num_paths=1, gamma=1), ValueError, r"must be one law each, got shapes"),
    "vocabularies": (lambda: path_bound(HALF, [1.0], num_paths=1, gamma=1), ValueError, "the vocabularies differ"),
    "solver": (
        lambda: path_optimum(HALF, HALF, num_paths=1, gamma=1, solver="magic"),
        ValueError,
        "^solver 'magic' is unknown; installed: .*HIGHS",
    ),
    "program": (
        lambda: path_optimum(HALF, HALF, num_paths=4, gamma=6),
        ValueError,
        r"^the program over 766480 sets of 4 paths with 25 places to stop is too large \(more than 262144 variables\)",
    ),
    "texts": (
        lambda: path_optimum(np.full(70, 1 / 70), np.full(70, 1 / 70), num_paths=1, gamma=3),
        ValueError,
        "^more than 262144 texts can be drafted",
    ),
    "texts of the bound": (
        lambda: path_bound(HALF, HALF, num_paths=1, gamma=30),
        ValueError,
        r"^2\^30 texts are too many to compare",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_errors(case: str) -> None:
    call, error, message = BAD[case]
    with pytest.raises(error, match=message):
        call()


def test_without_cvxpy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(ImportError, match=r"^path_optimum needs cvxpy: install the extra `solve`"):
        path_optimum(HALF, HALF, num_paths=1, gamma=1)
