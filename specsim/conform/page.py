"""Reports as one HTML file that needs nothing else: no script, no font, no picture, and no request to anybody.

Every word that a subject or its user chose is escaped where it enters a cell; nothing else is ever
put between tags.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterable, Sequence
from html import escape
from importlib import metadata
from types import ModuleType
from typing import Any

import specsim
from specsim.conform.report import has_distance, measure, outcome, short, simple, unfinished_words
from specsim.conform.verdict import Counterexample, Report, Verdict

# Code between backticks, in a text that is escaped already.
CODE = re.compile(r"`([^`<>]+)`")
# Largest number of outcomes of a counterexample that are shown.
SHOWN = 40
# Content policy of the page: the browser sends no request, either.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
# What each verdict means, in the order in which the page explains them.
MEANING = {
    "lossless": "The property holds, as far as evidence and reach say.",
    "convicted": "It does not hold; a counterexample shows it.",
    "lossy by design": "It does not hold, and the subject does not claim it; the distance is its price.",
    "vacuous": "Nothing was ever accepted, or nothing was ever rejected.",
    "inconclusive": "Nothing was decided; the words say what it would take.",
    "broken": "The subject raised, hung, or returned no token ids.",
    "not available": "It could not be run here.",
    "measured": "A distance, and nothing about the rule.",
}
STYLE = """
:root { color-scheme: light dark; --ink: #1d2125; --paper: #fff; --faint: #5b6570; --line: #d5dae0; --bar: #7a93ad;
  --good: #1a6b36; --bad: #a8231c; --open: #7a5200 }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --paper: #16191d; --faint: #9aa5b1; --line: #363d45;
  --bar: #55708c; --good: #6fce8d; --bad: #ff8f85; --open: #e3b65c } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 72rem;
  margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; display: block; overflow-x: auto }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line) }
th { color: var(--faint); font-weight: 600 } td.number { text-align: right; font-variant-numeric: tabular-nums }
code, td.code { font-family: ui-monospace, monospace; overflow-wrap: anywhere }
.good { color: var(--good); font-weight: 600 } .bad { color: var(--bad); font-weight: 600 }
.open { color: var(--open); font-weight: 600 } .faint { color: var(--faint) }
.bar { display: block; height: .7rem; background: var(--bar); min-width: 1px } td.bars { min-width: 8rem }
"""


def about(module: ModuleType | None = None) -> dict[str, str]:
    """Return the versions of everything that had a part in a judgement, by name."""
    versions = {"specsim": specsim.__version__, "Python": platform.python_version()}
    versions |= {name: metadata.version(name) for name in ("numpy", "torch", "jax") if name in sys.modules}
    distribution = str(vars(module).get("DISTRIBUTION", "")) if module is not None else ""
    if not distribution:
        return versions
    try:
        return versions | {distribution: metadata.version(distribution)}
    except metadata.PackageNotFoundError:
        return versions | {distribution: "not installed"}


def page(reports: Sequence[Report], facts: dict[str, str]) -> str:
    """Return the page: every report with its counterexamples, then facts (versions, rates, budget).

    >>> page([Report("<mine>", ())], {"specsim": "1"}).count("&lt;mine&gt;")
    2
    """
    title = f"specsim conform: {', '.join(report.subject for report in reports)}"
    outcomes = {verdict.outcome for report in reports for verdict in report.verdicts}
    explained = [outcome for outcome in MEANING if outcome in outcomes]
    return "\n".join(
        [
            # The head, with the policy and the style.
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
            # The reports, the meaning of their verdicts, and the versions.
            "<h1>Is it lossless?</h1>",
            *(part for report in reports for part in _report(report)),
            "<h2>What the verdicts mean</h2>",
            _table((), ([_outcome(outcome), _cell(MEANING[outcome])] for outcome in explained)),
            "<h2>Made with</h2>",
            _table((), ([_cell(name), _cell(value, "code")] for name, value in facts.items())),
            "</body></html>\n",
        ]
    )


def _report(report: Report) -> Iterable[str]:
    """Yield the parts of one report: its outcome, a table of verdicts, and the counterexamples."""
    properties = short([report]).removeprefix(report.outcome)
    yield f"<h2><code>{escape(report.subject)}</code>: {_marked(report.outcome)}{escape(properties)}</h2>"
    if properties:
        yield f"<p>It is {escape(outcome(report))}.</p>"
    if not report.complete:
        yield f"<p>This is a part: {escape(unfinished_words(report))}.</p>"
    if report.resemblance is not None:
        yield f"<p>{_marked_up(report.resemblance.words)}</p>"
    # The verdicts, then the counterexample of each that has one.
    head = ("property", "verdict", "evidence", "runs", "distance", "reach", "words")
    yield _table(head, map(_verdict_cells, report.verdicts))
    for verdict in report.verdicts:
        if verdict.counterexample is not None:
            title = "Input of the call that broke in" if verdict.outcome == "broken" else "Counterexample to"
            yield f"<h3>{title} {escape(verdict.property)}: {escape(verdict.counterexample.case)}</h3>"
            yield from _counterexample(verdict.counterexample)


def _verdict_cells(verdict: Verdict) -> list[str]:
    """Return the table cells of one verdict: property, outcome, evidence, runs, distance, reach, words."""
    distance = f"{simple(verdict.distance)} ({measure(verdict)})" if has_distance(verdict) else ""
    # A verdict without runs of its own follows from those of other properties.
    return [
        _cell(verdict.property),
        _outcome(verdict.outcome),
        _cell(verdict.evidence),
        _cell(f"{verdict.runs:,}" if verdict.runs or verdict.evidence == "none" else "of others", "number"),
        _cell(distance, "number"),
        _words(verdict.reach),
        _words(verdict.words),
    ]


def _counterexample(counterexample: Counterexample) -> Iterable[str]:
    """Yield two tables: the input, and the outcomes whose probabilities differ most."""
    # The input: laws, drafts and other arguments.
    laws = (
        ("p, the target", counterexample.p),
        ("q, the draft", counterexample.q),
        ("drafts, for example", counterexample.drafts),
    )
    arguments = counterexample.given or {}
    rows = [[_cell(name), _cell(simple(value), "code")] for name, value in laws if value is not None]
    rows += [[_cell(name), _cell(words, "code")] for name, words in arguments.items()]
    yield _table((), rows)

    # Outcomes, those that differ most first, equal ones in the order of their text.
    expected, observed = counterexample.expected, counterexample.observed
    if not (expected or observed):
        return
    gaps = {outcome: observed.get(outcome, 0.0) - expected.get(outcome, 0.0) for outcome in {**expected, **observed}}
    outcomes = sorted(gaps, key=lambda outcome: (-abs(gaps[outcome]), str(outcome)))

    # Bars are relative to the largest difference.
    largest = max((abs(gap) for gap in gaps.values()), default=0.0)
    cells = [
        [
            _cell(simple(outcome), "code"),
            _cell(simple(float(expected.get(outcome, 0.0))), "number"),
            _cell(simple(float(observed.get(outcome, 0.0))), "number"),
            _cell(f"{gaps[outcome]:+.4g}", "number"),
            _bar(abs(gaps[outcome]) / largest if largest else 0.0),
        ]
        for outcome in outcomes[:SHOWN]
    ]
    yield _table(("outcome", "expected", "observed", "difference", ""), cells)
    if len(outcomes) > SHOWN:
        yield f'<p class="faint">{len(outcomes) - SHOWN} outcomes that differ less are left out.</p>'


def _cell(text: str, kind: str = "") -> str:
    """Return a table cell with an escaped text; `kind` is its class in the style."""
    return f'<td class="{kind}">{escape(text)}</td>' if kind else f"<td>{escape(text)}</td>"


def _words(text: str) -> str:
    """Return a table cell with a text whose code is marked up."""
    return f"<td>{_marked_up(text)}</td>"


def _marked_up(text: str) -> str:
    """Return an escaped text in which the words between backticks are code."""
    return CODE.sub(r"<code>\1</code>", escape(text))


def _bar(share: float) -> str:
    """Return a table cell with a bar that fills this share of it."""
    return f'<td class="bars"><span class="bar" style="width: {100 * share:.0f}%"></span></td>'


def _outcome(word: str) -> str:
    """Return a table cell with a verdict in its colour."""
    return f"<td>{_marked(word)}</td>"


def _marked(word: str) -> str:
    """Return a verdict in its colour."""
    kind = {"lossless": "good", "lossy by design": "good", "convicted": "bad", "broken": "bad"}.get(word, "open")
    return f'<span class="{kind}">{escape(word)}</span>'


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table of rows of cells, with a head if one is passed."""
    lines = ["".join(f"<th>{escape(title)}</th>" for title in head)] if head else []
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in [*lines, *map(''.join, rows)])}</table>"
