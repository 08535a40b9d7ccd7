"""One teacher-forced pass of both models over a text: the numbers that a prediction needs of acceptance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from real.decode.blocks import DrafterScore, Score, StepScore
from real.decode.draft import readable
from real.decode.proposer import Drafter
from real.decode.warp import Warping, probabilities, seen_rows
from real.models.model import LanguageModel, full_logits
from real.prompts.chat_template import prompt_ids
from specsim.base import check
from specsim.base.arrays import at, overlap
from specsim.types import Array
from specsim.verify.raced import Raced
from specsim.verify.stepwise import Stepwise

# Drafts of a block for which a drafter is scored where no number is given.
SCORED = 8


def score(
    target: LanguageModel,
    draft: LanguageModel,
    prompt: list[int],
    text: list[int],
    warping: Warping,
    rules: Iterable[Stepwise | Raced] = (),
) -> Score:
    """Score `text`, written after `prompt`, under both models.

    Parameters
    ----------
    target, draft : LanguageModel
        With one vocabulary.
    prompt, text : list of int
        At least one token each.
    warping : Warping
        The setting the text was written with.
    rules : iterable of Stepwise or Raced
        Step and coupled rules that it is scored for, too.

    Returns
    -------
    Score
        p, q: probability of each token of the text; acceptance: sum of min(p, q) over the vocabulary there.
    """
    p, q = laws(target, draft, prompt, text, warping)
    # p and q of the text's own tokens, and the acceptance at each position.
    y = torch.tensor(text, device=target.device)
    of_text = (at(p, y), at(q, y), overlap(p, q))
    target_probabilities, draft_probabilities, acceptance = (np.asarray(w.double().cpu()) for w in of_text)
    return Score(
        target_probabilities,
        draft_probabilities,
        acceptance,
        MappingProxyType({rule: _of_step(rule, p, q, y) for rule in rules}),
    )


def score_drafter(
    target: LanguageModel, drafter: Drafter, prompt: list[int], text: list[int], gamma: int | None, warping: Warping
) -> DrafterScore:
    """Return the score of `text`, written after `prompt`, under a target and a drafter, for gamma drafts at most."""
    longest, positions = drafter.longest, len(prompt) + len(text)
    if gamma is None:
        gamma = SCORED if longest is None else min(SCORED, longest)
    check.integer(gamma, "gamma", 1)
    if longest is not None and gamma > longest:
        raise ValueError(f"gamma={gamma} is too long: the drafter makes {longest} drafts of a block at most")
    if drafter.context is not None and positions > drafter.context:
        raise ValueError(f"a text of {positions} positions is too long: the drafter has a context of {drafter.context}")
    return DrafterScore(*drafter.along(target, prompt, text, gamma, warping))


def ids_to_score(
    tokenizer: Any, text: str | Sequence[int], prompt: str, chat: bool = False
) -> tuple[list[int], list[int]]:
    """Return the tokens before a text, at least one, and its own; without a prompt its first token stands before it."""
    if chat and not prompt:
        raise ValueError("chat writes a template around a prompt: give the prompt, too")
    head = prompt_ids(tokenizer, prompt, chat) if prompt else []
    if isinstance(text, str):  # a text begins a document only where no prompt does
        ids = list(tokenizer(text, add_special_tokens=not head)["input_ids"])
    else:
        ids = [check.integer(token, "a token of text", 0) for token in text]
    if not head:
        head, ids = ids[:1], ids[1:]
    if not ids:
        raise ValueError("text has no token to score: give more text, or a prompt")
    return head, ids


def _of_step(rule: Stepwise | Raced, p: Array, q: Array, y: Array) -> StepScore:
    """The score of a step rule or a coupled rule on whole rows."""
    return StepScore(*(np.asarray(w.double().cpu()) for w in (rule.acceptance(p, q), rule.posterior(p, q, y))))


def laws(
    target: LanguageModel, draft: LanguageModel, prompt: list[int], text: list[int], warping: Warping
) -> tuple[Array, Array]:
    """Both models' laws (T, V) at the positions of `text`, written after `prompt`."""
    tokens = torch.tensor(prompt + text, device=target.device)
    both = full_logits(target, tokens[:-1]), full_logits(draft, readable(draft, tokens[:-1]))
    seen = None
    if warping.repetition_penalty != 1:
        before = torch.zeros(1, target.vocab_size, dtype=torch.bool, device=target.device)
        seen = seen_rows(before, tokens[None, :-1])[0, len(prompt) - 1 :]
    p, q = (probabilities(logits[len(prompt) - 1 :], warping, seen) for logits in both)
    return p, q
