"""How many tokens a block emits: from hazards, and from a text by the renewal law of block starts."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.arrays import array_namespace
from specsim.base.results import result
from specsim.types import Array


@np.errstate(under="ignore")
def accepted_length_law(alpha: Array, *, gamma: int | None = None) -> Array:
    r"""Law of the number of kept drafts in a block.

    .. math:: P(n = i) = (1 - \alpha_{i+1}) \prod_{j \le i} \alpha_j, \; P(n = \gamma) = \prod_{j \le \gamma} \alpha_j

    Parameters
    ----------
    alpha : array_like
        With gamma: shape (...), one acceptance probability for every position (the i.i.d. model).
        Without: shape (..., gamma), the hazard curve alpha_i = P(keep draft i | all before it were kept).
    gamma : int, optional
        Speculation length, at least 0.

    Returns
    -------
    array, shape (..., gamma+1)
        Probabilities of n = 0..gamma.

    Raises
    ------
    ValueError
        An alpha outside [0, 1], or gamma < 0.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, section 3.1 (constant alpha).

    Examples
    --------
    >>> accepted_length_law([0.5, 0.5]).tolist()
    [0.5, 0.25, 0.25]
    """
    survival = _survival(alpha, gamma)
    xp = array_namespace(survival)
    return survival - xp.concat([survival[..., 1:], xp.zeros_like(survival[..., :1])], axis=-1)


@np.errstate(under="ignore")
def block_efficiency(alpha: Array, *, gamma: int | None = None) -> Array:
    r"""Expected tokens per target call, tau = E[n] + 1, the correction or bonus token included.

    .. math:: \tau = \sum_{i=0}^{\gamma} \prod_{j \le i} \alpha_j = \frac{1 - \alpha^{\gamma+1}}{1 - \alpha}
        \text{ for constant } \alpha

    Parameters
    ----------
    alpha : array_like
        With gamma: shape (...), one acceptance probability for every position (the i.i.d. model).
        Without: shape (..., gamma), the hazard curve.
    gamma : int, optional
        Speculation length, at least 0.

    Returns
    -------
    array, shape (...), in [1, gamma+1]
        Engines call it mean acceptance length.

    Raises
    ------
    ValueError
        An alpha outside [0, 1], or gamma < 0.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, equation 1.

    Examples
    --------
    >>> float(block_efficiency(0.8, gamma=3).round(4))
    2.952
    """
    survival = _survival(alpha, gamma)
    return array_namespace(survival).sum(survival, axis=-1)


def _survival(alpha: Array, gamma: int | None) -> Array:
    """P(n >= i), i = 0..gamma, from one acceptance and gamma, or from a hazard curve."""
    a = check.real_values(alpha, "alpha", 0, 1)
    xp = array_namespace(a)
    if gamma is not None:
        a = xp.broadcast_to(a[..., None], (*a.shape, check.integer(gamma, "gamma", 0, limits.MAX_GAMMA)))
    elif a.ndim == 0:
        raise ValueError("alpha is a single number: give gamma, or a hazard curve with one entry per position")
    certain = xp.ones((*a.shape[:-1], 1), dtype=a.dtype)
    return xp.concat([certain, xp.cumulative_prod(a, axis=-1)], axis=-1)


@result("tau", "blocks")
class Renewal(NamedTuple):
    """Block structure of one text under a chain rule.

    blocks: expected number of target calls to write it; tau: tokens per call; starts (T,): probability that a block
    starts at each position; tried (gamma,): expected number of blocks that come to test draft i;
    hazards (gamma,): the share of those that keep it (pool texts by summing hazards * tried and tried). Near the end
    of the text a block drafts no more than can be used: one token less than is left.
    """

    blocks: Array
    tau: Array
    starts: Array
    tried: Array
    hazards: Array


@np.errstate(under="ignore")
def renewal(survival: Array, *, ended: bool = False) -> Renewal:
    r"""Expected blocks to write a given text, without decoding it.

    Lossless text has the target's law whatever wrote it, so given the text a block that starts at position t keeps at
    least i drafts with a known probability, and block starts form a Markov chain along the text. Averaging acceptance
    over positions instead is biased, upwards where good and poor stretches are long: blocks start more often where
    acceptance is poor.

    Parameters
    ----------
    survival : array_like, shape (T, gamma)
        survival[t, i-1] = P(n >= i | text, a block starts at t), from a chain rule's `survival` on the ratios q/p of
        the text's own tokens (see `text_survival`). Rows do not
        increase. Entries past the last token do not matter.
    ended : bool
        Whether the text ended of itself, with a stop token. A text that was cut at its full length has no draft for its
        last token: the block adds one of its own. Matters for tried and hazards only.

    Returns
    -------
    Renewal
        blocks, tau = T / blocks, starts (T,), tried and hazards (gamma,). The mean of blocks over texts from the target
        is the expected number of target calls; its tau is T over that mean.

    Raises
    ------
    ValueError
        survival is not two-dimensional, is empty, increases along a row, or has an entry outside [0, 1].

    References
    ----------
    Derived for this project; an exact identity, tested in rationals against full enumeration.

    Examples
    --------
    >>> import numpy as np
    >>> float(renewal(np.full((4, 1), 0.5)).blocks)  # 4 tokens in jumps of 1 or 2
    2.875
    """
    # Validate; integers among Fractions become Fractions, as they would divide to floats.
    s = np.asarray(check.real_values(survival, "survival", 0, 1))
    if s.ndim != 2 or s.shape[0] == 0:
        raise ValueError(f"survival must have shape (T, gamma) with T >= 1, got {tuple(s.shape)}")
    s = s * Fraction(1) if s.dtype == object else s
    if not isinstance(ended, (bool, np.bool_)):
        raise TypeError(f"ended must be True or False, got {check.shown(ended)}")
    length, gamma = s.shape
    if (s[:, 1:] > s[:, :-1]).any():
        row = int(np.argmax((s[:, 1:] > s[:, :-1]).any(axis=1)))
        raise ValueError(f"survival[{row}] increases along the row; P(n >= i) cannot grow with i")
    # jump[t, i] = P(n = i): the block covers i+1 tokens. Past the end, covering more changes nothing.
    padded = np.zeros((length, gamma + 2), dtype=s.dtype)
    padded[:, 0], padded[:, 1:-1] = 1, s
    jump = padded[:, :-1] - padded[:, 1:]
    # Where blocks start: a Markov chain along the text.
    starts = np.zeros(length + gamma + 1, dtype=s.dtype)
    starts[0] = 1
    for t in range(length):
        starts[t + 1 : t + gamma + 2] = starts[t + 1 : t + gamma + 2] + starts[t] * jump[t]
    starts = starts[:length]
    blocks = starts.sum()
    return Renewal(blocks, length / blocks, starts, *_hazards(padded, starts, gamma, int(ended)))


def _hazards(padded: Array, starts: Array, gamma: int, last: int) -> tuple[Array, Array]:
    """tried and hazards (gamma,) of `Renewal`; `last` is 1 if a block may draft the text's last token, else 0."""
    tried, hazards = np.zeros(gamma, dtype=padded.dtype), np.zeros(gamma, dtype=padded.dtype)
    for i in range(gamma):
        # Draft i+1 is made where more than i+1 tokens are left, or just i+1 if the text ended with a stop token.
        start = starts[: max(len(starts) - i - 1 + last, 0)]
        tried[i] = (start * padded[: len(start), i]).sum()
        accepted = (start * padded[: len(start), i + 1]).sum()
        hazards[i] = accepted / tried[i] if tried[i] else accepted
    return tried, hazards


def text_survival(rule_survival: Array, ratio: Array, gamma: int) -> Array:
    """Survival rows (T, gamma) of a text: a chain rule's `survival` on every window of its ratios q(y)/p(y), (T,).

    Windows that run past the end are filled with ratio 0; `renewal` does not look there.
    """
    r = np.concatenate([ratio, np.zeros(gamma, dtype=ratio.dtype)])
    windows = np.lib.stride_tricks.sliding_window_view(r, gamma)[: len(ratio)] if gamma else r[:, None][:, :0]
    return rule_survival(windows)
