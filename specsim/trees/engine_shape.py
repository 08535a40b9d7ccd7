"""The tree that an engine drafts, from its three options: steps, top-k, tokens verified."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from specsim.base import check

# Most tokens of an engine's tree; its square is the most nodes of the pool that they are chosen
# from.
MOST_TOKENS = 4096


def engine_tree(ranks: Sequence[float], *, steps: int, top_k: int, tokens: int) -> tuple[int, ...]:
    r"""The shape that SGLang's EAGLE workers draft, for acceptance by rank.

    The k-th choice is accepted with the k-th rank's probability. Each step gives each of the top-k
    nodes of its level top-k children and carries the best top-k of them on; of all that were
    drafted the best tokens - 1 are verified (the root is the last). A draft's confidence decides
    which they are; here the product of the ranks along the path stands for it.

    Parameters
    ----------
    ranks : sequence of float
        Probability that the first, second, ... sibling is the one kept, as in
        `specsim.optimal_tree`.
    steps, top_k, tokens : int
        `--speculative-num-steps`, `--speculative-eagle-topk`, `--speculative-num-draft-tokens`;
        `specsim plan --emit sglang` prints the same three.

    Returns
    -------
    tuple of int
        Parents of the nodes, -1 for the root's children; `specsim.trees.tree_value` gives tau.

    Raises
    ------
    ValueError
        Ranks that are no probabilities or sum above 1, fewer than top_k ranks, or more tokens than
        the steps draft.

    References
    ----------
    Li et al. 2024, EAGLE-2, arXiv:2406.16858, section 4; sgl-project/sglang#24054 (top-k + (steps - 1) top-k^2 nodes).

    Examples
    --------
    >>> import specsim
    >>> specsim.engine_tree([0.6, 0.2], steps=2, top_k=2, tokens=5)
    (-1, 0, -1, 0)
    """
    # Check the arguments; `pool` is the number of nodes that the steps draft.
    b = [float(v) for v in check.real_values(ranks, "ranks", 0, 1)]
    levels, width = check.integer(steps, "steps", 1), check.integer(top_k, "top_k", 1)
    size = check.integer(tokens, "tokens", 2)
    if sum(b) > 1 + 1e-9:
        raise ValueError(f"ranks sum to {sum(b):g}; one sibling at most is kept")
    if len(b) < width:
        raise ValueError(f"ranks has {len(b)} entries; top_k is {width}")
    pool = width + (levels - 1) * width**2
    if size - 1 > min(pool, MOST_TOKENS):
        raise ValueError(f"tokens is {size}; {levels} steps of top-k {width} draft {pool} nodes beside the root")

    # Draft level by level. A node is (minus its path's probability, number, parent): the smallest is
    # the best, and of equals the one drafted first. No node below level size - 1 is chosen: its path
    # alone has more nodes than the tree.
    nodes: list[tuple[float, int, int]] = []
    # (Score, number) of the nodes that get children in this step; -1 is the root.
    beam = [(-1.0, -1)]
    for _ in range(min(levels, size - 1)):
        new_nodes = []
        for score, parent in beam:
            for rank in b[:width]:
                node = (score * rank, len(nodes), parent)
                new_nodes.append(node)
                nodes.append(node)
        # The best top-k nodes get children in the next step.
        beam = [(score, number) for score, number, _ in heapq.nsmallest(width, new_nodes)]
        if len(nodes) > MOST_TOKENS**2:
            raise ValueError(f"steps is {levels} and top_k is {width}; such a pool of nodes is not worked out")

    # The best nodes of all levels are verified; they are numbered anew, best first.
    chosen = heapq.nsmallest(size - 1, nodes)
    place = {number: i for i, (_, number, _) in enumerate(chosen)} | {-1: -1}
    return tuple(place[parent] for _, _, parent in chosen)
