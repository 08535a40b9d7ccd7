"""Chats that a target writes for its drafters to learn from: users' questions, and its answers.

A drafter has to guess what the target says, so it learns from what the target says. The prompts of
the training part are few; the target therefore writes users' turns, too: after the opening of a
user's turn it continues with a question, as Magpie does (Xu et al. 2024, arXiv:2406.08464). An
answer ends at the end token, or where there is no more room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from real.models.model import LanguageModel
from real.train.loop import silent


class Chats(NamedTuple):
    """Texts (n, m) int64, 0 after their ends, and whether each token is one of an answer, bool."""

    tokens: Tensor
    answered: Tensor

    def first(self, answered: int) -> Chats:
        """Return the first texts with this many tokens of answers together, or all texts."""
        total = self.answered.sum(1).cumsum(0)
        count = int((total < answered).sum()) + 1
        return Chats(self.tokens[:count], self.answered[:count])


def write_chats(
    target: LanguageModel,
    prompts: Sequence[Sequence[int]],
    end: int,
    *,
    length: int,
    temperature: float,
    seed: int,
    batch: int = 64,
    show_stage: Callable[[str], None] = silent,
) -> Chats:
    """Let a target answer prompts, in batches of texts of like lengths.

    Parameters
    ----------
    target : LanguageModel
        The writer.
    prompts : sequence of lists of int
        Token ids, at least one each, up to the opening of the target's turn.
    end : int
        The token that ends an answer; it belongs to it.
    length : int
        Most tokens of a text, the prompt included.
    temperature : float
        0 takes the likeliest token.
    seed : int
        Seed of the draws, which depend on the device, too.
    batch : int
        Texts written at once.
    show_stage : callable
        Called with the stage, for progress.

    Returns
    -------
    Chats
        In the order of the prompts.

    Raises
    ------
    ValueError
        A prompt that leaves no room for an answer.

    Examples
    --------
    >>> from real import TINY, load
    >>> chats = write_chats(load(TINY / "target", TINY / "draft").target, [[5, 6], [7]], 0,
    ...     length=8, temperature=0.0, seed=0)
    >>> chats.tokens.shape, chats.answered[1].tolist()
    (torch.Size([2, 8]), [False, True, True, True, True, True, True, True])
    """
    for i, prompt in enumerate(prompts):
        if not 0 < len(prompt) < length:
            raise ValueError(f"prompt {i} has {len(prompt)} tokens: an answer needs 1 to {length - 1}")
    tokens = torch.zeros(len(prompts), length, dtype=torch.int64)
    answered = torch.zeros(len(prompts), length, dtype=torch.bool)

    # Texts of like lengths stand in one batch, so that few places are padded.
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    random = torch.Generator(target.device).manual_seed(seed)
    for first in range(0, len(order), batch):
        which = order[first : first + batch]
        texts = f"texts {first + 1} to {first + len(which)} of {len(order)}"
        show_stage(f"writing {texts}, temperature {temperature}")
        batch_prompts = [prompts[i] for i in which]
        texts_and_marks = _answer_batch(target, batch_prompts, end, length, temperature, random)
        tokens[which], answered[which] = (part.cpu() for part in texts_and_marks)
    return Chats(tokens, answered)


@torch.inference_mode()
def _answer_batch(
    target: LanguageModel,
    prompts: list[Sequence[int]],
    end: int,
    length: int,
    temperature: float,
    random: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Let the target answer one batch of prompts; return texts (b, length), and whether each token is its own."""
    # The prompts, and room for all tokens in the cache.
    b, longest = len(prompts), max(map(len, prompts))
    sequences = list(range(b))
    tokens = torch.zeros(b, length, dtype=torch.int64, device=target.device)
    for i, prompt in enumerate(prompts):
        tokens[i, : len(prompt)] = torch.tensor(prompt, device=target.device)
    starts = torch.tensor([len(prompt) for prompt in prompts], device=target.device)
    store = target.new_store(b)
    if hasattr(store, "reserve"):
        store.reserve(length)

    # The cache reads all tokens of the prompts but the last of the longest. What it holds behind a
    # shorter prompt is written over as the text grows.
    if longest > 1:
        store.append(tokens[:, : longest - 1], sequences, [0] * b, 0)
    lengths = [len(prompt) for prompt in prompts]
    rows = torch.arange(b, device=target.device)
    is_running = torch.ones(b, dtype=torch.bool, device=target.device)
    answered = torch.zeros_like(tokens, dtype=torch.bool)
    for t in range(length - min(lengths)):
        # The law of each text's next token. Texts that have ended are run, too; their draws are
        # dropped.
        last_places = [min(n + t, length) - 1 for n in lengths]
        last = torch.tensor(last_places, device=target.device)
        logits = store.append(tokens[rows, last][:, None], sequences, last_places, 1)[:, 0]
        logits = logits[:, : target.vocab_size].float()
        if temperature > 0:
            new = torch.multinomial((logits / temperature).softmax(-1), 1, generator=random)[:, 0]
        else:
            new = logits.argmax(-1)

        # Write it into the texts that have not ended; the end token belongs to the answer.
        place = starts + t
        is_running = is_running & (place < length)
        place = place.clamp(max=length - 1)
        tokens[rows, place] = torch.where(is_running, new, tokens[rows, place])
        answered[rows, place] |= is_running
        is_running = is_running & (new != end)

        # Asked now and then only: on a GPU it costs a synchronisation.
        if t % 16 == 15 and not is_running.any():
            break
    return tokens, answered
