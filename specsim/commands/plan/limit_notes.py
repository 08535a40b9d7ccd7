"""Notes on a plan whose best block, or tree, is the largest that was tried: a larger one may be faster."""

from __future__ import annotations

from collections.abc import Sequence

from specsim.commands.plan.problem import Problem
from specsim.commands.plan.search import Search
from specsim.commands.plan.tree import Tree
from specsim.speed.prediction import Prediction


def chain_limit(problem: Problem, points: Sequence[Prediction]) -> list[str]:
    """Return a note if a point's best block is the longest that was tried there, else [].

    No note where the costs themselves end at that block (`latency.longest`): they have a note of
    their own.
    """
    # The first point whose best block is at the limit.
    at_limit = [point for point in points if point.gamma == _longest_block(problem, point)]
    if not at_limit:
        return []
    point = at_limit[0]
    limit = point.gamma
    if limit in (0, problem.latency.longest):
        return []

    # What set the limit: the option, or the acceptance, which covers no longer block.
    acceptance = problem.acceptance_at(point.batch, point.context)
    if acceptance.longest is None or acceptance.longest > problem.search.max_gamma:
        why = "tried (--max-gamma, --verify-cost, --costs)"
    else:
        why = "that the acceptance given speaks of"
    return [f"{limit} drafts are the most {why}: longer blocks may be faster"]


def _longest_block(problem: Problem, point: Prediction) -> int:
    """Return the longest block that was tried at a point."""
    return problem.acceptance_at(point.batch, point.context).most(problem.search.max_gamma)


def tree_limits(trees: Sequence[Tree], search: Search) -> list[str]:
    """Return notes if the best tree is as large, or as deep, as any that was tried."""
    notes = []
    if any(len(tree.parents) == search.nodes for tree in trees):
        notes.append(f"trees of {search.nodes} nodes are the largest tried (--nodes): larger ones may be faster")
    if any(tree.levels == search.max_gamma for tree in trees):
        notes.append(
            f"trees of {search.max_gamma} levels are the deepest tried (--max-gamma): deeper ones may be faster"
        )
    return notes
