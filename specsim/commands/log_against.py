"""Compare the acceptance in two logs: is the second drafter better, and how many prompts show a difference?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specsim.base.intervals import Measure
    from specsim.logs.against import LogComparison
    from specsim.logs.record import EngineLog
    from specsim.report.forms import Cell, Form, Table


def compared(
    ours: Sequence[EngineLog], theirs: Sequence[EngineLog], length: int | None, level: float, form: Any
) -> str:
    """Return what to print: each run of the second log compared with its run of the first log."""
    from specsim.base.results import as_plain
    from specsim.commands.json_form import one_or_many
    from specsim.logs.against import compare_logs, pairs_of_runs

    comparisons = [
        compare_logs(first, second, length=length, level=level) for first, second in pairs_of_runs(ours, theirs)
    ]
    if form == "json":
        shown = [{"sentence": sentence(comparison), **as_plain(comparison)} for comparison in comparisons]
        return one_or_many("specsim/log-against", shown, "comparisons")
    return "\n\n".join(text(comparison, form) for comparison in comparisons)


# Ratios that are nearer to 1 print as 1.000: a tie.
TIE = 5e-4


def is_tie(ratio: float) -> bool:
    """Return whether a ratio is 1 in every digit that is printed."""
    return abs(ratio - 1) < TIE


def sentence(comparison: LogComparison) -> str:
    """Return a sentence that says which log emits more tokens a target call, and whether that is certain."""
    ratio = comparison.ratio
    if is_tie(ratio.value):
        width = "" if ratio.low is None or ratio.high is None else f" {_percent(ratio)}, {comparison.basis}"
        return f"{comparison.second} emits as many tokens per target call as {comparison.first}{width}."
    more = "more" if ratio.value >= 1 else "fewer"
    size = f"{100 * abs(ratio.value - 1):.1f} % {more} tokens per target call than {comparison.first}"
    if ratio.low is None or ratio.high is None:
        return f"{comparison.second} emits {size}; how certain that is, these logs do not say."
    span = _percent(ratio)
    verdict = "which may be noise" if ratio.low <= 1 <= ratio.high else "for sure"
    return f"{comparison.second} emits {size} {span}, {comparison.basis}: {verdict}."


def _percent(ratio: Measure) -> str:
    """Return the interval of a ratio as percent more or fewer."""
    low, high = (100 * ((end or 0.0) - 1) for end in (ratio.low, ratio.high))
    return f"[{low:+.1f}, {high:+.1f} %]"


def text(comparison: LogComparison, form: Form = "text") -> str:
    """Return the sentence, the numbers of both logs, the prompts that a difference needs, and notes."""
    from specsim.report.forms import Number, page, spanned

    # Tokens per target call of both logs, and their ratio.
    numbers = [comparison.first_tau, comparison.second_tau, comparison.ratio]
    rows: list[list[Cell]] = [
        ["tokens per target call", "first", "second", "second over first"],
        ["all requests together", *(spanned(*measure, 3) for measure in numbers)],
    ]
    if comparison.mean_ratio is not None:
        rows.append(["mean of requests", "", "", spanned(*comparison.mean_ratio, 3)])
    lines: list[str | Table] = [sentence(comparison), "", rows]

    # How many prompts, or blocks, show a difference of some size.
    if comparison.needed:
        head = ["to see a difference of", f"{comparison.unit} needed"]
        needed: list[list[Cell]] = [
            [Number(f"{100 * row.difference:g} %", row.difference), str(row.prompts)] for row in comparison.needed
        ]
        lines += ["", [head, *needed], "", "needed: of each, to see it with 80 % probability"]
    return page([*lines, *(f"note: {note}" for note in comparison.notes)], form)
