"""Greedy multi-path block verification: of K independent paths the highest is kept, and verified as a block alone.

Law.         At every node tokens are ranked by p/q (by id, where equal), paths by their first
             token, then their second, and so on. The highest path goes through block verification,
             with the law of a highest path in place of q: with A the probability that a path is
             lower than every path through x^i, and B = A + Q(x^i), q~(v |
             x^i) = (B_v^K - A_v^K) / (B^K - A^K), A_v and B_v being those of x^i v.
Theorem.     T22: q~ is that law, so run one tree and continue from the target: the joint law is the
             target's.
Acceptance.  That of block verification with q~ for q. One path is block verification.
Randomness.  u[i] decides token i of the path; u[L] draws the token after those that are kept; the
             others are not read.
Cost.        O(L V log V).
Paper.       Thomas and Pal, arXiv:2602.16961.
"""

from __future__ import annotations

from typing import NamedTuple

from array_api_compat import device

from specsim.base.arrays import array_namespace, at, prefix_scan, row_at, wide
from specsim.draft.distinct import mean_slope
from specsim.types import Array, Draws, TokenTree
from specsim.verify.chain import block
from specsim.verify.tree._paths import whole

CHILDREN = ("paths",)
EXACT = True
THEOREM = "T22"
PROVED = {"lossless": "multipath_lossless"}
PAPER = "arXiv:2602.16961"


class Plan(NamedTuple):
    """The highest path, and the plan by which it is verified as a block."""

    nodes: Array  # (..., L+1): the row numbers of p along it
    drafts: Array  # (..., L): its tokens
    block: block.Plan
    rows: Array  # (n+1,): the numbers of all rows of p


def prepare(p: Array, q: Array, tree: TokenTree) -> Plan:
    """The highest path, and block verification's plan with the law of highest paths for q."""
    xp, (count, length) = array_namespace(p, q), whole(tree, "multipath_block")
    tokens = xp.reshape(tree.tokens, (*tree.tokens.shape[:-1], count, length))
    rows, laws = [], []
    # Walk along the highest path: `is_among` marks the paths that begin with x^i, `place` is the
    # first of them, and `share` is Q(x^i)/B.
    is_among = xp.ones(tokens.shape[:-1], dtype=xp.bool, device=device(p))
    place = xp.zeros(tokens.shape[:-2], dtype=xp.int64, device=device(p))
    share = 1 + 0 * wide(p[..., 0, :1])
    for i in range(length):
        # The law of the highest path's next token.
        number = place * length + i if i else place
        rows.append(row_at(p, number))
        draft = wide(row_at(q, number))
        rank, upto = _ranked(rows[-1], draft)
        law, below = _of_highest(draft, upto, share, count)
        laws.append(law)
        # The highest next token among these paths.
        ranks = xp.where(is_among, at(rank[..., None, :], tokens[..., i]), -1)
        is_among = ranks == xp.max(ranks, axis=-1, keepdims=True)
        place = xp.argmax(xp.astype(is_among, xp.int64), axis=-1)
        token = at(tokens[..., i], place)
        token_mass, mass_below = at(draft, token), at(below, token)
        share = share * token_mass[..., None] / mass_below[..., None]
    # Row numbers along the highest path; path k has rows k L + 1, ..., k L + L.
    steps = xp.arange(length + 1, device=device(p))
    nodes = xp.where(steps > 0, place[..., None] * length + steps, 0)
    rows.append(row_at(p, nodes[..., -1]))
    laws = xp.stack(laws, axis=-2) if laws else q[..., :0, :]
    every = xp.arange(p.shape[-2], device=device(p))
    return Plan(nodes, row_at(tokens, place), block.prepare(xp.stack(rows, axis=-2), laws), every)


def transition(plan: Plan) -> Array:
    """Joint law (..., n+1, V) of (last accepted node, next token)."""
    xp, law = array_namespace(plan.block.p), block.transition(plan.block, plan.drafts)
    joint = 0
    for i in range(plan.nodes.shape[-1]):
        joint = joint + xp.where((plan.rows == plan.nodes[..., i : i + 1])[..., None], law[..., i : i + 1, :], 0)
    return joint


def uniforms(tree: TokenTree) -> int:
    """One test per token of a path, one draw."""
    _, length = whole(tree, "multipath_block")
    return length + 1


def verify(plan: Plan, u: Array) -> tuple[Array, Array]:
    """(Last accepted node, next token), each (...), from u (..., L+1)."""
    num_accepted, token = block.verify(plan.block, plan.drafts, u)
    return at(plan.nodes, num_accepted), token


def _ranked(p: Array, q: Array) -> tuple[Array, Array]:
    """Rank of every token (..., V) by p/q, and the draft mass of the tokens up to it."""
    xp, (order, _, q_mass) = array_namespace(p), prefix_scan(p, q)
    rank = xp.argsort(order, axis=-1, stable=True)
    return rank, xp.take_along_axis(q_mass, rank, axis=-1)


def _of_highest(q: Array, upto: Array, share: Array, count: int) -> tuple[Array, Array]:
    """q~ and B_v/B, both (..., V), where share = Q(x^i)/B.

    Mean slopes stand for differences of powers, so that nothing cancels or underflows.
    """
    draws, below = Draws(count, 0, count), 1 - share + share * upto
    slope = mean_slope(below - share * q, below, draws)
    return q * slope / mean_slope(1 - share, 1 + 0 * share, draws), below
