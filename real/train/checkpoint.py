"""Training runs that can be stopped: their saved state, and Ctrl-C that waits for a step's end."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from real.train.corpus import Corpus
from real.train.recipe import Recipe
from real.train.step import optimizers

STAGES = ("draft", "target", "write", "distil")


@dataclass
class Run:
    """The state of a pair's run: the models, the place in the stages, and what the target wrote."""

    target: Any
    draft: Any
    stage: int = 0
    step: int = 0
    optimizers: list[torch.optim.Optimizer] = field(default_factory=list)
    written: list[Tensor] = field(default_factory=list)


def fingerprint(recipe: Recipe, corpus: Corpus) -> dict[str, Any]:
    """Return every setting that a checkpoint depends on: name -> value, fields of records as "draft.layers"."""
    flat: dict[str, Any] = {"corpus_sha256": corpus.sha256}
    for name, value in asdict(recipe).items():
        if isinstance(value, dict):
            flat |= {f"{name}.{key}": entry for key, entry in value.items()}
        else:
            flat[name] = value
    return flat


def save(path: Path, run: Run, settings: dict[str, Any], seconds: float) -> None:
    """Write the checkpoint of a pair's run."""
    state = {
        "settings": settings,
        "seconds": seconds,
        "stage": run.stage,
        "step": run.step,
        "target": run.target.state_dict(),
        "draft": run.draft.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in run.optimizers],
        "written": run.written,
    }
    write_state(path, state)


def load(path: Path, run: Run, recipe: Recipe, settings: dict[str, Any]) -> float:
    """Fill the run from the checkpoint, if there is one; return the seconds it had taken."""
    state = read_state(path, settings, "out: ")
    if state is None:
        return 0.0

    # The models, the place in the stages, and the optimizers of the model that was being trained.
    run.target.load_state_dict(state["target"])
    run.draft.load_state_dict(state["draft"])
    run.stage, run.step, run.written = state["stage"], state["step"], state["written"]
    if state["optimizers"]:
        model = run.target if STAGES[run.stage] == "target" else run.draft
        run.optimizers = optimizers(model, recipe.weight_decay)
        for optimizer, saved in zip(run.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
    return float(state["seconds"])


def write_state(path: Path, state: dict[str, Any]) -> None:
    """Write the state of a run to a file; a power cut leaves the old file or the new one, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def read_state(path: Path, settings: dict[str, Any], argument: str = "") -> dict[str, Any] | None:
    """Return the state of an unfinished run with these settings; None where there is no file.

    Raises
    ------
    ValueError
        The file is no checkpoint (`argument` stands before its name), or the run in it has other
        settings.
    """
    if not path.exists():
        return None
    try:
        state: dict[str, Any] = torch.load(path, weights_only=True)
        old = state["settings"]
    except (RuntimeError, EOFError, KeyError, TypeError, pickle.UnpicklingError) as error:
        raise ValueError(f"{argument}{str(path)!r} is not a checkpoint; remove it to start afresh") from error
    for name in settings.keys() | old.keys():
        if settings.get(name) != old.get(name):
            raise ValueError(
                f"{name}={settings.get(name)!r}, but the unfinished run in {str(path)!r} has "
                f"{name}={old.get(name)!r}; use its settings or remove the file"
            )
    return state


@contextmanager
def deferred_interrupt() -> Iterator[list[int]]:
    """Yield a list that gets an entry at the first Ctrl-C, so that a step can end before the run does.

    A second Ctrl-C acts at once.
    """
    caught: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread may set handlers.
        yield caught
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: object) -> None:
        """Collect a Ctrl-C, and let the next one act as before."""
        caught.append(number)
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield caught
    finally:
        signal.signal(signal.SIGINT, before)
