"""Sampling parameters, checked without torch, which is needed only to apply them."""

from __future__ import annotations

from dataclasses import dataclass

from specsim.base import check
from specsim.laws.warp import check_settings

Bias = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Warping:
    """Sampling parameters, applied to target and draft alike (see `specsim.warp`).

    Attributes
    ----------
    temperature : float
        0 is greedy decoding.
    top_k : int
        0 keeps every token.
    top_p, min_p : float
        1 and 0 keep every token.
    repetition_penalty : float
        1 is off; otherwise `probabilities` needs the tokens of the context.
    logit_bias : tuple of (token, bias)
        Added to the logits of these tokens; -inf excludes one. Any sequence of pairs is taken, and kept as tuples.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: Bias = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "logit_bias", _checked(self.logit_bias))
        check_settings(**{name: value for name, value in vars(self).items() if name != "logit_bias"})


def warping_of(temperature: float | None, warping: Warping | None) -> Warping:
    """Return the sampling parameters of a call that takes a temperature for short; refuse two that differ.

    >>> warping_of(0.5, None).temperature
    0.5
    """
    if temperature is not None:
        temperature = check.scalar(temperature, "temperature", "[0, inf)")
    if warping is None:
        return Warping() if temperature is None else Warping(temperature)
    if not isinstance(warping, Warping):
        raise TypeError(f"warping must be a real.Warping, got {type(warping).__name__}")
    if temperature not in (None, warping.temperature):
        raise ValueError(
            f"temperature={temperature:g} and a warping with temperature {warping.temperature:g} are both given: "
            "leave temperature out"
        )
    return warping


def _checked(pairs: Bias) -> Bias:
    """Return the pairs as a hashable tuple; ValueError for a bias that is not finite or -inf, or a token twice.

    The vocabulary is not known here.
    """
    try:
        split = [(token, bias) for token, bias in pairs]
    except (TypeError, ValueError):
        raise TypeError(f"logit_bias must hold pairs (token, bias), got {check.shown(pairs)}") from None
    # Tokens and biases, each checked; no token twice.
    checked = tuple(
        (
            check.integer(token, "token of logit_bias", 0),
            float(check.scalar(bias, f"logit_bias of token {token}", "[-inf, inf)")),
        )
        for token, bias in split
    )
    tokens = [token for token, _ in checked]
    if len(set(tokens)) < len(tokens):
        twice = next(token for i, token in enumerate(tokens) if token in tokens[:i])
        raise ValueError(f"logit_bias names token {twice} twice")
    return checked
