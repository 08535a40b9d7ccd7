"""Sentences on trees compared with chains: costs of passes, and how shapes were chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from real.decode.clock import PHASES
from specsim.trees import depths, optimal_tree

# Cost of a target pass, whatever its tokens, and of a draft step, in plain steps, on a large GPU.
FLAT, DRAFT = 1.05, 0.1


def passes(rows: list[dict[str, Any]]) -> str | None:
    """Return one sentence: t(m) at every m that is used, the median of the lines with the same m."""
    steps_by_tokens: dict[int, list[float]] = {}
    for row in rows:
        target_pass = row["pass"]
        if target_pass["plain_steps"] is not None:
            steps_by_tokens.setdefault(target_pass["tokens"], []).append(target_pass["plain_steps"])
    if not steps_by_tokens:
        return None
    medians = {m: np.median(steps) for m, steps in sorted(steps_by_tokens.items())}
    costs = ", ".join(f"t({m}) = {median:.2f}" for m, median in medians.items())
    return f"A target pass over m tokens, in plain steps as timed here: {costs}."


def elsewhere(rows: list[dict[str, Any]]) -> str:
    """Return one sentence: the speedup with this tau where a target pass costs the same for any tokens."""
    speedups = []
    for is_tree, name in ((True, "tree"), (False, "chain")):
        values = [_flat(row) for row in rows if row["tree"] == is_tree]
        if values:
            speedups.append(f"{max(values):.2f}x for the best {name}")
    return (
        f"The same tau measured would mean {' and '.join(speedups)} where a target pass costs "
        f"{FLAT:g} plain steps whatever its tokens "
        f"and a draft step {DRAFT:g}: an assumption, not measured here."
    )


def _flat(row: dict[str, Any]) -> float:
    """Return the speedup of a row's measured tau with the costs of a large GPU."""
    return float(row["tau"]["measured"]) / (FLAT + DRAFT * int(row["levels"]))


def suggested(record: dict[str, Any]) -> str | None:
    """Return one sentence: the fastest shape by acceptance by rank and times, among passes that were timed."""
    timed = [row for row in record["rows"] if row["pass"]["plain_steps"] is not None]
    ranks = record.get("shape_ranks") or record.get("acceptance", {}).get("ranks")
    if not ranks or not timed:
        return None

    # Seconds of a draft step, and of a target pass over m tokens. A row's costs have two entries:
    # of plain decoding, and of its own cycle.
    costs = {phase: np.array([row["costs"][f"{phase}_s"][1] for row in timed]) for phase in PHASES}
    step = float(np.median((costs["draft"] + costs["sample"]) / [row["levels"] for row in timed]))
    sizes = np.array([row["pass"]["tokens"] for row in timed])
    times = {1: float(np.median([row["costs"]["cycle_s"][0] for row in timed]))}
    for m in sorted(set(sizes.tolist())):
        times[int(m)] = float(np.median(costs["verify"][sizes == m]))
    overhead = float(np.median(costs["rule"] + costs["host"]))

    # The best shape by these times, which may be no tree at all.
    best = optimal_tree(ranks, draft_s=step, verify_s=times, overhead_s=overhead)
    nodes, shape = len(best.parents), "no tree"
    if nodes:
        plural = "s" if nodes > 1 else ""
        shape = f"{nodes} node{plural}, {depths(best.parents).max()} deep"
    return (
        f"By acceptance by rank and these times, with {1e3 * step:.2g} ms a draft step, "
        f"the fastest shape for a tokenwise walk would be {shape}, "
        f"at {best.speedup:.2f} times plain decoding (every position alike: rough)."
    )


def shapes(record: dict[str, Any]) -> str | None:
    """Return one sentence on the shapes that were chosen by acceptance by rank, if any were."""
    ranks = record.get("shape_ranks")
    if ranks is None:
        return None
    chosen = {row["name"]: row for row in record["rows"] if row["name"].startswith("sequoia")}
    descriptions = ", ".join(
        f"{name} is {row['levels']} deep, {row['parents'].count(-1)} at the root" for name, row in chosen.items()
    )
    return (
        f"Shapes follow from acceptance by rank ({' '.join(f'{b:.3f}' for b in ranks)}) in "
        f"{record['provenance']['shape_texts']} other texts: {descriptions}."
    )


def siblings(provenance: dict[str, Any]) -> str | None:
    """One sentence: the step rule, and the number of draws, where they are not those of the scheme."""
    clauses = []
    if "step" in provenance:
        clauses.append(f"tree rules run the step rule {provenance['step']!r}")
    if "draws" in provenance:
        number = provenance["draws"]
        clauses.append(f"a node draws until {number} different siblings are expected, or its places are full")
    return ", and ".join(clauses).capitalize() + "." if clauses else None
