"""What a file of this folder has, and what any drafter says along a text when its blocks are made one by one."""

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
    """What a module lacks to be a drafter, told from its names; None if it lacks nothing.

    NAME and PAPER are texts; LAYERS is a tuple with the layers of the target that it reads, or a function of its
    settings that says them; ``drafter(...)`` makes the `Drafter`.

    >>> flaw({"NAME": "mine", "PAPER": "arXiv:0000.00000", "LAYERS": ()})
    'needs a function drafter'
    """
    for name in ("NAME", "PAPER"):
        if not isinstance(names.get(name), str) or not names[name].strip():
            return f"needs {name}, a text, got {names.get(name)!r:.40}"
    if not isinstance(names.get("LAYERS"), tuple) and not callable(names.get("LAYERS")):
        return "needs LAYERS, a tuple of layers of the target that it reads (() for none), or a function that says them"
    if not callable(names.get("drafter")):
        return "needs a function drafter"
    return None


def target_probabilities(target: LanguageModel, prompt: list[int], text: list[int], warping: Warping) -> Array:
    """p (T,) of the text's own tokens under the target, float64."""
    return at(target_laws(target, prompt, text, warping), _ids(text, target)).double().cpu().numpy()


def target_laws(target: LanguageModel, prompt: list[int], text: list[int], warping: Warping) -> Tensor:
    """The target's laws (T, V) at the positions of the text."""
    tokens = _ids(prompt + text, target)
    logits = full_logits(target, readable(target, tokens[:-1]))[len(prompt) - 1 :]
    return probabilities(logits, warping, seen_along(target, prompt, text, warping))


def seen_along(target: LanguageModel, prompt: list[int], text: list[int], warping: Warping) -> Tensor | None:
    """Which tokens stand before each position of the text, (T, V), if a penalty asks for it."""
    if warping.repetition_penalty == 1:
        return None
    tokens = _ids(prompt + text, target)
    before = torch.zeros(1, target.vocab_size, dtype=torch.bool, device=target.device)
    return seen_rows(before, tokens[None, :-1])[0, len(prompt) - 1 :]


def block_by_block(
    drafter: Drafter, target: LanguageModel, prompt: list[int], text: list[int], gamma: int, warping: Warping
) -> Iterator[Tensor]:
    """Laws of the drafts of a block at each start: what `along` has to agree with, made by the decode path itself.

    Parameters
    ----------
    drafter : Drafter
        Any; it is started, and every draft that it draws is the text's own token.
    target, prompt, text, gamma, warping
        As for `Drafter.along`.

    Yields
    ------
    Tensor, shape (n, V)
        For each start t, laws of its drafts i = 0..n-1 given the text's tokens t..t+i-1; n is gamma, but fewer at the
        end of the text.
    """
    whole, first = prompt + text, len(prompt)
    wanted: list[int] = []  # of the block that is being drafted
    proposer = drafter.start(
        target, warping, lambda law, u: law.new_tensor([wanted.pop(0)], dtype=torch.int64), 1, silent
    )
    seen = seen_along(target, prompt, text, warping)
    states = None
    if drafter.layers:
        states = full_states(target, readable(target, _ids(whole, target)), drafter.layers)[1]
    tokens = readable(target, _ids(whole, target))
    if first > 1:
        proposer.read(0, prompt[:-1])
    for t in range(len(text)):
        known = first + t - 1  # tokens before the last one of the text so far
        start = 0 if t == 0 else known - 1
        if states is not None and known > start:
            proposer.told([0], [start], tokens[None, start:known], states[None, start:known])
        n = min(gamma, len(text) - t)
        wanted[:] = text[t : t + n]
        u = torch.zeros(1, n, dtype=torch.float64, device=target.device)
        row = None if seen is None else seen[t][None]
        yield proposer.propose([whole[: first + t]], n, u, [0], row)[1][0]


def along_blocks(
    drafter: Drafter, target: LanguageModel, prompt: list[int], text: list[int], gamma: int, warping: Warping
) -> Along:
    """`Along` of any drafter, made block by block."""
    q = np.zeros((len(text), gamma))
    for t, laws in enumerate(block_by_block(drafter, target, prompt, text, gamma, warping)):
        q[t, : len(laws)] = at(laws, _ids(text[t : t + len(laws)], target)).double().cpu().numpy()
    return Along(q, target_probabilities(target, prompt, text, warping))


def _ids(text: list[int], model: LanguageModel) -> Tensor:
    return torch.tensor(text, device=model.device)
