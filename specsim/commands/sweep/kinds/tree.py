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
NODES, DEPTH = 64, 16  # of a best tree
NOTHING = Estimate(0.0, None, None)


def ranks(words: str) -> list[float]:
    """Acceptance of siblings by rank, as "0.7,0.12,0.05"."""
    found = [float(word) for word in words.split(",")]
    for i, share in enumerate(found, 1):
        checks.scalar(share, f"rank {i}", "[0, 1]")
    if sum(found) > 1 + checks.TOLERANCE:
        raise ValueError(f"acceptances sum to {sum(found):g}, above 1")
    return found


def parents(words: str) -> list[int] | None:
    """The shape of "2,2,1" (children by level) or "2x3" (paths); None for "best:16", the best of so many nodes."""
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
    """Tokens per call and speedup of the tree, whose parents are written as "-1,0,0"."""
    latency, kept, given = _costs.costs(point), ranks(point["ranks"]), parents(point["tree"])
    if given is None:
        nodes = int(point["tree"].removeprefix(BEST))
        best = fastest_shapes(
            latency, kept, nodes=nodes, depth=DEPTH, batch=point["batch"], context=point["context"]
        ).tree
        given = [int(p) for p in best.parents]
    levels = int(max(depths(given), default=0))
    tree = Tree(point["batch"], point["context"], tuple(given), levels, 0.0, NOTHING)
    return {
        "shape": ",".join(map(str, given)),
        "nodes": len(given),
        "levels": levels,
        "tau": float(tree_value(given, kept)) if given else 1.0,
        "speedup": speed(tree, latency, latency, kept, ()) if given else 1.0,
    }
