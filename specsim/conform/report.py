"""A report in words, and as what JSON holds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from specsim.conform.verdict import Counterexample, Report, Verdict

SHOWN = 8  # outcomes of a counterexample
TELLING = ("joint", "contract", "marginal")  # properties whose reach says the most, the best first


def line(verdict: Verdict) -> str:
    """One verdict in one line.

    >>> line(Verdict("mine", "joint", "lossless", "scripted", "V=3, 2 drafts", 36))
    'lossless         joint       scripted, 36 runs: V=3, 2 drafts'
    """
    said = [verdict.reach] if verdict.outcome == "lossless" else [verdict.words]
    if verdict.property == "vacuity" and verdict.outcome == "lossless":
        said = [verdict.words, verdict.reach]  # what the name of the property does not say
    seen = f"{verdict.outcome:16} {verdict.property:11} {evidence(verdict)}{distance(verdict)}"
    return ": ".join([seen, "; ".join(filter(None, said))]).rstrip(": ")


def evidence(verdict: Verdict) -> str:
    """By what a verdict was reached, in words; runs that several properties share are counted once.

    >>> evidence(Verdict("mine", "bound", "lossless", "scripted"))
    'scripted, in the runs of other properties'
    """
    if verdict.evidence == "none":
        return "not decided"
    runs = f"{verdict.runs} run{'s' * (verdict.runs != 1)}" if verdict.runs else "in the runs of other properties"
    return f"{verdict.evidence}, {runs}"


def distance(verdict: Verdict) -> str:
    """How far what was seen is from what should be, named; nothing where nothing is shown."""
    if verdict.counterexample is None or verdict.property == "bound":
        return ""
    return f", {measure(verdict)} {verdict.distance:.3g}"


def measure(verdict: Verdict) -> str:
    """Return the name of the quantity that a verdict's distance is."""
    return "error of a log-probability" if verdict.property == "logprobs" else "total variation"


def text(report: Report) -> str:
    """The whole: every verdict, the counterexample of the first that convicts, and the sum of it all."""
    return "\n".join([*map(line, report.verdicts), *ending(report)])


def ending(report: Report) -> Iterator[str]:
    """What follows the verdicts."""
    shown = next((v.counterexample for v in report.verdicts if v.counterexample is not None), None)
    if shown is not None:
        yield from counterexample(shown)
    if report.resemblance is not None:
        yield report.resemblance.words
    unfinished = "" if report.complete else f" ({unfinished_words(report)}: what is above is a part)"
    yield f"{report.subject}: {outcome(report)}{unfinished}"


def outcome(report: Report) -> str:
    """Return the outcome in words; "lossless" always comes with its reach.

    >>> outcome(Report("mine", (Verdict("mine", "joint", "lossless", "scripted", "V=3, 2 drafts", 36),)))
    'lossless where it was tried (scripted: V=3, 2 drafts)'
    """
    if report.outcome != "lossless":
        return report.outcome
    by_name = {verdict.property: verdict for verdict in report.verdicts if verdict.reach}
    telling = [by_name[name] for name in TELLING if name in by_name] or list(by_name.values())
    if not telling:
        return "lossless as far as its properties reach"
    edge = next((v.words for v in report.verdicts if v.property == "degenerate" and v.outcome == "measured"), "")
    return f"lossless where it was tried ({telling[0].evidence}: {telling[0].reach}){'; but ' * bool(edge)}{edge}"


def unfinished_words(report: Report) -> str:
    """Why a report is not complete."""
    return "interrupted" if report.interrupted else "it ended before all was judged"


def rows(report: Report) -> list[list[str]]:
    """The verdicts as rows of a table, the head first."""
    found = [[v.outcome, v.property, v.evidence, str(v.runs), v.words or v.reach] for v in report.verdicts]
    return [["outcome", "property", "evidence", "runs", "seen, or as far as it reaches"], *found]


def counterexample(shown: Counterexample) -> Iterator[str]:
    """The input, and where the laws differ most."""
    yield f"counterexample: {shown.case}"
    for name, value in (("p", shown.p), ("q", shown.q), ("drafts, for example", shown.drafts)):
        if value is not None:
            yield f"  {name} = {simple(value)}"
    for name, words in (shown.given or {}).items():
        yield f"  {name} = {words}"
    keys = sorted(shown.expected.keys() | shown.observed.keys(), key=str)
    gap = {key: abs(shown.expected.get(key, 0.0) - shown.observed.get(key, 0.0)) for key in keys}
    yield "  outcome: observed, expected"
    for key in sorted(keys, key=lambda k: -gap[k])[:SHOWN]:
        yield f"  {simple(key)}: {simple(shown.observed.get(key, 0.0))}, {simple(shown.expected.get(key, 0.0))}"


def simple(value: Any) -> str:
    """Numbers as the rationals that they are, or as four digits.

    >>> simple([0.25, 1 / 3]), simple(0.123456789)
    ('[1/4, 1/3]', '0.1235')
    """
    if isinstance(value, list | tuple):
        inner = ", ".join(simple(one) for one in value)
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    if not isinstance(value, float) or not math.isfinite(value):
        return str(value)
    near = Fraction(value).limit_denominator(64)
    return str(near) if abs(float(near) - value) < 1e-9 else f"{value:.4g}"


def as_json(report: Report) -> dict[str, Any]:
    """The report as JSON can hold it: outcomes as text."""
    verdicts = []
    for verdict in report.verdicts:
        held = verdict._asdict()
        if verdict.counterexample is not None:
            held["counterexample"] = verdict.counterexample._asdict() | {
                "outcome": simple(verdict.counterexample.outcome),
                "expected": {simple(k): v for k, v in verdict.counterexample.expected.items()},
                "observed": {simple(k): v for k, v in verdict.counterexample.observed.items()},
            }
        verdicts.append(held)
    likeness = None if report.resemblance is None else report.resemblance._asdict()
    held = {"subject": report.subject, "outcome": report.outcome, "complete": report.complete}
    return held | {"resemblance": likeness, "verdicts": verdicts}
