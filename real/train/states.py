"""States of a frozen target along texts, computed once and kept in files that know which target they are of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from real.models.model import LanguageModel
from real.models.quantised import Quantised
from real.models.weights import plain
from real.train.loop import silent
from specsim.base.files import write_bytes

_TOGETHER = 16  # texts in one pass


def identity(target: LanguageModel) -> str:
    """Sixteen hexadecimal digits that a target of other weights does not have; ValueError off the fast path."""
    weights = target.weights
    if weights is None:
        raise ValueError("states are those of a target on the fast path, and this one runs its own forward")
    whole = hashlib.sha256()
    every = [weights.embedding, weights.norm, weights.head, *(w for layer in weights.layers for w in layer)]
    for w in every:
        if isinstance(w, (Tensor, Quantised)):
            whole.update(plain(w).detach().cpu().float().numpy().tobytes())
    return whole.hexdigest()[:16]


def cached(
    target: LanguageModel,
    tokens: Tensor,
    layers: Sequence[int],
    folder: Path,
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
    folder : Path
        Holds a file a layer; made if it is not there.
    said : callable
        Is told what runs.

    Returns
    -------
    Tensor, shape (n, m, len(layers), hidden), bfloat16
        Half the room of float32, and of what trains on them nothing is lost that a test sees.

    Raises
    ------
    ValueError
        A file of states of another target, or of other texts, or one that cannot be read: the line says which.
    """
    own = identity(target)
    last = len(target.weights.layers)  # type: ignore[union-attr]
    wanted = [n % (last + 1) for n in layers]
    told = {"target": own, "texts": hashlib.sha256(tokens.contiguous().numpy().tobytes()).hexdigest()[:16]}
    paths = {n: folder / f"layer-{n}.safetensors" for n in wanted}
    held = {n: _read(path, told) for n, path in paths.items() if path.exists()}
    missing = tuple(n for n in paths if n not in held)
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
        made: list[Tensor] = []
        for first in range(0, len(tokens), _TOGETHER):
            said(f"states of texts {first + 1} to {min(first + _TOGETHER, len(tokens))} of {len(tokens)}")
            some = tokens[first : first + _TOGETHER]
            made.append(target.cache(len(some)).states(some, list(range(len(some))), missing)[1].bfloat16())
        for k, n in enumerate(missing):
            held[n] = torch.cat([one[:, :, k] for one in made])
            write_bytes(paths[n], safetensors.torch.save({"states": held[n]}, told))
    return torch.stack([held[n] for n in wanted], 2)


def _read(path: Path, told: dict[str, str]) -> Tensor:
    """The states of a file; ValueError if they are of something else."""
    try:
        with safe_open(path, "pt") as file:
            found = file.metadata() or {}
            for name, mine in told.items():
                if found.get(name) != mine:
                    raise ValueError(
                        f"{str(path)!r} holds states of another {name.rstrip('s')} ({found.get(name)}, not {mine}): "
                        f"remove it, or give another folder"
                    )
            held: Tensor = file.get_tensor("states")
            return held
    except SafetensorError:
        raise ValueError(f"{str(path)!r} holds no states: remove it, and they are computed anew") from None
