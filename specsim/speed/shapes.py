"""Which shape to draft under measured or modelled times: the fastest tree, chain and complete k-ary tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from specsim import trees
from specsim.base import check, limits
from specsim.latency import LatencyModel
from specsim.trees.best_shape import TimedShape
from specsim.types import Array


class FastestShapes(NamedTuple):
    """The fastest shape of each kind; times are in the unit of the latency model.

    Examples
    --------
    >>> from specsim import latency
    >>> shapes = fastest_shapes(latency.constant(0.3), [0.6, 0.2, 0.1], nodes=8)
    >>> [len(shape.parents) for shape in shapes]
    [8, 1, 6]
    """

    tree: TimedShape
    chain: TimedShape
    k_ary: TimedShape


@np.errstate(under="ignore")
def fastest_shapes(
    latency: LatencyModel,
    acceptance: Array,
    *,
    nodes: int = 32,
    depth: int = 16,
    draft_s: Sequence[float] | None = None,
    batch: int = 1,
    context: int = 0,
) -> FastestShapes:
    r"""The tree, the chain and the complete k-ary tree with the largest predicted speed.

    .. math:: \max_T \frac{F_b(T) \, T(1)}{\sum_{l \le \text{depth}(T)} T_D(l) + T(|T| + 1) + T_o}

    The tree is the best of all (`optimal_tree`, exactly). A pass may be padded: T(m) is for up to m tokens.

    Parameters
    ----------
    latency : LatencyModel
        What passes and steps cost; it has to cover passes over nodes + 1 tokens.
    acceptance : array_like, shape (K,)
        Probability that the k-th child tried is the one kept; sums to at most 1.
    nodes, depth : int
        Most drafted tokens, and most levels; at least 1.
    draft_s : sequence of float, optional
        Time of the draft step of each level, where the nodes of a level cost more than one token does. By default every
        level costs the model's step, or all levels together do where one pass drafts a block.
    batch, context : int
        Sequences decoded together, and tokens before the block.

    Returns
    -------
    FastestShapes
        Each with parents, value (tokens per target call), cycle_s and speedup; no shape is slower than plain decoding.

    Raises
    ------
    ValueError
        As in `sequoia_tree`, nodes or depth below 1, a negative time, drafts prepared beside a pass, or whatever the
        latency model refuses.

    References
    ----------
    Chen et al. 2024, Sequoia, arXiv:2402.12374, section 3.3.

    Examples
    --------
    >>> from specsim import roofline
    >>> times = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
    >>> shapes = fastest_shapes(times, [0.7, 0.12, 0.05], nodes=16)
    >>> [(len(shape.parents), round(shape.speedup, 2)) for shape in shapes]
    [(16, 1.96), (3, 1.55), (14, 1.86)]
    """
    most, deepest = (
        check.integer(nodes, "nodes", 1, limits.MAX_NODES),
        check.integer(depth, "depth", 1, limits.MAX_NODES),
    )
    check.record(latency, "latency", LatencyModel)
    # A level has at least one node.
    deepest = min(deepest, most)
    b, s = check.integer(batch, "batch", 1), check.integer(context, "context", 0)
    row = np.asarray(check.real_values(acceptance, "acceptance", 0, 1))
    check.last_axis(row, "acceptance")
    if latency.prepared is not None:
        raise ValueError("drafts are prepared beside a target pass: only chains of such drafts are planned, no trees")
    # Times of draft steps by level, of passes by tokens, and of the rest of a cycle.
    step = latency.draft(b, s).value
    steps = [step] + [0.0 if latency.one_pass else step] * (deepest - 1)
    steps = steps if draft_s is None else list(draft_s)[:deepest]
    times = {m: latency.target(m, b, s).value for m in range(1, most + 2)}
    over = latency.overhead(b, s).value
    # A chain is the tree of first ranks.
    tree, chain = (
        trees.optimal_tree(by_rank, draft_s=steps, verify_s=times, depth=deepest, overhead_s=over)
        for by_rank in (row, row[:1])
    )
    # Complete k-ary trees, all that fit; plain decoding to start with.
    best = TimedShape(trees.chain(0), 1, times[1], 1)
    for k in range(1, len(row) + 1):
        level = sum(row[:k].tolist())
        for d in range(1, len(steps) + 1):
            if (size := sum(k**i for i in range(1, d + 1))) > most:
                break
            value = sum(level**i for i in range(d + 1))
            cycle = sum(steps[:d]) + min(times[m] for m in times if m > size) + over
            if times[1] * value > best.speedup * cycle:
                best = TimedShape(trees.k_ary((k,) * d), value, cycle, times[1] * value / cycle)
    return FastestShapes(tree, chain, best)
