"""Deterministic trees of the likeliest texts: the best one by a heap, EAGLE-2's level by level.

Law.         Nothing is drawn. A verifier draws from the target at every node and follows the child
             it hits, so a tree is worth 1 + the sum over nodes of the probability `reach` that the
             target writes the node's text.
Optimum.     With known reach, which never grows along a path, the N largest form a tree, and no
             tree of N nodes (within the depth) is worth more. With the draft model's reach in place
             of the target's this is OPT-Tree, DySpec.
EAGLE-2.     Expand the K best nodes of a level, each by its K likeliest tokens; at the end keep the
             N best of all that were seen. Worth what the heap's tree is unless the beam drops a
             node that the heap keeps.
Cost.        The heap calls the model at most N times, one after the other; EAGLE-2 depth times, K
             texts at once.
Paper.       Li et al., EAGLE-2, arXiv:2406.16858; Wang et al., OPT-Tree, arXiv:2406.17276; Xiong et
             al., DySpec, arXiv:2410.11744.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.arrays import array_namespace, one_hot
from specsim.trees import topology
from specsim.trees.drawn import law_after
from specsim.types import Array, Model, TokenTree

Path = tuple[Any, ...]


class Grown(NamedTuple):
    """A deterministic tree; q (n+1, V), point masses at first children; reach (n,) of its texts.

    1 + sum(reach) is the expected number of tokens per target call if the model that grew the tree
    is the target.

    >>> heap_tree(lambda text: np.array([0.6, 0.3, 0.1]), nodes=2).reach.round(2).tolist()
    [0.6, 0.36]
    """

    tree: TokenTree
    q: Array
    reach: Array


class _Node(NamedTuple):
    """A candidate node: its parent's place in the list of nodes (-1: the root), text, probability."""

    parent: int
    text: Path
    reach: Any


@np.errstate(under="ignore")
def heap_tree(model: Model, *, nodes: int, depth: int | None = None, prefix: Path = ()) -> Grown:
    r"""The tree of the N likeliest texts.

    .. math:: \max_{T : |T| = N} \; 1 + \sum_{x \in T} \prod_{j \le |x|} m(x_j \mid x_{<j})

    Exactly optimal for the model m that is given, among trees of at most `nodes` nodes and `depth`
    levels.

    Parameters
    ----------
    model : callable
        Text, a tuple of token ids -> law of the next token, shape (V,), floats or Fractions.
    nodes : int
        Drafted tokens N, at least 1; fewer are returned if no other text has a positive
        probability.
    depth : int, optional
        Most levels below the root.
    prefix : tuple
        The text so far.

    Returns
    -------
    Grown
        tree, best node first, siblings by decreasing probability; q; reach.

    Raises
    ------
    ValueError
        nodes or depth is below 1: no tree; or the model returns a row that is not a law.

    References
    ----------
    Wang et al. 2024, OPT-Tree, arXiv:2406.17276; Xiong et al. 2024, DySpec, arXiv:2410.11744.

    Examples
    --------
    >>> grown = heap_tree(lambda text: np.array([.6, .3, .1]), nodes=4)
    >>> grown.tree.parents.tolist(), grown.tree.tokens.tolist(), float(1 + grown.reach.sum().round(4))
    ([-1, 0, -1, 1], [0, 0, 1, 0], 2.476)
    """
    nodes, max_depth = check.integer(nodes, "nodes", 1, limits.MAX_NODES), _limit(depth)
    prefix = check.text(prefix, "prefix")
    root = law_after(model, prefix, ())
    # Nodes of the tree, and in rows the sorted children of the root, of node 0, ...
    chosen: list[_Node] = []
    below = [_likeliest(root, _Node(-1, (), 1), root.shape[-1])]
    # The heap holds, for each row, the likeliest child that is not in the tree yet, as (minus its
    # reach, order, row, rank): of equals the one offered first comes first.
    heap: list[tuple[Any, int, int, int]] = []
    order = 0

    def offer(row: int, rank: int) -> None:
        """Put the child of this rank below a row on the heap, if there is one."""
        nonlocal order
        if rank < len(below[row]):
            heapq.heappush(heap, (-below[row][rank].reach, order, row, rank))
            order += 1

    offer(0, 0)
    while heap and len(chosen) < nodes:
        # Take the likeliest candidate; its next sibling becomes one.
        _, _, row, rank = heapq.heappop(heap)
        node = below[row][rank]._replace(parent=row - 1)
        chosen.append(node)
        offer(row, rank + 1)
        # Its first child becomes one, too. After the last node no call of the model is needed.
        if len(node.text) < max_depth and len(chosen) < nodes:
            law = law_after(model, (*prefix, *node.text), (), root)
            below.append(_likeliest(law, node, law.shape[-1]))
        else:
            below.append([])
        offer(len(chosen), 0)
    return _grown(chosen, root)


@np.errstate(under="ignore")
def eagle2_tree(model: Model, *, top_k: int = 10, depth: int = 8, nodes: int = 59, prefix: Path = ()) -> Grown:
    """EAGLE-2's dynamic tree: a beam of the likeliest texts, then the best of all nodes seen.

    Parameters
    ----------
    model : callable
        As in `heap_tree`.
    top_k : int
        Nodes expanded per level, and tokens looked at below each, at least 1.
    depth : int
        Levels below the root, at least 1.
    nodes : int
        Drafted tokens kept, at least 1.
    prefix : tuple
        The text so far.

    Returns
    -------
    Grown
        tree, level by level; q; reach. Worth at most `heap_tree` of the same nodes and depth.

    Raises
    ------
    ValueError
        top_k, depth or nodes is below 1, or the model returns a row that is not a law.

    References
    ----------
    Li et al. 2024, EAGLE-2, arXiv:2406.16858. The published code calls these
    defaults top_k=10, total_token=60 (the root counts) and depth=7 (the first level does not).

    Examples
    --------
    >>> grown = eagle2_tree(lambda text: np.array([.6, .3, .1]), top_k=2, depth=2, nodes=4)
    >>> grown.tree.parents.tolist(), grown.tree.tokens.tolist(), float(1 + grown.reach.sum().round(4))
    ([-1, -1, 0, 0], [0, 1, 0, 1], 2.44)
    """
    top_k = check.integer(top_k, "top_k", 1, limits.MAX_NODES)
    depth = check.integer(depth, "depth", 1, limits.MAX_SUMMED)
    nodes = check.integer(nodes, "nodes", 1, limits.MAX_NODES)
    prefix = check.text(prefix, "prefix")
    root = law_after(model, prefix, ())

    # Look at the likeliest children of each node of the beam; the best of a level are the next
    # beam. A beam holds (place in `seen`, node); the root's place is -1.
    seen: list[_Node] = []
    beam = [(-1, _Node(-1, (), 1))]
    for level in range(depth):
        first = len(seen)
        for place, node in beam:
            law = law_after(model, (*prefix, *node.text), (), root) if level else root
            seen += [child._replace(parent=place) for child in _likeliest(law, node, top_k)]
        level_nodes = enumerate(seen[first:], start=first)
        beam = sorted(level_nodes, key=lambda entry: -entry[1].reach)[:top_k]

    # The best of all nodes seen, in their order; of equals the earlier is taken, so that no node is
    # chosen without its parent.
    by_reach = sorted(range(len(seen)), key=lambda i: -seen[i].reach)
    chosen = sorted(by_reach[:nodes])
    # Number them anew.
    place_of = {-1: -1} | {old: new for new, old in enumerate(chosen)}
    return _grown([seen[i]._replace(parent=place_of[seen[i].parent]) for i in chosen], root)


def pruned(grown: Grown, nodes: int) -> Grown:
    """Return the N likeliest nodes of a tree, siblings in the same order: the tree grown for N nodes.

    >>> pruned(heap_tree(lambda text: np.array([0.6, 0.3, 0.1]), nodes=4), 2).tree.tokens.tolist()
    [0, 0]
    """
    nodes = check.integer(nodes, "nodes", 0, limits.MAX_NODES)
    # Numbers of the nodes that stay, in their old order; of equals the earlier stays.
    by_reach = np.argsort(-np.asarray(grown.reach), kind="stable")
    chosen = np.sort(by_reach[:nodes])
    # Their new numbers, and the rows of q that stay: the root's and theirs.
    place_of = {-1: -1} | {int(old): new for new, old in enumerate(chosen)}
    tree, rows = grown.tree, np.concatenate([[0], chosen + 1])
    parents = np.array([place_of[int(parent)] for parent in tree.parents[chosen]], dtype=np.int64)
    short = TokenTree(parents, tree.tokens[chosen], tree.depth[chosen], tree.scheme)
    return Grown(short, grown.q[rows], grown.reach[chosen])


def _limit(depth: int | None) -> float:
    """Return the most levels of a tree: `depth`, checked, or infinity for None."""
    return float("inf") if depth is None else check.integer(depth, "depth", 1, limits.MAX_NODES)


def _likeliest(law: Array, node: _Node, count: int) -> list[_Node]:
    """Return the `count` likeliest children of a node by decreasing probability, without impossible ones.

    Their parent's number is not known yet: -1 stands for it.
    """
    order = array_namespace(law).argsort(-law, stable=True)[:count]
    # A text is never likelier than its beginning, though a row may sum to 1 + 1e-6.
    return [_Node(-1, (*node.text, int(v)), min(node.reach, node.reach * law[v])) for v in order if law[v] > 0]


def _grown(nodes: list[_Node], root: Array) -> Grown:
    """Return the tree of these nodes with q and reach, as `Grown` has them.

    The root's law `root` (V,) is read only for V, array library and type of numbers.
    """
    # The tree.
    xp = array_namespace(root)
    tokens = np.array([node.text[-1] for node in nodes], dtype=np.int64)
    parents = np.array([node.parent for node in nodes], dtype=np.int64)
    tree = TokenTree(parents, xp.asarray(tokens), topology.depths(parents), "deterministic")

    # Row 0 of q is the point mass at the root's first child, row i + 1 that at node i's first child.
    # After a leaf it is the point mass at token 0: nothing is drawn there.
    first_children = [tokens[siblings[0]] if siblings else 0 for siblings in topology.children(parents)]
    rows_like_root = root + xp.zeros((len(first_children), 1))
    q = one_hot(xp.asarray(np.array(first_children)), rows_like_root)

    # Adding 0 of the laws' type gives that type to a reach that is a plain number 1.
    zero = 0 * root[0]
    reach = xp.stack([1 * node.reach + zero for node in nodes]) if nodes else root[:0]
    return Grown(tree, q, reach)
