"""Forced acceptance: the loop is timed under a chosen law of the accepted length.

With random weights of any shape this checks the *time* half of a prediction; its acceptance half is
exact here, since the law is given. Texts are not the target's: nothing but time is measured.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from array_api_compat import array_namespace
from torch import Tensor

from real.decode.clock import synchronize
from real.decode.loop import Loop, Uniforms, keyed
from real.decode.options import DecodeOptions
from real.decode.warp import Warping
from real.models.model import LanguageModel
from real.studies.calibrate import Calibration
from real.studies.costs import Costs
from specsim.base import check as _check
from specsim.lengths.blocks import block_efficiency
from specsim.types import Array
from specsim.verify.chain import tokenwise

# Multiples of the golden ratio, modulo 1, fill the unit interval evenly.
_GOLDEN = (5**0.5 - 1) / 2


class Forced(NamedTuple):
    """A verifier that accepts n drafts, P(n >= i) = alpha_1 ... alpha_i, at tokenwise's cost.

    Parameters
    ----------
    alpha : tuple of float
        Hazards, at least as many as drafts in a block.
    """

    alpha: tuple[float, ...]

    def prepare(self, p: Array, q: Array) -> tokenwise.Plan:
        """Return tokenwise's plan."""
        return tokenwise.prepare(p, q)

    def uniforms(self, gamma: int) -> int:
        """Return tokenwise's number of uniforms and one more: the last decides how many drafts are accepted."""
        return tokenwise.uniforms(gamma) + 1

    def verify(self, plan: Any, drafts: Array, u: Array) -> tuple[Array, Array]:
        """Return numbers of accepted drafts (b,), and tokenwise's tokens (b,)."""
        _, token = tokenwise.verify(plan, drafts, u[..., :-1])
        # A sum over no drafts: zeros of the right shape, type and device.
        xp, num_accepted = array_namespace(u), drafts[..., :0].sum(-1)
        # Add 1 for each i with u < P(n >= i). Survivals are plain numbers, since a CUDA graph may
        # capture this.
        last_uniform = u[..., -1]
        for survival in np.cumprod(self.alpha[: drafts.shape[-1]]).tolist():
            num_accepted = num_accepted + xp.astype(last_uniform < survival, num_accepted.dtype)
        return num_accepted, token


def even(sequence: int) -> Uniforms:
    """Return uniforms whose last number runs evenly through [0, 1), block by block.

    So the measured tau comes near its law within few blocks.
    """
    block_number, random_uniforms = itertools.count(1), keyed(0, sequence)

    def draw(position: int, size: int) -> Tensor:
        """Return uniforms of a block: random ones, and the next point of the even sequence."""
        u = random_uniforms(position, size)
        u[-1] = (next(block_number) * _GOLDEN + sequence * _GOLDEN**2) % 1
        return u

    return draw


@dataclass(frozen=True)
class Timing:
    """One gamma under a forced law: tau and seconds a cycle, predicted and measured."""

    gamma: int
    tau_predicted: float
    tau_measured: float
    cycle_s_predicted: float
    cycle_s_measured: float
    plain_s_predicted: float
    plain_s_measured: float
    cycles: int

    @property
    def speedup_predicted(self) -> float:
        """Return the predicted speedup: tau over the cost of a cycle in plain steps."""
        return self.tau_predicted * self.plain_s_predicted / self.cycle_s_predicted

    @property
    def speedup_measured(self) -> float:
        """Return the measured speedup: tokens a second over those of plain decoding, run in turn; medians of turns."""
        return self.tau_measured * self.plain_s_measured / self.cycle_s_measured

    @property
    def error(self) -> float:
        """Return the error of the prediction: predicted over measured speedup, less 1."""
        return self.speedup_predicted / self.speedup_measured - 1


def measure(
    target: LanguageModel,
    draft: LanguageModel,
    *,
    batch: int,
    context: int,
    alpha: Sequence[float],
    gammas: Sequence[int],
    calibrated: Sequence[int] = (1, 2, 3),
    turns: int = 8,
    cycles: int = 5,
    step: Callable[[str], None] = lambda stage: None,
    fixed: bool | None = None,
) -> Iterator[Costs | Timing]:
    """Predict each gamma's cycle from a few short lengths; time it in turn with plain decoding.

    Calibration, plain decoding and every gamma take turns, so that a machine that slows down slows
    all of them.

    Parameters
    ----------
    target, draft : LanguageModel
        Of one vocabulary; their weights may be random.
    batch : int
        Texts at a time; each keeps its own number of drafts.
    context : int
        Tokens before the middle of the measurement.
    alpha : sequence of float
        Hazards of the forced law.
    gammas : sequence of int
        Lengths to predict and measure, up to len(alpha).
    calibrated : sequence of int
        Lengths whose phases are timed in advance.
    turns, cycles : int
        Turns of each loop, and blocks in a turn.
    step : callable
        Told the stage, once a turn; there is one more turn, to warm up.
    fixed : bool, optional
        As in `real.decode.loop.decode_batch`.

    Yields
    ------
    Costs, Timing
        The calibration, then a Timing for each gamma.

    Raises
    ------
    ValueError
        A hazard outside [0, 1], too few of them, or a text that would not fit a context.
    """
    # Refuse what cannot be run.
    longest = check(target, draft, batch, context, gammas, turns, cycles)
    hazards = [float(a) for a in _check.real_values(list(alpha), "alpha", 0, 1)]
    longest_gamma = max([*gammas, *calibrated])
    if longest_gamma > len(hazards):
        raise ValueError(f"alpha has {len(hazards)} entries; gamma {longest_gamma} needs as many")

    # Random texts. Their lengths differ, as in any batch whose texts were not begun together.
    rule, warping = Forced(tuple(hazards)), Warping()
    rng = np.random.default_rng(0)
    texts = [rng.integers(target.vocab_size, size=context - i).tolist() for i in range(batch)]
    calibration = Calibration(
        target,
        draft,
        texts,
        warping=warping,
        rule=rule,
        gammas=calibrated,
        fixed=fixed,
        max_tokens=longest,
    )

    # A loop for each gamma. Its texts begin shorter by half of what they will grow, so that they
    # have the wanted length in the middle of the measurement.
    tau = {g: float(block_efficiency(hazards[:g])) if g else 1.0 for g in (0, *gammas)}
    half_growth = {g: int(turns * cycles * tau[g] / 2) for g in tau}
    begun = {g: [text[: max(len(text) - half_growth[g], 2)] for text in texts] for g in tau}
    uniforms = [even(i) for i in range(batch)]
    options = DecodeOptions(0, warping=warping, rule=rule, fixed=fixed)
    loops = {
        g: Loop(
            target,
            draft if g else None,
            begun[g],
            longest,
            uniforms,
            options._replace(gamma=g),
        )
        for g in tau
    }

    # All gammas take turns, in this order and in the other one.
    seconds: dict[int, list[float]] = {g: [] for g in tau}
    for turn in range(turns + 1):
        step(f"turn {turn} of {turns}")
        for g in tau if turn % 2 else reversed(tau):
            seconds[g].append(_turn(loops[g], g, cycles, target.device))
        calibration.sample()
    costs = calibration.costs()
    yield costs

    # Tokens a block, and seconds a cycle; the first turn warmed up.
    cycle = {g: float(np.median(seconds[g][1:])) for g in tau}
    for g in gammas:
        pairs = zip(loops[g].texts, begun[g], strict=True)
        num_tokens = sum(len(text) - len(start) for text, start in pairs)
        num_blocks = sum(len(blocks) for blocks in loops[g].blocks)
        yield Timing(
            gamma=g,
            tau_predicted=tau[g],
            tau_measured=num_tokens / num_blocks,
            cycle_s_predicted=costs.cycle(g),
            cycle_s_measured=cycle[g],
            plain_s_predicted=costs.cycle(0),
            plain_s_measured=cycle[0],
            cycles=num_blocks,
        )


def check(
    target: LanguageModel,
    draft: LanguageModel,
    batch: int,
    context: int,
    gammas: Sequence[int],
    turns: int = 8,
    cycles: int = 5,
) -> int:
    """Return the tokens that a text may grow by; ValueError where `measure` could not run."""
    # One more turn than is measured, each block with as many tokens as it can have, and one token.
    _check.integer(batch, "batch", 1)
    longest = (turns + 1) * cycles * (max(gammas) + 1) + 1
    limit = min(target.context, draft.context)
    if context <= batch:
        raise ValueError(f"context {context} must be more than batch {batch}: texts of a batch differ in length")
    if context + longest > limit:
        raise ValueError(f"context {context}: texts may grow to {context + longest} positions, the models hold {limit}")
    return longest


def _turn(loop: Loop, gamma: int, cycles: int, device: torch.device) -> float:
    """Return the mean seconds of a cycle of the whole batch, over `cycles` cycles.

    A cycle drafts and verifies a block of `gamma` drafts for every text, and appends what was accepted.
    """
    group = list(range(len(loop.texts)))
    synchronize(device)
    began = time.perf_counter()
    for _ in range(cycles):
        for i, new in zip(group, loop.block(group, gamma), strict=True):
            loop.keep(i, new, gamma, lambda text, safe: None)
    synchronize(device)
    return (time.perf_counter() - began) / cycles
