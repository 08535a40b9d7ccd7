"""One loop for whatever is trained: the bundled pair, drafters on a frozen target, small models of images and sums.

`descend` takes the steps. `fit` runs it to the end; it can be stopped, and goes on where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from real.train.checkpoint import deferred_interrupt, read_state, write_state
from real.train.recipe import learning_rate
from real.train.step import on_threads, optimizers
from specsim.base import check

# Steps from one loss that is said to the next, and from one checkpoint to the next.
_OFTEN = 25
_KEPT = 100
# Steps from one loss that is recorded to the next.
_RECORDED = 50
# Decay of the matrices, of models that are trained as the bundled pair is.
_DECAY = 0.1


class Schedule(NamedTuple):
    """How many steps, and how fast: the rate rises linearly over `warmup` steps, then falls linearly to 0."""

    steps: int
    rate: float
    warmup: int = 20


class Fitted(NamedTuple):
    """What a training took: losses (step, loss) now and then, and seconds; of all sittings, if it was interrupted."""

    losses: list[tuple[int, float]]
    seconds: float


def silent(words: str) -> None:
    """Say nothing."""


def generator(seed: int, step: int) -> torch.Generator:
    """The random numbers of a step: a function of its number alone, so that a run that goes on draws the same."""
    return torch.Generator().manual_seed(seed * 1_000_003 + step)


def adamw(model: nn.Module, weight_decay: float = 0.0) -> torch.optim.Optimizer:
    """AdamW for all weights of a model. (Muon, which trained the pair, takes thrice the time of such a step.)"""
    return torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=weight_decay)


def descend(
    model: nn.Module,
    learners: Sequence[torch.optim.Optimizer],
    loss: Callable[[int], Tensor],
    schedule: Schedule,
    *,
    clip: float = 1.0,
    first: int = 0,
    checkpoint: Path | None = None,
) -> Iterator[tuple[int, float]]:
    """Train a model in place, step by step; yields the number and the loss of each step after it.

    Parameters
    ----------
    model : nn.Module
        The learner.
    learners : sequence of optimizers
        They share its weights; a group's `scale`, where it has one, multiplies the rate.
    loss : callable
        The loss of a step in nats (or what it is), from its number.
    schedule : Schedule
        Steps and rates.
    clip : float
        Largest norm of a step's gradient.
    first : int
        The step to begin with.
    checkpoint : Path, optional
        Is named where a loss is not finite, if it is there.

    Raises
    ------
    ValueError
        A loss that is not finite, with the step; the weights are those before it.
    """
    for step in range(first, schedule.steps):
        value = loss(step)
        if not torch.isfinite(value):
            kept = f"; {str(checkpoint)!r} keeps an earlier one" if checkpoint and checkpoint.exists() else ""
            raise ValueError(f"the loss of step {step} is {value.item()}: training has stopped there{kept}")
        value.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        rate = learning_rate(step, *schedule)
        for learner in learners:
            for group in learner.param_groups:
                group["lr"] = rate * group.get("scale", 1.0)
            learner.step()
            learner.zero_grad()
        yield step, value.item()


def fit(
    model: nn.Module,
    loss: Callable[[int], Tensor],
    schedule: Schedule,
    *,
    learners: Sequence[torch.optim.Optimizer] = (),
    clip: float = 1.0,
    checkpoint: Path | None = None,
    settings: dict[str, Any] | None = None,
    said: Callable[[str], None] = silent,
) -> Fitted:
    """Train a model in place, on one thread, and leave it in evaluation mode.

    Parameters
    ----------
    model, loss, schedule, learners, clip
        As for `descend`; by default the optimizers of the bundled pair. Where a run is to go on from a checkpoint, the
        step's number has to decide all that is random in `loss`.
    checkpoint : Path, optional
        Where the run is kept while it lasts; one that is there is carried on with, to the same weights.
    settings : dict, optional
        All else that decides the weights: a checkpoint of others is refused.
    said : callable
        Is told the loss now and then.

    Returns
    -------
    Fitted
        Losses and seconds, those of earlier sittings included.

    Raises
    ------
    ValueError
        A loss that is not finite, with the step; the last checkpoint stays. A checkpoint of other settings, or none.
    KeyboardInterrupt
        After Ctrl-C, once the step has ended and is kept.

    Examples
    --------
    >>> line, x = nn.Linear(1, 1), torch.linspace(-1, 1, 9)[:, None]
    >>> schedule = Schedule(200, 0.05)
    >>> done = fit(line, lambda step: (line(x) - 3 * x).square().mean(), schedule, learners=[adamw(line)])
    >>> round(line.weight.item())
    3
    """
    check.integer(schedule.steps, "steps", 1)
    check.scalar(schedule.rate, "rate", "(0, inf)")
    learners = learners or optimizers(model, _DECAY)
    held = schedule._asdict() | {"clip": clip} | (settings or {})
    first, before = _resumed(checkpoint, model, learners, held)
    losses, began = list(before.losses), time.monotonic()
    model.train()
    with on_threads(1), deferred_interrupt() as caught:  # sums are added in one order wherever they are added
        for step, value in descend(model, learners, loss, schedule, clip=clip, first=first, checkpoint=checkpoint):
            # What is said, and what is recorded.
            is_last = step == schedule.steps - 1
            if step % _OFTEN == 0 or is_last:
                said(f"step {step + 1} of {schedule.steps}: loss {value:.4f}")
            if step % _RECORDED == 0 or is_last:
                losses.append((step, round(value, 4)))

            # What the next sitting goes on from.
            if checkpoint is not None and (caught or (step + 1) % _KEPT == 0):
                state = {"settings": held, "step": step + 1, "model": model.state_dict(), "losses": losses}
                state |= {"seconds": before.seconds + time.monotonic() - began}
                write_state(checkpoint, state | {"learners": [learner.state_dict() for learner in learners]})
            if caught:
                raise KeyboardInterrupt(f"after step {step + 1} of {schedule.steps}")
    model.eval()
    return Fitted(losses, before.seconds + time.monotonic() - began)


def _resumed(
    path: Path | None, model: nn.Module, learners: Sequence[torch.optim.Optimizer], settings: dict[str, Any]
) -> tuple[int, Fitted]:
    """Fill model and optimizers from the checkpoint, if there is one; the step to go on with, and what it took."""
    state = None if path is None else read_state(path, settings)
    if state is None:
        return 0, Fitted([], 0.0)
    model.load_state_dict(state["model"])
    for learner, saved in zip(learners, state["learners"], strict=True):
        learner.load_state_dict(saved)
    return int(state["step"]), Fitted([(step, loss) for step, loss in state["losses"]], float(state["seconds"]))
