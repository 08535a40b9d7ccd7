"""The answer as a person reads it, and as a program does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specsim.base.results import as_plain
from specsim.commands.plan.answer import Answer
from specsim.commands.plan.engines.sglang import bounds
from specsim.commands.plan.sentence import cells, place, span
from specsim.commands.plan.tree import Tree
from specsim.report import forms as style
from specsim.speed.prediction import Estimate, Prediction


def text(answer: Answer, form: style.Form = "text") -> str:
    """Return the text for a person, its tables in a form."""
    # The answer and its tables.
    lines: list[str | style.Table] = [answer.sentence, "", _chain_table(answer), ""]
    if answer.trees:
        lines += [
            _tree_table(answer),
            "",
            "steps, top-k, tokens: the bounds that an engine takes for such a tree",
        ]

    # The first point by block length, and what its plan depends on.
    first = answer.points[0]
    curve = ", ".join(f"{gamma}: {speedup.value:.2f}" for gamma, speedup in enumerate(answer.curve))
    lines.append(f"by gamma at {place(first.batch, first.context, answer.unknown)}: {curve}")
    if answer.break_even is not None:
        lines.append(f"break-even acceptance there, the same at every position: {answer.break_even:.2f}")
    if answer.doubts:
        lines.append("the same plan, if one assumption fails:")
    lines += [f"- {d.assumption}, if {d.failing}: {d.speedup:.2f}" for d in answer.doubts]

    # The longest context.
    far = answer.far
    if far is not None:
        where = f"batch {far.batch}, context {far.context}"
        lines.append(f"the plan of the longest context ({where}), if one assumption fails:")
        lines += [f"- {d.assumption}, if {d.failing}: {d.speedup:.2f}" for d in far.doubts]
        if far.break_even is not None:
            lines.append(f"break-even acceptance of {far.gamma} drafts there: {far.break_even:.2f}")

    # Boundaries, notes and assumptions.
    for batch, context in answer.boundaries.items():
        lines.append(f"at batch {batch} speculation {_boundary(context, answer.between.get(batch, []))}")
    lines += [f"note: {note}" for note in answer.notes]
    lines.append("everything above is predicted; it takes for granted:")
    lines += [f"- {assumption}" for assumption in answer.assumptions]
    return style.page(lines, form)


def as_json(answer: Answer) -> dict[str, Any]:
    """Return the answer for a program: named fields throughout."""
    record: dict[str, Any] = as_plain(answer)
    record["boundaries"] = [{"batch": batch, "from_context": context} for batch, context in answer.boundaries.items()]
    record["between"] = [
        {"batch": batch, "contexts": [list(pair) for pair in ranges]} for batch, ranges in answer.between.items()
    ]
    for tree, row in zip(answer.trees, record["trees"], strict=True):
        row["bounds"] = bounds(tree.parents)._asdict() if tree.parents else None
    # What nobody said is no number.
    for row in (*record["points"], *record["trees"]):
        row |= dict.fromkeys(answer.unknown)
    return record


def _chain_table(answer: Answer) -> style.Table:
    """Return a row per point for the best chains, under its heading."""
    # The heading; costs as numbers have no seconds.
    in_seconds = answer.points[0].unit == "s"
    speedups = [point.speedup for point in answer.points]
    speedup = _with_level("speedup", speedups, answer.level)
    head = ["batch", "context", "gamma", "tau", speedup, "draft,\nsteps", "verify,\nsteps"]
    head += ["cycle,\nms", "tokens\nper s"] if in_seconds else ["cycle, steps"]

    def row(point: Prediction) -> list[style.Cell]:
        """Return the cells of one point."""
        row_cells: list[style.Cell] = [
            *cells(point.batch, point.context, answer.unknown),
            style.Number(str(point.gamma) if point.gamma else "off", point.gamma),
            _rounded(point.tau.value),
            _with_ends(point.speedup),
            _rounded(point.draft / point.plain),
            _rounded(point.verify / point.plain),
        ]
        if in_seconds:
            return [*row_cells, _rounded(1e3 * point.cycle.value), _rounded(point.tokens_per_time.value, 0)]
        return [*row_cells, _rounded(point.cycle.value)]

    # A row for each point.
    return [head, *(row(point) for point in answer.points)]


def _tree_table(answer: Answer) -> style.Table:
    """Return a row per point for the best trees, under its heading."""
    speedups = [tree.speedup for tree in answer.trees]
    speedup = _with_level("speedup of the best tree", speedups, answer.level)
    head = ["batch", "context", "nodes", "levels", "tau", speedup, "steps, top-k, tokens"]

    def row(tree: Tree) -> list[style.Cell]:
        """Return the cells of one tree."""
        return [
            *cells(tree.batch, tree.context, answer.unknown),
            str(len(tree.parents)),
            str(tree.levels),
            _rounded(tree.tau),
            _with_ends(tree.speedup),
            ", ".join(map(str, bounds(tree.parents))) if tree.parents else "",
        ]

    return [head, *(row(tree) for tree in answer.trees)]


def _rounded(value: float, digits: int = 2) -> style.Number:
    """Return a number that is shown with so many digits behind the point."""
    return style.Number(f"{value:.{digits}f}", value)


def _with_ends(estimate: Estimate) -> style.Number:
    """Return a number that is shown with its interval, if it has one."""
    return style.Number(span(estimate), estimate.value, estimate.low, estimate.high)


def _with_level(name: str, estimates: Sequence[Estimate], level: float) -> str:
    """Return the head of a column, with the confidence level if a number has an interval."""
    has_interval = any("[" in span(estimate) for estimate in estimates)
    return f"{name}, {100 * level:g}%" if has_interval else name


def _boundary(context: int | None, between: Sequence[tuple[int, int]]) -> str:
    """Return where speculation helps, in words: from `context` on (0: everywhere).

    Without a boundary (`context` is None) it helps only in the ranges `between`, each a pair of its
    first and last context; an empty list means nowhere.
    """
    if context == 0:
        return "helps at every context"
    if context is not None:
        return f"helps from context {context} on"
    if not between:
        return "helps at no context"
    ranges = " and ".join(f"from {first} to {last}" for first, last in between)
    return f"helps at contexts {ranges}, and not at the longest"
