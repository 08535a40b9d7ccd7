"""Near ties: does a greedy text differ from plain decoding by rounding, or by an error?

Both texts come from the same weights by two paths: decoding computes the logits after one token,
verifying after several at once, and the two round differently. Where the margin between the two
tokens is not above twice the largest difference of the paths, either token may be the likeliest;
where it is, no rounding excuses the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits

# A text, prompt included -> the logits after it, (V,).
Logits = Callable[[tuple[int, ...]], Any]


class Difference(NamedTuple):
    """The first token at which two texts differ, and what a near tie is judged by.

    `place` counts from 0, right after the prompt; `tokens` are that of the plain text and that of
    the other. `margin` is the logit of the first less that of the second, by decoding. `paths` is
    the largest difference of log-probabilities between decoding and verifying.
    """

    place: int
    tokens: tuple[int, int]
    margin: float
    paths: float

    @property
    def near(self) -> bool:
        """Whether rounding alone explains the difference: each of the two logits may be off by `paths`."""
        return self.margin <= 2 * self.paths

    def __str__(self) -> str:
        verdict = "a near tie" if self.near else "no tie"
        plain_token, other_token = self.tokens
        return (
            f"{verdict}: at token {self.place} {other_token} instead of {plain_token}, "
            f"margin {self.margin:.3g} in logits, decoding and verifying {self.paths:.3g} apart"
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
    Yuan et al. 2025, arXiv:2506.09501: greedy texts of one model differ
    between batch sizes, for rounding.

    Examples
    --------
    >>> decode, verify = (lambda text: [2.0, 1.99, 0.0]), (lambda text: [1.99, 2.0, 0.0])
    >>> print(first_difference([0, 0], [0, 1], decode, verify))
    a near tie: at token 1 1 instead of 0, margin 0.01 in logits, decoding and verifying 0.01 apart
    >>> first_difference([0, 0], [0, 2], decode, verify).near
    False
    """
    plain, other, prompt = _text(plain, "plain"), _text(other, "other"), _text(prompt, "prompt")
    for name, function in (("decode", decode), ("verify", verify)):
        if not callable(function):
            raise TypeError(f"{name} must be a function from a text to logits, got {check.shown(function)}")
    # The first token that differs.
    place = next((i for i, (a, b) in enumerate(zip(plain, other, strict=False)) if a != b), None)
    if place is None:
        return None
    # How far the two paths are apart, at most, up to there.
    paths = 0.0
    for i in range(place + 1):
        text = (*prompt, *plain[:i])
        decoded = _normalised(decode(text), "decode")
        verified = _normalised(verify(text), "verify")
        if decoded.shape != verified.shape:
            raise ValueError(f"decode gives logits of shape {decoded.shape} after {text}, verify {verified.shape}")
        live = np.isfinite(decoded) & np.isfinite(verified)
        paths = max(paths, float(np.abs(decoded[live] - verified[live]).max(initial=0.0)))
    # The margin between the two tokens, by decoding.
    logits = _normalised(decode((*prompt, *plain[:place])), "decode")
    plain_token, other_token = plain[place], other[place]
    largest = max(plain_token, other_token)
    if largest >= len(logits):
        raise ValueError(f"token {largest} is outside the vocabulary 0..{len(logits) - 1} of the logits")
    margin = float(logits[plain_token] - logits[other_token])
    return Difference(place, (plain_token, other_token), margin, paths)


def _text(value: Any, name: str) -> tuple[int, ...]:
    """Return token ids as a tuple."""
    ids = check.tokens(value, name, limits.MAX_INTEGER)
    if ids.ndim != 1:
        raise TypeError(f"{name} must be a list of token ids, got {check.shown(value)}")
    return tuple(int(x) for x in ids)


def _normalised(logits: Any, name: str) -> Any:
    """Return logits as log-probabilities, float64: a constant that is added to all logits makes no difference."""
    values = logits.detach().cpu().double().numpy() if hasattr(logits, "detach") else logits
    try:
        row = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must return logits (V,), got {check.shown(values)}") from None
    if row.ndim != 1 or not row.size:
        raise TypeError(f"{name} must return logits (V,), got an array of shape {row.shape}")
    top = row.max()
    if not np.isfinite(top):
        raise ValueError(f"{name} returned logits of which the largest is {top}")
    return row - top - np.log(np.exp(row - top).sum())
