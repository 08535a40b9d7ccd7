"""A language model as proposer: gamma tokens drawn one after another, with the laws they were drawn from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from real.decode.clock import silent
from real.decode.draw_token import drawn
from real.decode.proposer import Draw, More, Proposed
from real.decode.warp import Warping, probabilities
from real.models.model import LanguageModel
from specsim.base.arrays import pick


def readable(model: LanguageModel, text: Tensor) -> Tensor:
    """A text as a draft can read it: ids that its embedding lacks become 0.

    The laws that a draft reports are those from which it draws, whatever it reads: the output stays the target's.
    """
    return text if model.embeddings >= model.vocab_size else torch.where(text < model.embeddings, text, 0)


class LMDraft:
    """A draft model's view of a batch of texts.

    Parameters
    ----------
    model : LanguageModel
        The draft model.
    warping : Warping
        The same as the target's.
    draw : callable
        Turns laws and uniforms into tokens.
    batch : int
        Number of texts.
    mark : callable
        Told the phase that ends, for timing.
    """

    def __init__(
        self,
        model: LanguageModel,
        warping: Warping,
        draw: Draw,
        batch: int = 1,
        mark: Callable[[str], None] = silent,
    ) -> None:
        self._model, self._cache = model, model.cache(batch)
        self._warping, self._draw, self._mark = warping, drawn if draw is pick else draw, mark

    def read(self, i: int, text: Sequence[int]) -> None:
        """Read the beginning of text i."""
        tokens = torch.tensor([text], device=self._model.device)
        self._cache.forward(readable(self._model, tokens), 0, [i])

    def told(self, which: list[int], starts: list[int], tokens: Tensor, states: Tensor) -> None:
        """Do nothing: a draft model reads no layer of the target."""

    def propose(
        self,
        texts: Sequence[Sequence[int]],
        gamma: int,
        u: Tensor,
        which: list[int],
        seen: Tensor | None = None,
        more: More | None = None,
    ) -> Proposed:
        """Draw gamma tokens after each text, or fewer if `more` says so.

        Parameters
        ----------
        texts : sequence of b lists of int
            The texts so far; what was read beyond them is forgotten, what is new is read.
        gamma : int
            Number of tokens, at least 1.
        u : Tensor, shape (b, gamma), float64
            Uniforms.
        which : list of int
            Which texts of the batch these are, increasing.
        seen : Tensor, shape (b, V), bool, optional
            Tokens of the texts, for a repetition penalty.
        more : callable, optional
            Asked after each draft but the last whether any text goes on.

        Returns
        -------
        Proposed
            The token of a row without a law means nothing.
        """
        cache = self._cache
        # The last token is always read again: its logits start the block. Texts of one batch read equally many.
        unread = max(len(text) - min(cache.lengths[i], len(text) - 1) for i, text in zip(which, texts, strict=True))
        for i, text in zip(which, texts, strict=True):
            cache.rollback(i, len(text) - unread)
        tokens, laws, rows = [], [], []
        new = torch.tensor([text[-unread:] for text in texts], device=self._model.device)
        for k in range(gamma):
            logits = cache.forward(readable(self._model, new), 1, which)[:, 0]
            self._mark("draft")
            law = probabilities(logits, self._warping, seen)
            new = self._draw(law, u[:, k]).clamp(max=law.shape[-1] - 1)[:, None]
            if seen is not None:
                seen = seen.scatter(-1, new, True)
            tokens.append(new)
            laws.append(law)
            rows.append(logits)
            self._mark("sample")
            if more is not None and k + 1 < gamma and not more(new[:, 0], logits):
                break
        return Proposed(torch.cat(tokens, 1), torch.stack(laws, 1), torch.stack(rows, 1))
