"""An answer as a person reads it, and as a program does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from specsim.commands.plan.answer import Answer
from specsim.commands.plan.emit import bounds
from specsim.commands.plan.sentence import span
from specsim.report import text as style
from specsim.speed.prediction import Estimate


def text(found: Answer, as_markdown: bool = False) -> str:
    """What a person reads; the tables in Markdown if asked for."""
    first = found.points[0]
    scale, unit = (1e3, "ms") if first.unit == "s" else (1.0, "steps")
    head = [
        "batch",
        "context",
        "gamma",
        "tau",
        _speedup("speedup", [p.speedup for p in found.points], found.level),
        "draft",
        "verify",
        f"cycle, {unit}",
        *(["tokens/s"] if first.unit == "s" else []),
    ]
    rows = [
        [str(p.batch), str(p.context), str(p.gamma) if p.gamma else "off", f"{p.tau.value:.2f}", span(p.speedup),
         f"{p.draft / p.plain:.2f}", f"{p.verify / p.plain:.2f}", f"{scale * p.cycle.value:.2f}",
         *([f"{p.tokens_per_time.value:.0f}"] if first.unit == "s" else [])]
        for p in found.points
    ]  # fmt: skip
    lines = [found.sentence, "", style.table([head, *rows], as_markdown), ""]
    if found.trees:
        head = ["batch", "context", "nodes", "levels", "tau",
                _speedup("speedup of the best tree", [t.speedup for t in found.trees], found.level),
                "steps, top-k, tokens"]  # fmt: skip
        rows = [[str(t.batch), str(t.context), str(len(t.parents)), str(t.levels), f"{t.tau:.2f}", span(t.speedup),
                 ", ".join(map(str, bounds(t.parents))) if t.parents else ""]
                for t in found.trees]  # fmt: skip
        lines += [
            style.table([head, *rows], as_markdown),
            "",
            "steps, top-k, tokens: the bounds that an engine takes for such a tree",
        ]
    spot = f"batch {first.batch}, context {first.context}"
    curve = ", ".join(f"{g}: {one.value:.2f}" for g, one in enumerate(found.curve))
    lines.append(f"by gamma at {spot}: {curve}")
    if found.break_even is not None:
        lines.append(f"break-even acceptance there, the same at every position: {found.break_even:.2f}")
    if found.doubts:
        lines.append("the same plan, if one assumption fails:")
    lines += [f"- {d.assumption}, if {d.failing}: {d.speedup:.2f}" for d in found.doubts]
    if found.far is not None:
        far = found.far
        lines.append(
            f"the plan of the longest context (batch {far.batch}, context {far.context}), if one assumption fails:"
        )
        lines += [f"- {d.assumption}, if {d.failing}: {d.speedup:.2f}" for d in far.doubts]
        if far.break_even is not None:
            lines.append(f"break-even acceptance of {far.gamma} drafts there: {far.break_even:.2f}")
    for batch, context in found.boundaries.items():
        lines.append(f"S*({batch}): {_boundary(context, found.between.get(batch, []))}")
    lines += [f"note: {note}" for note in found.notes]
    lines += ["everything above is predicted; it takes for granted:", *(f"- {said}" for said in found.assumptions)]
    return style.paragraphs(lines, as_markdown)


def _speedup(name: str, found: Sequence[Estimate], level: float) -> str:
    """The head of a column, with the level where a number has an interval."""
    return f"{name}, {100 * level:g}%" if any("[" in span(one) for one in found) else name


def _boundary(context: int | None, between: Sequence[tuple[int, int]]) -> str:
    if context is not None:
        return f"helps from context {context} on"
    if not between:
        return "none, it helps at no context"
    ranges = " and ".join(f"from {low} to {high}" for low, high in between)
    return f"none, as it does not help at the longest; it helps at contexts {ranges}"


def as_json(found: Answer) -> dict[str, Any]:
    """The same for a program: named fields throughout."""
    shown: dict[str, Any] = _plain(found)
    shown["boundaries"] = [{"batch": b, "from_context": s} for b, s in found.boundaries.items()]
    shown["between"] = [{"batch": b, "contexts": [list(r) for r in ranges]} for b, ranges in found.between.items()]
    for tree, one in zip(found.trees, shown["trees"], strict=True):
        one["bounds"] = bounds(tree.parents)._asdict() if tree.parents else None
    return shown


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {key: _plain(v) for key, v in value._asdict().items()}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value
