"""Acceptance: one record, made from a number, hazards, a log, laws along texts, or a function.

The counterpart of `LatencyModel`: functions convert their argument to this record once, when they are called.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.arrays import at, overlap
from specsim.lengths.blocks import block_efficiency, renewal, text_survival
from specsim.lengths.hazards import HazardEstimate, estimate_hazards, pool_texts
from specsim.lengths.request_estimates import counts_of_steps, hazards_of_counts
from specsim.lengths.request_mixture import RequestMixture, kinds_of
from specsim.lengths.request_record import AcceptanceRecord, PositionCounts
from specsim.types import Array
from specsim.verify.lookup import chain_rule

FEW_TEXTS = 10  # below this the spread between texts says little


class Tau(NamedTuple):
    """Tokens per target call, and its standard error."""

    value: float
    error: float


class Acceptance(NamedTuple):
    """How many drafts are kept: a record of functions of gamma, made by `as_acceptance` and the functions beside it.

    tau(gamma): tokens per target call and its standard error. hazards(gamma): shape (gamma,), the probability that each
    draft is kept if all before it were. counted(gamma): what was counted, None where nothing was. longest: the longest
    block that it speaks of, None without end. words: what it rests on. requests(): the kinds of requests, fitted to all
    their target calls; None where acceptance is not known by request.

    Examples
    --------
    >>> kept = as_acceptance([0.9, 0.5, 0.1])
    >>> kept.longest, kept.hazards(2), round(kept.tau(2).value, 3)
    (3, [0.9, 0.5], 2.35)
    """

    tau: Callable[[int], Tau]
    hazards: Callable[[int], list[float]]
    counted: Callable[[int], HazardEstimate | None]
    longest: int | None
    words: str
    requests: Callable[[], RequestMixture] | None = None

    def most(self, max_gamma: int) -> int:
        """The longest block that it speaks of, at most max_gamma."""
        limit = bound(max_gamma)
        return limit if self.longest is None else min(limit, self.longest)

    def interval(self, gamma: int, level: float) -> tuple[float, float]:
        """The interval of tau: normal, cut at what is possible."""
        mean, error = self.tau(gamma)
        z = NormalDist().inv_cdf((1 + level) / 2)
        return max(mean - z * error, 1.0), min(mean + z * error, gamma + 1.0)


def bound(max_gamma: int) -> int:
    """A bound on lengths that are tried, itself between 1 and what is sensible."""
    return check.integer(max_gamma, "max_gamma", 1, limits.MAX_GAMMA)


def as_acceptance(given: Any) -> Acceptance:
    """The record of whatever a function takes as `acceptance`.

    Parameters
    ----------
    given : Acceptance, float, array_like, HazardEstimate, AcceptanceRecord or callable
        A number (the i.i.d. model, declared by giving it), a curve of hazards of shape (n,), hazards counted in a log,
        acceptance by request, or a function that gives one of these for each gamma.

    Returns
    -------
    Acceptance
        The record itself where one is given.

    Raises
    ------
    ValueError
        A number outside [0, 1]; when it is asked: a length beyond those that a curve or a log speaks of.

    Examples
    --------
    >>> as_acceptance(lambda gamma: [0.8] * gamma).tau(1)
    Tau(value=1.8, error=0.0)
    """
    if isinstance(given, Acceptance):
        return given
    if isinstance(given, HazardEstimate):
        return from_counts(given)
    if isinstance(given, AcceptanceRecord):
        counted, words = counts_of_steps(given)
        by_length = from_function(lambda gamma: hazards_of_counts(PositionCounts(*counted[:, :, :gamma])), words)
        tried = counted[0].sum(axis=0) > 0
        return by_length._replace(longest=int(tried.cumprod().sum()), requests=kinds_of(given))
    if callable(given):
        return from_function(given)
    # `from_alpha` refuses a bool.
    if isinstance(given, (int, float)):
        return from_alpha(given)
    a = check.real_values(given, "acceptance", 0, 1)
    return from_hazards(a) if a.ndim else from_alpha(a)


def from_alpha(alpha: Any, words: str = "acceptance is i.i.d., as declared") -> Acceptance:
    """Acceptance alpha for every draft, whatever came before."""
    plain = isinstance(alpha, (int, float))
    a = check.scalar(alpha, "acceptance", "[0, 1]") if plain else check.real_values(alpha, "acceptance", 0, 1)

    def tau(gamma: int) -> Tau:
        g = _length(gamma)
        # Without arrays, since sweeps call this very often.
        if plain:
            return Tau(math.fsum(float(a) ** i for i in range(g + 1)), 0.0)
        return Tau(float(block_efficiency(a, gamma=g)), 0.0)

    return Acceptance(tau, lambda gamma: [float(a)] * _length(gamma), _nothing, None, words)


def from_hazards(hazards: Array, words: str = "hazards are exact, as given") -> Acceptance:
    """Acceptance by a curve of hazards (n,), taken as exact."""
    a = check.real_values(hazards, "acceptance", 0, 1)
    if a.ndim != 1:
        raise ValueError(f"acceptance has shape {tuple(a.shape)}; give a number, or one curve of hazards")

    # The first gamma hazards; the curve says nothing about longer blocks.
    def upto(gamma: int) -> Array:
        g = _length(gamma)
        if g > len(a):
            raise ValueError(f"acceptance has shape {tuple(a.shape)}; a curve needs {g} hazards for gamma = {g}")
        return a[:g]

    return Acceptance(
        lambda gamma: Tau(float(block_efficiency(upto(gamma))), 0.0),
        lambda gamma: [float(v) for v in upto(gamma)],
        _nothing,
        len(a),
        words,
    )


def from_counts(estimate: HazardEstimate, words: str = "hazards as counted, blocks independent") -> Acceptance:
    """Acceptance by hazards counted in a log, with their errors, up to the last draft that some block tested."""

    def tau(gamma: int) -> Tau:
        # A pooled estimate has one error for every length; no drafts have none.
        return Tau(*estimate.tau(_length(gamma), wary=True)) if gamma else Tau(1.0, 0.0)

    def hazards(gamma: int) -> list[float]:
        # This call refuses a length that no block tested.
        tau(gamma)
        return [float(v) for v in estimate.hazards[:gamma]]

    return Acceptance(tau, hazards, lambda gamma: estimate, int(sum(estimate.tried > 0)), words)


def from_function(function: Callable[[int], Any], words: str = "") -> Acceptance:
    """Acceptance by a function of gamma, where the acceptance of a draft depends on how many are made."""
    words = words or "acceptance as the function given says for each length"

    @cache
    def at_length(gamma: int) -> Acceptance:
        return as_acceptance(function(gamma))

    def tau(gamma: int) -> Tau:
        return at_length(_length(gamma)).tau(gamma) if gamma else Tau(1.0, 0.0)

    return Acceptance(
        tau,
        lambda gamma: at_length(_length(gamma)).hazards(gamma),
        lambda gamma: at_length(gamma).counted(gamma),
        None,
        words,
    )


def from_histogram(accepted: Array, drafted: Array, counts: Array = None, words: str = "") -> Acceptance:
    """Hazards counted by `estimate_hazards` in a histogram of blocks.

    Parameters
    ----------
    accepted, drafted : array_like of int, shape (n,)
        Drafts kept and drafts made, of each block or of each kind of block.
    counts : array_like of int, shape (n,), optional
        How many blocks of each kind there were; one of each by default.
    words : str
        What it rests on.

    Returns
    -------
    Acceptance
        With the error of independent blocks.

    Raises
    ------
    ValueError
        More drafts kept than made, a negative count, or no block at all.

    Examples
    --------
    >>> from_histogram([0, 1, 2], [2, 2, 2], counts=[10, 30, 60]).hazards(2)
    [0.9, 0.6666666666666666]
    """
    estimate = estimate_hazards(accepted, drafted, counts=counts)
    return from_counts(estimate, words) if words else from_counts(estimate)


def from_rows(
    p: Array,
    q: Array,
    tokens: Array = None,
    lengths: Sequence[int] | None = None,
    *,
    source: str = "the rows given",
) -> Acceptance:
    """Acceptance of tokenwise rejection along texts that the target wrote, from both models' laws there.

    With the tokens the renewal law of block starts gives the hazards of every length; without them all that is known is
    the mean over positions.

    Parameters
    ----------
    p, q : array_like, shape (n, V)
        The laws of target and draft at each position, the texts one after the other.
    tokens : array_like of int, shape (n,), optional
        The tokens written there.
    lengths : sequence of int, optional
        Tokens of each text; one text by default.
    source : str
        Where they come from, for its words.

    Returns
    -------
    Acceptance
        With the spread between texts as its error, if there are several.

    Raises
    ------
    ValueError
        A row is no law, or a token has probability 0 under p; its place is named.

    Examples
    --------
    >>> p, q = [[0.5, 0.5]] * 4, [[0.25, 0.75]] * 4
    >>> from_rows(p, q).tau(1).value, round(from_rows(p, q, [0, 0, 1, 0]).tau(1).value, 3)
    (1.75, 1.667)
    """
    # Without the tokens: the mean acceptance over positions.
    p, q = check.laws(p, q)
    if tokens is None:
        words = f"the mean acceptance over the positions of {source}, as if all were alike (it holds no tokens); "
        words += "that they are a sample is in no interval"
        return from_alpha(float(overlap(p, q).mean()), words)
    # Ratios q(y)/p(y) along each text.
    tokens = np.asarray(tokens)
    p_token, q_token = at(p, tokens), at(q, tokens)
    if (p_token == 0).any():
        i = int(np.argmax(p_token == 0))
        raise ValueError(f"{source}: token {i} has probability 0 under the target, which wrote the text")
    sizes = [len(p)] if lengths is None else list(lengths)
    texts = np.split(q_token / p_token, np.cumsum(sizes)[:-1])

    # Hazards of blocks of gamma drafts: the renewal law of each text, pooled over texts.
    def pooled(gamma: int) -> Array | HazardEstimate:
        renewals = [renewal(text_survival(chain_rule("tokenwise").survival, ratio, gamma)) for ratio in texts]
        tried = np.array([law.tried for law in renewals])
        accepted = np.array([law.hazards for law in renewals]) * tried
        if len(texts) > 1 and tried.sum(axis=0).all():
            return pool_texts(accepted, tried)
        return accepted.sum(axis=0) / np.where(tried.sum(axis=0) > 0, tried.sum(axis=0), 1)

    # The words say how far the error can be trusted.
    if len(texts) == 1:
        sample = "of one text, so its error is not known"
    elif len(texts) < FEW_TEXTS:
        sample = "an independent sample of texts; so few that the error is uncertain"
    else:
        sample = "an independent sample of texts"
    return from_function(pooled, f"acceptance along {source} ({len(texts)} texts), by the renewal law: {sample}")


def _length(gamma: int) -> int:
    """The speculation length, checked."""
    return check.integer(gamma, "gamma", 0, limits.MAX_GAMMA)


def _nothing(gamma: int) -> None:
    """Counts of an acceptance that was not counted: None."""
