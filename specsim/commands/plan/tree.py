"""The fastest tree at one point, if the acceptance of siblings is known."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

from specsim.commands.plan.search import Search
from specsim.latency import LatencyModel
from specsim.speed.prediction import Estimate, Prediction, interval
from specsim.speed.shapes import fastest_shapes
from specsim.trees import tree_value
from specsim.trees.topology import depths


class Tree(NamedTuple):
    """The fastest tree of one point."""

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
    search: Search,
    level_steps: Sequence[float],
) -> Tree:
    """Return the fastest tree at the batch and context of a prediction.

    late: the latency model with the overhead that the intervals' low ends allow for. level_steps:
    time of a draft step at each level; () if every level costs the model's.
    """
    # The shape that decodes fastest.
    best = fastest_shapes(
        latency,
        ranks,
        nodes=search.nodes,
        depth=search.max_gamma,
        draft_s=level_steps or None,
        batch=at.batch,
        context=at.context,
    ).tree
    parents = tuple(int(parent) for parent in best.parents)
    levels = int(max(depths(parents), default=0))

    # The interval of its speedup, by the error of the latency model.
    z = NormalDist().inv_cdf((1 + search.level) / 2)
    error = latency.error(at.batch * (len(parents) + 1)) if parents else 0.0
    variance = None if error is None else error**2
    speedup = interval(float(best.speedup), variance, z)
    if parents and speedup.low is not None:
        extra = late.overhead(at.batch, at.context).value - latency.overhead(at.batch, at.context).value
        slower = float(best.speedup) * best.cycle_s / (best.cycle_s + extra)
        speedup = speedup._replace(low=interval(slower, variance, z).low)
    return Tree(at.batch, at.context, parents, levels, float(best.value), speedup)


def speed(
    tree: Tree, latency: LatencyModel, changed: LatencyModel, acceptance: Any, level_steps: Sequence[float]
) -> float:
    """Return the tree's speedup under other costs or another acceptance; `level_steps` are those of `latency`."""
    point = (tree.batch, tree.context)
    step = changed.draft(*point).value
    if level_steps:
        # The changed draft step scales every level's time alike.
        scale = step / latency.draft(*point).value
        draft_times = [scale * time for time in level_steps]
    else:
        steps = min(tree.levels, 1) if changed.one_pass else tree.levels
        draft_times = [step] * steps
    verify = changed.target(len(tree.parents) + 1, *point).value
    cycle = sum(draft_times[: tree.levels]) + verify + changed.overhead(*point).value
    return float(tree_value(tree.parents, acceptance)) * changed.target(1, *point).value / cycle
