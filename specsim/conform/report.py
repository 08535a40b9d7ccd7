"""A report in words, and as what JSON holds."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from specsim.conform.verdict import ORDER, Counterexample, Report, Verdict

SHOWN = 8  # outcomes of a counterexample
LONGEST = 24  # entries of a row that is shown whole; of a longer one the first SHOWN are, and how many there are
TELLING = ("joint", "contract", "marginal")  # properties whose reach says the most, the best first
BEYOND = "larger"  # the property whose reach, or lack of it, is always said beside theirs
NO_REACH = "where it was tried, which is not recorded"
SIZES = re.compile(r"V=(\d+), (?:(\d+) drafts?|tree \[([^]]*)\])")  # of a case, in the words of a reach


def line(verdict: Verdict) -> str:
    """One verdict in one line.

    >>> line(Verdict("mine", "joint", "lossless", "scripted", "V=3, 2 drafts", 36))
    'lossless         joint       scripted, 36 runs: V=3, 2 drafts'
    """
    said = [verdict.reach] if verdict.outcome == "lossless" else [verdict.words]
    if verdict.property == "vacuity" and verdict.outcome == "lossless":
        said = [verdict.words, verdict.reach]  # what the name of the property does not say
    if verdict.outcome == "lossless" and not any(said):
        said = [NO_REACH]
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
    """Return the whole report: every verdict, the counterexample that tells most, and the outcome."""
    return "\n".join([*map(line, report.verdicts), *ending(report)])


def ending(report: Report) -> Iterator[str]:
    """Yield the lines that follow the verdicts: a counterexample, the resemblance, the outcome.

    The counterexample is that of the first verdict which decides the outcome: a verdict that only measures an end of a
    coin may stand before the one that convicts, and shows something else.
    """
    shown = [verdict for verdict in report.verdicts if verdict.counterexample is not None]
    shown.sort(key=lambda verdict: verdict.outcome != report.outcome)
    if shown and shown[0].counterexample is not None:
        yield from counterexample(shown[0].counterexample)
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
    by_name = {verdict.property: verdict for verdict in report.verdicts}
    reaching = {name: verdict for name, verdict in by_name.items() if verdict.reach}
    telling = [reaching[name] for name in TELLING if name in reaching] or list(reaching.values())
    if not telling:
        return f"lossless {NO_REACH}"
    where = [f"{telling[0].evidence}: {telling[0].reach}"]
    beyond = by_name.get(BEYOND)
    if beyond is not None and beyond is not telling[0]:
        where.append(f"{beyond.evidence}: {beyond.reach}" if beyond.reach else beyond.words)
    edge = _edge(report)
    return f"lossless where it was tried ({'; '.join(where)}){'; but ' * bool(edge)}{edge}"


def _edge(report: Report) -> str:
    """Return what a coin at its end does, which convicts nobody whose generator hardly ever draws it."""
    return next((v.words for v in report.verdicts if v.property == "degenerate" and v.outcome == "measured"), "")


def short(reports: Sequence[Report]) -> str:
    """Return the worst outcome in a few words; "lossless" comes with the largest sizes tried of every subject.

    >>> short([Report("mine", (Verdict("mine", "joint", "lossless", "scripted", "V=3, 2 drafts; V=8, 1 draft"),))])
    'lossless where tried (scripted up to V=8, 2 drafts)'
    """
    worst = max(reports, key=lambda report: (report.status != 0, ORDER.index(report.outcome))).outcome
    if worst != "lossless":
        return worst
    extents = [extent(report) for report in reports]
    common = [kind for kind in extents[0] if all(kind in one for one in extents)]
    where = [f"{kind} up to {_least([one[kind] for one in extents])}" for kind in common]
    ends = "; but not at the ends of its coins" * any(_edge(report) != "" for report in reports)
    return (f"lossless where tried ({'; '.join(where)})" if where else f"lossless {NO_REACH}") + ends


def extent(report: Report) -> dict[str, tuple[int, int]]:
    """Return the largest vocabulary and the largest number of drafts that were tried, by the kind of evidence."""
    out: dict[str, tuple[int, int]] = {}
    for verdict in report.verdicts:
        for vocab, drafts, tree in SIZES.findall(verdict.reach if verdict.outcome == "lossless" else ""):
            size = int(vocab), int(drafts) if drafts else tree.count(",") + 1
            known = out.get(verdict.evidence, (0, 0))
            out[verdict.evidence] = max(known[0], size[0]), max(known[1], size[1])
    return out


def _least(sizes: Sequence[tuple[int, int]]) -> str:
    vocab, drafts = (min(one) for one in zip(*sizes, strict=True))
    return f"V={vocab}, {drafts} draft{'s' * (drafts != 1)}"


def unfinished_words(report: Report) -> str:
    """Why a report is not complete."""
    return "interrupted" if report.interrupted else "it ended before all was judged"


def rows(report: Report) -> list[list[str]]:
    """The verdicts as rows of a table, the head first."""
    found = [[v.outcome, v.property, v.evidence, str(v.runs), _seen(v)] for v in report.verdicts]
    return [["outcome", "property", "evidence", "runs", "seen, or as far as it reaches"], *found]


def _seen(verdict: Verdict) -> str:
    """Return what was seen; of what is lossless its reach before all else."""
    if verdict.outcome != "lossless":
        return verdict.words or verdict.reach
    return "; ".join(filter(None, [verdict.reach or NO_REACH, verdict.words]))


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
        shown = value if len(value) <= LONGEST or isinstance(value, tuple) else value[:SHOWN]
        inner = ", ".join([*map(simple, shown), *[f"... {len(value)} in all"] * (len(shown) < len(value))])
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
    held |= {"words": outcome(report)}
    return held | {"resemblance": likeness, "verdicts": verdicts}
