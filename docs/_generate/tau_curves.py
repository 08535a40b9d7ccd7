"""The tables of docs/results/curves.md: published curves of tau judged, and tau predicted at shorter lengths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from specsim.claims.curves import LAWS, audited_curves
from specsim.report.text import markdown

RECORD = Path(__file__).parents[2] / "tests" / "bench" / "lengths.json"
TRACE = "combined_"


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
    """Return tau at shorter lengths, measured and predicted from the run at 8 drafts."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    table = [["run", "drafts", "tau, measured", "by positions", "hit", "by kinds", "hit"]]
    for row in record["rows"]:
        cells = []
        for name in ("positions", "kinds"):
            part = row["predicted"][name]
            error = part["value"] / row["measured"] - 1
            cells += [f"{part['value']:.2f} ± {part['error']:.2f} ({error:+.1%})", "yes" if part["hit"] else "no"]
        table.append([_name(row["source"]), str(row["length"]), f"{row['measured']:.2f}", *cells])
    verdict = record["verdict"]
    table.append(
        [
            f"hits of {verdict['positions']['of']}",
            "",
            "",
            *("", str(verdict["positions"]["hits"]), "", str(verdict["kinds"]["hits"])),
        ]
    )
    return markdown(table)


def _name(source: Any) -> str:
    """Return the name of a run: a trace by its workload, a table by its thread."""
    name = str(source)
    return f"trace {name.removeprefix(TRACE)}" if name.startswith(TRACE) else name.removeprefix("vllm-project/")
