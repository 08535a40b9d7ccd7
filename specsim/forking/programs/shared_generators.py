"""The generators that every program of a process shares: NumPy's old one, Python's, and torch's if it was imported."""

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


def restore(held: States) -> None:
    """Go on from what was held."""
    np.random.set_state(held.numpy)  # noqa: NPY002
    random.setstate(held.python)
    if held.torch is not None:
        sys.modules["torch"].set_rng_state(held.torch)


def alike(one: States, other: States) -> bool:
    """Return whether nothing was drawn, and torch not imported, between two moments."""
    if one.torch is None or other.torch is None:
        same = one.torch is other.torch
    else:
        same = bool((one.torch == other.torch).all())
    return same and one.python == other.python and _plain(one.numpy) == _plain(other.numpy)


def _plain(state: Any) -> tuple[Any, ...]:
    name, keys, *rest = state
    return name, keys.tobytes(), *rest
