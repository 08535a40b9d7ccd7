"""Reasons why a published row is not tested or not plausible, and their likely cause."""

from __future__ import annotations

from collections.abc import Sequence

from specsim.claims.rows import Row
from specsim.claims.scored import Score

# What rows of a role lack, and the remedy.
LACK = {
    "no cost printed": (
        "print no draft cost (c_or_draft_ms)",
        "add it, or verify_ms; or name two lengths of one machine and pair with --fit, for three lengths are enough to "
        "fit and to hold out one by one; four batches of one table are held out without it",
    ),
    "no tau printed": (
        "print no tokens per target call (alpha_or_tau)",
        "add tau, alpha, or counts as drafted/accepted",
    ),
    "no model of its costs": (
        "at a request rate name models or a device that are not known",
        "see `specsim plan --help` for names",
    ),
}
# Most drafts of a call, assumed where a row does not say how many there are.
MOST_DRAFTS = 16
# The objection whose likely cause is a plain step from elsewhere.
CHEAP = "a cycle was cheaper than one plain step"


def untested(scores: Sequence[Score]) -> list[str]:
    """Return one line for each source and reason of rows that were not tested."""
    counts: dict[tuple[str, str], int] = {}
    for score in scores:
        if score.role in LACK:
            counts[score.source, score.role] = counts.get((score.source, score.role), 0) + 1
    lines = []
    for (source, role), count in counts.items():
        lack, remedy = LACK[role]
        rows = "1 row" if count == 1 else f"{count} rows"
        # One row prints or names.
        if count == 1:
            lack = lack.replace("print ", "prints ", 1).replace("name ", "names ", 1)
        lines.append(f"not tested: {rows} {lack}, {source}; {remedy}")
    return lines


def implausible(row: Row) -> list[str]:
    """Return the objections to a row that no bound refuses."""
    # No draft was accepted.
    reasons = []
    if row.tau is not None and row.levels and row.tau <= 1:
        reasons.append(
            f"tau is {row.tau:g}, so none of {row.levels} drafts a call was accepted: likely the draft belongs to "
            "another target, or accepted drafts are not counted"
        )

    # Without tau the length bounds the speedup, but not of requests that queue.
    if row.tau is None and row.load is None:
        drafts = MOST_DRAFTS if row.levels is None else row.levels
        least = row.speedup * (1 - row.slack)
        if least > drafts + 1:
            unknown = " (gamma_or_tree does not say how many)" if row.levels is None else ""
            reasons.append(
                f"speedup {row.speedup:g} is above {drafts + 1}, the most that {drafts} drafts{unknown} can give: "
                f"{CHEAP}"
            )

    # A pass over several tokens takes at least as long as one over one.
    if row.verify is not None and row.verify < row.plain:
        reasons.append(
            f"verification takes {row.verify:g}, less than a plain step of {row.plain:g}: likely the two are of other "
            "loads or units"
        )
    return reasons


def likely(reason: str) -> str:
    """Return the likely cause of a flag, in words that follow it; "" where none is known."""
    return "; likely the plain step is of another load, machine or engine" if CHEAP in reason else ""
