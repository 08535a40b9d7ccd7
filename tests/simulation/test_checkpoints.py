"""A checkpoint that was changed is refused in one line: no wrong table, and no traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specsim import simulate

P, Q = [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]
RUN: dict[str, Any] = {"rule": "block", "gamma": 2, "blocks": 4000, "sequences": 1000}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda held: {"settings": np.array("[" * 100_000)}, "its settings is nested too deep"),
        (lambda held: {"sequences": np.zeros_like(held["sequences"])}, "it holds a sequence twice"),
        (lambda held: {"kept": held["kept"] - 9}, "its kept are no whole numbers from 0 on"),
        (lambda held: {"kept": held["kept"] * np.nan}, "its kept are no whole numbers from 0 on"),
        (lambda held: {"kept": held["kept"][:, :2]}, "blocks kept something, 4000 were started"),
        (lambda held: {"kept": np.pad(held["kept"], ((0, 0), (0, 1)))}, r"blocks that kept 0\.\.3 drafts, not 0\.\.2"),
        (
            lambda held: {"kept": held["kept"] * 2, "starts": held["starts"] * 2},
            "has 8 blocks of sequence 0; all have 4",
        ),
        (lambda held: {"starts": held["starts"][None]}, "its starts are no whole numbers"),
        (lambda held: {"states": held["states"][:0]}, "different numbers of contexts"),
        (lambda held: {"seconds": np.array(np.inf)}, "its seconds are inf"),
    ],
)
def test_checkpoints_that_were_changed_are_refused(
    change: Callable[[dict[str, Any]], dict[str, Any]], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.npz"
    simulate(P, Q, checkpoint=path, **RUN)
    with np.load(path) as file:
        held = dict(file)
    np.savez(path, **held | change(held))
    with pytest.raises(ValueError, match=words):
        simulate(P, Q, checkpoint=path, **RUN)
