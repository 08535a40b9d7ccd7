"""The answer of `specsim plan`: does speculation help, and what does that rest on?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from specsim.commands.plan.doubts import Doubt, DraftedCalls, FarPlan, chain_doubts, far_plan, predict_at, tree_doubts
from specsim.commands.plan.hidden_overhead import widen_low, with_overhead
from specsim.commands.plan.limit_notes import chain_limit, tree_limits
from specsim.commands.plan.problem import Problem
from specsim.commands.plan.sentence import Facts, flagged, place, sentence, span
from specsim.commands.plan.tree import Tree, best_tree
from specsim.speed.boundary import context_boundary, helpful_contexts
from specsim.speed.plan import break_even_alpha, plan
from specsim.speed.prediction import Estimate, Prediction

# One acceptance is taken for all points, though reported ones fall with both.
EVERYWHERE = (
    "this acceptance holds at every batch and context; measured ones fall with both: give one that was measured there"
)
# Acceptance that was measured at several points.
BY_POINT = "this is the acceptance of the first point; the others have their own, measured there or nearest to them"
# The answer if models and caches are larger than the memory.
NO_FIT = "does not fit"
# The longest context, in tokens, up to which boundaries are searched.
MAX_CONTEXT = 131_072


class Answer(NamedTuple):
    """The whole answer of the command.

    helps: "yes", "no", or "perhaps" if the interval of the speedup contains 1, or if there is no interval and one
    failing assumption is enough; "does not fit" where the first point needs more memory than its devices have. level:
    of all intervals. points: the best plan of each batch and context, contexts within batches. trees: the best tree of
    each of these points, if ranks are given. boundaries: for each batch, the context from which speculation helps.
    between: for batches without a boundary, the ranges of contexts at which it helps. far: sensitivity at the longest
    context. unknown: which of batch and context measured times do not say; their numbers mean nothing.

    Of the first point: curve, the speedup by block length; break_even, the least acceptance that pays; doubts, the plan
    if one assumption fails, the worst first.
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
    far: FarPlan | None = None
    unknown: tuple[str, ...] = ()


def answer(problem: Problem) -> Answer:
    """Plan every point of the problem, and find what the plan of the first point depends on most."""
    latency, acceptance, search = problem.latency, problem.acceptance, problem.search
    ranks, level_steps = problem.drafts.ranks, problem.costs.level_steps

    # The best chain at each point, and the speedup of every block length at the first point.
    points = tuple(_with_hidden_overhead(problem, point) for point in _best_chains(problem))
    first = points[0]
    curve = tuple(
        _with_hidden_overhead(problem, predict_at(latency, acceptance, gamma, first, search.level))
        for gamma in range(acceptance.most(search.max_gamma) + 1)
    )
    # If no block length helps, the sentence speaks of the length that comes closest.
    best_chain = max(curve[1:], key=lambda prediction: prediction.speedup.value)

    # The best tree at each point.
    trees: tuple[Tree, ...] = ()
    if ranks:
        late = with_overhead(latency, problem.costs.hidden_overhead)
        trees = tuple(best_tree(latency, late, ranks, point, search, level_steps) for point in points)

    # What the plan of the first point depends on.
    drafted = DraftedCalls(problem.costs.latency, problem.drafts.acceptance, problem.costs.share, search.level)
    doubts: tuple[Doubt, ...] = ()
    if first.gamma:
        doubts = chain_doubts(drafted, best_chain, problem.costs.is_whole_cycle)
    elif trees and trees[0].parents:
        doubts = tree_doubts(latency, ranks, trees[0], level_steps)
    break_even = break_even_alpha(
        drafted.latency, gamma=best_chain.gamma, batch=best_chain.batch, context=best_chain.context
    )
    boundaries, between = _boundaries(problem)

    # The sentence, and notes.
    best_speedup = trees[0].speedup if trees else first.speedup
    helps = _helps(best_speedup, doubts)
    unknown = problem.costs.unknown
    facts = _facts(helps, best_chain, break_even, doubts, points, trees, unknown)
    flags = flagged(points, unknown)
    if problem.costs.is_whole_cycle:
        flags = [flag for flag in flags if "verifying" not in flag]
    notes = [*problem.notes, *chain_limit(problem, points), *tree_limits(trees, search), *flags]
    return Answer(
        helps=NO_FIT if is_misfit(problem) else helps,
        sentence=with_memory(problem, sentence(facts)),
        level=search.level,
        points=points,
        trees=trees,
        curve=tuple(prediction.speedup for prediction in curve),
        break_even=break_even,
        boundaries=boundaries,
        between=between,
        doubts=doubts,
        notes=tuple(dict.fromkeys(notes)),
        assumptions=_assumptions(problem, first, trees),
        far=far_plan(_drafted_at_the_longest(problem, drafted, points), points),
        unknown=unknown,
    )


def is_misfit(problem: Problem) -> bool:
    """Return whether the first point, of which sentences speak, needs more memory than its devices have."""
    first = (problem.search.batches[0], problem.search.contexts[0])
    return any((misfit.batch, misfit.context) == first for misfit in problem.costs.misfits)


def with_memory(problem: Problem, words: str) -> str:
    """Return the first sentence of a plan, with a warning if models and caches do not fit the memory."""
    misfits = problem.costs.misfits
    if is_misfit(problem):
        first = misfits[0]
        opening = f"{NO_FIT.capitalize()} at batch {first.batch}, context {first.context}: {first.words}"
        return f"{opening}. Memory aside: {words[0].lower()}{words[1:]}"
    if not misfits:
        return words
    points = len(problem.search.batches) * len(problem.search.contexts)
    verb = "does" if len(misfits) == 1 else "do"
    return f"{words} {len(misfits)} of the {points} points {verb} not fit the memory."


def _best_chains(problem: Problem) -> tuple[Prediction, ...]:
    """Return the best chain at each point."""
    search = problem.search
    return tuple(
        plan(
            problem.latency,
            problem.acceptance_at(batch, context),
            batches=[batch],
            contexts=[context],
            max_gamma=search.max_gamma,
            level=search.level,
        )[0]
        for batch in search.batches
        for context in search.contexts
    )


def _with_hidden_overhead(problem: Problem, prediction: Prediction) -> Prediction:
    """Return the prediction, its interval's low end lowered to allow for overhead that the options do not state.

    Without --overhead the value leaves it out, but the true speedup may be as low as with `hidden_overhead` seconds
    more in each cycle. Plain decoding (gamma 0) has no interval to lower.
    """
    seconds = problem.costs.hidden_overhead
    if not seconds or not prediction.gamma:
        return prediction
    slower = predict_at(
        with_overhead(problem.latency, seconds),
        problem.acceptance_at(prediction.batch, prediction.context),
        prediction.gamma,
        prediction,
        problem.search.level,
    )
    return widen_low(prediction, slower)


def _boundaries(problem: Problem) -> tuple[dict[int, int | None], dict[int, list[tuple[int, int]]]]:
    """Return S*(B) for each batch, and the helpful ranges of contexts for batches that have no boundary.

    Costs as numbers (unit other than "s") do not depend on the context: both are empty.
    """
    latency, acceptance, search = problem.latency, problem.acceptance, problem.search
    if latency.unit != "s" or problem.costs.is_measured or problem.by_point:
        return {}, {}
    max_context = max(MAX_CONTEXT, *search.contexts)
    boundaries, between = {}, {}
    for batch in search.batches:
        boundaries[batch] = context_boundary(
            latency, acceptance, batch=batch, max_gamma=search.max_gamma, max_context=max_context
        )
        if boundaries[batch] is None:
            between[batch] = helpful_contexts(
                latency, acceptance, batch=batch, max_gamma=search.max_gamma, max_context=max_context
            )
    return boundaries, between


def _helps(best: Estimate, doubts: tuple[Doubt, ...]) -> str:
    """Return "yes", "perhaps" or "no": does the best plan beat plain decoding, also if its weakest assumption fails?

    There are doubts only if the plan beats plain decoding at all.
    """
    if not doubts:
        return "no"
    # The least speedup: the low end of a real interval, else the speedup if the worst assumption fails.
    has_interval = best.low is not None and best.low < best.value
    least = best.low if has_interval else doubts[0].speedup
    return "perhaps" if least is not None and least < 1 else "yes"


def _drafted_at_the_longest(problem: Problem, drafted: DraftedCalls, points: Sequence[Prediction]) -> DraftedCalls:
    """Return the target calls that have a draft with the acceptance at the longest context, which `far_plan` is of."""
    point = max(points, key=lambda point: point.context)
    return drafted._replace(acceptance=problem.drafted_at(point.batch, point.context))


def _assumptions(problem: Problem, first: Prediction, trees: Sequence[Tree]) -> tuple[str, ...]:
    """Return the assumptions of the first prediction, and those of points and trees."""
    assumptions = list(first.assumptions)
    if problem.by_point:
        assumptions.insert(1, BY_POINT)
    elif first.unit == "s" and not problem.costs.is_whole_cycle:
        assumptions.insert(1, EVERYWHERE)
    if trees:
        steps = "all levels are drafted in that pass" if problem.latency.one_pass else "a level is drafted in one step"
        assumptions.append(f"trees have {problem.search.nodes} nodes at most, {steps}")
    return tuple(assumptions)


def _facts(
    helps: str,
    best_chain: Prediction,
    break_even: float | None,
    doubts: tuple[Doubt, ...],
    points: tuple[Prediction, ...],
    trees: tuple[Tree, ...],
    unknown: tuple[str, ...],
) -> Facts:
    """Return the facts that the answer's sentence is made of."""
    # The tree is named only if it is faster than the best chain.
    tree = trees[0] if trees and trees[0].parents else None
    if tree is not None and tree.speedup.value <= best_chain.speedup.value:
        tree = None
    tree_speedup, nodes = "", 0
    if tree is not None:
        tree_speedup, nodes = span(tree.speedup), len(tree.parents)

    # How many points are such that neither a chain nor a tree helps.
    has_tree = [bool(trees) and bool(trees[i].parents) for i in range(len(points))]
    num_off = sum(1 for point, tree_helps in zip(points, has_tree, strict=True) if not (point.gamma or tree_helps))

    # The doubt that harms most comes first.
    worst = None
    if helps != "no":
        worst_doubt = doubts[0]
        worst = (worst_doubt.assumption, worst_doubt.failing, worst_doubt.speedup)
    return Facts(
        helps=helps,
        gamma=best_chain.gamma,
        where=place(best_chain.batch, best_chain.context, unknown),
        chain=span(best_chain.speedup),
        tree=tree_speedup,
        nodes=nodes,
        chain_pays=points[0].gamma > 0,
        trees_tried=bool(trees),
        even=break_even,
        worst=worst,
        points=len(points),
        off=num_off,
    )
