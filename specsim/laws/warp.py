"""Logits to laws: bias, repetition penalty, temperature, top-k, top-p, min-p.

This is the only place with exp. Drafting and verification must use one function with one setting.
In practice losslessness is most often lost because the law that the verifier reads is not the law
that the draft was drawn from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj, is_torch_array

from specsim.base import arrays, check
from specsim.base.arrays import array_namespace
from specsim.types import Array


@np.errstate(under="ignore")
def warp(
    logits: Array,
    *,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    repetition_penalty: float = 1.0,
    seen: Array | None = None,
    logit_bias: Array | None = None,
) -> Array:
    r"""Return next-token laws from logits: bias, repetition penalty, temperature, top-k, top-p, min-p, in this order.

    .. math:: p_v \propto \exp(\ell'_v / T) \, 1[v \text{ survives the filters}]

    .. math:: \ell'_v = (\ell_v + b_v) \, r^{-s_v \operatorname{sign}(\ell_v + b_v)}

    with bias b, penalty r, and s = 1 at the tokens seen.

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
    repetition_penalty : float
        The logit of a seen token is divided by it if positive, multiplied if not; in [1e-30, 1e30],
        1 is off.
    seen : array_like of bool, broadcastable to (..., V), optional
        Tokens of the context at that position: prompt, text, earlier drafts. Read by the penalty
        only, which needs it.
    logit_bias : array_like, broadcastable to (..., V), optional
        Added to the logits; -inf excludes a token.

    Returns
    -------
    array, shape (..., V)
        Laws in the dtype of the logits.

    Raises
    ------
    ValueError
        A parameter outside its range, a logit or bias that is NaN or +inf, a row with every token
        excluded, shapes that do not fit the logits, a penalty without `seen`.
    TypeError
        Logits that are not floats, a `seen` that is not bool.

    References
    ----------
    Holtzman et al. 2020, arXiv:1904.09751 (top-p); Nguyen et al. 2024, arXiv:2407.01082 (min-p);
    Keskar et al. 2019, arXiv:1909.05858 (repetition penalty); same conventions and order as
    transformers' logits processors.

    Examples
    --------
    >>> warp([2.0, 1.0, 0.0], top_k=2).round(3).tolist()
    [0.731, 0.269, 0.0]
    >>> warp([2.0, 1.0, 0.0], temperature=0).tolist()
    [1.0, 0.0, 0.0]
    >>> warp([2.0, 1.0, 0.0], repetition_penalty=2.0, seen=[True, False, False]).round(3).tolist()
    [0.422, 0.422, 0.155]
    >>> warp([2.0, 1.0, 0.0], logit_bias=[0.0, 0.0, -float("inf")]).round(3).tolist()
    [0.731, 0.269, 0.0]
    """
    # Check the settings and the logits.
    check_settings(
        temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, repetition_penalty=repetition_penalty
    )
    x = check.array(logits, "logits")
    check.last_axis(x, "logits")
    xp = array_namespace(x)
    if x.dtype == object or not xp.isdtype(x.dtype, "real floating"):
        raise TypeError(f"logits has dtype {x.dtype}; logits are floats")
    _check_logits(x, "logits")
    _check_rows(x, "logits")

    # Apply bias and penalty here, so that their result is checked, too; then the rest.
    if logit_bias is not None or repetition_penalty != 1:
        bias = None if logit_bias is None else _bias_like(logit_bias, x)
        mask = None if seen is None else _seen_like(seen, x)
        x = _adjusted(x, repetition_penalty, mask, bias)
        _check_rows(x, "logits after logit_bias and repetition_penalty")
    return apply(x, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)


def check_settings(
    *, temperature: float, top_k: int, top_p: float, min_p: float, repetition_penalty: float = 1.0
) -> None:
    """Raise ValueError that names the parameter out of range."""
    check.scalar(temperature, "temperature", "[0, inf)")
    # In float32 a temperature this small would divide by zero.
    if 0 < temperature < 1e-30:
        raise ValueError(f"temperature is {temperature}; use 0 for greedy decoding, or at least 1e-30")
    check.integer(top_k, "top_k", 0)
    check.scalar(top_p, "top_p", "(0, 1]")
    check.scalar(min_p, "min_p", "[0, 1]")
    # Beyond these limits the penalty is 0 or inf in float32.
    check.scalar(repetition_penalty, "repetition_penalty", "[1e-30, 1e30]")


def apply(
    logits: Array,
    *,
    temperature: float,
    top_k: int,
    top_p: float,
    min_p: float,
    repetition_penalty: float = 1.0,
    seen: Array | None = None,
    logit_bias: Array | None = None,
) -> Array:
    """Return the laws of `warp` without its checks, for callers that have validated once and call often.

    All arrays are on one device.
    """
    # Bias and penalty, then temperature; 0 is greedy.
    xp = array_namespace(logits)
    if logit_bias is not None or repetition_penalty != 1:
        logits = _adjusted(logits, repetition_penalty, seen, logit_bias)
    if temperature == 0:
        return arrays.one_hot(xp.argmax(logits, axis=-1), logits)
    x = logits
    # Without the shift a small temperature would overflow.
    if temperature != 1:
        x = (x - xp.max(x, axis=-1, keepdims=True)) / temperature

    # Top-k keeps what ties with the k-th largest logit.
    if 0 < top_k < x.shape[-1]:
        kth = xp.sort(x, axis=-1)[..., -top_k, None]
        x = xp.where(x < kth, -float("inf"), x)

    # Top-p and min-p filter probabilities.
    p = _softmax(x, xp)
    if top_p < 1:
        p = _nucleus(p, x, top_p)
    if min_p > 0:
        is_unlikely = p < min_p * xp.max(p, axis=-1, keepdims=True)
        p = _rescale(xp.where(is_unlikely, 0.0, p), xp)
    return p


def _adjusted(logits: Array, penalty: float, seen: Array | None, bias: Array | None) -> Array:
    """Return the logits (..., V) after the bias, then the penalty at the tokens seen.

    With the penalty r a positive logit x becomes x / r. Dividing a negative one would favour the
    token, so it becomes x r.
    """
    x = logits if bias is None else logits + bias
    if penalty == 1:
        return x
    if seen is None:
        raise ValueError(f"repetition_penalty is {penalty}, which needs `seen`: the tokens of the context")
    xp = array_namespace(x)
    # For r > 1 the smaller of x / r and x r is x / r where x > 0 and x r where x < 0, as it should
    # be; for r < 1 the larger of the two is. So no array of signs is needed.
    smaller_or_larger = xp.minimum if penalty > 1 else xp.maximum
    return xp.where(seen, smaller_or_larger(x / penalty, x * penalty), x)


def _check_logits(x: Array, name: str) -> None:
    """Raise ValueError for NaN or +inf; -inf excludes a token and is allowed."""
    if check.concrete(x):
        finite = array_namespace(x).where(x == -float("inf"), 0.0, x)
        check.real_values(finite, name, -float("inf"), float("inf"))


def _check_rows(x: Array, name: str) -> None:
    """Raise ValueError for a row without a law: one whose largest logit is not finite."""
    xp = array_namespace(x)
    # Under jit even the maximum of a constant x is traced: ask whether the maximum can be read.
    top = xp.max(x, axis=-1)
    if check.concrete(top) and not bool(xp.all(xp.isfinite(top))):
        index = next(i for i in np.ndindex(tuple(top.shape)) if not bool(xp.isfinite(top[i])))
        where, largest = "".join(f"[{i}]" for i in index), float(top[index])
        problem = "every token is excluded" if largest < 0 else "it overflows"
        raise ValueError(f"largest of {name}{where} is {largest}: {problem}")


def _bias_like(value: Any, x: Array) -> Array:
    """Return the checked bias in the library and dtype of the logits, so that laws keep this dtype."""
    bias = check.like(check.array(value, "logit_bias"), x)
    xp = array_namespace(x)
    if bias.dtype == object or not xp.isdtype(bias.dtype, "real floating"):
        raise TypeError(f"logit_bias has dtype {bias.dtype}; give floats")
    _check_logits(bias, "logit_bias")
    return _require_fit(xp.astype(bias, x.dtype), x, "logit_bias")


def _seen_like(value: Any, x: Array) -> Array:
    """Return the checked mask of tokens seen, in the library of the logits.

    The likely mistake is to pass token ids instead of a mask.
    """
    seen = check.like(value if is_array_api_obj(value) else np.asarray(value), x)
    if not array_namespace(seen).isdtype(seen.dtype, "bool"):
        raise TypeError(f"seen has dtype {seen.dtype}; it is a bool for each token of the vocabulary")
    return _require_fit(seen, x, "seen")


def _require_fit(value: Array, x: Array, name: str) -> Array:
    """Return the value; raise ValueError unless it broadcasts to the shape of the logits x."""
    shape = tuple(x.shape)
    if check.leading(f"{name} and logits", value.shape, shape) != shape:
        raise ValueError(f"{name} has shape {tuple(value.shape)}, which does not broadcast to that of logits, {shape}")
    return value


def _softmax(x: Array, xp: Any) -> Array:
    """Return laws proportional to exp(x)."""
    # Torch has one call for it. The five below would take most of a decode loop's time outside the
    # models.
    if is_torch_array(x):
        return x.softmax(-1)
    return _rescale(xp.exp(x - xp.max(x, axis=-1, keepdims=True)), xp)


def _nucleus(p: Array, x: Array, top_p: float) -> Array:
    """Return laws (..., V) after top-p: drop the least likely tokens of total mass at most 1 - top_p.

    The most likely token stays in any case. x are the logits of p.
    """
    xp = array_namespace(p)
    # Sort by logit, least likely first, and not by probability: logits may differ where both
    # probabilities underflow to 0. `tail` is the mass of each token and all less likely ones.
    order = xp.argsort(x, axis=-1, stable=True)
    tail = xp.cumulative_sum(xp.take_along_axis(p, order, axis=-1), axis=-1)
    stays = tail > 1 - top_p
    # The most likely token, the last in this order, stays.
    stays = xp.concat([stays[..., :-1], xp.ones_like(stays[..., -1:])], axis=-1)

    # Back to the order of the vocabulary, by the inverse permutation.
    rank = xp.argsort(order, axis=-1)
    in_nucleus = xp.take_along_axis(stays, rank, axis=-1)
    return _rescale(xp.where(in_nucleus, p, 0.0), xp)


def _rescale(w: Array, xp: Any) -> Array:
    """Return weights (..., V) divided by their sum."""
    return w / xp.sum(w, axis=-1, keepdims=True)
