"""A smaller language model, which reads the text by itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from real.decode.draft import LMDraft, readable
from real.decode.given_text import Along, windows
from real.decode.proposer import Drafter, Draw
from real.decode.warp import Warping, probabilities
from real.draft._contract import seen_along, target_probabilities
from real.models.model import LanguageModel, full_logits
from specsim.base.arrays import at

NAME = "a smaller language model"
PAPER = "arXiv:2211.17192"
LAYERS = ()


def drafter(model: LanguageModel) -> Drafter:
    """Return the drafter that `decode_batch` makes of its `draft`.

    Parameters
    ----------
    model : LanguageModel
        The smaller model, with the target's vocabulary.

    Returns
    -------
    Drafter
        It may stop after any draft.

    References
    ----------
    Leviathan et al. 2022, arXiv:2211.17192.

    Examples
    --------
    >>> from real import TINY, load
    >>> pair = load(TINY / "target", TINY / "draft")
    >>> drafter(pair.draft).along(pair.target, [5, 6], [7, 8, 9], 2, Warping()).q.shape
    (3, 2)
    """
    rows = partial(_rows, model)
    return Drafter(
        (),
        start=partial(_start, model),
        along=partial(_along, rows),
        rows=rows,
        stepwise=True,
        context=model.context,
    )


def _start(
    model: LanguageModel,
    target: LanguageModel,
    warping: Warping,
    draw: Draw,
    batch: int,
    mark: Callable[[str], None],
) -> LMDraft:
    """Start the model on a batch of texts; ValueError if the target has another vocabulary."""
    if model.vocab_size != target.vocab_size:
        raise ValueError(
            f"the target has {target.vocab_size} tokens and the draft {model.vocab_size}: load them as a pair"
        )
    return LMDraft(model, warping, draw, batch, mark)


def _rows(
    model: LanguageModel,
    target: LanguageModel,
    prompt: list[int],
    text: list[int],
    warping: Warping,
) -> Tensor:
    """Return the model's laws (T, V) at the positions of the text."""
    tokens = torch.tensor(prompt + text, device=model.device)
    logits = full_logits(model, readable(model, tokens[:-1]))[len(prompt) - 1 :]
    return probabilities(logits, warping, seen_along(target, prompt, text, warping))


def _along(
    rows: Callable[[LanguageModel, list[int], list[int], Warping], Tensor],
    target: LanguageModel,
    prompt: list[int],
    text: list[int],
    gamma: int,
    warping: Warping,
) -> Along:
    """Return probabilities (T, gamma) of the text's tokens as drafts, and the target's (T,).

    It is `Drafter.along` of a model that reads the text by itself, so that a token's probability is
    the same in every block.
    """
    laws = rows(target, prompt, text, warping)
    q = at(laws, torch.tensor(text, device=target.device)).double().cpu().numpy()
    return Along(windows(q, gamma), target_probabilities(target, prompt, text, warping))
