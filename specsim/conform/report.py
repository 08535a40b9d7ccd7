"""Reports in words, and as values that JSON can hold."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from specsim.conform.verdict import ORDER, Counterexample, Report, Verdict

# Largest number of outcomes of a counterexample that are shown.
SHOWN = 8
# Entries of the longest row that is shown whole; of a longer one the first SHOWN are, and the
# number of all.
LONGEST = 24
# Properties whose reach says the most, the best first.
TELLING = ("joint", "contract", "marginal")
# The property whose reach, or lack of it, always stands beside theirs.
BEYOND = "larger"
# Words for the reach of reports that do not have it.
NO_REACH = "where it was tried, which is not recorded"
# The size of a case, in the words of a reach: V, and drafts or the parents of a tree.
SIZES = re.compile(r"V=(\d+), (?:(\d+) drafts?|tree \[([^]]*)\])")


def line(verdict: Verdict, shown: Mapping[str, str] | None = None) -> str:
    """Return one verdict in one line.

    shown: reaches that stand above it in full, with their properties; it only says how far such a one goes.

    >>> joint = Verdict("mine", "joint", "lossless", "scripted", "V=3, 1 draft; V=5, 2 drafts", 36)
    >>> line(joint)
    'lossless         joint       scripted, 36 runs: V=3, 1 draft; V=5, 2 drafts'
    >>> line(joint, {joint.reach: "marginal"})
    'lossless         joint       scripted, 36 runs: the sizes of marginal, up to V=5, 2 drafts'
    """
    is_lossless = verdict.outcome == "lossless"
    reach = verdict.reach
    sizes = extent(Report(verdict.subject, (verdict,)))
    earlier = (shown or {}).get(reach, verdict.property)
    if sizes and earlier != verdict.property:
        reach = f"the sizes of {earlier}, up to {_least(list(sizes.values()))}"
    parts = [reach] if is_lossless else [verdict.words]
    # The name of the property does not say what was accepted, and how often.
    if verdict.property == "vacuity" and is_lossless:
        parts = [verdict.words, reach]
    if is_lossless and not any(parts):
        parts = [NO_REACH]
    seen = f"{verdict.outcome:16} {verdict.property:11} {evidence(verdict)}{distance(verdict)}"
    return ": ".join([seen, "; ".join(filter(None, parts))]).rstrip(": ")


def evidence(verdict: Verdict) -> str:
    """Return in words how a verdict was reached; runs that several properties share are counted once.

    >>> evidence(Verdict("mine", "bound", "lossless", "scripted"))
    'scripted, in the runs of other properties'
    """
    if verdict.evidence == "none":
        return "not decided"
    runs = "1 run" if verdict.runs == 1 else f"{verdict.runs} runs"
    if not verdict.runs:
        runs = "in the runs of other properties"
    return f"{verdict.evidence}, {runs}"


def distance(verdict: Verdict) -> str:
    """Return the distance between what was seen and what should be, named; nothing where nothing is shown."""
    if not has_distance(verdict):
        return ""
    return f", {measure(verdict)} {verdict.distance:.3g}"


def has_distance(verdict: Verdict) -> bool:
    """Return whether a verdict shows a distance: it has laws that differ."""
    shown = verdict.counterexample
    return shown is not None and bool(shown.expected or shown.observed) and verdict.property != "bound"


def measure(verdict: Verdict) -> str:
    """Return the name of the quantity that a verdict's distance is."""
    return "error of a log-probability" if verdict.property == "logprobs" else "total variation"


def text(report: Report) -> str:
    """Return the whole report: every verdict, the counterexample that tells most, and the outcome."""
    return "\n".join([*lines(report.verdicts), *ending(report)])


def lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield a line for each verdict; sizes that several have are said once."""
    shown: dict[str, str] = {}
    for verdict in verdicts:
        yield next_line(verdict, shown)


def next_line(verdict: Verdict, shown: dict[str, str]) -> str:
    """Return the line of a verdict below others, and add its reach, with the name of its property, to `shown`."""
    text = line(verdict, shown)
    if verdict.outcome == "lossless":
        shown.setdefault(verdict.reach, verdict.property)
    return text


def ending(report: Report) -> Iterator[str]:
    """Yield the lines that follow the verdicts: a counterexample, the resemblance, the outcome.

    The counterexample is that of the first verdict which decides the outcome: a verdict that only
    measures an end of a coin may stand before the one that convicts, and shows something else.
    """
    shown = [verdict for verdict in report.verdicts if verdict.counterexample is not None]
    shown.sort(key=lambda verdict: verdict.outcome != report.outcome)
    if shown and shown[0].counterexample is not None:
        yield from counterexample(shown[0].counterexample)
    if report.resemblance is not None:
        yield report.resemblance.words
    unfinished = "" if report.complete else f" ({unfinished_words(report)}: what is above is a part)"
    # The lines above have every size; the last one says how far they go.
    yield f"{report.subject}: {short([report])}{unfinished}"


def outcome(report: Report) -> str:
    """Return the outcome in words; "lossless" always comes with its reach.

    >>> outcome(Report("mine", (Verdict("mine", "joint", "lossless", "scripted", "V=3, 2 drafts", 36),)))
    'lossless where it was tried (scripted: V=3, 2 drafts)'
    """
    if report.outcome != "lossless":
        return report.outcome
    # The reach that says most, and that of the larger sizes.
    by_name = {verdict.property: verdict for verdict in report.verdicts}
    reaching = {name: verdict for name, verdict in by_name.items() if verdict.reach}
    telling = [reaching[name] for name in TELLING if name in reaching] or list(reaching.values())
    if not telling:
        return f"lossless {NO_REACH}"
    where = [f"{telling[0].evidence}: {telling[0].reach}"]
    beyond = by_name.get(BEYOND)
    if beyond is not None and beyond is not telling[0]:
        where.append(f"{beyond.evidence}: {beyond.reach}" if beyond.reach else beyond.words)
    # What the ends of coins show does not convict.
    edge = _edge(report)
    return f"lossless where it was tried ({'; '.join(where)}){'; but ' * bool(edge)}{edge}"


def _edge(report: Report) -> str:
    """Return what happens at the end of a coin, which a generator hardly ever draws and which convicts no subject."""
    return next((v.words for v in report.verdicts if v.property == "degenerate" and v.outcome == "measured"), "")


def short(reports: Sequence[Report]) -> str:
    """Return the worst outcome in a few words; "lossless" comes with the largest sizes tried of every subject.

    >>> short([Report("mine", (Verdict("mine", "joint", "lossless", "scripted", "V=3, 2 drafts; V=8, 1 draft"),))])
    'lossless where tried (scripted up to V=8, 2 drafts)'
    """
    worst = max(reports, key=lambda report: (report.status != 0, ORDER.index(report.outcome))).outcome
    if worst != "lossless":
        return worst
    # Kinds of evidence that every subject has, each with the least of their sizes.
    extents = [extent(report) for report in reports]
    common = [kind for kind in extents[0] if all(kind in sizes for sizes in extents)]
    reach = [f"{kind} up to {_least([sizes[kind] for sizes in extents])}" for kind in common]
    ends = "; but not at the ends of its coins" * any(_edge(report) != "" for report in reports)
    where = f"where tried ({'; '.join(reach)})" if reach else NO_REACH
    return f"lossless {where}{ends}"


def extent(report: Report) -> dict[str, tuple[int, int]]:
    """Return the largest vocabulary and the largest number of drafts that were tried, by the kind of evidence."""
    largest: dict[str, tuple[int, int]] = {}
    for verdict in report.verdicts:
        reach = verdict.reach if verdict.outcome == "lossless" else ""
        for vocab, drafts, tree in SIZES.findall(reach):
            size = int(drafts) if drafts else tree.count(",") + 1
            known_vocab, known_size = largest.get(verdict.evidence, (0, 0))
            largest[verdict.evidence] = max(known_vocab, int(vocab)), max(known_size, size)
    return largest


def _least(sizes: Sequence[tuple[int, int]]) -> str:
    """Return in words the smallest vocabulary and the smallest number of drafts of several sizes."""
    vocab, drafts = (min(numbers) for numbers in zip(*sizes, strict=True))
    unit = "draft" if drafts == 1 else "drafts"
    return f"V={vocab}, {drafts} {unit}"


def unfinished_words(report: Report) -> str:
    """Return in words why a report is not complete."""
    return "interrupted" if report.interrupted else "it ended before all was judged"


def rows(report: Report) -> list[list[str]]:
    """Return the verdicts as rows of a table, the head first."""
    cells = [[v.outcome, v.property, v.evidence, str(v.runs), _seen(v)] for v in report.verdicts]
    return [["outcome", "property", "evidence", "runs", "seen, or as far as it reaches"], *cells]


def _seen(verdict: Verdict) -> str:
    """Return what was seen; if that is lossless, its reach comes before its words."""
    if verdict.outcome != "lossless":
        return verdict.words or verdict.reach
    return "; ".join(filter(None, [verdict.reach or NO_REACH, verdict.words]))


def counterexample(shown: Counterexample) -> Iterator[str]:
    """Yield the lines of a counterexample: the input and, unless the call broke, where the laws differ most."""
    # The input.
    laws = bool(shown.expected or shown.observed)
    yield f"{'counterexample' if laws else 'input'}: {shown.case}"
    drafts = "drafts, for example" if laws else "drafts"
    for name, value in (("p", shown.p), ("q", shown.q), (drafts, shown.drafts)):
        if value is not None:
            yield f"  {name} = {simple(value)}"
    for name, words in (shown.given or {}).items():
        yield f"  {name} = {words}"
    if not laws:
        return
    # Outcomes, those that differ most first.
    keys = sorted(shown.expected.keys() | shown.observed.keys(), key=str)
    gap = {key: abs(shown.expected.get(key, 0.0) - shown.observed.get(key, 0.0)) for key in keys}
    yield "  outcome: observed, expected"
    for key in sorted(keys, key=lambda k: -gap[k])[:SHOWN]:
        yield f"  {simple(key)}: {simple(shown.observed.get(key, 0.0))}, {simple(shown.expected.get(key, 0.0))}"


def simple(value: Any) -> str:
    """Return numbers as the rationals that they are, or with four digits.

    >>> simple([0.25, 1 / 3]), simple(0.123456789)
    ('[1/4, 1/3]', '0.1235')
    """
    if isinstance(value, list | tuple):
        shown = value if len(value) <= LONGEST or isinstance(value, tuple) else value[:SHOWN]
        entries = [simple(entry) for entry in shown]
        if len(shown) < len(value):
            entries.append(f"... {len(value)} in all")
        inner = ", ".join(entries)
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    if not isinstance(value, float) or not math.isfinite(value):
        return str(value)
    fraction = Fraction(value).limit_denominator(64)
    return str(fraction) if abs(float(fraction) - value) < 1e-9 else f"{value:.4g}"


def as_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON can hold it: outcomes of counterexamples as text."""
    # Verdicts with their counterexamples, whose outcomes become text.
    verdicts = []
    for verdict in report.verdicts:
        fields = verdict._asdict()
        if verdict.counterexample is not None:
            fields["counterexample"] = verdict.counterexample._asdict() | {
                "outcome": simple(verdict.counterexample.outcome),
                "expected": {simple(key): mass for key, mass in verdict.counterexample.expected.items()},
                "observed": {simple(key): mass for key, mass in verdict.counterexample.observed.items()},
            }
        verdicts.append(fields)

    # The whole report.
    return {
        "subject": report.subject,
        "outcome": report.outcome,
        "complete": report.complete,
        "words": outcome(report),
        "resemblance": None if report.resemblance is None else report.resemblance._asdict(),
        "verdicts": verdicts,
    }
