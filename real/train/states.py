"""States of a frozen target along texts, computed once and stored with the target's hash."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from real.models import store
from real.models.model import LanguageModel
from real.models.quantised import Quantised
from real.models.weights import Weights, plain
from real.train.loop import silent
from specsim.base.files import write_bytes

# Texts in one pass, on a CPU and on a GPU.
_TOGETHER = {"cpu": 16, "cuda": 64}


def identity(target: LanguageModel) -> str:
    """Return a hash of a target's weights, sixteen hexadecimal digits; ValueError off the fast path."""
    weights = weights_of(target)
    digest = hashlib.sha256()
    inside = [w for layer in weights.layers for w in layer]
    for w in [weights.embedding, weights.norm, weights.head, *inside]:
        if isinstance(w, (Tensor, Quantised)):
            digest.update(plain(w).detach().cpu().float().numpy().tobytes())
    return digest.hexdigest()[:16]


def weights_of(target: LanguageModel) -> Weights:
    """Return the target's weights; ValueError off the fast path."""
    if target.weights is None:
        raise ValueError("states are those of a target on the fast path, and this one runs its own forward")
    return target.weights


def cached(
    target: LanguageModel,
    tokens: Tensor,
    layers: Sequence[int],
    folder: Path | None,
    show_stage: Callable[[str], None] = silent,
) -> Tensor:
    """Return states after these layers along texts, read from a folder or else computed and written there.

    Parameters
    ----------
    target : LanguageModel
        On the fast path; float32 or wider.
    tokens : Tensor, shape (n, m), int64
        Texts.
    layers : sequence of int
        After how many layers: 0 is the embedding, the last one what the head reads, normed; -1 is
        that, too.
    folder : Path, optional
        Holds a file a layer; made if it is not there. None keeps them in memory alone, for targets
        that make them faster than a disk gives them back.
    show_stage : callable
        Called with the stage, for progress.

    Returns
    -------
    Tensor, shape (n, m, len(layers), hidden), bfloat16
        It takes half the room of float32, and training on it is no worse by any test. On the CPU
        if it is from a folder, else on the target's device.

    Raises
    ------
    ValueError
        A file of states of another target, or of other texts, or one that cannot be read: the
        message names it.
    """
    # -1 is the last layer.
    last = len(weights_of(target).layers)
    numbers = [n % (last + 1) for n in layers]
    if folder is None:
        return torch.cat(_compute_batches(target, tokens, tuple(numbers), show_stage))

    # Read the folder's files, one a layer; one of another target or of other texts is refused.
    digest = hashlib.sha256(tokens.contiguous().numpy().tobytes()).hexdigest()[:16]
    made_by = {"target": identity(target), "texts": digest}
    paths = {n: folder / f"layer-{n}.safetensors" for n in numbers}
    by_layer = {n: _read(path, made_by) for n, path in paths.items() if path.exists()}

    # Compute the states of the other layers, and write them.
    missing = tuple(n for n in paths if n not in by_layer)
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
        batches = _compute_batches(target, tokens, missing, show_stage)
        for k, n in enumerate(missing):
            by_layer[n] = torch.cat([states[:, :, k].cpu() for states in batches])
            write_bytes(paths[n], safetensors.torch.save({"states": by_layer[n]}, made_by))
    return torch.stack([by_layer[n] for n in numbers], 2)


def _compute_batches(
    target: LanguageModel, tokens: Tensor, layers: tuple[int, ...], show_stage: Callable[[str], None]
) -> list[Tensor]:
    """Run the target over batches of the texts; return each batch's states after the layers.

    A batch of b texts gives (b, m, len(layers), hidden), bfloat16 on the target's device.
    """
    # A head of one row: logits of a large vocabulary would take more room and time than all states.
    weights = weights_of(target)
    headless = replace(weights, head=plain(weights.head)[:1], head_bias=None)

    # Each batch has an empty cache: all of its sequences start at position 0.
    size = _TOGETHER[target.device.type]
    batches = []
    for first in range(0, len(tokens), size):
        show_stage(f"states of texts {first + 1} to {min(first + size, len(tokens))} of {len(tokens)}")
        texts = tokens[first : first + size].to(target.device)
        cache = store.Llama(headless, len(texts))
        sequences, starts = list(range(len(texts))), [0] * len(texts)
        _, states = cache.states(texts, sequences, starts, layers)
        batches.append(states.bfloat16())
    return batches


def _read(path: Path, made_by: dict[str, str]) -> Tensor:
    """Return the states of a file; ValueError if they are of another target or of other texts."""
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            for name, expected in made_by.items():
                if metadata.get(name) != expected:
                    other = f"another {name.rstrip('s')} ({metadata.get(name)}, not {expected})"
                    raise ValueError(f"{str(path)!r} holds states of {other}: remove it, or give another folder")
            states: Tensor = file.get_tensor("states")
            return states
    except SafetensorError:
        raise ValueError(f"{str(path)!r} holds no states: remove it, and they are computed anew") from None
