"""The distance of a text from the target's law when each of its tokens is a little off (T45)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.arrays import is_exact
from specsim.base.results import result
from specsim.discover import Rule
from specsim.exact.step import output_law
from specsim.laws.divergences import divergence_of
from specsim.laws.make import total_variation
from specsim.types import Array, Model

# The most texts that are enumerated.
MAX_TEXTS = 2**16


@result("tv", "by_sum", "by_worst")
class TextDrift(NamedTuple):
    """Distances of texts of 1..n tokens from the target's law, each of shape (n,), with three bounds.

    ``tv`` and ``kl`` are exact: the total variation of the texts' laws, and KL(emitted || target) in nats. ``by_sum``
    adds the mean total variations of single tokens along the target's texts, ``by_worst`` is 1 - prod (1 - e) with e
    the largest at a place, and ``by_kl`` is sqrt(kl / 2). No bound is below ``tv`` or above 1.

    Examples
    --------
    >>> drift = text_drift(lambda text: [0.5, 0.5], lambda text: [0.5, 0.5], rule="greedy", length=3)
    >>> drift.tv.tolist(), drift.by_sum.tolist()
    ([0.5, 0.75, 0.875], [0.5, 1.0, 1.0])
    """

    tv: Array
    kl: Array
    by_sum: Array
    by_worst: Array
    by_kl: Array


@result("by_sum", "by_kl")
class DriftBounds(NamedTuple):
    """Bounds on the total variation of texts of 1..n tokens, shape (n,), from rows along the target's texts.

    Examples
    --------
    >>> drift_bounds([[0.25, 0.5], [0.25, 0.0]]).by_sum.tolist()
    [0.25, 0.5]
    """

    by_sum: Array
    by_kl: Array


def text_drift(
    target: Model, draft: Model, *, rule: Rule, length: int, params: Mapping[str, Any] | None = None
) -> TextDrift:
    r"""Return how far texts are from the target's law if a step rule of one draft emits each of their tokens.

    .. math:: \mathrm{TV}_n \le \sum_t \mathbb E_{\text{target}}[e_t], \qquad
        \mathrm{TV}_n \le 1 - \prod_t (1 - \max e_t), \qquad \mathrm{TV}_n \le \sqrt{\mathrm{KL}_n / 2}

    Every text is enumerated. Fractions stay exact, but for KL, which is KL(emitted || target): `drift_bounds` takes
    the other direction, since its rows lie along the target's texts. Tokens that the target emits itself, after a
    block that was kept whole, have no error and are not counted here.

    Parameters
    ----------
    target, draft : function from a text (a tuple of token ids) to a law (V,)
        As `specsim.markov` makes them.
    rule : str, path or module
        A step rule (see `algorithms`), mostly a lossy one.
    length : int
        Number of tokens n, so that V^n is at most 65,536.
    params : mapping, optional
        The rule's own parameters by name.

    Returns
    -------
    TextDrift
        tv, kl = KL(emitted || target), and the bounds by_sum, by_worst and by_kl, each at most 1, for texts of 1 to n
        tokens, shape (n,).

    Raises
    ------
    ValueError
        A row is not a law, the rule is unknown or no step rule, or there are too many texts.

    References
    ----------
    T45 in proofs/; Pinsker's inequality for by_kl.

    Examples
    --------
    Each token of a fair coin is off by 1/6 in the same direction: the drift of four is far below the sum of four.

    >>> from specsim import markov
    >>> target, draft = markov([[1/2, 1/2]] * 2), markov([[5/6, 1/6]] * 2)
    >>> drift = text_drift(target, draft, rule="lenience", params={"epsilon": 3/4}, length=4)
    >>> drift.tv.round(3).tolist(), drift.by_sum.round(3).tolist()
    ([0.167, 0.194, 0.241, 0.28], [0.167, 0.333, 0.5, 0.667])
    """
    rows = check.models(target, draft)
    vocab = rows(())[0].shape[-1]
    length = check.integer(length, "length", 1, limits.MAX_GAMMA)
    if vocab**length > MAX_TEXTS:
        raise ValueError(f"length={length}: {vocab}^{length} texts are more than {MAX_TEXTS:,}; give a shorter length")
    # Probabilities of the texts so far, under the target and as emitted.
    asked: dict[tuple[int, ...], Any] = {(): 1}
    emitted = dict(asked)
    tv, kl, means, worst = [], [], [], []
    for _ in range(length):
        laws = {text: (p, output_law(p, q, rule=rule, params=params)) for text in asked for p, q in [rows(text)]}
        errors = {text: total_variation(law, p) for text, (p, law) in laws.items()}
        means.append(sum(asked[text] * error for text, error in errors.items()))
        # Where one of the two laws never comes, all of that text is counted as lost already.
        worst.append(max((errors[text] for text in asked if asked[text] > 0 and emitted[text] > 0), default=0))
        kl.append(_expected_kl(emitted, laws))
        asked, emitted = (
            {(*text, y): weights[text] * laws[text][i][y] for text in weights for y in range(vocab)}
            for i, weights in enumerate((asked, emitted))
        )
        tv.append(sum(abs(asked[text] - emitted[text]) for text in asked) / 2)
    # A total variation is at most 1, so that a bound above says no more than 1.
    by_sum = np.minimum(np.cumsum(means), 1)
    by_worst = 1 - np.cumprod([1 - error for error in worst])
    total_kl = np.cumsum(kl)
    by_kl = np.minimum(np.sqrt(total_kl / 2), 1)
    return TextDrift(np.array(tv), total_kl, by_sum, by_worst, by_kl)


def _expected_kl(emitted: Mapping[tuple[int, ...], Any], laws: Mapping[tuple[int, ...], tuple[Array, Array]]) -> float:
    """Return the mean KL(emitted || target) of the next token along emitted texts: KL of texts is its sum."""
    terms = []
    for text, weight in emitted.items():
        if weight > 0:
            p, law = (w.astype(np.float64) if is_exact(w) else w for w in laws[text])
            terms.append(float(weight) * float(divergence_of(law, p, "kl")))
    return math.fsum(terms)


def drift_bounds(errors: Array, *, divergences: Array | None = None) -> DriftBounds:
    r"""Bounds on the drift of texts, from errors of single tokens along the target's own texts.

    .. math:: \mathrm{TV}_n \le \sum_t \bar e_t, \qquad
        \mathrm{TV}_n \le \min\left(\sqrt{K_n / 2}, \sqrt{1 - e^{-K_n}}\right), \quad K_n = \sum_t \bar d_t

    The means over texts drawn from the target estimate the two sums without bias. From sampled rows both bounds are
    point estimates, without an interval, of a bound for contexts like those of the rows: the drift may exceed them by
    what other rows would change. 1 - prod (1 - e) is no bound for mean errors: see T45.

    Parameters
    ----------
    errors : array_like, shape (texts, n)
        Total variation of each emitted token from the target's law, at the rows of n tokens of each text.
    divergences : array_like, shape (texts, n), optional
        KL(target || emitted) at the same rows, in nats (`lossy_optimum` calls it "reverse_kl"); `text_drift` has the
        other direction, which is a mean along emitted texts.

    Returns
    -------
    DriftBounds
        by_sum, and by_kl or, without divergences, ones; for texts of 1 to n tokens, each at most 1.

    Raises
    ------
    ValueError
        The arrays are not of one shape (texts, n), or an entry is negative or an error above 1.

    References
    ----------
    Pinsker; Bretagnolle and Huber 1979, for the second bound by KL.

    Examples
    --------
    >>> bounds = drift_bounds([[0.1, 0.0, 0.2], [0.1, 0.2, 0.0]], divergences=[[0.02, 0.0, 0.08], [0.02, 0.08, 0.0]])
    >>> bounds.by_sum.round(3).tolist(), bounds.by_kl.round(3).tolist()
    ([0.1, 0.2, 0.3], [0.1, 0.173, 0.224])
    """
    errors = _table(errors, "errors", 1.0)
    by_sum = np.minimum(np.cumsum(errors.mean(axis=0)), 1)
    if divergences is None:
        return DriftBounds(by_sum, np.ones_like(by_sum))
    told = _table(divergences, "divergences", np.inf)
    if told.shape != errors.shape:
        raise ValueError(f"divergences has shape {told.shape}; expected that of errors, {errors.shape}")
    total = np.cumsum(told.mean(axis=0))
    return DriftBounds(by_sum, np.minimum(np.sqrt(total / 2), np.sqrt(-np.expm1(-total))))


def _table(value: Array, name: str, high: float) -> Array:
    """Return an array (texts, n) with entries in [0, high]."""
    table = np.asarray(check.real_values(value, name, 0, high), dtype=np.float64)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"{name} must have the shape (texts, n), got {table.shape}")
    return table
