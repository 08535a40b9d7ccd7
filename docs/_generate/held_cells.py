"""The tables of measured closed loops that no constant was chosen on, from `tests/bench/cells.json`."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from specsim.report.text import markdown

RECORD = Path(__file__).parents[2] / "tests" / "bench" / "cells.json"
WORKLOADS = {"gsm8k": "GSM8K", "humaneval": "HumanEval", "rag_shared_prefix": "retrieval"}
BITS = {"fp16": "16", "fp8": "8", "w4a16": "4"}
# Cells that chose the constants of the model: workload, weights and cache.
TUNED = ("gsm8k", "fp16", "fp16")


def rows_held_back() -> list[dict[str, Any]]:
    """Return the recorded cells that chose no constant."""
    rows = json.loads(RECORD.read_text(encoding="utf-8"))["rows"]
    return [row for row in rows if (row["workload"], row["weights"], row["cache"]) != TUNED]


def errors_table() -> str:
    """Return the errors of cells with each type of weights and cache, and of all of them."""
    rows = rows_held_back()
    table = [
        [
            *(
                "weights, bits",
                "cache, bits",
                "cells",
                "speedup: median error",
                "worst",
                "sign right",
                "in the interval",
            ),
            *("plain tokens/s: median error", "worst"),
        ]
    ]
    kinds = [(weights, cache) for cache in ("fp16", "fp8") for weights in ("fp16", "w4a16")]
    for weights, cache in kinds:
        chosen = [row for row in rows if (row["weights"], row["cache"]) == (weights, cache)]
        table.append([BITS[weights], BITS[cache], *_errors(chosen)])
    table.append(["all", "16", *_errors([row for row in rows if row["cache"] == "fp16"])])
    table.append(["all", "all", *_errors(rows)])
    table.append(["goal", "", "", "5%", "15%", "all", "", "", "6%"])
    return markdown(table)


def cells_table() -> str:
    """Return the speedup of every cell, predicted and measured, one row for each workload and types."""
    rows = rows_held_back()
    clients = sorted({row["clients"] for row in rows})
    table = [
        [
            "workload",
            "weights, bits",
            "cache, bits",
            *("1 client" if count == 1 else f"{count} clients" for count in clients),
        ]
    ]
    for key in dict.fromkeys((row["workload"], row["weights"], row["cache"]) for row in rows):
        chosen = [row for row in rows if (row["workload"], row["weights"], row["cache"]) == key]
        cells = [f"{row['speedup']['value']:.2f} / {_measured(row):.2f}" for row in chosen]
        table.append([WORKLOADS[key[0]], BITS[key[1]], BITS[key[2]], *cells])
    return markdown(table)


def _measured(row: dict[str, Any]) -> float:
    """Return the measured speedup of a cell."""
    return float(row["drafted"] / row["plain"])


def _errors(rows: list[dict[str, Any]]) -> list[str]:
    """Return the number of cells, their errors, and how many have the right sign and a speedup in the interval."""
    speedups = [abs(row["speedup"]["value"] / _measured(row) - 1) for row in rows]
    plains = [abs(row["plain_predicted"] / row["plain"] - 1) for row in rows]
    signs = sum((row["speedup"]["value"] > 1) == (_measured(row) > 1) for row in rows)
    covered = sum(row["speedup"]["low"] <= _measured(row) <= row["speedup"]["high"] for row in rows)
    return [
        *(str(len(rows)), f"{median(speedups):.1%}", f"{max(speedups):.1%}", str(signs), str(covered)),
        *(f"{median(plains):.1%}", f"{max(plains):.1%}"),
    ]
