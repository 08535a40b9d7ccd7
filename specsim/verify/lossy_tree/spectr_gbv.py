"""SpecTr-GBV as it was released: K independent paths, tested one after the other for a longer prefix than is kept.

Law.         P and Q are the joint laws of a text, c(x) = P (1 - (1 - min(1, Q/P))^K) what the paper wants kept at or
             below x, d(x) = 1 - (1 - Q)^K the chance that x is drafted. Path after path, every prefix longer than what
             is kept, and on no earlier path unless it is a whole one, passes by itself with probability
             (c(x) - sum_v c(xv))/(d(x) - sum_v c(xv)), the sums being 0 at the end of a path. The longest that passes
             is kept; a whole path ends the search. The next token has law P(xv) (1 - min(1, Q(xv)/P(xv))^K),
             normalised; p after a whole path.
Theorem.     T41: one path is `naive_hierarchical`. More are lossy, already of one token each: of different texts that
             pass only the first is kept, and a whole path drafted twice is tested twice. A residual
             P (1 - min(1, Q/P))^K, which would fit c, does not mend it.
Acceptance.  sum_x c(x), which the paper claims and calls optimal, for one path; on either side of it for more (T41).
Randomness.  u[i] decides node i; u[n] draws the token.
Cost.        O(K L V + K^2 L).
Paper.       Lin, Sheng, Cai, Zhou, arXiv:2604.25925: what the engine beside it does. The paper also changes the target
             for the tokens that follow; the engine does not.
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
    tests: Array  # (..., K, L): that the prefix passes; 0 where an earlier path has had it
    nodes: Array  # (..., K, L): the row of the first node with the same text
    rows: Array  # (..., n+1, V): what the next token is drawn from, in proportion
    instead: Array  # (..., n+1, V): the row where nothing is left


class _Text(NamedTuple):
    """Of the prefixes of every path, columns (..., K, L+1): P and Q over the larger of them, and Q itself."""

    target: Array
    draft: Array
    drawn: Array


def prepare(p: Array, q: Array, tree: TokenTree) -> Plan:
    """Tests and residuals at every prefix of every path."""
    xp, (count, length) = array_namespace(p, q), whole(tree, "spectr_gbv")
    tokens = xp.reshape(tree.tokens, (*tree.tokens.shape[:-1], count, length))
    places = np.where(np.arange(length + 1) > 0, np.arange(count)[:, None] * length + np.arange(length + 1), 0)
    along = xp.asarray(places.reshape(-1), device=device(p))
    target, draft = (
        wide(xp.reshape(xp.take(w, along, axis=-2), (*w.shape[:-2], count, length + 1, w.shape[-1]))) for w in (p, q)
    )
    text, draws = _text(target[..., :length, :], draft[..., :length, :], tokens), Draws(count, 0, count)
    above, below = text.target[..., None] * target, text.draft[..., None] * draft
    nodes, new = _first(tokens, length)
    tests = xp.where(new, _tests(text, mass(_covered(above, below, draws)), draws)[..., 1:], 0)
    ratio = _ratio(above, below)
    left = excess(above, below) * mean_slope(ratio, 1 + 0 * ratio, draws)  # P (1 - r)(1 + r + ... + r^(K-1))
    left = xp.concat([left[..., :length, :], target[..., length:, :]], axis=-2)
    rows = xp.concat([left[..., 0, :1, :], xp.reshape(left[..., 1:, :], (*p.shape[:-2], -1, p.shape[-1]))], axis=-2)
    return Plan(tests, nodes, rows, p)


def transition(plan: Plan) -> Array:
    """Joint law (..., n+1, V) of (kept node, next token)."""
    xp, (count, length) = array_namespace(plan.rows), plan.tests.shape[-2:]
    node = ids(plan.rows[..., 0])
    depth = xp.where(node > 0, (node - 1) % max(length, 1) + 1, 0)
    chance = xp.where(node == 0, xp.ones_like(plan.rows[..., 0]), 0)
    for j in range(count):
        fails, gains = [1 + 0 * chance[..., :1]], []  # fails: all tests from the l-th on, the last l first
        for i in reversed(range(length)):
            passes = plan.tests[..., j, i : i + 1]
            reached = xp.sum(xp.where(depth <= i, chance, 0), axis=-1, keepdims=True)
            gains.append((plan.nodes[..., j, i : i + 1], passes * fails[-1] * reached))
            fails.append(fails[-1] * (1 - passes))
        for level, fail in enumerate(reversed(fails)):
            chance = xp.where(depth == level, chance * fail, chance)
        for place, gain in gains:
            chance = xp.where(node == place, chance + gain, chance)
    return chance[..., None] * normalize_or(plan.rows, plan.instead)


def uniforms(tree: TokenTree) -> int:
    """One test per node, one draw."""
    return len(tree.depth) + 1


def verify(plan: Plan, u: Array) -> tuple[Array, Array]:
    """(kept node (...), next token (...)) from u (..., n+1)."""
    xp, (count, length) = array_namespace(plan.rows), plan.tests.shape[-2:]
    kept = node = xp.zeros(plan.rows.shape[:-2], dtype=plan.nodes.dtype, device=device(plan.rows))
    for j in range(count):
        longer = kept
        for i in range(length):
            passed = (kept <= i) & (u[..., j * length + i] < plan.tests[..., j, i])
            longer = xp.where(passed, i + 1, longer)
            node = xp.where(passed, plan.nodes[..., j, i], node)
        kept = longer
    return node, pick(normalize_or(row_at(plan.rows, node), row_at(plan.instead, node)), u[..., -1])


def _text(p: Array, q: Array, tokens: Array) -> _Text:
    """Joint laws along paths, from rows (..., K, L, V) before each of the tokens."""
    xp = array_namespace(p, q)
    above = below = drawn = 1 + 0 * p[..., :1, 0] if p.shape[-2] else wide(xp.ones((*p.shape[:-2], 1)))
    found = [(above, below, drawn)]
    for i in range(p.shape[-2]):
        p_drawn, q_drawn = (at(w[..., i, :], tokens[..., i])[..., None] for w in (p, q))
        above, below, drawn = above * p_drawn, below * q_drawn, drawn * q_drawn
        larger = xp.where(above > below, above, below)
        larger = xp.where(larger > 0, larger, 1)
        above, below = above / larger, below / larger
        found.append((above, below, drawn))
    return _Text(*(xp.concat(list(side), axis=-1) for side in zip(*found, strict=True)))


def _tests(text: _Text, children: Array, draws: Draws) -> Array:
    """That a prefix passes (..., K, L+1), from what is to be kept below it; 0 at 0/0, which never is reached."""
    xp = array_namespace(children)
    inner = xp.concat([children[..., :-1], 0 * children[..., -1:]], axis=-1)
    stop = _covered(text.target, text.draft, draws) - inner
    there = text.draft * mean_slope(1 - text.drawn, 1 + 0 * text.drawn, draws) - inner
    less = stop < there
    return xp.where(stop > 0, xp.where(less, stop / xp.where(less, there, 1), 1), 0)


def _covered(above: Array, below: Array, draws: Draws) -> Array:
    """c: P (1 - (1 - r)^K) = min(P, Q) (1 - (1 - r)^K)/r, r = min(1, Q/P)."""
    xp, ratio = array_namespace(above), _ratio(above, below)
    return xp.where(above < below, above, below) * mean_slope(1 - ratio, 1 + 0 * ratio, draws)


def _ratio(above: Array, below: Array) -> Array:
    """min(1, Q/P)."""
    xp, less = array_namespace(above), below < above
    return xp.where(less, below / xp.where(less, above, 1), 1 + 0 * above)


def _first(tokens: Array, length: int) -> tuple[Array, Array]:
    """Of every prefix the row of the first node with its text, and whether it is tested: whole paths always are."""
    xp, count = array_namespace(tokens), tokens.shape[-2]
    owner, new = [], []
    alike = xp.ones((*tokens.shape[:-1], count), dtype=xp.bool, device=device(tokens))
    for i in range(length):
        alike = alike & (tokens[..., :, None, i] == tokens[..., None, :, i])
        first = xp.argmax(xp.astype(alike, xp.int64), axis=-1)
        owner.append(first * length + i + 1)
        new.append((first == ids(first)) | (i + 1 == length))
    if not length:
        return xp.zeros_like(tokens), tokens < 0
    return xp.stack(owner, axis=-1), xp.stack(new, axis=-1)
