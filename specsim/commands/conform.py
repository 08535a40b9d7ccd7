"""`specsim conform`: is this verifier lossless?"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from specsim.commands.options import alone, examples, takes

EXAMPLES = examples(
    "specsim conform rejection", "specsim conform my_rule.py --property marginal", "specsim conform --list"
)


class Conform(NamedTuple):
    """What `specsim conform` is told."""

    subject: Annotated[
        str | None, typer.Argument(help="Name of an adapter, an exhibit or a rule, or the path of a file.")
    ] = None
    budget: Annotated[str, typer.Option(help="Seconds for all of it, as 60 or 60s.")] = "60s"
    only: Annotated[list[str] | None, typer.Option("--property", help="One property; may be given several times.")] = (
        None
    )
    false_alarm: Annotated[float, typer.Option(help="Probability of convicting a correct subject.")] = 1e-6
    counts: Annotated[Path | None, typer.Option(help="A log of blocks, one JSON object a line: p, q and kept.")] = None
    html: Annotated[Path | None, typer.Option(help="Write the report to this file, as a page that needs no other.")] = (
        None
    )
    certificate: Annotated[Path | None, typer.Option(help="Write what was judged to this file.")] = None
    check: Annotated[
        Path | None, typer.Option(help="Is the subject the one of this certificate, and did all --property pass?")
    ] = None
    as_list: Annotated[bool, typer.Option("--list", help="Every adapter, and what is missing to run it.")] = False
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print tables as Markdown, when all is done.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False


@takes(Conform)
def conform(told: Conform) -> None:
    """Judge somebody's verifier; status 0 if it passed, 1 if it is convicted, 2 if that is undecided."""
    from specsim.conform import certificate, registry, report
    from specsim.report.text import table

    alone("json", told.as_json, markdown=told.as_markdown)
    _seconds(told.budget)
    _writable(told)
    if told.as_list:
        listed = registry.listed()
        if told.as_json:
            typer.echo(json.dumps([{"adapter": name, "state": words} for name, words in listed], indent=1))
        else:
            typer.echo(table([["adapter", "what it is of, and what is missing"], *map(list, listed)], told.as_markdown))
        return
    if told.counts is not None:
        module = None
        reports = [_counted(told.counts, told.false_alarm)]
        _say(report.text(reports[0]), told)
    else:
        if told.subject is None:
            raise ValueError("name a subject, the path of a file, --counts or --list")
        module = registry.find(told.subject)
        if told.check is not None:
            judged = certificate.check(told.check, module, told.only or ())
            if told.as_json:
                said = {"subject": told.subject, "certificate": str(told.check), "holds": True, "judged": judged}
                typer.echo(json.dumps(said))
            else:
                _say(f"{told.subject}: what {told.check} certifies is what is installed", told)
                _say(f"judged: {', '.join(judged)}, and nothing else", told)
            return
        reports = _judged(told, module)
        if told.certificate is not None:
            certificate.write(told.certificate, module, reports, told.false_alarm)
    if told.html is not None:
        _page(told, module, reports)
    if told.as_json:
        typer.echo(json.dumps([report.as_json(one) for one in reports], indent=1))
    if told.as_markdown:
        for one in reports:
            *shown, last = report.ending(one)
            seen = ["```text", *shown, "```", ""] if shown else []
            typer.echo("\n".join([table(report.rows(one), True), "", *seen, last, ""]))
    statuses = {one.status for one in reports}
    if statuses != {0}:
        raise typer.Exit(1 if 1 in statuses else 2)


def _writable(told: Conform) -> None:
    """ValueError, before any work, for a file that cannot be written or would never be."""
    from specsim.base.files import check_writable

    if told.html is not None and (told.as_list or told.check is not None):
        raise ValueError("--html is of a judgement; --list and --check judge nothing")
    for path, ending in ((told.html, ".html"), (told.certificate, "")):
        if path is not None:
            check_writable(path, ending)


def _page(told: Conform, module: Any, reports: list[Any]) -> None:
    from specsim.base.files import write_bytes
    from specsim.conform import page

    assert told.html is not None
    facts = page.about(module) | {"false-alarm rate": f"{told.false_alarm:g} of the whole report"}
    if told.counts is None:
        facts |= {"budget": told.budget}
    write_bytes(told.html, page.page(reports, facts).encode())


def _judged(told: Conform, module: Any) -> list[Any]:
    """A report for every subject of a file; each verdict is shown as it is reached."""
    from specsim.conform import apart, registry, report
    from specsim.conform.judgement import chosen

    chosen(told.only)
    subjects = registry.subjects_or_reason(module)
    if isinstance(subjects, str):
        one = registry.unavailable(module, subjects)
        _say(report.text(one), told)
        return [one]
    out, seconds = [], _seconds(told.budget)
    for subject in subjects:
        _say(f"{subject.name} ({subject.kind}){': ' + subject.note if subject.note else ''}", told)
        one = apart.judge(
            subject,
            budget=seconds / len(subjects),
            properties=told.only,
            false_alarm=told.false_alarm / len(subjects),
            say=lambda verdict: _say(report.line(verdict), told),
        )
        _say("\n".join(report.ending(one)), told)
        out.append(one)
        if not one.complete:  # interrupted: what was said is the report, and no more subjects are judged
            break
    return out


def _counted(path: Path, false_alarm: float) -> Any:
    from specsim.conform.evidence.bound import judge_counts
    from specsim.conform.verdict import Report

    with path.open(encoding="utf-8") as lines:
        return Report(str(path), (judge_counts(lines, str(path), false_alarm=false_alarm),))


def _seconds(budget: str) -> float:
    """60, 60s or 2m in seconds."""
    number, unit = (budget[:-1], budget[-1]) if budget[-1:] in ("s", "m") else (budget, "s")
    try:
        seconds = float(number) * {"s": 1, "m": 60}[unit]
    except ValueError:
        raise ValueError(f"budget {budget!r} is no time: give seconds, as 60 or 60s, or minutes, as 2m") from None
    if not 0 < seconds < math.inf:
        raise ValueError(f"budget must be a positive, finite time, got {budget}")
    return seconds


def _say(line: str, told: Conform) -> None:
    from specsim.report.text import paragraphs

    if line and not (told.as_json or told.as_markdown):
        typer.echo(paragraphs(line.splitlines()))
