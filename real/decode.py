"""The decode loop: draft, verify, roll back. Plain decoding is the same loop with gamma = 0."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from real.clock import silent
from real.draft.lm import Draw, LMDraft
from real.model import LanguageModel
from real.warp import Sampling, check_vocabulary, probabilities, seen_rows
from specsim import _check, keyed_uniforms
from specsim._dist import pick
from specsim.types import Array
from specsim.verify.chain import tokenwise

Uniforms = Callable[[int, int], Tensor]  # position in the text, how many -> uniforms in [0, 1)
Stop = Callable[[list[int], int], int | None]  # new tokens, how many are known to be safe -> length where it ends


class Verifier(Protocol):
    """What the loop asks of a chain rule; lossless ones are in `specsim.verify.chain`."""

    def prepare(self, p: Array, q: Array) -> Any: ...
    def uniforms(self, gamma: int) -> int: ...
    def verify(self, plan: Any, drafts: Array, u: Array) -> tuple[Array, Array]: ...


class Block(NamedTuple):
    """One target call: where it started (tokens of text before it), drafts proposed, drafts that became text."""

    start: int
    drafted: int
    accepted: int


class Decoded(NamedTuple):
    """Result of `decode`: the new tokens, the blocks that made them, and seconds spent after the prompts were read."""

    tokens: list[int]
    blocks: list[Block]
    seconds: float


def keyed(seed: int, sequence: int) -> Uniforms:
    """Uniforms that depend only on (seed, sequence, position)."""
    return lambda position, count: torch.from_numpy(keyed_uniforms(seed, sequence, position, count))


def at_tokens(ids: Iterable[int]) -> Stop:
    """End a text after the first of these tokens."""
    ends = frozenset(ids)
    return lambda text, safe: next((i + 1 for i in range(safe, len(text)) if text[i] in ends), None)


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
    stop: frozenset[int] | Stop = frozenset(),
    rule: Verifier = tokenwise,
    draw: Draw = pick,
    mark: Callable[[str], None] = silent,
) -> Decoded:
    """Write up to `max_tokens` tokens after one prompt: `decode_batch` with a batch of one."""
    return decode_batch(
        target, draft, [prompt], max_tokens=max_tokens, gamma=gamma, uniforms=[uniforms], sampling=sampling, stop=stop,
        rule=rule, draw=draw, mark=mark,
    )[0]  # fmt: skip


def decode_batch(
    target: LanguageModel,
    draft: LanguageModel | None,
    prompts: Sequence[list[int]],
    *,
    max_tokens: int,
    gamma: int,
    uniforms: Sequence[Uniforms],
    sampling: Sampling = Sampling(),  # noqa: B008 - frozen
    stop: frozenset[int] | Stop = frozenset(),
    rule: Verifier = tokenwise,
    draw: Draw = pick,
    mark: Callable[[str], None] = silent,
    told: Callable[[int, list[int]], None] = lambda i, new: None,
) -> list[Decoded]:
    """Write up to `max_tokens` tokens after each prompt.

    Each turn drafts, runs the target once over the last tokens and the drafts, lets the rule decide, and rolls both
    caches back to what was kept: sequences keep different numbers of drafts, and none waits for another. The
    randomness, the rule and the draw are arguments, so that a test can follow every branch of this very loop. A text
    depends on its own prompt and uniforms only, not on its batch (up to the rounding of batched kernels).

    Parameters
    ----------
    target : LanguageModel
        The model whose law the texts have.
    draft : LanguageModel or None
        The proposer; None only with gamma = 0.
    prompts : sequence of lists of int
        At least one token each.
    max_tokens : int
        Tokens to write, at least 1.
    gamma : int
        Drafts per block; 0 is plain decoding. Fewer are drafted where fewer can still be used.
    uniforms : sequence of callables
        For each prompt, (position, count) -> float64 uniforms; called once per block, with the length of the text
        before it.
    sampling : Sampling
        For target and draft alike.
    stop : set of int, or callable
        Tokens after which a text ends; or a function of the new tokens (see `real.stops`), also asked inside a block.
    rule : Verifier
        Decides what is kept.
    draw : callable
        Draws draft tokens (b,) from laws (b, V) and uniforms (b,).
    mark : callable
        Told the phase of `real.clock` that ends.
    told : callable
        Told the index of a text and its new tokens after each block.

    Returns
    -------
    list of Decoded
        tokens (those that end the text included), blocks, seconds.

    Raises
    ------
    ValueError
        Empty prompt, ids out of range, prompt and max_tokens beyond a context, gamma < 0 or without a draft; during
        the run, logits that are not finite, with the position.
    """
    loop = Loop(target, draft, prompts, max_tokens, gamma, uniforms, sampling, rule, draw, mark)
    ends = stop if callable(stop) else at_tokens(stop)
    began = time.perf_counter()
    mark("")
    seconds = [0.0] * len(prompts)
    while loop.open:
        for length, group in loop.groups():
            for i, new in zip(group, loop.block(group, length), strict=True):
                if loop.keep(i, new, length, ends):
                    seconds[i] = time.perf_counter() - began
                told(i, loop.texts[i][loop.blocks[i][-1].start :])
            mark("host")
    texts = [text[len(prompt) :] for text, prompt in zip(loop.texts, prompts, strict=True)]
    return [Decoded(*each) for each in zip(texts, loop.blocks, seconds, strict=True)]


class Loop:
    """The texts of a batch while they are written.

    Parameters are those of `decode_batch`. `texts`, `blocks` and `open` (texts not finished) can be read; whoever
    drives the loop calls `block` for texts that draft equally many tokens, then `keep` for each.
    """

    def __init__(
        self, target: LanguageModel, draft: LanguageModel | None, prompts: Sequence[list[int]], max_tokens: int,
        gamma: int, uniforms: Sequence[Uniforms], sampling: Sampling, rule: Verifier, draw: Draw,
        mark: Callable[[str], None],
    ) -> None:  # fmt: skip
        _check.integer(gamma, "gamma", 0)
        _check_batch(target, draft, prompts, max_tokens, gamma, uniforms)
        check_vocabulary(sampling, target.vocab_size)
        self.texts = [list(prompt) for prompt in prompts]
        self.blocks: list[list[Block]] = [[] for _ in prompts]
        self.open = set(range(len(prompts)))
        self._starts = [len(prompt) for prompt in prompts]
        self._ends = [len(prompt) + max_tokens for prompt in prompts]
        self.gamma, self._target, self._uniforms = gamma, target, uniforms
        self._sampling, self._rule, self._mark = sampling, rule, mark
        self._cache = target.cache(len(prompts))
        self._proposer = LMDraft(draft, sampling, draw, len(prompts), mark) if gamma and draft is not None else None
        for i, prompt in enumerate(prompts):
            if len(prompt) > 1:
                self._cache.forward(torch.tensor([prompt[:-1]], device=target.device), 0, [i])
                if self._proposer is not None:
                    self._proposer.read(i, prompt[:-1])

    def groups(self) -> list[tuple[int, list[int]]]:
        """Texts that draft equally many tokens in their next block: all alike, but for those near their end."""
        found: dict[int, list[int]] = defaultdict(list)
        for i in sorted(self.open):
            # The block adds one token of its own.
            found[min(self.gamma, self._ends[i] - len(self.texts[i]) - 1)].append(i)
        return sorted(found.items())

    def block(self, group: list[int], length: int) -> list[list[int]]:
        """Draft and verify one block of each text of a group; the new tokens of each, before any stop."""
        target, texts, mark = self._target, [self.texts[i] for i in group], self._mark
        count = length + self._rule.uniforms(length)
        rows = [self._uniforms[i](len(self.texts[i]), count) for i in group]
        u = (rows[0][None] if len(rows) == 1 else torch.stack(rows)).to(target.device)
        last = torch.tensor([text[-1:] for text in texts], device=target.device)
        seen = _seen(texts, target) if self._sampling.repetition_penalty != 1 else None
        mark("host")
        if self._proposer is not None and length:
            drafts, q = self._proposer.propose(texts, length, u[:, :length], group, seen)
        else:
            drafts, q = last[:, :0], torch.empty(len(group), 0, target.vocab_size, device=target.device)
        read = torch.cat([last, drafts], 1)
        logits = self._cache.forward(read, length + 1, group)
        mark("verify")
        p = probabilities(logits, self._sampling, None if seen is None else seen_rows(seen, read))
        kept, token = self._rule.verify(self._rule.prepare(p, q.to(p.dtype)), drafts, u[:, length:])
        finite = torch.isfinite(p.sum(-1))  # one number that is not reaches every sum
        # one copy to the host a block: drafts kept, next token, then the drafts and the flags
        out = torch.cat([kept[:, None], token[:, None], drafts, finite.to(token.dtype)], 1).tolist()
        mark("rule")
        for i, row in zip(group, out, strict=True):
            if 0 in row[2 + length :]:
                position = len(self.texts[i]) + row[2 + length :].index(0)
                where = f"of text {i} " if len(self.texts) > 1 else ""
                raise ValueError(
                    f"block {len(self.blocks[i])}: the target's logits at position {position} {where}are not finite "
                    f"(dtype {target.dtype})"
                )
        return [[*row[2 : 2 + row[0]], row[1]] for row in out]

    def keep(self, i: int, new: list[int], length: int, ends: Stop) -> bool:
        """Add a block's tokens to a text, cut where it ends, and roll back; whether the text is finished."""
        start, kept = len(self.texts[i]), len(new) - 1
        self._cache.rollback(i, start + kept)
        text = self.texts[i][self._starts[i] :] + new
        end = ends(text, start - self._starts[i])
        if end is not None:
            new = text[start - self._starts[i] : end]
        self.texts[i] += new
        self.blocks[i].append(Block(start, length, min(kept, len(new))))
        done = end is not None or len(self.texts[i]) == self._ends[i]
        if done:
            self.open.discard(i)
        return done

    def rewind(self, lengths: Sequence[int]) -> None:
        """Go back to these lengths of the texts; cut `texts` first."""
        for i, length in enumerate(lengths):
            self._cache.rollback(i, length - 1)
            self.open.add(i)


def _check_batch(
    target: LanguageModel, draft: LanguageModel | None, prompts: Sequence[list[int]], max_tokens: int, gamma: int,
    uniforms: Sequence[Uniforms],
) -> None:  # fmt: skip
    if len(prompts) == 0 or len(uniforms) != len(prompts):
        raise ValueError(f"got {len(prompts)} prompts and {len(uniforms)} sources of uniforms: one each, at least one")
    if gamma and draft is None:
        raise ValueError(f"gamma={gamma} needs a draft model")
    for prompt in prompts:
        check_fit(target, prompt, max_tokens, "target")
        if gamma and draft is not None:
            check_fit(draft, prompt, max_tokens, "draft")
    if gamma and draft is not None and draft.vocab_size != target.vocab_size:
        raise ValueError(
            f"the target has {target.vocab_size} tokens and the draft {draft.vocab_size}: load them as a pair"
        )


def _seen(texts: list[list[int]], model: LanguageModel) -> Tensor:
    """Which tokens each text holds, (b, V)."""
    seen = torch.zeros(len(texts), model.vocab_size, dtype=torch.bool, device=model.device)
    for row, text in zip(seen, texts, strict=True):
        row[text] = True
    return seen
