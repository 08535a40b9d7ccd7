"""The kinds of trees that are compared: the rule of each, and the shapes that it tries at a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from real.studies.trees.report import ORACLE
from specsim import guarantee
from specsim.trees import Grown, chain, depths, eagle2_tree, heap_tree, k_ary, paths, sequoia_tree
from specsim.types import Array

# Siblings whose acceptance by rank shapes Sequoia's trees, if there are as many tokens.
RANKS = 8
# Most siblings that the other shapes draw without replacement.
SIBLINGS = 4
# Factor of the rejections by rank: some rules accept more in the depth than at one position, and
# with this factor their trees become deeper.
DEEPER = 0.6
# Expected number of distinct siblings -> most draws.
PLACES = {2: 6, 3: 8}


class Shape(NamedTuple):
    """A tree as `conditional_tau` takes it, and its name in the table."""

    name: str
    tree: Sequence[int]
    num_drafts: int = 1


class Kind(NamedTuple):
    """A line of the table: a kind of trees, and the rule that verifies them."""

    topology: str
    rule: str
    scheme: str
    step: str | None
    # Shapes to try, from a budget and the acceptance by rank.
    shapes: Callable[[int, Array], list[Shape]]

    @property
    def name(self) -> str:
        """Return the rule, with the step rule that it runs."""
        return self.rule if self.step is None else f"{self.rule}, {self.step}"

    @property
    def lossless(self) -> bool:
        """Return whether the rule is lossless, by exact enumeration on small trees."""
        return guarantee(self.rule, scheme=self.scheme, family="tree", step=self.step).lossless


def branchings(prefixes: Sequence[tuple[int, ...]], budget: int) -> list[tuple[int, ...]]:
    """Return numbers of children by depth, one tuple for each prefix that fits a budget of nodes.

    A prefix is followed by single children for as long as the nodes last.

    >>> branchings([(2,), (3, 2)], 8)
    [(2, 1, 1, 1)]
    """
    fitting = []
    for prefix in prefixes:
        # The prefix has this many leaves, each of which goes on as a chain.
        width = int(np.prod(prefix))
        nodes_left = budget - int(np.cumprod(prefix).sum())
        if nodes_left >= 0:
            fitting.append((*prefix, *[1] * (nodes_left // width)))
    return fitting


def _chains(budget: int, ranks: Array) -> list[Shape]:
    """Return the chain of all nodes."""
    return [Shape(f"chain of {budget}", chain(budget))]


def _paths(budget: int, ranks: Array) -> list[Shape]:
    """Return two, three or four paths, the nodes divided evenly and rounded down or up."""
    return [Shape(f"{k} paths of {n}", paths(k, n)) for k in (2, 3, 4) for n in {budget // k, budget // k + 1} if n > 1]


def _k_ary(
    prefixes: Sequence[tuple[int, ...]],
    drafted_factor: float,
    budget: int,
    ranks: Array,
) -> list[Shape]:
    """Return k-ary trees of `budget` nodes, and of `drafted_factor` times as many.

    Each begins with one of the prefixes, numbers of children by level, and goes on as chains. With
    i.i.d. siblings more nodes may be drafted than the budget: the target verifies equal ones once.
    The shapes do not depend on `ranks`.
    """
    sizes = {budget, int(drafted_factor * budget)}
    unique = dict.fromkeys(branching for size in sizes for branching in branchings(prefixes, size))
    return [Shape(_name_of(branching), k_ary(branching)) for branching in unique]


def _distinct(budget: int, ranks: Array) -> list[Shape]:
    """Trees whose siblings are drawn until as many distinct ones are expected as the prefix says."""
    return [
        Shape(_name_of(branching), k_ary([PLACES.get(k, k) for k in branching]), num_drafts=branching[0])
        for branching in branchings([(2,), (3,), (2, 2)], budget)
    ]


def _beams(budget: int, ranks: Array) -> list[Shape]:
    """Return beams two, four or eight wide, at least two deep."""
    return [
        Shape(f"{width} wide, {budget // width} deep", (width, budget // width))
        for width in (2, 4, 8)
        if budget >= 2 * width
    ]


def sequoia(budget: int, ranks: Array) -> list[Shape]:
    """Return Sequoia's tree for the acceptance by rank, and for one with fewer rejections."""
    shapes = []
    for kappa in (1.0, DEEPER):
        # Rejections of the first rank are multiplied by kappa, and so is acceptance of the others.
        acceptance = kappa * ranks
        acceptance[0] = 1 - kappa * (1 - ranks[0])
        parents = sequoia_tree(acceptance, nodes=budget).parents
        name = f"{depths(parents).max(initial=0)} deep, {int((parents < 0).sum())} at the root"
        suffix = f", kappa {kappa}" if kappa < 1 else ""
        shapes.append(Shape(name + suffix, parents))
    return shapes


def _name_of(branching: tuple[int, ...]) -> str:
    """Return numbers of children by depth as text.

    >>> _name_of((2, 1, 1, 1))
    '2,1^3'
    """
    prefix = [k for k in branching if k > 1]
    singles = len(branching) - len(prefix)
    suffix = f",1^{singles}" if singles > 1 else ",1" * singles
    return ",".join(map(str, prefix)) + suffix


_RSD = partial(_k_ary, [(2,), (3,), (SIBLINGS,), (2, 2), (2, 2, 2)], 1.0)
_IID = partial(_k_ary, [(2,), (3,), (2, 2)], 1.4)
KINDS = (
    Kind("chain", "tokenwise", "iid", None, _chains),
    # On one path it is block verification.
    Kind("chain", "traversal", "iid", None, _chains),
    Kind("i.i.d. paths", "tokenwise", "paths", "recursive", _paths),
    Kind("i.i.d. paths", "tokenwise", "paths", "kseq", _paths),
    Kind("i.i.d. paths", "traversal", "paths", None, _paths),
    Kind("i.i.d. paths", "multipath_block", "paths", None, _paths),
    Kind("i.i.d. paths", "lifted", "paths", "optimal", _paths),
    Kind("k-ary, i.i.d.", "tokenwise", "iid", "recursive", _IID),
    Kind("k-ary, i.i.d.", "tokenwise", "iid", "kseq", _IID),
    Kind("k-ary, i.i.d.", "tokenwise", "iid", "optimal", _IID),
    Kind("k-ary, i.i.d.", "lifted", "iid", "optimal", _IID),
    Kind("k-ary, SpecHub's pairs", "tokenwise", "hub", "spechub", partial(_k_ary, [(2,), (2, 2)], 1.0)),
    Kind("RSD-C", "tokenwise", "without_replacement", "recursive_wor", _RSD),
    Kind("RSD-C", "traversal", "without_replacement", None, _RSD),
    Kind("RSD-S", "tokenwise", "beam", "recursive_wor", _beams),
    Kind("RSD-S", "traversal", "beam", None, _beams),
    Kind("Sequoia", "tokenwise", "without_replacement", "recursive_wor", sequoia),
    Kind("Sequoia", "traversal", "without_replacement", None, sequoia),
    Kind("Sequoia, greedy", "tokenwise", "greedy", "greedy_draft", sequoia),
    Kind("Sequoia, greedy", "lifted", "greedy", "greedy_draft", sequoia),
    Kind("k-ary, distinct", "lifted", "distinct", "optimal", _distinct),
)
# Deterministic trees: the function that grows them, and the model whose probabilities it reads.
GROWN: dict[str, tuple[Callable[..., Grown], str]] = {
    "EAGLE-2": (eagle2_tree, "draft"),
    "likeliest texts of the draft": (heap_tree, "draft"),
    ORACLE: (heap_tree, "target"),
}
