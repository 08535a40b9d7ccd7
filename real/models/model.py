"""Causal language models behind one small interface: a cache that runs tokens and takes them back.

`from_hf` wraps a model in memory, `real.models.loading` reads one from files. Llama-like models run
on the path of `real.models.llama`, all others through their own Hugging Face forward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from transformers import cache_utils
from transformers.cache_utils import DynamicLayer, LinearAttentionCacheLayerMixin

from real.models import store
from real.models.cache import Cache, Store
from real.models.names import check_rounding
from real.models.weights import Weights, from_model, supports

# Cache layers that can be rolled back. `DummyLayer`, which keeps nothing, came after transformers
# 5.17.
_PLAIN_LAYERS = (DynamicLayer, getattr(cache_utils, "DummyLayer", DynamicLayer))
_DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


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
    parameters : int
        How many weights it has; tied ones count once.
    """

    vocab_size: int
    context: int
    dtype: torch.dtype
    device: torch.device
    embeddings: int
    new_store: Callable[[int], Store] = field(repr=False)
    weight_bytes: int
    weights: Weights | None = field(default=None, repr=False)
    parameters: int = 0

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


def full_states(model: LanguageModel, tokens: Tensor, layers: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Compute logits and hidden states after every token of a sequence, with nothing cached before.

    Parameters
    ----------
    model : LanguageModel
        A model on the fast path.
    tokens : Tensor, shape (m,), int64
        The sequence.
    layers : sequence of int
        After how many layers: 0 is the embedding, the last one what the head reads, normed.

    Returns
    -------
    tuple of Tensor
        Logits (m, vocab_size) and states (m, len(layers), hidden).

    Raises
    ------
    ValueError
        As `Cache.states`.
    """
    logits, states = model.cache().states(tokens[None], [0], layers)
    return logits[0], states[0]


def from_hf(model: Any, *, fast: bool = True) -> LanguageModel:
    """Wrap a Hugging Face causal language model.

    Parameters
    ----------
    model : PreTrainedModel
        The model; put into evaluation mode. On the fast path its weights are copied now.
    fast : bool
        False: run the model's own forward even where `real.models.llama` could.

    Returns
    -------
    LanguageModel
        With the model's own vocabulary width.

    Raises
    ------
    ValueError
        For a dtype other than the four floats, a cache that cannot be rolled back, an unknown
        context.
    """
    # Refuse what cannot be run or taken back.
    name, config = type(model).__name__, model.config.get_text_config(decoder=True)
    if model.dtype not in _DTYPES:
        raise ValueError(f"{name} has dtype {model.dtype}; supported: float64, float32, bfloat16, float16")
    _refuse_unfit(name, model)
    keys = ("max_position_embeddings", "max_seq_len", "seq_length")
    limits = (getattr(config, key, None) for key in keys)
    context = next((limit for limit in limits if limit), None)
    if context is None:
        raise ValueError(f"{name}: its config states no max_position_embeddings, max_seq_len or seq_length")

    # The fast path, or the model's own forward.
    model.eval()
    if fast and supports(model):
        weights = from_model(model)
        new_store: Callable[[int], Store] = partial(store.Llama, weights)
    else:
        weights = None
        new_store = partial(store.Generic, model)
        # Read one token, so that a model that ignores its cache is refused now and not later.
        zero = torch.zeros(1, 1, dtype=torch.int64, device=model.device)
        new_store(1).append(zero, [0], [0], 1)

    embeddings = model.get_input_embeddings().num_embeddings
    sizes = (_weight_bytes(model), weights, sum(w.numel() for w in model.parameters()))
    return LanguageModel(config.vocab_size, context, model.dtype, model.device, embeddings, new_store, *sizes)


def quantised(model: LanguageModel, kind: str) -> LanguageModel:
    """Round the projections of a model's layers; all else stays as it is, and so does its dtype.

    Parameters
    ----------
    model : LanguageModel
        On the fast path and a CPU, in float32 or bfloat16.
    kind : str
        "int8" or "int4" (see `real.models.quantised`).

    Returns
    -------
    LanguageModel
        Another model: what is lossless with it is lossless with respect to *its* law.

    Raises
    ------
    ValueError
        An unknown kind; a model of another path, device or dtype, or with projections that the
        kernels cannot take.
    """
    check_rounding(kind, str(model.device), str(model.dtype).removeprefix("torch."))
    if model.weights is None:
        raise ValueError(f"weights {kind}: only a model on the fast path can be quantised")
    weights = model.weights.quantised(kind)
    saved = model.weights.projection_bytes() - weights.projection_bytes()
    new_store: Callable[[int], Store] = partial(store.Llama, weights)
    return replace(model, weights=weights, new_store=new_store, weight_bytes=model.weight_bytes - saved)


def _weight_bytes(model: Any) -> int:
    """Return the bytes of all weights but the embeddings, of which a token reads one row.

    Tied embeddings are counted: they are read whole as the head.
    """
    # Weights are told apart by their addresses: those of tied weights are equal.
    tables = {m.weight.data_ptr() for m in model.modules() if isinstance(m, torch.nn.Embedding)}
    tables -= {model.get_output_embeddings().weight.data_ptr()}
    return sum(w.numel() * w.element_size() for w in model.parameters() if w.data_ptr() not in tables)


def _refuse_unfit(name: str, model: Any) -> None:
    """Refuse models that see later tokens, or whose past, once overwritten, is gone."""
    # A model that is not causal is, for example, BERT unless it is configured as a decoder.
    causal = [module.is_causal for module in model.modules() if hasattr(module, "is_causal")]
    if causal and not any(causal):
        raise ValueError(f"{name} is not causal: its attention sees later tokens")

    # Cache layers that are not on the list of `_PLAIN_LAYERS` are refused: others call themselves
    # croppable, but only until something was written over.
    unfit = [layer for layer in store.whole_cache(model.config).layers if type(layer) not in _PLAIN_LAYERS]
    if unfit or model._is_stateful:
        kinds = ", ".join(sorted({type(layer).__name__ for layer in unfit})) or "a state outside its cache"
        is_recurrent = not unfit or any(isinstance(layer, LinearAttentionCacheLayerMixin) for layer in unfit)
        why = "not plain keys and values of each token"
        if is_recurrent:
            why = "a recurrent state, which every token overwrites"
        raise ValueError(f"{name} cannot be rolled back: it keeps {kinds}, {why}")
