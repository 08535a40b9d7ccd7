"""What no lossless rule can beat: the optimal-transport optimum of each draft scheme, with its certificate."""

from __future__ import annotations

from types import ModuleType

from specsim import _check, discover
from specsim.bounds import iid
from specsim.types import Array, Optimum

_SCHEMES = {"iid": iid}  # draft scheme -> module with value and optimum


def optimal_acceptance(p: Array, q: Array, *, num_drafts: int = 1, sampling: str = "iid") -> Array:
    r"""Largest probability that any lossless rule emits one of its drafts.

    .. math:: \alpha^*_K = \max_\pi \Pr[y \in \{x_1,\dots,x_K\}] = 1 + \min_{H} \, p(H) - q(H)^K

    Attained on a prefix of the order of p/q, so one sort is enough (T03).

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Target and draft laws after warping; rows sum to 1; leading axes broadcast.
    num_drafts : int
        Candidates K per position, at least 1.
    sampling : str
        How the candidates are drawn; "iid".

    Returns
    -------
    array, shape (...), in [0, 1]
        1 - TV(p, q) for K = 1.

    Raises
    ------
    ValueError
        A row is not a law (names the row and its sum), the vocabularies differ, or num_drafts < 1.

    References
    ----------
    Sun et al. 2023, SpecTr, arXiv:2310.15141 (the transport problem); Hu et al. 2025, arXiv:2502.18779 (the min form).

    Examples
    --------
    >>> float(optimal_acceptance([.5, .3, .2], [.1, .3, .6], num_drafts=2).round(3))
    0.69
    """
    scheme, p, q = _front_door(p, q, num_drafts, sampling)
    return scheme.value(p, q, num_drafts)


def optimum(p: Array, q: Array, *, num_drafts: int = 1, sampling: str = "iid") -> Optimum:
    r"""The optimal acceptance together with the set that proves it.

    For every set H of tokens and every lossless rule, acceptance is at most 1 + p(H) - Pr[all drafts in H]:
    a hit either emits a token of H, which happens with probability p(H), or has a draft outside H. So H proves the
    bound by itself: its indicator is the dual potential of the transport problem, checked with two sums.

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Target and draft laws; leading axes broadcast.
    num_drafts : int
        Candidates K per position, at least 1.
    sampling : str
        How the candidates are drawn; "iid".

    Returns
    -------
    Optimum
        value, shape (...); certificate H, boolean, shape (..., V); status "optimal".

    Raises
    ------
    ValueError
        A row is not a law, the vocabularies differ, num_drafts < 1, or the scheme is unknown.

    References
    ----------
    Hu et al. 2025, arXiv:2502.18779 (min over subsets); T03 in proofs/.

    Examples
    --------
    >>> best = optimum([.5, .3, .2], [.1, .3, .6], num_drafts=2)
    >>> best.certificate.tolist(), best.status
    ([False, True, True], 'optimal')
    >>> float((1 + .3 + .2 - (.3 + .6) ** 2).__round__(3)), float(best.value.round(3))
    (0.69, 0.69)
    """
    scheme, p, q = _front_door(p, q, num_drafts, sampling)
    best: Optimum = scheme.optimum(p, q, num_drafts)
    return best


def _front_door(p: Array, q: Array, num_drafts: int, sampling: str) -> tuple[ModuleType, Array, Array]:
    _check.integer(num_drafts, "num_drafts", 1)
    if sampling not in _SCHEMES:
        discover.find("draft", sampling)  # an unknown scheme gets the list of known ones
        raise ValueError(f"no optimum is known for sampling {sampling!r}; known: {', '.join(_SCHEMES)}")
    return _SCHEMES[sampling], *_check.pair(p, q)
