"""The first sentence of an answer: one template for each case, filled in one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from specsim.speed.prediction import Estimate, Prediction

OPENINGS = {
    "chain": "{helps}: with {drafts} per block, decoding is {chain} times as fast {where}; ",
    "chain and tree": (
        "{helps}: with {drafts} per block, decoding is {chain} times as fast {where}; with a tree of {nodes} "
        "nodes it is {tree}; "
    ),
    "tree alone": (
        "{helps}: with a tree of {nodes} nodes, decoding is {tree} times as fast {where}; with {drafts} per block "
        "it is {chain}, and no other length does better; "
    ),
}
REASONS = {
    "no chain": "no other length does better; {pays}.",
    "no tree": "no other length and no tree does better; {pays}.",
    "worst doubt": "it depends most on {assumption} (if {failing}: {worse:.2f}).",
}
ELSEWHERE = {
    "": "",
    "helps": " At {count} of the {points} points it helps.",
    "does not help": " At {count} of the {points} points it does not help.",
}


class Facts(NamedTuple):
    """The parts of the sentence.

    where: the point that it speaks of, in words. chain and tree are speedups as they are shown; tree is "" where it is
    not better. even: the acceptance at which the chain breaks even, None where none does. worst: the worst doubt, as an
    assumption, how it fails, and the speedup then; None where nothing helps. off: at how many of the points nothing
    helps.
    """

    helps: str
    gamma: int
    where: str
    chain: str
    tree: str
    nodes: int
    chain_pays: bool
    trees_tried: bool
    even: float | None
    worst: tuple[str, str, float] | None
    points: int
    off: int


def sentence(facts: Facts) -> str:
    """Return the sentence: yes, no or perhaps, by how much, and what it depends on.

    Examples
    --------
    >>> sentence(Facts("no", 1, "batch 1, context 0", "0.95", "", 0, False, False, None, None, 1, 1))
    'No: with 1 draft per block, decoding is 0.95 times as fast (predicted, batch 1, context 0); no other length does better; it would not at any acceptance.'
    """  # noqa: E501
    # The template: opening, reason, and what holds at the other points.
    if not facts.tree:
        opening = "chain"
    elif facts.chain_pays:
        opening = "chain and tree"
    else:
        opening = "tree alone"
    if facts.worst is not None:
        reason, elsewhere, count = "worst doubt", "does not help", facts.off
        assumption, failing, worse = facts.worst
    else:
        reason, elsewhere, count = "no chain", "helps", facts.points - facts.off
        assumption, failing, worse = "", "", 0.0
        if facts.trees_tried:
            reason = "no tree"
    # The words of the break-even acceptance.
    if facts.even is None:
        pays = "it would not at any acceptance"
    else:
        pays = f"it pays above an acceptance of {facts.even:.2f}"
    if count == 0:
        elsewhere = ""
    template = OPENINGS[opening] + REASONS[reason] + ELSEWHERE[elsewhere]
    return template.format(
        helps=facts.helps.capitalize(),
        drafts=counted(facts.gamma, "draft"),
        chain=facts.chain,
        tree=facts.tree,
        where=f"(predicted, {facts.where})",
        nodes=facts.nodes,
        pays=pays,
        assumption=assumption,
        failing=failing,
        worse=worse,
        count=count,
        points=facts.points,
    )


def place(batch: int, context: int, unknown: Sequence[str] = ()) -> str:
    """Return a point in words; unknown: which of batch and context nobody said.

    Examples
    --------
    >>> place(8, 0), place(8, 0, ["context"])
    ('batch 8, context 0', 'batch 8, context unknown')
    """
    return ", ".join(f"{name} {value}" for name, value in zip(AXES, cells(batch, context, unknown), strict=True))


AXES = ("batch", "context")


def cells(batch: int, context: int, unknown: Sequence[str] = ()) -> list[str]:
    """Return the batch and the context of a point as they are shown."""
    return ["unknown" if name in unknown else str(value) for name, value in zip(AXES, (batch, context), strict=True)]


def flagged(points: Sequence[Prediction], unknown: Sequence[str] = ()) -> list[str]:
    """Return the flags of predictions, each with its points unless all points have it."""
    notes = []
    for flag in dict.fromkeys(flag for point in points for flag in point.flags):
        places = [place(point.batch, point.context, unknown) for point in points if flag in point.flags]
        notes.append(flag if len(places) == len(points) else f"{'; '.join(places)}: {flag}")
    return notes


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural if need be.

    Examples
    --------
    >>> counted(1, "draft"), counted(2, "draft")
    ('1 draft', '2 drafts')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def span(estimate: Estimate) -> str:
    """Return a number with its interval, if there is one."""
    if estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
