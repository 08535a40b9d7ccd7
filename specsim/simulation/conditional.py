"""Tokens per block of tree rules by conditional Monte Carlo: trees are drawn, the verifier's part is exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.arrays import at, pick
from specsim.base.intervals import ratio_error, student_quantile
from specsim.base.results import result
from specsim.discover import Rule
from specsim.draft import distinct, iid
from specsim.simulation.blocks import drafted_tree, node_depths
from specsim.simulation.decode_loop import Loop, loop
from specsim.simulation.shards import checked_seed, uniforms
from specsim.simulation.toys.models import Automaton
from specsim.simulation.toys.pair import Pair, after, paired
from specsim.trees.topology import children
from specsim.types import Array, TokenTree


@result("tau", "low", "high")
class Estimate(NamedTuple):
    """tau with an interval, the number of blocks it rests on, and what else these blocks say.

    ``nodes``: different texts in a drafted tree, on average; ``ends`` (n+1,): how often the root and each node is the
    one up to which drafts are kept; ``bound``: what no lossless rule exceeds in blocks that start where these did,
    (value, low, high), None where `conditional_tau` knows none.
    """

    tau: float
    low: float
    high: float
    blocks: int
    nodes: float
    ends: Array
    bound: tuple[float, float, float] | None


@np.errstate(under="ignore")
def conditional_tau(
    target: Automaton | Array,
    draft: Automaton | Array,
    *,
    rule: Rule,
    num_drafts: int = 1,
    scheme: str | None = None,
    step: Rule | None = None,
    parents: Sequence[int],
    params: Mapping[str, Any] | None = None,
    step_params: Mapping[str, Any] | None = None,
    blocks: int = 10_000,
    sequences: int = 256,
    seed: int = 0,
    level: float = 0.99,
    starts: Sequence[int] | None = None,
) -> Estimate:
    r"""Tokens per block in decoded texts, each block counted by its expectation given the drafted tree.

    .. math:: \hat\tau = \tfrac1B \sum_b E[\text{depth of the kept node} \mid T_b] + 1

    Every sequence starts afresh: where contexts differ this is the mean of its first blocks, blocks / sequences of them
    (`block_chain(...).mean`), and the long run only for long sequences.
    A bound is computed for siblings drawn "iid", "distinct" or as "paths" where nodes of one depth have equally many:
    a text is kept at most as often as the target writes it, and as the tree has it,
    :math:`1 + \sum_t E_{y \sim p} \min(1, \Pr[y^t \in T] / p(y^t))`.

    The verifier's coins are summed out, which `simulate` leaves in; they still decide in which context the next block
    starts. What `renewal` needs, a law given the text, is in `specsim.lengths.tree_texts`.

    Parameters
    ----------
    target, draft : Automaton or array_like, shape (V,)
        Models.
    rule : str, path or module
        Name of a tree rule, the path of its file, or itself.
    num_drafts : int
        Distinct siblings expected, for scheme "distinct".
    scheme : str, optional
        How siblings are drawn.
    step : str, path or module, optional
        The step rule of a tree rule that runs one.
    parents : sequence of int
        Parents of the nodes, or what `simulate` takes for beams and distinct siblings.
    params : mapping, optional
        The rule's own parameters by name, as {"epsilon": 0.2}; those that are not named keep their defaults.
    step_params : mapping, optional
        The parameters of the rule named by `step`, in the same way.
    blocks : int
        In all, shared out over the sequences.
    sequences : int
        Independent texts, at least 2: the interval comes from how they differ.
    seed : int
        Of the uniforms.
    level : float
        Of the interval, Student's t over sequences.
    starts : sequence of int, optional
        Contexts in which the sequences start, one each: rows of `block_chain(...).states`. The interval then counts how
        contexts differ, too, and is wider than the chance of the run alone asks for.

    Returns
    -------
    Estimate
        tau, low, high, blocks; nodes, ends, bound.

    Raises
    ------
    ValueError, TypeError
        As in `simulate`, but a law of draft may have fewer tokens than are drawn: the last one repeats.

    References
    ----------
    Rao and Blackwell; theory of the rule in its note in proofs/; the bound is that of full information.

    Examples
    --------
    >>> from specsim.trees import paths
    >>> estimate = conditional_tau([1/3, 2/3], [2/3, 1/3], rule="traversal", parents=paths(2, 2), scheme="paths")
    >>> estimate.low < 1 + 115 / 81 < estimate.high
    True
    """
    # Validate the arguments.
    pair = paired(target, draft)
    run = loop(rule, None, parents, num_drafts, scheme, step, pair.p.shape[-1], params, step_params)
    pair = pair._replace(p=pair.p.astype(np.float64), q=pair.q.astype(np.float64))
    seed, level = checked_seed(seed), float(check.scalar(level, "level", "(0, 1)"))
    each = -(-check.integer(blocks, "blocks", 1) // check.integer(sequences, "sequences", 2, limits.MAX_COUNT))
    split, depth, branching = run.split, node_depths(run.example), _branching(run)
    # Sums over blocks: expected tokens, their bound and drafted texts by sequence; how often each node is the last.
    node, (total, most, nodes) = _starts(pair, sequences, starts), np.zeros((3, sequences))
    ends = np.zeros(len(depth))
    for block in range(each):
        # Draw a tree, and sum the law (B, n+1, V) of last node and next token over the tokens.
        u = uniforms(seed, range(sequences), range(block, block + 1), split + 1 + run.depth)[0]
        tree, q, states = drafted_tree(run, pair, node, u[:, :split])
        law = run.rule.transition(run.prepare(pair.p[states], q, tree))
        end = law.sum(axis=-1)
        total, ends, nodes = total + 1 + (end * depth).sum(axis=-1), ends + end.sum(axis=0), nodes + texts(tree)
        if branching is not None:
            most += _full_information(run, branching, pair, node, u[:, split + 1 :])
        # Draw the last node and the token from the law: the next block starts after them.
        last, token = np.divmod(pick(law.reshape(sequences, -1), u[:, split]), law.shape[-1])
        node = after(pair, np.take_along_axis(states, last[:, None], axis=-1)[:, 0], token)
    # Means per block, with intervals over sequences.
    (tau, low, high), bound = (_ratio(value, each, level) for value in (total, most))
    blocks = each * sequences
    return Estimate(
        tau, low, high, blocks, float(nodes.sum()) / blocks, ends / blocks, None if branching is None else bound
    )


def _starts(pair: Pair, sequences: int, starts: Sequence[int] | None) -> Array:
    """States (sequences,) before the first block."""
    if starts is None:
        return np.full(sequences, pair.start)
    contexts = np.asarray(starts)
    if contexts.dtype.kind not in "iu":
        raise TypeError(f"starts must be integers, numbers of contexts, got dtype {contexts.dtype}")
    if contexts.shape != (sequences,):
        raise ValueError(f"starts has shape {contexts.shape}; give one context for each of the {sequences} sequences")
    for i in np.flatnonzero((contexts < 0) | (contexts >= len(pair.p)))[:1]:
        raise ValueError(f"starts[{i}] is {contexts[i]}; contexts are 0..{len(pair.p) - 1}")
    return contexts


def _ratio(total: Array, each: int, level: float) -> tuple[float, float, float]:
    """Mean per block and its interval (value, low, high), from totals (n,) of sequences with `each` blocks."""
    count = np.full(len(total), float(each))
    value, half = float(total.sum() / count.sum()), student_quantile(level, len(total) - 1) * ratio_error(total, count)
    return value, value - half, value + half


def texts(tree: TokenTree) -> Array:
    """Number of different texts (B,) in each tree of a batch, besides the empty one.

    Nodes below a sibling that equals an earlier one do not count. Paths are drafted each by itself: those that begin
    alike share these nodes.
    """
    # A beam has no text twice.
    if tree.parents.ndim > 1:
        return (tree.tokens >= 0).sum(axis=-1)
    # first_with (B, n+1): 1 + the first node with the text of node i; 0 if the node does not count, -1 for the root.
    first_with = np.full((len(tree.tokens), len(tree.depth) + 1), -1)
    for i, parent in enumerate(tree.parents):
        # Earlier nodes with the same token below the same text; if there is none, node i itself is the first.
        above = first_with[:, parent + 1 : parent + 2]
        is_equal = (first_with[:, 1 : i + 1] > 0) & (tree.tokens[:, :i] == tree.tokens[:, i : i + 1])
        is_equal &= first_with[:, tree.parents[:i] + 1] == above
        first = np.argmax(np.concatenate([is_equal, above == above], axis=-1), axis=-1)
        counts = (tree.tokens[:, i] >= 0) & (above[:, 0] != 0) & ((first == i) | (tree.scheme == "paths"))
        first_with[:, i + 1] = np.where(counts, first + 1, 0)
    return (first_with[:, 1:] == np.arange(1, len(tree.depth) + 1)).sum(axis=-1)


def _branching(run: Loop) -> list[int] | None:
    """Children of a node at every depth; None if they are not equally many, or Pr[text in tree] has no formula."""
    if run.scheme not in ("iid", "paths", "distinct"):
        return None
    counts = [set[int]() for _ in range(run.depth + 1)]
    for depth, below in zip(node_depths(run.example), children(run.parents or ()), strict=True):
        counts[depth].add(len(below))
    is_uniform = all(len(count) == 1 for count in counts)
    return [max(count) for count in counts[:-1]] if is_uniform else None


def _full_information(run: Loop, branching: list[int], pair: Pair, node: Array, u: Array) -> Array:
    """1 + sum_t min(1, Pr[y^t in T] / p(y^t)) (B,) along a text y that the target writes from each state."""
    # inside: Pr[y^t in T]; path: q(y^t); text: p(y^t).
    total, inside, path, text, draws = 1 + 0 * u[:, 0], 1 + 0 * u[:, 0], 1 + 0 * u[:, 0], 1 + 0 * u[:, 0], run.draws
    for depth, count in enumerate(branching):
        # The target's next token, and its probability under both.
        p, q = pair.p[node], pair.q[node]
        token = pick(p, u[:, depth])
        chance = at(q, token)
        text, path = text * at(p, token), path * chance
        # Siblings are drawn at each node anew; paths are independent as wholes.
        if run.scheme == "paths":
            inside = 1 - iid.inside(1 - path, branching[0])
        elif draws is not None and count > 1:
            inside = inside * (1 - distinct.inside(1 - chance, draws(q)))
        else:
            inside = inside * (1 - iid.inside(1 - chance, count))
        total = total + np.minimum(1, inside / text)
        node = after(pair, node, token)
    return total
