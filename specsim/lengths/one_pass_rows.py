"""Acceptance of a drafter of one pass along texts: its law of each draft depends on where the block starts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specsim.base.arrays import at
from specsim.lengths.acceptance_record import Acceptance, from_function
from specsim.lengths.blocks import renewal
from specsim.lengths.hazards import HazardEstimate, pool_texts
from specsim.types import Array
from specsim.verify.lookup import chain_rule


def from_one_pass_rows(p: Array, q: Array, tokens: Array, lengths: Sequence[int], *, source: str) -> Acceptance:
    """The acceptance of tokenwise rejection along texts that the target wrote, with drafts of one pass.

    p (n, V): the target's law of each token. q (n, gamma, V): q[t, i] is the drafter's law of draft i + 1 in a block
    whose first draft stands at token t, so of token t + i; past the end of a text nothing is read. tokens (n,), in
    texts of `lengths`. Raises ValueError for a token of probability 0 under p.
    """
    p_token = at(p, tokens)
    if (p_token == 0).any():
        i = int(np.argmax(p_token == 0))
        raise ValueError(f"{source}: token {i} has probability 0 under the target, which wrote the text")
    survival = chain_rule("tokenwise").survival
    ends = np.cumsum(lengths)
    texts = [
        survival(_ratios(p_token[end - size : end], q[end - size : end], tokens[end - size : end]))
        for size, end in zip(lengths, ends, strict=True)
    ]

    # Hazards of blocks of gamma drafts: the renewal law of each text, pooled over texts.
    def pooled(gamma: int) -> Array | HazardEstimate:
        laws = [renewal(rows[:, :gamma]) for rows in texts]
        tried = np.array([law.tried for law in laws])
        accepted = np.array([law.hazards for law in laws]) * tried
        if len(texts) > 1 and tried.sum(axis=0).all():
            return pool_texts(accepted, tried)
        return accepted.sum(axis=0) / np.where(tried.sum(axis=0) > 0, tried.sum(axis=0), 1)

    sample = "of one text, so its error is not known" if len(texts) == 1 else "an independent sample of texts"
    words = (
        f"acceptance along {source} ({len(texts)} texts) of drafts that do not see each other, by the renewal law: "
        f"{sample}"
    )
    return from_function(pooled, words)._replace(longest=q.shape[1])


def _ratios(p_token: Array, q: Array, tokens: Array) -> Array:
    """Return the ratios q/p (T, gamma) of the tokens that a block from each start meets; 0 past the end."""
    length, gamma = q.shape[:2]
    place = np.arange(length)[:, None] + np.arange(gamma)
    inside = place < length
    place = np.minimum(place, length - 1)
    return np.where(inside, at(q, tokens[place]) / p_token[place], 0)
