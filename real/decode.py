"""The decode loop: draft, verify, roll back. Plain decoding is the same loop with gamma = 0."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from real.draft.lm import Draw, LMDraft
from real.model import LanguageModel
from real.warp import Sampling, probabilities
from specsim import _check, keyed_uniforms
from specsim._dist import pick
from specsim.types import ChainRule
from specsim.verify.chain import tokenwise

Uniforms = Callable[[int, int], Tensor]  # position in the text, how many -> uniforms in [0, 1)


class Block(NamedTuple):
    """One target call: where it started (tokens of text before it), drafts proposed, drafts that became text."""

    start: int
    drafted: int
    accepted: int


class Decoded(NamedTuple):
    """Result of `decode`: the new tokens, the blocks that made them, and seconds spent after the prompt was read."""

    tokens: list[int]
    blocks: list[Block]
    seconds: float


def keyed(seed: int, sequence: int) -> Uniforms:
    """Uniforms that depend only on (seed, sequence, position)."""
    return lambda position, count: torch.from_numpy(keyed_uniforms(seed, sequence, position, count))


def check_fit(model: LanguageModel, prompt: list[int], max_tokens: int, name: str) -> None:
    """ValueError for an empty prompt, foreign ids, or a text that would not fit into the context."""
    _check.integer(max_tokens, "max_tokens", 1)
    if not isinstance(prompt, list) or not all(isinstance(t, int) for t in prompt):
        raise TypeError(f"the prompt must be a list of token ids (int), got {type(prompt).__name__}")
    if not prompt:
        raise ValueError("the prompt is empty: it must have at least one token")
    bad = [(i, t) for i, t in enumerate(prompt) if not 0 <= t < model.vocab_size]
    if bad:
        raise ValueError(f"prompt[{bad[0][0]}] is token {bad[0][1]}, outside the vocabulary 0..{model.vocab_size - 1}")
    if len(prompt) + max_tokens > model.context:
        raise ValueError(
            f"a prompt of {len(prompt)} tokens and max_tokens={max_tokens} need {len(prompt) + max_tokens} "
            f"positions; the {name} has a context of {model.context}"
        )


def decode(
    target: LanguageModel,
    draft: LanguageModel | None,
    prompt: list[int],
    *,
    max_tokens: int,
    gamma: int,
    uniforms: Uniforms,
    sampling: Sampling = Sampling(),  # noqa: B008 - frozen
    stop: frozenset[int] = frozenset(),
    rule: ChainRule = tokenwise,
    draw: Draw = pick,
) -> Decoded:
    """Write up to `max_tokens` tokens after a prompt.

    Each turn drafts, runs the target once over the last token and the drafts, lets the rule decide, and rolls both
    caches back to what was kept. The randomness, the rule and the draw are arguments, so that a test can follow every
    branch of this very loop.

    Parameters
    ----------
    target : LanguageModel
        The model whose law the text has.
    draft : LanguageModel or None
        The proposer; None only with gamma = 0.
    prompt : list of int
        At least one token.
    max_tokens : int
        Tokens to write, at least 1.
    gamma : int
        Drafts per block; 0 is plain decoding. Fewer are drafted where fewer can still be used.
    uniforms : callable
        (position, count) -> float64 uniforms; called once per block, with the length of the text before it.
    sampling : Sampling
        For target and draft alike.
    stop : set of int
        Tokens after which the text ends.
    rule : ChainRule
        Decides what is kept.
    draw : callable
        Draws a draft token from a law and a uniform.

    Returns
    -------
    Decoded
        tokens (a stop token included), blocks, seconds.

    Raises
    ------
    ValueError
        Empty prompt, ids out of range, prompt and max_tokens beyond a context, gamma < 0 or without a draft.
    """
    _check.integer(gamma, "gamma", 0)
    check_fit(target, prompt, max_tokens, "target")
    if gamma and draft is None:
        raise ValueError(f"gamma={gamma} needs a draft model")
    cache, text = target.cache(), torch.tensor(prompt, device=target.device)
    proposer = None
    if gamma and draft is not None:
        check_fit(draft, prompt, max_tokens, "draft")
        if draft.vocab_size != target.vocab_size:
            raise ValueError(
                f"the target has {target.vocab_size} tokens and the draft {draft.vocab_size}: load them as a pair"
            )
        proposer = LMDraft(draft, sampling, draw)
        proposer.read(text[:-1])
    if len(prompt) > 1:
        cache.forward(text[:-1], 0)
    end, blocks, began = len(prompt) + max_tokens, [], time.perf_counter()
    while text.shape[0] < end:
        start = text.shape[0]
        length = min(gamma, end - start - 1)  # the block adds one token of its own
        u = uniforms(start, length + rule.uniforms(length)).to(target.device)
        if proposer and length:
            drafts, q = proposer.propose(text, length, u[:length])
        else:
            drafts, q = text[:0], torch.empty(0, target.vocab_size, device=target.device)
        p = probabilities(cache.forward(torch.cat([text[-1:], drafts]), length + 1), sampling)
        if not bool(torch.isfinite(p.sum())):  # one number that is not reaches every sum
            row = int((~torch.isfinite(p.sum(-1))).nonzero()[0, 0])
            raise ValueError(f"the target's logits at position {start + row} are not finite (dtype {target.dtype})")
        kept, token = rule.verify(rule.prepare(p, q.to(p.dtype)), drafts, u[length:])
        n = int(kept)
        new = torch.cat([drafts[:n], token.reshape(1)])
        ends = [i for i, t in enumerate(new.tolist()) if t in stop]
        new = new[: ends[0] + 1] if ends else new
        blocks.append(Block(start, length, min(n, len(new))))
        text = torch.cat([text, new])
        cache.rollback(start + n)
        if ends:
            break
    return Decoded(text[len(prompt) :].tolist(), blocks, time.perf_counter() - began)
