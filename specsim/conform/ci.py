"""Output for continuous integration: verdicts as JUnit XML, and the outcome as a badge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as xml

from specsim.conform.report import ending, line, outcome, short
from specsim.conform.verdict import ORDER, Report, Verdict

# How a verdict ends a test; what is undecided is skipped, as under pytest.
ENDS = {"convicted": "failure", "vacuous": "failure", "broken": "error"}
PASSED = ("lossless", "lossy by design")
COLOURS = {"lossless": "brightgreen", "lossy by design": "green", "convicted": "red", "broken": "red"}
OTHERS = "lightgrey"


def as_junit(reports: Sequence[Report]) -> str:
    """JUnit XML: a suite for every subject, a test for every property.

    >>> as_junit([Report("mine", (Verdict("mine", "joint", "lossless"),))]).count("<testcase")
    1
    """
    root = xml.Element("testsuites", name="specsim conform")
    for report in reports:
        ends = [_end(report, verdict) for verdict in report.verdicts]
        counts = {name + "s": str(ends.count(name)) for name in ("failure", "error")}
        about = {"name": plain(report.subject), "tests": str(len(ends)), "skipped": str(ends.count("skipped"))}
        suite = xml.SubElement(root, "testsuite", about | counts | {"time": f"{report.seconds:.3f}"})
        about_all = xml.SubElement(suite, "properties")
        xml.SubElement(about_all, "property", name="outcome", value=plain(outcome(report)))
        for verdict, end in zip(report.verdicts, ends, strict=True):
            case = xml.SubElement(suite, "testcase", classname=plain(report.subject), name=verdict.property)
            if verdict.outcome in PASSED:
                xml.SubElement(case, "system-out").text = plain(line(verdict))
            if end:
                shown = "\n".join([line(verdict), *ending(report._replace(verdicts=(verdict,)))])
                xml.SubElement(case, end, type=verdict.outcome, message=plain(verdict.words)).text = plain(shown)
    xml.indent(root)
    return xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def as_badge(reports: Sequence[Report]) -> dict[str, Any]:
    """The worst outcome of all subjects, as the endpoint of shields.io reads it.

    >>> as_badge([Report("mine", (Verdict("mine", "joint", "lossless", "scripted", "V=3, 2 drafts"),))])["message"]
    'lossless where tried (scripted up to V=3, 2 drafts)'
    """
    worst = max(reports, key=lambda report: (report.status != 0, ORDER.index(report.outcome))).outcome
    colour = COLOURS.get(worst, OTHERS)
    return {"schemaVersion": 1, "label": "specsim conform", "message": short(reports), "color": colour}


def plain(text: str) -> str:
    """A text without the characters that XML has no way to write."""
    return "".join(one for one in text if one in "\t\n" or (one >= " " and not "\ud800" <= one <= "\udfff"))


def _end(report: Report, verdict: Verdict) -> str:
    """The element that ends a test; none where it passed, and all of its report was judged."""
    if verdict.outcome in PASSED:
        return "" if report.complete else "skipped"
    return ENDS.get(verdict.outcome, "skipped")
