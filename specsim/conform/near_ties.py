"""A greedy text that differs from plain decoding: is it a near tie, which rounding decides, or an error?

Both texts come from the same weights by two paths: decoding computes the logits after one token, verifying after
several at once, and the two round differently. Where the margin between the two tokens is not above twice the largest
difference of the paths, either token may be the likeliest; where it is, no rounding excuses the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits

Logits = Callable[[tuple[int, ...]], Any]  # of a text, prompt included -> (V,)


class Difference(NamedTuple):
    """The first token at which two texts differ: the margin in logits there, and how far the two paths are apart."""

    place: int  # of the first token that differs, 0 after the prompt
    tokens: tuple[int, int]  # of the plain text, of the other
    margin: float  # logit of the first less that of the second, by decoding
    paths: float  # largest difference of log-probabilities between decoding and verifying

    @property
    def near(self) -> bool:
        """Whether rounding alone explains it."""
        return self.margin <= 2 * self.paths

    def __str__(self) -> str:
        said = "a near tie" if self.near else "no tie"
        return (
            f"{said}: at token {self.place} {self.tokens[1]} instead of {self.tokens[0]}, margin {self.margin:.3g} in "
            f"logits, decoding and verifying {self.paths:.3g} apart"
        )


def first_difference(
    plain: Sequence[int], other: Sequence[int], decode: Logits, verify: Logits, *, prompt: Sequence[int] = ()
) -> Difference | None:
    """Find the first token at which a greedy text differs from plain greedy decoding, and say if it is a near tie.

    Parameters
    ----------
    plain, other : sequence of int
        Token ids after the prompt: of plain greedy decoding, and of the decoder that should agree with it.
    decode, verify : callable
        A text (a tuple of token ids, prompt included) -> logits (V,) after it, as decoding token by token and as a pass
        over several positions compute them.
    prompt : sequence of int
        What both go on from.

    Returns
    -------
    Difference or None
        None if one text begins with the other.

    Raises
    ------
    ValueError
        The two paths give logits of different shapes, a token is outside of them, or all of a row is -inf or NaN.
    TypeError
        A text holds no token ids, or decode or verify is no function to logits (V,).

    References
    ----------
    Yuan et al. 2025, arXiv:2506.09501: greedy texts of one model differ between batch sizes, for rounding.

    Examples
    --------
    >>> decode, verify = (lambda text: [2.0, 1.99, 0.0]), (lambda text: [1.99, 2.0, 0.0])
    >>> print(first_difference([0, 0], [0, 1], decode, verify))
    a near tie: at token 1 1 instead of 0, margin 0.01 in logits, decoding and verifying 0.01 apart
    >>> first_difference([0, 0], [0, 2], decode, verify).near
    False
    """
    plain, other, prompt = (_text(*one) for one in ((plain, "plain"), (other, "other"), (prompt, "prompt")))
    for name, function in (("decode", decode), ("verify", verify)):
        if not callable(function):
            raise TypeError(f"{name} must be a function from a text to logits, got {check.shown(function)}")
    place = next((i for i, (a, b) in enumerate(zip(plain, other, strict=False)) if a != b), None)
    if place is None:
        return None
    apart = 0.0
    for i in range(place + 1):
        text = (*prompt, *plain[:i])
        one, two = _normalised(decode(text), "decode"), _normalised(verify(text), "verify")
        if one.shape != two.shape:
            raise ValueError(f"decode gives logits of shape {one.shape} after {text}, verify {two.shape}")
        live = np.isfinite(one) & np.isfinite(two)
        apart = max(apart, float(np.abs(one[live] - two[live]).max(initial=0.0)))
    logits, tokens = _normalised(decode((*prompt, *plain[:place])), "decode"), (plain[place], other[place])
    if max(tokens) >= len(logits):
        raise ValueError(f"token {max(tokens)} is outside the vocabulary 0..{len(logits) - 1} of the logits")
    return Difference(place, tokens, float(logits[tokens[0]] - logits[tokens[1]]), apart)


def _text(value: Any, name: str) -> tuple[int, ...]:
    """Token ids as a tuple."""
    ids = check.tokens(value, name, limits.MAX_INTEGER)
    if ids.ndim != 1:
        raise TypeError(f"{name} must be a list of token ids, got {check.shown(value)}")
    return tuple(int(x) for x in ids)


def _normalised(logits: Any, name: str) -> Any:
    """Log-probabilities, float64: a constant that is added to all logits is no difference."""
    held = logits.detach().cpu().double().numpy() if hasattr(logits, "detach") else logits
    try:
        row = np.asarray(held, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must return logits (V,), got {check.shown(held)}") from None
    if row.ndim != 1 or not row.size:
        raise TypeError(f"{name} must return logits (V,), got an array of shape {row.shape}")
    top = row.max()
    if not np.isfinite(top):
        raise ValueError(f"{name} returned logits of which the largest is {top}")
    return row - top - np.log(np.exp(row - top).sum())
