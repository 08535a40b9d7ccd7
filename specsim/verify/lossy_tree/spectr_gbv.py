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


class _PrefixLaws(NamedTuple):
    """Joint laws of the prefixes of every path (..., K, L+1), the empty prefix first."""

    target: Array  # P over the larger of P and Q
    draft: Array  # Q over the larger of P and Q
    drawn: Array  # Q itself


def prepare(p: Array, q: Array, tree: TokenTree) -> Plan:
    """Plan with tests and residuals at every prefix of every path."""
    xp, (count, length) = array_namespace(p, q), whole(tree, "spectr_gbv")
    tokens = xp.reshape(tree.tokens, (*tree.tokens.shape[:-1], count, length))
    # Rows (..., K, L+1, V) of p and q along each path, from the root on.
    steps = np.arange(length + 1)
    # Row numbers: path k has rows k L + 1, ..., k L + L, after the root's.
    before = length * np.arange(count).reshape(-1, 1)
    places = np.where(steps > 0, before + steps, 0)
    along = xp.asarray(places.reshape(-1), device=device(p))
    target, draft = (
        wide(xp.reshape(xp.take(w, along, axis=-2), (*w.shape[:-2], count, length + 1, w.shape[-1]))) for w in (p, q)
    )
    # P and Q of every prefix and of its continuations by one token.
    prefix = _prefix_laws(target[..., :length, :], draft[..., :length, :], tokens)
    draws = Draws(count, 0, count)
    joint_p, joint_q = prefix.target[..., None] * target, prefix.draft[..., None] * draft
    # The test of each prefix, where it is the first with its text or a whole path.
    nodes, is_tested = _first(tokens, length)
    covered = mass(_covered(joint_p, joint_q, draws))
    tests = xp.where(is_tested, _tests(prefix, covered, draws)[..., 1:], 0)
    # The residual, with r = min(1, Q/P): P (1 - r^K) = P (1 - r)(1 + r + ... + r^(K-1)).
    # After a whole path it is p.
    ratio = _ratio(joint_p, joint_q)
    left_over = excess(joint_p, joint_q) * mean_slope(ratio, 1 + 0 * ratio, draws)
    left_over = xp.concat([left_over[..., :length, :], target[..., length:, :]], axis=-2)
    # One row for the root, which all paths share, then those of the nodes.
    after_root = xp.reshape(left_over[..., 1:, :], (*p.shape[:-2], -1, p.shape[-1]))
    rows = xp.concat([left_over[..., 0, :1, :], after_root], axis=-2)
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


def _prefix_laws(p: Array, q: Array, tokens: Array) -> _PrefixLaws:
    """Joint laws P and Q of the prefixes of paths (..., K, L) of tokens.

    p and q (..., K, L, V) are the rows that the tokens follow.
    """
    # The empty prefix has P = Q = 1.
    xp = array_namespace(p, q)
    unit = 1 + 0 * p[..., :1, 0] if p.shape[-2] else wide(xp.ones((*p.shape[:-2], 1)))
    target = draft = drawn = unit
    columns = [(target, draft, drawn)]
    # Each token multiplies them by its probabilities.
    for i in range(p.shape[-2]):
        p_token, q_token = (at(w[..., i, :], tokens[..., i]) for w in (p, q))
        target = target * p_token[..., None]
        draft, drawn = draft * q_token[..., None], drawn * q_token[..., None]
        # Divide P and Q by the larger, so that they do not underflow together.
        larger = xp.where(target > draft, target, draft)
        larger = xp.where(larger > 0, larger, 1)
        target, draft = target / larger, draft / larger
        columns.append((target, draft, drawn))
    return _PrefixLaws(*(xp.concat(list(column), axis=-1) for column in zip(*columns, strict=True)))


def _tests(prefix: _PrefixLaws, children: Array, draws: Draws) -> Array:
    """Probability (..., K, L+1) that a prefix passes, from sum_v c(xv), called `children`.

    (c(x) - sum_v c(xv)) / (d(x) - sum_v c(xv)), the sums being 0 at the end of a path; 0 at 0/0,
    which is never reached.
    """
    xp = array_namespace(children)
    inner = xp.concat([children[..., :-1], 0 * children[..., -1:]], axis=-1)
    numerator = _covered(prefix.target, prefix.draft, draws) - inner
    # d(x) = 1 - (1 - Q)^K = Q (1 - (1 - Q)^K)/Q, scaled as c(x) is.
    drafted = prefix.draft * mean_slope(1 - prefix.drawn, 1 + 0 * prefix.drawn, draws)
    denominator = drafted - inner
    is_less = numerator < denominator
    ratio = xp.where(is_less, numerator / xp.where(is_less, denominator, 1), 1)
    return xp.where(numerator > 0, ratio, 0)


def _covered(joint_p: Array, joint_q: Array, draws: Draws) -> Array:
    """c = P (1 - (1 - r)^K) = min(P, Q) (1 - (1 - r)^K)/r, with r = min(1, Q/P)."""
    xp, ratio = array_namespace(joint_p), _ratio(joint_p, joint_q)
    smaller = xp.where(joint_p < joint_q, joint_p, joint_q)
    return smaller * mean_slope(1 - ratio, 1 + 0 * ratio, draws)


def _ratio(joint_p: Array, joint_q: Array) -> Array:
    """r = min(1, Q/P)."""
    xp, is_less = array_namespace(joint_p), joint_q < joint_p
    return xp.where(is_less, joint_q / xp.where(is_less, joint_p, 1), 1 + 0 * joint_p)


def _first(tokens: Array, length: int) -> tuple[Array, Array]:
    """Return (row of the first node with the same text, whether it is tested) of each prefix.

    Both have shape (..., K, L). A prefix is tested on the first path that has it; a whole path is
    tested always.
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
