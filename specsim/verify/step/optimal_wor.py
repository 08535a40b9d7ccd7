"""The optimum for two drafts without replacement: one is chosen by weights, then verified alone against its own law.

Law.         Let w be as near to p as the law of one of two such drafts can be: max(c q, min(p,
             d q)). If some first tokens in the order of p/q have no more of w than pairs among them
             bring, they are the lower tier: a draft of the upper tier is chosen before one of the
             lower. In one tier x is chosen rather than y with probability a_x / (a_x + a_y), by
             weights a that make w the law of the draft that is chosen. It is kept with probability
             min(1, p/w), else replaced by y ~ (p - w)+. One draft is rejection.
             Of more than 64 tokens, or `few`, each takes one of two neighbouring levels at random,
             and levels have weights; w is then what these give, and its distance from what was
             wanted bounds the loss (`gap`). Where `recursive_wor` keeps more, which we have not
             seen, it verifies the pair.
Theorem.     T38: the output law is p for any tiers, levels and weights; with the right weights,
             which exist, one for each token, no lossless rule hits more often. T09 is that of
             `recursive_wor`; p and q alone decide between them.
Acceptance.  sum min(p, w) that the chosen draft is kept, and the chance that the replacement is the
             other draft; never below that of `recursive_wor`.
Randomness.  u[0] chooses the draft, if there are two; u[K-1] decides; u[K] draws y. Or as
             `recursive_wor` has it.
Cost.        prepare O(V log V + n V) for n steps of Newton's method: 24 at most in 4,000 hard pairs,
             until wins are off by 6e-14. Up to 64 tokens O(n V^3), until they are off by 4e-15: 8 as a rule, 22 at
             most in 48,000 pairs. 24 where values cannot be looked at (GPU, JAX). verify O(V).
Paper.       None: this project's. The value of the optimum is T15, by the q-convexity of
             arXiv:2502.18779; that weights exist is of Monderer, Samet and Shapley 1992 (T38).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple

from specsim.base import check
from specsim.base.arrays import (
    accept_probability,
    accepts,
    array_namespace,
    at,
    excess,
    ids,
    is_exact,
    noise,
    one_hot,
    overlap,
    pick,
    positive_part,
    prefix_scan,
    residual,
    wide,
)
from specsim.types import Array
from specsim.verify.step import _aim, _levels, _pairs, recursive_wor

DRAFTS: Literal["without_replacement"] = "without_replacement"
COUNTS = (1, 2)
EXACT = True
THEOREM = "T38"
PROVED = {"lossless (whatever is chosen)": "winner_lossless"}
PAPER = "this project"
# Rows of at most this many tokens have a weight for each token.
FEW = 64
# Acceptances that differ by less than this, in units of `noise`, are equal: 1.1e-13.
ROUNDING = 64


class Plan(NamedTuple):
    """Rows (..., V), but for `wins` and `gap`."""

    p: Array
    q: Array
    odds: Array  # q / (1 - q)
    top: Array  # True at the likeliest token
    wins: Array  # probability that a draft is chosen, not another one: by token (..., V, V), or by level
    winners: Array  # w
    left_over: Array
    num_drafts: int
    gap: Array  # (...): the optimum less sum min(p, w); the rule loses at most this
    places: _levels.Places | None = None  # levels of the tokens; None where each has a weight
    recursive: Array | None = None  # rows (...) that `recursive_wor` verifies; None where each token has a weight


def prepare(p: Array, q: Array, num_drafts: int, few: int = FEW) -> Plan:
    """Plan with the law w of the chosen draft, and the tiers and weights by which it is chosen."""
    # Read the arguments; integers among Fractions would divide to floats.
    xp = array_namespace(p, q)
    few = check.integer(few, "few", 1)
    p, q = xp.broadcast_arrays(wide(p), wide(q))
    if is_exact(q):
        p, q = p * Fraction(1), q * Fraction(1)
    likeliest = xp.argmax(q, axis=-1)
    top = ids(q) == likeliest[..., None]
    if num_drafts == 2 and not is_exact(q):
        q = _pairs.divisible(q, top)
    order, p_mass, q_mass = prefix_scan(p, q)
    # odds = q / (1 - q); for the likeliest token 1 - q could cancel: the others are summed instead.
    others = xp.where(top, xp.sum(xp.where(top, 0, q), axis=-1, keepdims=True), 1 - q)
    odds = xp.where(others > 0, q / xp.where(others > 0, others, 1), 0)
    if num_drafts == 1:
        return Plan(p, q, odds, top, 0 * p[..., None], q, residual(p, q), 1, 0 * p[..., 0])
    # The law w that is wanted, and the weights that give it.
    wanted, tier, optimum = _aim.wanted(p, q, order, p_mass, q_mass, _within(q, odds, order))
    plan = Plan(p, q, odds, top, _levels.wins(q), q, q, 2, optimum)
    if p.shape[-1] > few:
        plan = plan._replace(places=_levels.places(wanted, q, odds, top, xp.where(tier > 0, 1, 0)))
    else:
        plan = plan._replace(wins=_wins(wanted, q, odds, tier))
    # The law that they do give.
    winners = _over_others(plan, q, odds)
    winners = xp.where(winners > 0, winners, 0 * q)
    winners = xp.where(others > 0, winners, xp.where(top, q, 0 * q))  # the last token repeats
    plan = plan._replace(winners=winners, left_over=residual(p, winners), gap=optimum - overlap(p, winners))
    if plan.places is None:
        return plan
    # Should recursive rejection accept more, by more than rounding, it verifies the row. Rounding
    # differs between NumPy and JAX, and both rules reach the optimum on many peaked rows.
    gain = recursive_wor.acceptance_of_two(p, q) - _acceptance(plan)
    return plan._replace(recursive=xp.asarray(gain > ROUNDING * noise(p)))


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., K)."""
    xp = array_namespace(plan.p)
    law = _transition(plan, drafts)
    if plan.recursive is None:
        return law
    return xp.where(plan.recursive[..., None], recursive_wor.transition(_recursive(plan), drafts), law)


def acceptance(plan: Plan) -> Array:
    """Probability that the token is one of the drafts."""
    rate = _acceptance(plan)
    if plan.recursive is None:
        return rate
    recursive = recursive_wor.acceptance_of_two(plan.p, plan.q)
    return array_namespace(plan.p).where(plan.recursive, recursive, rate)


def uniforms(num_drafts: int) -> int:
    """The choice if there are two drafts, one test, one residual draw."""
    return num_drafts + 1


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., K) and u (..., K+1)."""
    # Choose one of two drafts.
    xp = array_namespace(drafts)
    token = drafts[..., 0]
    if plan.num_drafts == 2:
        token = xp.where(u[..., 0] < _first(plan, drafts), token, drafts[..., 1])
    # Verify it alone against the law of winners.
    accepted = accepts(plan.p, plan.winners, token, u[..., -2])
    token = xp.where(accepted, token, pick(plan.left_over, u[..., -1]))
    if plan.recursive is None:
        return token
    return xp.where(plan.recursive, recursive_wor.verify(_recursive(plan), drafts, u), token)


def _recursive(plan: Plan) -> recursive_wor.Plan:
    """Return the plan of recursive rejection for the same rows."""
    return recursive_wor.prepare(plan.p, plan.q, plan.num_drafts)


def _transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., K), if one of them is chosen by weights."""
    xp = array_namespace(plan.p)
    first = _first(plan, drafts)
    law: Array = 0
    replaced: Array = 0
    for k, chance in enumerate((first, 1 - first)[: plan.num_drafts]):
        # A single Fraction is no array.
        accepted = xp.asarray(chance * accept_probability(plan.p, plan.winners, drafts[..., k]))
        law = law + accepted[..., None] * one_hot(drafts[..., k], plan.p)
        replaced = replaced + xp.asarray(chance - accepted)[..., None]
    return law + replaced * plan.left_over


def _acceptance(plan: Plan) -> Array:
    """Probability that the chosen draft is accepted, or that its replacement is the other draft."""
    xp = array_namespace(plan.p)
    rate = overlap(plan.p, plan.winners)
    if plan.num_drafts == 1:
        return rate
    refused = excess(plan.winners, plan.p) / xp.where(plan.winners > 0, plan.winners, 1)
    # The replacement y is the other draft: sums over y, drawn from (p - w)+.
    drawn = (row * plan.left_over for row in (plan.q, plan.odds))
    return rate + xp.sum(refused * _over_others(plan, *drawn), axis=-1)


def _within(q: Array, odds: Array, order: Array) -> Array:
    """F_k of T38 (..., V): the probability that both drafts are among the first k tokens of the order."""
    xp = array_namespace(q)
    q_part, odds_part = (xp.take_along_axis(row, order, axis=-1) for row in (q, odds))
    q_rest = xp.flip(xp.cumulative_sum(xp.flip(q_part, axis=-1), axis=-1), axis=-1)
    q_after = xp.concat([q_rest[..., 1:], 0 * q_rest[..., :1]], axis=-1)
    return 1 - q_after * (1 + xp.cumulative_sum(odds_part, axis=-1))


def _wins(wanted: Array, q: Array, odds: Array, tier: Array) -> Array:
    """Probability (..., V, V) that a token is chosen, not another one, by a weight for each token."""
    # How often two meet. What w leaves after the higher tier has won is shared out by weights.
    xp = array_namespace(q)
    is_above = tier[..., :, None] > tier[..., None, :]
    met = q[..., :, None] * odds[..., None, :] + odds[..., :, None] * q[..., None, :]
    still = wanted - xp.sum(xp.where(is_above, met, 0), axis=-1)
    weight = _pairs.weights(positive_part(still), met, tier)
    # A draft wins with probability weight a / (weight a + weight b) over one of its tier,
    # and always over one of a lower tier.
    total = weight[..., :, None] + weight[..., None, :]
    wins = xp.where(total > 0, weight[..., :, None] / xp.where(total > 0, total, 1), 0)
    wins = xp.where(is_above, 1, xp.where(tier[..., :, None] < tier[..., None, :], 0, wins))
    # A token does not meet itself.
    return xp.where(ids(q)[:, None] == ids(q), 0, wins)


def _over_others(plan: Plan, by_q: Array, by_odds: Array) -> Array:
    """Sum over y != x of (odds_x by_q_y + q_x by_odds_y) P(x is chosen, not y), for each token x.

    The law of the chosen draft for the rows q and odds; a token left out of both rows is no y.
    """
    xp = array_namespace(plan.q)
    if plan.places is None:
        sums = (xp.sum(plan.wins * row[..., None, :], axis=-1) for row in (by_q, by_odds))
        itself = 0 * plan.q
    else:
        sums = (_levels.beaten(row, plan.top, plan.places, plan.wins) for row in (by_q, by_odds))
        itself = xp.where(plan.top, 0, (plan.odds * by_q + plan.q * by_odds) / 2)
    beaten_by_q, beaten_by_odds = sums
    return plan.odds * beaten_by_q + plan.q * beaten_by_odds - itself


def _first(plan: Plan, drafts: Array) -> Array:
    """Probability that the first of the drafts (..., K) is chosen."""
    if plan.num_drafts == 1:
        return 1 + 0 * at(plan.p, drafts[..., 0])
    xp = array_namespace(plan.wins)
    flat = xp.reshape(plan.wins, (*plan.wins.shape[:-2], -1))
    count = plan.wins.shape[-1]
    if plan.places is None:
        return at(flat, drafts[..., 0] * count + drafts[..., 1])
    # Each draft takes one of its two levels.
    level_0, level_1 = (at(plan.places.level, drafts[..., k]) for k in range(2))
    share_0, share_1 = (at(plan.places.share, drafts[..., k]) for k in range(2))
    chance: Array = 0
    for up_0, part_0 in enumerate((1 - share_0, share_0)):
        for up_1, part_1 in enumerate((1 - share_1, share_1)):
            chance = chance + part_0 * part_1 * at(flat, (level_0 + up_0) * count + level_1 + up_1)
    return chance
