"""One loop for all training: the bundled pair, drafters of a frozen target, small models.

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

# Steps between losses that are shown.
_STEPS_SHOWN = 25
# Steps between checkpoints.
_STEPS_SAVED = 100
# Steps between losses that are recorded.
_STEPS_RECORDED = 50
# Weight decay of the default optimizers, which are those of the bundled pair.
_DECAY = 0.1


class Schedule(NamedTuple):
    """Steps and rates: a rate rises linearly over `warmup` steps, then falls linearly to 0."""

    steps: int
    rate: float
    warmup: int = 20


class Fitted(NamedTuple):
    """Losses (step, loss) of some steps of a training, and its seconds.

    After an interruption they are those of all sittings together.
    """

    losses: list[tuple[int, float]]
    seconds: float


def silent(words: str) -> None:
    """Show nothing."""


def generator(seed: int, step: int) -> torch.Generator:
    """Return the generator of a step's random numbers, from its number alone: a resumed run draws the same."""
    return torch.Generator().manual_seed(seed * 1_000_003 + step)


def adamw(model: nn.Module, weight_decay: float = 0.0) -> torch.optim.Optimizer:
    """Return AdamW for all weights of a model.

    A step of Muon, which trained the pair, takes three times as long.
    """
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
    """Train a model in place, step by step; yield the number and the loss of each step after it.

    Parameters
    ----------
    model : nn.Module
        The learner.
    learners : sequence of optimizers
        They share its weights; a group's `scale`, where it has one, multiplies the rate.
    loss : callable
        The loss of a step, from its number.
    schedule : Schedule
        Steps and rates.
    clip : float
        Largest norm of a step's gradient.
    first : int
        The step to begin with.
    checkpoint : Path, optional
        File that the message on a loss that is not finite names, if it is there.

    Raises
    ------
    ValueError
        A loss that is not finite, with the step; the weights are those before it.
    """
    for step in range(first, schedule.steps):
        value = loss(step)
        if not torch.isfinite(value):
            ending = ""
            if checkpoint and checkpoint.exists():
                ending = f"; {str(checkpoint)!r} keeps an earlier one"
            raise ValueError(f"the loss of step {step} is {value.item()}: training has stopped there{ending}")

        # A step along the clipped gradient, at the rate of the schedule.
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
    show_stage: Callable[[str], None] = silent,
) -> Fitted:
    """Train a model in place, on one thread, and leave it in evaluation mode.

    Parameters
    ----------
    model, loss, schedule, learners, clip
        As for `descend`; by default the optimizers of the bundled pair. Where a run is to go on
        from a checkpoint, the step's number has to decide all that is random in `loss`.
    checkpoint : Path, optional
        File of the unfinished run; a run that is there is carried on, to the same weights.
    settings : dict, optional
        All else that decides the weights: a checkpoint with other settings is refused.
    show_stage : callable
        Called with the loss now and then.

    Returns
    -------
    Fitted
        Losses and seconds, those of earlier sittings included.

    Raises
    ------
    ValueError
        A loss that is not finite, with the step; the last checkpoint stays. A checkpoint of other
        settings, or none.
    KeyboardInterrupt
        After Ctrl-C, once the step has ended and is saved.

    Examples
    --------
    >>> line, x = nn.Linear(1, 1), torch.linspace(-1, 1, 9)[:, None]
    >>> schedule = Schedule(200, 0.05)
    >>> loss = lambda step: (line(x) - 3 * x).square().mean()
    >>> fitted = fit(line, loss, schedule, learners=[adamw(line)])
    >>> round(line.weight.item())
    3
    """
    check.integer(schedule.steps, "steps", 1)
    check.scalar(schedule.rate, "rate", "(0, inf)")

    # A new run, or the unfinished one, whose losses and seconds are `before`.
    learners = learners or optimizers(model, _DECAY)
    all_settings = schedule._asdict() | {"clip": clip} | (settings or {})
    first, before = _resume(checkpoint, model, learners, all_settings)
    losses, began = list(before.losses), time.monotonic()
    model.train()
    # On one thread sums are added in the same order on every machine.
    with on_threads(1), deferred_interrupt() as caught:
        steps = descend(
            model,
            learners,
            loss,
            schedule,
            clip=clip,
            first=first,
            checkpoint=checkpoint,
        )
        for step, value in steps:
            # Show the loss, and record it.
            is_last = step == schedule.steps - 1
            if step % _STEPS_SHOWN == 0 or is_last:
                show_stage(f"step {step + 1} of {schedule.steps}: loss {value:.4f}")
            if step % _STEPS_RECORDED == 0 or is_last:
                losses.append((step, round(value, 4)))

            # Save the state from which the next sitting goes on; `caught` has an entry after Ctrl-C.
            if checkpoint is not None and (caught or (step + 1) % _STEPS_SAVED == 0):
                state = {
                    "settings": all_settings,
                    "step": step + 1,
                    "model": model.state_dict(),
                    "losses": losses,
                    "seconds": before.seconds + time.monotonic() - began,
                    "learners": [learner.state_dict() for learner in learners],
                }
                write_state(checkpoint, state)
            if caught:
                raise KeyboardInterrupt(f"after step {step + 1} of {schedule.steps}")
    model.eval()
    return Fitted(losses, before.seconds + time.monotonic() - began)


def _resume(
    path: Path | None,
    model: nn.Module,
    learners: Sequence[torch.optim.Optimizer],
    settings: dict[str, Any],
) -> tuple[int, Fitted]:
    """Fill model and optimizers from the checkpoint, if there is one; return (next step, losses and seconds so far)."""
    state = None if path is None else read_state(path, settings)
    if state is None:
        return 0, Fitted([], 0.0)
    model.load_state_dict(state["model"])
    for learner, saved in zip(learners, state["learners"], strict=True):
        learner.load_state_dict(saved)
    losses = [(step, loss) for step, loss in state["losses"]]
    return int(state["step"]), Fitted(losses, float(state["seconds"]))
