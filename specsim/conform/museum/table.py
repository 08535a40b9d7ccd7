"""The museum in two tables, as the harness judges it."""

from __future__ import annotations

import re

from specsim.conform import judge
from specsim.conform.likeness import Exhibits
from specsim.conform.registry import EXHIBITS, EXONERATIONS, find, names, subjects_of
from specsim.conform.report import BEYOND, short
from specsim.conform.verdict import Report

# The head of a table, with places for two columns.
HEAD = "| {} | {} | thread | evidence | runs | verdict |\n| --- | --- | --- | --- | --- | --- |\n"


def judged(name: str, exhibits: Exhibits | None = None) -> Report:
    """Judge a file of the museum: an exhibit is asked for what it lacks, an exoneration for everything."""
    module = find(name)
    (subject,) = subjects_of(module)
    return judge(subject, properties=[module.PROPERTY] if module.PROPERTY else None, exhibits=exhibits)


def row(name: str, report: Report) -> str:
    """Return the line of the table on a file."""
    module = find(name)
    # Frequencies at larger sizes are in the verdict.
    exact = [verdict for verdict in report.verdicts if verdict.property != BEYOND]
    evidence = ", ".join(sorted({verdict.evidence for verdict in exact}))
    runs = sum(verdict.runs for verdict in exact)
    lacking = f": {module.PROPERTY}" if module.PROPERTY else ""
    return f"| `{name}` | {module.WRONG} | {link(module.THREAD)} | {evidence} | {runs:,} | {short([report])}{lacking} |"


def link(address: str) -> str:
    """Return a thread or paper by its short name; a class that is only described has none."""
    thread = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)", address)
    paper = re.fullmatch(r"https://arxiv\.org/abs/([\d.]+)", address)
    if thread:
        return f"[{thread[1]}#{thread[2]}]({address})"
    return f"[arXiv:{paper[1]}]({address})" if paper else "described"


def tables() -> dict[str, str]:
    """Return both tables, in Markdown; every file is judged, which takes minutes."""
    exhibits = Exhibits()
    heads = {"exhibits": (EXHIBITS, "exhibit", "what is wrong"), "exonerations": (EXONERATIONS, "rule", "accusation")}
    return {
        kind: HEAD.format(*words) + "\n".join(row(name, judged(name, exhibits)) for name in names(folder))
        for kind, (folder, *words) in heads.items()
    }
