"""The options of a decode loop: one record, made once by `decode_batch` and passed down to the cycles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from real.decode.clock import silent
from real.decode.proposer import Drafter, Draw
from real.decode.warping import Warping
from real.signals import BlockSignals
from specsim.base.arrays import pick
from specsim.types import Controller
from specsim.verify.chain import tokenwise

# Receives the index of a text and the signals of its block.
Log = Callable[[int, BlockSignals], None]


class DecodeOptions(NamedTuple):
    """The options of a decode loop; `real.decode.loop.decode_batch` describes each.

    rule is a chain rule, a coupled rule (Raced), a TreeVerifier or a BeamVerifier; kept is a `real.decode.graphs.Kept`.
    """

    gamma: int
    warping: Warping = Warping()
    rule: Any = tokenwise
    draw: Draw = pick
    mark: Callable[[str], None] = silent
    fixed: bool | None = None
    kept: Any = None
    proposer: Drafter | None = None
    controller: Controller | None = None
    log: Log | None = None
