"""Speculation during verification (SSD): the next block is drafted beside the pass, for the outcomes that are guessed.

While the target verifies a block, the draft model drafts the next block for several outcomes (how many drafts are
accepted, and which token follows) and stores these blocks in a cache. If the outcome is in the cache, a hit, the next
pass starts at once. If not, a block is drafted while the target waits. As in `methods`, times are in target steps, all
numbers are predictions, and Fractions stay Fractions.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check
from specsim.latency import LatencyModel
from specsim.lengths.acceptance_record import Acceptance, as_acceptance
from specsim.lengths.blocks import accepted_length_law
from specsim.speed.methods import Speed
from specsim.speed.ratio import Curve, pass_time
from specsim.types import Array


@np.errstate(under="ignore")
def ssd(
    alpha: Array,
    *,
    hits: Array,
    gamma: int | None = None,
    cost_ratio: float = 0,
    backup: Array | None = None,
    backup_cost: float | None = None,
    verify_cost: Curve = None,
    interference: float = 1,
    overhead: float = 0,
) -> Speed:
    r"""Return the expected speedup from a law of cache hits, exactly: hits and misses form a Markov chain.

    .. math:: S = \frac{\pi \tau_h + (1 - \pi) \tau_m}{(1 - \pi) T_b + \rho \max(\gamma c, t(\gamma + 1)) + o}, \qquad
        \pi = \frac{P_m}{1 - P_h + P_m}, \quad P_k = \sum_n P_k(n) H_n

    P_h(n) and P_m(n) are the laws of the drafts kept after a hit and after a miss. A round prepares the next one's
    drafts beside its pass, however its own were made; the first finds none. Where gamma c is at most t this is the
    paper's ratio, with its share of hits worked out from the law.

    Parameters
    ----------
    alpha : float or array_like, shape (gamma,)
        With gamma: one acceptance for every position. Without: the hazard curve. Of drafts that were prepared.
    hits : float or array_like, shape (gamma + 1,)
        H_n, the probability that the outcome is in the cache given that n drafts were kept; see `cache_hits`.
    gamma : int, optional
        Speculation length, at least 0.
    cost_ratio : float
        c, a draft step in target steps, over all that the cache holds at once.
    backup : float or array_like, shape (gamma,), optional
        Acceptance of the drafts that a miss waits for; the same by default.
    backup_cost : float, optional
        T_b, the target steps that drafting after a miss takes; gamma c by default.
    verify_cost : callable or sequence, optional
        t(m), as in `speedup`.
    interference : float
        rho, at least 1: how much longer a round takes because both models run at once; 1 if they share nothing.
    overhead : float
        o per round, in target steps.

    Returns
    -------
    Speed
        Averages over rounds of both kinds: one target call each.

    Raises
    ------
    ValueError
        An acceptance or a hit outside [0, 1], hits that are not one number or gamma + 1 of them, interference below 1,
        or a negative cost.

    References
    ----------
    Kumar, Dao, May 2026, arXiv:2603.03251 (Saguaro); that the share of hits follows from the law is derived here.

    Examples
    --------
    >>> from specsim import draft_then_verify
    >>> cached = ssd(0.8, hits=0.9, gamma=5, cost_ratio=0.1)
    >>> round(float(cached.speedup), 4), round(float(draft_then_verify(0.8, gamma=5, cost_ratio=0.1).speedup), 4)
    (3.5136, 2.4595)
    """
    # P_h = law and P_m = law_after_miss: laws of the number of accepted drafts.
    law = accepted_length_law(alpha, gamma=gamma)
    if law.ndim != 1:
        raise ValueError(f"alpha must be a number or one hazard curve, got shape {np.shape(alpha)}")
    g = len(law) - 1
    law_after_miss = law
    if backup is not None:
        law_after_miss = accepted_length_law(backup, gamma=g if np.ndim(backup) == 0 else None)
    if law_after_miss.shape != law.shape:
        raise ValueError(f"backup must be a number or {g} hazards, got shape {np.asarray(backup).shape}")
    # H_n, and the costs of a round.
    hit_rates = _hit_rates(hits, g)
    c, o = (check.scalar(v, n, "[0, inf)") for v, n in ((cost_ratio, "cost_ratio"), (overhead, "overhead")))
    rho = check.scalar(interference, "interference", "[1, inf)")
    waited = g * c if backup_cost is None else check.scalar(backup_cost, "backup_cost", "[0, inf)")
    # The share of hits: the stationary law of the chain of hits and misses.
    after_hit, after_miss = (
        sum(p * h for p, h in zip(w.tolist(), hit_rates, strict=True)) for w in (law, law_after_miss)
    )
    share: Any = 0 if after_miss == 0 else after_miss / (1 - after_hit + after_miss)
    # Means over rounds of both kinds.
    tokens = sum((n + 1) * (share * law[n] + (1 - share) * law_after_miss[n]) for n in range(g + 1))
    beside = rho * max(g * c, pass_time(verify_cost, g + 1)) + o
    time = (1 - share) * waited + beside
    words = (
        f"the drafts of {float(share):.3g} of the rounds are prepared, by the law of hits given",
        "hits depend on how many drafts are kept and on nothing before; both models run at once",
    )
    # No chain has a larger share of hits than the largest H_n.
    return Speed(tokens, time, tokens / time, g + 1, (g + 1) / ((1 - max(hit_rates)) * waited + beside), words)


def _hit_rates(hits: Array, gamma: int) -> list[Any]:
    """Return H_0, ..., H_gamma, the probability of a hit after n accepted drafts; one number holds for every n."""
    if np.ndim(hits) == 0:
        return [check.scalar(hits, "hits", "[0, 1]")] * (gamma + 1)
    rates = check.real_values(hits, "hits", 0, 1)
    if rates.shape != (gamma + 1,):
        raise ValueError(f"hits must be a number or {gamma + 1}, one for each number kept, got shape {rates.shape}")
    return list(rates.tolist())


def cached_drafts(latency: LatencyModel, acceptance: Any, hits: Array) -> LatencyModel:
    r"""Return the latency model with drafts that are prepared while the target verifies the previous block.

    .. math:: T_c(\gamma) = (1 - \pi_\gamma) \gamma T_D + \max(\gamma T_D, T_V(\gamma + 1)) + T_o, \qquad
        \pi_\gamma = \sum_n P_\gamma(n) H_n

    This is what `ssd` gives where the block after a miss is drafted by the same model in the same time.

    Parameters
    ----------
    latency : LatencyModel
        What passes and steps cost, each model alone on what it runs on.
    acceptance : float, array_like, HazardEstimate, callable or Acceptance
        As in `plan`: from it the law of the drafts kept.
    hits : float or array_like, shape (n,)
        H_n as in `ssd`; the last entry holds for more drafts, too.

    Returns
    -------
    LatencyModel
        With `prepared`.

    Raises
    ------
    ValueError
        A hit outside [0, 1]; when asked: a length that the acceptance does not speak of.

    References
    ----------
    Kumar, Dao, May 2026, arXiv:2603.03251.

    Examples
    --------
    >>> from specsim.latency import constant
    >>> model = cached_drafts(constant(0.1), 0.8, 0.9)
    >>> round(model.cycle(5).value, 3)  # one block in ten is waited for
    1.05
    """
    check.record(latency, "latency", LatencyModel)
    curve: Acceptance = as_acceptance(acceptance)
    rates = np.atleast_1d(np.asarray(check.real_values(hits, "hits", 0, 1), dtype=float))
    if rates.ndim != 1 or not len(rates):
        raise ValueError(f"hits must be a number or one row of them, got shape {np.shape(hits)}")

    # The share of hits pi_gamma; cached, since it is needed at every batch and context.
    @cache
    def prepared(gamma: int) -> float:
        """Return the share of rounds whose block is in the cache."""
        law = np.asarray(accepted_length_law(np.array(curve.hazards(gamma))), dtype=float)
        return min(float(law @ rates[np.minimum(np.arange(gamma + 1), len(rates) - 1)]), 1.0)

    words = "drafts are prepared beside the pass before, on a device of their own; how many are found does not change"
    return latency._replace(prepared=prepared, assumptions=(*latency.assumptions, words))


class CacheHits(NamedTuple):
    """Probability of a hit after a rejection, and after a block whose drafts were all accepted; shape (...)."""

    rejected: Array
    whole: Array


@np.errstate(under="ignore")
def cache_hits(p: Array, q: Array, *, fan_out: int) -> CacheHits:
    r"""Return the exact probability that the token after a block is among the draft's `fan_out` guesses.

    .. math:: h_\text{rejected} = \sum_x \frac{(q_x - p_x)_+}{TV} \sum_{v \in \text{top}_F(q \setminus x)}
        \frac{(p_v - q_v)_+}{TV}, \qquad h_\text{whole} = \sum_{v \in \text{top}_F(q)} p_v

    After a rejection the token is drawn from the residual of tokenwise rejection, whatever draft was refused; the cache
    guesses the F tokens that its own law thinks likeliest, the refused one left out. Of equals the first are guessed.

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Laws of target and draft at the position that the token is drawn for.
    fan_out : int
        F, guesses of the cache for one outcome, at least 1.

    Returns
    -------
    CacheHits
        `rejected` is 0 where nothing can be refused, since q is p there.

    Raises
    ------
    ValueError
        A row is not a law, the vocabularies differ, or fan_out is below 1.

    References
    ----------
    Kumar, Dao, May 2026, arXiv:2603.03251, section 4 (the cache); the sum is derived here.

    Examples
    --------
    >>> guessed = cache_hits([0.5, 0.3, 0.2], [0.1, 0.3, 0.6], fan_out=1)
    >>> round(float(guessed.rejected), 3), round(float(guessed.whole), 3)
    (0.0, 0.2)
    """
    # The F likeliest tokens of q, and the F + 1 likeliest.
    p, q = (np.asarray(w) for w in check.laws(p, q))
    p, q = np.broadcast_arrays(p, q)
    count = min(check.integer(fan_out, "fan_out", 1), q.shape[-1])
    order = np.argsort(-q, axis=-1, kind="stable")
    first, more = order[..., :count], order[..., : count + 1]
    # (p - q)+, (q - p)+, and the mass of the first among the guesses.
    gained, lost = (np.where(a > b, a - b, a * 0) for a, b in ((p, q), (q, p)))
    total = gained.sum(axis=-1)
    of_first = np.take_along_axis(gained, first, axis=-1).sum(axis=-1)
    of_more = np.take_along_axis(gained, more, axis=-1).sum(axis=-1)
    # A refused token that is among the first leaves room for one guess more; it has no residual of its own.
    refused_first = np.take_along_axis(lost, first, axis=-1).sum(axis=-1)
    hit = (total - refused_first) * of_first + refused_first * of_more
    whole = np.take_along_axis(p, first, axis=-1).sum(axis=-1)
    can_be_refused = total > 0
    rejected = np.where(can_be_refused, hit / np.where(can_be_refused, total, 1) ** 2, 0 * hit)
    return CacheHits(rejected, whole)
