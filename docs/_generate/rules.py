"""One page for every rule and every module of another family, written from it: law, theorem, acceptance, checks."""

from __future__ import annotations

import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import specsim
from _generate import checks, pictures, tex
from _generate.proofs import NOTES, link, put
from specsim import discover
from specsim.exact import coupled

FAMILY = {
    "step": "a step rule: drafts for one position",
    "chain": "a chain rule: gamma drafts in a row",
    "tree": "a tree rule: a tree of drafts",
    "coupled": "a coupled rule: draft and target from the same variates",
    "draft": "a draft scheme: how candidates are drawn",
    "process": "a process: how the places of a text are filled",
    "control": "a controller: when drafting stops",
    "objective": "an objective: what a draft learns",
}
LABEL = {
    "step": "Step rules",
    "chain": "Chain rules",
    "tree": "Tree rules",
    "coupled": "Coupled rules",
    "draft": "Draft schemes",
    "process": "Processes",
    "control": "Controllers",
    "objective": "Objectives",
}
USE = {
    "step": 'specsim.verify_step(p, q, drafts, u, rule="{0}")',
    "chain": 'specsim.verify_chain(p, q, drafts, u, rule="{0}")',
    "tree": 'specsim.verify_tree(p, q, tree, u, rule="{0}")',
    "coupled": 'specsim.verify.coupled.emit("{0}", p, q, u)',
    "draft": 'specsim.optimal_acceptance(p, q, num_drafts=2, scheme="{0}")',
    "process": 'specsim.fill(target, "{0}", length=4, rule="tokenwise")',
    "control": 'specsim.control.block_lengths("{0}", recorded)',
    "objective": 'specsim.objective.loss("{0}", p, log_q, tokens)',
}
ABOUT = (
    "A rule is one file in `specsim/verify/{step,chain,tree,coupled}/`, a way to draw drafts one in `specsim/draft/`, "
    "a way to fill a text one in `specsim/process/`, a way to stop drafting one in `specsim/control/`, and what a "
    "draft learns one in `specsim/objective/`. Each page here is written from its file: law, theorem, what of it a "
    "machine has checked, acceptance.",
    "The verdict *lossless* is computed by exact enumeration, not declared. For step rules the last columns hold the "
    "exact probability that the token is one of K drafts, beside the largest that any lossless rule reaches for drafts "
    "so drawn (bold where the rule reaches it) or the exact bias of a rule that is not lossless, for p proportional to "
    "1/i and q to 1/(7i mod 25) on 24 tokens; for "
    "chain and tree rules tau, the tokens per target call of a first block, at p = (.5, .3, .2) and q = (.1, .3, .6) "
    "in every context.",
    "A coupled rule verifies without q: draft and target read the same races of exponential variates, and the text "
    "does not depend on who drafts. Its acceptance is that of the step rules' pair, beside the optimum of drafts so "
    "drawn, which only a rule that sees both laws reaches.",
    "A process says how a text is filled, by any chain rule. Passes of the target for a token are exact, of texts of "
    "four tokens at p = (.5, .3, .2) rolled by the token before (and q = (.1, .3, .6) where there is a draft model).",
    "Rules that were shipped and change the target are kept apart, in `specsim/verify/lossy/`, and are refused unless "
    "they are asked for by name (those of trees, in `specsim/verify/lossy_tree/`, are handed over as modules); their "
    "bias on these texts is exact:",
)
P, Q = (np.array([Fraction(n, 10) for n in row]) for row in ((5, 3, 2), (1, 3, 6)))
SPECIAL = re.compile(r"([\\*_<>\[\]$|#~])")


def write(folder: Path) -> None:
    """`folder`/index.md, and for each rule a page and its picture."""
    pages = {}
    for family in discover.FAMILIES:
        known = pictures.curves(family)
        for name, module in discover.rules(family).items():
            pages[f"{family}_{name}.md"] = _page(family, name, module, pictured := _pictured(name, known))
            if pictured:
                folder.mkdir(exist_ok=True)
                pictures.draw(family, name, known, folder / f"{family}_{name}.svg")
                pages[f"{family}_{name}.svg"] = (folder / f"{family}_{name}.svg").read_text(encoding="utf-8")
    pages["index.md"] = _index()
    put(folder, pages)


def _pictured(name: str, known: pictures.Curves) -> bool:
    return any(label.split(" (")[0] == name for label in known)


def _index() -> str:
    table = subprocess.run(
        [sys.executable, "-m", "specsim", "rules", "--markdown"], capture_output=True, text=True, check=True
    ).stdout.strip()
    parts = [_without(part, ("theorem", "paper", "cost")) for part in table.split("\n\n")]
    step, others, coupled, processes, lossy = parts
    step = re.sub(r"^\| `(\w+)`", r"| [`\1`](step_\1.md)", step, flags=re.M)
    others = re.sub(r"^\| `(\w+)`([^|]*) \| (\w+)", r"| [`\1`](\3_\1.md)\2 | \3", others, flags=re.M)
    coupled = re.sub(r"^\| `(\w+)`", r"| [`\1`](coupled_\1.md)", coupled, flags=re.M)
    processes = re.sub(r"^\| `(\w+)`", r"| [`\1`](process_\1.md)", processes, flags=re.M)
    about = [tex.prose(text) for text in ABOUT]
    lines = ["# Rules", "", about[0], "", about[1], ""]
    lines += [
        "## Step rules",
        "",
        step,
        "",
        "## Chain and tree rules",
        "",
        others,
        "",
        *_listed("draft", "| scheme | what it draws |"),
        *("## Coupled rules", "", about[2], "", coupled, ""),
        *("## Processes", "", about[3], "", processes, ""),
        *_listed("control", "| controller | when drafting goes on |"),
        *_listed("objective", "| objective | what it asks of the draft |"),
        *(about[4], "", lossy, ""),
    ]
    for family, label in LABEL.items():
        pages = "\n".join(f"{family}_{name}" for name in discover.names(family))
        lines += [f"```{{toctree}}\n:caption: {label}\n:hidden:\n\n{pages}\n```", ""]
    return "\n".join(lines)


def _listed(family: str, head: str) -> list[str]:
    """A table of a family: names and summaries."""
    rows = [
        f"| [`{name}`]({family}_{name}.md) | {_plain(_summary(module).partition(': ')[2] or _summary(module))} |"
        for name, module in discover.rules(family).items()
    ]
    return [f"## {LABEL[family]}", "", head, "| --- | --- |", *rows, ""]


def _without(table: str, columns: tuple[str, ...]) -> str:
    """A Markdown table without columns that each rule's own page has."""
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.splitlines()]
    kept = [i for i, name in enumerate(rows[0]) if name not in columns]
    rows = [row + [""] * (len(rows[0]) - len(row)) for row in rows]
    return "\n".join("| " + " | ".join(row[i] for i in kept) + " |" for row in rows)


def _page(family: str, name: str, module: ModuleType, pictured: bool) -> str:
    summary = _summary(module)
    parts = [
        f"# `{name}`" + (f" ({family})" if name == "tokenwise" or family == "draft" else ""),
        "",
        f"*{FAMILY[family]}*",
        "",
    ]
    parts += [_plain(summary), "", f"```python\n{USE[family].format(name)}\n```", ""]
    if family != "draft":
        parts += [*_facts(family, name, module), ""]
    if pictured:
        alt = f"acceptance of {name} beside the others of its family"
        parts += [f"```{{image}} {family}_{name}.svg\n:alt: {alt}\n```", ""]
    parts += ["## What it does", ""]
    for heading, text in _sections(module):
        parts += [f"{heading}", f": {_plain(text)}", ""]
    parts += _checked(family, name)
    return "\n".join(parts) + "\n"


def _summary(module: ModuleType) -> str:
    text = (module.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(text.split())


def _sections(module: ModuleType) -> list[tuple[str, str]]:
    """The docstring's paragraphs "Name.   text", in its order."""
    body = (module.__doc__ or "").partition("\n\n")[2]
    found: list[list[str]] = []
    for line in body.splitlines():
        start = re.match(r"([A-Z]\w+)\.\s+(.*)", line)
        if start:
            found.append([start[1], start[2]])
        elif found and line.strip():
            found[-1][1] += " " + line.strip()
    return [(name, text) for name, text in found]


def _facts(family: str, name: str, module: ModuleType) -> list[str]:
    rule = discover.facts(module)
    note = next(NOTES.glob(f"{rule.theorem}_*.md"), None)
    theorem = f"[{rule.theorem}](../proofs/{note.name})" if note else rule.theorem
    proved = ", ".join(f"{what}: `{coq}`" for what, coq in rule.proved.items()) or "not yet"
    papers = [f"[arXiv:{n}](https://arxiv.org/abs/{n})" for n in re.findall(r"arXiv:(\d{4}\.\d{5})", rule.paper)]
    return [
        "| | |",
        "| --- | --- |",
        *([] if family in ("control", "objective") else [_verdict(family, name)]),
        *(
            [f"| drafts | {_plain(', '.join(rule.schemes))} |"]
            if family in ("step", "chain", "tree", "coupled")
            else []
        ),
        *_alias(family, rule.same_as),
        f"| theorem | {theorem} |",
        f"| machine-checked in Coq | {proved} |",
        f"| paper | {', '.join(papers) or _plain(rule.paper)} |",
    ]


def _alias(family: str, same_as: str | None) -> list[str]:
    """Return the row that leads to the rule of which this is another name."""
    return [f"| same as | [`{same_as}`]({family}_{same_as}.md), decision for decision |"] if same_as else []


def _verdict(family: str, name: str) -> str:
    """The row of what enumeration says of the law."""
    if family == "coupled":
        exact = coupled.lossless(discover.find("coupled", name), P, Q, 1)
        return f"| lossless | {'yes' if exact else 'no'}, by running the sampler on symbols |"
    of_text = {"rule": "tokenwise", "process": name}
    asked: dict[str, Any] = of_text if family == "process" else {"rule": name, "family": family, "num_drafts": 1}
    verdict, at_zero = (specsim.guarantee(**asked, temperature=t) for t in (1, 0))
    said = "yes" if verdict.lossless else "only at temperature 0" if at_zero.lossless else "no"
    return f"| lossless | {said}, by enumeration: {_plain(verdict.reason)} |"


def _checked(family: str, name: str) -> list[str]:
    """The recorded findings of `specsim check`."""
    command = f"specsim check {name}" + ("" if family == "step" else f" --family {family}")
    lines = [
        "## Checks",
        "",
        f"`{command}` runs these, and so does the test suite (some with `-m slow`), beside a wrong rule for each:",
        "",
    ]
    findings = checks.recorded(family, name)
    if findings is None:
        return [*lines[:2], f"`{command}` runs them. No result is recorded of this version of the rule.", ""]
    style = {"pass": "verdict-pass", "FAIL": "verdict-fail", "skipped": "verdict-skip"}
    rows = [
        f'| `{check}` | <span class="{style[what]}">{what}</span> | {_plain(detail)}'.rstrip("| ") + " |"
        for check, what, detail in findings
    ]
    head = "| check | result | why |" if any(detail for _, _, detail in findings) else "| check | result |"
    return [*lines, head, "| --- " * (head.count("|") - 1) + "|", *rows, ""]


def _plain(text: str) -> str:
    """Text as it is, without meaning for Markdown: code between backticks stays, formulas are TeX, ids are links."""
    return link(tex.prose(text, lambda words: SPECIAL.sub(r"\\\1", words)), "../proofs/")
