"""The expected accepted length as a product of accuracies by position, in training logs.

The first source counts accepted runs of blocks since vllm-project/speculators#1032.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from operator import mul

from specsim.claims.statements._bank import F
from specsim.claims.statements._verdict import HOLDS, REFUTED, UNDER, Settled

SOURCE = "vllm-project/speculators#741, NVIDIA-NeMo/Automodel#2959"
STATEMENT = "The expected accepted length is the sum over k of the product of the accuracies of positions 1 to k."


def _lengths(blocks: tuple[tuple[int, ...], ...]) -> tuple[Fraction, Fraction, Fraction]:
    """Return the mean accepted length of blocks, and the sum of products of accuracies.

    A block has 1 where its draft is right. Accuracies are once of all blocks, once of those whose
    drafts before the position are all right.
    """
    places = range(len(blocks[0]))
    runs = [sum(accumulate(block, mul)) for block in blocks]
    reached = [[block for block in blocks if all(block[:k])] for k in places]
    of_all = [F(sum(block[k] for block in blocks), len(blocks)) for k in places]
    of_reached = [F(sum(block[k] for block in those), max(len(those), 1)) for k, those in enumerate(reached)]
    return F(sum(runs), len(blocks)), _products(of_all), _products(of_reached)


def _products(accuracies: list[Fraction]) -> Fraction:
    """Return the sum over k of the product of the first k accuracies."""
    return sum(accumulate(accuracies, mul), F(0))


def settle() -> Settled:
    """Compute the verdict on the statement."""
    # Two blocks, of which one is right everywhere and the other nowhere; two that are wrong at
    # different places.
    alike, mixed = ((1, 1), (0, 0)), ((1, 0), (0, 1))
    (mean, of_all, of_reached), (mean_mixed, mixed_of_all, mixed_of_reached) = _lengths(alike), _lengths(mixed)
    if (mean, mean_mixed) == (of_all, mixed_of_all):
        return Settled(HOLDS, "in both examples.", {})
    return Settled(
        UNDER if (mean, mean_mixed) == (of_reached, mixed_of_reached) else REFUTED,
        "accuracies must be of blocks whose earlier drafts are all right. Those of all blocks, as a training step has "
        "them, give too little where some texts are easy and others hard, and too much where errors take turns.",
        {
            "all right or all wrong: mean": str(mean),
            "all right or all wrong: accuracies of all blocks": str(of_all),
            "errors in turns: mean": str(mean_mixed),
            "errors in turns: accuracies of all blocks": str(mixed_of_all),
        },
    )
