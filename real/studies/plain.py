"""Texts that a target writes by plain decoding."""

from __future__ import annotations

from collections.abc import Sequence

from real.decode.loop import decode_batch, keyed
from real.decode.warp import Warping
from real.pair import Pair


def plain_texts(
    pair: Pair, prompts: Sequence[list[int]], *, max_tokens: int, warping: Warping, seed: int
) -> list[list[int]]:
    """Return the tokens that the target writes after each prompt, which is given in tokens."""
    decoded = decode_batch(
        pair.target,
        None,
        prompts,
        max_tokens=max_tokens,
        gamma=0,
        uniforms=[keyed(seed, i) for i in range(len(prompts))],
        warping=warping,
        stop=pair.stopping(),
        kept=pair.kept,
    )
    return [text.tokens for text in decoded]
