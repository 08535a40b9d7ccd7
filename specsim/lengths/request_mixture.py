"""The law of requests: a mixture of kinds of requests, each with hazards of its own, fitted to a record.

Where requests differ, blocks that come far are mostly of good requests, so hazards of all blocks together rise with the
position although no request's do. A mixture has that, and the tails of answers' times with it; one curve has neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.results import result
from specsim.lengths.blocks import accepted_length_law
from specsim.lengths.request_alpha import blocks_by_length
from specsim.lengths.request_record import AcceptanceRecord, PositionCounts, check_record, position_counts, stepped
from specsim.lengths.requests import RequestLaw, request_law
from specsim.types import Array

# Most kinds that are tried.
MOST_KINDS = 8
# Most rounds of a fit, which ends earlier if a round gains less log-likelihood than PROGRESS.
ROUNDS = 200
PROGRESS = 1e-4
# Groups of requests that the jackknife leaves out, one at a time.
GROUPS = 20
# Blocks with the pooled hazard that are added to those of each kind, so that no hazard is 0 or 1 for want of blocks.
PRIOR = 1.0


class Errors(NamedTuple):
    """Standard errors of a mixture's weights, hazards and block weights, by the jackknife over groups of requests."""

    weights: Array
    hazards: Array
    block_weights: Array


@result("tau", "weights")
class RequestMixture(NamedTuple):
    """Kinds of requests, the one with the smallest tau first: weights (kinds,) and hazards (kinds, length).

    weights: shares of requests. block_weights: shares of steps; a kind with long answers has more of these. requests:
    how many were fitted. errors: standard errors, None with fewer requests than groups.

    Examples
    --------
    >>> from specsim.lengths.request_record import request_of_blocks
    >>> poor, good = request_of_blocks([0, 1, 0, 0], 2), request_of_blocks([2, 2, 2, 1], 2)
    >>> mixture = request_mixture(AcceptanceRecord((poor,) * 6 + (good,) * 3))
    >>> mixture.weights.round(2).tolist(), mixture.taus.round(1).tolist()
    ([0.67, 0.33], [1.3, 2.7])
    """

    weights: Array
    hazards: Array
    block_weights: Array
    requests: int
    errors: Errors | None = None

    @property
    def taus(self) -> Array:
        """Tokens per step of each kind."""
        return 1 + np.cumprod(self.hazards, axis=1).sum(axis=1)

    @property
    def tau(self) -> float:
        """Tokens per step of all requests together."""
        return float(self.block_weights @ self.taus)

    @property
    def words(self) -> str:
        """What the kinds are, in words."""
        shares = ", ".join(
            f"{weight:.0%} with tau {tau:.2f}" for weight, tau in zip(self.weights, self.taus, strict=True)
        )
        kinds = "one kind" if len(self.weights) == 1 else f"{len(self.weights)} kinds"
        return f"requests are of {kinds}, fitted to {self.requests}: {shares}"

    def pooled_hazards(self) -> Array:
        """Return the hazards of the blocks of all kinds together: they rise where requests differ."""
        survival = np.cumprod(self.hazards, axis=1)
        # The probability that a block reaches each position: all drafts before it are accepted.
        reached = np.concatenate([np.ones((len(survival), 1)), survival[:, :-1]], axis=1)
        return (self.block_weights @ survival) / (self.block_weights @ reached)

    def request_law(self, tokens: int, *, cycle_s: float, first_s: float = 0.0) -> RequestLaw:
        """Return the law of the cycles of an answer of so many tokens, of a request drawn from all kinds."""
        laws = [request_law(accepted_length_law(row), tokens, cycle_s=cycle_s, first_s=first_s) for row in self.hazards]
        cycles = sum(weight * law.cycles for weight, law in zip(self.weights, laws, strict=True))
        return laws[0]._replace(cycles=cycles)


def request_mixture(record: AcceptanceRecord, *, kinds: int | None = None) -> RequestMixture:
    r"""Fit a mixture of kinds of requests, with its uncertainty.

    .. math:: \Pr(\text{counts of } r) = \sum_c w_c \prod_i \alpha_{ci}^{k_{ri}} (1 - \alpha_{ci})^{n_{ri} - k_{ri}}

    Parameters
    ----------
    record : AcceptanceRecord
        Two requests or more, with histograms. A step without a draft counts as one whose first draft was rejected.
    kinds : int, optional
        How many kinds; by default as many as the Bayesian information criterion prefers, at most 8.

    Returns
    -------
    RequestMixture
        Fitted by expectation and maximisation, from groups of requests of similar tau. Errors are the jackknife's over
        20 groups of requests.

    Raises
    ------
    ValueError
        Fewer than two requests with steps, no histograms, steps without a draft that are not known, or more kinds than
        requests.

    References
    ----------
    Dempster, Laird and Rubin 1977, JRSS B 39:1 (the fit); Schwarz 1978, Annals of Statistics 6:461 (the criterion).

    Examples
    --------
    >>> from specsim.lengths.request_record import request_of_blocks
    >>> requests = tuple(request_of_blocks([2] * n + [0] * (20 - n), 2) for n in (4, 5, 15, 16, 5, 15))
    >>> mixture = request_mixture(AcceptanceRecord(requests))
    >>> [round(float(hazard), 2) for hazard in mixture.hazards[:, 0]]
    [0.24, 0.76]
    """
    # Counts of every request, per step of the target.
    counts = _counts(record)
    requests = len(counts.tried)
    if kinds is not None:
        check.integer(kinds, "kinds", 1, MOST_KINDS)
        if kinds > requests:
            raise ValueError(f"kinds is {kinds} for {requests} requests; expected no more kinds than requests")
    # As many kinds as the criterion prefers.
    tried = range(1, min(MOST_KINDS, requests) + 1) if kinds is None else [kinds]
    fits = [_fit(counts, _start(counts, number)) for number in tried]
    best = min(fits, key=lambda fit: _criterion(fit, counts))
    if requests < GROUPS:
        return _mixture(best, requests)
    return _mixture(best, requests)._replace(errors=_errors(best, counts))


def kinds_of(record: AcceptanceRecord | None) -> Callable[[], RequestMixture] | None:
    """Return what fits kinds of requests to a record when it is called; None where the record does not allow a fit."""
    return cache(lambda: request_mixture(record)) if record is not None and can_be_fitted(record) else None


def can_be_fitted(record: AcceptanceRecord) -> bool:
    """Return whether a record has what a fit needs: histograms of two requests or more, and their plain steps."""
    record = stepped(record)
    return (
        len(record.requests) > 1
        and record.has_positions
        and blocks_by_length(record) is not None
        and all(request.plain_steps is not None for request in record.requests)
    )


class _Fit(NamedTuple):
    """A fitted mixture: weights, hazards, shares of steps, and its log-likelihood."""

    weights: Array
    hazards: Array
    block_weights: Array
    log_likelihood: float


def _counts(record: AcceptanceRecord) -> PositionCounts:
    """Return the tried and accepted drafts (requests, positions) of requests that have steps.

    Raise ValueError where the record lacks what the fit needs. Each step without a draft counts as a rejection at the
    first position.
    """
    record = stepped(check_record(record))
    if len(record.requests) < 2:
        raise ValueError(f"record has {len(record.requests)} requests with steps; expected two or more")
    if not record.has_positions or not blocks_by_length(record):
        raise ValueError("record has requests whose blocks are not known by draft length; expected histograms")
    plain = [request.plain_steps for request in record.requests]
    if None in plain:
        raise ValueError(f"record, request {plain.index(None)}: plain_steps is None; give the steps without a draft")
    tried, accepted = (rows.astype(float) for rows in position_counts(record))
    tried[:, 0] += np.array([float(n or 0) for n in plain])
    return PositionCounts(tried, accepted)


def _start(counts: PositionCounts, kinds: int) -> Array:
    """Return the first membership (requests, kinds), one 1 in each row: groups of equal size by accepted per step."""
    accepted_per_step = counts.accepted.sum(axis=1) / np.maximum(counts.tried[:, 0], 1)
    order = np.argsort(accepted_per_step, kind="stable")
    members = np.zeros((len(order), kinds))
    for kind, group in enumerate(np.array_split(order, kinds)):
        members[group, kind] = 1
    return members


def _fit(counts: PositionCounts, members: Array) -> _Fit:
    """Return the mixture in which expectation and maximisation end, from a first membership (requests, kinds)."""
    pooled = counts.accepted.sum(axis=0) / np.maximum(counts.tried.sum(axis=0), 1)
    before = -math.inf
    for _ in range(ROUNDS):
        # Maximise: shares of requests, and hazards of the blocks that each kind has.
        weights = members.mean(axis=0)
        accepted, tried = members.T @ counts.accepted, members.T @ counts.tried
        hazards = (accepted + PRIOR * pooled) / (tried + PRIOR)
        # Expect: how likely each request is of each kind.
        members, log_likelihood = _memberships(_scores(counts, weights, hazards))
        if log_likelihood - before < PROGRESS:
            break
        before = log_likelihood
    # The kind with the smallest tau first.
    order = np.argsort(np.cumprod(hazards, axis=1).sum(axis=1), kind="stable")
    steps = members.T @ counts.tried[:, 0]
    return _Fit(weights[order], hazards[order], (steps / steps.sum())[order], log_likelihood)


def _scores(counts: PositionCounts, weights: Array, hazards: Array) -> Array:
    """Return log(w_c Pr[counts of r | kind c]) for each request r and kind c, (requests, kinds)."""
    inside = np.clip(hazards, 1e-12, 1 - 1e-12)
    rejected = counts.tried - counts.accepted
    scores: Array = counts.accepted @ np.log(inside).T + rejected @ np.log1p(-inside).T
    return scores + np.log(np.maximum(weights, 1e-300))


def _memberships(scores: Array) -> tuple[Array, float]:
    """Return the probability (requests, kinds) that each request is of each kind, and the log-likelihood of all."""
    # The largest score of a request is taken out, so that no exponential overflows.
    largest = scores.max(axis=1, keepdims=True)
    parts = np.exp(scores - largest)
    log_likelihood = float((largest[:, 0] + np.log(parts.sum(axis=1))).sum())
    return parts / parts.sum(axis=1, keepdims=True), log_likelihood


def _criterion(fit: _Fit, counts: PositionCounts) -> float:
    """Return the Bayesian information criterion: the smaller, the better."""
    kinds, length = fit.hazards.shape
    parameters = int(kinds * length + kinds - 1)
    return parameters * math.log(len(counts.tried)) - 2 * fit.log_likelihood


def _mixture(fit: _Fit, requests: int) -> RequestMixture:
    """Return a fit as a record."""
    return RequestMixture(fit.weights, fit.hazards, fit.block_weights, requests)


def _errors(fit: _Fit, counts: PositionCounts) -> Errors:
    """Return the jackknife's standard errors of weights, hazards and block weights.

    Each of GROUPS fits leaves out one group of requests. It starts from the memberships in the fit to all requests, so
    that it ends with the same kinds.
    """
    members, _ = _memberships(_scores(counts, fit.weights, fit.hazards))
    # Group g has the requests g, g + GROUPS, g + 2 GROUPS, ...
    groups = np.arange(len(members)) % GROUPS
    fits = []
    for group in range(GROUPS):
        others = groups != group
        fits.append(_fit(PositionCounts(counts.tried[others], counts.accepted[others]), members[others]))
    return Errors(
        _jackknife_error([part.weights for part in fits]),
        _jackknife_error([part.hazards for part in fits]),
        _jackknife_error([part.block_weights for part in fits]),
    )


def _jackknife_error(fitted: list[Array]) -> Array:
    """Return the jackknife's standard error of a field, from its value in the fit without each group."""
    values = np.array(fitted)
    squares = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    error: Array = np.sqrt((GROUPS - 1) / GROUPS * squares)
    return error
