r"""How many drafts a pass verifies, and whose: a budget over the nodes of a tree, or over the requests of a batch.

Speed.       (base + the gains of the drafts verified) / (the time of a cycle with so many drafts);
             base is 1 for one request, and the number of requests for a batch.
Whose.       The survivals P(n >= i) of a request fall with i, so the B largest of a batch are a
             prefix of every request, and no other B drafts keep more (T61).
How many.    Where the time is convex in the drafts, the first number at which one draft more gains
             no speed is the best of all (T61): a search may stop there. Passes of an engine that
             captures CUDA graphs cost a staircase, which is not convex; there it may stop too early.
Paper.       Cheng et al., DSpark, arXiv:2607.05147 (a batch); He et al., CaDDTree,
             arXiv:2606.01813 (a tree).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.results import result
from specsim.types import Array


@result("drafts", "speed")
class DraftBudget(NamedTuple):
    """The number of drafts of most tokens per unit of time, and where a search ends that stops at the first loss.

    drafts, speed: the best number, the smallest of equals, and its speed. stopped, stopped_speed: those at which one
    draft more first gains no speed. speeds (N+1,): of 0, ..., N drafts.

    Examples
    --------
    >>> draft_budget([0.9, 0.5], [1.0, 1.0, 1.0]).drafts
    2
    """

    drafts: int
    speed: Any
    stopped: int
    stopped_speed: Any
    speeds: Array


@result("lengths", "speed")
class BatchBudget(NamedTuple):
    """Drafts to verify for each request of a batch, with what they are expected to give.

    lengths (b,): drafts of each request; tokens: expected in the cycle; speed: tokens per unit of time; budget: how
    many drafts, see `DraftBudget`.

    Examples
    --------
    >>> batch_budget([[0.9, 0.8], [0.3, 0.1]], [1.0, 1.0, 1.0, 2.0, 3.0]).lengths.tolist()
    [2, 0]
    """

    lengths: Array
    tokens: Any
    speed: Any
    budget: DraftBudget


@result("loss")
class BudgetLoss(NamedTuple):
    """What wrong confidences cost a batch in one cycle.

    loss: 1 - speed / best.speed. speed, tokens: what the lengths chosen by the confidences really give. chosen: what
    they promise. best: what the true survivals would choose.

    Examples
    --------
    >>> true, stated, flat = [[0.4], [0.5]], [[0.6], [0.5]], [1.0, 1.0, 9.0]
    >>> cost = budget_loss(stated, true, flat)  # one draft fits, and the wrong one is taken
    >>> round(float(cost.loss), 3)
    0.04
    """

    loss: Any
    speed: Any
    tokens: Any
    chosen: BatchBudget
    best: BatchBudget


def draft_budget(gains: Array, times: Array, *, base: float = 1) -> DraftBudget:
    r"""The number of drafts with the most tokens per unit of time, where each further draft gains less.

    .. math:: \max_n \; \frac{\text{base} + \sum_{i \le n} g_i}{t_n}

    Parameters
    ----------
    gains : array_like, shape (N,)
        Tokens that the first, second, ... draft gains, not rising: `reach` of a `heap_tree`, or survivals in
        decreasing order. Fractions keep the answer exact.
    times : array_like, shape (N+1,)
        Time of a cycle, drafting included, that verifies 0, ..., N drafts; positive, in any unit.
    base : float
        Tokens of a cycle without drafts: the number of requests.

    Returns
    -------
    DraftBudget
        The best number among all, and the one at which a search that stops at the first loss ends.

    Raises
    ------
    ValueError
        A gain is outside [0, 1] or larger than the one before it, a time is not positive, or there is not one time
        more than there are gains.

    References
    ----------
    He et al. 2026, CaDDTree, arXiv:2606.01813 (the objective); T61 in proofs/.

    Examples
    --------
    >>> staircase = [1.0, 1.6, 1.6, 1.6, 1.6]  # passes of 1 token, and of up to 5
    >>> found = draft_budget([0.5, 0.5, 0.5, 0.5], staircase)
    >>> found.drafts, round(float(found.speed), 3), found.stopped
    (4, 1.875, 0)
    """
    g = np.asarray(check.real_values(gains, "gains", 0, 1))
    t = np.asarray(check.real_values(times, "times", 0, float("inf")))
    least = check.scalar(base, "base", "[0, inf)")
    if g.ndim != 1 or t.shape != (len(g) + 1,):
        raise ValueError(f"times has shape {t.shape} for {g.shape} gains; give the time of 0, 1, ..., N drafts")
    _require_falling(g[None], "gains", "a later draft cannot gain more; sort them")
    if not (t > 0).all():
        raise ValueError(f"times[{int(np.argmax(~(t > 0)))}] is 0; a cycle takes time")

    # Speeds of every number; the first at which one draft more gains nothing.
    tokens = least + np.concatenate([0 * t[:1], np.cumsum(g)])
    speeds = tokens / t
    rises = speeds[1:] > speeds[:-1]
    stopped = int(np.argmin(rises)) if not rises.all() else len(g)
    best = int(np.argmax(speeds))
    return DraftBudget(best, speeds[best], stopped, speeds[stopped], speeds)


def batch_budget(survival: Array, times: Array) -> BatchBudget:
    r"""The drafts of each request to verify, for the most tokens per unit of time of the whole batch.

    .. math:: \max_{k_1, \dots, k_b} \; \frac{b + \sum_r \sum_{i \le k_r} s_{ri}}{t_{k_1 + \dots + k_b}}

    Parameters
    ----------
    survival : array_like, shape (b, gamma)
        P(n >= i) of each request: the products of its confidences up to draft i. They do not rise along a row.
        Fractions keep the answer exact.
    times : array_like, shape (b * gamma + 1,)
        Time of a cycle of the batch that verifies 0, 1, ... drafts in all; positive, in any unit.

    Returns
    -------
    BatchBudget
        lengths, tokens, speed, and the search over the number of drafts. Of equal survivals an earlier draft is
        verified first, then an earlier request.

    Raises
    ------
    ValueError
        A survival is outside [0, 1] or rises along its row, or the times do not fit.

    References
    ----------
    Cheng et al. 2026, DSpark, arXiv:2607.05147; that the choice is optimal: T61 in proofs/.

    Examples
    --------
    >>> found = batch_budget([[0.9, 0.8], [0.3, 0.1]], [1.0, 1.1, 1.2, 1.5, 1.8])
    >>> found.lengths.tolist(), round(float(found.speed), 3)
    ([2, 0], 3.083)
    """
    s = _survivals(survival, "survival")
    count = len(s)
    # Earlier drafts first, so that equal survivals keep the order of a request.
    order = np.argsort(-s.T.ravel(), kind="stable")
    budget = draft_budget(s.T.ravel()[order], times, base=count)
    requests = (order % count)[: budget.drafts]
    lengths = np.bincount(requests, minlength=count)
    tokens = _tokens(s, lengths)
    return BatchBudget(lengths, tokens, budget.speed, budget)


def budget_loss(stated: Array, true: Array, times: Array) -> BudgetLoss:
    """The exact loss in speed where drafts are chosen by stated survivals and are kept with the true ones.

    Parameters
    ----------
    stated : array_like, shape (b, gamma)
        Survivals by which the drafts are chosen, such as products of the outputs of a confidence head.
    true : array_like, shape (b, gamma)
        Survivals with which drafts are kept.
    times : array_like, shape (b * gamma + 1,)
        As in `batch_budget`.

    Returns
    -------
    BudgetLoss
        loss, the share of the best speed; what is promised, what is kept and what would be best. Both the number of
        drafts and whose they are are chosen by the stated survivals. An increasing function of all survivals leaves
        whose they are, so it costs through their number alone; one of single confidences changes both.

    Raises
    ------
    ValueError
        As in `batch_budget`, or the two have different shapes.

    References
    ----------
    Cheng et al. 2026, DSpark, arXiv:2607.05147 (the confidences); the loss: T61 in proofs/.

    Examples
    --------
    >>> even = budget_loss([[0.5, 0.5]], [[0.5, 0.25]], [1.0, 1.25, 1.5])
    >>> even.chosen.lengths.tolist(), even.best.lengths.tolist(), round(float(even.loss), 4)
    ([2], [1], 0.0278)
    """
    s, kept = _survivals(stated, "stated"), _survivals(true, "true")
    if s.shape != kept.shape:
        raise ValueError(f"stated has shape {s.shape} and true {kept.shape}; give both for the same drafts")
    chosen, best = batch_budget(s, times), batch_budget(kept, times)
    tokens = _tokens(kept, chosen.lengths)
    speed = tokens * chosen.speed / chosen.tokens
    return BudgetLoss(1 - speed / best.speed, speed, tokens, chosen, best)


def _survivals(value: Any, name: str) -> Array:
    """Return survivals (b, gamma), checked."""
    s = np.asarray(check.real_values(value, name, 0, 1))
    if s.ndim != 2 or not s.size:
        raise ValueError(f"{name} has shape {s.shape}; give one row for each request, (b, gamma)")
    _require_falling(s, name, "P(n >= i) cannot grow with i; give products of confidences")
    return s


def _require_falling(rows: Array, name: str, remedy: str) -> None:
    """Raise ValueError that names the first row (of several) with an entry larger than the one before it."""
    grows = (rows[:, 1:] > rows[:, :-1]).any(axis=1)
    if grows.any():
        row = f"[{int(np.argmax(grows))}]" if len(rows) > 1 else ""
        raise ValueError(f"{name}{row} rises; {remedy}")


def _tokens(survival: Array, lengths: Array) -> Any:
    """Return the expected tokens of a cycle that verifies so many drafts of each request."""
    verified = np.arange(survival.shape[1]) < lengths[:, None]
    return len(survival) + np.where(verified, survival, 0 * survival).sum()
