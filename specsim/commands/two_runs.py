"""Compare two logs that both speculate: acceptance and the time of a cycle, apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specsim.commands.log_against import is_tie

if TYPE_CHECKING:
    from specsim.commands.diagnose_options import Diagnose
    from specsim.logs.record import EngineLog
    from specsim.report.forms import Cell, Form
    from specsim.speed.prediction import Estimate
    from specsim.speed.two_runs import RunComparison


def compared(files: Sequence[Path], runs: Sequence[EngineLog], options: Diagnose, form: Any) -> str:
    """Return every later log compared with the first, at each batch that both have."""
    from specsim.base.results import as_plain
    from specsim.commands.json_form import one_or_many
    from specsim.speed.two_runs import compare_runs, same_runs

    # Logs by name; each later log against the first.
    sources = list(dict.fromkeys(run.source for run in runs))
    if len(sources) < len(files):
        raise ValueError(f"logs are told apart by their names; expected {len(files)} names, got {', '.join(sources)}")
    by_source = {source: [run for run in runs if run.source == source] for source in sources}
    comparisons = [
        compare_runs(old, new, length=options.gamma, noise=options.noise, level=options.level)
        for source in sources[1:]
        for old, new in same_runs(by_source[sources[0]], by_source[source])
    ]
    if form == "json":
        shown = [{"sentence": sentence(comparison), **as_plain(comparison)} for comparison in comparisons]
        return one_or_many("specsim/diagnose-two", shown, "comparisons")
    return "\n\n".join(text(comparison, form) for comparison in comparisons)


def sentence(comparison: RunComparison) -> str:
    """Return a sentence that says how fast the new run is, and which of the two factors is the cause."""
    from specsim.logs.record import shown

    at_batch = "" if comparison.new.batch == 1 else f" at batch {shown(comparison.new.batch)}"
    times = "as fast" if is_tie(comparison.speedup.value) else f"{comparison.speedup.value:.3f}x as fast"
    opening = f"{comparison.new.source} is {times} as {comparison.old.source}{at_batch}"
    if comparison.doubt:
        opening += f", which is not plausible ({comparison.doubt})"
    if comparison.acceptance is None or comparison.cycle is None:
        return f"{opening}; why is not in these logs: they do not both say how many tokens a target call emits."

    # The speedup is the product of two factors; the cause is named if it is certain.
    acceptance = (
        f"acceptance is {_better(comparison.acceptance)} ({_tokens(comparison)} tokens a cycle, "
        f"x {comparison.acceptance.value:.3f}{_doubt(comparison.acceptance)})"
    )
    cycle = f"a cycle takes {_milliseconds(comparison)} ms (x {comparison.cycle.value:.2f}{_doubt(comparison.cycle)})"
    if comparison.cause == "acceptance":
        return f"{opening}: {acceptance}, which is the cause; {cycle}."
    if comparison.cause == "cycle":
        return f"{opening}: {cycle}, which is the cause; {acceptance}."
    if comparison.verdict != "neither":
        return f"{opening}; which of two factors is the cause is not certain: {cycle}; {acceptance}."
    doubt = "" if is_tie(comparison.speedup.value) else ", which may be noise"
    return f"{opening}{doubt}: {cycle}; {acceptance}."


def _better(ratio: Estimate) -> str:
    """Return whether a ratio is better, worse or the same."""
    if is_tie(ratio.value):
        return "the same"
    return "better" if ratio.value > 1 else "worse"


def _doubt(ratio: Estimate) -> str:
    """Return that a ratio may be noise, "" where its interval leaves out 1, and where it is 1."""
    from specsim.speed.runs import verdict_of

    return ", which may be noise" if verdict_of(ratio) == "neither" and not is_tie(ratio.value) else ""


def text(comparison: RunComparison, form: Form = "text") -> str:
    """Return the sentence, the two factors with their intervals, and notes."""
    from specsim.report.forms import page, spanned

    rows: list[list[Cell]] = [["new over old", "ratio"], ["speed", spanned(*comparison.speedup, 3)]]
    rows += [["tokens of a cycle", spanned(*comparison.acceptance, 3)]] if comparison.acceptance is not None else []
    rows += [["time of a cycle", spanned(*comparison.cycle, 3)]] if comparison.cycle is not None else []
    notes = [f"note: {note}" for note in comparison.notes]
    return page([sentence(comparison), "", rows, "", *notes], form)


def _tokens(comparison: RunComparison) -> str:
    """Return the tokens of a cycle of both runs."""
    assert comparison.old.tau is not None
    assert comparison.new.tau is not None
    return f"{comparison.new.tau.value:.3f} against {comparison.old.tau.value:.3f}"


def _milliseconds(comparison: RunComparison) -> str:
    """Return the time of a cycle of both runs, in ms."""
    assert comparison.old.cycle is not None
    assert comparison.new.cycle is not None
    return f"{1e3 * comparison.new.cycle.value:.3g} against {1e3 * comparison.old.cycle.value:.3g}"
