"""Write every generated table of docs/results/ and of the README anew from its record: `python docs/refresh.py`."""

from __future__ import annotations

import json
import shlex
import sys
from importlib import import_module
from pathlib import Path
from statistics import median
from textwrap import fill
from types import ModuleType
from typing import Any

from typer.testing import CliRunner

import real.gpu
import specsim.cli
import specsim.conform.museum.table
import specsim.conform.subject
from real.papers.lab import clauses, report, site
from real.studies.compare.report import face
from real.studies.records import markdown
from specsim.claims import rows as published
from specsim.claims import score, settled
from specsim.conform.record import markdown as judged
from specsim.report import text
from specsim.report.markers import refresh
from specsim.report.tables import rules_excerpt
from specsim.speed.load.published import simplest

HERE = Path(__file__).parent
ROOT = HERE.parent
RESULTS, BENCH = ROOT / "real" / "results", ROOT / "tests" / "bench"
RECORDS = {
    "widened": "pair",
    "bundled": "pair",
    "forced": "forced",
    "drafts": "drafts",
    "block": "block",
    "trees": "trees",
    "compare-trees": "trees",
    "compare-trees-iid": "trees",
    "compare-trees-widened": "trees",
    "smollm2": "smollm2",
    "smollm2-greedy": "smollm2",
}
TEXTS = {
    "engine": "engine",
    "weights": "engine",
    "smollm2": "engine",
    "optimal": "drafts",
    "transport": "drafts",
    "wor_levels": "drafts",
    "wor_scores": "drafts",
    "simulate": "simulate",
    "paths": "trees",
    "tails": "tails",
    "coverage": "requests",
}


def tables() -> dict[tuple[str, str], str]:
    """(page of docs/results, marker) -> what belongs between its markers."""
    made = {
        (page, name): markdown(
            json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")), f"../../real/results/{name}.png"
        )
        for name, page in RECORDS.items()
    }
    made |= {
        (page, name): f"```text\n{(BENCH / f'{name}.txt').read_text(encoding='utf-8')}```"
        for name, page in TEXTS.items()
    }
    made["planning", "roofline"] = (BENCH / "roofline.txt").read_text(encoding="utf-8").rstrip()
    made["planning", "replanning"] = (BENCH / "replanning.txt").read_text(encoding="utf-8").rstrip()
    made["planning", "plan"] = f"```text\n{_printed('planning')}```"
    made["claims", "claims"] = text.markdown(settled.rows(settled.recorded(), True))
    if (BENCH / "sweep.json").exists():
        made["planning", "studies"] = _studies(json.loads((BENCH / "sweep.json").read_text(encoding="utf-8")))
    if (BENCH / "cluster.json").exists():
        made["../sweep", "cluster"] = _module("cluster").table(
            json.loads((BENCH / "cluster.json").read_text(encoding="utf-8"))
        )
    made["load", "plan"] = f"```text\n{_printed('load')}```"
    made["tokenizers", "tokenizers"] = _module("tokenizers").table()
    made["loop", "plan"] = f"```text\n{_printed('loop')}```"
    made["loop", "cells"] = _module("loops").table()
    made["loop", "held"] = f"{_module('held_cells').errors_table()}\n\n{_module('held_cells').cells_table()}"
    made["curves", "audit"] = _module("tau_curves").audit_table()
    made["curves", "lengths"] = _module("tau_curves").lengths_table()
    made["load", "load"] = _load(json.loads((BENCH / "load.json").read_text(encoding="utf-8")))
    made["load", "batches"] = _batches()
    made["conform", "conform"] = judged(json.loads((BENCH / "conform.json").read_text(encoding="utf-8")))
    records, sections = report.recorded(RESULTS / "systems"), clauses.sections()
    made["systems", "tally"] = site.tally(records, sections)
    made["systems", "columns"] = text.markdown(site.COLUMNS)
    made["systems", "systems"] = site.overview(records, sections)
    made["speed", "speed"] = _module("speed").table()
    drafters = json.loads((RESULTS / "smollm2" / "drafters.json").read_text(encoding="utf-8"))
    made["smollm2", "drafters"] = _module("drafters").table(drafters)
    one_pass = json.loads((BENCH / "one_pass.json").read_text(encoding="utf-8"))
    made["smollm2", "one_pass"] = _module("one_pass").table(one_pass)
    made["gpu", "gpu"] = real.gpu.markdown(RESULTS / "gpu")
    made["../developer/performance", "kernels"] = (BENCH / "kernels.txt").read_text(encoding="utf-8").rstrip()
    return made


def _module(name: str) -> ModuleType:
    """A module of docs/_generate; this file may have been loaded by its path alone."""
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))
    return import_module(f"_generate.{name}")


def pages() -> dict[Path, str]:
    """Every page that has such tables, as it should be."""
    found: dict[Path, str] = {}
    for (page, marker), table in tables().items():
        path = (HERE / "results" / f"{page}.md").resolve()
        found[path] = refresh(found.get(path) or path.read_text(encoding="utf-8"), marker, table)
    for name, page_text in site.pages(report.recorded(RESULTS / "systems"), clauses.sections()).items():
        found[HERE / "results" / "systems" / f"{name}.md"] = page_text
    path = HERE / "api" / "conform.md"
    found[path] = refresh(path.read_text(encoding="utf-8"), "subject", specsim.conform.subject.markdown())
    path = ROOT / "README.md"
    found[path] = front(path.read_text(encoding="utf-8"))
    return found


def front(readme: str) -> str:
    """The README with what its first command answers, a recorded comparison, and five rules."""
    # The answer is the first line that the command prints.
    command = next(line for line in readme.splitlines() if line.startswith(".venv/bin/specsim plan "))
    answer = _output(command).splitlines()[0]
    readme = refresh(readme, "plan", f"```text\n{fill(answer, 88)}\n```")
    # The comparison is that of the main command, on more texts.
    record = json.loads((RESULTS / "smollm2.json").read_text(encoding="utf-8"))
    readme = refresh(readme, "face", face(record, "real/results/smollm2.png"))
    return refresh(readme, "rules", rules_excerpt())


def _load(record: dict[str, Any]) -> str:
    """Medians inside and outside of the region, and the verdict."""
    found = record["verdict"]
    rows = [["time", "median difference", "with the interval", "worst", "in the interval", "median elsewhere"]]
    for name, words in (
        ("first", "to the first token"),
        ("token", "per further token"),
        ("total", "to the last token"),
    ):
        one = found[name]
        shares = ("median", "median_with_interval", "worst", "in_interval", "median_outside")
        rows.append([words, *(f"{100 * one[key]:.1f}%" for key in shares)])
    said = (
        f"{found['inside']} of {found['points']} points are inside; {record['runs'][0]} to {record['runs'][1]} runs of "
    )
    judged = "passed" if found["passed"] else "not passed"
    said += f"{record['requests']} requests each. The test is {judged}: `{record['command']}`."
    return f"{text.markdown(rows)}\n\n{said}"


def _studies(record: dict[str, Any]) -> str:
    """Seconds by points and by workers, whether the goal is held, and the plot."""
    kinds = list(record["points"])
    found = {kind: dict(map(tuple, record["points"][kind])) for kind in kinds}
    rows = [
        ["points, two workers", *kinds],
        *([f"{n:,}", *(f"{found[k][n]:.1f} s" for k in kinds)] for n in found[kinds[0]]),
    ]
    more = {kind: dict(map(tuple, record["workers"][kind])) for kind in kinds}
    most = max(found[kinds[0]])
    others = [
        [f"workers, {most:,} points", *kinds],
        *([str(n), *(f"{more[k][n]:.1f} s" for k in kinds)] for n in more[kinds[0]]),
    ]
    judged = {True: "The goal is held", False: "The goal is missed", None: "The goal is not tried"}[record["held"]]
    said = (
        f"{judged}: {most:,} points on two processes took {found['processes'][most]:.1f} s, and may take "
        f"{record['goal_s']:g} s ({record['cores']} cores)."
    )
    plot = "![seconds by points and by workers](../../tests/bench/sweep.png)"
    return "\n\n".join([said, text.markdown(rows), text.markdown(others), plot])


def _batches() -> str:
    """Tables over the batch: held out, and the simplest rule beside."""
    rows = published.shipped()
    found = score.summary(score.validate(rows))
    shown = [["source", "rows", "median error", "worst", "simplest rule, median", "worst"]]
    for source in dict.fromkeys(row.source for row in rows if row.batch > 1):
        one = found[source]
        rule = [abs(error) for error in simplest([row for row in rows if row.source == source])]
        cells = [one["median"], one["worst"], median(rule) if rule else None, max(rule, default=None)]
        shown.append([source, str(one["tested"]), *("" if cell is None else f"{100 * cell:.1f}%" for cell in cells)])
    return text.markdown(shown)


def museum() -> dict[Path, str]:
    """The page of the museum, for which every rule in it is judged; that takes minutes."""
    path = HERE / "results" / "museum.md"
    text = path.read_text(encoding="utf-8")
    for marker, table in specsim.conform.museum.table.tables().items():
        text = refresh(text, marker, table)
    return {path: text}


def _printed(page: str) -> str:
    """What the page's own command prints, its sentences on lines that a page can show."""
    page_text = (HERE / "results" / f"{page}.md").read_text(encoding="utf-8")
    printed = _output(next(line for line in page_text.splitlines() if line.startswith("specsim plan ")))
    return "".join(f"{_folded(line)}\n" for line in printed.splitlines())


def _folded(line: str) -> str:
    """A sentence on lines of at most 100 characters; a row of a table, whose columns stand apart, as it is."""
    return line if "  " in line.strip() else fill(line, 100, subsequent_indent="  " if line.startswith("- ") else "")


def _output(command: str) -> str:
    """Return what a command of `specsim` prints; raise ValueError if it fails."""
    result = CliRunner().invoke(specsim.cli.app, shlex.split(command)[1:])
    if result.exit_code:
        raise ValueError(f"{command} ended with status {result.exit_code}: {result.output}")
    return result.output


if __name__ == "__main__":
    for path, text in (pages() | museum()).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
