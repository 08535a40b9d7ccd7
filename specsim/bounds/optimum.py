"""The bound on every lossless rule: the optimal-transport optimum of each draft scheme, with its certificate."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np

from specsim import discover
from specsim.base import arrays, check, limits, sparse
from specsim.base.arrays import array_namespace
from specsim.base.warned import warn
from specsim.bounds import schemes
from specsim.bounds.certified import Optimum
from specsim.bounds.schemes import _prefix, _subsets
from specsim.types import Array, Draws
from specsim.verify.lookup import candidates

# A value whose error is at most this is called optimal.
SURE = 1e-9


@np.errstate(under="ignore")
def optimal_acceptance(p: Array, q: Array, *, num_drafts: int | Draws = 1, scheme: str = "iid") -> Array:
    r"""Largest probability that any lossless rule emits one of its drafts.

    .. math:: \alpha^*_K = \max_\pi \Pr[y \in \{x_1,\dots,x_K\}] = 1 + \min_{H} \, p(H) - \Pr[\text{all drafts in } H]

    For i.i.d. drafts Pr[all in H] = q(H)^K. There, for "distinct" (T03) and for "without_replacement" (T15) a prefix
    of the order of p/q attains it: one sort, and without replacement a sum over many times for more than two drafts.

    Parameters
    ----------
    p, q : array_like, shape (..., V), or Law
        Target and draft laws after warping; rows sum to 1; leading axes broadcast. For "independent", q has a row for
        each draft, (..., K, V).
    num_drafts : int, or Draws
        Candidates K per position, at least 1. More than the support of q, without replacement, are as many as that;
        for "distinct" it is the expected number of distinct candidates, of at most 32 draws, or the law of the number
        of draws itself, `specsim.Draws`.
    scheme : str
        How the candidates are drawn: a scheme of specsim.draft. One without a closed form (today "independent") has
        all sets of at most 16 tokens tried.

    Returns
    -------
    array, shape (...), in [0, 1]
        1 - TV(p, q) for K = 1. The value of `optimum`: an upper bound, told by a UserWarning, where that is one.

    Raises
    ------
    ValueError
        A row is not a law (names the row and its sum), the vocabularies differ, num_drafts < 1, the scheme is unknown
        or does not draw so many, or its optimum is not known for so many tokens.

    References
    ----------
    Sun et al. 2023, SpecTr, arXiv:2310.15141 (the transport problem); Hu et al. 2025, arXiv:2502.18779 (the min form,
    greedy drafts).

    Examples
    --------
    >>> p, q = [.5, .3, .2], [.1, .3, .6]
    >>> [float(optimal_acceptance(p, q, num_drafts=2, scheme=s).round(3)) for s in ("iid", "without_replacement")]
    [0.69, 0.793]
    """
    # Long rows are checked while they are summed; where that raises a doubt, `check.pair` decides, once.
    if scheme == "iid" and _prefix.checks_rows(p, q):
        num_drafts = check.integer(num_drafts, "num_drafts", 1, limits.MAX_DRAFTS)
        return arrays.at_most(_prefix.value(p, q, num_drafts, cache(partial(check.pair, p, q))), 1)
    p, q, count, _ = _validated(p, q, num_drafts, scheme)
    value = _scheme_function(scheme, "value")
    if value is not None:
        return arrays.at_most(value(p, q, count), 1)
    best = _best(scheme, p, q, count)
    if best.status == "upper bound":
        row, error = check.first_bad(best.error, best.error == array_namespace(p).max(best.error))
        warn(
            f"num_drafts={num_drafts}, scheme={scheme!r}: the value{row} is an upper bound, within {2 * error:.2g} "
            "of the optimum (specsim.optimum has every row's error)"
        )
    return best.value


@np.errstate(under="ignore")
def optimum(p: Array, q: Array, *, num_drafts: int | Draws = 1, scheme: str = "iid") -> Optimum:
    r"""The optimal acceptance together with the set that proves it.

    For every set H of tokens and every lossless rule, acceptance is at most 1 + p(H) - Pr[all drafts in H]:
    a hit either emits a token of H, which happens with probability p(H), or has a draft outside H. So H proves the
    bound by itself: its indicator is the dual potential of the transport problem, checked with two sums.

    Parameters
    ----------
    p, q : array_like, shape (..., V), or Law
        Target and draft laws, as for `optimal_acceptance`.
    num_drafts : int, or Draws
        Candidates K per position, as for `optimal_acceptance`.
    scheme : str
        How the candidates are drawn: a scheme of specsim.draft.

    Returns
    -------
    Optimum
        value, shape (...); certificate H, boolean, shape (..., V); plan, shape (..., V), the law of a chosen draft
        that attains the value, or None; status "optimal": no smaller bound holds; error, shape (...), 0 but for more
        than two drafts without replacement on floats. Where some error is above 1e-9, many drafts of a very peaked law,
        the errors are added to the values, up to 1, and the status is "upper bound".

    Raises
    ------
    ValueError
        As for `optimal_acceptance`.

    References
    ----------
    Hu et al. 2025, arXiv:2502.18779 (min over subsets); Khisti et al. 2024, arXiv:2410.18234 (choosing one draft and
    verifying it alone); T03, T08 and T15 in proofs/.

    Examples
    --------
    >>> best = optimum([.5, .3, .2], [.1, .3, .6], num_drafts=2)
    >>> best.certificate.tolist(), best.status
    ([False, True, True], 'optimal')
    >>> round(1 + .3 + .2 - (.3 + .6) ** 2, 3), float(best.value.round(3))
    (0.69, 0.69)
    >>> best.plan.round(3).tolist()  # of each token's mass, the smaller of p and plan can be accepted: 0.69
    [0.19, 0.3, 0.51]
    """
    p, q, count, union = _validated(p, q, num_drafts, scheme)
    best = _best(scheme, p, q, count)
    return best._replace(certificate=sparse.law(union, best.certificate), plan=sparse.law(union, best.plan))


def _validated(
    p: Array, q: Array, num_drafts: int | Draws, scheme: str
) -> tuple[Array, Array, int | Draws, sparse.Union | None]:
    """Validate the arguments; return (p, q, K or the law of N, union), p and q broadcast.

    Two sparse laws become rows over the tokens of either, which `union` lists; else it is None.
    """
    # The number of drafts is K, or random: N distinct drafts of a given law.
    law_of_n = scheme == "distinct" and isinstance(num_drafts, Draws)
    if not law_of_n:
        num_drafts = check.integer(num_drafts, "num_drafts", 1, limits.MAX_DRAFTS)
    # One draft law for all drafts, or a law for each.
    if not discover.scheme_facts(discover.find("draft", scheme)).per_draft:
        p, q, union = sparse.rows(p, q)
        p, q = check.pair(p, q)
        return p, q, candidates(num_drafts, scheme, q) if law_of_n else num_drafts, union
    p, q = check.laws(p, q)
    if q.shape[-2:-1] != (num_drafts,):
        raise ValueError(f"q must be (..., {num_drafts}, V), a law for each draft, got shape {tuple(q.shape)}")
    batch = check.leading("p and q", p.shape[:-1], q.shape[:-2])
    p, q = (array_namespace(w).broadcast_to(w, (*batch, *w.shape[n:])) for w, n in ((p, -1), (q, -2)))
    return p, q, num_drafts, None


def _best(scheme: str, p: Array, q: Array, count: int | Draws) -> Optimum:
    """The optimum, or an upper bound where the method may be off; no probability is above 1."""
    best: Optimum = _scheme_function(scheme, "optimum")(p, q, count)
    if check.concrete(best.error) and bool(array_namespace(p).any(best.error > SURE)):
        value = best.value + best.error
        best = best._replace(value=array_namespace(p).where(value < 1, value, 1)[()], status="upper bound")
    return best._replace(value=arrays.at_most(best.value, 1))


@lru_cache
def _scheme_function(scheme: str, name: str) -> Any:
    """The function `value` or `optimum` of a scheme, from its file in the folder `schemes`.

    A scheme without a file gets that of `_subsets`, which tries all sets of tokens. The name
    "value" gives None where the file has `optimum` alone, whose result has an error, too.
    """
    if scheme in {m.name for m in pkgutil.iter_modules(schemes.__path__)}:
        return getattr(importlib.import_module(f"{schemes.__name__}.{scheme}"), name, None)
    return partial(getattr(_subsets, name), scheme=discover.find("draft", scheme))
