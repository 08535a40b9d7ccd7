"""One teacher-forced pass of both models over a text: all that the acceptance half of a prediction needs."""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np
import torch

from real.decode.draft import readable
from real.decode.warp import Warping, probabilities, seen_rows
from real.models.model import LanguageModel, full_logits
from specsim.base import check
from specsim.base.arrays import at, overlap
from specsim.discover import Rule
from specsim.lengths.blocks import Renewal, renewal, text_survival
from specsim.types import Array
from specsim.verify.lookup import chain_rule


class Score(NamedTuple):
    """A text under target and draft: p and q of its own tokens, and the acceptance at each position; all (T,)."""

    p: Array
    q: Array
    acceptance: Array

    @property
    def ratio(self) -> Array:
        """q/p of each token.

        One that the target wrote in another block size can round to p = 0 here: then 1 if the draft knows it, else 0.
        """
        some = self.p > 0
        return np.where(some, self.q / np.where(some, self.p, 1), np.where(self.q > 0, 1.0, 0.0))

    def tau(self, gamma: int, rule: Rule = "tokenwise") -> float:
        """Predicted tokens per target call when the target writes this text with `gamma` drafts per block.

        Parameters
        ----------
        gamma : int
            Drafts per block, at least 0.
        rule : str
            Chain rule.

        Returns
        -------
        float
            In [1, gamma + 1].

        Raises
        ------
        ValueError
            If the target would never write this text: it gives one of its tokens no probability.
        """
        check.integer(gamma, "gamma", 0)
        if (self.p == 0).any():
            i = int(np.argmax(self.p == 0))
            raise ValueError(f"token {i} of the text has probability 0 under the target: it would not write this text")
        return float(predict_blocks(self, gamma, chain_rule(rule)).tau)


def score(target: LanguageModel, draft: LanguageModel, prompt: list[int], text: list[int], warping: Warping) -> Score:
    """Score `text`, written after `prompt`, under both models.

    Parameters
    ----------
    target, draft : LanguageModel
        With one vocabulary.
    prompt, text : list of int
        At least one token each.
    warping : Warping
        The setting the text was written with.

    Returns
    -------
    Score
        p, q: probability of each token of the text; acceptance: sum of min(p, q) over the vocabulary there.
    """
    p, q = laws(target, draft, prompt, text, warping)
    y = torch.tensor(text, device=target.device)
    return Score(*(np.asarray(w.double().cpu()) for w in (at(p, y), at(q, y), overlap(p, q))))


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


def predict_blocks(scores: Score, gamma: int, rule: ModuleType, *, ended: bool = False) -> Renewal:
    """Expected target calls to write the text with this rule and gamma, by the renewal law of block starts.

    `ended`: the text ended with a stop token of its own.
    """
    return renewal(text_survival(rule.survival, scores.ratio, gamma), ended=ended)
