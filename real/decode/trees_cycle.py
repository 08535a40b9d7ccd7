"""Trees in the decode loop: the draft writes level by level, the target reads all nodes in one pass.

Slots.  A text of L tokens has its last token, the root (row 0), at slot L-1 of both caches; node i lies at slot L+i,
whatever its depth, and is rotated for position L-1+depth. A row sees all slots before L-1 and those of its ancestors.
Path.   What the rule keeps is moved to slots L, L+1, ...: the caches are again those of a text. Leaves, which the draft
never reads, are read by its next block, which begins with the last two tokens of the text.
Shapes  are those of the plan and the batch alone; where texts stand is data. Nothing reads a value back before the row
of the outcome, so that a graph can hold the cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from real.decode.tree_plan import TreeVerifier
from real.decode.warp import Warping
from real.models.model import LanguageModel


def check_trees(
    target: LanguageModel, draft: LanguageModel | None, warping: Warping, rule: TreeVerifier, gamma: int
) -> None:
    """ValueError where these models cannot run these trees, before anything is computed."""
    raise NotImplementedError


class TreeCycle:
    """A cycle whose blocks are trees of one shape, cut to the levels that can still be used.

    Parameters
    ----------
    target, draft, batch, warping, rule, mark
        As for `real.decode.cycle.Eager`; the rule is a `TreeVerifier`.
    longest : int
        Positions that texts may reach.
    gamma : int
        Levels of a tree at most.
    fixed : bool
        Run every text in every cycle, in fixed shapes, as `real.decode.graphs.Graphs` does.
    """

    def __init__(
        self,
        target: LanguageModel,
        draft: LanguageModel | None,
        batch: int,
        warping: Warping,
        rule: TreeVerifier,
        mark: Callable[[str], None],
        longest: int,
        gamma: int,
        fixed: bool,
    ) -> None:
        raise NotImplementedError

    def read(self, i: int, text: list[int]) -> None:
        """Read the beginning of text i."""

    def run(self, texts: Sequence[list[int]], group: list[int], length: int, u: Tensor) -> list[list[int]]:
        """Draft a tree of so many levels after each text of a group, and verify it.

        The row of a text: how many levels are kept, the next token, the tokens of the kept path (D; those beyond it
        mean nothing), then whether the logits of each depth were finite, of the target's D + 1 and the draft's D.
        """
        raise NotImplementedError

    def rollback(self, i: int, length: int) -> None:
        """Forget positions of text i; the kept path stands in its place already."""
