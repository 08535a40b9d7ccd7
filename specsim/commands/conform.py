"""`specsim conform`: is this verifier lossless?"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from specsim.commands.completion import complete_property, complete_subject
from specsim.commands.json_form import json_answer
from specsim.commands.options import (
    AsCsv,
    AsJson,
    AsLatex,
    AsMarkdown,
    Command,
    Form,
    examples,
    form_of,
    parse_budget,
    takes,
)

# Statuses of other commands are 0, 1 and 2 with 2 for bad input: here 2 is an answer, that nothing could be decided.
UNDECIDED, BAD_INPUT = 2, 3
# Seconds for each subject where nothing is said: all together share them.
EACH = 60.0
EXAMPLES = examples(
    "specsim conform rejection",
    "specsim conform my_rule.py --property marginal",
    "specsim conform my_rule.py --subject my_rule --certificate held.json",
    "specsim conform --list",
)
BUDGET_HELP = (
    "Time for all of it, as 60, 60s or 2m; by default a minute for each subject. "
    "Waiting for a busy processor does not count."
)
SUBJECT_HELP = "Name of an adapter, an exhibit or a rule, or the path of a file."
COUNTS_HELP = "A log in order of time, a JSON object a block: p, q (probabilities of the drafted tokens), kept."
# Of --counts: two numbers a draft, in some 40 bytes, of blocks of at most 4,096 drafts.
MOST_BYTES_OF_A_LINE = 1 << 20


class ConformCommand(Command):
    """The command whose bad input has another status."""

    bad_input = BAD_INPUT


class Conform(NamedTuple):
    """What `specsim conform` is told."""

    source: Annotated[
        str | None,
        typer.Argument(metavar="SUBJECT", help=SUBJECT_HELP, autocompletion=complete_subject),
    ] = None
    subject: Annotated[str | None, typer.Option(help="Judge this subject alone: its name, or an unambiguous part.")] = (
        None
    )
    budget: Annotated[
        str | None,
        typer.Option(help=BUDGET_HELP),
    ] = None
    only: Annotated[
        list[str] | None,
        typer.Option("--property", help="One property; may be given several times.", autocompletion=complete_property),
    ] = None
    false_alarm: Annotated[float, typer.Option(help="Probability of convicting a correct subject.")] = 1e-6
    counts: Annotated[Path | None, typer.Option(help=COUNTS_HELP)] = None
    html: Annotated[Path | None, typer.Option(help="Write the report to this file, as a page that needs no other.")] = (
        None
    )
    junit: Annotated[Path | None, typer.Option(help="Write the verdicts to this file as JUnit XML, for CI.")] = None
    badge: Annotated[
        Path | None, typer.Option(help="Write the outcome to this file as JSON of a badge (shields.io's endpoint).")
    ] = None
    certificate: Annotated[Path | None, typer.Option(help="Write what was judged to this file.")] = None
    check: Annotated[
        Path | None, typer.Option(help="Is the subject the one of this certificate, and did all --property pass?")
    ] = None
    as_list: Annotated[bool, typer.Option("--list", help="Every adapter, and what is missing to run it.")] = False
    as_csv: AsCsv = False
    as_latex: AsLatex = False
    as_markdown: AsMarkdown = False
    as_json: AsJson = False


@takes(Conform, bad_input=BAD_INPUT)
def conform(told: Conform) -> None:
    """Judge somebody's verifier.

    Status 0: it passed. 1: it is convicted. 2: undecided, broken, vacuous or not available. 3: bad input.
    With --check, 0: the certificate is of what is installed, and it passed; 1: convicted; 2: it is of something else.
    """
    from specsim.conform import report
    from specsim.report.forms import page

    form = form_of(told)
    _outputs(told)
    if told.as_list:
        _listed(form)
        return
    if told.check is not None:
        if form not in ("text", "json"):
            raise ValueError(f"--check prints no table, so it has no --{form}; leave it out, or give --json")
        _checked(told, told.check)
        return
    try:
        module, reports = _reports(told)
    except Exception as error:
        _failed(told, str(error))
        raise
    if told.html is not None:
        _page(told, module, reports)
    if form == "json":
        typer.echo(json_answer("specsim/conform", {"reports": [report.as_json(one) for one in reports]}))
    if form in ("csv", "latex"):
        typer.echo("\n\n".join(page([report.rows(one), "", *report.ending(one)], form) for one in reports))
    if form == "markdown":
        for one in reports:
            *shown, last = report.ending(one)
            seen = ["```text", *shown, "```", ""] if shown else []
            typer.echo("\n".join([page([report.rows(one)], form), "", *seen, last, ""]))
    statuses = {one.status for one in reports}
    if statuses != {0}:
        raise typer.Exit(1 if 1 in statuses else UNDECIDED)


def _outputs(told: Conform) -> None:
    """ValueError, before any work, for a file that cannot be written or would never be."""
    from specsim.base.files import check_writable

    files = {"html": ".html", "junit": ".xml", "badge": ".json", "certificate": ""}
    given = {name: path for name in files if (path := getattr(told, name)) is not None}
    for name, path in given.items():
        if told.as_list or told.check is not None:
            raise ValueError(f"--{name} is of a judgement; --list and --check judge nothing")
        if name == "certificate" and told.counts is not None:
            raise ValueError("--certificate is of code; --counts judges a log")
        check_writable(path, files[name])


def _listed(form: Form) -> None:
    """Print the adapters; a terminal gets one paragraph for each."""
    from specsim.conform import registry
    from specsim.conform.output import aside
    from specsim.report.forms import page
    from specsim.report.text import paragraphs

    with aside():
        listed = registry.listed()
    if form == "json":
        typer.echo(json_answer("specsim/conform-list", {"adapters": [{"adapter": a, "state": s} for a, s in listed]}))
    elif form != "text":
        typer.echo(page([[["adapter", "what it is of, and what is missing"], *map(list, listed)]], form))
    else:
        typer.echo(paragraphs([f"{name}: {words}" for name, words in listed]))


def _checked(told: Conform, path: Path) -> None:
    """Say what a certificate is of; ends with a status of its own where it is not of what is installed."""
    from specsim.conform import certificate, registry
    from specsim.conform.output import aside

    before = frozenset(sys.modules)
    try:
        with aside():
            module = registry.find(_source(told))
            held = certificate.check(path, module, before, subject=told.subject, properties=told.only or ())
    except certificate.NotHeld as reason:
        typer.echo(f"{told.source}: {reason}", err=True)
        raise typer.Exit(reason.status) from None
    if told.as_json:
        answer = {"subject": told.source, "certificate": str(path), "holds": True, **held._asdict()}
        typer.echo(json_answer("specsim/conform-check", answer, indent=None))
        return
    _say(f"{told.source}: what {path} certifies is what is installed", told)
    for name, words in zip(held.subjects, held.outcomes, strict=True):
        _say(f"{name}: {words}", told)
    _say(f"hashed: {certificate.listed(held.sources)}, and nothing else", told)
    if held.versions:
        _say(f"by their versions alone: {', '.join(' '.join(pair) for pair in held.versions.items())}", told)
    _say(f"judged: {', '.join(held.judged)}, and nothing else", told)


def _reports(told: Conform) -> tuple[Any, list[Any]]:
    """The subject's file, None of a log, and a report for each of its subjects; files but the page are written."""
    from specsim.base.files import write_bytes
    from specsim.conform import certificate, ci, registry, report
    from specsim.conform.output import aside

    _budget(told, 1)
    if told.counts is not None:
        module, reports = None, [_counted(told.counts, told.false_alarm)]
        _say(report.text(reports[0]), told)
    else:
        before = frozenset(sys.modules)
        with aside():
            module = registry.find(_source(told))
            subjects = registry.subjects_or_reason(module)
        if told.subject is not None and not isinstance(subjects, str):
            subjects = [registry.one_of(subjects, told.subject)]
        draft = None
        if told.certificate is not None and not isinstance(subjects, str):
            draft = certificate.drafted(module, subjects, before)
        reports = _judged(told, module, subjects)
        if told.certificate is not None and draft is not None:
            hashed = certificate.write(told.certificate, draft, reports, told.false_alarm)
            outcomes = report.short(reports)
            _say(f"{told.certificate} certifies {certificate.listed(hashed)}: {outcomes}", told)
    if told.junit is not None:
        write_bytes(told.junit, ci.as_junit(reports).encode())
    if told.badge is not None:
        write_bytes(told.badge, (json.dumps(ci.as_badge(reports)) + "\n").encode())
    return module, reports


def _failed(told: Conform, reason: str) -> None:
    """Write the files that CI reads where nothing could be judged: it would show those of the run before, or none."""
    from specsim.base.files import write_bytes
    from specsim.conform import ci

    name = str(told.counts or told.source or "specsim conform")
    with suppress(OSError):
        if told.junit is not None:
            write_bytes(told.junit, ci.junit_of_bad_input(name, reason).encode())
        if told.badge is not None:
            write_bytes(told.badge, (json.dumps(ci.badge_of_bad_input()) + "\n").encode())


def _source(told: Conform) -> str:
    if told.source is None:
        raise ValueError("name a subject, the path of a file, --counts or --list")
    return told.source


def _page(told: Conform, module: Any, reports: list[Any]) -> None:
    from specsim.base.files import write_bytes
    from specsim.conform import page

    assert told.html is not None
    facts = page.about(module) | {"false-alarm rate": f"{told.false_alarm:g} of the whole report"}
    if told.counts is None:
        facts |= {"budget": f"{_budget(told, len(reports)):g} s"}
    write_bytes(told.html, page.page(reports, facts).encode())


def _judged(told: Conform, module: Any, subjects: Any) -> list[Any]:
    """A report for every subject of a file; each verdict is shown as it is reached."""
    from specsim.conform import registry, report, sharing
    from specsim.conform.judgement import chosen

    chosen(told.only)
    if isinstance(subjects, str):
        one = registry.unavailable(module, subjects)
        _say(report.text(one), told)
        return [one]
    begun: set[str] = set()

    def begin(subject: Any, seconds: float) -> None:
        again = f", again, with {seconds:.0f} s that were left" if subject.name in begun else ""
        begun.add(subject.name)
        _say(f"{subject.name} ({subject.kind}){again}{': ' + subject.note if subject.note else ''}", told)

    return sharing.judge_all(
        subjects,
        budget=_budget(told, len(subjects)),
        false_alarm=told.false_alarm,
        properties=told.only,
        begin=begin,
        say=lambda verdict: _say(report.line(verdict), told),
        end=lambda one: _say("\n".join(report.ending(one)), told),
    )


def _counted(path: Path, false_alarm: float) -> Any:
    from specsim.base.reading import read_lines
    from specsim.conform.evidence.bound import judge_counts
    from specsim.conform.verdict import Report

    lines = read_lines(path, MOST_BYTES_OF_A_LINE)
    return Report(str(path), (judge_counts(lines, str(path), false_alarm=false_alarm),))


def _budget(told: Conform, subjects: int) -> float:
    """Seconds for so many subjects together."""
    return EACH * subjects if told.budget is None else parse_budget(told.budget)


def _say(line: str, told: Conform) -> None:
    from specsim.report.text import paragraphs

    if line and form_of(told) == "text":
        typer.echo(paragraphs(line.splitlines()))
