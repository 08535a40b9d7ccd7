"""The optimum for two drafts without replacement: one is chosen by weights, then verified alone against its own law.

Law.         Let w be as near to p as the law of one of two such drafts can be: max(c q, min(p,
             d q)). If some first tokens in the order of p/q have no more of w than pairs among them
             bring, they are the lower tier: a draft of the upper tier is chosen before one of the
             lower. In one tier x is chosen rather than y with probability a_x / (a_x + a_y), by
             weights a that make w the law of the draft that is chosen. It is kept with probability
             min(1, p/w), else replaced by y ~ (p - w)+. One draft is rejection.
             Of more than 64 tokens, or `bins` of them, those with almost the same p/q share a
             weight; w is then what the weights give, not what was wanted, up to 0.02 from it. Where
             `recursive_wor` keeps more than that, the pair is verified by `recursive_wor`.
Theorem.     T38: the output law is p for any tiers and weights; with the right ones, which exist,
             one for each token, no lossless rule hits more often. T09 is that of `recursive_wor`; p
             and q alone decide between them.
Acceptance.  sum min(p, w) that the chosen draft is kept, and the chance that the replacement is the
             other draft; never below that of `recursive_wor`.
Randomness.  u[0] chooses the draft, if there are two; u[K-1] decides; u[K] draws y. Or as
             `recursive_wor` has it.
Cost.        prepare O(V log V + n B^3) for B bins and n steps of Newton's method, until wins are
             off by 4e-15: 8 as a rule, 22 at most in 48,000 pairs; 24 where values cannot be looked
             at (GPU, JAX). verify O(V).
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
from specsim.verify.step import _bins, _pairs, recursive_wor

DRAFTS: Literal["without_replacement"] = "without_replacement"
COUNTS = (1, 2)
EXACT = True
THEOREM = "T38"
PROVED = {"lossless (whatever is chosen)": "winner_lossless"}
PAPER = "this project"
BINS = 64


class Plan(NamedTuple):
    """Rows (..., V), but for `wins` (..., B, B)."""

    p: Array
    q: Array
    odds: Array  # q / (1 - q)
    place: Array  # the bin of each token
    wins: Array  # probability that a draft of one bin is chosen, not one of another
    winners: Array  # w
    left_over: Array
    num_drafts: int
    recursive: Array | None = None  # rows (...) that `recursive_wor` verifies; None where no tokens share a weight


def prepare(p: Array, q: Array, num_drafts: int, bins: int = BINS) -> Plan:
    """Plan with the law w of the chosen draft, and the tiers and weights by which it is chosen."""
    # Read the arguments; integers among Fractions would divide to floats.
    xp = array_namespace(p, q)
    bins = check.integer(bins, "bins", 1)
    p, q = xp.broadcast_arrays(wide(p), wide(q))
    if is_exact(q):
        p, q = p * Fraction(1), q * Fraction(1)
    likeliest = xp.argmax(q, axis=-1)
    top = ids(q) == likeliest[..., None]
    if num_drafts == 2 and not is_exact(q):
        q = _divisible(q, top)
    order, p_mass, q_mass = prefix_scan(p, q)
    # odds = q / (1 - q); for the likeliest token 1 - q could cancel: the others are summed instead.
    others = xp.where(top, xp.sum(xp.where(top, 0, q), axis=-1, keepdims=True), 1 - q)
    odds = xp.where(others > 0, q / xp.where(others > 0, others, 1), 0)
    if num_drafts == 1:
        return Plan(p, q, odds, 0 * order, 0 * p[..., :1, None], q, residual(p, q), 1)
    # The law w, and the bins that share a weight.
    wanted, tier = _wanted(p, q, odds, order, p_mass, q_mass)
    place, tier = _places(order, (p_mass + q_mass) / 2, top, tier, bins)
    count = tier.shape[-1]
    # By bin: tokens, q, odds, sum of q odds, and w.
    size, q_bin, odds_bin, q_odds, wanted_bin = (
        _bins.sums(row, place, count) for row in (1 + 0 * q, q, odds, q * odds, wanted)
    )
    # How often two bins meet. What w leaves after the higher tier has won is shared out by weights.
    is_above = tier[..., :, None] > tier[..., None, :]
    met = q_bin[..., :, None] * odds_bin[..., None, :] + odds_bin[..., :, None] * q_bin[..., None, :]
    still = wanted_bin - (q_bin * odds_bin - q_odds) - xp.sum(xp.where(is_above, met, 0), axis=-1)
    weight = _pairs.weights(positive_part(still), met, tier)
    # A draft wins with probability weight a / (weight a + weight b) over one of its tier,
    # and always over one of a lower tier.
    total = weight[..., :, None] + weight[..., None, :]
    wins = xp.where(total > 0, weight[..., :, None] / xp.where(total > 0, total, 1), 0)
    wins = xp.where(is_above, 1, xp.where(tier[..., :, None] < tier[..., None, :], 0, wins))
    # A token alone in its bin does not meet itself.
    bin_ids = ids(size)
    is_same_bin = bin_ids[:, None] == bin_ids
    is_alone = size <= 1
    wins = xp.where(is_alone[..., None] & is_same_bin, 0, wins)
    # The law of the chosen draft that these wins give.
    winners = _over_others(Plan(p, q, odds, place, wins, q, q, 2), q_bin, odds_bin)
    itself = xp.sum(xp.where(is_same_bin, wins, 0), axis=-1)
    winners = winners - 2 * xp.take_along_axis(itself, place, axis=-1) * q * odds
    winners = xp.where(others > 0, winners, xp.where(top, q, 0 * q))  # the last token repeats
    plan = Plan(p, q, odds, place, wins, winners, residual(p, winners), 2)
    if p.shape[-1] <= bins:
        return plan
    # Where tokens share a weight, recursive rejection may accept more: it verifies the rows where it
    # does, by more than rounding. Rounding differs between NumPy and JAX, and both rules reach the
    # optimum on many peaked rows.
    gain = recursive_wor.acceptance_of_two(p, q) - _acceptance(plan)
    return plan._replace(recursive=gain > 2 * noise(p))


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
    count = plan.wins.shape[-1]
    # The replacement y is the other draft: sums over y, drawn from (p - w)+, by bin.
    drawn = (_bins.sums(row * plan.left_over, plan.place, count) for row in (plan.q, plan.odds))
    return rate + xp.sum(refused * _over_others(plan, *drawn), axis=-1)


def _divisible(q: Array, top: Array) -> Array:
    """q, scaled up off its top token where the others have so little that 1 / (1 - q) would overflow.

    Almost every pair there is the top token and another one. The others keep their ratios, and
    pairs their law.
    """
    xp = array_namespace(q)
    least = float(xp.finfo(q.dtype).smallest_normal)
    rest = xp.sum(xp.where(top, 0, q), axis=-1, keepdims=True)
    return xp.where((rest < least**0.75) & ~top, q * least**-0.25, q)


def _wanted(p: Array, q: Array, odds: Array, order: Array, p_mass: Array, q_mass: Array) -> tuple[Array, Array]:
    """The law w that the chosen draft should have, and which tokens are of the lower tier."""
    # Sums over the first tokens, in order of p/q, and over the last ones.
    xp = array_namespace(p, q)
    p_part, q_part, odds_part = (xp.take_along_axis(row, order, axis=-1) for row in (p, q, odds))
    # Masses from each place on are summed by themselves:
    # 1 - (what is before) loses those below rounding.
    p_rest, q_rest = (xp.flip(xp.cumulative_sum(xp.flip(row, axis=-1), axis=-1), axis=-1) for row in (p_part, q_part))
    q_after = xp.concat([q_rest[..., 1:], 0 * q_rest[..., :1]], axis=-1)
    # F_k of T38: the probability that both drafts are among the first tokens.
    pairs = 1 - q_after * (1 + xp.cumulative_sum(odds_part, axis=-1))
    excesses = xp.where(pairs - p_mass > 2 * noise(p), pairs - p_mass, 0)
    loss = xp.max(excesses, axis=-1, keepdims=True)
    # c and d of T38, where p/q does not overflow.
    least = 0 if is_exact(q) else float(xp.finfo(q.dtype).smallest_normal)
    is_safe = q_mass > least
    level = xp.where(is_safe, (p_mass + loss) / xp.where(is_safe, q_mass, 1), 1)
    fill = xp.min(level, axis=-1, keepdims=True)
    is_safe = q_rest > least
    lid = xp.where(is_safe, (p_rest - loss) / xp.where(is_safe, q_rest, 1), 0)
    cut = xp.maximum(xp.max(lid, axis=-1, keepdims=True), fill)
    # Tokens after a place where the loss is attained have a higher tier.
    tight = xp.astype(loss - (pairs - p_mass) <= 2 * noise(p), order.dtype)
    tier = xp.take_along_axis(xp.cumulative_sum(tight, axis=-1) - tight, xp.argsort(order, axis=-1), axis=-1)
    return xp.maximum(fill * q, xp.minimum(p, cut * q)), tier


def _places(order: Array, mass: Array, top: Array, tier: Array, bins: int) -> tuple[Array, Array]:
    """The bin of each token, and the tier of each bin; many tokens share bins, in two tiers."""
    # Few tokens have a bin each.
    xp, vocab = array_namespace(order), order.shape[-1]
    if vocab <= bins:
        return 0 * order + ids(order), tier
    # Many are pooled by the mass up to them; tiers above the lowest count as one.
    upper = xp.where(tier > 0, 1, 0)
    place = xp.take_along_axis(mass, xp.argsort(order, axis=-1), axis=-1) * bins
    place = xp.clip(xp.astype(wide(place), order.dtype), 0, bins - 1) + upper
    # The likeliest token has a bin of its own.
    place = xp.where(top, bins + 1, place)
    return place, xp.astype(_bins.sums(xp.astype(upper, mass.dtype), place, bins + 2) > 0, order.dtype)


def _over_others(plan: Plan, q_bin: Array, odds_bin: Array) -> Array:
    """Sum over y of q_x q_y (1/(1 - q_x) + 1/(1 - q_y)) P(x beats y), for each x, by bins of y."""
    xp = array_namespace(plan.q)
    by_q, by_odds = (xp.sum(plan.wins * row[..., None, :], axis=-1) for row in (q_bin, odds_bin))
    by_q, by_odds = (xp.take_along_axis(row, plan.place, axis=-1) for row in (by_q, by_odds))
    return plan.odds * by_q + plan.q * by_odds


def _first(plan: Plan, drafts: Array) -> Array:
    """Probability that the first of the drafts (..., K) is chosen."""
    if plan.num_drafts == 1:
        return 1 + 0 * at(plan.p, drafts[..., 0])
    bin_0, bin_1 = (at(plan.place, drafts[..., k]) for k in range(2))
    flat = array_namespace(plan.wins).reshape(plan.wins, (*plan.wins.shape[:-2], -1))
    return at(flat, bin_0 * plan.wins.shape[-1] + bin_1)
