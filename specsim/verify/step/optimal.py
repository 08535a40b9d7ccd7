"""The optimum for i.i.d. drafts: the draft of highest rank wins, then is verified alone against the law of winners.

Law.         Lay the tokens in order of p/q on [0, 1], token i on a stretch of length q_i. Each
             draft takes the stretch of its token or of a partner, and the one furthest right wins
             (the first, on ties). The partners are such that the winner has the law w = max(c q,
             min(p, d q)), as near to p as K drafts allow. It is kept with probability min(1, p/w),
             as a single draft from w would be, else replaced by y ~ (p - w)+. Drafts may be of the
             scheme `distinct`: K then is a `Draws`, and places without a draft hold -1 and never
             win. prepare(..., grid=0.01) plans for bins of tokens with almost the same p/q: w is
             max(c, min(R, d)) q, R being the p/q of the whole bin.
Theorem.     T08: the output law is p for every p, q and law of N, in bins too; without bins no
             lossless rule hits more often.
Acceptance.  1 + min_H p(H) - E q(H)^N, the optimum of T03; equal to the hit probability. In bins
             sum min(p, w), less by at most grid/4 + 2^-32: the probability that a draft is kept. y
             is a draft now and then, too.
Randomness.  u[k] and u[K+k] choose the partner of draft k and whether it moves; u[2K] decides;
             u[2K+1] draws y.
Cost.        prepare O(V log V), two sorts, of a long NumPy row one (`_long`), O(V) and no sort with
             bins; verify O(K log V) on its plan; transition O(K^2 V).
Paper.       Sun et al., SpecTr, arXiv:2310.15141, pose the transport problem; Thomas and Pal,
             arXiv:2511.15898, reach it to an accuracy by convex minimisation. The rule is ours.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from array_api_compat import is_torch_array

from specsim.base.arrays import (
    accept_probability,
    along,
    array_namespace,
    at,
    is_exact,
    noise,
    one_hot,
    positive_part,
    residual,
    wide,
)
from specsim.draft.distinct import inside, mean_slope
from specsim.types import Array, Draws
from specsim.verify.step import _bins, _long, _one
from specsim.verify.step._plan import INFINITY, LongPlan, Plan
from specsim.verify.step._plan import rows as rows_of

DRAFTS: Literal["iid"] = "iid"
# Other schemes whose drafts the rule verifies.
ALSO = ("distinct",)
EXACT = True
THEOREM = "T08"
PROVED = {"lossless": "spans_lossless", "acceptance": "spans_hit"}
PAPER = "arXiv:2310.15141"


def prepare(p: Array, q: Array, num_drafts: int | Draws, grid: float | None = None) -> Plan | LongPlan:
    """Plan with the levels c and d that turn p into w, and the gains and losses of tokens."""
    xp = array_namespace(p, q)
    # Read the arguments; a long NumPy row has a faster program of its own.
    draws = num_drafts if isinstance(num_drafts, Draws) else Draws(num_drafts, 0, num_drafts)
    p, q = xp.broadcast_arrays(*(w if w.dtype == xp.float64 else wide(w) for w in (p, q)))
    if _long.serves(p):
        return _long.planned(p, q, draws, grid)
    # Lay the tokens, or bins of tokens, in order of p/q, and sum p and q over the first ones.
    place, pooled, p_part, q_part = _stretches(p, q, draws.limit, grid)
    p_mass, q_mass = (xp.cumulative_sum(w, axis=-1) for w in (p_part, q_part))
    # loss = max_H (E q(H)^N - p(H)), H the first tokens: all drafts lie in H more often than p
    # does. A difference within rounding counts as 0.
    excess = inside(q_mass, draws) - p_mass
    loss = xp.max(xp.where(excess > draws.limit * noise(p) * p_mass, excess, 0), axis=-1, keepdims=True)
    # c is the level that fills the first tokens by the loss.
    level = _quotient(p_mass + loss, q_mass, q_mass > noise(q), INFINITY)
    fill = xp.min(level, axis=-1, keepdims=True)
    # d is the level that cuts the last tokens by the loss.
    q_after = q_mass[..., -1:] - q_mass + q_part
    p_after = p_mass[..., -1:] - p_mass + p_part
    lid = _quotient(p_after - loss, q_after, q_after > noise(q), 0)
    cut = xp.maximum(xp.max(lid, axis=-1, keepdims=True), fill)  # d >= c, also where no draft reaches
    # Compare, place by place, the probability of winning if no draft moves with the one wanted, w.
    slope = mean_slope(q_mass - q_part, q_mass, draws)
    unmoved, wanted = q_part * slope, _winners(p_part, q_part, fill, cut)
    larger = xp.maximum(unmoved, wanted)
    # A refused winner is replaced by y ~ (p - w)+; if that is only rounding, by y ~ p.
    left_over = p - xp.minimum(p, _winners(pooled, q, fill, cut))
    total = xp.sum(left_over, axis=-1, keepdims=True)
    left_over = xp.where(total > noise(p), left_over, p)
    sums = (xp.cumulative_sum(w, axis=-1) for w in (larger - unmoved, larger - wanted, left_over))
    loss = loss if grid is None else total
    return Plan(p, q, pooled, fill, cut, loss, place, wanted, q_part, slope, *sums)


def transition(plan: Plan | LongPlan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., K)."""
    plan = rows_of(plan)
    xp, count, w = array_namespace(plan.p), drafts.shape[-1], winners(plan)
    missing, drafts = drafts < 0, xp.where(drafts < 0, 0, drafts)
    # Probability min(1, p/w) that each draft passes if it wins.
    passes = accept_probability(plan.p[..., None, :], w[..., None, :], drafts)[..., None]
    # Law of each draft's label, and its distribution function; a missing draft lies below all
    # places. NumPy works on one draft at a time, so that temporaries stay in cache.
    size = 1 if isinstance(plan.p, np.ndarray) else count
    laws = (_label_law(plan, drafts[..., k : k + size]) for k in range(0, count, size))
    label_laws = (law[..., k, :] for law in laws for k in range(size))
    labels = [xp.where(missing[..., k, None], 0, law) for k, law in enumerate(label_laws)]
    up_to = [xp.where(missing[..., k, None], 1, xp.cumulative_sum(row, axis=-1)) for k, row in enumerate(labels)]
    # Draft k wins where earlier drafts have lower labels and later ones have no higher ones.
    law, replaced = 0, 0
    for k, wins in enumerate(labels):
        for j in (j for j in range(count) if j != k):
            wins = wins * (up_to[j] - labels[j] if j < k else up_to[j])
        winning = xp.sum(wins, axis=-1, keepdims=True)
        accepted = winning * passes[..., k, :]
        law = law + accepted * one_hot(drafts[..., k], plan.p)
        replaced = replaced + (winning - accepted)
    # The rest of the probability goes to y ~ (p - w)+.
    return law + replaced * residual(plan.p, w)


def acceptance(plan: Plan | LongPlan) -> Array:
    """Probability that the winner is accepted."""
    return 1 - plan.loss[..., 0]


def uniforms(num_drafts: int | Draws) -> int:
    """Two per draft, one test, one residual draw."""
    return 2 * (num_drafts.limit if isinstance(num_drafts, Draws) else num_drafts) + 2


def verify(plan: Plan | LongPlan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., K) and u (..., 2K+2)."""
    if _one.serves(plan.p, drafts, u):
        return _one.token(plan, drafts, u)
    plan = rows_of(plan)
    xp, count = array_namespace(plan.p, drafts), drafts.shape[-1]
    # The draft with the highest label wins.
    label = _label(plan, drafts, u[..., :count], u[..., count : 2 * count])
    token = at(drafts, xp.argmax(label, axis=-1))[..., None]
    # Accept it with probability min(1, p/w).
    p, pooled, q = (_entry(w, token) for w in (plan.p, plan.pooled, plan.q))
    accepted = u[..., -2:-1] * _winners(pooled, q, plan.fill, plan.cut) < p
    # Else draw y ~ (p - w)+; of an accepted token the last uniform decides nothing.
    total = xp.where(accepted, 0, plan.left_over[..., -1:])
    replacement = _first(accepted, plan.left_over, plan.left_over, total, u[..., -1:] * total, token)
    return xp.where(accepted, token, replacement)[..., 0]


def winners(plan: Plan | LongPlan) -> Array:
    """w (..., V), the law of the winner."""
    return _winners(plan.pooled, plan.q, plan.fill, plan.cut)


def _winners(p: Array, q: Array, fill: Array, cut: Array) -> Array:
    """w = max(c q, min(p, d q)), entry by entry."""
    xp = array_namespace(p, q)
    return xp.maximum(fill * q, xp.minimum(p, cut * q))


def _stretches(p: Array, q: Array, limit: int, grid: float | None) -> tuple[Array, Array, Array, Array]:
    """Return (place of each token, pooled p, p by place, q by place), places in order of p/q.

    Pooled p is p itself, or in bins q times the p/q of the token's bin.
    """
    ratio = _quotient(p, q, p < INFINITY * q, INFINITY)
    if grid is not None:
        return _bins.pooled(p, q, ratio, limit, grid)
    order = _order(ratio)
    return _inverse(order), p, along(p, order), along(q, order)


def _order(ratio: Array) -> Array:
    """Tokens (..., V) in order of p/q; ties, and neighbours that differ by rounding, go by id."""
    xp = array_namespace(ratio)
    order = xp.argsort(ratio, axis=-1, stable=False)
    vocab = ratio.shape[-1]
    almost = 1 if is_exact(ratio) else 1 - noise(ratio)
    # Without 64 bits (JAX) the keys below would overflow.
    if vocab * vocab > xp.iinfo(order.dtype).max:
        return order
    # Sort again by the key V * group + id: a group ends where the ratio rises by more than
    # rounding.
    ascending = along(ratio, order)
    rises = ascending[..., :-1] < almost * ascending[..., 1:]
    group = vocab * xp.cumulative_sum(xp.astype(rises, order.dtype), axis=-1, include_initial=True)
    return xp.sort(group + order, axis=-1) - group


def _inverse(order: Array) -> Array:
    """Place of each token: the inverse of the permutation `order`."""
    if not isinstance(order, np.ndarray):
        return array_namespace(order).argsort(order, axis=-1)
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(order.shape[-1]), axis=-1)
    return place


class _Exchange(NamedTuple):
    """Spans that drafted tokens (..., K) exchange with others, so that the winner has the law w.

    While no draft moves, a token wins with probability q slope. Where that is less than w, the
    token gains, else it loses. The gains of all tokens, laid end to end, are as long as the
    losses: the span of a token that gains faces the losing tokens that are its partners, and the
    other way round.
    """

    place: Array  # position in the order of p/q
    q: Array  # draft probability of the place
    slope: Array  # of the place, as in `Plan`
    gains: Array  # whether the token gains
    size: Array  # |w - q slope|, the length of its span
    end: Array  # where its span ends on the line of gains, or of losses


def _exchange(plan: Plan, token: Array) -> _Exchange:
    """Return what tokens (..., K) exchange with their partners."""
    xp = array_namespace(plan.p)
    place = _entry(plan.place, token)
    wanted, q, slope = (_entry(w, place) for w in (plan.wanted, plan.q_there, plan.slope))
    unmoved = q * slope
    gains = unmoved < wanted
    # Both lines have the same length but for rounding: no span ends after the partners' line.
    end = xp.where(gains, _entry(plan.gains, place), _entry(plan.losses, place))
    partners_end = xp.where(gains, plan.losses[..., -1:], plan.gains[..., -1:])
    end = xp.minimum(end, partners_end)
    size = xp.minimum(abs(wanted - unmoved), end)
    return _Exchange(place, q, slope, gains, size, end)


def _label(plan: Plan, drafts: Array, u_partner: Array, u_move: Array) -> Array:
    """Return the label of each draft (..., K): the place, in the order of p/q, that it takes.

    That is the place of its token or of a partner: `u_partner` chooses the partner, `u_move` decides
    whether the draft moves there. A missing draft has label -1, before all places.
    """
    xp, missing = array_namespace(plan.p, drafts), drafts < 0
    place, q, slope, gains, size, end = _exchange(plan, xp.where(missing, 0, drafts))
    # A uniform point of the token's span faces the partner on the other line: losses for a token
    # that gains, gains for one that loses.
    partner = _first(gains, plan.losses, plan.gains, end, u_partner * size, place)
    # Move with probability min(1, size / (q |slope difference|)).
    gap = q * abs(_entry(plan.slope, partner) - slope)
    label = xp.where(u_move * gap < size, partner, place)
    return xp.where(missing, -1, label)


def _label_law(plan: Plan, tokens: Array) -> Array:
    """Law of the label (..., K, V), by place, for each drafted token (..., K)."""
    xp = array_namespace(plan.p)
    exchange = _exchange(plan, tokens)
    _, q, slope, gains, size, end = (column[..., None] for column in exchange)
    # Length that the token's span shares with each partner's, which lies from `before` to `up_to`.
    up_to = xp.where(gains, plan.losses[..., None, :], plan.gains[..., None, :])
    before = xp.concat([xp.zeros_like(up_to[..., :1]), up_to[..., :-1]], axis=-1)
    shared = xp.minimum(size, end - before) - positive_part(end - up_to)
    # A draft moves to a partner with probability shared / max(size, q |slope difference|),
    # else stays.
    gap = xp.maximum(q * abs(plan.slope[..., None, :] - slope), size)
    moved = _quotient(shared, gap, (shared > 0) & (gap > 0), 0)
    stays = positive_part(1 - xp.sum(moved, axis=-1, keepdims=True))
    return moved + stays * one_hot(exchange.place, moved)


def _first(chosen: Array, row: Array, other: Array, end: Array, back: Array, place: Array) -> Array:
    """Return the first place (..., K) whose cumulative sum is at least end - back.

    The cumulative sums (..., V) are those of `row` where `chosen` (..., K), those of `other`
    elsewhere; the last one always suffices. `place` gives the shape and the type of the answer.
    """
    xp, vocab = array_namespace(row), row.shape[-1]
    # The library's own search, where it takes these shapes.
    is_torch_batch = is_torch_array(row) and row.shape[:-1] == end.shape[:-1]
    if is_torch_batch or (row.ndim == 1 and not is_exact(row)):
        first = xp.searchsorted(row, end - back, side="left")
        return first if row is other else xp.where(chosen, first, xp.searchsorted(other, end - back, side="left"))
    # Else bisection, bit by bit: go to `probe` if the sum just before it does not reach the bound.
    place = 0 * place
    for step in (1 << bit for bit in reversed(range((vocab - 1).bit_length()))):
        probe = place + step
        entry = xp.where(probe < vocab, probe, vocab) - 1
        before = _entry(row, entry) if row is other else xp.where(chosen, _entry(row, entry), _entry(other, entry))
        place = xp.where((probe >= vocab) | (end - before <= back), place, probe)
    return place


def _entry(row: Array, index: Array) -> Array:
    """row[..., index] for indices (..., K)."""
    return row[index] if row.ndim == 1 else at(row[..., None, :], index)


def _quotient(a: Array, b: Array, is_safe: Array, otherwise: float) -> Array:
    """a / b where `is_safe`, `otherwise` elsewhere; nothing is divided by 0."""
    xp = array_namespace(a, b)
    return xp.where(is_safe, a / xp.where(is_safe, b, 1), otherwise)
