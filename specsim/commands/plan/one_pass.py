"""Drafts of one pass: whether acceptance and costs speak of the same drafter."""

from __future__ import annotations

from specsim.commands.plan.cost_record import Costs
from specsim.commands.plan.options import PlanOptions
from specsim.commands.plan.read import PlanAcceptance

# Acceptance that is the same at every position of a block.
SAME_EVERYWHERE = {"alpha": "one ALPHA", "ranks": "one list of --ranks"}


def one_pass_notes(options: PlanOptions, costs: Costs, drafts: PlanAcceptance) -> tuple[str, ...]:
    """Return a note where one acceptance is taken for all positions of a block of one pass.

    Raise ValueError if rows are those of another kind of drafter than the costs: the laws of drafts that see each
    other say nothing about drafts that do not.
    """
    if costs.latency.one_pass and drafts.one_pass is False:
        raise ValueError(
            f"{options.rows} has one law q for each token, of drafts that see each other; a drafter of one pass has "
            "one for each position of a block: give q of shape (n, gamma, V), or --hazards"
        )
    if drafts.one_pass and not costs.latency.one_pass:
        raise ValueError(
            f"{options.rows} has a law q for each position of a block, as a drafter of one pass has: add --one-pass"
        )
    # What is given once for all positions.
    same = [words for name, words in SAME_EVERYWHERE.items() if getattr(options, name) is not None]
    if costs.latency.one_pass and same:
        return (
            f"drafts of one pass do not see each other, so acceptance may fall along a block: {same[0]} for all "
            "positions can overstate long ones; --hazards, or --rows with q of shape (n, gamma, V), have its law",
        )
    return ()
