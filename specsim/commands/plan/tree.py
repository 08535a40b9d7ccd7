"""The fastest tree at one point, where the acceptance of siblings is known."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

from specsim.latency import LatencyModel
from specsim.speed.prediction import Estimate, Prediction, interval
from specsim.speed.shapes import fastest_shapes
from specsim.trees import tree_value
from specsim.trees.topology import depths


class Tree(NamedTuple):
    """The fastest tree of one point, where the acceptance of siblings is given."""

    batch: int
    context: int
    parents: tuple[int, ...]
    levels: int
    tau: float
    speedup: Estimate


def best_tree(
    latency: LatencyModel,
    late: LatencyModel,
    ranks: Sequence[float],
    at: Prediction,
    depth: int,
    nodes: int,
    level: float,
    steps: Sequence[float],
) -> Tree:
    """The tree of largest speed; `late` is the same costs with what intervals allow for.

    steps: the time of a draft step at each level, () where every level costs the model's.
    """
    best = fastest_shapes(
        latency, ranks, nodes=nodes, depth=depth, draft_s=steps or None, batch=at.batch, context=at.context
    ).tree
    parents = tuple(int(p) for p in best.parents)
    levels = int(max(depths(parents), default=0))
    z = NormalDist().inv_cdf((1 + level) / 2)
    error = latency.error(at.batch * (len(parents) + 1)) if parents else 0.0
    variance = None if error is None else error**2
    speedup = interval(float(best.speedup), variance, z)
    if parents and speedup.low is not None:
        more = late.overhead(at.batch, at.context).value - latency.overhead(at.batch, at.context).value
        slower = float(best.speedup) * best.cycle_s / (best.cycle_s + more)
        speedup = speedup._replace(low=interval(slower, variance, z).low)
    return Tree(at.batch, at.context, parents, levels, float(best.value), speedup)


def speed(tree: Tree, latency: LatencyModel, model: LatencyModel, kept: Any, steps: Sequence[float]) -> float:
    """Its speedup under other costs or another acceptance; `steps` are those of `latency`."""
    at = (tree.batch, tree.context)
    step = model.draft(*at).value
    once = min(tree.levels, 1) if model.one_pass else tree.levels
    times = [step * one / latency.draft(*at).value for one in steps] if steps else [step] * once
    cycle = sum(times[: tree.levels]) + model.target(len(tree.parents) + 1, *at).value + model.overhead(*at).value
    return float(tree_value(tree.parents, kept)) * model.target(1, *at).value / cycle
