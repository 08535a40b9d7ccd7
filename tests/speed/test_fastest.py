"""The fastest tree, chain and k-ary tree under a clock, against every tree of up to seven nodes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers.shapes import fractions, ordered_trees

from specsim import (
    LatencyModel,
    fastest_shapes,
    from_measurements,
    latency,
    optimal_gamma,
    optimal_tree,
    roofline,
    tree_value,
    trees,
)
from specsim.latency import Timing

F = Fraction
EVERY = [(p, trees.ranks(p).max(initial=-1) + 1, trees.depths(p).max(initial=0)) for p in ordered_trees(7)]


def exact_model(curve: list[F], draft: F, overhead: F) -> LatencyModel:
    return LatencyModel(
        lambda tokens, batch, context: Timing(curve[tokens - 1]),
        lambda batch, context: Timing(draft),
        lambda batch, context: Timing(overhead),
        "s",
        (),
    )


def is_k_ary(parents: list[int]) -> bool:
    below = [len(row) for row in trees.children(parents)]
    depths = [0, *trees.depths(parents)]
    level = {d: {below[i] for i, at in enumerate(depths) if at == d} for d in set(depths)}
    last = max(depths)
    return all(len(counts) == 1 for counts in level.values()) and len({min(level[d]) for d in range(last)}) < 2


def assert_fastest(solve: Callable[..., Any]) -> None:
    """In rationals, over curves that may fall, draft steps that differ, and acceptance that may grow with the rank."""
    rng = np.random.default_rng(2)
    won: set[str] = set()
    for trial in range(24):
        b = fractions(rng, int(rng.integers(1, 5)))
        curve = [F(1), *(F(int(v), 10) for v in 10 + np.cumsum(rng.integers(-1, 3, 7)).clip(0))]
        steps = [F(int(v), 20) for v in rng.integers(0, 8, 4)]
        over = F(int(rng.integers(0, 3)), 20)
        found = solve(exact_model(curve, F(1, 9), over), b, nodes=7, depth=4, draft_s=steps if trial % 3 else None)
        steps = steps if trial % 3 else [F(1, 9)] * 4
        speeds = [
            (tree_value(p, b) / (sum(steps[:deep]) + min(curve[len(p) :]) + over) if p else F(1), wide, p)
            for p, wide, deep in EVERY
            if wide <= len(b) and deep <= 4
        ]
        assert found.tree.speedup == max(speed for speed, _, _ in speeds)
        assert found.chain.speedup == max(speed for speed, wide, _ in speeds if wide <= 1)
        assert found.k_ary.speedup == max(speed for speed, _, p in speeds if is_k_ary(p))
        for shape in found:
            size, deep = len(shape.parents), trees.depths(shape.parents).max(initial=0)
            assert shape.value == tree_value(shape.parents, b)
            if size:
                assert shape.cycle_s == sum(steps[:deep]) + min(curve[size:]) + over
            assert shape.speedup == curve[0] * shape.value / shape.cycle_s
        won.add("tree" if found.tree.speedup > max(found.chain.speedup, found.k_ary.speedup) else "other")
        won.add("chain" if found.chain.speedup == found.tree.speedup > 1 else "other")
    assert won == {"tree", "chain", "other"}


def test_fastest_shapes_are_the_best_of_all_trees() -> None:
    assert_fastest(fastest_shapes)


def test_that_check_kills_mutants() -> None:
    """One step for all levels, no overhead, a smooth curve, one node too few."""
    mutants: list[Callable[..., Any]] = [
        lambda model, b, draft_s, **most: fastest_shapes(model, b, **most),
        lambda model, b, **most: fastest_shapes(model._replace(overhead=lambda x, y: Timing(0)), b, **most),
        lambda model, b, **most: fastest_shapes(model._replace(target=lambda m, x, y: Timing(F(9 + m, 10))), b, **most),
        lambda model, b, nodes, **most: fastest_shapes(model, b, nodes=nodes - 1, **most),
        lambda model, b, depth, **most: fastest_shapes(model, b, depth=depth - 1, **most),
    ]
    for mutant in mutants:
        with pytest.raises(AssertionError):
            assert_fastest(mutant)


@pytest.mark.parametrize(("batch", "context"), [(1, 0), (32, 0), (32, 8000)])
def test_times_are_those_of_the_batch_and_context(batch: int, context: int) -> None:
    times = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm", overhead_s=1e-3)
    for shape in fastest_shapes(times, [0.7, 0.1], nodes=6, batch=batch, context=context):
        size, deep = len(shape.parents), int(trees.depths(shape.parents).max(initial=0))
        passes = [times.target(m, batch, context).value for m in range(size + 1, 8)]
        cycle = deep * times.draft(batch, context).value + min(passes) + times.overhead(batch, context).value
        assert size
        assert shape.cycle_s == pytest.approx(cycle)


def test_of_equals_the_smaller_tree_is_taken() -> None:
    """One draft and two are as fast; in the second case one draft is as fast as none."""
    even = optimal_tree([F(1, 2)], draft_s=[F(1, 4), F(5, 24)], verify_s=[F(1)] * 3)
    assert (even.parents.tolist(), even.speedup) == ([-1], F(6, 5))
    none = optimal_tree([F(1, 2)], draft_s=F(1, 2), verify_s=[F(1)] * 2)
    assert (none.parents.tolist(), none.speedup) == ([], 1)


def test_a_shape_may_have_all_the_nodes() -> None:
    found = fastest_shapes(latency.constant(0.1), [0.6, 0.35], nodes=6, depth=2)
    assert found.k_ary.parents.tolist() == trees.k_ary((2, 2)).tolist()
    assert len(fastest_shapes(latency.constant(0.1), [0.6, 0.35], nodes=5, depth=2).k_ary.parents) == 2


def test_a_chain_is_the_planner_s() -> None:
    curve = [1.0, 1.0, 1.1, 1.3, 1.6, 2.0]
    model = latency.constant(0.05, verify_cost=curve)
    best = optimal_gamma(0.8, cost_ratio=0.05, verify_cost=curve)
    chain = fastest_shapes(model, [0.8, 0.1], nodes=5).chain
    assert (len(chain.parents), chain.speedup) == (best.gamma, pytest.approx(best.speedup))


def test_levels_of_the_old_function() -> None:
    alike = optimal_tree([0.6, 0.2], draft_s=[0.1] * 5, verify_s=[1.0] * 9)
    assert alike.speedup == pytest.approx(optimal_tree([0.6, 0.2], draft_s=0.1, verify_s=[1.0] * 9, depth=5).speedup)
    steep = optimal_tree([0.6, 0.2], draft_s=[0.1, 9.0], verify_s=[1.0] * 9)
    assert trees.depths(steep.parents).max() == 1
    assert steep.speedup == pytest.approx(1.8 / 1.1)


def test_large_batches_end_with_no_draft() -> None:
    times = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
    sizes = [len(fastest_shapes(times, [0.7, 0.1], nodes=15, batch=b).tree.parents) for b in (1, 64, 1024)]
    assert sizes[0] > sizes[1] > sizes[2] == 0
    assert all(shape.speedup == 1 for shape in fastest_shapes(times, [0.7, 0.1], nodes=15, batch=1024))


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: fastest_shapes(latency.constant(0.1), [0.5], nodes=10**9), r"^nodes is 1000000000; the largest that is"),
    (lambda: fastest_shapes(latency.constant(0.1), [0.7, 0.4]), r"^acceptance sums to more than 1"),
    (lambda: fastest_shapes(latency.constant(0.1), [0.7], nodes=0), r"^nodes must be at least 1, got 0$"),
    (lambda: fastest_shapes(latency.constant(0.1), [0.7], depth=0), r"^depth must be at least 1, got 0$"),
    (lambda: fastest_shapes(latency.constant(0.1), [0.7], batch=0), r"^batch must be at least 1, got 0$"),
    (lambda: fastest_shapes(latency.constant(0.1), [0.7], draft_s=[0.1, -1]), r"^draft_s\[1\] is -1; "),
    (lambda: fastest_shapes(from_measurements({1: 1.0, 4: 1.2}, {None: 0.1}), [0.7]), r"tokens = 5 was not measured"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
