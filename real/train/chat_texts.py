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
    """Texts, each a prompt and its answer.

    `tokens` (n, m) int64 has 0 after the end of each text; `answered` (n, m) bool is true at the
    tokens of answers.
    """

    tokens: Tensor
    answered: Tensor

    def first(self, answered: int) -> Chats:
        """Return the first texts whose answers have this many tokens together, or all texts."""
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
        indices = order[first : first + batch]
        texts = f"texts {first + 1} to {first + len(indices)} of {len(order)}"
        show_stage(f"writing {texts}, temperature {temperature}")
        batch_prompts = [prompts[i] for i in indices]
        texts_and_marks = _answer_batch(target, batch_prompts, end, length, temperature, random)
        tokens[indices], answered[indices] = (part.cpu() for part in texts_and_marks)
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
    """Let the target answer one batch of prompts; return `tokens` and `answered`, as `Chats` has them.

    Both are (b, length), on the target's device.
    """
    # The texts, which begin with the prompts, and a cache with room for all tokens.
    b, lengths = len(prompts), [len(prompt) for prompt in prompts]
    tokens = torch.zeros(b, length, dtype=torch.int64, device=target.device)
    for i, prompt in enumerate(prompts):
        tokens[i, : len(prompt)] = torch.tensor(prompt, device=target.device)
    sequences = list(range(b))
    store = target.new_store(b)
    if hasattr(store, "reserve"):
        store.reserve(length)

    # The cache reads all tokens of the prompts but the last of the longest. What it holds behind a
    # shorter prompt is written over as the text grows. No logits are needed.
    longest = max(lengths)
    if longest > 1:
        store.append(tokens[:, : longest - 1], sequences, [0] * b, 0)
    rows = torch.arange(b, device=target.device)
    prompt_lengths = torch.tensor(lengths, device=target.device)
    is_running = torch.ones(b, dtype=torch.bool, device=target.device)
    answered = torch.zeros_like(tokens, dtype=torch.bool)
    for t in range(length - min(lengths)):
        # Feed the last token of each text, and draw its next one. Texts that have ended are run, too;
        # their draws are dropped.
        last_places = [min(n + t, length) - 1 for n in lengths]
        last_tokens = tokens[rows, torch.tensor(last_places, device=target.device)]
        logits = store.append(last_tokens[:, None], sequences, last_places, 1).squeeze(1)
        new = _draw(logits[:, : target.vocab_size].float(), temperature, random)

        # Write it into the texts that have not ended; the end token belongs to the answer.
        place = prompt_lengths + t
        is_running = is_running & (place < length)
        place = place.clamp(max=length - 1)
        tokens[rows, place] = torch.where(is_running, new, tokens[rows, place])
        answered[rows, place] |= is_running
        is_running = is_running & (new != end)

        # Ask only now and then whether all texts have ended: on a GPU that costs a synchronisation.
        if t % 16 == 15 and not is_running.any():
            break
    return tokens, answered


def _draw(logits: Tensor, temperature: float, random: torch.Generator) -> Tensor:
    """Return a token (b,) drawn from each row of logits (b, V); at temperature 0 the likeliest."""
    if temperature > 0:
        laws = (logits / temperature).softmax(-1)
        return torch.multinomial(laws, 1, generator=random).squeeze(1)
    return logits.argmax(-1)
