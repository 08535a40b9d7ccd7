"""Sensitivity of a plan: recompute it with one assumption worse, at the first point and at the longest context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from specsim.commands.plan.share import mixed_acceptance, mixed_costs
from specsim.commands.plan.tree import Tree
from specsim.commands.plan.tree import speed as tree_speed
from specsim.latency import LatencyModel, Timing
from specsim.lengths.acceptance_record import Acceptance, from_hazards
from specsim.speed.plan import break_even_alpha
from specsim.speed.prediction import Prediction, predict

# How much worse each assumption is made, to find the one that matters most: the acceptance is lower
# by ALPHA, a draft step takes DRAFT times as long, a pass over several tokens VERIFY times. These
# are choices, not claims about a machine.
ALPHA, DRAFT, VERIFY = 0.1, 1.5, 1.25
CYCLE = f"it takes {VERIFY:g} times as long"
# Extra work of a cycle, in plain steps, if costs have no unit of time. A choice, too.
OVERHEAD_STEPS = 0.1
# Extra work of a cycle in seconds: what MagicDec's table 3a (arXiv:2408.11049) leaves over for a cycle, fitted by
# `specsim validate`.
OVERHEAD_S = 1.4e-3
# Factor of the acceptance at the longest context, as was reported from short contexts to 86k.
LONG_CONTEXT_ACCEPTANCE = 0.5


def hidden_words(seconds: float) -> str:
    """Return the assumption of a plan whose overhead nobody stated."""
    return (
        "host and sampling take no time in the values (--overhead is not given); the low ends of intervals, if "
        f"there are any, allow {1e3 * seconds:g} ms a cycle, which a measured engine left over"
    )


class Doubt(NamedTuple):
    """The speedup of a plan if one assumption fails."""

    assumption: str
    failing: str
    speedup: float


class FarPlan(NamedTuple):
    """The plan at the longest context, if there are several contexts, and its sensitivity."""

    batch: int
    context: int
    gamma: int
    break_even: float | None
    doubts: tuple[Doubt, ...]


class DraftedCalls(NamedTuple):
    """Costs and acceptance of the target calls that have a draft, and their share of all calls."""

    latency: LatencyModel
    acceptance: Acceptance
    share: float
    level: float

    def speedup(self, at: Prediction, latency: LatencyModel, acceptance: Acceptance, share: float) -> float:
        """Return the speedup of the plan `at` a point under other costs, another acceptance or another share."""
        mean_latency = mixed_costs(latency, share)
        mean_acceptance = mixed_acceptance(acceptance, share)
        return predict_at(mean_latency, mean_acceptance, at.gamma, at, self.level).speedup.value


def predict_at(latency: LatencyModel, acceptance: Acceptance, gamma: int, at: Prediction, level: float) -> Prediction:
    """Return the prediction for blocks of gamma drafts at the batch and context of another prediction."""
    return predict(latency, acceptance, gamma=gamma, batch=at.batch, context=at.context, level=level)


def chain_doubts(drafted: DraftedCalls, best: Prediction, is_whole_cycle: bool = False) -> tuple[Doubt, ...]:
    """Return the chain's speedup with one assumption worse at a time, the most harmful first.

    is_whole_cycle: whether the pass that verifies stands for all of a cycle, drafting included.
    """
    hazards = drafted.acceptance.hazards(best.gamma)
    lower = from_hazards(np.array([max(hazard - ALPHA, 0.0) for hazard in hazards]))

    def speedup(latency: LatencyModel, acceptance: Acceptance) -> float:
        """Return the speedup of the chain under other costs and another acceptance."""
        return drafted.speedup(best, latency, acceptance, drafted.share)

    doubts = _doubts(drafted.latency, speedup, best.gamma + 1, drafted.acceptance, lower, "at every position")
    if is_whole_cycle:
        acceptance, _, cycle, other = doubts
        doubts = [acceptance, cycle._replace(assumption="the time of a cycle", failing=CYCLE), other]
    if drafted.share < 1:
        halved = drafted.speedup(best, drafted.latency, drafted.acceptance, drafted.share / 2)
        doubts.append(Doubt("the share of steps with a draft", "half as large", halved))
    return _worst_first(doubts)


def far_plan(drafted: DraftedCalls, points: Sequence[Prediction]) -> FarPlan | None:
    """Return the plan at the longest context and its sensitivity.

    None if there is a single context, or if the plan there is not to draft.
    """
    longest = max(point.context for point in points)
    if longest == min(point.context for point in points):
        return None
    point = next(point for point in points if point.context == longest)
    if not point.gamma:
        return None
    break_even = break_even_alpha(drafted.latency, gamma=point.gamma, batch=point.batch, context=point.context)

    # Beside the usual assumptions: the acceptance falls with the context.
    hazards = drafted.acceptance.hazards(point.gamma)
    halved = from_hazards(np.array([LONG_CONTEXT_ACCEPTANCE * hazard for hazard in hazards]))
    speedup = drafted.speedup(point, drafted.latency, halved, drafted.share)
    doubts = [*chain_doubts(drafted, point), Doubt("the acceptance", "half as large", speedup)]
    return FarPlan(point.batch, point.context, point.gamma, break_even, _worst_first(doubts))


def tree_doubts(
    latency: LatencyModel, ranks: Sequence[float], tree: Tree, level_steps: Sequence[float]
) -> tuple[Doubt, ...]:
    """Return the tree's speedup with one assumption worse at a time, the most harmful first."""
    scale = max(1 - ALPHA / sum(ranks), 0.0)
    lower = [acceptance * scale for acceptance in ranks]

    def speedup(changed: LatencyModel, acceptance: Any) -> float:
        """Return the speedup of the tree under other costs and another acceptance."""
        return tree_speed(tree, latency, changed, acceptance, level_steps)

    tokens = len(tree.parents) + 1
    return _worst_first(_doubts(latency, speedup, tokens, ranks, lower, "at every level, all siblings together"))


def _worst_first(doubts: Sequence[Doubt]) -> tuple[Doubt, ...]:
    """Return the doubts by speedup, the smallest first."""
    return tuple(sorted(doubts, key=lambda doubt: doubt.speedup))


def _doubts(
    latency: LatencyModel,
    speedup: Callable[[LatencyModel, Any], float],
    tokens: int,
    acceptance: Any,
    lower: Any,
    where: str,
) -> list[Doubt]:
    """Return the plan's speedup with one assumption at a time made worse.

    speedup: of the plan under given costs and acceptance. tokens: read by a target pass. lower: the worse acceptance.
    """
    # Costs with one part worse; extra work has the unit of the model.
    draft, target, overhead = latency.draft, latency.target, latency.overhead

    def slower_pass(tokens: int, batch: int, context: int) -> Timing:
        """Return a pass that takes longer if it verifies drafts."""
        factor = VERIFY if tokens > 1 else 1
        return Timing(factor * target(tokens, batch, context).value)

    # Each assumption made worse alone.
    if latency.unit == "s":
        extra, extra_words = OVERHEAD_S, f"{1e3 * OVERHEAD_S:g} ms"
    else:
        extra, extra_words = OVERHEAD_STEPS, f"{OVERHEAD_STEPS:g} plain steps"
    slow_draft = latency._replace(draft=lambda batch, context: Timing(DRAFT * draft(batch, context).value))
    slow_verify = latency._replace(target=slower_pass)
    more_work = latency._replace(overhead=lambda batch, context: Timing(overhead(batch, context).value + extra))
    return [
        Doubt("the acceptance", f"{ALPHA:g} lower {where}", speedup(latency, lower)),
        Doubt("the draft's speed", f"a step takes {DRAFT:g} times as long", speedup(slow_draft, acceptance)),
        Doubt(
            "the price of verifying",
            f"{tokens} tokens take {VERIFY:g} times as long",
            speedup(slow_verify, acceptance),
        ),
        Doubt("other work", f"it takes {extra_words} more a cycle", speedup(more_work, acceptance)),
    ]
