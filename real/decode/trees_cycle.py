"""Trees in the decode loop in ordinary calls, in shapes that follow the texts; `real.decode.trees_block` says how."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from real.decode.chain_cycle import plain
from real.decode.fixed import begin, made
from real.decode.options import DecodeOptions
from real.decode.tree_plan import TreeVerifier
from real.decode.trees_block import Texts, Trees, block
from real.models.model import LanguageModel
from specsim.base.arrays import pick


class TreeCycle:
    """A cycle whose blocks are trees of one shape, cut to the levels that can still be used.

    The rule is a `TreeVerifier`; the draft is None only in plain decoding. longest: positions that texts may reach.
    """

    def __init__(
        self,
        target: LanguageModel,
        draft: LanguageModel | None,
        batch: int,
        longest: int,
        options: DecodeOptions,
    ) -> None:
        rule: TreeVerifier = options.rule
        capacity = longest + rule.nodes(options.gamma) + 1
        self._fixed = made(target, draft, batch, options.warping, rule, pick, capacity)
        self._on, self._mark = Trees(self._fixed, rule, plain, options.mark), options.mark

    def read(self, i: int, text: list[int]) -> None:
        """Read the beginning of text i."""
        begin(self._fixed, i, text)

    def run(self, texts: Sequence[list[int]], group: list[int], length: int, u: Tensor) -> list[list[int]]:
        """Draft a tree of `length` levels after each text of a group, and verify it: rows of `block`."""
        # Where the texts of the group stand; None takes all texts of the batch.
        every = self._fixed.sequences
        last = torch.tensor([[texts[i][-2:][0], texts[i][-1]] for i in group], device=every.device)
        root = torch.tensor([len(texts[i]) - 1 for i in group], device=every.device)
        self._mark("host")
        sequences = every if len(group) == len(every) else every[group]
        take = None if sequences is every else sequences[:, 0]
        span = max(len(texts[i]) for i in group) + self._on.rule.nodes(length)
        where = Texts(last, root, sequences, take, span)
        out: list[list[int]] = block(self._on, length, where, u.to(every.device)).tolist()
        self._mark("rule")
        return out

    def rollback(self, i: int, length: int) -> None:
        """Do nothing: the accepted path is in its place, and the next cycle knows where the text ends."""
