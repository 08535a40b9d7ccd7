"""A cache driven through blocks and rollbacks, held against the same texts read anew."""

from __future__ import annotations

import torch
from torch import Tensor

from real.models.model import LanguageModel, full_logits


def draw_tokens(vocab: int, n: int, seed: int) -> Tensor:
    """Return n random tokens (n,)."""
    return torch.randint(vocab, (n,), generator=torch.Generator().manual_seed(seed))


def replay_error(
    model: LanguageModel, steps: list[tuple[list[int], int, int]], seed: int, batch: int = 1, slip: int = 0
) -> float:
    """Largest difference between cached and uncached logits.

    In each step some sequences of the batch read a block of new tokens each, and the last of them
    takes some back. `slip` is a planted fault: positions by which every rollback stops short, so
    that the cache goes on from rows it should have forgotten.
    """
    cache, texts = model.cache(batch), [torch.empty(0, dtype=torch.int64) for _ in range(batch)]
    rows = [torch.empty(0, model.vocab_size) for _ in range(batch)]
    for number, (which, block, back) in enumerate(steps):
        # Some sequences read a block of new tokens.
        tokens = draw_tokens(model.vocab_size, block * len(which), seed + number).view(-1, block)
        logits = cache.forward(tokens, block, which)
        for i, new, some in zip(which, tokens, logits, strict=True):
            texts[i], rows[i] = torch.cat([texts[i], new]), torch.cat([rows[i], some])

        # The last of them takes some back.
        i = which[-1]
        keep = max(0, len(texts[i]) - back)
        texts[i], rows[i] = texts[i][:keep], rows[i][:keep]
        cache.rollback(i, keep if not slip else cache.lengths[i] - min(back, cache.lengths[i]))
        cache.lengths[i] += slip if back else 0
    some = [i for i in range(batch) if len(texts[i])]
    return max((float((rows[i] - full_logits(model, texts[i])).abs().max()) for i in some), default=0.0)


def alone(steps: list[tuple[int, int]]) -> list[tuple[list[int], int, int]]:
    """Return steps (block, tokens taken back) as those of the one sequence of a batch."""
    return [([0], block, back) for block, back in steps]
