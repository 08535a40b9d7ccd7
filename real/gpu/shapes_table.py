"""The table of part `shapes`: speedups of each draft, kind of cycle and batch, and how well they are predicted."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from real.gpu.lines import MISSING, Rows, below, speedup_cell, table_lines

# Gammas that have a column in the table of shapes; the record has more.
_SHOWN_GAMMAS = (1, 2, 4, 8, 16)


def shapes_lines(rows: Rows) -> list[str]:
    """Return a table with a line for each setting: measured speedups with the predicted ones in brackets.

    A setting is the key of a row without its last part: "50m/graphs/batch 8" of
    "50m/graphs/batch 8/gamma 4". Sentences on all settings and on the memory stand above the table.
    """
    # For each setting its rows with a speedup, and the cost of a draft step.
    groups: dict[str, Rows] = defaultdict(list)
    draft_steps: dict[str, float] = {}
    for row in rows:
        setting, _, _ = row["key"].rpartition("/")
        if "speedup" in row:
            groups[setting].append(row)
        if "costs" in row:
            draft_steps[setting] = _draft_step(row["costs"])

    # A line for each setting: medians over its gammas, and speedups.
    lines = []
    for setting, group in groups.items():
        by_gamma = {row["gamma"]: row for row in group}
        plain_ms = 1e3 * np.median([row["plain_s_measured"] for row in group])
        read_share = np.median([row["plain_read_share"] for row in group])
        outside_share = np.median([row["outside_models"] for row in group])
        speedups = [speedup_cell(by_gamma[g]) if g in by_gamma else "" for g in _SHOWN_GAMMAS]
        draft_step = f"{draft_steps[setting]:.2f}" if setting in draft_steps else MISSING
        lines.append([setting, f"{plain_ms:.1f}", f"{read_share:.0%}", draft_step, *speedups, f"{outside_share:.0%}"])

    # Sentences on all settings and on the memory.
    sentences = _error_sentences([row for group in groups.values() for row in group]) if groups else []
    sentences += [
        f"A copy moves {row['bytes_per_s'] / 1e9:.0f} GB/s, a sum reads {row['read_bytes_per_s'] / 1e9:.0f} GB/s."
        for row in rows
        if "bytes_per_s" in row
    ]
    paragraph = [" ".join(sentences)] if sentences else []

    head = [
        "draft, cycle, batch",
        "plain step, ms",
        "share of the bandwidth that a sum reads with",
        "draft step, in plain steps",
        *(f"gamma {g}" for g in _SHOWN_GAMMAS),
        "share of a cycle outside the models",
    ]
    return below(paragraph, table_lines(head, lines))


def _draft_step(costs: dict[str, Any]) -> float:
    """Return the cost of one more draft in a cycle, in plain steps.

    It is the slope between the shortest and the longest calibrated gamma.
    """
    gammas, cycle_s = costs["gammas"], costs["cycle_s"]
    # The first of the gammas is 0: its cycle is a plain step.
    plain_s, shortest_s, longest_s = cycle_s[0], cycle_s[1], cycle_s[-1]
    seconds_per_draft = (longest_s - shortest_s) / (gammas[-1] - gammas[1])
    return float(seconds_per_draft / plain_s)


def _error_sentences(rows: Rows) -> list[str]:
    """Return sentences on the errors of predicted costs and speedups of all settings, and why they differ."""
    cycle_errors = [abs(_cycle_error(row)) for row in rows]
    speedup_errors = [abs(row["speedup"]["error"]) for row in rows]
    gammas, blocks = [row["gamma"] for row in rows], [row["cycles"] for row in rows]
    return [
        f"Over {len(rows)} settings (every gamma from {min(gammas)} to {max(gammas)}), the cost of a cycle in plain "
        f"steps, predicted from a few short lengths, has a median error of {np.median(cycle_errors):.1%} and at most "
        f"{max(cycle_errors):.1%}.",
        f"The speedup's median error is {np.median(speedup_errors):.1%}, at most {max(speedup_errors):.1%}: each "
        f"setting counts only {min(blocks)} to {max(blocks)} blocks, so its mean number of tokens a block differs "
        f"from the law's by chance.",
    ]


def _cycle_error(row: dict[str, Any]) -> float:
    """Return the relative error of the predicted cost of a cycle in plain steps.

    Unlike the error of the speedup, it does not depend on how many drafts were accepted.
    """
    predicted = row["cycle_s_predicted"] / row["plain_s_predicted"]
    measured = row["cycle_s_measured"] / row["plain_s_measured"]
    return float(predicted / measured - 1)
