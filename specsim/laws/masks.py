"""Laws under a mask, as in structured output: the tokens that a grammar allows share the mass."""

from __future__ import annotations

import numpy as np
from array_api_compat import is_array_api_obj

from specsim.base import check
from specsim.base.arrays import array_namespace
from specsim.types import Array


@np.errstate(under="ignore")
def masked_law(law: Array, mask: Array) -> Array:
    r"""Return a law conditioned on the tokens that a mask allows.

    .. math:: p'_v = \frac{p_v \, m_v}{\sum_w p_w \, m_w}

    It equals a softmax of logits whose other tokens are set to -inf. Filters (top-p and their like)
    belong after the mask, in `warp`: a filter of the whole law may drop tokens that the mask allows.

    Parameters
    ----------
    law : array_like, shape (..., V)
        Laws.
    mask : array_like of bool, shape broadcastable to (..., V)
        True where a token is allowed.

    Returns
    -------
    array, shape (..., V)
        Fractions stay exact.

    Raises
    ------
    ValueError
        A row is not a law, shapes that do not fit, or a mask that allows no token which its row
        gives a probability (its place is named).
    TypeError
        A mask that is not bool.

    References
    ----------
    Willard and Louf 2023, arXiv:2307.09702 (masks of a grammar).

    Examples
    --------
    >>> masked_law([0.5, 0.3, 0.2], [False, True, True]).tolist()
    [0.0, 0.6, 0.4]
    """
    return masked_row(check.law(law, "law"), mask, "law")


def masked_row(w: Array, mask: Array, name: str) -> Array:
    """Return `masked_law` of rows w (..., V) that are checked; `name` is their name in errors."""
    # The mask must be bool, and fit the rows.
    xp = array_namespace(w)
    m = check.like(mask if is_array_api_obj(mask) else np.asarray(mask), w)
    # The type's name is "bool" in NumPy and JAX, and "torch.bool" in torch.
    if str(m.dtype).rpartition(".")[2] != "bool":
        raise TypeError(f"mask has dtype {m.dtype}; it says by True and False which tokens are allowed")
    if m.ndim == 0 or m.shape[-1] != w.shape[-1]:
        raise ValueError(f"mask has shape {tuple(m.shape)} for {w.shape[-1]} tokens; its last axis is the vocabulary")
    check.leading(f"{name} and mask", tuple(w.shape[:-1]), tuple(m.shape[:-1]))

    # Rescale the allowed probabilities; a row must have an allowed token with a probability.
    allowed = xp.where(m, w, 0 * w)
    total = xp.sum(allowed, axis=-1, keepdims=True)
    if check.concrete(total) and not bool(xp.all(total > 0)):
        row = [int(i) for i in np.argwhere(np.asarray(total[..., 0] == 0))[0]]
        place = "".join(f"[{i}]" for i in row)
        raise ValueError(f"mask{place} allows no token that {name}{place} gives a probability: nothing can be drawn")
    return allowed / total
