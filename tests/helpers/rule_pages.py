"""Checks of the page of a rule or a draft scheme, in Markdown or HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from specsim import discover

PROOFS = Path(__file__).parents[2] / "proofs"


def text_of(page: str) -> str:
    """Return the text of a page, without tags, marks of code and escapes."""
    return " ".join(
        html.unescape(re.sub(r"(?<!\\)</?[a-zA-Z][^<>]*>", " ", page)).replace("`", "").replace("\\", "").split()
    )


def lacking(page: str, family: str, name: str, findings: list[list[str]], pictured: bool) -> Iterator[str]:
    """Yield what a page lacks.

    It needs the theorem with its note, names in Coq, the paper, the picture, and each check with
    its result.
    """
    # What the rule does.
    text = text_of(page)
    first = {"control": "Decision", "objective": "Value"}.get(family, "Law")
    if "What it does" not in text or not re.search(rf"\b{first}\b", text):
        yield "what it does"

    # Theorem, proofs and papers.
    if family != "draft":
        rule = discover.facts(discover.find(family, name))
        note = next(PROOFS.glob(f"{rule.theorem}_*.md"), None)
        if not re.search(rf"\btheorem[ |\[]+{rule.theorem}\b", text) or (
            note is not None and f"proofs/{note.stem}" not in page
        ):
            yield f"theorem {rule.theorem}"
        if not rule.proved and "machine-checked in Coq not yet" not in text.replace("| ", ""):
            yield "that nothing is proved"
        yield from (f"Coq: {coq}" for coq in rule.proved.values() if text_of(coq) not in text)
        papers = re.findall(r"arXiv:(\d{4}\.\d{5})", rule.paper)
        yield from (f"paper {number}" for number in papers if f"https://arxiv.org/abs/{number}" not in page)
        if not papers and text_of(rule.paper) not in text:
            yield f"paper {rule.paper}"

    # Picture and checks.
    if pictured != bool(re.search(rf"{family}_{name}\d*\.svg", page)):
        yield "picture"
    if not findings:
        yield "checks"
    for check, result, _ in findings:
        if not re.search(rf"\b{check}\b[ |]*{result}\b", text):
            yield f"check {check}: {result}"
