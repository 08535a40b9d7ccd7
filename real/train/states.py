"""States of a frozen target along texts, computed once and kept in files that know which target they are of."""

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
    """Sixteen hexadecimal digits that a target of other weights does not have; ValueError off the fast path."""
    weights = weights_of(target)
    whole = hashlib.sha256()
    every = [weights.embedding, weights.norm, weights.head, *(w for layer in weights.layers for w in layer)]
    for w in every:
        if isinstance(w, (Tensor, Quantised)):
            whole.update(plain(w).detach().cpu().float().numpy().tobytes())
    return whole.hexdigest()[:16]


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
    said: Callable[[str], None] = silent,
) -> Tensor:
    """States after given layers along texts, read from a folder where they are there and written to it where not.

    Parameters
    ----------
    target : LanguageModel
        On the fast path; float32 or wider.
    tokens : Tensor, shape (n, m), int64
        Texts.
    layers : sequence of int
        After how many layers: 0 is the embedding, the last one what the head reads, normed; -1 is that, too.
    folder : Path, optional
        Holds a file a layer; made if it is not there. None keeps them in memory alone, for targets that make them
        faster than a disk gives them back.
    said : callable
        Is told what runs.

    Returns
    -------
    Tensor, shape (n, m, len(layers), hidden), bfloat16
        Half the room of float32, and of what trains on them nothing is lost that a test sees. On the CPU if they are
        from a folder, else on the target's device.

    Raises
    ------
    ValueError
        A file of states of another target, or of other texts, or one that cannot be read: the line says which.
    """
    last = len(weights_of(target).layers)
    wanted = [n % (last + 1) for n in layers]
    if folder is None:
        return torch.cat(_made(target, tokens, tuple(wanted), said))

    # What the folder holds is read, if it is of this target and of these texts.
    digest = hashlib.sha256(tokens.contiguous().numpy().tobytes()).hexdigest()[:16]
    made_by = {"target": identity(target), "texts": digest}
    paths = {n: folder / f"layer-{n}.safetensors" for n in wanted}
    held = {n: _read(path, made_by) for n, path in paths.items() if path.exists()}

    # The others are computed, and written.
    missing = tuple(n for n in paths if n not in held)
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
        made = _made(target, tokens, missing, said)
        for k, n in enumerate(missing):
            held[n] = torch.cat([states[:, :, k].cpu() for states in made])
            write_bytes(paths[n], safetensors.torch.save({"states": held[n]}, made_by))
    return torch.stack([held[n] for n in wanted], 2)


def _made(target: LanguageModel, tokens: Tensor, layers: tuple[int, ...], said: Callable[[str], None]) -> list[Tensor]:
    """Return the states (b, m, len(layers), hidden) of texts, some at a time, bfloat16 on the target's device."""
    # A head of one row: logits of a large vocabulary would take more room and time than all states.
    weights = weights_of(target)
    headless = replace(weights, head=plain(weights.head)[:1], head_bias=None)
    each = _TOGETHER[target.device.type]
    made = []
    for first in range(0, len(tokens), each):
        said(f"states of texts {first + 1} to {min(first + each, len(tokens))} of {len(tokens)}")
        some = tokens[first : first + each].to(target.device)
        cache = store.Llama(headless, len(some))
        states = cache.states(some, list(range(len(some))), [0] * len(some), layers)[1]
        made.append(states.bfloat16())
    return made


def _read(path: Path, made_by: dict[str, str]) -> Tensor:
    """Return the states of a file; ValueError if they are of something else."""
    try:
        with safe_open(path, "pt") as file:
            found = file.metadata() or {}
            for name, mine in made_by.items():
                if found.get(name) != mine:
                    raise ValueError(
                        f"{str(path)!r} holds states of another {name.rstrip('s')} ({found.get(name)}, not {mine}): "
                        f"remove it, or give another folder"
                    )
            held: Tensor = file.get_tensor("states")
            return held
    except SafetensorError:
        raise ValueError(f"{str(path)!r} holds no states: remove it, and they are computed anew") from None
