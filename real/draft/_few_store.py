"""A store of keys and values whose model has a head for few tokens."""

from __future__ import annotations

import torch
from torch import Tensor

from real.models import store


class Few:
    """A store of a trimmed model: logits of few tokens in their places; see `real.models.cache.Store`."""

    def __init__(self, inner: store.Llama, rows: Tensor, vocab: int) -> None:
        self._inner, self._rows, self._vocab = inner, rows, vocab

    def append(self, tokens: Tensor, which: list[int], starts: list[int], rows: int) -> Tensor:
        """Return logits as the store of the whole model does, with -inf for tokens that the head lacks."""
        head_logits = self._inner.append(tokens, which, starts, rows)
        logits = head_logits.new_full((*head_logits.shape[:-1], self._vocab), -torch.inf)
        logits[..., self._rows] = head_logits
        return logits
