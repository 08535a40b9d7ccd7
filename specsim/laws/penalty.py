"""Presence and frequency penalties: they lower both models' logits at tokens of the text so far."""

from __future__ import annotations

from specsim.base import check
from specsim.base.arrays import array_namespace
from specsim.types import Array


def penalize(
    logits: Array,
    counts: Array,
    *,
    presence_penalty: float = 0.0,
    frequency_penalty: float = 0.0,
) -> Array:
    r"""Return logits after presence and frequency penalties; `warp` turns them into laws.

    .. math:: \ell'_v = \ell_v - \beta \, 1[n_v > 0] - \varphi \, n_v

    A verifier stays lossless, and its acceptance exact, if both models' logits are penalized with
    the counts at *each* draft position: the text so far and the drafts before this one.

    Parameters
    ----------
    logits : array_like, shape (..., V)
        Logits of the target or of the draft.
    counts : array_like of int, broadcastable to (..., V)
        How often each token stands in the text at that position. vLLM and OpenAI count what was
        generated, not the prompt.
    presence_penalty : float
        beta, in [-2, 2].
    frequency_penalty : float
        phi, in [-2, 2].

    Returns
    -------
    array, shape (..., V)
        In the dtype of the logits.

    Raises
    ------
    ValueError
        A penalty outside [-2, 2], counts that are negative, no whole numbers, or do not fit the
        logits.

    References
    ----------
    OpenAI API reference, "Frequency and presence penalties"; the order of vLLM: these, then
    temperature and filters.

    Examples
    --------
    >>> import specsim
    >>> specsim.penalize([2.0, 1.0, 0.0], [2, 1, 0], presence_penalty=0.5, frequency_penalty=0.25).tolist()
    [1.0, 0.25, 0.0]
    >>> p, q = (specsim.warp(specsim.penalize(l, [1, 0], presence_penalty=1.0)) for l in ([1.0, 0.0], [2.0, 0.0]))
    >>> float(specsim.acceptance_rate(p, q).round(3))
    0.769
    """
    # Check penalties and logits.
    beta = float(check.scalar(presence_penalty, "presence_penalty", "[-2, 2]"))
    phi = float(check.scalar(frequency_penalty, "frequency_penalty", "[-2, 2]"))
    x = check.array(logits, "logits")
    check.last_axis(x, "logits")
    xp = array_namespace(x)
    if x.dtype == object or not xp.isdtype(x.dtype, "real floating"):
        raise TypeError(f"logits has dtype {x.dtype}; logits are floats")

    # Check the counts n: whole numbers that fit the logits.
    n = check.like(check.real_values(counts, "counts", 0, float("inf")), x)
    check.leading("logits and counts", tuple(x.shape), tuple(n.shape))
    if n.ndim > x.ndim or (n.ndim and n.shape[-1] not in (1, x.shape[-1])):
        raise ValueError(f"counts has shape {tuple(n.shape)}; it must broadcast to the logits' {tuple(x.shape)}")
    if check.concrete(n) and not bool(xp.all(n == xp.floor(n))):
        index, entry = check.first_bad(n, n != xp.floor(n))
        raise ValueError(f"counts{index} is {entry}; give whole numbers")

    # The formula of the docstring.
    n = xp.astype(n, x.dtype)
    return x - beta * xp.astype(n > 0, x.dtype) - phi * n
