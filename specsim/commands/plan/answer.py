"""Will it help? The answer in a sentence, and what it rests on: points, lengths, boundaries, doubts, assumptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from specsim.commands.plan.emit import hazards_at
from specsim.commands.plan.read import Given
from specsim.latency import LatencyModel, Timing
from specsim.report.text import table
from specsim.speed.grid import context_boundary
from specsim.speed.plan import break_even_alpha, plan
from specsim.speed.prediction import Estimate, Prediction, interval, longest, predict
from specsim.speed.shapes import fastest_shapes
from specsim.trees import tree_value
from specsim.trees.topology import depths

# What is tried to find the assumption that matters most. None of it is a claim about a machine, but the last: what
# MagicDec's table 3a (arXiv:2408.11049) leaves over for a cycle, fitted by `specsim validate`.
ALPHA, DRAFT, VERIFY, SHARE, OVERHEAD_S = 0.1, 1.5, 1.25, 0.1, 1.4e-3
NODES = 64  # of the largest tree tried
FOREST = f"trees have {NODES} nodes at most, a level is drafted in one step"
CONTEXTS = 131_072  # the longest for which boundaries are looked for


class Doubt(NamedTuple):
    """The speedup of the first point's plan if one assumption fails."""

    assumption: str
    failing: str
    speedup: float


class Tree(NamedTuple):
    """The fastest tree of one point, where the acceptance of siblings is given."""

    batch: int
    context: int
    parents: tuple[int, ...]
    levels: int
    tau: float
    speedup: Estimate


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
    doubts: tuple[Doubt, ...]
    notes: tuple[str, ...]
    assumptions: tuple[str, ...]


def answer(
    latency: LatencyModel, given: Given, batches: Sequence[int], contexts: Sequence[int], *, max_gamma: int,
    level: float, notes: Sequence[str] = (),
) -> Answer:  # fmt: skip
    """Plan every point, and look for what the first depends on; `notes` stand before those of the predictions."""
    acceptance = given.acceptance
    points = plan(latency, acceptance, batches=batches, contexts=contexts, max_gamma=max_gamma, level=level)
    first = points[0]
    lengths = range(longest(acceptance, max_gamma) + 1)
    tried = [_predict(latency, acceptance, g, first, level) for g in lengths]
    best = max(tried[1:], key=lambda one: one.speedup.value)  # where none helps, the one that comes closest
    trees = tuple(_tree(latency, given.ranks, one, max_gamma, level) for one in points if given.ranks)
    if first.gamma:
        doubts = _chain_doubts(latency, acceptance, best, level)
    else:
        doubts = _tree_doubts(latency, given.ranks, trees[0]) if trees and trees[0].parents else ()
    even = break_even_alpha(latency, gamma=best.gamma, batch=best.batch, context=best.context)
    far = max(CONTEXTS, *contexts)
    found = {
        b: context_boundary(latency, acceptance, batch=b, max_gamma=max_gamma, max_context=far) for b in batches
    } if latency.unit == "s" else {}  # fmt: skip
    said = (*notes, *_longest(acceptance, points, max_gamma), *(flag for point in points for flag in point.flags))
    helps = _helps(trees[0].speedup if trees else first.speedup, doubts)
    return Answer(
        helps, _sentence(helps, best, even, doubts, points, trees), level, points, trees,
        tuple(one.speedup for one in tried), even, found, doubts, tuple(dict.fromkeys(said)),
        (given.words, *first.assumptions[1:], *[FOREST] * bool(trees)),
    )  # fmt: skip


def _helps(best: Estimate, doubts: tuple[Doubt, ...]) -> str:
    """Of the best plan: doubts are there if it beats plain decoding."""
    if not doubts:
        return "no"
    known = best.low is not None and best.low < best.value
    least = best.low if known else doubts[0].speedup
    return "perhaps" if least is not None and least < 1 else "yes"


def _longest(acceptance: Any, points: Sequence[Prediction], max_gamma: int) -> list[str]:
    """Where the best length is the longest there was, a longer one may be better."""
    limit = longest(acceptance, max_gamma)
    if all(point.gamma < limit for point in points):
        return []
    why = (
        "tried (--max-gamma, --verify-cost)"
        if longest(acceptance, max_gamma + 1) > limit
        else "that the acceptance given speaks of"
    )
    return [f"{limit} drafts are the most {why}: longer blocks may be faster"]


def _tree(latency: LatencyModel, ranks: Sequence[float], at: Prediction, depth: int, level: float) -> Tree:
    best = fastest_shapes(latency, ranks, nodes=NODES, depth=depth, batch=at.batch, context=at.context).tree
    parents = tuple(int(p) for p in best.parents)
    levels = int(max(depths(parents), default=0))
    z = NormalDist().inv_cdf((1 + level) / 2)
    error = latency.error(at.batch * (len(parents) + 1)) if parents else 0.0
    speedup = interval(float(best.speedup), None if error is None else error**2, z)
    return Tree(at.batch, at.context, parents, levels, float(best.value), speedup)


def _predict(latency: LatencyModel, acceptance: Any, gamma: int, at: Prediction, level: float) -> Prediction:
    a = acceptance(gamma) if callable(acceptance) else acceptance
    return predict(latency, a, gamma=gamma, batch=at.batch, context=at.context, level=level)


def _chain_doubts(latency: LatencyModel, acceptance: Any, best: Prediction, level: float) -> tuple[Doubt, ...]:
    def speed(model: LatencyModel, kept: Any) -> float:
        return _predict(model, kept, best.gamma, best, level).speedup.value

    lower = [max(a - ALPHA, 0.0) for a in hazards_at(acceptance, best.gamma)]
    return _doubts(latency, speed, best.gamma + 1, acceptance, lower, "at every position")


def _tree_doubts(latency: LatencyModel, ranks: Sequence[float], tree: Tree) -> tuple[Doubt, ...]:
    at = (tree.batch, tree.context)

    def speed(model: LatencyModel, kept: Any) -> float:
        verify = model.target(len(tree.parents) + 1, *at).value
        cycle = tree.levels * model.draft(*at).value + verify + model.overhead(*at).value
        return float(tree_value(tree.parents, kept)) * model.target(1, *at).value / cycle

    lower = [a * max(1 - ALPHA / sum(ranks), 0.0) for a in ranks]
    return _doubts(latency, speed, len(tree.parents) + 1, ranks, lower, "at every level, all siblings together")


def _doubts(
    latency: LatencyModel, speed: Callable[[LatencyModel, Any], float], tokens: int, acceptance: Any, lower: Any,
    where: str,
) -> tuple[Doubt, ...]:  # fmt: skip
    """The same plan with one thing worse, the worst first."""
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


def _sentence(
    helps: str, best: Prediction, even: float | None, doubts: tuple[Doubt, ...], points: tuple[Prediction, ...],
    trees: tuple[Tree, ...],
) -> str:  # fmt: skip
    drafts = f"{best.gamma} draft{'s' * (best.gamma > 1)} a block"
    where = f"(predicted, batch {best.batch}, context {best.context}); "
    tree = trees[0] if trees and trees[0].parents and trees[0].speedup.value > best.speedup.value else None
    if tree is not None and points[0].gamma == 0:
        text = (
            f"{helps.capitalize()}: with a tree of {len(tree.parents)} nodes decoding is {_span(tree.speedup)} times "
        )
        text += f"as fast {where}with {drafts} it is {_span(best.speedup)}, and no other length does better; "
    else:
        text = f"{helps.capitalize()}: with {drafts} decoding is {_span(best.speedup)} times as fast {where}"
        text += "" if tree is None else f"with a tree of {len(tree.parents)} nodes it is {_span(tree.speedup)}; "
    off = sum(point.gamma == 0 and not (trees and trees[i].parents) for i, point in enumerate(points))
    if helps == "no":
        pays = "it would not at any acceptance" if even is None else f"it pays above an acceptance of {even:.2f}"
        text += f"no other length{' and no tree' * bool(trees)} does better; {pays}."
        return text + f" At {len(points) - off} of the {len(points)} points it helps." * (off < len(points))
    worst = doubts[0]
    text += f"of what this assumes {worst.assumption} matters most (if {worst.failing}: {worst.speedup:.2f})."
    return text + f" At {off} of the {len(points)} points it does not help." * bool(off)


def _span(found: Estimate) -> str:
    if found.low is None or found.high is None or found.low == found.high:
        return f"{found.value:.2f}"
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


def text(found: Answer) -> str:
    """What a person reads."""
    first = found.points[0]
    scale, unit = (1e3, "ms") if first.unit == "s" else (1.0, "steps")
    head = [
        "batch",
        "context",
        "gamma",
        "tau",
        f"speedup, {100 * found.level:g}%",
        "draft",
        "verify",
        f"cycle, {unit}",
        "tokens/s",
    ]
    rows = [
        [str(p.batch), str(p.context), str(p.gamma) if p.gamma else "off", f"{p.tau.value:.2f}", _span(p.speedup),
         f"{p.draft / p.plain:.2f}", f"{p.verify / p.plain:.2f}", f"{scale * p.cycle.value:.2f}",
         f"{p.tokens_per_time.value:.0f}" if first.unit == "s" else ""]
        for p in found.points
    ]  # fmt: skip
    lines = [found.sentence, "", *_columns([head, *rows]), ""]
    if found.trees:
        head = ["batch", "context", "nodes", "levels", "tau", f"speedup of the best tree, {100 * found.level:g}%"]
        rows = [[str(t.batch), str(t.context), str(len(t.parents)), str(t.levels), f"{t.tau:.2f}", _span(t.speedup)]
                for t in found.trees]  # fmt: skip
        lines += [*_columns([head, *rows]), ""]
    spot = f"batch {first.batch}, context {first.context}"
    curve = ", ".join(f"{g}: {one.value:.2f}" for g, one in enumerate(found.curve))
    lines.append(f"by gamma at {spot}: {curve}")
    if found.break_even is not None:
        lines.append(f"break-even acceptance there, the same at every position: {found.break_even:.2f}")
    lines += ["the same plan, if one assumption fails:"] * bool(found.doubts)
    lines += [f"- {d.assumption}, if {d.failing}: {d.speedup:.2f}" for d in found.doubts]
    for batch, context in found.boundaries.items():
        lines.append(f"S*({batch}): " + ("none" if context is None else f"helps from context {context} on"))
    lines += [f"note: {note}" for note in found.notes]
    lines += ["everything above is predicted; it takes for granted:", *(f"- {said}" for said in found.assumptions)]
    return "\n".join(lines)


def _columns(rows: list[list[str]]) -> list[str]:
    return table(rows).splitlines()


def as_json(found: Answer) -> dict[str, Any]:
    """The same for a program: named fields throughout."""
    shown: dict[str, Any] = _plain(found)
    shown["boundaries"] = [{"batch": b, "from_context": s} for b, s in found.boundaries.items()]
    return shown


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {key: _plain(v) for key, v in value._asdict().items()}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value
