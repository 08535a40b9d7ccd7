"""Bounds that a reported speedup must obey."""

from __future__ import annotations

from typing import NamedTuple

from specsim.base import check, limits
from specsim.base.results import result


@result("refused", "flags")
class Claim(NamedTuple):
    """The objections to a reported speedup.

    ``refused`` holds the impossible, ``flags`` what needs an explanation.

    Examples
    --------
    >>> check_claim(3.53, gamma=7, tau=3.33).flags[0]
    'speedup 3.53 is above tau 3.33: a cycle was cheaper than one plain step'
    """

    refused: tuple[str, ...]
    flags: tuple[str, ...]


def check_claim(
    speedup: float,
    *,
    gamma: int,
    tau: float | None = None,
    cost_ratio: float = 0.0,
    verify_cost: float = 1.0,
    rounding: float = 0.0,
) -> Claim:
    r"""Check whether a reported speedup is possible, given the other reported numbers.

    It is that of one chain at one batch size.

    .. math:: \tau \le \gamma + 1, \qquad S \le \frac{\gamma + 1}{\gamma c + t(\gamma + 1)}, \qquad
        \text{and, unless a cycle is cheaper than a step,} \; S \le \tau

    Parameters
    ----------
    speedup : float
        S, as reported.
    gamma : int
        Speculation length, at least 1.
    tau : float, optional
        Tokens per target call, as reported.
    cost_ratio, verify_cost : float
        c, and t(gamma+1), in target steps, as reported.
    rounding : float
        Relative amount by which reported numbers may be off.

    Returns
    -------
    Claim
        The first two bounds refuse; S above tau is flagged only, since slow baselines do occur.

    Raises
    ------
    ValueError
        A number outside its range.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, theorem 3.8 (the algebra whose extremes these are).

    Examples
    --------
    >>> check_claim(4.2, gamma=3, cost_ratio=0.05).refused
    ('speedup 4.2 is above 3.478, what gamma = 3 gives if every draft is kept',)
    """
    # Check the numbers, named as in the formula.
    g = check.integer(gamma, "gamma", 1, limits.MAX_GAMMA)
    s = float(check.scalar(speedup, "speedup", "(0, inf)"))
    c = float(check.scalar(cost_ratio, "cost_ratio", "[0, inf)"))
    t = float(check.scalar(verify_cost, "verify_cost", "(0, inf)"))
    slack = 1 + float(check.scalar(rounding, "rounding", "[0, 1)"))

    # The speedup if every draft is accepted.
    top = (g + 1) / (g * c + t)
    limit = f"what gamma = {g} gives if every draft is kept"
    return judge(s, tau, top=top, limit=limit, most=g + 1, tokens=f"gamma + 1 = {g + 1}", slack=slack)


def judge(
    speedup: float, tau: float | None, *, top: float, limit: str, most: int | None, tokens: str, slack: float
) -> Claim:
    """The objections to a speedup, given the most that speedup and tau can be.

    A speedup above `top` or a tau above `most` is refused, a speedup above tau is flagged. `most`
    is None where calls overlap, so that nothing bounds tau.
    """
    refused, flags = [], []
    if speedup > top * slack:
        refused.append(f"speedup {speedup:g} is above {top:.4g}, {limit}")
    if tau is not None:
        mean_length = float(check.scalar(tau, "tau", "(0, inf)"))
        if most is not None and mean_length > most * slack:
            refused.append(f"tau {mean_length:g} is above {tokens}")
        if mean_length * slack < 1:
            refused.append(f"tau {mean_length:g} is below 1: a target call emits a token")
        if speedup > mean_length * slack:
            flags.append(f"speedup {speedup:g} is above tau {mean_length:g}: a cycle was cheaper than one plain step")
    return Claim(tuple(refused), tuple(flags))
