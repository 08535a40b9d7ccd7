"""`specsim log`: the acceptance in an engine's log, each number by its right name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from specsim.commands.json_form import interval, json_answer, one_or_many
from specsim.commands.options import OUTPUT, AsCsv, AsJson, AsLatex, AsMarkdown, examples, form_of, takes

if TYPE_CHECKING:
    from specsim.base.intervals import Measure
    from specsim.logs.measures import LogAcceptance
    from specsim.logs.record import EngineLog
    from specsim.report.forms import Cell, Form, Table

EXAMPLES = examples(
    "specsim log on.log",
    "specsim log on.log --against metrics.txt",
    "specsim log metrics.txt --out hazards.csv",
    "specsim plan --hazards hazards.csv --cost-ratio 0.05",
)
WORDS = {
    "tau": "tokens per target call (tau, the mean acceptance length)",
    "drafted_tau": "tokens per target call that had drafts",
    "mean_tau": "mean over requests of their own tokens per target call",
    "coverage": "share of the target calls that had drafts",
    "kept": "drafts kept per call",
    "draft_rate": "share of drafts kept (the acceptance rate of most engines)",
    "output_share": "share of the text that was drafted",
    "alpha": "acceptance of one draft, if it were the same everywhere (alpha)",
}


class Log(NamedTuple):
    """The options of `specsim log`."""

    file: Annotated[
        Path,
        typer.Argument(
            help="Log, answers or metrics of vLLM, SGLang, llama.cpp, TensorRT-LLM, aiperf, Spec-Bench, serving "
            "benchmarks, or ours."
        ),
    ]
    against: Annotated[
        Path | None,
        typer.Option(help="Another log: is its drafter better, and how many prompts show a difference of 1, 2, 5 %?"),
    ] = None
    gamma: Annotated[int | None, typer.Option(help="Longest block, if the log does not say it.")] = None
    drafted_share: Annotated[
        float | None,
        typer.Option(
            help="Share of the target calls that had a draft, if the log does not say it: 1 for EAGLE, MTP or a "
            "draft model."
        ),
    ] = None
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95
    out: Annotated[
        Path | None,
        typer.Option(
            help="CSV file to write (position, tried, kept), for `specsim plan --hazards`.", rich_help_panel=OUTPUT
        ),
    ] = None
    as_csv: AsCsv = False
    as_latex: AsLatex = False
    as_markdown: AsMarkdown = False
    as_json: AsJson = False


@takes(Log)
def log(options: Log) -> None:
    """Read acceptance from a log: rates, hazards, tau and alpha, each with its interval."""
    from specsim.base import check, limits
    from specsim.base.files import check_writable, write_bytes
    from specsim.commands import log_against
    from specsim.logs.curves import curve_notes
    from specsim.logs.given import check_coverage
    from specsim.logs.measures import counted_run, log_acceptance
    from specsim.report.forms import page
    from specsim.speed.runs import timed_notes

    # Refuse wrong options, and read the log; another log beside it is compared with it.
    form = form_of(options)
    if options.out is not None:
        check_writable(options.out, ".csv")
    if options.gamma is not None:
        check.integer(options.gamma, "gamma", 1, limits.MAX_GAMMA)
    runs = _runs(options.file, options.drafted_share)
    if options.against is not None:
        if options.out is not None:
            raise ValueError("--out is of one log; give it without --against")
        other_runs = _runs(options.against, options.drafted_share)
        typer.echo(log_against.compared(runs, other_runs, options.gamma, options.level, form))
        return
    # Acceptance of every run; the first one's hazards go to the file.
    runs = [counted_run(run, options.gamma) for run in runs]
    acceptances = [log_acceptance(run, length=options.gamma, level=options.level) for run in runs]
    if options.out is not None:
        if acceptances[0].hazards is None:
            raise ValueError(f"{options.file.name} has no positions; --out needs blocks by the drafts they kept")
        check_coverage(runs[0])
        write_bytes(options.out, _csv(acceptances[0]).encode())
    # What no acceptance can be: in several runs together, and in the times of one.
    doubts = curve_notes(runs, options.level)
    acceptances = [
        acceptance._replace(notes=(*acceptance.notes, *timed_notes(run, options.gamma, options.level)))
        for run, acceptance in zip(runs, acceptances, strict=True)
    ]
    if form == "json":
        shown = [_json(run, acceptance) for run, acceptance in zip(runs, acceptances, strict=True)]
        typer.echo(_answers(shown, doubts))
        return
    parts = [_text(run, acceptance, options.level, form) for run, acceptance in zip(runs, acceptances, strict=True)]
    if doubts:
        parts.append(page([f"note on all runs: {doubt}" for doubt in doubts], form))
    typer.echo("\n\n".join(parts))


def _answers(runs: list[dict[str, Any]], doubts: list[str]) -> str:
    """Return the JSON of the runs of a log, and what several of them cannot be together."""
    if not doubts:
        return one_or_many("specsim/log", runs, "runs")
    return json_answer("specsim/log", {"runs": runs, "notes": doubts}, indent=None)


def _runs(file: Path, drafted_share: float | None) -> list[EngineLog]:
    """Return the runs of a log that speculate, with the share of steps that had a draft where it is given."""
    from specsim.base import check
    from specsim.logs.given import check_share
    from specsim.logs.read import read_log

    runs = [run for run in read_log(file) if run.speculating]
    if not runs:
        raise ValueError(f"{file.name} is of a run without speculation; expected drafts")
    if drafted_share is None:
        return runs
    share = float(check.scalar(drafted_share, "drafted_share", "(0, 1]"))
    for run in runs:
        check_share(share, run.coverage, run.source)
    return [run._replace(coverage=share) if run.coverage is None else run for run in runs]


def _text(run: EngineLog, acceptance: LogAcceptance, level: float, form: Form) -> str:
    """Return the text of a run: its size, its measures, its hazards by position, notes."""
    from specsim.commands.plan.sentence import counted
    from specsim.logs.definitions import definitions
    from specsim.report.forms import Number, page

    # Measures.
    head = [["measure", "value", f"{100 * level:g}% interval"]]
    rows: list[list[Cell]] = [
        [WORDS[kind], Number(f"{measure.value:.3f}", measure.value), _ends(measure)]
        for kind, measure in acceptance.measures.items()
    ]
    size = (
        f"{counted(round(acceptance.length), 'draft')} a block"
        if acceptance.fixed
        else f"{acceptance.length:.2f} drafts a block in the mean"
    )
    count = "blocks are not counted" if run.blocks is None else counted(run.blocks, "block")
    name = run.source if run.engine == "own" else f"{run.engine}, {run.source}"
    lines: list[str | Table] = [f"{name}: {size}, {count}", "", [*head, *rows]]
    # Definitions of others, where requests tell them apart.
    if "mean_tau" in acceptance.measures:
        names: list[list[Cell]] = [
            [row.name, Number(f"{row.measure.value:.3f}", row.measure.value), row.printed_by]
            for row in definitions(run, acceptance, level)
        ]
        lines += ["", [["the same, by whose definition", "value", "who prints it"], *names]]
    # Hazards.
    if acceptance.hazards is not None:
        head = [["draft", "came to it", "kept", "hazard", f"{100 * level:g}% interval"]]
        parts = zip(
            acceptance.hazards.tried,
            acceptance.hazards.kept,
            acceptance.hazards.hazards,
            acceptance.hazards.intervals,
            strict=True,
        )
        rows = [
            [
                str(i),
                str(tried),
                str(accepted),
                Number(f"{hazard:.3f}", hazard),
                Number(f"[{low:.3f}, {high:.3f}]", None, low, high),
            ]
            for i, (tried, accepted, hazard, (low, high)) in enumerate(parts, 1)
        ]
        lines += ["", [*head, *rows]]
        basis = "blocks independent" if acceptance.hazards.tau_error is None else "intervals over requests"
        lines += ["", f"hazard: the share kept of those that came to it, so all before it were kept; {basis}"]
    notes = list(acceptance.notes)
    if (coverage := acceptance.measures.get("coverage")) is not None:
        notes.append(f"plan these drafts with --draft ngram (or suffix) and --drafted-share {coverage.value:.3g}")
    return page([*lines, *(f"note: {note}" for note in notes)], form)


def _ends(measure: Measure) -> Cell:
    """Return the cell of an interval."""
    from specsim.report.forms import Number

    if measure.low is None or measure.high is None:
        return Number("not known", None)
    return Number(f"[{measure.low:.3f}, {measure.high:.3f}]", None, measure.low, measure.high)


def _csv(acceptance: LogAcceptance) -> str:
    """Return a CSV of counts by position, with the share of steps that had a draft unless all had one."""
    assert acceptance.hazards is not None
    coverage = acceptance.measures.get("coverage")
    head, end = ("", "") if coverage is None else (",drafted_share", f",{coverage.value:.6g}")
    rows = zip(acceptance.hazards.tried, acceptance.hazards.kept, strict=True)
    lines = [f"position,tried,kept{head}", *(f"{i},{n},{k}{end}" for i, (n, k) in enumerate(rows, 1))]
    return "\n".join(lines) + "\n"


def _json(run: EngineLog, acceptance: LogAcceptance) -> dict[str, Any]:
    """Return a run and its acceptance for a program."""
    from specsim.logs.definitions import definitions

    # Hazards with their counts and intervals, if the log has positions.
    hazards = None
    if acceptance.hazards is not None:
        hazards = {
            "tried": acceptance.hazards.tried.tolist(),
            "kept": acceptance.hazards.kept.tolist(),
            "hazards": [
                interval(hazard, *ends)
                for hazard, ends in zip(
                    acceptance.hazards.hazards.tolist(), acceptance.hazards.intervals.tolist(), strict=True
                )
            ],
        }
    return {
        "engine": run.engine,
        "source": run.source,
        "model": run.model,
        "length": acceptance.length,
        "fixed": acceptance.fixed,
        "blocks": run.blocks,
        "measures": {kind: measure._asdict() for kind, measure in acceptance.measures.items()},
        "definitions": [row._asdict() | {"measure": row.measure._asdict()} for row in definitions(run, acceptance)],
        "hazards": hazards,
        "notes": list(acceptance.notes),
    }
