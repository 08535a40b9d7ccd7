"""The joint law of many texts against the target's own, summed from uncached forwards in the same dtype."""

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

# A block of three accepted drafts and the bonus token fills a text.
VOCAB, TOKENS, GAMMA = 4, 4, 3
# Probability with which the test rejects texts that have the law.
FALSE_ALARM = 1e-6
# The prompt has one token, so that nothing has to be read beforehand, text by text.
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
        """Return numbers of accepted drafts, and tokens."""
        num_accepted, _ = tokenwise.verify(plan, drafts, u)
        row = array_namespace(u).take_along_axis(plan.p, num_accepted[..., None, None], axis=-2)[..., 0, :]
        return num_accepted, pick(row, u[..., -1])


def tested(
    device: torch.device,
    dtype: torch.dtype,
    fixed: bool | None,
    texts: int,
    batch: int,
    *,
    planted: bool,
) -> Row:
    """Write texts in large batches and test their law.

    With a planted fault the verdict is `killed`.
    """
    # The models, the law of their texts, and counts of what is written.
    target, draft = (
        from_hf(random_tiny("llama", VOCAB, seed, near=near, dtype=dtype).to(device))
        for seed, near in ((3, None), (4, 3))
    )
    law = text_law(lambda text: full_logits(target, text)[-1], device)
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
    """Law (VOCAB ** TOKENS,) of the texts after the prompt, in lexicographic order, from next-token logits."""
    law = np.ones(1)
    for length in range(TOKENS):
        prefixes = itertools.product(range(VOCAB), repeat=length)
        laws = [
            probabilities(rows(torch.tensor([*_START, *text], device=device)), Warping()).double().cpu().numpy()
            for text in prefixes
        ]
        law = (law[:, None] * np.stack(laws)).ravel()
    return law / law.sum()


def _stepwise(model: LanguageModel, text: Tensor) -> Tensor:
    """Logits from a cache, one token at a time: with them the effect of rounding alone is known."""
    cache = model.cache()
    return [cache.forward(token[None, None], 1)[0, 0] for token in text][-1]


def _counts(
    target: LanguageModel,
    draft: LanguageModel,
    rule: Verifier,
    fixed: bool | None,
    texts: int,
    batch: int,
) -> tuple[Array, int]:
    """How often each text was written, and the number of blocks."""
    counts, blocks = np.zeros(VOCAB**TOKENS, dtype=np.int64), 0
    # A batch captures its cycle once; the last batch may be smaller, and has a cycle of its own.
    kept = Kept(2)
    places = VOCAB ** np.arange(TOKENS)[::-1]
    for done in range(0, texts, batch):
        sources = list(_uniforms(min(batch, texts - done), done))
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
                kept=kept,
            )
        counts += np.bincount(np.array([run.tokens for run in decoded]) @ places, minlength=len(counts))
        blocks += sum(len(run.blocks) for run in decoded)
    kept.clear()
    free(target.device)
    return counts, blocks


@contextmanager
def _no_collection() -> Iterator[None]:
    """Search for no reference cycles inside: with a batch's many small objects it takes a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _uniforms(count: int, seed: int) -> Iterator[Uniforms]:
    """Independent uniforms for each text and each place where a block may start.

    Keyed ones would take most of the time.
    """
    size = GAMMA + tokenwise.uniforms(GAMMA)
    rows = np.random.default_rng(seed).random((count, TOKENS, size))
    for text_rows in torch.from_numpy(rows):
        yield partial(_part_of, text_rows)


def _part_of(text_rows: Tensor, position: int, count: int) -> Tensor:
    """The first uniforms of a text's block at a position."""
    return text_rows[position - len(_START), :count]
