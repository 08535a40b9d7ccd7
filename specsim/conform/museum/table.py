"""The museum in two tables, as the harness judges it."""

from __future__ import annotations

import re

from specsim.conform import judge
from specsim.conform.registry import EXHIBITS, EXONERATIONS, find, names, subjects_of
from specsim.conform.report import BEYOND, short
from specsim.conform.verdict import Report

HEAD = "| {} | {} | thread | evidence | runs | verdict |\n| --- | --- | --- | --- | --- | --- |\n"


def judged(name: str) -> Report:
    """The report on a file of the museum: an exhibit is asked for what it lacks, an exoneration for everything."""
    module = find(name)
    (subject,) = subjects_of(module)
    return judge(subject, properties=[module.PROPERTY] if module.PROPERTY else None)


def row(name: str, report: Report) -> str:
    """Its line of the table."""
    module = find(name)
    exact = [v for v in report.verdicts if v.property != BEYOND]  # frequencies at larger sizes are in the verdict
    evidence = ", ".join(sorted({v.evidence for v in exact}))
    runs, lacking = sum(v.runs for v in exact), f": {module.PROPERTY}" if module.PROPERTY else ""
    return f"| `{name}` | {module.WRONG} | {link(module.THREAD)} | {evidence} | {runs:,} | {short([report])}{lacking} |"


def link(address: str) -> str:
    """A thread or paper by its short name; a class that is only described has none."""
    thread = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)", address)
    paper = re.fullmatch(r"https://arxiv\.org/abs/([\d.]+)", address)
    if thread:
        return f"[{thread[1]}#{thread[2]}]({address})"
    return f"[arXiv:{paper[1]}]({address})" if paper else "described"


def tables() -> dict[str, str]:
    """Both tables, in Markdown; every file is judged, which takes minutes."""
    heads = {"exhibits": (EXHIBITS, "exhibit", "what is wrong"), "exonerations": (EXONERATIONS, "rule", "accusation")}
    return {
        kind: HEAD.format(*words) + "\n".join(row(name, judged(name)) for name in names(folder))
        for kind, (folder, *words) in heads.items()
    }
