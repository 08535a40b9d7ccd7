"""The table of the page *How fast*: how long things take; each number is found in a record by its line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from specsim.commands.conform import EACH
from specsim.report.text import markdown

ROOT = Path(__file__).parents[2]
BENCH, SYSTEMS = ROOT / "tests" / "bench", ROOT / "real" / "results" / "systems"
N = r"(\d[\d,]*(?:\.\d+)?)"  # the number that is shown


class Row(NamedTuple):
    """What a user does, and where a record says how long it takes."""

    what: str
    run: str  # the command or the call
    unit: str  # of the number, which takes the place of {}
    record: str
    pattern: str  # matches the line of the record, with the number as its group


ROWS = [
    Row("load the package", "`import specsim`", "{} s", "start.txt", rf"^import specsim +\S+ +{N}"),
    Row("show help", "`specsim --help`", "{} s", "start.txt", rf"^specsim --help +\S+ +{N}"),
    Row("plan for a 70B/1B pair", "`specsim plan`", "{} s", "start.txt", rf"^specsim plan,.*?pair +\S+ +{N}"),
    Row("predict 100,000 settings", "`specsim.sweep`", "{} s", "plan.txt", rf"^a sweep of 100,000 points.*?: {N} s"),
    Row(
        "best acceptance of 4 drafts, 32,000 tokens",
        "`optimal_acceptance`",
        "{} positions a second",
        "sort.txt",
        rf"^64 x 32000 float64 +4 +{N}",
    ),
    Row(
        "the same, 152,000 tokens",
        "`optimal_acceptance`",
        "{} positions a second",
        "sort.txt",
        rf"^64 x 152000 float64 +4 +{N}",
    ),
    Row(
        "the same, 50 tokens (top-k)",
        "`optimal_acceptance`",
        "{} positions a second",
        "sort.txt",
        rf"^4096 x 50, top-k +4 +{N}",
    ),
    Row(
        "simulate, 64 tokens",
        "`specsim simulate`",
        "{} tokens a second",
        "simulate.txt",
        rf"^V = 64 .*?^numpy +{N}",
    ),
    Row(
        "the same with JAX",
        "`specsim simulate --backend jax`",
        "{} tokens a second",
        "simulate.txt",
        rf"^V = 64 .*?^jax +{N}",
    ),
    Row(
        "simulate, 1,024 tokens",
        "`specsim simulate`",
        "{} tokens a second",
        "simulate.txt",
        rf"^V = 1024 .*?^numpy +{N}",
    ),
    Row(
        "the same with JAX",
        "`specsim simulate --backend jax`",
        "{} tokens a second",
        "simulate.txt",
        rf"^V = 1024 .*?^jax +{N}",
    ),
    Row(
        "decode with the bundled pair, no drafts",
        "`Pair.generate`",
        "{} ms a token",
        "engine.txt",
        rf"^Bundled.*?^plain, sampled +0 +\S+ \[[^]]*\] +{N}",
    ),
    Row(
        "the same, 4 drafts a block",
        "`Pair.generate`",
        "{} ms a token",
        "engine.txt",
        rf"^Bundled.*?^speculative, sampled +4 +\S+ \[[^]]*\] +{N}",
    ),
]


def table() -> str:
    """Return the table of the page."""
    rows = [["what you do", "how long", "command or call", "cores", "record"]]
    rows += [[row.what, row.unit.format(number(row)), row.run, cores(row.record), row.record] for row in ROWS]
    return markdown([*rows, *_long_runs()])


def number(row: Row) -> str:
    """Return the number of a row as the record has it; ValueError if its line is not there."""
    text = (BENCH / row.record).read_text(encoding="utf-8")
    found = re.search(row.pattern, text, re.M | re.S)
    if found is None:
        raise ValueError(f"{row.record} has no line for {row.what!r}: {row.pattern}")
    digits = found[1]
    return f"{int(digits):,}" if digits.isdigit() else digits


def cores(record: str) -> str:
    """Return how much of the machine a record says it used."""
    head = (BENCH / record).read_text(encoding="utf-8").partition("\n\n")[0]
    return "2" if "2 cores, median" in head else "1"


def _long_runs() -> list[list[str]]:
    """The rows of what takes seconds to hours."""
    sweep = json.loads((BENCH / "sweep.json").read_text(encoding="utf-8"))
    points, seconds = sweep["points"]["processes"][-1]
    kept = {path.stem: json.loads(path.read_text(encoding="utf-8"))["seconds"] for path in SYSTEMS.glob("*.json")}
    quickest, slowest = min(kept, key=kept.__getitem__), max(kept, key=kept.__getitem__)
    run = "`specsim-real systems"
    return [
        [f"sweep over {points:,} points", f"{seconds:.0f} s", "`specsim sweep`", "2", "sweep.json"],
        ["judge one verifier", f"at most {EACH:.0f} s, or `--budget`", "`specsim conform`", "1", "a default"],
        ["test the quickest system", f"{kept[quickest]:.0f} s", f"{run} {quickest}`", "1", f"{quickest}.json"],
        ["test the slowest system", f"{kept[slowest] / 60:.0f} minutes", f"{run} {slowest}`", "1", f"{slowest}.json"],
        [f"test all {len(kept)} systems", f"{sum(kept.values()) / 3600:.1f} hours", f"{run}`", "1", "all of them"],
    ]
