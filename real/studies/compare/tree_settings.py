"""The settings of `compare --tree`, checked before torch is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from real.decode.warping import Warping
from real.studies.compare.record import Job
from real.studies.compare.tree_shapes import Entry, TreeOption, chain_entry, parse_tree, shaped, tree_entry
from specsim import discover
from specsim.base import check
from specsim.exact.guarantee import require_lossless
from specsim.verify.lookup import tree_rule

# The rule of the chains beside the trees.
CHAIN = "block"
PLAIN = Job(0, CHAIN)


@dataclass(frozen=True)
class TreeSettings:
    """The settings of `compare --tree`: trees, scheme, tree rules, chains beside them, texts, seed.

    `trees` are texts as `parse_tree` reads them.
    `step` is the step rule that the tree rules run, by default the scheme's; `draws`, for siblings
    drawn "distinct", how many different ones are expected at a node.
    """

    trees: tuple[str, ...]
    scheme: str = "iid"
    rules: tuple[str, ...] = ("tokenwise",)
    # Lengths of the chains; (): 1 to 4, and the nodes of every tree.
    chains: tuple[int, ...] = ()
    max_tokens: int = 64
    warping: Warping = Warping()  # noqa: RUF009 - frozen
    seed: int = 0
    step: str | None = None
    draws: int | None = None

    def __post_init__(self) -> None:
        # Trees and rules, each named once.
        for name, words in (("trees", self.trees), ("rules", self.rules)):
            if not words or len(set(words)) < len(words):
                raise ValueError(f"{name} {', '.join(words)!r}: give at least one, and none twice")
        for rule in self.rules:
            if rule in discover.names("chain") and rule not in discover.names("tree"):
                raise ValueError(
                    f"rule {rule!r} verifies chains; "
                    f"rules of trees: {', '.join(discover.names('tree'))} (chains under "
                    f"{CHAIN!r} run beside them)"
                )
            tree_rule(rule, self.scheme)
            require_lossless(
                rule,
                temperature=self.warping.temperature,
                family="tree",
                scheme=self.scheme,
                step=self.step,
            )

        # The number of draws belongs to one scheme.
        if self.draws is None and self.scheme == "distinct":
            raise ValueError("scheme 'distinct' needs draws, how many different siblings are expected at a node")
        if self.draws is not None:
            check.integer(self.draws, "draws", 1)
            if self.scheme != "distinct":
                raise ValueError(f"draws is for scheme 'distinct', not {self.scheme!r}: as many siblings as places")

        # Lengths, tokens and the seed; entries refuse trees that cannot be.
        for gamma in self.gammas:
            check.integer(gamma, "chains", 1)
        check.integer(self.max_tokens, "max_tokens", 1)
        if check.integer(self.seed, "seed", 0) >= 1 << 63:
            raise ValueError(f"seed must be below 2^63, got {self.seed}")
        self.entries()

    @property
    def tree_options(self) -> list[TreeOption]:
        """Return the trees as `parse_tree` reads them."""
        return [parse_tree(text, self.scheme) for text in self.trees]

    @property
    def gammas(self) -> tuple[int, ...]:
        """Return lengths of the chains."""
        return self.chains or tuple(sorted({1, 2, 3, 4, *(o.nodes for o in self.tree_options)}))

    @property
    def shapes_wanted(self) -> bool:
        """Whether a tree has a number of nodes only, so that its shape is to be chosen."""
        return any(not option.branching for option in self.tree_options)

    def entries(self, ranks: Sequence[float] | None = None) -> list[Entry]:
        """Return every line of the comparison, chains first.

        Shapes that are to be chosen are single nodes until acceptance by rank is known.
        """
        known_ranks = None if ranks is None else np.array(ranks)
        entries = [chain_entry(gamma, CHAIN) for gamma in self.gammas]
        for i, option in enumerate(self.tree_options):
            parents = shaped(option, self.scheme, known_ranks)
            entries += [tree_entry(i, option, rule, self.scheme, parents, self.step, self.draws) for rule in self.rules]
        return entries
