"""Trees of one shape, drafted and verified reading no row: all laws that are met there are residuals of p and q.

In traversal verification, where a child has failed with weight a, (a p' - c q)+ normalised is left of the law p' of its
parent, c q being what is left of the draft's law, outside the children tried before: of those nothing is left in p'
either, for they failed. So the residuals of a context (`residuals`) hold everything, and what is drawn without
replacement is found in the cumulative row of q, each token that was taken out passed over. Recursive rejection is the
same with weight 1. Only where next to nothing is left of q, which differences of sums would lose, rows are read.
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

LITTLE = 2.0**-10  # a rest of q that is less is summed


class Node(NamedTuple):
    """A node when its children have failed: its weight, and what is left of its target, one in sum."""

    weight: Array
    above: Array
    below: Array
    tokens: Array  # in how many tokens it is, in the order of q/p


class Drafted(NamedTuple):
    """A tree, the children of its root and nodes, and of these states and tokens (B,), the root's token being none."""

    tree: TokenTree
    below: list[list[int]]
    states: list[Array]
    tokens: list[Array]
    rests: dict[int, Array]  # of each node what is left of q without the siblings before it


def looked_up(run: Loop, pair: Pair) -> bool:
    """Whether a rule below verifies trees whose siblings are drawn one by one; a uniform that forks is not shifted."""
    if run.parents is None or run.scheme not in (("iid",) if is_exact(pair.p) else ("iid", "without_replacement")):
        return False
    return run.rule is traversal or (run.rule is tokenwise and run.step in (None, tokenwise.STEPS[run.scheme]))


def residual_tree(run: Loop, pair: Pair, node: Array, u: Array) -> tuple[TokenTree, Array, Array, Array]:
    """The drafted tree (B, n), states (B, n+1) after the root and the nodes, the kept node and the token after it."""
    drafted = _drafted(run, pair, node, u)
    verified = _traversed if run.rule is traversal else _walked
    nodes, kept, last = verified(pair, drafted, u[:, run.split :])
    states = array_namespace(u).stack(drafted.states, axis=-1)
    return drafted.tree, states, kept, _token(pair, nodes, at(states, kept), kept, last)


def _drafted(run: Loop, pair: Pair, node: Array, u: Array) -> Drafted:
    below = children(run.parents or ())
    states, tokens, rests, used = [node] * len(below), [node] * len(below), dict[int, Array](), 0
    for row, kin in enumerate(below):
        drafted: list[Array] = []
        new: list[Array] = []
        for child in kin:
            rests[child] = _rest(pair, states[row], drafted, new)
            if run.scheme == "iid":
                x = count_up_to(pair.q_sums, states[row], u[:, used])
            else:
                x = _draw_without(pair, states[row], drafted, rests[child], u[:, used])
            new.append(_differs(x, drafted))
            drafted.append(x)
            tokens[child + 1], states[child + 1], used = x, after(pair, states[row], x), used + 1
    tree = run.example._replace(tokens=array_namespace(u).stack(tokens[1:], axis=-1))
    return Drafted(tree, below, states, tokens, rests)


def _traversed(pair: Pair, drafted: Drafted, u: Array) -> tuple[list[Node], Array, Array]:
    """What is left at every node, the kept one, and the uniform that draws: see `traversal.verify`."""
    xp, nodes = array_namespace(u), _nodes(pair, drafted)
    chance, order = xp.stack([each.weight for each in nodes[1:]], axis=-1), post_order(drafted.tree)
    assert order is not None  # the shape decides it
    passed = (u[:, :-1] < chance)[:, order]
    first = xp.argmax(xp.astype(passed, xp.uint8), axis=-1)
    return nodes, xp.where(xp.any(passed, axis=-1), order[first] + 1, 0), u[:, -1]


def _walked(pair: Pair, drafted: Drafted, u: Array) -> tuple[list[Node], Array, Array]:
    """The same of a walk with recursive rejection, whose residuals hold no child that has failed: `tokenwise.verify`.

    With replacement q stays as it is; a law of weight 1 is left with weight 1.
    """
    tree, below, states, tokens, rests = drafted
    xp, one = array_namespace(u), 0 * pair.p[states[0], 0] + 1
    depth = np.concatenate([[0], tree.depth])
    most = [max(len(below[row]) for row in np.flatnonzero(depth == d)) for d in range(depth.max() + 1)]
    start = np.concatenate([[0], np.cumsum(np.array(most) + 1)])
    nodes, then, place = list[Node](), list[Array](), list[int]()
    for row, kin in enumerate(below):
        begin, left, next_node = int(start[depth[row]]), Node(one, one, 0 * one, 0 * states[0]), 0 * states[0] + row
        for k, child in enumerate(kin):
            rest = one if tree.scheme == "iid" else rests[child]
            p, q = at_tokens(pair, states[row], tokens[child + 1])
            passed = u[:, begin + k] * (q / rest) < positive_part(left.above * p - left.below * q)
            next_node = xp.where((next_node == row) & passed, child + 1, next_node)
            left = _failed(pair, states[row], left, rest, one > 0)
        nodes.append(left)
        then.append(next_node)
        place.append(begin + len(kin))
    kept, follow = 0 * states[0], xp.stack(then, axis=-1)
    for _ in range(len(most) - 1):
        kept = at(follow, kept)
    return nodes, kept, at(u, xp.asarray(np.array(place))[kept])


def _nodes(pair: Pair, drafted: Drafted) -> list[Node]:
    """Every node when its children have failed, from the root down: see `traversal.prepare`."""
    _, below, states, tokens, rests = drafted
    xp, out = array_namespace(states[0]), list[Node]()
    one = 0 * pair.p[states[0], 0] + 1
    weights = [one] * len(below)
    for row, kin in enumerate(below):
        left, tried = Node(weights[row], one, 0 * one, 0 * states[0]), list[Array]()
        for child in kin:
            x = tokens[child + 1]
            p, q = at_tokens(pair, states[row], x)
            reached, q = left.weight * positive_part(left.above * p - left.below * q), q / rests[child]
            new = _differs(x, tried)
            less = reached < q
            weights[child + 1] = xp.where(new, xp.where(less, reached / xp.where(less, q, 1), 1), 0)
            left = _failed(pair, states[row], left, rests[child], new)
            tried.append(x)
        out.append(left)
    return out


def _failed(pair: Pair, state: Array, here: Node, rest: Array, new: Array) -> Node:
    """What is left of a node when a child has failed that was drawn from this rest of q; all of it if none was."""
    xp = array_namespace(state)
    over = mass(pair.residuals, state, here.weight * here.above, here.weight * here.below + 1 / rest)
    left, full = over.total, here.weight >= 1
    weight = xp.where(full, 1, left / xp.where(full, 1, left + (1 - here.weight)))
    some = new & (left > noise(left))
    scale = xp.where(some, left, 1)
    return Node(
        xp.where(new, weight, here.weight),
        xp.where(some, over.above / scale, here.above),
        xp.where(some, over.below / scale, here.below),
        xp.where(some, over.tokens, here.tokens),
    )


def _differs(x: Array, drafted: list[Array]) -> Array:
    """Whether a child has another token than the siblings before it."""
    new = x == x
    for other in drafted:
        new = new & (x != other)
    return new


def _rest(pair: Pair, state: Array, drafted: list[Array], new: list[Array]) -> Array:
    """The sum of q without some tokens, `new` where they are no repetitions; 1 where none is taken out, or all are."""
    xp, top = array_namespace(state), entries(pair.q_sums.top, state)
    total = top
    for x, first in zip(drafted, new, strict=True):
        total = total - xp.where(first, at_tokens(pair, state, x)[1], 0)
    if not drafted:
        return 0 * top + 1

    def summed(total: Array, state: Array, *drafted: Array) -> Array:
        return xp.sum(_without(pair, state, drafted), axis=-1)

    total = xp.where(total < LITTLE, where_few(total < LITTLE, summed, total, state, *drafted), total)
    return xp.where(total > 0, total, 1)


def _without(pair: Pair, state: Array, drafted: tuple[Array, ...]) -> Array:
    """Rows of q without some tokens."""
    xp, row = array_namespace(state), pair.q[state]
    for x in drafted:
        row = xp.where(xp.arange(row.shape[-1]) == x[:, None], 0, row)
    return row


def _draw_without(pair: Pair, state: Array, drafted: list[Array], rest: Array, u: Array) -> Array:
    """The token that `pick` draws at u from q without some different tokens, whose sum is `rest`."""
    if not drafted:
        return count_up_to(pair.q_sums, state, u)
    xp, sums = array_namespace(state), pair.q_sums
    bound, taken = u * rest, xp.sort(xp.stack(drafted, axis=-1), axis=-1)
    for i in range(len(drafted)):
        x = taken[:, i]
        end = entries(sums.values, state * pair.q.shape[-1] + x)
        begin, beyond = end - at_tokens(pair, state, x)[1], bound + at_tokens(pair, state, x)[1]
        bound = xp.where(bound >= begin, xp.where(beyond > end, beyond, end), bound)
    token = count_up_to(sums, state, bound / entries(sums.top, state))

    def from_rows(token: Array, u: Array, state: Array, *drafted: Array) -> Array:
        return pick(_without(pair, state, drafted), u)

    return xp.where(rest < LITTLE, where_few(rest < LITTLE, from_rows, token, u, state, *drafted), token)


def _token(pair: Pair, nodes: list[Node], state: Array, kept: Array, u: Array) -> Array:
    """The token after the kept node: from p if nothing was taken from it there, else from a residual."""
    xp = array_namespace(u)
    _, above, below, tokens = (at(xp.stack(list(w), axis=-1), kept) for w in zip(*nodes, strict=True))
    law = [above, below, tokens, 0 * above + 1]
    plain = count_up_to(pair.token_sums, state + pair.p.shape[0], u)
    here = below > 0
    drawn = where_few(here, lambda row, u, *law: draw(pair.residuals, row, Mass(*law), u), state, u, *law)
    return xp.where(here, drawn, plain)
