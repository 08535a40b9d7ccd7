"""Will it help? The answer in a sentence, and what it rests on: points, lengths, boundaries, doubts, assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from specsim.commands.plan.doubts import Doubt, Drafted, Far, chain_doubts, far_plan, predicted, tree_doubts
from specsim.commands.plan.read import Given
from specsim.commands.plan.sentence import Facts, flagged, sentence, span
from specsim.commands.plan.share import mixed_acceptance, mixed_costs
from specsim.commands.plan.tree import Tree, best_tree
from specsim.latency import LatencyModel, Timing
from specsim.lengths.acceptance import Acceptance
from specsim.speed.boundary import context_boundary, helpful_contexts
from specsim.speed.plan import break_even_alpha, plan
from specsim.speed.prediction import HOLDS_ONE, Estimate, Prediction

# One acceptance for all points: reported ones fall with both.
EVERYWHERE = (
    "this acceptance holds at every batch and context: reported ones fall with both, so was it measured at these?"
)
NODES = 64  # of the largest tree tried, unless it is said
CONTEXTS = 131_072  # the longest for which boundaries are looked for


class Answer(NamedTuple):
    """All that the command says.

    points: the best plan of each batch and context, contexts within batches. Of the first of them: curve, its speedups
    by gamma, break_even, its least acceptance, and doubts, the worst first (none where it does not help; of the tree
    where only that does). boundaries: S*(B) of each batch. trees: as the points. level: of all intervals. helps: "yes",
    "no", or "perhaps" where the interval holds 1; where there is none, where one doubt is enough.
    """

    helps: str
    sentence: str
    level: float
    points: tuple[Prediction, ...]
    trees: tuple[Tree, ...]
    curve: tuple[Estimate, ...]
    break_even: float | None
    boundaries: dict[int, int | None]
    between: dict[int, list[tuple[int, int]]]
    doubts: tuple[Doubt, ...]
    notes: tuple[str, ...]
    assumptions: tuple[str, ...]
    far: Far | None = None


def answer(
    latency: LatencyModel,
    given: Given,
    batches: Sequence[int],
    contexts: Sequence[int],
    *,
    max_gamma: int,
    level: float,
    notes: Sequence[str] = (),
    nodes: int = NODES,
    allowed: float = 0.0,
    steps: Sequence[float] = (),
    share: float = 1.0,
) -> Answer:
    """Plan every point, and look for what the first depends on; `notes` stand before those of the predictions.

    nodes: of the largest tree tried. allowed: overhead of a cycle that is in no value, but in intervals' low ends.
    steps: of trees, the time of a draft step at each level, where that is known. share: of steps that have a draft;
    costs and acceptance are those of such steps.
    """
    drafted, latency = Drafted(latency, given.acceptance, share, level), mixed_costs(latency, share)
    acceptance = mixed_acceptance(given.acceptance, share)
    late = later(latency, allowed)

    def judged(gamma: int, at: Prediction) -> Prediction:
        found = predicted(latency, acceptance, gamma, at, level)
        return allowing(found, predicted(late, acceptance, gamma, at, level)) if allowed and gamma else found

    best_points = plan(latency, acceptance, batches=batches, contexts=contexts, max_gamma=max_gamma, level=level)
    points = tuple(judged(one.gamma, one) for one in best_points)
    first = points[0]
    tried = [judged(g, first) for g in range(acceptance.most(max_gamma) + 1)]
    best = max(tried[1:], key=lambda one: one.speedup.value)  # where none helps, the one that comes closest
    trees: tuple[Tree, ...] = ()
    if given.ranks:
        trees = tuple(best_tree(latency, late, given.ranks, one, max_gamma, nodes, level, steps) for one in points)
    if first.gamma:
        doubts = chain_doubts(drafted, best)
    else:
        doubts = tree_doubts(latency, given.ranks, trees[0], steps) if trees and trees[0].parents else ()
    even = break_even_alpha(drafted.latency, gamma=best.gamma, batch=best.batch, context=best.context)
    found, between = _boundaries(latency, acceptance, batches, max(CONTEXTS, *contexts), max_gamma)
    said = [*notes, *_longest(latency, acceptance, points, max_gamma), *_largest(trees, nodes, max_gamma)]
    said += flagged(points)
    taken = list(first.assumptions)
    if latency.unit == "s":
        taken.insert(1, EVERYWHERE)
    if trees:
        taken.append(f"trees have {nodes} nodes at most, a level is drafted in one step")
    helps = _helps(trees[0].speedup if trees else first.speedup, doubts)
    return Answer(
        helps,
        sentence(_facts(helps, best, even, doubts, points, trees)),
        level,
        points,
        trees,
        tuple(one.speedup for one in tried),
        even,
        found,
        between,
        doubts,
        tuple(dict.fromkeys(said)),
        tuple(taken),
        far_plan(drafted, points),
    )


def later(latency: LatencyModel, seconds: float) -> LatencyModel:
    """The same costs with so much more of everything else in a cycle."""
    over = latency.overhead
    return latency._replace(overhead=lambda b, s: Timing(over(b, s).value + seconds))


def allowing(found: Prediction, later: Prediction) -> Prediction:
    """The low end of the speedup is that of the later model."""
    low = later.speedup.low
    if low is None or found.speedup.high is None:
        return found
    flags = found.flags
    if low < 1 < found.speedup.high and HOLDS_ONE not in flags:
        flags = (HOLDS_ONE, *flags)
    return found._replace(speedup=found.speedup._replace(low=low), flags=flags)


def _boundaries(
    latency: LatencyModel, acceptance: Acceptance, batches: Sequence[int], far: int, max_gamma: int
) -> tuple[dict[int, int | None], dict[int, list[tuple[int, int]]]]:
    """S*(B); and where it is not there, the contexts at which speculation helps all the same."""
    if latency.unit != "s":
        return {}, {}
    found = {b: context_boundary(latency, acceptance, batch=b, max_gamma=max_gamma, max_context=far) for b in batches}
    between = {
        b: helpful_contexts(latency, acceptance, batch=b, max_gamma=max_gamma, max_context=far)
        for b, boundary in found.items()
        if boundary is None
    }
    return found, between


def _helps(best: Estimate, doubts: tuple[Doubt, ...]) -> str:
    """Of the best plan: doubts are there if it beats plain decoding."""
    if not doubts:
        return "no"
    known = best.low is not None and best.low < best.value
    least = best.low if known else doubts[0].speedup
    return "perhaps" if least is not None and least < 1 else "yes"


def _longest(latency: LatencyModel, acceptance: Acceptance, points: Sequence[Prediction], max_gamma: int) -> list[str]:
    """Where the best length is the longest there was, a longer one may be better."""
    limit = acceptance.most(max_gamma)
    if all(point.gamma < limit for point in points) or limit == latency.longest:
        return []
    if acceptance.longest is None or acceptance.longest > max_gamma:
        why = "tried (--max-gamma, --verify-cost)"
    else:
        why = "that the acceptance given speaks of"
    return [f"{limit} drafts are the most {why}: longer blocks may be faster"]


def _largest(trees: Sequence[Tree], nodes: int, depth: int) -> list[str]:
    """Where the best tree is as large, or as deep, as any that was tried."""
    said = []
    if any(len(tree.parents) == nodes for tree in trees):
        said.append(f"trees of {nodes} nodes are the largest tried (--nodes): larger ones may be faster")
    if any(tree.levels == depth for tree in trees):
        said.append(f"trees of {depth} levels are the deepest tried (--max-gamma): deeper ones may be faster")
    return said


def _facts(
    helps: str,
    best: Prediction,
    even: float | None,
    doubts: tuple[Doubt, ...],
    points: tuple[Prediction, ...],
    trees: tuple[Tree, ...],
) -> Facts:
    tree = trees[0] if trees and trees[0].parents and trees[0].speedup.value > best.speedup.value else None
    off = sum(point.gamma == 0 and not (trees and trees[i].parents) for i, point in enumerate(points))
    worst = None
    if helps != "no":
        worst = (doubts[0].assumption, doubts[0].failing, doubts[0].speedup)
    return Facts(
        helps=helps,
        gamma=best.gamma,
        batch=best.batch,
        context=best.context,
        chain=span(best.speedup),
        tree=span(tree.speedup) if tree else "",
        nodes=len(tree.parents) if tree else 0,
        chain_pays=points[0].gamma > 0,
        trees_tried=bool(trees),
        even=even,
        worst=worst,
        points=len(points),
        off=off,
    )
