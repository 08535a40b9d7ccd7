"""Causal language models behind one small interface: a cache that runs tokens and takes them back.

`from_hf` wraps a model in memory, `real.load` reads one from files.  Llama-like models run on the path of
`real.llama`, all others through their own Hugging Face forward.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DummyLayer, DynamicLayer

from real import llama

_DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


class Store(Protocol):
    """Keys and values of one sequence."""

    def append(self, tokens: Tensor, start: int, rows: int) -> Tensor:
        """Run tokens at positions `start`, `start` + 1, ..., forgetting what was there.

        Parameters
        ----------
        tokens : Tensor, shape (m,), int64
            Token ids, on the model's device.
        start : int
            Number of positions before them.
        rows : int
            How many of the last positions to return logits for.

        Returns
        -------
        Tensor, shape (rows, width of the head)
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
        Makes an empty `Store`.
    """

    vocab_size: int
    context: int
    dtype: torch.dtype
    device: torch.device
    embeddings: int
    new_store: Callable[[], Store]

    def cache(self) -> Cache:
        """Start reading a sequence.

        Returns
        -------
        Cache
            An empty one.
        """
        return Cache(self)


class Cache:
    """What a model has read of one sequence.

    Parameters
    ----------
    model : LanguageModel
        The model that reads.

    Attributes
    ----------
    length : int
        Number of positions stored.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.length = 0
        self._model = model
        self._append = model.new_store().append

    def forward(self, tokens: Tensor, rows: int) -> Tensor:
        """Read tokens after those stored.

        Parameters
        ----------
        tokens : Tensor, shape (m,), int64
            Token ids, m >= 1.  Ids are checked unless the tensor is on a GPU, where looking would cost a
            synchronisation.
        rows : int
            Number of last positions to return logits for, 0 <= rows <= m.

        Returns
        -------
        Tensor, shape (rows, vocab_size)
            Logits of the token after each of the last `rows` tokens.

        Raises
        ------
        ValueError
            Past the context, for an id that has no embedding, or for a bad `rows`; nothing is computed.
        """
        model, m = self._model, tokens.shape[0]
        end = self.length + m
        if not 0 <= rows <= m or m == 0:
            raise ValueError(f"forward of {m} tokens cannot return logits of {rows}")
        if end > model.context:
            raise ValueError(f"length {end} exceeds the model's context of {model.context} positions")
        if not tokens.is_cuda:
            ids = tokens.tolist()
            if min(ids) < 0 or max(ids) >= model.embeddings:
                i = next(i for i, token in enumerate(ids) if not 0 <= token < model.embeddings)
                position, largest = self.length + i, model.embeddings - 1
                raise ValueError(f"token {ids[i]} at position {position} is out of range: ids are 0 to {largest}")
        logits = self._append(tokens.to(model.device), self.length, rows)
        self.length = end
        return fit_logits(logits, model.vocab_size)

    def rollback(self, length: int) -> None:
        """Forget everything from position `length` on.

        Parameters
        ----------
        length : int
            Positions to keep.  O(1): the next `forward` overwrites the others.

        Raises
        ------
        ValueError
            If `length` is negative or more than the cache holds.
        """
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot roll back to length {length}: the cache holds {self.length} positions")
        self.length = length


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
    return model.cache().forward(tokens, tokens.shape[0])


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


class _HFStore:
    """Store of any Hugging Face model whose cache can be cropped."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._cache = DynamicCache(config=model.config)

    @torch.no_grad()
    def append(self, tokens: Tensor, start: int, rows: int) -> Tensor:
        stale = self._cache.get_seq_length() - start
        if stale > 0:
            self._cache.crop(-stale)
        # Positions are left to the model: it counts from the length of the cache, which is now `start`.
        out = self._model(
            input_ids=tokens[None], past_key_values=self._cache, use_cache=True, logits_to_keep=max(rows, 1)
        )
        if self._cache.get_seq_length() != start + tokens.shape[0]:
            raise ValueError(f"{type(self._model).__name__} does not keep its past in the cache it is given")
        logits: Tensor = out.logits[0]
        return logits[logits.shape[0] - rows :]


def from_hf(model: Any, *, fast: bool = True) -> LanguageModel:
    """Wrap a Hugging Face causal language model.

    Parameters
    ----------
    model : PreTrainedModel
        The model; put into evaluation mode.  On the fast path its weights are copied now.
    fast : bool
        False: run the model's own forward even where `real.llama` could.

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
    if fast and llama.supports(model):
        weights = llama.weights(model)
        new_store: Callable[[], Store] = partial(llama.Store, weights)
    else:
        new_store = partial(_HFStore, model)
        zero = torch.zeros(1, dtype=torch.int64, device=model.device)
        new_store().append(zero, 0, 1)  # a model that ignores its cache is refused now, not later
    embeddings = model.get_input_embeddings().num_embeddings
    return LanguageModel(config.vocab_size, context, model.dtype, model.device, embeddings, new_store)


def _refuse_unfit(name: str, model: Any) -> None:
    """Refuse models that see later tokens, or whose past, once overwritten, is gone."""
    causal = [module.is_causal for module in model.modules() if hasattr(module, "is_causal")]
    if causal and not any(causal):  # for example BERT, unless configured as a decoder
        raise ValueError(f"{name} is not causal: its attention sees later tokens")
    layers = DynamicCache(config=model.config).layers
    # An allow-list: windowed layers call themselves croppable, but only until the window is full.
    kinds = sorted({type(x).__name__ for x in layers if type(x) not in (DynamicLayer, DummyLayer)})
    if kinds or model._is_stateful:
        held = ", ".join(kinds) or "a recurrent state"
        raise ValueError(f"{name} cannot be rolled back: its cache holds {held}, not plain keys and values")
