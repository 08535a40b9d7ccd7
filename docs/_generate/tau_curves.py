"""The tables of docs/results/curves.md: published curves of tau judged, and tau predicted at shorter lengths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from specsim.claims.curves import LAWS, audited_curves
from specsim.report.text import markdown

RECORD = Path(__file__).parents[2] / "tests" / "bench" / "lengths.json"
TRACE = "combined_"
PREDICTIONS = ("positions", "kinds", "walked")


def audit_table() -> str:
    """Return one row for each published curve, and how many curves violate each law."""
    audits = audited_curves()
    table = [["curve", "tau at the most drafts", *LAWS, "noise may explain it", "farthest from a possible curve"]]
    for audit in audits:
        farthest = max(abs(tau - audit.nearest[gamma - 1]) for gamma, tau in zip(audit.gammas, audit.taus, strict=True))
        explained = "" if not audit.faults else "yes" if audit.explained else "**no**"
        counts = [str(count) if count else "" for count in audit.violations().values()]
        row = [audit.name, f"{audit.taus[-1]:.2f} at {audit.gammas[-1]}", *counts, explained, f"{farthest:.2f}"]
        table.append(row)
    curves = [str(sum(audit.violations()[law] > 0 for audit in audits)) for law in LAWS]
    faulty = [audit for audit in audits if audit.faults]
    beyond = sum(not audit.explained for audit in faulty)
    table.append([f"{len(faulty)} of {len(audits)} curves", "", *curves, f"{len(faulty) - beyond}; no: {beyond}", ""])
    return markdown(table)


def lengths_table() -> str:
    """Return how well each prediction from a run at 8 drafts meets tau at shorter lengths, one row for each run."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    table = [["run", "lengths", *(f"{name}: hits, errors" for name in PREDICTIONS)]]
    for rows, verdict in ((record["rows"], record["verdict"]), (record["held"], record["held_verdict"])):
        for source in dict.fromkeys(row["source"] for row in rows):
            chosen = [row for row in rows if row["source"] == source]
            lengths = sorted(row["length"] for row in chosen)
            span = f"{lengths[0]} to {lengths[-1]}" if len(lengths) > 1 else f"{lengths[0]}"
            table.append([_name(source), span, *(_cell(chosen, name) for name in PREDICTIONS)])
        words = [
            f"**{verdict[name]['hits']} of {verdict[name]['of']}**, median {verdict[name]['median']:.1%}, "
            f"worst {verdict[name]['worst']:.1%}"
            for name in PREDICTIONS
        ]
        table.append(["all above" if rows is record["rows"] else "all of n-gram drafts", "", *words])
    return markdown(table)


def _cell(rows: list[dict[str, Any]], name: str) -> str:
    """Return the hits of a prediction and the span of its errors."""
    hits = sum(row["predicted"][name]["hit"] for row in rows)
    errors = [row["predicted"][name]["value"] / row["measured"] - 1 for row in rows]
    span = f"{min(errors):+.1%} to {max(errors):+.1%}" if len(errors) > 1 else f"{errors[0]:+.1%}"
    return f"{hits} of {len(rows)}, {span}"


def _name(source: Any) -> str:
    """Return the name of a run: a trace by its workload, a table by its thread."""
    name = str(source)
    if not name.startswith(TRACE):
        return name.removeprefix("vllm-project/")
    workload, drafter = name.removeprefix(TRACE).rsplit("_", 1)
    return f"trace {workload}, {drafter}"
