"""Stochastic beams in the decode loop (RSD-S): every block is a tree whose shape its own draws decide.

Shapes.  A beam has its parents only when it is drawn, so that texts of a batch have different trees: each is drafted
         and read by itself, in ordinary calls. Slots, positions and masks are those of `real.decode.trees_block`.
Cost.    One pass of the draft a level, over the beams of the level above, and one of the target over the whole tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from real.decode.chain_cycle import plain
from real.decode.fixed import begin, made
from real.decode.options import DecodeOptions
from real.decode.tree_plan import TreePlan, planned
from real.decode.trees_block import Texts, Trees, move, nodes_logits, only, place_of, root_logits
from real.decode.warp import Warping, probabilities
from real.models.model import LanguageModel
from specsim.base import check, limits
from specsim.base.arrays import pick
from specsim.discover import Rule
from specsim.trees.beam import Level, beam_sizes, beam_uniforms, grown, tree_of
from specsim.trees.drawn import Drafted
from specsim.types import Array, TokenTree
from specsim.verify.lookup import step_argument, tree_rule

# The scheme of the trees, and a scheme of siblings that draws as many uniforms as a plan asks for.
SCHEME, SIBLINGS = "beam", "without_replacement"


@dataclass(frozen=True)
class BeamVerifier:
    """A tree rule for a decode loop whose trees are stochastic beams.

    Given as `rule` to `real.decode.loop.decode_batch`, it makes every block a tree of `width` sequences a level, drawn
    without replacement. Where a block can use fewer levels than `depth`, it draws fewer.

    Parameters
    ----------
    rule : str, path or module
        A tree rule that verifies trees of scheme "beam": its name, its file, or itself.
    width, depth : int
        Sequences a level, and levels, at least 1.
    vocab : int
        Tokens of both models: a beam takes a uniform for each child of each node.
    step : str, path or module, optional
        For "tokenwise" and "lifted": the step rule, if not "recursive_wor".

    Raises
    ------
    ValueError
        A rule that does not verify beams (with those that do), a step rule for a rule that has none; a width, a depth
        or a vocabulary below 1.

    References
    ----------
    Jeon et al. 2024, arXiv:2402.14160, algorithm RSD-S.

    Examples
    --------
    >>> verifier = BeamVerifier("tokenwise", width=2, depth=2, vocab=8)
    >>> verifier.nodes(2), verifier.nodes(1), verifier.uniforms(0)
    (4, 2, 1)
    """

    rule: Any
    width: int
    depth: int
    vocab: int
    step: Rule | None = None

    def __post_init__(self) -> None:
        for name, most in (("width", limits.MAX_NODES), ("depth", limits.MAX_NODES), ("vocab", limits.MAX_COUNT)):
            check.integer(getattr(self, name), name, 1, most)
        check.integer(self.width * self.depth, "the number of nodes", 1, limits.MAX_NODES)
        check.integer(self.drawn(self.depth), "the number of uniforms of a block", 1, limits.MAX_COUNT)
        object.__setattr__(self, "rule", tree_rule(self.rule, SCHEME))
        self.uniforms(self.depth)

    @property
    def scheme(self) -> str:
        """The scheme of the nodes."""
        return SCHEME

    @property
    def most(self) -> int:
        """The most children that a node can have."""
        return min(self.width, self.vocab)

    @property
    def told(self) -> dict[str, Any]:
        """Keyword arguments of the rule beside the laws and the tree."""
        return step_argument(self.rule, self.step)

    def nodes(self, levels: int) -> int:
        """Nodes of so many levels at most."""
        return sum(beam_sizes(self.width, levels, self.vocab))

    def drawn(self, levels: int) -> int:
        """Uniforms of the draft."""
        return beam_uniforms(self.width, levels, self.vocab) if levels else 0

    def own(self, tree: TokenTree) -> int:
        """Uniforms of the rule on one tree."""
        return int(self.rule.uniforms(tree, **self.told))

    def uniforms(self, levels: int) -> int:
        """Uniforms of a block of so many levels, beyond one for each level: enough for any shape of the beam."""
        return self.drawn(levels) + self.own(_widest(self.width, levels, self.vocab)) - levels


@lru_cache(maxsize=64)
def _widest(width: int, levels: int, vocab: int) -> TokenTree:
    """A beam whose nodes are children of as few nodes of the level above as possible: no shape has larger families."""
    parents, depth, first = list[int](), list[int](), -1
    for level, size in enumerate(beam_sizes(width, levels, vocab), 1):
        start = len(parents)
        parents += [first + k // vocab for k in range(size)]
        depth += [level] * size
        first = start
    above = np.array(parents, dtype=np.int64)
    return TokenTree(above, np.zeros_like(above), np.array(depth, dtype=np.int64), SCHEME)


# A beam without levels.
_NOTHING = Drafted(_widest(1, 0, 1), np.ones((1, 1)))


class _Drawn(NamedTuple):
    """A beam and its plan, and the largest logit (levels,) of the rows that the draft read for each level."""

    drafted: Drafted
    plan: TreePlan
    largest: Array


class BeamCycle:
    """A cycle whose blocks are stochastic beams, one text after another.

    The rule is a `BeamVerifier`. longest: positions that texts may reach.
    """

    def __init__(
        self,
        target: LanguageModel,
        draft: LanguageModel | None,
        batch: int,
        longest: int,
        options: DecodeOptions,
    ) -> None:
        rule: BeamVerifier = options.rule
        if rule.vocab != target.vocab_size:
            raise ValueError(f"the rule is for {rule.vocab} tokens; the target has {target.vocab_size}")
        capacity = longest + rule.nodes(options.gamma) + 1
        fixed = made(target, draft, batch, options.warping, rule, pick, capacity)
        self._on, self._rule, self._mark = Trees(fixed, rule, plain, options.mark), rule, options.mark

    def read(self, i: int, text: list[int]) -> None:
        """Read the beginning of text i."""
        begin(self._on.fixed, i, text)

    def run(self, texts: Sequence[list[int]], group: list[int], length: int, u: Tensor) -> list[list[int]]:
        """Draft a beam of `length` levels after each text of a group, and verify it: rows of `trees_block.block`."""
        return [self._block(i, texts[i], length, row.numpy()) for i, row in zip(group, u.cpu(), strict=True)]

    def rollback(self, i: int, length: int) -> None:
        """Do nothing: the accepted path is in its place, and the next cycle knows where the text ends."""

    @torch.inference_mode()
    def _block(self, i: int, text: list[int], length: int, u: Array) -> list[int]:
        """Draft a beam after text i and verify it: the row of `trees_block.block`."""
        # Draft the beam, and let the target read it in one pass.
        on, rule, every = self._on, self._rule, self._on.fixed.sequences
        device = every.device
        last = torch.tensor([[text[-2:][0], text[-1]]], device=device)
        root = torch.tensor([len(text) - 1], device=device)
        take = None if len(every) == 1 else every[[i], 0]
        texts = Texts(last, root, every[[i]], take, len(text) + rule.nodes(length))
        self._mark("host")
        (tree, q), plan, tops = self._drafted(texts, length, u)
        read = torch.cat([last[:, 1:], torch.from_numpy(tree.tokens)[None].to(device)], 1)
        logits = nodes_logits(on, "target", place_of(on, "target", plan.held(root), texts), texts, read)[0]
        self._mark("verify")
        best = logits.amax(-1).float().cpu().numpy()
        fine = [bool(np.isfinite(best[plan.depth == d]).all()) for d in range(length + 1)] + np.isfinite(tops).tolist()
        # Without a law there is nothing to verify; the loop reports it.
        if not all(fine):
            return [0, 0, *[0] * length, *fine]
        p, rule_options = _rows(logits, on.fixed.warping), rule.told
        rule_uniforms = u[rule.drawn(length) :][: rule.own(tree)]
        node, token = (
            int(w)
            for w in rule.rule.verify(rule.rule.prepare(p, q if length else p, tree, **rule_options), rule_uniforms)
        )
        accepted, path = int(plan.depth[node]), plan.path[node]
        # Move the accepted path behind the root.
        if accepted:
            caches = [cache.kv for cache in on.fixed.caches.values()]
            move(caches, texts, torch.from_numpy(path[None, :accepted]).to(device))
        self._mark("rule")
        return [accepted, token, *tree.tokens[path].tolist(), *fine]

    def _drafted(self, texts: Texts, length: int, u: Array) -> _Drawn:
        """Draft level by level: a pass over the beams of the level above, and their children."""
        on, rule = self._on, self._rule
        places: list[list[tuple[int, int]]] = []
        levels, tops, used = list[Level](), list[float](), 0
        drafted, plan = _NOTHING, planned((), SIBLINGS, 0)
        for level in range(length):
            # Logits of the root, or of the beams of the level above.
            if level == 0:
                logits = root_logits(on, texts)[0]
            else:
                above = np.flatnonzero(plan.depths == level)
                place = only(place_of(on, "draft", plan.held(texts.root), texts), torch.from_numpy(above + 1))
                tokens = torch.from_numpy(drafted.tree.tokens[above])[None].to(texts.root.device)
                logits = nodes_logits(on, "draft", place, texts, tokens)[0]
            self._mark("draft")
            tops.append(float(logits.amax()))
            if not np.isfinite(tops[-1]):
                return _Drawn(drafted, plan, np.array(tops + [0.0] * (length - level - 1)))
            # The level below, from the laws of these rows and the next uniforms.
            rows = list(_rows(logits, on.fixed.warping))
            # Absent beams take any row: nothing is drawn below them.
            rows += [rows[0]] * (len(levels[-1].tokens) - len(rows) if levels else 0)
            size = len(rows) * rule.vocab
            levels.append(grown(rows, levels[-1] if levels else None, u[used : used + size], rule.width))
            used += rule.width * rule.vocab if level else rule.vocab
            # The tree so far, without absent beams, and its plan.
            pairs = zip(levels[-1].tokens.tolist(), levels[-1].parents.tolist(), strict=True)
            places.append([(token, parent) for token, parent in pairs if token >= 0])
            drafted = tree_of(places, [level_beams.q for level_beams in levels])
            plan = planned.__wrapped__(tuple(drafted.tree.parents.tolist()), SIBLINGS, level + 1)
            self._mark("sample")
        return _Drawn(drafted, plan, np.array(tops))


def _rows(logits: Tensor, warping: Warping) -> Array:
    """Laws in float64 on the host that sum to 1: a beam takes their logarithms."""
    law = probabilities(logits, warping).double().cpu().numpy()
    rows: Array = law / law.sum(axis=-1, keepdims=True)
    return rows
