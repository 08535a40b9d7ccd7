"""The generators that all programs of a process share: NumPy's old one, Python's, and torch's if it was imported."""

from __future__ import annotations

import random
import sys
from typing import Any, NamedTuple

import numpy as np


class States(NamedTuple):
    """The state of each generator."""

    numpy: Any
    python: Any
    torch: Any


def states() -> States:
    """Return the state that each generator has now."""
    torch = sys.modules.get("torch")
    torch_state = torch.get_rng_state() if torch is not None else None
    return States(np.random.get_state(), random.getstate(), torch_state)  # noqa: NPY002 - what programs call


def seed(number: int) -> None:
    """Seed all of them alike."""
    torch = sys.modules.get("torch")
    np.random.seed(number)  # noqa: NPY002
    random.seed(number)
    if torch is not None:
        torch.manual_seed(number)


def restore(before: States) -> None:
    """Set the generators back to states that they had before."""
    np.random.set_state(before.numpy)  # noqa: NPY002
    random.setstate(before.python)
    if before.torch is not None:
        sys.modules["torch"].set_rng_state(before.torch)


def alike(before: States, after: States) -> bool:
    """Return whether nothing was drawn, and torch not imported, between two moments."""
    if before.torch is None or after.torch is None:
        same = before.torch is after.torch
    else:
        same = bool((before.torch == after.torch).all())
    return same and before.python == after.python and _plain(before.numpy) == _plain(after.numpy)


def _plain(state: Any) -> tuple[Any, ...]:
    """Return the state of NumPy's generator as values that can be compared."""
    name, keys, *rest = state
    return name, keys.tobytes(), *rest
