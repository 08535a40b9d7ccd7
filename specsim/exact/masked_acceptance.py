"""Acceptance under a mask, for structured output: exact, for any step rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from specsim.base import check
from specsim.discover import Rule
from specsim.exact.step import acceptance_rate
from specsim.laws.masks import masked_row
from specsim.types import Array, Draws


@np.errstate(under="ignore")
def masked_acceptance(
    p: Array,
    q: Array,
    mask: Array,
    *,
    masked_draft: bool = True,
    rule: Rule = "rejection",
    num_drafts: int | Draws = 1,
    scheme: str | None = None,
    params: Mapping[str, Any] | None = None,
) -> Array:
    r"""Return the probability that a rule's token is one of its drafts where only some tokens are allowed.

    For one draft under rejection, with the mask m,

    .. math:: \beta' = \sum_v \min(p'_v, q'_v), \quad p' = \frac{p \, m}{p \cdot m}, \quad
        q' = \frac{q \, m}{q \cdot m}.

    A draft that does not see the mask has q' = q, and loses at least the probability that it gives
    to tokens that are not allowed. A draft that sees the mask may be kept more or less often than
    without a mask; less often where both models agree on the tokens that are not allowed.

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Laws of target and draft before the mask, and before filters that come after it.
    mask : array_like of bool, shape broadcastable to (..., V)
        True where a token is allowed.
    masked_draft : bool
        Whether drafts are drawn under the mask, too.
    rule : str, path or module
        As in `acceptance_rate`.
    num_drafts : int or Draws
        As in `acceptance_rate`.
    scheme : str, optional
        As in `acceptance_rate`.
    params : mapping, optional
        As in `acceptance_rate`.

    Returns
    -------
    array, shape (...), in [0, 1]
        Where one token alone is allowed, 1 if the draft sees the mask and the rule is lossless.

    Raises
    ------
    ValueError
        As in `acceptance_rate` and `masked_law`: a mask that leaves a row nothing names the row.
    TypeError
        A mask, or masked_draft, that is not bool.

    References
    ----------
    Willard and Louf 2023, arXiv:2307.09702 (masks of a grammar); Leviathan et
    al. 2023, arXiv:2211.17192 (one draft).

    Examples
    --------
    >>> p, q, mask = [0.5, 0.3, 0.2], [0.1, 0.3, 0.6], [False, True, True]
    >>> float(masked_acceptance(p, q, mask).round(3)), float(masked_acceptance(p, q, mask, masked_draft=False).round(3))
    (0.733, 0.7)
    """
    # Either model's law is masked and normalised; the draft may not see the mask.
    if not isinstance(masked_draft, bool):
        raise TypeError(f"masked_draft must be True or False, got {check.shown(masked_draft)}")
    p, q = check.laws(p, q)
    allowed = masked_row(p, mask, "p")
    drafts = masked_row(q, mask, "q") if masked_draft else q
    return acceptance_rate(allowed, drafts, rule=rule, num_drafts=num_drafts, scheme=scheme, params=params)
