"""Correct parts that the rules of the museum share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from specsim.conform.subject import SamplingParams
from specsim.laws.warp import warp
from specsim.types import Array

# Numbers of drafts at which the errors of the museum show.
SIZES = (1, 2)


def draw(random: Any, weights: Array) -> int:
    """Return a token with probability in proportion to its weight."""
    return int(random.choice(len(weights), p=weights / weights.sum()))


def residual(p: Array, q: Array) -> Array:
    """Return (p - q)+, not normalised; p where rounding leaves nothing."""
    rest = (p - q).clip(0)
    return rest if rest.sum() > 0 else p


def place(u: Any, weights: Array) -> int:
    """Return the token on whose part of [0, 1) a uniform lies; the last possible one if rounding leaves none."""
    ends = np.cumsum(weights / weights.sum())
    *_, last_possible = np.flatnonzero(weights).tolist()
    return next((i for i, end in enumerate(ends[:-1]) if u < end), last_possible)


def warped(law: Array, sampling_params: SamplingParams) -> Array:
    """Return a law, or rows of laws, under sampling parameters."""
    with np.errstate(divide="ignore"):
        return np.asarray(warp(np.log(law), **sampling_params._asdict()))


def rounds(prompt: Sequence[int], n: int, block: Callable[[tuple[int, ...]], Sequence[int]]) -> tuple[int, ...]:
    """Return n tokens after a prompt, made of the blocks that follow the text so far."""
    text: tuple[int, ...] = tuple(prompt)
    while len(text) < len(prompt) + n:
        text += tuple(block(text))
    return text[len(prompt) : len(prompt) + n]


def children(tree: Any, node: int) -> list[int]:
    """Return the nodes below a node, in the order in which they were drawn; -1 is the root."""
    return [i for i, parent in enumerate(tree.parents) if parent == node]
