"""Logits to laws: temperature, top-k, top-p, min-p. The only place with exp.

Drafting and verification must use one function with one setting: a law that differs from the one drawn from is the
commonest way to lose losslessness in practice.
"""

from __future__ import annotations

from array_api_compat import array_namespace

from specsim import _check, _dist
from specsim.types import Array


def warp(logits: Array, *, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0, min_p: float = 0.0) -> Array:
    r"""Next-token laws from logits, filters applied in the order temperature, top-k, top-p, min-p.

    .. math:: p_v \propto \exp(\ell_v / T) \, 1[v \text{ survives the filters}]

    Parameters
    ----------
    logits : array_like, shape (..., V)
        Real; -inf excludes a token.
    temperature : float
        0 puts all mass on the first largest logit; otherwise at least 1e-30.
    top_k : int
        Keep the k largest logits and whatever ties with the last of them; 0 keeps all.
    top_p : float
        Keep the most likely tokens until their mass reaches top_p, in (0, 1]; at least one.
    min_p : float
        Drop tokens less likely than min_p times the most likely one, in [0, 1].

    Returns
    -------
    array, shape (..., V)
        Laws in the dtype of the logits.

    Raises
    ------
    ValueError
        A parameter outside its range, or a logit that is NaN or +inf.

    References
    ----------
    Holtzman et al. 2020, arXiv:1904.09751 (top-p); Nguyen et al. 2024, arXiv:2407.01082 (min-p); same conventions as
    transformers' logits processors.

    Examples
    --------
    >>> warp([2.0, 1.0, 0.0], top_k=2).round(3).tolist()
    [0.731, 0.269, 0.0]
    >>> warp([2.0, 1.0, 0.0], temperature=0).tolist()
    [1.0, 0.0, 0.0]
    """
    check_settings(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    x = _check.array(logits, "logits")
    _check.last_axis(x, "logits")
    xp = array_namespace(x)
    if x.dtype == object or not xp.isdtype(x.dtype, "real floating"):
        raise TypeError(f"logits has dtype {x.dtype}; logits are floats")
    if _check.concrete(x):
        _check.real_values(xp.where(x == -float("inf"), 0.0, x), "logits", -float("inf"), float("inf"))
        _check.real_values(xp.max(x, axis=-1), "largest of logits", -float("inf"), float("inf"))
    return apply(x, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)


def check_settings(*, temperature: float, top_k: int, top_p: float, min_p: float) -> None:
    """ValueError naming the parameter that is out of range."""
    _check.scalar(temperature, "temperature", "[0, inf)")
    if 0 < temperature < 1e-30:  # float32 would divide by zero
        raise ValueError(f"temperature is {temperature}; use 0 for greedy decoding, or at least 1e-30")
    _check.integer(top_k, "top_k", 0)
    _check.scalar(top_p, "top_p", "(0, 1]")
    _check.scalar(min_p, "min_p", "[0, 1]")


def apply(logits: Array, *, temperature: float, top_k: int, top_p: float, min_p: float) -> Array:
    """The kernel of `warp`, for callers that have validated once and call often."""
    xp = array_namespace(logits)
    if temperature == 0:
        return _dist.one_hot(xp.argmax(logits, axis=-1), logits)
    x = (logits - xp.max(logits, axis=-1, keepdims=True)) / temperature
    if 0 < top_k < x.shape[-1]:
        kth = xp.sort(x, axis=-1)[..., -top_k, None]
        x = xp.where(x < kth, -float("inf"), x)
    p = _softmax(x)
    if top_p < 1:
        p = _nucleus(p, x, top_p)
    if min_p > 0:
        p = _rescale(xp.where(p < min_p * xp.max(p, axis=-1, keepdims=True), 0.0, p))
    return p


def _softmax(x: Array) -> Array:
    """Of logits whose largest is 0."""
    return _rescale(array_namespace(x).exp(x))


def _nucleus(p: Array, x: Array, top_p: float) -> Array:
    """Drop the least likely tokens whose total mass is at most 1 - top_p, never the most likely one."""
    xp = array_namespace(p)
    order = xp.argsort(x, axis=-1, stable=True)  # by logit: equal after underflow is not equal
    tail = xp.cumulative_sum(xp.take_along_axis(p, order, axis=-1), axis=-1)
    keep = tail > 1 - top_p
    keep = xp.concat([keep[..., :-1], xp.ones_like(keep[..., -1:])], axis=-1)
    back = xp.argsort(order, axis=-1)
    return _rescale(xp.where(xp.take_along_axis(keep, back, axis=-1), p, 0.0))


def _rescale(w: Array) -> Array:
    return w / array_namespace(w).sum(w, axis=-1, keepdims=True)
