"""One loop for whatever is trained on images: the bundled pair's optimizers and rates, on one thread."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from real.train.recipe import learning_rate
from real.train.step import on_threads, optimizers

_OFTEN = 50  # steps from one loss that is said to the next


def silent(words: str) -> None:
    """Say nothing."""


def fit(
    model: nn.Module,
    loss: Callable[[int], Tensor],
    *,
    steps: int,
    rate: float,
    warmup: int = 20,
    weight_decay: float = 0.1,
    said: Callable[[str], None] = silent,
) -> None:
    """Train a model in place, and leave it in evaluation mode.

    Parameters
    ----------
    model : nn.Module
        The learner.
    loss : callable
        The loss of a step, from its number.
    steps : int
        How many.
    rate : float
        The highest learning rate.
    warmup : int
        Steps that lead up to it.
    weight_decay : float
        Of the matrices.
    said : callable
        Is told the loss now and then.
    """
    model.train()
    learners = optimizers(model, weight_decay)
    with on_threads(1):  # sums are added in one order wherever they are added
        for step in range(steps):
            value = loss(step)
            value.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            now = learning_rate(step, steps, rate, warmup)
            for learner in learners:
                for group in learner.param_groups:
                    group["lr"] = now * group["scale"]
                learner.step()
                learner.zero_grad()
            if step % _OFTEN == 0 or step == steps - 1:
                said(f"step {step + 1} of {steps}: loss {value.item():.4f}")
    model.eval()
