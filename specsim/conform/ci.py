"""Output for continuous integration: verdicts as JUnit XML, and the outcome as a badge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as xml

from specsim.conform.report import ending, line, outcome, short
from specsim.conform.verdict import ALL, ORDER, Report, Verdict

# Verdict -> the element that ends its test. Tests of other verdicts that did not pass are skipped,
# as under pytest.
ENDS = {"convicted": "failure", "vacuous": "failure", "broken": "error"}
PASSED = ("lossless", "lossy by design")
# Colours of the badge, by outcome; all other outcomes are grey.
COLOURS = {"lossless": "brightgreen", "lossy by design": "green", "convicted": "red", "broken": "red"}
OTHERS = "lightgrey"
# Text on the left of the badge, and name of the JUnit suites.
LABEL = "specsim conform"
BAD_INPUT = "bad input"


def as_junit(reports: Sequence[Report]) -> str:
    """Return JUnit XML: a suite for every subject, a test for every property.

    >>> as_junit([Report("mine", (Verdict("mine", "joint", "lossless"),))]).count("<testcase")
    1
    """
    root = xml.Element("testsuites", name=LABEL)
    for report in reports:
        # The suite of a subject, with its counts and its outcome.
        ends = [_end(report, verdict) for verdict in report.verdicts]
        counts = {name + "s": str(ends.count(name)) for name in ("failure", "error")}
        about = {"name": plain(report.subject), "tests": str(len(ends)), "skipped": str(ends.count("skipped"))}
        suite = xml.SubElement(root, "testsuite", about | counts | {"time": f"{report.seconds:.3f}"})
        about_all = xml.SubElement(suite, "properties")
        xml.SubElement(about_all, "property", name="outcome", value=plain(outcome(report)))
        # Its tests: passed ones print their evidence, others name the reason.
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
    """Return the worst outcome of all subjects, as the endpoint of shields.io reads it.

    >>> as_badge([Report("mine", (Verdict("mine", "joint", "lossless", "scripted", "V=3, 2 drafts"),))])["message"]
    'lossless where tried (scripted up to V=3, 2 drafts)'
    """
    worst = max(reports, key=lambda report: (report.status != 0, ORDER.index(report.outcome))).outcome
    colour = COLOURS.get(worst, OTHERS)
    return {"schemaVersion": 1, "label": LABEL, "message": short(reports), "color": colour}


def junit_of_bad_input(name: str, reason: str) -> str:
    """Return JUnit XML of a subject that could not be judged: one test that ended in an error.

    >>> junit_of_bad_input("mine.py", "invalid syntax").count("<error")
    1
    """
    root = xml.Element("testsuites", name=LABEL)
    counts = {"tests": "1", "skipped": "0", "failures": "0", "errors": "1"}
    suite = xml.SubElement(root, "testsuite", {"name": plain(name)} | counts | {"time": "0.000"})
    case = xml.SubElement(suite, "testcase", classname=plain(name), name=ALL)
    xml.SubElement(case, "error", type=BAD_INPUT, message=plain(reason)).text = plain(reason)
    xml.indent(root)
    return xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def badge_of_bad_input() -> dict[str, Any]:
    """Return the badge of a subject that could not be judged.

    >>> badge_of_bad_input()["message"]
    'bad input'
    """
    return {"schemaVersion": 1, "label": LABEL, "message": BAD_INPUT, "color": COLOURS["broken"]}


def plain(text: str) -> str:
    """Return a text without the characters that XML has no way to write."""
    return "".join(char for char in text if char in "\t\n" or (char >= " " and not "\ud800" <= char <= "\udfff"))


def _end(report: Report, verdict: Verdict) -> str:
    """Return the element that ends a test; an empty text where it passed, and all of its report was judged."""
    if verdict.outcome in PASSED:
        return "" if report.complete else "skipped"
    return ENDS.get(verdict.outcome, "skipped")
