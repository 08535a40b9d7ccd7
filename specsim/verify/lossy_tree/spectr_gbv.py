"""SpecTr-GBV as it was released: K independent paths, tested one after the other for a longer prefix than is kept.

Law.         P and Q are the joint laws of a text, c(x) = P (1 - (1 - min(1, Q/P))^K) what the paper
             wants kept at or below x, d(x) = 1 - (1 - Q)^K the chance that x is drafted. Path after
             path, every prefix longer than what is kept, and on no earlier path unless it is a
             whole one, passes by itself with probability (c(x) - sum_v c(xv))/(d(x) - sum_v c(xv)),
             the sums being 0 at the end of a path. The longest that passes is kept; a whole path
             ends the search. The next token has law P(xv) (1 - min(1, Q(xv)/P(xv))^K), normalised;
             p after a whole path.
Theorem.     T41: one path is `naive_hierarchical`. More are lossy, already of one token each: of
             different texts that pass only the first is kept, and a whole path drafted twice is
             tested twice. A residual
             P (1 - min(1, Q/P))^K, which would fit c, does not mend it.
Acceptance.  sum_x c(x), which the paper claims and calls optimal, for one path; on either side of
             it for more (T41).
Randomness.  u[i] decides node i; u[n] draws the token.
Cost.        O(K L V + K^2 L).
Paper.       Lin, Sheng, Cai, Zhou, arXiv:2604.25925: what the engine beside it does. The paper also
             changes the target for the tokens that follow; the engine does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from array_api_compat import device

from specsim.base.arrays import array_namespace, at, excess, ids, mass, normalize_or, pick, row_at, wide
from specsim.draft.distinct import mean_slope
from specsim.types import Array, Draws, TokenTree
from specsim.verify.tree._paths import whole

CHILDREN = ("paths",)
EXACT = True
THEOREM = "T41"
PAPER = "arXiv:2604.25925"


class Plan(NamedTuple):
    tests: Array  # (..., K, L): probability that a prefix passes; 0 if an earlier path has it
    nodes: Array  # (..., K, L): the row of the first node with the same text
    rows: Array  # (..., n+1, V): law of the next token, unnormalised
    instead: Array  # (..., n+1, V): the row where nothing is left


class _Text(NamedTuple):
    """Joint laws of the prefixes of every path, columns (..., K, L+1)."""

    target: Array  # P over the larger of P and Q
    draft: Array  # Q over the larger of P and Q
    drawn: Array  # Q itself


def prepare(p: Array, q: Array, tree: TokenTree) -> Plan:
    """Plan with tests and residuals at every prefix of every path."""
    xp, (count, length) = array_namespace(p, q), whole(tree, "spectr_gbv")
    tokens = xp.reshape(tree.tokens, (*tree.tokens.shape[:-1], count, length))
    # Rows (..., K, L+1, V) of p and q along each path, from the root on.
    steps = np.arange(length + 1)
    places = np.where(steps > 0, np.arange(count)[:, None] * length + steps, 0)
    along = xp.asarray(places.reshape(-1), device=device(p))
    target, draft = (
        wide(xp.reshape(xp.take(w, along, axis=-2), (*w.shape[:-2], count, length + 1, w.shape[-1]))) for w in (p, q)
    )
    # P and Q of every prefix and of its continuations by one token.
    text = _text(target[..., :length, :], draft[..., :length, :], tokens)
    draws = Draws(count, 0, count)
    above, below = text.target[..., None] * target, text.draft[..., None] * draft
    # The test of each prefix, where it is the first with its text or a whole path.
    nodes, is_tested = _first(tokens, length)
    covered = mass(_covered(above, below, draws))
    tests = xp.where(is_tested, _tests(text, covered, draws)[..., 1:], 0)
    # The residual, with r = min(1, Q/P): P (1 - r^K) = P (1 - r)(1 + r + ... + r^(K-1)).
    # After a whole path it is p.
    ratio = _ratio(above, below)
    left = excess(above, below) * mean_slope(ratio, 1 + 0 * ratio, draws)
    left = xp.concat([left[..., :length, :], target[..., length:, :]], axis=-2)
    # One row for the root, which all paths share, then those of the nodes.
    after_root = xp.reshape(left[..., 1:, :], (*p.shape[:-2], -1, p.shape[-1]))
    rows = xp.concat([left[..., 0, :1, :], after_root], axis=-2)
    return Plan(tests, nodes, rows, p)


def transition(plan: Plan) -> Array:
    """Joint law (..., n+1, V) of (last accepted node, next token)."""
    xp, (count, length) = array_namespace(plan.rows), plan.tests.shape[-2:]
    node = ids(plan.rows[..., 0])
    depth = xp.where(node > 0, (node - 1) % max(length, 1) + 1, 0)
    chance = xp.where(node == 0, xp.ones_like(plan.rows[..., 0]), 0)
    # `chance` is the probability that each node is where the search stands, path after path.
    for j in range(count):
        # fails[k]: probability that the last k tests of the path fail. A prefix gains if it passes,
        # all longer ones fail, and what is kept before is shorter.
        fails, gains = [1 + 0 * chance[..., :1]], []
        for i in reversed(range(length)):
            passes = plan.tests[..., j, i : i + 1]
            reached = xp.sum(xp.where(depth <= i, chance, 0), axis=-1, keepdims=True)
            gains.append((plan.nodes[..., j, i : i + 1], passes * fails[-1] * reached))
            fails.append(fails[-1] * (1 - passes))
        # What is kept stays if all tests of longer prefixes fail.
        for level, fail in enumerate(reversed(fails)):
            chance = xp.where(depth == level, chance * fail, chance)
        for place, gain in gains:
            chance = xp.where(node == place, chance + gain, chance)
    return chance[..., None] * normalize_or(plan.rows, plan.instead)


def uniforms(tree: TokenTree) -> int:
    """One test per node, one draw."""
    return len(tree.depth) + 1


def verify(plan: Plan, u: Array) -> tuple[Array, Array]:
    """(Last accepted node (...), next token (...)) from u (..., n+1)."""
    xp, (count, length) = array_namespace(plan.rows), plan.tests.shape[-2:]
    depth = node = xp.zeros(plan.rows.shape[:-2], dtype=plan.nodes.dtype, device=device(plan.rows))
    for j in range(count):
        longest = depth
        for i in range(length):
            passed = (depth <= i) & (u[..., j * length + i] < plan.tests[..., j, i])
            longest = xp.where(passed, i + 1, longest)
            node = xp.where(passed, plan.nodes[..., j, i], node)
        depth = longest
    return node, pick(normalize_or(row_at(plan.rows, node), row_at(plan.instead, node)), u[..., -1])


def _text(p: Array, q: Array, tokens: Array) -> _Text:
    """Joint laws along paths, from rows (..., K, L, V) before each of the tokens."""
    xp = array_namespace(p, q)
    above = below = drawn = 1 + 0 * p[..., :1, 0] if p.shape[-2] else wide(xp.ones((*p.shape[:-2], 1)))
    columns = [(above, below, drawn)]
    for i in range(p.shape[-2]):
        p_drawn, q_drawn = (at(w[..., i, :], tokens[..., i])[..., None] for w in (p, q))
        above, below, drawn = above * p_drawn, below * q_drawn, drawn * q_drawn
        # Divide both by the larger, so that they do not underflow together.
        larger = xp.where(above > below, above, below)
        larger = xp.where(larger > 0, larger, 1)
        above, below = above / larger, below / larger
        columns.append((above, below, drawn))
    return _Text(*(xp.concat(list(side), axis=-1) for side in zip(*columns, strict=True)))


def _tests(text: _Text, children: Array, draws: Draws) -> Array:
    """Probability (..., K, L+1) that a prefix passes, from sum_v c(xv), called `children`.

    (c(x) - sum_v c(xv)) / (d(x) - sum_v c(xv)), the sums being 0 at the end of a path; 0 at 0/0,
    which is never reached.
    """
    xp = array_namespace(children)
    inner = xp.concat([children[..., :-1], 0 * children[..., -1:]], axis=-1)
    above = _covered(text.target, text.draft, draws) - inner
    below = text.draft * mean_slope(1 - text.drawn, 1 + 0 * text.drawn, draws) - inner
    is_less = above < below
    ratio = xp.where(is_less, above / xp.where(is_less, below, 1), 1)
    return xp.where(above > 0, ratio, 0)


def _covered(above: Array, below: Array, draws: Draws) -> Array:
    """c = P (1 - (1 - r)^K) = min(P, Q) (1 - (1 - r)^K)/r, with r = min(1, Q/P)."""
    xp, ratio = array_namespace(above), _ratio(above, below)
    smaller = xp.where(above < below, above, below)
    return smaller * mean_slope(1 - ratio, 1 + 0 * ratio, draws)


def _ratio(above: Array, below: Array) -> Array:
    """r = min(1, Q/P), where P is `above` and Q is `below`."""
    xp, is_less = array_namespace(above), below < above
    return xp.where(is_less, below / xp.where(is_less, above, 1), 1 + 0 * above)


def _first(tokens: Array, length: int) -> tuple[Array, Array]:
    """Row of the first node with each prefix's text, and if the prefix is tested, both (..., K, L).

    A prefix is tested on the first path that has it; a whole path is tested always.
    """
    xp, count = array_namespace(tokens), tokens.shape[-2]
    owner, is_tested = [], []
    # Paths (..., K, K) that agree so far.
    alike = xp.ones((*tokens.shape[:-1], count), dtype=xp.bool, device=device(tokens))
    for i in range(length):
        alike = alike & (tokens[..., :, None, i] == tokens[..., None, :, i])
        first = xp.argmax(xp.astype(alike, xp.int64), axis=-1)
        owner.append(first * length + i + 1)
        is_tested.append((first == ids(first)) | (i + 1 == length))
    if not length:
        return xp.zeros_like(tokens), tokens < 0
    return xp.stack(owner, axis=-1), xp.stack(is_tested, axis=-1)
