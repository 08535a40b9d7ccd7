"""A language model as proposer: gamma tokens drawn one after another, with the laws they were drawn from."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from real.model import LanguageModel
from real.warp import Sampling, probabilities

Draw = Callable[[Tensor, Tensor], Tensor]  # law (V,), uniform () -> token ()


def readable(model: LanguageModel, text: Tensor) -> Tensor:
    """A text as a draft can read it: ids that its embedding lacks become 0.

    Whatever a draft reads, the laws it reports are those it draws from, so the output stays the target's.
    """
    return torch.where(text < model.embeddings, text, 0)


class LMDraft:
    """A draft model's view of one text.

    Parameters
    ----------
    model : LanguageModel
        The draft model.
    sampling : Sampling
        The same as the target's.
    draw : callable
        Turns a law and a uniform into a token.
    """

    def __init__(self, model: LanguageModel, sampling: Sampling, draw: Draw) -> None:
        self.vocab_size = model.vocab_size
        self._model, self._cache = model, model.cache()
        self._sampling, self._draw = sampling, draw

    def read(self, text: Tensor) -> None:
        """Read the text's tokens that were not read yet."""
        if text.shape[0] > self._cache.length:
            self._cache.forward(readable(self._model, text[self._cache.length :]), 0)

    def propose(self, text: Tensor, gamma: int, u: Tensor) -> tuple[Tensor, Tensor]:
        """Draw gamma tokens after `text`.

        Parameters
        ----------
        text : Tensor, shape (n,), int64
            The text so far; what was read beyond it is forgotten, what is new is read.
        gamma : int
            Number of tokens, at least 1.
        u : Tensor, shape (gamma,), float64
            Uniforms.

        Returns
        -------
        tuple of Tensor
            Tokens (gamma,), and the laws (gamma, V) they were drawn from.
        """
        # The last token is always read again: its logits start the block.
        self._cache.rollback(min(self._cache.length, text.shape[0] - 1))
        tokens, laws = [], []
        unread = readable(self._model, text[self._cache.length :])
        for i in range(gamma):
            law = probabilities(self._cache.forward(unread, 1)[0], self._sampling)
            tokens.append(self._draw(law, u[i]).reshape(1))
            laws.append(law)
            unread = readable(self._model, tokens[-1])
        return torch.cat(tokens), torch.stack(laws)
