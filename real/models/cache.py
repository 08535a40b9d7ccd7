"""The cache of a model: it runs tokens of a batch of sequences, and takes them back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from real.models.weights import Weights


class Store(Protocol):
    """Keys and values of a batch of sequences."""

    def append(self, tokens: Tensor, which: list[int], starts: list[int], rows: int) -> Tensor:
        """Run tokens of some sequences at positions `start`, `start` + 1, ...; forget what stood there and after.

        Parameters
        ----------
        tokens : Tensor, shape (b, m), int64
            Token ids, on the model's device.
        which : list of int
            The b sequences they belong to, increasing.
        starts : list of int
            Number of positions before them, for each.
        rows : int
            How many of the last positions to return logits for.

        Returns
        -------
        Tensor, shape (b, rows, width of the head)
            Logits.
        """
        ...


class Model(Protocol):
    """The part of a `LanguageModel` that its cache uses."""

    @property
    def device(self) -> torch.device: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def context(self) -> int: ...
    @property
    def embeddings(self) -> int: ...
    @property
    def weights(self) -> Weights | None: ...
    @property
    def new_store(self) -> Callable[[int], Store]: ...


class Cache:
    """The tokens that a model has read of a batch of sequences, each with a length of its own.

    Parameters
    ----------
    model : LanguageModel
        The model that reads.
    batch : int
        Number of sequences.

    Attributes
    ----------
    lengths : list of int
        Number of positions stored, for each sequence.
    """

    def __init__(self, model: Model, batch: int = 1) -> None:
        self.lengths = [0] * batch
        self._model = model
        self._store = model.new_store(batch)

    def forward(self, tokens: Tensor, rows: int, which: list[int] | None = None) -> Tensor:
        """Read tokens after those stored.

        Parameters
        ----------
        tokens : Tensor, shape (b, m), int64
            Token ids, m >= 1. Ids are checked unless the tensor is on a GPU, where looking would
            cost a synchronisation.
        rows : int
            Number of last positions to return logits for, 0 <= rows <= m.
        which : list of int, optional
            The b sequences that read, increasing; all of them by default.

        Returns
        -------
        Tensor, shape (b, rows, vocab_size)
            Logits of the token after each of the last `rows` tokens.

        Raises
        ------
        ValueError
            Past the context, for an id that has no embedding, or for a bad `rows`; nothing is
            computed.
        """
        model = self._model
        which = list(range(len(self.lengths))) if which is None else which
        starts = self._starts(tokens, rows, which)
        logits = self._store.append(tokens.to(model.device), which, starts, rows)
        for i in which:
            self.lengths[i] += tokens.shape[1]
        return fit_logits(logits, model.vocab_size)

    def states(self, tokens: Tensor, which: list[int], layers: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Read tokens after those stored, and return the model's hidden states of them, too.

        Parameters
        ----------
        tokens, which
            As for `forward`.
        layers : sequence of int
            After how many layers: 0 is the embedding, the last one what the head reads, normed.

        Returns
        -------
        tuple of Tensor
            Logits (b, m, vocab_size) after each token, and states (b, m, len(layers), hidden).

        Raises
        ------
        ValueError
            As `forward`; for a model that is not on the fast path, no layer, or one that it does
            not have.
        """
        model = self._model
        if model.weights is None:
            raise ValueError("states of layers are known on the fast path only, and this model runs its own forward")
        last = len(model.weights.layers)
        if not layers or not all(isinstance(n, int) and 0 <= n <= last for n in layers):
            raise ValueError(f"states after layers {tuple(layers)}: name some of 0 to {last}")
        starts = self._starts(tokens, tokens.shape[1], which)
        logits, states = self._store.states(  # type: ignore[attr-defined]
            tokens.to(model.device), which, starts, tuple(layers)
        )
        for i in which:
            self.lengths[i] += tokens.shape[1]
        return fit_logits(logits, model.vocab_size), states

    def _starts(self, tokens: Tensor, rows: int, which: list[int]) -> list[int]:
        """Return the lengths of these sequences, at which new tokens start; ValueError if they cannot read these.

        `rows` is the number of last tokens whose logits are asked for.
        """
        model, (b, m) = self._model, tokens.shape
        if b != len(which):
            raise ValueError(f"forward of {b} rows of tokens, but {len(which)} sequences are to read them")
        if not 0 <= rows <= m or m == 0:
            raise ValueError(f"forward of {m} tokens cannot return logits of {rows}")
        starts = [self.lengths[i] for i in which]
        end = max(starts) + m
        if end > model.context:
            raise ValueError(f"length {end} exceeds the model's context of {model.context} positions")
        if not tokens.is_cuda:
            self._check_ids(tokens.tolist(), starts)
        return starts

    def _check_ids(self, tokens: list[list[int]], starts: list[int]) -> None:
        """Refuse token ids that have no embedding."""
        limit = self._model.embeddings
        for start, row in zip(starts, tokens, strict=True):
            if min(row) < 0 or max(row) >= limit:
                place, bad = next((i, token) for i, token in enumerate(row) if not 0 <= token < limit)
                raise ValueError(f"token {bad} at position {start + place} is out of range: ids are 0 to {limit - 1}")

    @property
    def kv(self) -> Tensor:
        """Return keys and values (see `store.Llama.kv`), on the fast path."""
        return self._store.kv  # type: ignore[attr-defined,no-any-return]

    def reserve(self, capacity: int) -> None:
        """Make room for so many positions at once, on the fast path."""
        self._store.reserve(capacity)  # type: ignore[attr-defined]

    def rollback(self, sequence: int, length: int) -> None:
        """Forget everything of a sequence from position `length` on.

        Parameters
        ----------
        sequence : int
            Which one.
        length : int
            Positions to keep. O(1): the next `forward` overwrites the others.

        Raises
        ------
        ValueError
            If `length` is negative or more than the cache holds.
        """
        if not 0 <= length <= self.lengths[sequence]:
            raise ValueError(f"cannot roll back to length {length}: the cache holds {self.lengths[sequence]} positions")
        self.lengths[sequence] = length


def fit_logits(logits: Tensor, vocab_size: int) -> Tensor:
    """Bring logits to a vocabulary size.

    Parameters
    ----------
    logits : Tensor, shape (..., width)
        Logits of a head that may be padded beyond the vocabulary, or end before it.
    vocab_size : int
        Width wanted.

    Returns
    -------
    Tensor, shape (..., vocab_size)
        Cut, or padded with -inf, that is with probability zero; the same tensor if the width is
        right.
    """
    missing = vocab_size - logits.shape[-1]
    if missing == 0:
        return logits
    return torch.nn.functional.pad(logits, (0, missing), value=-torch.inf)
