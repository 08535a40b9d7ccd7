"""Sensitivity of a plan: recompute it with one assumption worse, also at the longest context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from specsim.commands.plan.share import mixed_acceptance, mixed_costs
from specsim.commands.plan.tree import Tree
from specsim.commands.plan.tree import speed as tree_speed
from specsim.latency import LatencyModel, Timing
from specsim.lengths.acceptance import Acceptance, from_hazards
from specsim.speed.plan import break_even_alpha
from specsim.speed.prediction import Prediction, predict

# What is tried to find the assumption that matters most. None of it is a claim about a machine, but the last: what
# MagicDec's table 3a (arXiv:2408.11049) leaves over for a cycle, fitted by `specsim validate`.
ALPHA, DRAFT, VERIFY, SHARE, OVERHEAD_S = 0.1, 1.5, 1.25, 0.1, 1.4e-3
HALF = 0.5  # of the acceptance, as was reported from short contexts to 86k


class Doubt(NamedTuple):
    """The speedup of the first point's plan if one assumption fails."""

    assumption: str
    failing: str
    speedup: float


class Far(NamedTuple):
    """Return the sensitivity of the plan at the longest context, where there are several contexts."""

    batch: int
    context: int
    gamma: int
    break_even: float | None
    doubts: tuple[Doubt, ...]


def predicted(latency: LatencyModel, acceptance: Acceptance, gamma: int, at: Prediction, level: float) -> Prediction:
    return predict(latency, acceptance, gamma=gamma, batch=at.batch, context=at.context, level=level)


class Drafted(NamedTuple):
    """Costs and acceptance of the steps that have a draft, and their share of all steps."""

    latency: LatencyModel
    acceptance: Acceptance
    share: float
    level: float

    def speed(self, at: Prediction, latency: LatencyModel, kept: Acceptance, share: float) -> float:
        """The speedup at a point with other costs, another acceptance or another share."""
        mixed = mixed_costs(latency, share), mixed_acceptance(kept, share)
        return predicted(*mixed, at.gamma, at, self.level).speedup.value


def chain_doubts(drafted: Drafted, best: Prediction) -> tuple[Doubt, ...]:
    hazards, share = drafted.acceptance.hazards(best.gamma), drafted.share
    lower = from_hazards(np.array([max(a - ALPHA, 0.0) for a in hazards]))

    def speed(model: LatencyModel, kept: Acceptance) -> float:
        return drafted.speed(best, model, kept, share)

    found = _doubts(drafted.latency, speed, best.gamma + 1, drafted.acceptance, lower, "at every position")
    if share < 1:
        half = drafted.speed(best, drafted.latency, drafted.acceptance, share / 2)
        found += (Doubt("the share of steps with a draft", "half as large", half),)
    return tuple(sorted(found, key=lambda doubt: doubt.speedup))


def far_plan(drafted: Drafted, points: Sequence[Prediction]) -> Far | None:
    """Return this for the longest context; None with a single context, or where the plan there is not to draft."""
    farthest = max(points, key=lambda point: point.context)
    if farthest.context == min(point.context for point in points):
        return None
    at = next(point for point in points if point.context == farthest.context)
    if not at.gamma:
        return None
    even = break_even_alpha(drafted.latency, gamma=at.gamma, batch=at.batch, context=at.context)
    halved = from_hazards(np.array([HALF * a for a in drafted.acceptance.hazards(at.gamma)]))
    falls = Doubt("the acceptance", "half as large", drafted.speed(at, drafted.latency, halved, drafted.share))
    doubts = sorted((*chain_doubts(drafted, at), falls), key=lambda doubt: doubt.speedup)
    return Far(at.batch, at.context, at.gamma, even, tuple(doubts))


def tree_doubts(latency: LatencyModel, ranks: Sequence[float], tree: Tree, steps: Sequence[float]) -> tuple[Doubt, ...]:
    def speed(model: LatencyModel, kept: Any) -> float:
        return tree_speed(tree, latency, model, kept, steps)

    lower = [a * max(1 - ALPHA / sum(ranks), 0.0) for a in ranks]
    return _doubts(latency, speed, len(tree.parents) + 1, ranks, lower, "at every level, all siblings together")


def _doubts(
    latency: LatencyModel,
    speed: Callable[[LatencyModel, Any], float],
    tokens: int,
    acceptance: Any,
    lower: Any,
    where: str,
) -> tuple[Doubt, ...]:
    """Return the plan recomputed with one assumption worse at a time, the most harmful first."""
    step, over = latency.draft, latency.overhead

    def verify(tokens: int, batch: int, context: int) -> Timing:
        return Timing(latency.target(tokens, batch, context).value * (VERIFY if tokens > 1 else 1))

    rest = OVERHEAD_S if latency.unit == "s" else SHARE
    shown = f"{1e3 * rest:g} ms" if latency.unit == "s" else f"{rest:g} plain steps"
    worse = [
        ("the acceptance", f"{ALPHA:g} lower {where}", latency, lower),
        ("the draft's speed", f"a step takes {DRAFT:g} times as long",
         latency._replace(draft=lambda b, s: Timing(DRAFT * step(b, s).value)), acceptance),
        ("the price of verifying", f"{tokens} tokens take {VERIFY:g} times as long",
         latency._replace(target=verify), acceptance),
        ("other work", f"it takes {shown} more a cycle",
         latency._replace(overhead=lambda b, s: Timing(over(b, s).value + rest)), acceptance),
    ]  # fmt: skip
    found = [Doubt(a, b, speed(model, kept)) for a, b, model, kept in worse]
    return tuple(sorted(found, key=lambda doubt: doubt.speedup))
