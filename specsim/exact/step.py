"""Exact laws: acceptance as the rule states it, output laws by enumeration. Fractions in, Fractions out."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover
from specsim.base import check, sparse
from specsim.base.arrays import array_namespace
from specsim.discover import Rule
from specsim.types import Array, Draws
from specsim.verify.hits import Accepted, acceptance, accepted, hits
from specsim.verify.lookup import candidates, step_rows, step_rule


@np.errstate(under="ignore")
def acceptance_rate(
    p: Array,
    q: Array,
    *,
    rule: Rule = "rejection",
    num_drafts: int | Draws = 1,
    scheme: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> Array:
    r"""Return the probability that a rule's token is one of its drafts, in closed form.

    .. math:: \beta = \sum_v \min(p_v, q_v) = 1 - TV(p, q) \quad\text{for one draft under rejection.}

    For a rule without a function ``acceptance``, its ``transition`` is summed over all tuples of
    drafts where V^(K+1) <= 2^20, and over sampled ones otherwise; a UserWarning then gives the
    error.

    Parameters
    ----------
    p, q : array_like, shape (..., V), or Law
        Target and draft laws after warping; leading axes broadcast.
    rule : str, path or module
        Name of a step rule (see `algorithms`), the path of its file, or itself.
    num_drafts : int or Draws
        Number K of drafts for the position, at least 1. Under the scheme "distinct", the expected number of
        different tokens, or the law of the number of draws as a `Draws`.
    scheme : str, optional
        How the drafts are drawn; by default the first scheme that the rule names.
    params : mapping, optional
        The rule's own parameters by name, as {"epsilon": 0.2}; the others keep their defaults.

    Returns
    -------
    array, shape (...), in [0, 1]
        At most `optimal_acceptance` when the rule is lossless.

    Raises
    ------
    ValueError
        A row is not a law, the vocabularies differ, the rule is unknown or does not verify K such drafts.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192 (one draft); the rule's paper otherwise.

    Examples
    --------
    >>> float(acceptance_rate([.5, .3, .2], [.1, .3, .6]).round(3))
    0.6
    >>> float(acceptance_rate([.5, .3, .2], [.1, .3, .6], rule="recursive", num_drafts=2).round(3))
    0.64
    """
    module, p, q, count, _ = _validated(p, q, rule, num_drafts, scheme, params)
    return acceptance(module, p, q, count)


@np.errstate(under="ignore")
def acceptance_within(p: Array, q: Array, rule: Rule, num_drafts: int, scheme: str | None = None) -> Accepted:
    """Return `acceptance_rate` with half of its 99 % interval, which is 0 where it is exact."""
    module, p, q, count, _ = _validated(p, q, rule, num_drafts, scheme, None)
    return accepted(module, p, q, count)


@np.errstate(under="ignore")
def output_law(
    p: Array,
    q: Array,
    *,
    rule: Rule,
    num_drafts: int | Draws = 1,
    scheme: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> Array:
    r"""Return the law of the token that a rule emits, summed over every tuple of drafts.

    .. math:: \pi(y) = \sum_x \Pr[x]\, T(y \mid x)

    A rule is lossless when this is p. Cost V^(K+1): for small vocabularies.

    Parameters
    ----------
    p, q : array_like, shape (..., V), or Law
        Target and draft laws; leading axes broadcast.
    rule : str, path or module
        Name of a step rule (see `algorithms`), the path of its file, or itself.
    num_drafts : int or Draws
        Candidates K per position, at least 1; of distinct drafts as in `acceptance_rate`.
    scheme : str, optional
        How the drafts are drawn; by default as the rule's DRAFTS says.
    params : mapping, optional
        The rule's own parameters by name, as {"epsilon": 0.2}; those that are not named keep their defaults.

    Returns
    -------
    array, shape (..., V), or Law if p and q are
        The exact law; equal to p entry by entry for a lossless rule on Fractions.

    Raises
    ------
    ValueError
        A row is not a law, the rule is unknown, or the enumeration would not fit (the error says its size).

    References
    ----------
    Definition; see proofs/README.md.

    Examples
    --------
    >>> output_law([.5, .3, .2], [.1, .3, .6], rule="recursive", num_drafts=2).round(3).tolist()
    [0.5, 0.3, 0.2]
    >>> output_law([.5, .3, .2], [.1, .3, .6], rule="greedy").tolist()
    [1.0, 0.0, 0.0]
    """
    module, p, q, count, union = _validated(p, q, rule, num_drafts, scheme, params)
    law, _ = enumerate_step(module, p, q, count)
    return sparse.law(union, law)


def _validated(
    p: Array, q: Array, rule: Rule, num_drafts: int | Draws, scheme: str | None, params: Mapping[str, Any] | None
) -> tuple[ModuleType, Array, Array, int | Draws, sparse.Union | None]:
    """Validate the arguments; return (rule, p, q, number of drafts, union).

    Two sparse laws become rows over the tokens of either, which `union` lists; else it is None.
    """
    p, q, union = step_rows(p, q, rule)
    p, q = check.pair(p, q)
    count = candidates(num_drafts, scheme, q)
    return discover.with_params(step_rule(rule, num_drafts, scheme), params), p, q, count, union


def enumerate_step(rule: ModuleType, p: Array, q: Array, num_drafts: int | Draws) -> tuple[Array, Array]:
    """Return (output law (..., V), hit probability (...)) of a rule module by summing over all tuples of drafts."""
    law, drafted = hits(rule, p, q, num_drafts)
    return law, array_namespace(p).sum(drafted, axis=-1)
