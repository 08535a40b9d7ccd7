"""A tree rule with the shape and the scheme of its trees, and the plan that follows from a shape before any draw.

Rows number the root (the last token of the text) 0 and node i as i + 1, as in `specsim.trees`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from real.decode.warping import Warping
from specsim.base import check, limits
from specsim.base.held import held
from specsim.discover import Rule
from specsim.trees import _siblings, drawn, topology
from specsim.types import Array, Draws, TokenTree
from specsim.verify.lookup import step_argument, tree_rule

if TYPE_CHECKING:
    from real.models.model import LanguageModel


class Family(NamedTuple):
    """Nodes of one level that have equally many children, k.

    places: (F,), their places among the rows of the level. above: (F,), the nodes, -1 for the root. children: (F, k),
    their children. uniforms: (F, needs), columns of the draft's uniforms.
    """

    places: Array
    above: Array
    children: Array
    uniforms: Array


class Level(NamedTuple):
    """The nodes of one depth that have children, which the draft reads in one pass.

    rows: (W,), their rows. above: (W,), the nodes, -1 for the root.
    """

    rows: Array
    above: Array
    families: tuple[Family, ...]


class TreePlan(NamedTuple):
    """The plan of a shape of n nodes and D levels; NumPy arrays, which `held` copies to a device once.

    parents, depths: (n,), of the nodes. depth: (n+1,), of every row. sees: (n+1, n+3), whether a row sees the text
    before the root, each row, and the slots beyond. path: (n+1, D), nodes from the root down to a row, and then nodes
    in their own place. law: (n+1,), the draft's law, in the order of the levels, that is a row of q. by_level: (2 D +
    1, n+1 + read), rows of the target by depth, then rows that the draft reads. drawn: number of the draft's uniforms.
    moves: whether an accepted path may lie elsewhere than right after the root.
    """

    parents: Array
    depths: Array
    depth: Array
    sees: Array
    path: Array
    levels: tuple[Level, ...]
    law: Array
    by_level: Array
    drawn: int
    moves: bool

    def tree(self, tokens: Array, scheme: str) -> TokenTree:
        """The tree with these tokens (..., n)."""
        return TokenTree(self.parents, tokens, self.depths, scheme)

    def held(self, like: Array) -> TreePlan:
        """The plan on the device of `like`; arrays of a `TokenTree` stay NumPy's."""
        on = partial(held, like=like)
        levels = tuple(
            Level(on(level.rows), on(level.above), tuple(Family(*map(on, family)) for family in level.families))
            for level in self.levels
        )
        return self._replace(
            depth=on(self.depth),
            sees=on(self.sees),
            path=on(self.path),
            levels=levels,
            law=on(self.law),
            by_level=on(self.by_level),
        )


@dataclass(frozen=True)
class TreeVerifier:
    """A tree rule for a decode loop, with the trees that it verifies: all of one shape, drawn by one scheme.

    Given as `rule` to `real.decode.loop.decode_batch`, it makes every block a tree. Where a block can use fewer levels
    than the tree has, near the end of a text or because gamma is smaller, the deeper nodes are left out.

    Parameters
    ----------
    rule : str, path or module
        A tree rule: its name (see `specsim.algorithms`), its file, or itself.
    parents : sequence of int
        The shape (see `specsim.trees`): node i hangs below node parents[i] < i, or below the text at -1.
    scheme : str
        How siblings are drawn: a draft scheme, "paths" or "deterministic"; one that the rule verifies.
    step : str, path or module, optional
        For "tokenwise" and "lifted": the step rule, if not the one that is theirs for the scheme.
    draws : callable, optional
        For "distinct" under "lifted": q (..., V) -> `specsim.types.Draws`, the law of the number of draws.

    Attributes
    ----------
    depth : int
        Levels of the tree: gamma of a loop that uses them all.

    Raises
    ------
    ValueError
        No node, a parent that is no earlier node, a scheme that the rule does not verify (with the rules that do) or
        that cannot draw this shape, a step rule for a rule that has none, "distinct" without draws.

    References
    ----------
    The paper of the rule, see `specsim.algorithms`; trees in one pass: Miao et al., SpecInfer, arXiv:2305.09781.

    Examples
    --------
    >>> verifier = TreeVerifier("traversal", [-1, -1, 0], "without_replacement")
    >>> verifier.depth, verifier.uniforms(2), verifier.uniforms(1)  # beyond one for each level
    (2, 5, 4)
    """

    rule: Any
    parents: Any
    scheme: str
    step: Rule | None = None
    draws: Callable[[Array], Draws] | None = None
    _counts: dict[int, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parents = topology.shape(self.parents)
        if not len(parents):
            raise ValueError("parents is empty: a tree has at least one node; gamma=0 is plain decoding")
        check.integer(len(parents), "the number of nodes", 1, limits.MAX_NODES)
        if self.scheme == "beam":
            raise ValueError("scheme 'beam' has no shape before it is drawn: real.decode.beams.BeamVerifier decodes it")
        object.__setattr__(self, "parents", tuple(parents.tolist()))
        object.__setattr__(self, "rule", tree_rule(self.rule, self.scheme))
        _try(self)

    @property
    def depth(self) -> int:
        """Levels of the tree."""
        return int(topology.depths(self.parents).max())

    @property
    def most(self) -> int:
        """The most children of a node."""
        return max(map(len, topology.children(self.parents)))

    @property
    def told(self) -> dict[str, Any]:
        """Keyword arguments of the rule's `prepare` beside the laws and the tree."""
        more = {} if self.draws is None else {"draws": self.draws}
        return step_argument(self.rule, self.step) | more

    def plan(self, levels: int) -> TreePlan:
        """The plan of the shape cut to so many levels."""
        return planned(self.parents, self.scheme, levels)

    def nodes(self, levels: int) -> int:
        """Nodes of the shape cut to so many levels."""
        return len(self.plan(levels).parents)

    def uniforms(self, levels: int) -> int:
        """Uniforms of a block of so many levels, beyond one for each level: what a loop asks of its rule."""
        if levels not in self._counts:
            plan = self.plan(levels)
            tree = plan.tree(np.zeros(len(plan.parents), dtype=np.int64), self.scheme)
            rule_uniforms = int(self.rule.uniforms(tree, **step_argument(self.rule, self.step)))
            self._counts[levels] = plan.drawn + rule_uniforms - levels
        return self._counts[levels]


def check_trees(target: LanguageModel, draft: LanguageModel | None, warping: Warping, rule: Any, gamma: int) -> None:
    """ValueError if these models cannot run these trees, before any work."""
    # The rule and its options.
    if gamma > rule.depth:
        raise ValueError(f"gamma is {gamma}, but the tree has {rule.depth} levels")
    if warping.repetition_penalty != 1:
        raise ValueError(
            f"repetition_penalty is {warping.repetition_penalty}; with trees it must be 1: paths have different tokens"
        )
    # One pass over the whole tree for each model.
    nodes = rule.nodes(gamma)
    for name, model in (("target", target), ("draft", draft)):
        if model is None:
            continue
        if model.weights is None:
            raise ValueError(
                f"trees need the fast path (real.models.llama), which does not run the {name}: decode it with chains"
            )
        if nodes + 1 > model.context:
            raise ValueError(
                f"a tree of {nodes} nodes, {gamma} deep, needs {nodes + 1} tokens in one pass; "
                f"the {name} has a context of {model.context}"
            )
    # Siblings that must differ need as many tokens.
    support = min(target.vocab_size, warping.top_k or target.vocab_size)
    if gamma and rule.scheme in topology.LAST_REPEATS and rule.most > support:
        raise ValueError(
            f"a node of the tree has {rule.most} children, which {rule.scheme!r} draws different from each other; "
            f"{support} tokens can be drawn"
        )


def _try(verifier: TreeVerifier) -> None:
    """Draw a tree from flat laws and prepare the rule for it; ValueError if they do not go together."""
    if (verifier.scheme == "distinct") != (verifier.draws is not None):
        wants = "takes no" if verifier.draws else "needs"
        raise ValueError(f"scheme {verifier.scheme!r} {wants} draws, the law of a number of draws")
    flat = np.full(verifier.most + 1, 1 / (verifier.most + 1))
    zeros = np.zeros(drawn.uniforms(verifier.parents, verifier.scheme))
    tree, q = drawn.draw_tree(lambda text: flat, verifier.parents, zeros, scheme=verifier.scheme, draws=verifier.draws)
    verifier.rule.prepare(q, q, tree, **verifier.told)
    verifier.uniforms(verifier.depth)


@lru_cache(maxsize=256)
def planned(parents: tuple[int, ...], scheme: str, levels: int) -> TreePlan:
    """The plan of a shape without its nodes below `levels`."""
    nodes = np.flatnonzero(topology.depths(parents) <= levels)
    place = {-1: -1} | {int(old): new for new, old in enumerate(nodes)}
    parents_of_nodes = np.array([place[parents[i]] for i in nodes], dtype=np.int64)
    depth = np.concatenate([[0], topology.depths(parents_of_nodes)]).astype(np.int64)
    # Rows that the draft reads, level by level, and the first uniform of each.
    deepest = int(depth.max())
    below, rows = topology.children(parents_of_nodes), np.arange(len(parents_of_nodes) + 1)
    first = np.cumsum([0, *(_siblings.needs(scheme, len(kids)) if kids else 0 for kids in below)])
    reads = [[r for r in rows.tolist() if below[r] and depth[r] == d] for d in range(deepest)]
    order = [r for level in reads for r in level]
    # Leaves, behind which nothing is drafted, take the root's law.
    law = np.array([order.index(r) if r in order else 0 for r in rows.tolist()], dtype=np.int64)
    # Paths from the root, masks of attention, and rows by depth.
    path = np.tile(np.arange(deepest), (len(rows), 1))
    for node, parent in enumerate(parents_of_nodes.tolist()):
        path[node + 1] = path[parent + 1]
        path[node + 1, depth[node + 1] - 1] = node
    sees = np.pad(topology.mask(parents_of_nodes), ((0, 0), (1, 1)))
    sees[:, 0] = True
    by_depth = np.concatenate([depth, deepest + 1 + depth[order]]) == np.arange(2 * deepest + 1)[:, None]
    plans = tuple(
        Level(np.array(level), np.array(level) - 1, _families(level, below, first, scheme)) for level in reads
    )
    moves = bool((path != np.arange(deepest)).any())
    return TreePlan(parents_of_nodes, depth[1:], depth, sees, path, plans, law, by_depth, int(first[-1]), moves)


def _families(level: list[int], below: list[list[int]], first: Array, scheme: str) -> tuple[Family, ...]:
    """The rows of a level in groups of equally many children; uniforms lie row by row, as `draw_tree` takes them."""
    families = []
    for k in sorted({len(below[r]) for r in level}):
        members = [(j, r) for j, r in enumerate(level) if len(below[r]) == k]
        rows = np.array([r for _, r in members])
        families.append(
            Family(
                np.array([j for j, _ in members]),
                rows - 1,
                np.array([below[r] for r in rows]),
                first[rows][:, None] + np.arange(_siblings.needs(scheme, k)),
            )
        )
    return tuple(families)
