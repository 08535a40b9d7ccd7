"""The contract of a drafter's file, and the laws of any drafter along a text, made block by block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from real.decode.clock import silent
from real.decode.draft import readable
from real.decode.given_text import Along
from real.decode.proposer import Drafter
from real.decode.warp import Warping, probabilities, seen_rows
from real.models.model import LanguageModel, full_logits, full_states
from specsim.base.arrays import at
from specsim.types import Array


def flaw(names: Mapping[str, Any]) -> str | None:
    """Return what a module lacks to be a drafter, as words; None if it lacks nothing.

    `names` are the module's names with their values. NAME and PAPER are texts; LAYERS is a tuple of
    the target's layers whose states the drafter reads, or a function of its settings that returns
    one; ``drafter(...)`` makes the `Drafter`.

    >>> flaw({"NAME": "mine", "PAPER": "arXiv:0000.00000", "LAYERS": ()})
    'needs a function drafter'
    """
    for name in ("NAME", "PAPER"):
        if not isinstance(names.get(name), str) or not names[name].strip():
            return f"needs {name}, a text, got {names.get(name)!r:.40}"
    layers = names.get("LAYERS")
    if not isinstance(layers, tuple) and not callable(layers):
        return "needs LAYERS, a tuple of layers of the target that it reads (() for none), or a function that says them"
    if not callable(names.get("drafter")):
        return "needs a function drafter"
    return None


def target_probabilities(
    target: LanguageModel,
    prompt: list[int],
    text: list[int],
    warping: Warping,
) -> Array:
    """Return the target's probability (T,) of each token of the text, float64."""
    laws = target_laws(target, prompt, text, warping)
    return at(laws, _ids(text, target)).double().cpu().numpy()


def target_laws(
    target: LanguageModel,
    prompt: list[int],
    text: list[int],
    warping: Warping,
) -> Tensor:
    """Return the target's laws (T, V) at the positions of the text."""
    # The row after token i is the law of token i + 1, so the last token is not read.
    tokens = _ids(prompt + text, target)
    logits = full_logits(target, readable(target, tokens[:-1]))[len(prompt) - 1 :]
    return probabilities(logits, warping, seen_along(target, prompt, text, warping))


def seen_along(
    target: LanguageModel,
    prompt: list[int],
    text: list[int],
    warping: Warping,
) -> Tensor | None:
    """Return whether each token stands before each position of the text, (T, V); None without a penalty."""
    if warping.repetition_penalty == 1:
        return None
    tokens = _ids(prompt + text, target)
    nothing_seen = torch.zeros(1, target.vocab_size, dtype=torch.bool, device=target.device)
    # One text, whose row after token i is about position i + 1: the last token is not read.
    seen_after: Tensor = seen_rows(nothing_seen, tokens[None, :-1])[0]
    return seen_after[len(prompt) - 1 :]


def block_by_block(
    drafter: Drafter,
    target: LanguageModel,
    prompt: list[int],
    text: list[int],
    gamma: int,
    warping: Warping,
) -> Iterator[Tensor]:
    """Yield the laws of a block's drafts at each start along the text, made by the decode path.

    `Drafter.along` has to agree with them.

    Parameters
    ----------
    drafter : Drafter
        Any drafter. It is started on the text, and every draft that it draws is the text's token.
    target, prompt, text, gamma, warping
        As for `Drafter.along`.

    Yields
    ------
    Tensor, shape (n, V)
        For each start t, laws of its drafts i = 0..n-1 given the text's tokens t..t+i-1; n is
        gamma, but fewer at the end of the text.
    """
    # Start the drafter on one text; instead of drawing a draft, it takes the text's next token.
    whole, first = prompt + text, len(prompt)
    next_tokens: list[int] = []

    def take(law: Tensor, u: Tensor) -> Tensor:
        """Return the text's next token, whatever the law."""
        return law.new_tensor([next_tokens.pop(0)], dtype=torch.int64)

    proposer = drafter.start(target, warping, take, 1, silent)
    seen = seen_along(target, prompt, text, warping)
    tokens = readable(target, _ids(whole, target))
    states = None
    if drafter.layers:
        _, states = full_states(target, tokens, drafter.layers)
    if first > 1:
        proposer.read(0, prompt[:-1])

    for t in range(len(text)):
        # The target has read all tokens so far but the last. The drafter receives the states that
        # are new, as after a target pass: those of the prompt first, then one at a time.
        num_read = first + t - 1
        start = 0 if t == 0 else num_read - 1
        if states is not None and num_read > start:
            proposer.told([0], [start], tokens[None, start:num_read], states[None, start:num_read])

        # Draft a block from here, of one text, number 0; the uniforms do not matter.
        n = min(gamma, len(text) - t)
        next_tokens[:] = text[t : t + n]
        u = torch.zeros(1, n, dtype=torch.float64, device=target.device)
        seen_here = None if seen is None else seen[t][None]
        proposed = proposer.propose([whole[: first + t]], n, u, [0], seen_here)
        yield proposed.laws[0]


def along_blocks(
    drafter: Drafter,
    target: LanguageModel,
    prompt: list[int],
    text: list[int],
    gamma: int,
    warping: Warping,
) -> Along:
    """Return the `Along` of any drafter, made block by block."""
    # q[t, i] is the probability of text token t + i in the block that starts at t.
    q = np.zeros((len(text), gamma))
    for t, laws in enumerate(block_by_block(drafter, target, prompt, text, gamma, warping)):
        drafts = _ids(text[t : t + len(laws)], target)
        q[t, : len(laws)] = at(laws, drafts).double().cpu().numpy()
    return Along(q, target_probabilities(target, prompt, text, warping))


def _ids(text: list[int], model: LanguageModel) -> Tensor:
    """Return the token ids of a text as a tensor on the model's device."""
    return torch.tensor(text, device=model.device)
