"""Truncated importance selection: of the drafts one is chosen, with care among s live tokens, then verified alone.

Law.         Of the tokens that can be drafted the s of largest p - q^K are live. A live draft beats all others, and
             of those the one of larger p - q^K wins. Live drafts compete as in `optimal`: each takes the place, in the
             order of p/q, of its token or of a partner, and the last place wins. The partners bring w, the law of the
             winner, as near to p on the live tokens as can be. The winner is kept with probability min(1, p/w), else
             replaced by y ~ (p - w)+.
Theorem.     T14: the output law is p for every p, q, K and s. For K = 2, sum min(p, w) is the value of the published
             linear program; for s = V it is the optimum, whatever K is.
Acceptance.  sum min(p, w) that the winner is kept, and the chance that y is a draft that lost; 1 - TV at K = 1. With
             few live tokens of many it can be less than 1 - TV, which a warning says.
Randomness.  u[k] chooses the place of draft k; u[K] decides the winner; u[K+1] draws y.
Cost.        prepare O(V log V + s^2), verify O(V + K s^2), acceptance O(K V).
Paper.       Khisti et al., arXiv:2410.18234 (p and q swapped), s = 15. For K > 2 they play a tournament, the winner so
             far against the next draft, with other live tokens and another program each time; its value depends on
             which optimal solutions the solver returns. Here all K compete at once, which for K > 2 is another rule:
             never worse if s = V, on either side of theirs if s < V.
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

LIVE = 15  # s, as published
SLACK = 1e-6  # rounding, also in float32: an acceptance is below another if by more
TIE = 2.0**-40  # values of p - q^K this near are equal, so that rounding does not choose who wins


class Plan(NamedTuple):
    """Rows (..., V); of the live tokens, which have the last s places, a matrix (..., s, s)."""

    p: Array
    q: Array
    winners: Array  # w
    left_over: Array
    place: Array  # of each token: who wins
    labels: Array  # by place: law of the place that a live draft takes
    num_drafts: int


def prepare(p: Array, q: Array, num_drafts: int, live: int = LIVE) -> Plan:
    """The places, the law of the winner, and which live tokens must win more or less than by their own place."""
    xp = array_namespace(p, q)
    p, q = xp.broadcast_arrays(wide(p), wide(q))
    vocab = p.shape[-1]
    dead = vocab - min(check.integer(live, "live", 1), vocab)
    order = _ranked(xp.where(q > 0, inside(q, num_drafts) - p, 2), max(TIE, noise(p)))  # never drafted: never live
    alive = xp.sort(order[..., : vocab - dead], axis=-1)
    ratio = xp.where(q > 0, p / xp.where(q > 0, p + q, 1), 1)  # increases with p/q
    alive = xp.take_along_axis(alive, _ranked(xp.take_along_axis(ratio, alive, axis=-1), noise(p)), axis=-1)
    order = xp.concat([xp.flip(order[..., vocab - dead :], axis=-1), alive], axis=-1)
    place = xp.argsort(order, axis=-1)
    p_part, q_part = (xp.take_along_axis(w, order, axis=-1) for w in (p, q))
    own = _mean_slope(*_stretches(q_part), num_drafts)
    wanted = _live_winners(p_part[..., dead:], q_part, dead, num_drafts)
    labels = _exchanges(q_part[..., dead:], own[..., dead:], wanted)
    by_place = xp.concat([(q_part * own)[..., :dead], wanted], axis=-1)
    winners = xp.take_along_axis(by_place, place, axis=-1)
    return Plan(p, q, winners, residual(p, winners), place, labels, num_drafts)


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., K)."""
    xp = array_namespace(plan.p)
    count, place, labels = drafts.shape[-1], *_drafted(plan, drafts)
    is_live = place >= plan.p.shape[-1] - labels.shape[-1]
    up_to = xp.where(is_live[..., None], xp.cumulative_sum(labels, axis=-1), 1)  # others are below all live places
    law, replaced = 0, 0
    for k in range(count):
        wins, first = labels[..., k, :], ~is_live[..., k]
        for j in range(count):  # earlier drafts end up below, later ones not above
            if j != k:
                wins = wins * (up_to[..., j, :] - labels[..., j, :] if j < k else up_to[..., j, :])
                first = first & (place[..., j] < place[..., k] if j < k else place[..., j] <= place[..., k])
        chance = xp.sum(wins, axis=-1, keepdims=True) + first[..., None]
        kept = chance * accept_probability(plan.p, plan.winners, drafts[..., k])[..., None]
        law = law + kept * one_hot(drafts[..., k], plan.p)
        replaced = replaced + (chance - kept)
    return law + replaced * plan.left_over


def acceptance(plan: Plan) -> Array:
    """Probability that the winner is kept, or that the recovered token is a draft that lost (T14, 6)."""
    xp = array_namespace(plan.p)
    p, w, order = plan.p, plan.winners, xp.argsort(plan.place, axis=-1)
    recovered = normalize_or(positive_part(p - w), 0 * p)
    refused = plan.q * positive_part(w - p) / xp.where(w > 0, w, 1)
    q, refused, recovered = (xp.take_along_axis(row, order, axis=-1) for row in (plan.q, refused, recovered))
    dead = q.shape[-1] - plan.labels.shape[-1]
    alive = xp.sum(refused[..., dead:, None] * plan.labels, axis=-2)
    refused = xp.concat([refused[..., :dead], alive], axis=-1)  # by the place taken, no more by the token
    lost, power = 0, -1
    for j in range(1, plan.num_drafts):  # by powers of q at the recovered token
        power = -power * q
        wins = xp.cumulative_sum(refused * _mean_slope(*_stretches(q), plan.num_drafts - j), axis=-1)
        lost = lost + math.comb(plan.num_drafts, j) * power * (wins[..., -1:] - wins)
    rate = overlap(p, w) + xp.sum((recovered * lost)[..., :dead], axis=-1)
    _warn(rate, plan)
    return rate


def _warn(rate: Array, plan: Plan) -> None:
    """Say where more drafts are worse than one: s tokens of many cannot keep dead ones from winning too often."""
    if is_exact(plan.p) or not check.concrete(rate) or plan.labels.shape[-1] != LIVE:  # another s was asked for
        return
    alone = overlap(plan.p, plan.q)
    if not bool(array_namespace(alone).any(rate < alone - SLACK)):
        return
    row, single = check.first_bad(alone, rate < alone - SLACK)
    _, found = check.first_bad(rate, rate < alone - SLACK)
    live, vocab = plan.labels.shape[-1], plan.p.shape[-1]
    warn(
        f"importance with num_drafts={plan.num_drafts} and {live} of {vocab} tokens live accepts {found:.4g} at p{row}"
        f", less than one draft alone ({single:.4g}): give fewer drafts, more live tokens, or use the rule optimal"
    )


def uniforms(num_drafts: int) -> int:
    """One place per draft, one test, one residual draw."""
    return num_drafts + 2


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., K) and u (..., K+2)."""
    xp, count = array_namespace(drafts), drafts.shape[-1]
    place, labels = _drafted(plan, drafts)
    dead = plan.p.shape[-1] - labels.shape[-1]
    taken = xp.where(place < dead, place, dead + pick(labels, u[..., :count]))
    token = at(drafts, xp.argmax(taken, axis=-1))
    kept = accepts(plan.p, plan.winners, token, u[..., count])
    return xp.where(kept, token, pick(plan.left_over, u[..., count + 1]))


def _drafted(plan: Plan, drafts: Array) -> tuple[Array, Array]:
    """The place of each draft's token (..., K), and the law of the place it takes (..., K, s): zeros if not live."""
    xp = array_namespace(plan.p)
    place = at(plan.place[..., None, :], drafts)
    row = (place - (plan.p.shape[-1] - plan.labels.shape[-1]))[..., None] == ids(plan.labels)
    return place, xp.sum(xp.where(row[..., None], plan.labels[..., None, :, :], 0), axis=-2)


def _ranked(key: Array, tie: float) -> Array:
    """Tokens by increasing key; neighbours no further apart than `tie` by their ids, as equal numbers are."""
    xp = array_namespace(key)
    order = xp.argsort(key, axis=-1, stable=True)
    row = xp.take_along_axis(key, order, axis=-1)
    apart = xp.astype(row[..., 1:] - row[..., :-1] > tie, order.dtype)
    group = xp.cumulative_sum(apart, axis=-1, include_initial=True)
    group = xp.take_along_axis(group, xp.argsort(order, axis=-1), axis=-1)
    return xp.argsort(group, axis=-1, stable=True)


def _stretches(q: Array) -> tuple[Array, Array]:
    """Masses before and up to each place."""
    up_to = array_namespace(q).cumulative_sum(q, axis=-1)
    return up_to - q, up_to


def _mean_slope(a: Array, b: Array, n: int) -> Array:
    """(b^n - a^n) / (b - a) = sum of a^i b^(n-1-i), without the cancellation."""
    result, power = 1 + 0 * b, 1
    for _ in range(n - 1):
        power = power * b
        result = result * a + power
    return result


def _live_winners(p: Array, q: Array, dead: int, num_drafts: int) -> Array:
    """w on the live tokens (..., s): p, filled up to a multiple of q below and cut down to one above (T14, 1)."""
    xp = array_namespace(p)
    below, q = xp.sum(q[..., :dead], axis=-1, keepdims=True), q[..., dead:]
    p_mass, q_mass = (xp.cumulative_sum(w, axis=-1) for w in (p, q))
    after = xp.flip(xp.cumulative_sum(xp.flip(q, axis=-1), axis=-1), axis=-1)
    least = q_mass * _mean_slope(below, below + q_mass, num_drafts)  # what the first tokens win at least; all, in all
    excess = least - p_mass
    loss = xp.max(xp.where(excess > num_drafts * noise(p) * p_mass, excess, 0), axis=-1, keepdims=True)
    some = after[..., :1] > 0
    even = xp.where(some, least[..., -1:] / xp.where(some, after[..., :1], 1), 0)  # w/q if all is shared out by q
    counts = q_mass > noise(p)
    fill = xp.where(counts, (p_mass + loss) / xp.where(counts, q_mass, 1), even)
    fill = xp.minimum(xp.min(fill, axis=-1, keepdims=True), even)
    counts = after > noise(p)
    cut = xp.where(counts, (least[..., -1:] - loss - (p_mass - p)) / xp.where(counts, after, 1), even)
    cut = xp.maximum(xp.max(cut, axis=-1, keepdims=True), even)
    return xp.maximum(fill * q, xp.minimum(p, cut * q))


def _exchanges(q: Array, own: Array, wanted: Array) -> Array:
    """Law of the place that each live token takes (..., s, s): spans of gains matched with spans of losses."""
    xp = array_namespace(q)
    gains, losses = positive_part(wanted - q * own), positive_part(q * own - wanted)
    (gain_start, gain_end), (loss_start, loss_end) = _stretches(gains), _stretches(losses)
    shared = xp.minimum(gain_end[..., :, None], loss_end[..., None, :])
    shared = positive_part(shared - xp.maximum(gain_start[..., :, None], loss_start[..., None, :]))
    shared = shared + xp.matrix_transpose(shared)
    size = (gains + losses)[..., None]
    gap = xp.maximum(q[..., None] * abs(own[..., None, :] - own[..., None]), size)
    moved = xp.where(gap > 0, shared / xp.where(gap > 0, gap, 1), 0)
    stays = positive_part(1 - xp.sum(moved, axis=-1, keepdims=True))
    return xp.where(ids(q)[:, None] == ids(q), moved + stays, moved)
