"""Draft and verify trees of one shape by table look-ups, without reading rows: all laws are residuals of p and q.

Let a node have weight a and target law p'. A child is drawn from the rest of q: q without the children tried before,
divided by its sum, which is c q with c = 1 / sum there. When that child fails in traversal verification, (a p' - c q)+
normalised is left of p'. The formula also holds at the children tried before, where the rest of q is 0: they failed, so
nothing of them is left in p' either. So every law on the way is (above p - below q)+ of one context, and `residuals`
has its sum and draws from it. Recursive rejection is the case of weight 1.

A token drawn without replacement is found in the cumulative row of q: the draw steps over each token taken out. Only
where next to nothing is left of q, which differences of cumulative sums would lose, are rows read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.base.arrays import array_namespace, at, is_exact, noise, pick, positive_part
from specsim.simulation.decode_loop import Loop
from specsim.simulation.lazy_entries import where_few
from specsim.simulation.residuals import Mass, draw, mass
from specsim.simulation.rows import count_up_to, entries
from specsim.simulation.toys.pair import Pair, after, at_tokens
from specsim.trees.topology import children
from specsim.types import Array, TokenTree
from specsim.verify.tree import tokenwise, traversal
from specsim.verify.tree._walk import post_order

# A rest of q below this is summed from its row: a difference of cumulative sums would have too few digits.
LITTLE = 2.0**-10


class Node(NamedTuple):
    """A node when its children have failed: its weight, and what is left of its target, (above p - below q)+ of sum 1.

    ``tokens``: the number of tokens in the support of that law, which come first in the order of q/p.
    """

    weight: Array
    above: Array
    below: Array
    tokens: Array


class Drafted(NamedTuple):
    """A drafted tree. Lists have an entry for the root, then one for every node.

    ``below``: the children; ``states`` (B,): the states of the text; ``tokens`` (B,): the tokens (the root's is not
    read). ``rests`` (B,): by node, the sum of q without the node's earlier siblings.
    """

    tree: TokenTree
    below: list[list[int]]
    states: list[Array]
    tokens: list[Array]
    rests: dict[int, Array]


def is_supported(run: Loop, pair: Pair) -> bool:
    """True if this module has a fast path for the run: rule `traversal` or `tokenwise`, siblings drawn one by one.

    Exact runs, whose uniforms fork, support i.i.d. siblings only: a draw without replacement shifts its uniform.
    """
    schemes = ("iid",) if is_exact(pair.p) else ("iid", "without_replacement")
    if run.parents is None or run.scheme not in schemes:
        return False
    if run.rule is traversal:
        return True
    return run.rule is tokenwise and run.step in (None, tokenwise.STEPS[run.scheme])


def residual_tree(run: Loop, pair: Pair, node: Array, u: Array) -> tuple[TokenTree, Array, Array, Array]:
    """Return the drafted tree (B, n), states (B, n+1), the last accepted node (B,) and the token after it (B,).

    States and last nodes count the root as 0.
    """
    drafted = _draft_tree(run, pair, node, u)
    verify = _traverse if run.rule is traversal else _walk
    nodes, last, token_u = verify(pair, drafted, u[:, run.split :])
    states = array_namespace(u).stack(drafted.states, axis=-1)
    return drafted.tree, states, last, _token(pair, nodes, at(states, last), last, token_u)


def _draft_tree(run: Loop, pair: Pair, node: Array, u: Array) -> Drafted:
    """Draw a tree's tokens from the root down, siblings one after the other."""
    below = children(run.parents or ())
    states, tokens, rests, used = [node] * len(below), [node] * len(below), dict[int, Array](), 0
    for row, siblings in enumerate(below):
        # Tokens of the siblings so far, and where each differs from all before it.
        drafts: list[Array] = []
        is_new: list[Array] = []
        for child in siblings:
            rests[child] = _rest(pair, states[row], drafts, is_new)
            if run.scheme == "iid":
                x = count_up_to(pair.q_sums, states[row], u[:, used])
            else:
                x = _draw_without(pair, states[row], drafts, rests[child], u[:, used])
            is_new.append(_differs(x, drafts))
            drafts.append(x)
            tokens[child + 1], states[child + 1], used = x, after(pair, states[row], x), used + 1
    tree = run.example._replace(tokens=array_namespace(u).stack(tokens[1:], axis=-1))
    return Drafted(tree, below, states, tokens, rests)


def _traverse(pair: Pair, drafted: Drafted, u: Array) -> tuple[list[Node], Array, Array]:
    """Verify as `traversal.verify`; return the same as `_walk`."""
    xp, nodes = array_namespace(u), _nodes(pair, drafted)
    chance, order = xp.stack([node.weight for node in nodes[1:]], axis=-1), post_order(drafted.tree)
    assert order is not None  # all trees here have one shape
    # The first node in post-order that passes its test is accepted; the root if none does.
    passed = (u[:, :-1] < chance)[:, order]
    first = xp.argmax(xp.astype(passed, xp.uint8), axis=-1)
    return nodes, xp.where(xp.any(passed, axis=-1), order[first] + 1, 0), u[:, -1]


def _walk(pair: Pair, drafted: Drafted, u: Array) -> tuple[list[Node], Array, Array]:
    """Verify as `tokenwise.verify` with recursive rejection, at all nodes, whether they are reached or not.

    Returns what is left of the target at each node when its children have failed, the last accepted
    node (B,), 0 for the root, and the uniform (B,) that draws the token after it.
    """
    tree, below, states, tokens, rests = drafted
    xp, weight_one = array_namespace(u), 0 * pair.p[states[0], 0] + 1
    # Uniforms of a depth: one for every child that a node there can have, and one for the token.
    depth = np.concatenate([[0], tree.depth])
    most_children = [max(len(below[row]) for row in np.flatnonzero(depth == d)) for d in range(depth.max() + 1)]
    first_uniform = np.concatenate([[0], np.cumsum(np.array(most_children) + 1)])
    # At every node: the first child that passes, and what is left when all have failed.
    nodes, successors, token_place = list[Node](), list[Array](), list[int]()
    for row, siblings in enumerate(below):
        begin = int(first_uniform[depth[row]])
        # The node is its own successor until a child passes.
        next_node = 0 * states[0] + row
        left = Node(weight_one, weight_one, 0 * weight_one, 0 * states[0])
        for k, child in enumerate(siblings):
            # I.i.d. children are drawn from q itself.
            rest = weight_one if tree.scheme == "iid" else rests[child]
            p, q = at_tokens(pair, states[row], tokens[child + 1])
            passed = u[:, begin + k] * (q / rest) < positive_part(left.above * p - left.below * q)
            next_node = xp.where((next_node == row) & passed, child + 1, next_node)
            left = _after_failure(pair, states[row], left, rest, weight_one > 0)
        nodes.append(left)
        successors.append(next_node)
        token_place.append(begin + len(siblings))
    # Follow the successors from the root, as often as the tree has depths below it.
    last, follow = 0 * states[0], xp.stack(successors, axis=-1)
    for _ in range(len(most_children) - 1):
        last = at(follow, last)
    return nodes, last, at(u, xp.asarray(np.array(token_place))[last])


def _nodes(pair: Pair, drafted: Drafted) -> list[Node]:
    """Return what is left of the target at the root and at all nodes when their children have failed.

    The weight of a child follows from what its parent has when the child is tried: see
    `traversal.prepare`.
    """
    _, below, states, tokens, rests = drafted
    xp, nodes = array_namespace(states[0]), list[Node]()
    # The root starts with weight 1 and with the target p itself.
    one = 0 * pair.p[states[0], 0] + 1
    weights = [one] * len(below)
    for row, siblings in enumerate(below):
        left, tried = Node(weights[row], one, 0 * one, 0 * states[0]), list[Array]()
        for child in siblings:
            x = tokens[child + 1]
            p, q = at_tokens(pair, states[row], x)
            # The child's weight: min(1, a p'(x) / q(x)), q being the rest it was drawn from; 0 for a repeated token.
            reached, q = left.weight * positive_part(left.above * p - left.below * q), q / rests[child]
            is_new = _differs(x, tried)
            less = reached < q
            weights[child + 1] = xp.where(is_new, xp.where(less, reached / xp.where(less, q, 1), 1), 0)
            left = _after_failure(pair, states[row], left, rests[child], is_new)
            tried.append(x)
        nodes.append(left)
    return nodes


def _after_failure(pair: Pair, state: Array, node: Node, rest: Array, is_new: Array) -> Node:
    """The node after a child has failed that was drawn from q / rest; unchanged where the child is not `is_new`."""
    # (a p' - q / rest)+ and its sum R; the node goes on with weight R / (R + 1 - a).
    xp = array_namespace(state)
    over = mass(pair.residuals, state, node.weight * node.above, node.weight * node.below + 1 / rest)
    left, is_full = over.total, node.weight >= 1
    weight = xp.where(is_full, 1, left / xp.where(is_full, 1, left + (1 - node.weight)))
    # Normalise what is left; where nothing is, the law stays.
    is_positive = is_new & (left > noise(left))
    scale = xp.where(is_positive, left, 1)
    return Node(
        xp.where(is_new, weight, node.weight),
        xp.where(is_positive, over.above / scale, node.above),
        xp.where(is_positive, over.below / scale, node.below),
        xp.where(is_positive, over.tokens, node.tokens),
    )


def _differs(x: Array, drafted: list[Array]) -> Array:
    """True where token x of a child differs from the tokens of all siblings before it."""
    new = x == x
    for other in drafted:
        new = new & (x != other)
    return new


def _rest(pair: Pair, state: Array, drafted: list[Array], is_new: list[Array]) -> Array:
    """Return the sum (B,) of q without the tokens `drafted`; 1 where none is taken out, or all are.

    ``is_new``: where a token differs from those before it; a repeated token is taken out once.
    """
    xp, top = array_namespace(state), entries(pair.q_sums.top, state)
    total = top
    for x, first_time in zip(drafted, is_new, strict=True):
        total = total - xp.where(first_time, at_tokens(pair, state, x)[1], 0)
    if not drafted:
        return 0 * top + 1

    # A small difference has lost its digits: sum the row instead.

    def summed(total: Array, state: Array, *drafted: Array) -> Array:
        return xp.sum(_without(pair, state, drafted), axis=-1)

    total = xp.where(total < LITTLE, where_few(total < LITTLE, summed, total, state, *drafted), total)
    return xp.where(total > 0, total, 1)


def _without(pair: Pair, state: Array, drafted: tuple[Array, ...]) -> Array:
    """Return rows (B, V) of q with 0 at the tokens `drafted`."""
    xp, row = array_namespace(state), pair.q[state]
    for x in drafted:
        row = xp.where(xp.arange(row.shape[-1]) == x[:, None], 0, row)
    return row


def _draw_without(pair: Pair, state: Array, drafted: list[Array], rest: Array, u: Array) -> Array:
    """Return the token (B,) that `pick` draws at u from q without the tokens `drafted`, all different.

    `rest` (B,) is the sum of q without them.
    """
    if not drafted:
        return count_up_to(pair.q_sums, state, u)
    xp, sums = array_namespace(state), pair.q_sums
    # The draw in the cumulative row of the rest is `bound`; in the row of q itself it lies beyond the mass of every
    # token taken out before it. In increasing order of the tokens: add q(x), and land beyond x at least.
    bound, taken = u * rest, xp.sort(xp.stack(drafted, axis=-1), axis=-1)
    for i in range(len(drafted)):
        x = taken[:, i]
        end = entries(sums.values, state * pair.q.shape[-1] + x)
        begin, beyond = end - at_tokens(pair, state, x)[1], bound + at_tokens(pair, state, x)[1]
        bound = xp.where(bound >= begin, xp.where(beyond > end, beyond, end), bound)
    token = count_up_to(sums, state, bound / entries(sums.top, state))

    # A small rest is searched in its row.
    def from_rows(token: Array, u: Array, state: Array, *drafted: Array) -> Array:
        return pick(_without(pair, state, drafted), u)

    return xp.where(rest < LITTLE, where_few(rest < LITTLE, from_rows, token, u, state, *drafted), token)


def _token(pair: Pair, nodes: list[Node], state: Array, last: Array, u: Array) -> Array:
    """Return the token (B,) after the last accepted node.

    It is drawn from p if nothing was taken from p there, else from the residual, whose sum is 1.
    """
    xp = array_namespace(u)
    # What is left at the last node of each text.
    _, above, below, tokens = (at(xp.stack(list(w), axis=-1), last) for w in zip(*nodes, strict=True))
    residual = Mass(above, below, tokens, 0 * above + 1)

    def from_residual(row: Array, u: Array, *fields: Array) -> Array:
        return draw(pair.residuals, row, Mass(*fields), u)

    from_p = count_up_to(pair.token_sums, state + pair.p.shape[0], u)
    is_changed = below > 0
    drawn = where_few(is_changed, from_residual, state, u, *residual)
    return xp.where(is_changed, drawn, from_p)
