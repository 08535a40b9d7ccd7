"""Keys and values of a batch of sequences: tensors for `llama`, else the library's own cache."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from real.models import llama
from real.models.memory import check_memory, explain_oom
from real.models.weights import Weights

# Positions for which room is made first; it doubles from there.
_FIRST_CAPACITY = 256
# Keys and values of each layer.
_LayerTensors = list[tuple[Tensor, Tensor]]
# The arguments `seen`, `new` and `place` of `llama.forward`: where a pass reads keys and values,
# where it writes those of its tokens, and where the tokens stand.
_Where = tuple[_LayerTensors, _LayerTensors, llama.Place]


class Llama:
    """Keys and values of a batch of sequences.

    The caller keeps the lengths of the sequences and says in each call where its tokens start; what
    stands from there on is overwritten or ignored. Tokens are taken back by a smaller start in the
    next call.

    Parameters
    ----------
    model : Weights
        The model that fills it.
    batch : int
        Number of sequences.

    Attributes
    ----------
    kv : Tensor, shape (2, layers, batch, kv heads, capacity, head_dim)
        Keys and values.
    """

    def __init__(self, model: Weights, batch: int) -> None:
        self._model = model
        # Axes: keys or values, layer, sequence, head, position, width of a head. There is no room
        # for positions yet.
        head_dim = model.cos.shape[-1]
        self.kv = model.cos.new_empty(2, len(model.layers), batch, model.kv_heads, 0, head_dim)

    def reserve(self, capacity: int) -> None:
        """Make room for so many positions, keeping what is there.

        Parameters
        ----------
        capacity : int
            Positions; may pass the model's context.

        Raises
        ------
        ValueError, MemoryError
            If they do not fit, with how many would.
        """
        # The shape of the new tensor, and its bytes.
        old = self.kv
        parts, num_layers, batch, kv_heads, old_capacity, head_dim = old.shape
        shape = (parts, num_layers, batch, kv_heads, capacity, head_dim)
        size = math.prod(shape) * old.itemsize
        name = f"keys and values of {batch} texts at {capacity} positions"

        def fit(free: int) -> str:
            """Return in words how many positions, or texts, fit into `free` bytes."""
            positions, texts = capacity * free // size, batch * free // size
            fewer_texts = f", or {texts} texts at a time" if texts else ""
            return f"{positions} positions a text would fit{fewer_texts}"

        # Make the new tensor, if it fits, and copy the old one.
        check_memory({name: size}, old.device, fit)
        with explain_oom(name, "shorter texts, or fewer at a time"):
            self.kv = old.new_zeros(shape)
        self.kv[..., :old_capacity, :] = old

    def append(self, tokens: Tensor, which: list[int], starts: list[int], rows: int) -> Tensor:
        """Run tokens and store their keys and values, as `real.models.cache.Store` says.

        Parameters
        ----------
        tokens : Tensor, shape (b, m), int64
            Token ids, on the model's device.
        which : list of int
            The sequences they belong to, increasing.
        starts : list of int
            Number of positions before them, for each, all stored by earlier calls.
        rows : int
            How many of the last positions to return logits for.

        Returns
        -------
        Tensor, shape (b, rows, vocab)
            Logits; an ordinary tensor, free to be changed in place.
        """
        with torch.inference_mode():
            hidden = llama.forward(self._model, *self._where(tokens, which, starts), tokens, rows)
        return llama.linear(hidden, self._model.head, self._model.head_bias)

    def states(
        self, tokens: Tensor, which: list[int], starts: list[int], layers: tuple[int, ...]
    ) -> tuple[Tensor, Tensor]:
        """Run tokens as `append` does; return logits and states.

        Logits have the shape (b, m, vocab), states (b, m, len(layers), hidden).
        """
        where = self._where(tokens, which, starts)
        with torch.inference_mode():
            hidden, states = llama.states(self._model, *where, tokens, layers)
        # Outside of inference mode, so that a network can be trained on them.
        logits = llama.linear(hidden, self._model.head, self._model.head_bias)
        return logits, torch.stack(states, 2)

    def _where(self, tokens: Tensor, which: list[int], starts: list[int]) -> _Where:
        """Return the arguments `seen`, `new` and `place` of `llama.forward` for these tokens.

        Row i of the tokens (b, m) belongs to sequence `which[i]`, of which `starts[i]` positions are
        stored.
        """
        # Make room for their positions: a power of two, up to the context.
        end = max(starts) + tokens.shape[1]
        *_, capacity, _ = self.kv.shape
        if end > capacity:
            context = self._model.cos.shape[0]
            self.reserve(min(context, max(_FIRST_CAPACITY, 1 << (end - 1).bit_length())))

        # Neighbouring sequences at the same positions are one slab, a slice of the store.
        are_neighbours = which[-1] - which[0] == len(which) - 1
        is_slab = are_neighbours and len(set(starts)) == 1
        locate = self._aligned if is_slab else self._ragged
        return locate(tokens, which, starts, end)

    def _aligned(self, tokens: Tensor, which: list[int], starts: list[int], end: int) -> _Where:
        """Return `_where` of a slab: neighbouring sequences, which all start at one position."""
        # The part of the store that belongs to these sequences, up to the last new position.
        model, start, m = self._model, starts[0], tokens.shape[1]
        slab = self.kv[:, :, which[0] : which[-1] + 1, :, :end]

        # One query sees everything; of several, query i sees the positions up to start + i. The mask
        # (m, end) holds -inf above that diagonal.
        mask = None
        if m > 1:
            mask = slab.new_full((m, end), -torch.inf).triu_(start + 1).view(1, 1, m, end)

        # Layers with a window see less, once the positions are more than it holds.
        near = mask
        if model.window is not None and end > model.window:
            positions = torch.arange(end, device=tokens.device)
            near = llama.nearby(model, mask, positions[None, start:], positions)
        place = llama.Place(model.cos[start:end], model.sin[start:end], mask, near=near)
        return layers(slab), layers(slab[..., start:, :]), place

    def _ragged(self, tokens: Tensor, which: list[int], starts: list[int], end: int) -> _Where:
        """Return `_where` of sequences that start anywhere: keys are written by index, not as a slab."""
        # Sequences (b, 1) and positions (b, m) of the tokens.
        device, m = tokens.device, tokens.shape[1]
        sequences = torch.tensor(which, device=device)[:, None]
        positions = torch.tensor(starts, device=device)[:, None] + torch.arange(m, device=device)
        place = llama.ragged(self._model, positions, sequences, end)
        if len(which) < self.kv.shape[2]:
            place = place._replace(take=sequences[:, 0])

        # Views (batch, position, kv head, head_dim) of the whole store: the index of sequences and
        # positions applies to the first two axes.
        new = [(keys.transpose(1, 2), values.transpose(1, 2)) for keys, values in layers(self.kv)]
        seen = layers(self.kv[..., :end, :])
        return seen, new, place


class Generic:
    """Store of any Hugging Face model whose cache can be cropped: sequences run one after another.

    Layers with a sliding or chunked window keep the whole text, too, where the library keeps the
    window only: a ring that was written over cannot be taken back. The model's own masks hide what
    the window has left.
    """

    def __init__(self, model: Any, batch: int) -> None:
        self._model = model
        self._caches = [whole_cache(model.config) for _ in range(batch)]

    def append(self, tokens: Tensor, which: list[int], starts: list[int], rows: int) -> Tensor:
        """Run tokens and store what the model keeps of them, as `real.models.cache.Store` says."""
        texts = zip(tokens, which, starts, strict=True)
        return torch.stack(
            [self._run(row, self._caches[i], start, rows) for row, i, start in texts],
        )

    @torch.no_grad()
    def _run(self, tokens: Tensor, cache: DynamicCache, start: int, rows: int) -> Tensor:
        """Run the tokens of one sequence; return logits (rows, vocab)."""
        # Forget the positions from `start` on. A negative number says how many to remove.
        stale = cache.get_seq_length() - start
        if stale > 0:
            cache.crop(-stale)
        # Positions are left to the model: it counts from the length of the cache, which is now
        # `start`.
        out = self._model(
            input_ids=tokens[None],
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=max(rows, 1),
        )
        if cache.get_seq_length() != start + tokens.shape[0]:
            name = type(self._model).__name__
            raise ValueError(f"{name} does not keep its past in the cache it is given")
        logits: Tensor = out.logits[0]
        return logits[logits.shape[0] - rows :]


def layers(kv: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Return keys and values of each layer, from (2, layers, ...)."""
    keys, values = kv
    return list(zip(keys.unbind(), values.unbind(), strict=True))


def whole_cache(config: Any) -> DynamicCache:
    """Return an empty cache for a model; it forgets nothing, whatever the windows of the model's layers."""
    cache = DynamicCache(config=config)
    cache.layers = [DynamicLayer() if type(layer) is DynamicSlidingWindowLayer else layer for layer in cache.layers]
    return cache
