"""A target, and a draft that speaks the same tokens, loaded as a pair."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import torch

from real.models.device import parse_device
from real.models.loading import load_model, load_tokenizer, same_tokenizer
from real.models.names import SMOLLM2, check_place, check_rounding, shipped_draft
from real.named import draft_model
from real.origin import Origin
from real.pair import Pair
from specsim.base import check


def load(
    target: str | os.PathLike[str],
    draft: str | os.PathLike[str] | None = None,
    *,
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
    widen_to: int | None = None,
    weights: str | None = None,
) -> Pair[Any]:
    """Load a target, and a draft that speaks the same tokens.

    Parameters
    ----------
    target : str or path
        Local directory, GGUF file or hub id, with its tokenizer; safetensors only.
    draft : str or path, optional
        The same of the draft, or the name of one that is shipped for SmolLM2: smollm2/lowrank,
        smollm2/exit_2 and others. Without one the pair's `draft` is None: name a drafter, or decode
        plainly.
    device, dtype : str or torch.device, torch.dtype
        Of both models.
    widen_to : int, optional
        Run the target at the cost of this many parameters (*cost emulation*, see
        `real.models.widen`).
    weights : str, optional
        "int8" or "int4": round the target's projections (see `real.models.model.quantised`). Texts
        are then lossless with respect to the quantised target.

    Returns
    -------
    Pair
        Logits are fitted to the ids of the tokenizer, 0 to its largest.

    Raises
    ------
    ValueError, MemoryError
        If a model or tokenizer cannot be loaded, the tokenizers differ, or these weights do not go
        with the target.

    Examples
    --------
    >>> from real import TINY
    >>> load(TINY / "target", TINY / "draft")
    Pair(target='tiny/target' (5.3 M parameters), draft='tiny/draft' (0.4 M), tokens=2,048, device=cpu, dtype=float32)
    """
    # Check the arguments before anything is loaded.
    weights = check_rounding("" if weights is None else weights, str(device), str(dtype).removeprefix("torch."))
    parse_device(str(device))
    shipped = None if draft is None else shipped_draft(draft)
    for where in (target,) if draft is None or shipped else (target, draft):
        check_place(where)
    widen_to = None if widen_to is None else check.integer(widen_to, "widen_to", 1)

    # The tokenizer: both models have the same one.
    tokenizer = load_tokenizer(target)
    if draft is not None:
        same_tokenizer(tokenizer, load_tokenizer(SMOLLM2 if shipped else draft))
    width = max(tokenizer.get_vocab().values()) + 1

    # The models.
    big = load_model(target, dtype=dtype, device=device, widen_to=widen_to, weights=weights)
    big = replace(big, vocab_size=width)
    small = None
    if shipped:
        small = draft_model(shipped, big)
    elif draft is not None:
        small = replace(load_model(draft, dtype=dtype, device=device), vocab_size=width)
    origin = Origin(os.fspath(target), None if draft is None else os.fspath(draft), widen_to, weights)
    return Pair(big, small, tokenizer, origin=origin)
