"""`specsim conform`: is this verifier lossless?"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from specsim.commands.conform_options import Conform
from specsim.commands.json_form import json_answer
from specsim.commands.options import (
    Command,
    Form,
    form_of,
    parse_budget,
    takes,
)

# Statuses of other commands are 0, 1 and 2 with 2 for bad input: here 2 is an answer, that nothing could be decided.
UNDECIDED, BAD_INPUT = 2, 3
# Default budget in seconds for each subject of a file; the subjects share the sum.
EACH = 60.0


class ConformCommand(Command):
    """The command whose bad input has another status."""

    bad_input = BAD_INPUT


@takes(Conform, bad_input=BAD_INPUT)
def conform(options: Conform) -> None:
    """Judge somebody's verifier.

    Status 0: it passed. 1: it is convicted. 2: undecided, broken, vacuous or not available. 3: bad input.
    With --check, 0: the certificate is of what is installed, and it passed; 1: convicted; 2: it is of something else.
    With --config, 0: lossless; 1: lossy; 2: undecided.
    """
    from specsim.conform import report
    from specsim.report.forms import page

    # A list of adapters, or the check of a certificate.
    form = form_of(options)
    _check_outputs(options)
    if options.config is not None:
        _judge_config(options, options.config, form)
        return
    if options.rows is not None:
        raise ValueError("--rows is of --config, which is not given")
    if options.as_list:
        _print_list(form)
        return
    if options.check is not None:
        if form not in ("text", "json"):
            raise ValueError(f"--check prints no table, so it has no --{form}; leave it out, or give --json")
        _print_check(options, options.check)
        return
    # A judgement, with its reports in the form that is chosen.
    try:
        module, reports = _reports(options)
    except Exception as error:
        _write_failure(options, str(error))
        raise
    if options.html is not None:
        _write_page(options, module, reports)
    if form == "json":
        typer.echo(json_answer("specsim/conform", {"reports": [report.as_json(result) for result in reports]}))
    if form in ("csv", "latex"):
        typer.echo("\n\n".join(page([report.rows(result), "", *report.ending(result)], form) for result in reports))
    if form == "markdown":
        for result in reports:
            *shown, last = report.ending(result)
            details = ["```text", *shown, "```", ""] if shown else []
            typer.echo("\n".join([page([report.rows(result)], form), "", *details, last, ""]))
    statuses = {result.status for result in reports}
    if statuses != {0}:
        raise typer.Exit(1 if 1 in statuses else UNDECIDED)


def _judge_config(options: Conform, path: Path, form: Form) -> None:
    """Judge a configuration alone; exit with the status of its verdict."""
    from specsim.commands.conform_config import print_config

    others: dict[str, Any] = {"a subject": options.source, "--counts": options.counts, "--check": options.check}
    others |= {"--list": options.as_list or None, "--subject": options.subject, "--property": options.only or None}
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"--config judges a file of options; it goes without {name}")
    status = print_config(path, options.rows, form)
    if status:
        raise typer.Exit(status)


def _check_outputs(options: Conform) -> None:
    """Raise ValueError, before any work, for an output file that cannot be written or that this run would not write."""
    from specsim.base.files import check_writable

    # Options that name an output file, with the ending that the file must have.
    for name, ending in {"html": ".html", "junit": ".xml", "badge": ".json", "certificate": ""}.items():
        path = getattr(options, name)
        if path is None:
            continue
        if options.as_list or options.check is not None:
            raise ValueError(f"--{name} is of a judgement; --list and --check judge nothing")
        if options.config is not None:
            raise ValueError(f"--{name} is of a judgement of code; --config reads options")
        if name == "certificate" and options.counts is not None:
            raise ValueError("--certificate is of code; --counts judges a log")
        check_writable(path, ending)


def _print_list(form: Form) -> None:
    """Print the adapters and their subjects; a terminal gets one paragraph for each."""
    from specsim.conform import registry
    from specsim.conform.output import aside
    from specsim.report.forms import page

    with aside():
        entries = registry.listed()
    if form == "json":
        typer.echo(json_answer("specsim/conform-list", {"adapters": [entry._asdict() for entry in entries]}))
        return
    # A name may have commas: in text each has a line of its own.
    if form == "text":
        lines: list[str] = []
        for entry in entries:
            lines += [f"{entry.adapter}: {entry.state}", *(f"  {name}" for name in entry.subjects)]
        typer.echo(page(lines, form))
        return
    rows = [[entry.adapter, entry.state, "; ".join(entry.subjects)] for entry in entries]
    typer.echo(page([[["adapter", "what it is of, and what is missing", "subjects"], *rows]], form))


def _print_check(options: Conform, path: Path) -> None:
    """Print what a certificate covers; exit with the status of the reason if the installed code differs from it."""
    from specsim.conform import certificate, registry
    from specsim.conform.output import aside

    # Compare the certificate with the installed code.
    before = frozenset(sys.modules)
    try:
        with aside():
            module = registry.find(_source(options))
            covered = certificate.check(path, module, before, subject=options.subject, properties=options.only or ())
    except certificate.NotHeld as reason:
        typer.echo(f"{options.source}: {reason}", err=True)
        raise typer.Exit(reason.status) from None
    if options.as_json:
        answer = {"subject": options.source, "certificate": str(path), "holds": True, **covered._asdict()}
        typer.echo(json_answer("specsim/conform-check", answer, indent=None))
        return
    _say(f"{options.source}: what {path} certifies is what is installed", options)
    for name, words in zip(covered.subjects, covered.outcomes, strict=True):
        _say(f"{name}: {words}", options)
    _say(f"hashed: {certificate.listed(covered.sources)}, and nothing else", options)
    _say(certificate.unknown_in(covered), options)
    if covered.versions:
        _say(f"by their versions alone: {', '.join(' '.join(pair) for pair in covered.versions.items())}", options)
    _say(f"judged: {', '.join(covered.judged)}, and nothing else", options)


def _reports(options: Conform) -> tuple[Any, list[Any]]:
    """Return the subject's file (None of a log) and a report for each subject; write all files but the page."""
    from specsim.base.files import write_bytes
    from specsim.conform import certificate, ci, registry, report
    from specsim.conform.counts import counted
    from specsim.conform.output import aside

    # Refuse a wrong budget before any work; then judge a log, or every subject of a file.
    _budget(options, 1)
    if options.counts is not None:
        module, reports = None, [counted(options.counts, options.false_alarm)]
        _say(report.text(reports[0]), options)
    else:
        before = frozenset(sys.modules)
        with aside():
            module = registry.find(_source(options))
            subjects = registry.subjects_or_reason(module)
        if options.subject is not None and not isinstance(subjects, str):
            subjects = [registry.one_of(subjects, options.subject)]
        # A certificate holds the code as it was before it was judged. `subjects` is a reason, in words, if the
        # file cannot be judged.
        draft = None
        if options.certificate is not None and not isinstance(subjects, str):
            draft = certificate.drafted(module, subjects, before)
        reports = _judge_subjects(options, module, subjects)
        if options.certificate is not None and draft is not None:
            written = certificate.write(options.certificate, draft, reports, options.false_alarm)
            about = certificate.purpose(written, passed=all(judged.status == 0 for judged in reports))
            _say(f"{options.certificate} {about}: {report.short(reports)}", options)
            _say(certificate.unknown_in(written), options)

    # Files for CI.
    if options.junit is not None:
        write_bytes(options.junit, ci.as_junit(reports).encode())
    if options.badge is not None:
        write_bytes(options.badge, (json.dumps(ci.as_badge(reports)) + "\n").encode())
    return module, reports


def _write_failure(options: Conform, reason: str) -> None:
    """Write the files that CI reads, with the reason why nothing was judged; CI would show those of an older run."""
    from specsim.base.files import write_bytes
    from specsim.conform import ci

    name = str(options.counts or options.source or "specsim conform")
    with suppress(OSError):
        if options.junit is not None:
            write_bytes(options.junit, ci.junit_of_bad_input(name, reason).encode())
        if options.badge is not None:
            write_bytes(options.badge, (json.dumps(ci.badge_of_bad_input()) + "\n").encode())


def _source(options: Conform) -> str:
    """Return the subject's source; ValueError without one."""
    if options.source is None:
        raise ValueError("name a subject, the path of a file, --counts or --list")
    return options.source


def _write_page(options: Conform, module: Any, reports: list[Any]) -> None:
    """Write the reports as a page of HTML."""
    from specsim.base.files import write_bytes
    from specsim.conform import page

    assert options.html is not None
    facts = page.about(module) | {"false-alarm rate": f"{options.false_alarm:g} of the whole report"}
    if options.counts is None:
        facts |= {"budget": f"{_budget(options, len(reports)):g} s"}
    write_bytes(options.html, page.page(reports, facts).encode())


def _judge_subjects(options: Conform, module: Any, subjects: Any) -> list[Any]:
    """Judge every subject of a file and return a report for each; show each verdict as it is reached."""
    from specsim.conform import registry, report, sharing
    from specsim.conform.judgement import chosen

    # Refuse unknown properties. If the file cannot be judged, `subjects` is the reason, a string.
    chosen(options.only)
    if isinstance(subjects, str):
        unavailable = registry.unavailable(module, subjects)
        _say(report.text(unavailable), options)
        return [unavailable]

    # Names of subjects that have begun, and what was shown of the current one's properties.
    begun, shown = set[str](), dict[str, str]()

    def begin(subject: Any, seconds: float) -> None:
        """Name a subject as its judgement begins, or begins again with time that others left."""
        again = f", again, with {seconds:.0f} s that were left" if subject.name in begun else ""
        note = f": {subject.note}" if subject.note else ""
        begun.add(subject.name)
        shown.clear()
        _say(f"{subject.name} ({subject.kind}){again}{note}", options)

    return sharing.judge_all(
        subjects,
        budget=_budget(options, len(subjects)),
        false_alarm=options.false_alarm,
        properties=options.only,
        begin=begin,
        say=lambda verdict: _say(report.next_line(verdict, shown), options),
        end=lambda result: _say("\n".join(report.ending(result)), options),
    )


def _budget(options: Conform, subjects: int) -> float:
    """Return the time limit in seconds for this number of subjects together."""
    return EACH * subjects if options.budget is None else parse_budget(options.budget)


def _say(line: str, options: Conform) -> None:
    """Print a line at once, if the output is text for a person."""
    from specsim.report.text import paragraphs

    if line and form_of(options) == "text":
        typer.echo(paragraphs(line.splitlines()))
