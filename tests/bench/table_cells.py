"""Does `specsim plan --concurrency` meet measured serving cells that its constants were not chosen on?

    python tests/bench/table_cells.py FOLDER   # reads the study
    python tests/bench/table_cells.py          # predicts the recorded cells anew

FOLDER is `phase3_results/runs` of a clone of manojarulmurugan/SpecDecoding-Study-vLLM-SGLang: vLLM 0.24 on one
A100-SXM4-80GB, Llama-3.1-8B with EAGLE-3 (five drafts), three workloads, weights in 16 and 4 bits, caches in 16 and 8
bits, 1 to 64 clients, three repeats of each: 48 cells with speculation, each beside one without. The repository carries
no licence, so only means over repeats are kept. Four cells (GSM8K, 16 bits) chose constants of the model; the
other 44 are the test. This file, with its criterion, was committed before any of the 44 was read.

A prediction takes from a cell its number of clients and types, the measured tokens per target step, the measured time
to the first token of one client without speculation (same workload and types), and the measured tokens of an answer.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from specsim.commands.plan import command
from specsim.commands.plan.options import PlanOptions

RECORD = Path(__file__).with_name("cells.json")
GAMMA = 5
# Cells on which constants of the model were chosen: workload, weights, cache.
TUNED = ("gsm8k", "fp16", "fp16")
# The criterion, of the 44 other cells: the error of the speedup in the median and at worst, that of plain tokens per
# second at worst, and the same answer to the question whether speculation helps in every cell.
MEDIAN, WORST, PLAIN = 0.05, 0.15, 0.06
WEIGHTS = {"fp16": None, "w4a16": "int4"}
CACHES = {"fp16": None, "fp8": "fp8"}


class Cell(NamedTuple):
    """One measured cell: means over repeats, tokens per second without and with drafts, times in ms."""

    workload: str
    weights: str
    cache: str
    clients: int
    tau: float
    ttft_ms: float
    output_tokens: float
    plain: float
    drafted: float


def measured(folder: Path) -> list[Cell]:
    """Return every cell of the study."""
    runs: dict[tuple[str, str, str, int, str], list[dict[str, Any]]] = defaultdict(list)
    for path in sorted(folder.glob("core_factorial_*.json")):
        run = json.loads(path.read_text(encoding="utf-8"))
        config, factors = run["config"], run["config"]["factors"]
        key = (config["workload"], factors["weight_quant"], factors["kv_quant"])
        runs[*key, config["concurrency"], factors["spec_decode"]].append(run["measured"])
    cells = []
    for (workload, weights, cache, clients, drafter), drafted in runs.items():
        if drafter == "none":
            continue
        plain = runs[workload, weights, cache, clients, "none"]
        alone = runs[workload, weights, cache, 1, "none"]
        cells.append(
            Cell(
                workload,
                weights,
                cache,
                clients,
                tau=mean(run["accepted_length_tau"] for run in drafted),
                ttft_ms=mean(run["ttft_ms"]["mean"] for run in alone),
                output_tokens=mean(run["total_completion_tokens"] / run["num_requests"] for run in plain),
                plain=mean(run["goodput_tok_s"] for run in plain),
                drafted=mean(run["goodput_tok_s"] for run in drafted),
            )
        )
    return sorted(cells)


def predicted(cell: Cell) -> dict[str, Any]:
    """Return what `specsim plan --concurrency` says of a cell."""
    options = PlanOptions(
        tau=round(cell.tau, 4),
        gamma=GAMMA,
        target="llama-3.1-8b",
        draft="eagle3",
        hardware="a100-sxm4-80gb",
        weights=WEIGHTS[cell.weights],
        kv_dtype=CACHES[cell.cache],
        concurrency=str(cell.clients),
        ttft_ms=round(cell.ttft_ms, 3),
        output_tokens=str(round(cell.output_tokens)),
        as_json=True,
    )
    answer: dict[str, Any] = json.loads(command.run(options).text)["loop"][0]
    return answer


def is_tuned(row: dict[str, Any]) -> bool:
    """Return whether a row is one of the cells that chose the constants."""
    return (row["workload"], row["weights"], row["cache"]) == TUNED


def errors(row: dict[str, Any]) -> tuple[float, float]:
    """Return the relative errors of the speedup and of plain tokens per second."""
    speedup = row["drafted"] / row["plain"]
    return row["speedup"]["value"] / speedup - 1, row["plain_predicted"] / row["plain"] - 1


def verdict(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the errors over the cells held back, and which parts of the criterion they meet."""
    held = [row for row in rows if not is_tuned(row)]
    speedups, plains = zip(*(map(abs, errors(row)) for row in held), strict=True)
    signs = [(row["speedup"]["value"] > 1) == (row["drafted"] > row["plain"]) for row in held]
    covered = [row["speedup"]["low"] <= row["drafted"] / row["plain"] <= row["speedup"]["high"] for row in held]
    return {
        "cells": len(held),
        "median": median(speedups),
        "worst": max(speedups),
        "plain_median": median(plains),
        "plain_worst": max(plains),
        "signs_right": sum(signs),
        "covered": sum(covered),
        "met": {
            "median": median(speedups) <= MEDIAN,
            "worst": max(speedups) <= WORST,
            "plain": max(plains) <= PLAIN,
            "signs": all(signs),
        },
    }


def recorded() -> dict[str, Any]:
    """Return the record: verdict and rows."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def main() -> None:
    """Predict every cell, print errors, and write the record."""
    rows = []
    if len(sys.argv) > 1:
        cells = measured(Path(sys.argv[1]))
    else:
        cells = [Cell(**{name: row[name] for name in Cell._fields}) for row in recorded()["rows"]]
    for cell in cells:
        answer = predicted(cell)
        rows.append(cell._asdict() | {"plain_predicted": answer["plain_tokens_per_s"], "speedup": answer["speedup"]})
        speedup_error, plain_error = errors(rows[-1])
        print(f"{cell.workload} {cell.weights} {cell.cache} {cell.clients}: {speedup_error:+.1%} {plain_error:+.1%}")
    RECORD.write_text(json.dumps({"verdict": verdict(rows), "rows": rows}, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(verdict(rows), indent=1))


if __name__ == "__main__":
    main()
