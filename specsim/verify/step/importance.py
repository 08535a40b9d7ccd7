"""Truncated importance selection: of the drafts one is chosen, with care among s live tokens, then verified alone.

Law.         Of the tokens that can be drafted the s of largest p - q^K are live. A live draft beats
             all others, and of those the one of larger p - q^K wins. Live drafts compete as in
             `optimal`: each takes the place, in the order of p/q, of its token or of a partner, and
             the last place wins. The partners bring w, the law of the winner, as near to p on the
             live tokens as can be. The winner is kept with probability min(1, p/w), else replaced
             by y ~ (p - w)+.
Theorem.     T14: the output law is p for every p, q, K and s. For K = 2, sum min(p, w) is the value
             of the published linear program; for s = V it is the optimum, whatever K is.
Acceptance.  sum min(p, w) that the winner is kept, and the chance that y is a draft that lost;
             1 - TV at K = 1. With few live tokens of many it can be less than 1 - TV, which a
             warning says.
Randomness.  u[k] chooses the place of draft k; u[K] decides the winner; u[K+1] draws y.
Cost.        prepare O(V log V + s^2), verify O(V + K s^2), acceptance O(K V).
Paper.       Khisti et al., arXiv:2410.18234 (p and q swapped), s = 15. For K > 2 they play a
             tournament, the winner so far against the next draft, with other live tokens and
             another program each time; its value depends on which optimal solutions the solver
             returns. Here all K compete at once, which for K > 2 is another rule: never worse if
             s = V, on either side of theirs if s < V.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from specsim.base import check
from specsim.base.arrays import (
    accept_probability,
    accepts,
    array_namespace,
    at,
    ids,
    is_exact,
    noise,
    normalize_or,
    one_hot,
    overlap,
    pick,
    positive_part,
    residual,
    wide,
)
from specsim.base.warned import warn
from specsim.draft.iid import inside
from specsim.types import Array

DRAFTS: Literal["iid"] = "iid"
EXACT = True
THEOREM = "T14"
PAPER = "arXiv:2410.18234"

# s, the number of live tokens, as published.
LIVE = 15
# An acceptance counts as less than another if it is less by
# more than this: rounding, also in float32.
SLACK = 1e-6
# Values of p - q^K this near to each other count as equal,
# so that rounding does not decide who wins.
TIE = 2.0**-40


class Plan(NamedTuple):
    """Rows (..., V), and a matrix (..., s, s) of the live tokens, which have the last s places."""

    p: Array
    q: Array
    winners: Array  # w, the law of the winner
    left_over: Array  # law of the token that replaces a refused winner
    place: Array  # of each token; the draft at the last place wins
    labels: Array  # for the live token at each place: law of the place that it takes as a draft
    num_drafts: int


def prepare(p: Array, q: Array, num_drafts: int, live: int = LIVE) -> Plan:
    """Plan with the place of each token, the law of winners, and where live drafts move."""
    xp = array_namespace(p, q)
    p, q = xp.broadcast_arrays(wide(p), wide(q))
    vocab = p.shape[-1]
    dead = vocab - min(check.integer(live, "live", 1), vocab)
    # Order by p - q^K, largest first: the first s tokens are live. What is never drafted never is.
    value = xp.where(q > 0, inside(q, num_drafts) - p, 2)
    order = _ranked(value, max(TIE, noise(p)))
    alive = xp.sort(order[..., : vocab - dead], axis=-1)
    # Order the live tokens by p/q, which p/(p + q) increases with, after the dead ones.
    ratio = xp.where(q > 0, p / xp.where(q > 0, p + q, 1), 1)
    by_ratio = _ranked(xp.take_along_axis(ratio, alive, axis=-1), noise(p))
    alive = xp.take_along_axis(alive, by_ratio, axis=-1)
    order = xp.concat([xp.flip(order[..., vocab - dead :], axis=-1), alive], axis=-1)
    place = xp.argsort(order, axis=-1)
    # By place: w of live tokens as near to p as can be;
    # w = q * slope of dead ones, which stay in place.
    p_part, q_part = (xp.take_along_axis(w, order, axis=-1) for w in (p, q))
    slope = _mean_slope(*_stretches(q_part), num_drafts)
    wanted = _live_winners(p_part[..., dead:], q_part, dead, num_drafts)
    labels = _exchanges(q_part[..., dead:], slope[..., dead:], wanted)
    # By token again.
    by_place = xp.concat([(q_part * slope)[..., :dead], wanted], axis=-1)
    winners = xp.take_along_axis(by_place, place, axis=-1)
    return Plan(p, q, winners, residual(p, winners), place, labels, num_drafts)


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., K)."""
    xp = array_namespace(plan.p)
    count = drafts.shape[-1]
    place, labels = _drafted(plan, drafts)
    # Distribution function of each draft's place among the live
    # ones; a dead draft is below all of them.
    is_live = place >= plan.p.shape[-1] - labels.shape[-1]
    up_to = xp.where(is_live[..., None], xp.cumulative_sum(labels, axis=-1), 1)
    # Draft k wins where earlier drafts have lower places and later ones no higher ones.
    law, replaced = 0, 0
    for k in range(count):
        live_wins, dead_wins = labels[..., k, :], ~is_live[..., k]
        for j in range(k):
            live_wins = live_wins * (up_to[..., j, :] - labels[..., j, :])
            dead_wins = dead_wins & (place[..., j] < place[..., k])
        for j in range(k + 1, count):
            live_wins = live_wins * up_to[..., j, :]
            dead_wins = dead_wins & (place[..., j] <= place[..., k])
        winning = xp.sum(live_wins, axis=-1, keepdims=True) + dead_wins[..., None]
        # The winner is accepted with probability min(1, p/w).
        accepted = winning * accept_probability(plan.p, plan.winners, drafts[..., k])[..., None]
        law = law + accepted * one_hot(drafts[..., k], plan.p)
        replaced = replaced + (winning - accepted)
    # The rest of the probability goes to y ~ (p - w)+.
    return law + replaced * plan.left_over


def acceptance(plan: Plan) -> Array:
    """Probability that the winner is accepted, or the recovered token is a losing draft (T14, 6).

    In the letters of T14: e_l is the probability that the last place is l and its token is refused,
    over g_K(l); the bracket g_K(l) - g_K(l; v), of a recovered dead token v, is expanded in powers
    of q_v.
    """
    xp = array_namespace(plan.p)
    p, w, order = plan.p, plan.winners, xp.argsort(plan.place, axis=-1)
    recovered = normalize_or(positive_part(p - w), 0 * p)
    refused = plan.q * positive_part(w - p) / xp.where(w > 0, w, 1)
    # By place; a refused live token counts at the place that its draft takes: e_l.
    q, refused, recovered = (xp.take_along_axis(row, order, axis=-1) for row in (plan.q, refused, recovered))
    dead = q.shape[-1] - plan.labels.shape[-1]
    alive = xp.sum(refused[..., dead:, None] * plan.labels, axis=-2)
    refused = xp.concat([refused[..., :dead], alive], axis=-1)
    # Probability that a token at each place lost to a refused one: -sum_j C(K, j) (-q)^j g_{K-j}.
    lost, power = 0, -1
    for j in range(1, plan.num_drafts):
        power = -power * q
        slope = _mean_slope(*_stretches(q), plan.num_drafts - j)
        wins = xp.cumulative_sum(refused * slope, axis=-1)
        lost = lost + math.comb(plan.num_drafts, j) * power * (wins[..., -1:] - wins)
    rate = overlap(p, w) + xp.sum((recovered * lost)[..., :dead], axis=-1)
    _warn(rate, plan)
    return rate


def _warn(rate: Array, plan: Plan) -> None:
    """Warn where more drafts are worse than one: live tokens with little of p win too often."""
    # The warning is for the default s alone: another s was the caller's choice.
    if is_exact(plan.p) or not check.concrete(rate) or plan.labels.shape[-1] != LIVE:
        return
    alone = overlap(plan.p, plan.q)
    is_worse = rate < alone - SLACK
    if not bool(array_namespace(alone).any(is_worse)):
        return
    # Name the first such row.
    row, single = check.first_bad(alone, is_worse)
    _, several = check.first_bad(rate, is_worse)
    live, vocab = plan.labels.shape[-1], plan.p.shape[-1]
    warn(
        f"importance with num_drafts={plan.num_drafts} and {live} of {vocab} tokens live accepts {several:.4g} "
        f"at p{row}, less than one draft alone ({single:.4g}): "
        "give fewer drafts, more live tokens, or use the rule optimal"
    )


def uniforms(num_drafts: int) -> int:
    """One place per draft, one test, one residual draw."""
    return num_drafts + 2


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., K) and u (..., K+2)."""
    xp, count = array_namespace(drafts), drafts.shape[-1]
    place, labels = _drafted(plan, drafts)
    dead = plan.p.shape[-1] - labels.shape[-1]
    # The draft at the last place wins; live drafts may have moved.
    taken = xp.where(place < dead, place, dead + pick(labels, u[..., :count]))
    token = at(drafts, xp.argmax(taken, axis=-1))
    # Accept it with probability min(1, p/w), else draw y.
    accepted = accepts(plan.p, plan.winners, token, u[..., count])
    return xp.where(accepted, token, pick(plan.left_over, u[..., count + 1]))


def _drafted(plan: Plan, drafts: Array) -> tuple[Array, Array]:
    """Return the place of each draft's token (..., K), and the law (..., K, s) of the place it takes; 0 if dead."""
    xp = array_namespace(plan.p)
    place = at(plan.place[..., None, :], drafts)
    live_place = place - (plan.p.shape[-1] - plan.labels.shape[-1])
    is_row = live_place[..., None] == ids(plan.labels)
    return place, xp.sum(xp.where(is_row[..., None], plan.labels[..., None, :, :], 0), axis=-2)


def _ranked(key: Array, tie: float) -> Array:
    """Tokens by increasing key; neighbours no further apart than `tie` go by id, as equal numbers do."""
    xp = array_namespace(key)
    order = xp.argsort(key, axis=-1, stable=True)
    row = xp.take_along_axis(key, order, axis=-1)
    # Number the groups of neighbours, then sort by group; the
    # sort is stable, so ids decide within one.
    rises = xp.astype(row[..., 1:] - row[..., :-1] > tie, order.dtype)
    group = xp.cumulative_sum(rises, axis=-1, include_initial=True)
    group = xp.take_along_axis(group, xp.argsort(order, axis=-1), axis=-1)
    return xp.argsort(group, axis=-1, stable=True)


def _stretches(q: Array) -> tuple[Array, Array]:
    """Masses of q before and up to each place, both (..., V)."""
    up_to = array_namespace(q).cumulative_sum(q, axis=-1)
    return up_to - q, up_to


def _mean_slope(a: Array, b: Array, n: int) -> Array:
    """(b^n - a^n) / (b - a), computed as the sum of a^i b^(n-1-i), in which nothing cancels."""
    result, power = 1 + 0 * b, 1
    for _ in range(n - 1):
        power = power * b
        result = result * a + power
    return result


def _live_winners(p: Array, q: Array, dead: int, num_drafts: int) -> Array:
    """w on the live tokens (..., s): p, filled up to c q and cut down to d q (T14, 1).

    w = max(c q, min(p, d q)) sums to W, the probability that a live draft wins. `loss` is what w
    must have above p: whatever the partners are, the first k live tokens win at least G_k, the
    probability that a live draft wins and no draft lies after them.
    """
    xp = array_namespace(p)
    below, q = xp.sum(q[..., :dead], axis=-1, keepdims=True), q[..., dead:]
    p_mass, q_mass = (xp.cumulative_sum(w, axis=-1) for w in (p, q))
    after = xp.flip(xp.cumulative_sum(xp.flip(q, axis=-1), axis=-1), axis=-1)
    # G_k = Q_k^K - Q_m^K; the last of them is W.
    least = q_mass * _mean_slope(below, below + q_mass, num_drafts)
    # loss = max_k (G_k - P_k); a difference within rounding counts as 0.
    excess = least - p_mass
    loss = xp.max(xp.where(excess > num_drafts * noise(p) * p_mass, excess, 0), axis=-1, keepdims=True)
    # e = W/q(L), the level if all of W is shared out in proportion to q.
    has_draft = after[..., :1] > 0
    even = xp.where(has_draft, least[..., -1:] / xp.where(has_draft, after[..., :1], 1), 0)
    # c = min(e, min_k (loss + P_k) / (Q_k - Q_m)) fills the first tokens by the loss.
    is_safe = q_mass > noise(p)
    fill = xp.where(is_safe, (p_mass + loss) / xp.where(is_safe, q_mass, 1), even)
    fill = xp.minimum(xp.min(fill, axis=-1, keepdims=True), even)
    # d = max(e, max_k (W - loss - P_k) / (1 - Q_k)) cuts the last ones, so that W is left.
    is_safe = after > noise(p)
    rest = least[..., -1:] - loss - (p_mass - p)
    cut = xp.where(is_safe, rest / xp.where(is_safe, after, 1), even)
    cut = xp.maximum(xp.max(cut, axis=-1, keepdims=True), even)
    return xp.maximum(fill * q, xp.minimum(p, cut * q))


def _exchanges(q: Array, slope: Array, wanted: Array) -> Array:
    """Return the law (..., s, s) of the place that a draft of each live token takes.

    q, slope, wanted (..., s) are by place: q slope is the probability of winning if no draft moves,
    `wanted` the law that winners get by the moves. A token gains if it would win less than wanted.
    The gains of all tokens laid end to end are as long as their losses: a token's span on one line
    faces its partners on the other.
    """
    xp = array_namespace(q)
    gains, losses = positive_part(wanted - q * slope), positive_part(q * slope - wanted)
    # Length (..., s, s) that the spans of two tokens share, of which one gains and the other loses.
    (gain_start, gain_end), (loss_start, loss_end) = _stretches(gains), _stretches(losses)
    shared_end = xp.minimum(gain_end[..., :, None], loss_end[..., None, :])
    shared_start = xp.maximum(gain_start[..., :, None], loss_start[..., None, :])
    shared = positive_part(shared_end - shared_start)
    shared = shared + xp.matrix_transpose(shared)
    # A draft moves to a partner with probability shared / max(size, q |slope difference|).
    size = (gains + losses)[..., None]
    slope_difference = abs(slope[..., None, :] - slope[..., None])
    gap = xp.maximum(q[..., None] * slope_difference, size)
    moved = xp.where(gap > 0, shared / xp.where(gap > 0, gap, 1), 0)
    # Else it stays at its own place, on the diagonal.
    stays = positive_part(1 - xp.sum(moved, axis=-1, keepdims=True))
    place = ids(q)
    is_same_place = place[:, None] == place
    return xp.where(is_same_place, moved + stays, moved)
