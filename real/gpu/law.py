"""A test of the joint law of many decoded texts against the exact law of the target's texts.

The models are so small that all texts can be listed: the exact law is the product of next-token laws
along each of them, from forwards without a cache in the same dtype.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from array_api_compat import array_namespace
from torch import Tensor

from real.decode.chain_cycle import Verifier
from real.decode.graphs import Kept
from real.decode.loop import Uniforms, decode_batch
from real.decode.warp import Warping, probabilities
from real.gpu.book import Row
from real.gpu.device import free
from real.gpu.models import random_tiny
from real.models.model import LanguageModel, from_hf, full_logits
from specsim.base.arrays import pick
from specsim.laws.make import total_variation
from specsim.testing.statistics import law_test
from specsim.types import Array
from specsim.verify.chain import tokenwise

# Tokens of the vocabulary, tokens of a text after its prompt, and drafts of a block. A block of
# three accepted drafts and the bonus token fills a text.
VOCAB, TOKENS, GAMMA = 4, 4, 3
# Probability with which the test rejects texts that have the law.
FALSE_ALARM = 1e-6
# The prompt of every text. It has one token, which the first block reads: a longer one would be
# read before, text by text.
_START = [0]


@dataclass(frozen=True)
class DrawsFromTarget:
    """A planted fault: tokenwise, but the token after a rejection is drawn from p, not the residual."""

    def prepare(self, p: Array, q: Array) -> tokenwise.Plan:
        """Return tokenwise's plan."""
        return tokenwise.prepare(p, q)

    def uniforms(self, gamma: int) -> int:
        """Return tokenwise's number of uniforms."""
        return tokenwise.uniforms(gamma)

    def verify(self, plan: Any, drafts: Array, u: Array) -> tuple[Array, Array]:
        """Return numbers of accepted drafts (...,), and the tokens after them (...,)."""
        num_accepted, _ = tokenwise.verify(plan, drafts, u)
        # The row of plan.p (..., gamma + 1, V) at which the block ends, as (..., 1, V).
        place = num_accepted[..., None, None]
        last_row = array_namespace(u).take_along_axis(plan.p, place, axis=-2)
        token_uniform = u[..., -1]
        return num_accepted, pick(last_row[..., 0, :], token_uniform)


def tested(
    device: torch.device,
    dtype: torch.dtype,
    fixed: bool | None,
    texts: int,
    batch: int,
    *,
    planted: bool,
) -> Row:
    """Return the row of a law test of `texts` texts, decoded in batches of `batch`.

    The verdict is `passed`; with the planted fault `DrawsFromTarget` it is `killed`: the test must
    reject that. `fixed` is as in `decode_batch`: cycles of fixed shapes, or eager ones.
    """
    # The models (the draft resembles the target), and the exact law of the target's texts.
    target, draft = (
        from_hf(random_tiny("llama", VOCAB, seed, near=near, dtype=dtype).to(device))
        for seed, near in ((3, None), (4, 3))
    )
    law = text_law(lambda text: full_logits(target, text)[-1], device)

    # How often each text is written.
    rule = DrawsFromTarget() if planted else tokenwise
    counts, blocks = _counts(target, draft, rule, fixed, texts, batch)

    # The test, beside the distance that rounding alone makes.
    test = law_test(counts, law, false_alarm=FALSE_ALARM)
    verdict = {"mutant": "draws_from_target", "killed": not test.passed} if planted else {"passed": test.passed}
    rounding = total_variation(text_law(lambda text: _stepwise(target, text), device), law)
    return verdict | {
        "texts": test.samples, "tokens_each": TOKENS, "vocabulary": VOCAB, "gamma": GAMMA,
        "tokens_per_call": TOKENS * texts / blocks, "tv": test.distance, "threshold": test.threshold,
        "detectable_tv": test.detectable, "false_alarm": FALSE_ALARM,
        "rounding_tv": float(rounding),
    }  # fmt: skip


def text_law(rows: Callable[[Tensor], Tensor], device: torch.device) -> Array:
    """Return the law (VOCAB ** TOKENS,) of the texts after the prompt, in lexicographic order.

    `rows` returns the logits (VOCAB,) of the token after a text with its prompt.
    """

    def next_law(prefix: tuple[int, ...]) -> Array:
        """Return the law (VOCAB,) of the token after the prompt and a prefix."""
        text = torch.tensor([*_START, *prefix], device=device)
        return probabilities(rows(text), Warping()).double().cpu().numpy()

    # Each prefix is extended by every token: (prefixes, 1) times (prefixes, VOCAB), flattened.
    law = np.ones(1)
    for length in range(TOKENS):
        prefixes = itertools.product(range(VOCAB), repeat=length)
        next_laws = np.stack([next_law(prefix) for prefix in prefixes])
        law = (law[:, None] * next_laws).ravel()
    return law / law.sum()


def _stepwise(model: LanguageModel, text: Tensor) -> Tensor:
    """Return the logits (VOCAB,) after a text that is read through a cache, one token at a time.

    They differ from those of `full_logits` by rounding alone.
    """
    cache = model.cache()
    # A pass takes tokens (1, 1) and returns logits (1, 1, VOCAB).
    rows = [cache.forward(token.view(1, 1), 1)[0, 0] for token in text]
    return rows[-1]


def _counts(
    target: LanguageModel,
    draft: LanguageModel,
    rule: Verifier,
    fixed: bool | None,
    texts: int,
    batch: int,
) -> tuple[Array, int]:
    """Return how often each text was written (VOCAB ** TOKENS,), as in `text_law`, and the number of blocks."""
    counts, blocks = np.zeros(VOCAB**TOKENS, dtype=np.int64), 0
    # Two captured cycles: that of full batches, and that of the last batch if it is smaller.
    captured_cycles = Kept(2)
    # A text's number in lexicographic order is its tokens as digits, the first the most
    # significant.
    digit_values = VOCAB ** np.arange(TOKENS)[::-1]
    for num_written in range(0, texts, batch):
        # The number of texts before a batch is the seed of its uniforms.
        sources = list(_uniforms(min(batch, texts - num_written), num_written))
        with _no_collection():
            decoded = decode_batch(
                target,
                draft,
                [_START] * len(sources),
                max_tokens=TOKENS,
                gamma=GAMMA,
                uniforms=sources,
                rule=rule,
                fixed=fixed,
                kept=captured_cycles,
            )
        numbers = np.array([run.tokens for run in decoded]) @ digit_values
        counts += np.bincount(numbers, minlength=len(counts))
        blocks += sum(len(run.blocks) for run in decoded)
    captured_cycles.clear()
    free(target.device)
    return counts, blocks


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep Python from searching for reference cycles inside the context.

    With the many small objects of a batch the search takes a third of the time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _uniforms(count: int, seed: int) -> Iterator[Uniforms]:
    """Yield a source of uniforms for each text, with independent ones for each place where a block may start.

    They are drawn at once: keyed uniforms would take most of the time.
    """
    # Uniforms of a block: those of its drafts, then those of the rule.
    size = GAMMA + tokenwise.uniforms(GAMMA)
    rows = np.random.default_rng(seed).random((count, TOKENS, size))
    for text_rows in torch.from_numpy(rows):
        yield partial(_first_uniforms, text_rows)


def _first_uniforms(text_rows: Tensor, position: int, count: int) -> Tensor:
    """Return the first `count` uniforms of the block that starts at a position, which counts the prompt's tokens.

    `text_rows` (TOKENS, size) has a row for each token after the prompt.
    """
    return text_rows[position - len(_START), :count]
