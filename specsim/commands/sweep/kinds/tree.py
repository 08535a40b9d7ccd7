"""Predicted speedups of trees: acceptance by rank, a shape (or the best of so many nodes), costs, batch and context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specsim.base import check as checks
from specsim.commands.plan.tree import Tree, speed
from specsim.commands.simulate_run import shape
from specsim.commands.sweep.inputs import Input, text
from specsim.commands.sweep.kinds import _costs
from specsim.speed.prediction import Estimate
from specsim.speed.shapes import fastest_shapes
from specsim.trees import tree_value
from specsim.trees.topology import depths

BEST = "best:"
# Most nodes and levels of a best tree.
NODES, DEPTH = 64, 16
NOTHING = Estimate(0.0, None, None)


def ranks(words: str) -> list[float]:
    """Read the acceptance of siblings by rank, as "0.7,0.12,0.05"."""
    acceptances = [float(word) for word in words.split(",")]
    for i, share in enumerate(acceptances, 1):
        checks.scalar(share, f"rank {i}", "[0, 1]")
    if sum(acceptances) > 1 + checks.TOLERANCE:
        raise ValueError(f"acceptances sum to {sum(acceptances):g}, above 1")
    return acceptances


def parents(words: str) -> list[int] | None:
    """Read a shape: "2,2,1" (children by level) or "2x3" (paths); None for "best:16", the best of so many nodes."""
    if not words.startswith(BEST):
        return shape(words)
    if not words.removeprefix(BEST).isdigit() or not 1 <= int(words.removeprefix(BEST)) <= NODES:
        raise ValueError(f"give 2,2,1 (children by level), 2x3 (paths), or best:N of 1 to {NODES} nodes")
    return None


INPUTS: dict[str, Input] = {"ranks": text(ranks), "tree": text(parents), **_costs.INPUTS}
OUTPUTS = {"shape": "string", "nodes": "int64", "levels": "int64", "tau": "double", "speedup": "double"}
CHUNK, MOST = 50, 1 << 20
check = _costs.check


def row(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return tokens per call and speedup of the tree, whose parents are written as "-1,0,0"."""
    # The shape, or the best one.
    latency, by_rank, shape_parents = _costs.costs(point), ranks(point["ranks"]), parents(point["tree"])
    if shape_parents is None:
        nodes = int(point["tree"].removeprefix(BEST))
        best = fastest_shapes(
            latency, by_rank, nodes=nodes, depth=DEPTH, batch=point["batch"], context=point["context"]
        ).tree
        shape_parents = [int(p) for p in best.parents]
    # Its numbers; an empty tree is plain decoding, of which tau and speedup are 1.
    levels = int(max(depths(shape_parents), default=0))
    tree = Tree(point["batch"], point["context"], tuple(shape_parents), levels, 0.0, NOTHING)
    tau = tree_speedup = 1.0
    if shape_parents:
        tau = float(tree_value(shape_parents, by_rank))
        tree_speedup = speed(tree, latency, latency, by_rank, ())
    return {
        "shape": ",".join(map(str, shape_parents)),
        "nodes": len(shape_parents),
        "levels": levels,
        "tau": tau,
        "speedup": tree_speedup,
    }
