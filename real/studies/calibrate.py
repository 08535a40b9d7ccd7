"""The cost of each part of a cycle on this machine, quickly measured: the time in a prediction.

The decode loop itself runs a few blocks from one fixed text for each length that is timed, gamma =
0 among them, and a clock splits them: one decode step, t(m) at several m, one draft step, one call
of the rule, and what the host does. No acceptance enters. Lengths that are not timed are predicted
along straight lines that do not fall; the measured curve itself may, since a pass over one or two
tokens can be the slow case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from real.decode.chain_cycle import Verifier
from real.decode.clock import PHASES, Clock, silent
from real.decode.loop import Loop, keyed
from real.decode.options import DecodeOptions
from real.decode.tree_plan import TreeVerifier
from real.decode.warp import Warping
from real.models.model import LanguageModel
from real.studies.costs import Costs, Visit, costs_of
from specsim.base import check
from specsim.verify.raced import Raced

# Measurements of a bandwidth that are dropped before those that count.
_WARM_UP = 2
# Blocks that count in a visit. One before them does not count: it finds the processor's caches as
# another length left them.
PASSES = 3


class Calibration:
    """Times the phases of a decode cycle after fixed texts, a visit at a time.

    Visits made in between other measurements see the machine as those do, whatever else it is
    doing.

    Parameters
    ----------
    target, draft : LanguageModel
        The two models.
    texts : sequence of lists of int
        A batch of texts, of the lengths to be timed at.
    warping : Warping
        As in decoding.
    rule : Verifier or TreeVerifier
        As in decoding.
    gammas : sequence of int
        Speculation lengths, or levels of a tree, to time, at least 1 each; 0 is added.
    fixed : bool, optional
        As in decoding. Fixed shapes have no phases but "host" and the rest, which counts as
        "verify".
    max_tokens : int, optional
        Tokens that the texts of the decoding to be predicted may grow by: fixed shapes are sized
        for them.

    Raises
    ------
    ValueError
        No gammas, a gamma below 1, or texts with no room for a block.
    """

    def __init__(
        self,
        target: LanguageModel,
        draft: LanguageModel,
        texts: Sequence[list[int]],
        *,
        warping: Warping,
        rule: Verifier | TreeVerifier | Raced,
        gammas: Sequence[int],
        fixed: bool | None = None,
        max_tokens: int | None = None,
    ) -> None:
        lengths = [0, *sorted({check.integer(g, "gammas", 1) for g in gammas})]
        if len(lengths) == 1:
            raise ValueError("gammas is empty: give at least one speculation length to time")

        # A loop over the texts for each length, and a clock.
        self._clock = Clock(target.device)
        # On a GPU a mark waits for the device, which the decoding to be predicted does not do:
        # there a cycle is timed as a whole.
        mark = silent if target.device.type == "cuda" else self._clock.mark
        room = max(lengths) + 1 if max_tokens is None else max_tokens
        uniforms = [keyed(0, i) for i in range(len(texts))]
        options = DecodeOptions(0, warping=warping, rule=rule, mark=mark, fixed=fixed)
        self._loops = {
            g: Loop(target, draft if g else None, texts, room, uniforms, options._replace(gamma=g)) for g in lengths
        }

        # One visit of each length warms up, and does not count.
        self._visits: dict[int, list[Visit]] = {g: [] for g in lengths}
        for gamma in lengths:
            self.visit(gamma)

    def visit(self, gamma: int) -> Visit:
        """Run some blocks of one length.

        Parameters
        ----------
        gamma : int
            One of the lengths, or 0.

        Returns
        -------
        list of list of float
            Seconds by phase, of each block but the first: shape (`PASSES`, phases). `costs_of`
            takes them together.
        """
        loop, blocks = self._loops[gamma], []
        for _ in range(1 + PASSES):
            self._clock.seconds.clear()
            self._clock.mark("")
            again(loop, gamma)
            self._clock.mark("host" if self._clock.seconds else "verify")
            blocks.append([self._clock.seconds[name] for name in PHASES])
        return blocks[1:]

    def sample(self) -> None:
        """Visit each length, and remember the seconds."""
        for gamma, visits in self._visits.items():
            visits.append(self.visit(gamma))

    def costs(self) -> Costs:
        """Put the samples so far together; there must be one at least.

        Returns
        -------
        Costs
            By phase and length.
        """
        return costs_of(self._visits)


def calibrate(
    target: LanguageModel,
    draft: LanguageModel,
    texts: Sequence[list[int]],
    *,
    warping: Warping,
    rule: Verifier,
    gammas: Sequence[int],
    repeats: int = 15,
    fixed: bool | None = None,
) -> Costs:
    """Time the phases of a decode cycle now: `repeats` visits of each length by a `Calibration`.

    Parameters
    ----------
    target, draft, texts, warping, rule, gammas, fixed
        As for `Calibration`.
    repeats : int
        Visits of each length, of `PASSES` blocks; two more are made and dropped.

    Returns
    -------
    Costs
        Typical times.

    Raises
    ------
    ValueError
        As `Calibration`.
    """
    # Texts are visited `repeats` times at each length.
    calibration = Calibration(
        target,
        draft,
        texts,
        warping=warping,
        rule=rule,
        gammas=gammas,
        fixed=fixed,
    )
    for _ in range(check.integer(repeats, "repeats", 1)):
        calibration.sample()
    return calibration.costs()


def again(loop: Loop, length: int) -> None:
    """Run one block of every text, then take it back."""
    group = list(range(len(loop.texts)))
    lengths_before = [len(text) for text in loop.texts]
    for i, new in zip(group, loop.block(group, length), strict=True):
        loop.keep(i, new, length, lambda text, safe: None)
        del loop.texts[i][lengths_before[i] :]
        loop.blocks[i].clear()
    loop.rewind(lengths_before)


def copy_bandwidth(device: torch.device, *, size: int = 1 << 28, repeats: int = 7) -> float:
    """Return bytes a second that a copy moves, read and written bytes both counted; median.

    Parameters
    ----------
    device : torch.device
        Where.
    size : int
        Bytes copied.
    repeats : int
        Measurements.

    Returns
    -------
    float
        What memory can do here in both directions.
    """
    source = torch.ones(size // 4, dtype=torch.float32, device=device)
    destination = torch.empty_like(source)
    return 2 * size / _median_seconds(device, lambda: destination.copy_(source), repeats)


def read_bandwidth(device: torch.device, *, size: int = 1 << 28, repeats: int = 7) -> float:
    """Return bytes a second that a sum reads; median. Parameters are those of `copy_bandwidth`.

    A decode step reads its weights and writes next to nothing, so this is what to compare it with.
    """
    source = torch.ones(size // 4, dtype=torch.float32, device=device)
    return size / _median_seconds(device, source.sum, repeats)


def _median_seconds(device: torch.device, call: Callable[[], Any], repeats: int) -> float:
    """Return the median seconds of a call, over `repeats` calls after some that warm up."""
    clock, seconds = Clock(device), []
    for _ in range(repeats + _WARM_UP):
        clock.seconds.clear()
        clock.mark("")
        call()
        clock.mark("call")
        seconds.append(clock.seconds["call"])
    return float(np.median(seconds[_WARM_UP:]))
