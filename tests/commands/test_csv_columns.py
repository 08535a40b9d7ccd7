"""Each column of a table of CSV holds the field of the JSON that its head names, in the row that it stands in."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.log_files import lines
from typer.testing import CliRunner

from specsim.cli import app
from specsim.commands.plan import rates

PAIR = "--target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm"
RUNS = Path(__file__).parents[1] / "helpers" / "runs.csv"
Rows = list[dict[str, str]]


def run(words: str) -> tuple[Any, list[Rows]]:
    """Return the JSON of a call, and its tables of CSV as rows by the names of columns."""
    printed = []
    for form in ("--json", "--csv"):
        ended = CliRunner().invoke(app, [*shlex.split(words), form])
        assert ended.exit_code == 0, ended.output
        printed.append(ended.stdout)
    tables = [list(csv.DictReader(table.splitlines())) for table in printed[1].strip().split("\n\n")]
    return json.loads(printed[0]), tables


def column(rows: Rows, name: str) -> list[float | None]:
    """Return a column, None for an empty cell."""
    return [float(row[name]) if row[name] else None for row in rows]


def with_ends(rows: Rows, name: str) -> list[list[float | None]]:
    """Return a column with those of its interval."""
    columns = [column(rows, f"{name}{end}") for end in ("", " low", " high")]
    return [list(cells) for cells in zip(*columns, strict=True)]


def ends_of(values: Sequence[dict[str, float | None]]) -> list[list[float | None]]:
    """Return numbers of a JSON with their intervals."""
    return [[value[name] for name in ("value", "low", "high")] for value in values]


def test_costs_of_a_plan_are_in_plain_steps_and_ms() -> None:
    held, (rows,) = run(f"plan 0.7 {PAIR} --batch 1,512 --context 1k")
    points = held["points"]
    assert column(rows, "batch") == [1, 512]
    assert column(rows, "gamma") == [point["gamma"] for point in points]
    assert column(rows, "tau") == [point["tau"]["value"] for point in points]
    for name in ("draft", "verify"):
        assert column(rows, f"{name}, steps") == [point[name] / point["plain"] for point in points]
    assert column(rows, "cycle, ms") == [1e3 * point["cycle"]["value"] for point in points]
    assert column(rows, "tokens per s") == [point["tokens_per_time"]["value"] for point in points]
    assert with_ends(rows, "speedup, 95%") == ends_of([point["speedup"] for point in points])


@pytest.fixture
def few_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "REQUESTS", 100)


@pytest.mark.usefixtures("few_requests")
def test_times_of_requests_at_a_rate_stand_under_their_heads() -> None:
    held, (speeds, rows) = run(f"plan 0.7 {PAIR} --max-gamma 2 --output-tokens 32 --rate 2,40")
    kinds = {"first token": "ttft_s", "per token": "tpot_s", "whole answer": "total_s"}
    places = [(line, kind) for line in held["lines"] for kind in kinds]
    assert [(float(row["rate 1/s"]), row["time, ms"]) for row in rows] == [
        (line["rate"], kind) for line, kind in places
    ]
    for way, name in (("plain", "plain"), ("drafts", "speculative")):
        times = [line[name][kinds[kind]] for line, kind in places]
        for quantile in ("mean", "p50", "p95", "p99"):
            head = quantile if quantile == "mean" else quantile.upper()
            assert column(rows, f"{way} {head}") == [1e3 * time[quantile] for time in times]
    assert column(speeds, "plain running") == [line["plain"]["running"] for line in held["lines"]]
    assert column(speeds, "with drafts running") == [line["speculative"]["running"] for line in held["lines"]]
    assert column(speeds, "speedup") == [line["speedup"]["value"] for line in held["lines"]]
    assert column(speeds, "interval low") == [line["speedup"]["low"] for line in held["lines"]]


def test_a_closed_loop_has_both_ways_in_columns_of_their_own() -> None:
    held, (speeds, waits) = run(f"plan 0.7 {PAIR} --gamma 2 --prompt-tokens 64 --output-tokens 16 --concurrency 1,4")
    points = held["loop"]
    assert column(speeds, "clients") == [point["concurrency"] for point in points]
    assert column(speeds, "plain tokens/s") == [point["plain_tokens_per_s"] for point in points]
    assert column(speeds, "with drafts tokens/s") == [point["speculative_tokens_per_s"] for point in points]
    ends = [[float(row[name]) for name in ("speedup", "interval low", "interval high")] for row in speeds]
    assert ends == ends_of([point["speedup"] for point in points])
    for way, field in (("plain", "plain"), ("drafts", "speculative")):
        times = [point[field][kind] for point in points for kind in ("ttft_s", "tpot_s", "total_s")]
        for what in ("mean", "P50", "P95", "P99"):
            assert column(waits, f"{way} {what}") == [1e3 * time[what.lower()] for time in times]


def answers(more: int) -> Iterator[dict[str, Any]]:
    """Yield answers of Spec-Bench to four questions."""
    for number, accepted in enumerate(([1, 3, 2], [4, 4, 1, 1], [2, 2], [1, 1, 1, 2])):
        lengths = [length + more for length in accepted]
        turn = {"index": 0, "turns": ["x"], "new_tokens": [sum(lengths)], "wall_time": [1.0], "accept_lengths": lengths}
        yield {"question_id": number, "choices": [turn]}


def test_two_logs_have_each_tau_and_both_ratios(tmp_path: Path) -> None:
    paths = [tmp_path / "first.jsonl", tmp_path / "second.jsonl"]
    for more, path in enumerate(paths):
        path.write_text(lines(*answers(more)))
    held, (rows, needed) = run(f"log {paths[0]} --against {paths[1]}")
    both, mean = rows
    for name, field in (("first", "first_tau"), ("second", "second_tau"), ("second over first", "ratio")):
        assert with_ends([both], name) == ends_of([held[field]])
    assert with_ends([mean], "second over first") == ends_of([held["mean_ratio"]])
    assert held["mean_ratio"] != held["ratio"]
    assert column(needed, "to see a difference of") == [row["difference"] for row in held["needed"]]
    assert column(needed, "prompts needed") == [row["prompts"] for row in held["needed"]]


def test_two_runs_have_speed_acceptance_and_cycle_in_this_order(tmp_path: Path) -> None:
    head, *rest = RUNS.read_text().splitlines()
    on = "\n".join([head, *(row for row in rest if row.startswith("on"))])
    paths = [tmp_path / "first.csv", tmp_path / "second.csv"]
    for path in paths:
        path.write_text(on)
    held, tables = run(f"diagnose {paths[0]} {paths[1]}")
    assert len(tables) == len(held["comparisons"]) == 2
    for rows, comparison in zip(tables, held["comparisons"], strict=True):
        assert [row["new over old"] for row in rows] == ["speed", "tokens of a cycle", "time of a cycle"]
        assert with_ends(rows, "ratio") == ends_of([comparison[name] for name in ("speedup", "acceptance", "cycle")])


def test_a_diagnosis_has_parts_and_remedies_with_their_intervals() -> None:
    held, (parts, mends) = run(f"diagnose {RUNS}")
    assert with_ends(parts, "plain steps") == ends_of([part["steps"] for part in held["parts"]])
    assert [row["part of a cycle"] for row in parts] == [" + ".join(part["names"]) for part in held["parts"]]
    assert with_ends(mends, "speedup") == ends_of([mend["speedup"] for mend in held["mends"]])
    assert [row["what would mend it"] for row in mends] == [mend["what"] for mend in held["mends"]]
