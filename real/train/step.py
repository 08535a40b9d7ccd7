"""The parts of a training step: windows, loss and optimizers.

Windows depend on the step's number alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM

from real.train.muon import Muon, in_bfloat16
from real.train.recipe import Shape


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Compute with this many threads inside, and afterwards with as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def build(shape: Shape, vocab: int, window: int, seed: int) -> Any:
    """Make an untrained Llama with tied embeddings.

    Parameters
    ----------
    shape : Shape
        Its size.
    vocab, window : int
        Entries of the tokenizer and longest sequence.
    seed : int
        Seed of the first weights; the global generator is left as it was.

    Returns
    -------
    transformers.LlamaForCausalLM
        In float32.
    """
    # Token 0 begins and ends a text.
    config = LlamaConfig(
        vocab_size=vocab,
        hidden_size=shape.hidden,
        intermediate_size=shape.ffn,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.heads,
        max_position_embeddings=window,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)


@lru_cache(maxsize=2)
def _epoch(seed: int, epoch: int, tokens: int, window: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return where the windows of one pass over a stream of `tokens` start, in random order.

    They follow each other from a random offset on.
    """
    rng = np.random.default_rng([seed, epoch])
    offset = rng.integers(min(window, tokens - window + 1))
    return rng.permutation(np.arange(offset, tokens - window + 1, window))


def batch_at(stream: Tensor, step: int, batch: int, window: int, seed: int) -> Tensor:
    """Pick one step's windows: epochs of shuffled windows, a function of the step alone.

    Parameters
    ----------
    stream : Tensor
        Token ids, at least `window` of them.
    step, batch, window, seed : int
        Step number, windows per step, tokens per window, seed of the order.

    Returns
    -------
    Tensor
        (batch, window).
    """
    # Windows of one epoch. At small offsets there is one more, which is left out, so that all epochs
    # have the same number.
    per_epoch = max(1, (len(stream) - window + 1) // window)
    # Windows are numbered through all epochs: window n is the i-th of its epoch.
    numbers = range(step * batch, (step + 1) * batch)
    epochs_and_places = (divmod(n, per_epoch) for n in numbers)
    starts = [int(_epoch(seed, epoch, len(stream), window)[i]) for epoch, i in epochs_and_places]
    return torch.stack([stream[start : start + window] for start in starts])


def _logits(model: Any, ids: Tensor) -> Tensor:
    """Return the next-token logits of every position but the last, as float32 rows (n (window - 1), V).

    They are computed in bfloat16 where the machine has instructions for it.
    """
    with torch.autocast("cpu", torch.bfloat16, enabled=in_bfloat16()):
        logits: Tensor = model(ids[:, :-1], use_cache=False).logits
    return logits.flatten(0, 1).float()


def cross_entropy(model: Any, ids: Tensor) -> Tensor:
    """Return the mean next-token cross-entropy, to train on.

    Parameters
    ----------
    model : causal language model
        The learner.
    ids : Tensor
        (n, window) token ids.

    Returns
    -------
    Tensor
        Nats per token, a scalar.
    """
    return F.cross_entropy(_logits(model, ids), ids[:, 1:].flatten())


def divergence(target: Any, draft: Any, ids: Tensor) -> Tensor:
    """Return KL(target || draft) over the full vocabulary, the mean over positions, to train the draft on.

    Parameters
    ----------
    target, draft : causal language models
        Teacher, which gets no gradient, and learner.
    ids : Tensor
        (n, window) token ids.

    Returns
    -------
    Tensor
        Nats per token, a scalar.
    """
    with torch.no_grad():
        log_p = _logits(target, ids).log_softmax(-1)
    log_q = _logits(draft, ids).log_softmax(-1)
    return F.kl_div(log_q, log_p, reduction="batchmean", log_target=True)


def optimizers(model: nn.Module, weight_decay: float) -> list[torch.optim.Optimizer]:
    """Return Muon for the matrices inside layers, and AdamW at twice the rate for embedding and norms."""
    layer_matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    other_weights = [p for name, p in model.named_parameters() if p.ndim != 2 or "embed" in name]
    kind = torch.optim.Muon if in_bfloat16(next(model.parameters()).device) else Muon
    muon = kind(
        [{"params": layer_matrices, "scale": 1.0}],
        weight_decay=weight_decay,
        adjust_lr_fn="match_rms_adamw",
    )
    adamw = torch.optim.AdamW(
        [{"params": other_weights, "scale": 2.0}],
        betas=(0.9, 0.95),
        weight_decay=0.0,
        fused=True,
    )
    return [muon, adamw]
