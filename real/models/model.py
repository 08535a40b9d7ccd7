"""Causal language models behind one small interface: a cache that runs tokens and takes them back.

`from_hf` wraps a model in memory, `real.models.loading` reads one from files.  Llama-like models run on the path of
`real.models.llama`, all others through their own Hugging Face forward.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers.cache_utils import DummyLayer, DynamicLayer, LinearAttentionCacheLayerMixin

from real.models import store
from real.models.weights import Weights, from_model, supports

_DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


class Store(Protocol):
    """Keys and values of a batch of sequences."""

    def append(self, tokens: Tensor, which: list[int], starts: list[int], rows: int) -> Tensor:
        """Run tokens of some sequences at positions `start`, `start` + 1, ..., forgetting what was there.

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


@dataclass(frozen=True)
class LanguageModel:
    """A causal language model, ready to run.

    Parameters
    ----------
    vocab_size : int
        Width of the logits its caches return.
    context : int
        Largest number of positions.
    dtype : torch.dtype
        Of weights and logits.
    device : torch.device
        Where it runs.
    embeddings : int
        Token ids below this number can be read; may differ from `vocab_size`.
    new_store : callable
        Makes an empty `Store` for a number of sequences.
    weight_bytes : int
        Bytes of weights that a pass over one token reads.
    weights : Weights, optional
        Those of the fast path, if the model runs on it.
    """

    vocab_size: int
    context: int
    dtype: torch.dtype
    device: torch.device
    embeddings: int
    new_store: Callable[[int], Store]
    weight_bytes: int
    weights: Weights | None = None

    def cache(self, batch: int = 1) -> Cache:
        """Start reading sequences.

        Parameters
        ----------
        batch : int
            How many.

        Returns
        -------
        Cache
            An empty one.
        """
        return Cache(self, batch)


class Cache:
    """What a model has read of a batch of sequences, each with a length of its own.

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

    def __init__(self, model: LanguageModel, batch: int = 1) -> None:
        self.lengths = [0] * batch
        self._model = model
        self._store = model.new_store(batch)

    def forward(self, tokens: Tensor, rows: int, which: list[int] | None = None) -> Tensor:
        """Read tokens after those stored.

        Parameters
        ----------
        tokens : Tensor, shape (b, m), int64
            Token ids, m >= 1.  Ids are checked unless the tensor is on a GPU, where looking would cost a
            synchronisation.
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
            Past the context, for an id that has no embedding, or for a bad `rows`; nothing is computed.
        """
        model, (b, m) = self._model, tokens.shape
        which = list(range(len(self.lengths))) if which is None else which
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
        logits = self._store.append(tokens.to(model.device), which, starts, rows)
        for i in which:
            self.lengths[i] += m
        return fit_logits(logits, model.vocab_size)

    def _check_ids(self, tokens: list[list[int]], starts: list[int]) -> None:
        limit = self._model.embeddings
        for start, row in zip(starts, tokens, strict=True):
            if min(row) < 0 or max(row) >= limit:
                i = next(i for i, token in enumerate(row) if not 0 <= token < limit)
                raise ValueError(f"token {row[i]} at position {start + i} is out of range: ids are 0 to {limit - 1}")

    @property
    def kv(self) -> Tensor:
        """Keys and values, on the fast path."""
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
            Positions to keep.  O(1): the next `forward` overwrites the others.

        Raises
        ------
        ValueError
            If `length` is negative or more than the cache holds.
        """
        if not 0 <= length <= self.lengths[sequence]:
            held = self.lengths[sequence]
            raise ValueError(f"cannot roll back to length {length}: the cache holds {held} positions")
        self.lengths[sequence] = length


def full_logits(model: LanguageModel, tokens: Tensor) -> Tensor:
    """Compute the logits after every token of a sequence, with nothing cached before.

    Parameters
    ----------
    model : LanguageModel
        The model.
    tokens : Tensor, shape (m,), int64
        The sequence.

    Returns
    -------
    Tensor, shape (m, vocab_size)
        Row i is for the token after `tokens[: i + 1]`.
    """
    return model.cache().forward(tokens[None], tokens.shape[0])[0]


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
        Cut, or padded with -inf, that is with probability zero; the same tensor if the width is right.
    """
    missing = vocab_size - logits.shape[-1]
    if missing == 0:
        return logits
    return torch.nn.functional.pad(logits, (0, missing), value=-torch.inf)


def from_hf(model: Any, *, fast: bool = True) -> LanguageModel:
    """Wrap a Hugging Face causal language model.

    Parameters
    ----------
    model : PreTrainedModel
        The model; put into evaluation mode.  On the fast path its weights are copied now.
    fast : bool
        False: run the model's own forward even where `real.models.llama` could.

    Returns
    -------
    LanguageModel
        With the model's own vocabulary width.

    Raises
    ------
    ValueError
        For a dtype other than the four floats, a cache that cannot be rolled back, an unknown context.
    """
    name, config = type(model).__name__, model.config.get_text_config(decoder=True)
    if model.dtype not in _DTYPES:
        raise ValueError(f"{name} has dtype {model.dtype}; supported: float64, float32, bfloat16, float16")
    _refuse_unfit(name, model)
    limits = (getattr(config, key, None) for key in ("max_position_embeddings", "max_seq_len", "seq_length"))
    context = next((limit for limit in limits if limit), None)
    if context is None:
        raise ValueError(f"{name}: its config states no max_position_embeddings, max_seq_len or seq_length")
    model.eval()
    if fast and supports(model):
        weights = from_model(model)
        new_store: Callable[[int], Store] = partial(store.Llama, weights)
    else:
        weights = None
        new_store = partial(store.Generic, model)
        zero = torch.zeros(1, 1, dtype=torch.int64, device=model.device)
        new_store(1).append(zero, [0], [0], 1)  # a model that ignores its cache is refused now, not later
    embeddings = model.get_input_embeddings().num_embeddings
    return LanguageModel(
        config.vocab_size, context, model.dtype, model.device, embeddings, new_store, _weight_bytes(model), weights
    )


def _weight_bytes(model: Any) -> int:
    """All but the embeddings, of which a token reads one row; tied ones are read whole as the head."""
    tables = {m.weight.data_ptr() for m in model.modules() if isinstance(m, torch.nn.Embedding)}
    tables -= {model.get_output_embeddings().weight.data_ptr()}
    return sum(w.numel() * w.element_size() for w in model.parameters() if w.data_ptr() not in tables)


def _refuse_unfit(name: str, model: Any) -> None:
    """Refuse models that see later tokens, or whose past, once overwritten, is gone."""
    causal = [module.is_causal for module in model.modules() if hasattr(module, "is_causal")]
    if causal and not any(causal):  # for example BERT, unless configured as a decoder
        raise ValueError(f"{name} is not causal: its attention sees later tokens")
    # An allow-list: other layers call themselves croppable, but only until something was written over.
    held = [x for x in store.whole_cache(model.config).layers if type(x) not in (DynamicLayer, DummyLayer)]
    if held or model._is_stateful:
        kinds = ", ".join(sorted({type(x).__name__ for x in held})) or "a state outside its cache"
        states = not held or any(isinstance(x, LinearAttentionCacheLayerMixin) for x in held)
        why = "a recurrent state, which every token overwrites" if states else "not plain keys and values of each token"
        raise ValueError(f"{name} cannot be rolled back: it keeps {kinds}, {why}")
