"""One loop for whatever is trained against a frozen target: it can be stopped, goes on, and refuses a loss of NaN."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from real.train.checkpoint import deferred_interrupt
from real.train.recipe import learning_rate
from real.train.step import on_threads
from specsim.base import check

_OFTEN = 25  # steps from one loss that is said to the next
_KEPT = 100  # steps from one checkpoint to the next


def silent(words: str) -> None:
    """Say nothing."""


def generator(seed: int, step: int) -> torch.Generator:
    """The random numbers of a step: a function of its number alone, so that a run that goes on draws the same."""
    return torch.Generator().manual_seed(seed * 1_000_003 + step)


def tune(
    model: nn.Module,
    loss: Callable[[int], Tensor],
    *,
    steps: int,
    rate: float,
    warmup: int = 20,
    weight_decay: float = 0.0,
    clip: float = 0.5,
    checkpoint: Path | None = None,
    settings: dict[str, Any] | None = None,
    said: Callable[[str], None] = silent,
) -> None:
    """Train a model in place, and leave it in evaluation mode.

    Parameters
    ----------
    model : nn.Module
        The learner; what requires no gradient stays.
    loss : callable
        The loss of a step in nats (or what it is), from its number, which must decide all that is random in it.
    steps : int
        How many, at least 1.
    rate : float
        AdamW's highest learning rate, positive. (Muon, which trained the pair, takes thrice the time of such a step.)
    warmup : int
        Steps that lead up to it; from there it falls linearly to 0.
    weight_decay : float
        Of all weights.
    clip : float
        Largest norm of a step's gradient.
    checkpoint : Path, optional
        Where the run is kept while it lasts; one that is there is carried on with, to the same weights.
    settings : dict, optional
        All else that decides the weights: a checkpoint of others is refused.
    said : callable
        Is told the loss now and then.

    Raises
    ------
    ValueError
        A loss that is not finite, with the step; the last checkpoint stays. A checkpoint of other settings, or none.
    KeyboardInterrupt
        After Ctrl-C, once the step has ended and is kept.

    Examples
    --------
    >>> line, x = nn.Linear(1, 1), torch.linspace(-1, 1, 9)[:, None]
    >>> tune(line, lambda step: (line(x) - 3 * x).square().mean(), steps=200, rate=0.05)
    >>> round(line.weight.item())
    3
    """
    check.integer(steps, "steps", 1)
    check.scalar(rate, "rate", "(0, inf)")
    told = {"steps": steps, "rate": rate, "warmup": warmup, "weight_decay": weight_decay, "clip": clip}
    learner = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.95), weight_decay=weight_decay)
    first = _resumed(checkpoint, model, learner, told | (settings or {}))
    model.train()
    with on_threads(1), deferred_interrupt() as caught:  # sums are added in one order wherever they are added
        for step in range(first, steps):
            value = loss(step)
            if not torch.isfinite(value):
                kept = f"; {str(checkpoint)!r} keeps an earlier one" if checkpoint and checkpoint.exists() else ""
                raise ValueError(f"the loss of step {step} is {value.item()}: training has stopped there{kept}")
            value.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), clip)
            now = learning_rate(step, steps, rate, warmup)
            for group in learner.param_groups:
                group["lr"] = now
            learner.step()
            learner.zero_grad()
            if step % _OFTEN == 0 or step == steps - 1:
                said(f"step {step + 1} of {steps}: loss {value.item():.4f}")
            if checkpoint is not None and (caught or (step + 1) % _KEPT == 0):
                _save(checkpoint, model, learner, told | (settings or {}), step + 1)
            if caught:
                raise KeyboardInterrupt(f"after step {step + 1} of {steps}")
    model.eval()


def _save(path: Path, model: nn.Module, learner: torch.optim.Optimizer, settings: dict[str, Any], step: int) -> None:
    """Write the run so that a power cut leaves the old file or the new one."""
    state = {
        "settings": settings,
        "step": step,
        "model": model.state_dict(),
        "learner": learner.state_dict(),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def _resumed(path: Path | None, model: nn.Module, learner: torch.optim.Optimizer, settings: dict[str, Any]) -> int:
    """Fill model and optimizers from the checkpoint, if there is one; the step to go on with."""
    if path is None or not path.exists():
        return 0
    try:
        state = torch.load(path, weights_only=True)
    except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise ValueError(f"{str(path)!r} is not a checkpoint; remove it to start afresh") from error
    for name in settings.keys() | state["settings"].keys():
        mine, held = settings.get(name), state["settings"].get(name)
        if mine != held:
            raise ValueError(
                f"{name}={mine!r}, but the unfinished run in {str(path)!r} has {name}={held!r}; "
                f"use its settings or remove the file"
            )
    model.load_state_dict(state["model"])
    learner.load_state_dict(state["learner"])
    return int(state["step"])
