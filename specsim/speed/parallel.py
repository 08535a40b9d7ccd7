"""Cost algebras of drafting while the target verifies: PEARL's rounds, and DSI's many targets.

As in `methods`: times in target steps, predictions, Fractions in and out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from specsim.base import check, limits
from specsim.speed.methods import Speed
from specsim.speed.ratio import Curve, pass_time

_CACHE = "every pass finds the caches of the tokens before it"


@np.errstate(under="ignore")
def pearl(
    alpha: float,
    *,
    gamma: int,
    cost_ratio: float,
    verify_cost: Curve = None,
    interference: float = 1,
    overhead: float = 0,
) -> Speed:
    r"""Draft and target at the same time, in rounds of gamma draft steps beside one target pass.

    .. math:: S = \frac{\sum_{j<\gamma} \alpha^j}{(1 - \alpha^\gamma) T_1 + \alpha T_\gamma}, \qquad
        T_m = \rho \max(\gamma c, t(m)) + o

    After a rejection the pass tests the first new draft only, while it and its followers are being drafted, and emits
    one token (pre-verify); if that draft is kept, the next passes test gamma drafts each, one drafted beside them,
    until one fails (post-verify). Every round emits tokens, and none is spent on drafting alone (T26); but a rejection
    costs a round, and where many are, this is slower than drafting and waiting, or than no draft.

    Parameters
    ----------
    alpha : float
        Acceptance of a draft, the same everywhere.
    gamma : int
        Drafts per round, at least 1; about t / c of them fill a pass.
    cost_ratio : float
        c, a draft step in target steps.
    verify_cost : callable or sequence, optional
        t(m), as in `speedup`.
    interference : float
        rho, at least 1: how much longer a round takes because both models run at once; 1 if they share nothing.
    overhead : float
        o per round: exchange of tokens and laws.

    Returns
    -------
    Speed
        Averages over rounds of both kinds: one target call each, at most gamma tokens. The accepted tokens that the
        released code prints are those between two rejections, alpha / (1 - alpha) on average, over several calls.

    Raises
    ------
    ValueError
        alpha outside [0, 1], gamma below 1, interference below 1, or a negative cost.

    References
    ----------
    Liu et al. 2024, PEARL, arXiv:2408.11850 and its released code (the rounds); the closed form is derived here.

    Examples
    --------
    >>> speed = pearl(0.8, gamma=5, cost_ratio=0.2)
    >>> round(speed.speedup, 4), round(speed.bound, 4)
    (2.2832, 5.0)
    """
    a, g = check.scalar(alpha, "alpha", "[0, 1]"), check.integer(gamma, "gamma", 1, limits.MAX_GAMMA)
    c, rho, o = (
        check.scalar(v, name, allowed)
        for v, name, allowed in (
            (cost_ratio, "cost_ratio", "[0, inf)"),
            (interference, "interference", "[1, inf)"),
            (overhead, "overhead", "[0, inf)"),
        )
    )
    # Times of a round after a rejection, and of a round while all drafts are accepted.
    first, running = (rho * max(g * c, pass_time(verify_cost, m)) + o for m in (1, g))
    run = sum(a**j for j in range(g))
    # In the long run rounds of the two kinds are as 1 - a^g to a.
    rounds = 1 - a**g + a
    time = ((1 - a**g) * first + a * running) / rounds
    words = ("acceptance is i.i.d., as declared", "both models run at once, rounds keep step", _CACHE)
    return Speed(run / rounds, time, run / rounds / time, g, max(1 / first, g / running), words)


@np.errstate(under="ignore")
def dsi(alpha: float, *, gamma: int, cost_ratio: float, verify_cost: Curve = None, overhead: float = 0) -> Speed:
    r"""Speculation parallelism: the draft never waits, and every block of gamma drafts gets a target of its own.

    .. math:: S = \frac{E[n + 1]}{E \min\big(n + 1, \; \lceil (n+1) / \gamma \rceil \gamma c + t(\gamma) + o\big)},
        \qquad P(n) = \alpha^n (1 - \alpha)

    A round goes to the first rejection: n drafts kept, and the target's token. One more target decodes plainly beside
    them, hence the minimum. Never slower than plain decoding, nor (where t grows with the tokens) than
    `draft_then_verify` of the same length (T26).

    Parameters
    ----------
    alpha : float
        Acceptance of a draft, the same everywhere, below 1.
    gamma : int
        Drafts per block, at least 1. ceil(t(gamma) / (gamma c)) targets must be there to verify.
    cost_ratio : float
        c, a draft step in target steps.
    verify_cost : callable or sequence, optional
        t(m), as in `speedup`.
    overhead : float
        o, in target steps, for every round: to stop what runs and start anew.

    Returns
    -------
    Speed
        Where gamma c is above 1 a lower bound: a plain run could start at each verified block.

    Raises
    ------
    ValueError
        alpha outside [0, 1), gamma below 1, a negative cost, or a draft so nearly as slow as the target that the sum
        has over a million terms.

    References
    ----------
    Timor et al. 2024, DSI, arXiv:2405.14105; the closed form is derived here.

    Examples
    --------
    >>> from specsim import draft_then_verify
    >>> speed = dsi(0.8, gamma=5, cost_ratio=0.1)
    >>> round(speed.speedup, 4), round(float(draft_then_verify(0.8, gamma=5, cost_ratio=0.1).speedup), 4)
    (3.0419, 2.4595)
    >>> speed.assumptions[1]
    'so many targets verify at once as are needed: 2, and one decodes plainly'
    """
    a, g = check.scalar(alpha, "alpha", "[0, 1)"), check.integer(gamma, "gamma", 1, limits.MAX_GAMMA)
    c, o = (check.scalar(v, n, "[0, inf)") for v, n in ((cost_ratio, "cost_ratio"), (overhead, "overhead")))
    # The time of a round: E min(n + 1, ceil((n + 1) / g) g c + verify), term by term and a geometric tail.
    alone = pass_time(verify_cost, g)
    verify = alone + o
    bound: Any
    if c >= 1:
        # Drafting n + 1 tokens takes as long as decoding them.
        time, bound = 1 / (1 - a), 1
    else:
        # From block m + 1 on, where m g (1 - c) >= g c + t - 1, speculation is first at every n.
        blocks = max(math.ceil((g * c + verify - 1) / (g * (1 - c))), 0)
        if blocks * g > 10**6:
            raise ValueError(f"cost_ratio is {c}, too near 1: speculation is first from draft {blocks * g} on")
        early = (a**n * min(n + 1, -(-(n + 1) // g) * g * c + verify) for n in range(blocks * g))
        late = a ** (blocks * g) * (blocks * g * c + g * c / (1 - a**g) + verify)
        time, bound = (1 - a) * sum(early) + late, 1 / c if c else math.inf
    # Targets that verify at once, for the assumptions.
    tokens = 1 / (1 - a)
    needed = alone / (g * c) if c else math.inf
    count = "without limit, as drafts cost nothing"
    if math.isfinite(needed):
        count = f"{math.ceil(needed)}, and one decodes plainly"
    words = ("acceptance is i.i.d., as declared", f"so many targets verify at once as are needed: {count}", _CACHE)
    return Speed(tokens, time, tokens / time, None, bound, words)
