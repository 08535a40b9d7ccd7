"""Tokens per block of tree rules by conditional Monte Carlo: trees are drawn, the verifier's part is exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from specsim import _check
from specsim._dist import pick
from specsim.simulate.blocks import drafted_tree, loop, routes_of
from specsim.simulate.models import Automaton
from specsim.simulate.pair import after, paired
from specsim.simulate.run import uniforms
from specsim.simulate.trace import _quantile, _ratio_error
from specsim.trees import draft as trees
from specsim.types import Array


class Estimate(NamedTuple):
    """tau with an interval, and the number of blocks it rests on."""

    tau: float
    low: float
    high: float
    blocks: int


def conditional_tau(
    target: Automaton | Array, draft: Automaton | Array, *, rule: str, tree: Sequence[int], sampling: str | None = None,
    blocks: int = 10_000, sequences: int = 256, seed: int = 0, level: float = 0.99,
) -> Estimate:  # fmt: skip
    r"""Tokens per block in decoded texts, each block counted by its expectation given the drafted tree.

    .. math:: \hat\tau = \tfrac1B \sum_b E[\text{depth of the kept node} \mid T_b] + 1

    Every sequence starts afresh: where contexts differ this is the mean of its first blocks, blocks / sequences of them
    (`block_chain(...).mean`), and the long run only for long sequences.
    The verifier's coins are summed out, which `simulate` leaves in; they still decide in which context the next block
    starts. For rules whose siblings lie off the emitted text no exact law given the text is known, as `renewal` needs.

    Parameters
    ----------
    target, draft : Automaton or array_like, shape (V,)
        Models.
    rule : str
        Name of a tree rule.
    tree : sequence of int
        Parents of the nodes (see `specsim.trees`).
    sampling : str, optional
        How siblings are drawn.
    blocks : int
        In all, shared out over the sequences.
    sequences : int
        Independent texts, at least 2: the interval comes from how they differ.
    seed : int
        Of the uniforms.
    level : float
        Of the interval, Student's t over sequences.

    Returns
    -------
    Estimate
        tau, low, high, blocks.

    Raises
    ------
    ValueError
        As in `simulate`.

    References
    ----------
    Rao and Blackwell; theory of the rule in its note in proofs/.

    Examples
    --------
    >>> from specsim.trees import paths
    >>> found = conditional_tau([1/3, 2/3], [2/3, 1/3], rule="traversal", tree=paths(2, 2), sampling="paths")
    >>> found.low < 1 + 115 / 81 < found.high
    True
    """
    pair, run = paired(target, draft), loop(rule, None, tree, 1, sampling)
    pair = pair._replace(p=pair.p.astype(np.float64), q=pair.q.astype(np.float64))
    each = -(-_check.integer(blocks, "blocks", 1) // _check.integer(sequences, "sequences", 2))
    split, depth = trees.uniforms(run.parents, run.sampling), routes_of(run.parents or ())[1]
    node, total = np.full(sequences, pair.start), np.zeros(sequences)
    for block in range(each):
        u = uniforms(_check.integer(seed, "seed", 0), range(sequences), block, split + 1)
        drafted, q, states = drafted_tree(run, pair, node, u[:, :split])
        law = run.rule.transition(run.rule.prepare(pair.p[states], q, drafted))
        total += 1 + (law.sum(axis=-1) * depth).sum(axis=-1)
        kept, token = np.divmod(pick(law.reshape(sequences, -1), u[:, split]), law.shape[-1])
        node = after(pair, np.take_along_axis(states, kept[:, None], axis=-1)[:, 0], token)
    count = np.full(sequences, float(each))
    tau, half = float(total.sum() / count.sum()), _quantile(level, sequences - 1) * _ratio_error(total, count)
    return Estimate(tau, tau - half, tau + half, each * sequences)
