"""Compare two logs that both speculate: acceptance and the time of a cycle, apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specsim.commands.diagnose import Diagnose
    from specsim.logs.record import EngineLog
    from specsim.report.forms import Form
    from specsim.speed.prediction import Estimate
    from specsim.speed.two_runs import RunComparison


def compared(files: Sequence[Path], runs: Sequence[EngineLog], told: Diagnose, form: Any) -> str:
    """Every later log compared with the first, at each batch that both have."""
    from specsim.base.results import as_plain
    from specsim.commands.json_form import one_or_many
    from specsim.speed.two_runs import compare_runs, same_runs

    sources = list(dict.fromkeys(run.source for run in runs))
    if len(sources) < len(files):
        raise ValueError(f"logs are told apart by their names; expected {len(files)} names, got {', '.join(sources)}")
    by_source = {source: [run for run in runs if run.source == source] for source in sources}
    found = [
        compare_runs(old, new, length=told.length, noise=told.noise, level=told.level)
        for source in sources[1:]
        for old, new in same_runs(by_source[sources[0]], by_source[source])
    ]
    if form == "json":
        shown = [{"sentence": sentence(one), **as_plain(one)} for one in found]
        return one_or_many("specsim/diagnose-two", shown, "comparisons")
    return "\n\n".join(text(one, form) for one in found)


def sentence(found: RunComparison) -> str:
    """How fast, and which of the two factors is the cause."""
    from specsim.logs.record import shown

    at = "" if found.new.batch == 1 else f" at batch {shown(found.new.batch)}"
    opening = f"{found.new.source} is {found.speedup.value:.3f}x as fast as {found.old.source}{at}"
    if found.doubt:
        opening += f", which is not plausible ({found.doubt})"
    if found.acceptance is None or found.cycle is None:
        return f"{opening}; why is not in these logs: they do not both say how many tokens a target call emits."
    better = "better" if found.acceptance.value > 1 else "worse"
    acceptance = f"acceptance is {better} ({_tokens(found)} tokens a cycle, x {found.acceptance.value:.3f})"
    cycle = f"a cycle takes {_milliseconds(found)} ms (x {found.cycle.value:.2f})"
    if found.cause == "acceptance":
        return f"{opening}: {acceptance}, which is the cause; {cycle}."
    if found.cause == "cycle":
        return f"{opening}: {cycle}, which is the cause; {acceptance}."
    return f"{opening}, which may be noise: {cycle}; {acceptance}."


def text(found: RunComparison, form: Form = "text") -> str:
    """The sentence, the two factors with their intervals, and notes."""
    from specsim.report.forms import page

    rows = [["new over old", "ratio"], ["speed", _span(found.speedup)]]
    rows += [["tokens of a cycle", _span(found.acceptance)]] if found.acceptance is not None else []
    rows += [["time of a cycle", _span(found.cycle)]] if found.cycle is not None else []
    notes = [f"note: {note}" for note in found.notes]
    return page([sentence(found), "", rows, "", *notes], form)


def _tokens(found: RunComparison) -> str:
    assert found.old.tau is not None
    assert found.new.tau is not None
    return f"{found.new.tau.value:.3f} against {found.old.tau.value:.3f}"


def _milliseconds(found: RunComparison) -> str:
    assert found.old.cycle is not None
    assert found.new.cycle is not None
    return f"{1e3 * found.new.cycle.value:.3g} against {1e3 * found.old.cycle.value:.3g}"


def _span(found: Estimate) -> str:
    if found.low is None or found.high is None:
        return f"{found.value:.3f}"
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"
