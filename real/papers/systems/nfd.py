"""Speculative actions of Next-Frame Diffusion: blocks of frames assume that the action stays.

Mechanism.   Frames answer to actions that come from outside. A block is made under the action that is known, and kept
             up to the first frame whose real action differs (`specsim.process.frames`): an action
             is a draft, and nothing judges a frame.
Law.         Exact if and only if a block's frames are made by the sampler that makes them one by one. Here they are
             (`real.papers.models.images.world`): with noise that belongs to a frame's time they are
             equal, not only in law. Frames made jointly, each given the last frame that is known
             and no other of its block, have another law.
Cost.        Four frames that one pass makes take less than four passes: c(n), measured beside c(1) in turns. A frame
             that answers to a changed action is there when its block is: c(n) / c(1) times later
             than it would be.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from real.papers.lab.contract import Lab, Record, Verdict
from real.papers.models.images import world
from real.papers.models.images.data import digits
from real.studies.intervals import Estimate, bootstrap, jackknife, ratio, speedup
from specsim.base.arrays import one_hot
from specsim.process import frames as process
from specsim.types import Array
from specsim.verify.chain import tokenwise

NAME = "NFD"
PAPER = "arXiv:2506.01380"
CLAIM = "Frames made ahead under the action that is held make generation up to 1.26 times faster, and change nothing."
AXES = {
    "drafting": "repetition: of the action that is held",
    "termination": "fixed: a number of frames",
    "management": "chain: one block at a time",
    "verification": "what happens: the real action is compared with the one held, no frame is",
    "acceptance": "same event: the real action is the one held",
    "order": "time",
    "carry": "nothing",
}
TEST = (
    "At a persistence of 0.95 the interval of the best block's speed, kept frames times c(1) / c(n), both measured, "
    "lies above 1, the number of frames being chosen on other texts, while every frame equals the one made alone, 95 % "
    "of them show their action, and the nine kept numbers hold (1 - rho^n) / (1 - rho)."
)
HEADLINE = "speed of the best block, persistence 0.95"
MODELS = ("world",)
PERSISTENCE = (0.5, 0.8, 0.95)
# Frames of a block.
BLOCKS = (1, 2, 3, 4, 5, 6, 7, 8)
SHOWN = (2, 4, 8)
# Actions of a text; the last one's frame is not made.
LENGTH = 121
# Actions of each of three texts whose frames are made both ways.
COMPARED = 61
# Turns of timing over all blocks, for each text.
TURNS = 7


class Kept(NamedTuple):
    """Accepted frames (texts,) and blocks (texts,), without blocks that the end cut short."""

    frames: Array
    blocks: Array


def held_keys(texts: int, persistence: float, seed: int, actions: int = LENGTH) -> Array:
    """Actions (texts, actions): each stays with this probability, or becomes one of the other three."""
    rng = np.random.default_rng([seed, round(1000 * persistence)])
    changes = (rng.random((texts, actions)) >= persistence) * rng.integers(1, world.ACTIONS, (texts, actions))
    changes[:, 0] = rng.integers(world.ACTIONS, size=texts)
    return changes.cumsum(axis=1) % world.ACTIONS


def passes(actions: Array, frames: int) -> Iterator[tuple[process.State, process.State]]:
    """The process before and after each of its blocks: its rows are point masses at the actions (texts, N)."""
    texts, length = actions.shape
    state = process.start(length, texts, frames=frames)
    # With point masses uniforms do not matter.
    u = np.full((texts, process.uniforms(state, tokenwise)), 0.5)
    while (state.filled < length).any():
        real = np.take_along_axis(actions, process.ask(state).places, axis=1)
        rows = one_hot(real, np.zeros((*real.shape, world.ACTIONS)))
        after = process.advance(state, rows, tokenwise, u)
        yield state, after
        state = after


def kept(actions: Array, frames: int) -> Kept:
    """Accepted frames and blocks of each text."""
    sums = np.zeros((2, len(actions)))
    for state, after in passes(actions, frames):
        whole = (state.filled > 0) & (state.filled <= actions.shape[1] - frames)
        sums += whole * np.stack([after.filled - state.filled, np.ones(len(actions))])
    return Kept(*sums)


def one_by_one(model: world.Denoiser, first: Tensor, actions: Array, seed: int, text: int) -> Tensor:
    """The frames of one text (N - 1, 4 steps, 16, 16): each made alone under its action."""
    before, made = world.opened(first), []
    for now, action in enumerate(actions[:-1]):
        before = world.block(model, before, int(action), world.noise(seed, text, now)[None])[0]
        made.append(before)
    return torch.stack(made)


def in_blocks(model: world.Denoiser, first: Tensor, actions: Array, frames: int, seed: int, text: int) -> Tensor:
    """The frames of one text, made in blocks under the held action and accepted by the process."""
    before, made = world.opened(first), []
    for state, after in passes(actions[None], frames):
        # The frame of the last known action.
        now = int(state.filled[0]) - 1
        if now < 0:
            continue
        noise = torch.stack([world.noise(seed, text, t) for t in range(now, min(now + frames, len(actions) - 1))])
        ahead = world.block(model, before, int(state.text[0, now]), noise)
        ahead = ahead[: int(after.filled[0] - state.filled[0])]
        made.append(ahead)
        before = ahead[-1]
    return torch.cat(made)


def answering(frames: Tensor, first: Tensor, actions: Array) -> Array:
    """Whether each frame (N - 1, 16, 16) is nearest to the frame before it moved by its own action."""
    before = torch.cat([first[None], frames[:-1]])
    apart = [((frames - world.moved(before, action)) ** 2).sum((-2, -1)) for action in range(world.ACTIONS)]
    is_nearest: Array = torch.stack(apart).argmin(0).numpy() == actions[:-1]
    return is_nearest


def alike(images: Tensor) -> int:
    """The number of images that two actions move alike: their frames do not show the action."""
    frames = world.placed(images, torch.zeros(len(images), 2, dtype=torch.int64))
    after = [world.moved(frames, action) for action in range(world.ACTIONS)]
    same = [(a == b).all(-1).all(-1) for i, a in enumerate(after) for b in after[:i]]
    return int(torch.stack(same).any(0).sum())


def joint_bias(kernel: Sequence[Sequence[Fraction]], first: int = 0) -> Fraction:
    """TV between two frames of a Markov world made one by one, and made jointly, each given the last known only."""
    states = range(len(kernel))
    second = [sum(kernel[first][m] * kernel[m][s] for m in states) for s in states]
    pairs = [(kernel[first][a], kernel[a][b], second[b]) for a in states for b in states]
    return sum((abs(p * real - p * jointly) for p, real, jointly in pairs), Fraction(0)) / 2


def seconds(model: world.Denoiser, firsts: Tensor, seed: int, turns: int = TURNS) -> Mapping[int, Array]:
    """Seconds (texts,) of a block of each length: the median over turns, in which all lengths alternate."""
    times = np.zeros((len(firsts), len(BLOCKS), turns))
    for text, first in enumerate(firsts):
        before = world.opened(first)
        noise = torch.stack([world.noise(seed, text, now) for now in range(max(BLOCKS))])
        for turn in range(turns):
            for i, frames in enumerate(BLOCKS):
                began = time.perf_counter()
                world.block(model, before, turn % world.ACTIONS, noise[:frames])
                times[text, i, turn] = time.perf_counter() - began
    return dict(zip(BLOCKS, np.median(times, axis=-1).T, strict=True))


def best(all_kept: Mapping[int, Kept], cost: Mapping[int, Array]) -> tuple[int, Estimate]:
    """The number of frames that is fastest on every second text, and its speed on the others."""
    speeds = {
        frames: [speedup(*(data[half::2] for data in (*all_kept[frames], cost[1], cost[frames]))) for half in (0, 1)]
        for frames in BLOCKS
    }
    chosen = max(BLOCKS, key=lambda frames: speeds[frames][0].value)
    return chosen, speeds[chosen][1]


def run(lab: Lab) -> Record:
    """Frames of both kinds compared, accepted frames counted, blocks timed."""
    # First frames, and exact numbers.
    model, texts = world.model(), lab.texts(60)
    firsts = world.placed(
        digits().held_out().images[:texts],
        torch.from_numpy(np.random.default_rng(lab.seed).integers(16, size=(texts, 2))),
    )
    kernel = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 5), Fraction(4, 5)]]
    exact: dict[str, float] = {
        "bias of two frames made jointly": float(joint_bias(kernel)),
        "digits that two actions move alike": alike(digits().images),
        "frames compared": 0,
        "frames unlike those made alone": 0,
    }

    # Times.
    measured: dict[str, Estimate] = {}
    lab.said("time of blocks")
    cost = seconds(model, firsts, lab.seed)
    for frames in SHOWN:
        measured[f"delay after a changed action, {frames} frames"] = bootstrap(
            (cost[frames], cost[1]), lambda block, alone: np.median(block, -1) / np.median(alone, -1)
        )
    for rho in PERSISTENCE:
        lab.said(f"frames under keys held with persistence {rho}")
        actions = held_keys(texts, rho, lab.seed)

        # Frames in blocks are those that are made alone.
        answers = []
        for text in range(lab.texts(3, 2)):
            real = actions[text, :COMPARED]
            alone = one_by_one(model, firsts[text], real, lab.seed, text)
            answers.append(answering(alone[:, -1], firsts[text], real))
            for frames in BLOCKS:
                ahead = in_blocks(model, firsts[text], real, frames, lab.seed, text)
                exact["frames compared"] += len(alone)
                exact["frames unlike those made alone"] += int((ahead != alone).flatten(1).any(1).sum())
        shown = np.array(answers)
        measured[f"frames that show their action, persistence {rho}"] = ratio(
            shown.sum(1), np.full(len(shown), shown.shape[1])
        )

        # Accepted frames, beside their formula, and speeds.
        all_kept = {frames: kept(actions, frames) for frames in BLOCKS}
        for frames in SHOWN:
            here, label = all_kept[frames], f"{frames} frames, persistence {rho}"
            exact[f"kept by the formula, {label}"] = (1 - rho**frames) / (1 - rho)
            measured[f"kept, {label} (all nine at 95 %)"] = jackknife(
                here, lambda a, b: a / b, level=1 - 0.05 / (len(SHOWN) * len(PERSISTENCE))
            )
            measured[f"discarded, {label}"] = ratio(here.blocks * frames - here.frames, here.blocks * frames)
            measured[f"speed, {label}"] = speedup(*here, cost[1], cost[frames])
        number, speed = best(all_kept, cost)
        measured[f"frames of the best block, persistence {rho}"] = Estimate(number, number, number)
        measured[f"speed of the best block, persistence {rho}"] = speed
    return Record(exact, measured, {})


def verdict(record: Record) -> Verdict:
    """Whether the best block is faster, and frames and accepted numbers are the expected ones."""
    speed, equal = record.measured[HEADLINE], record.exact["frames unlike those made alone"] == 0
    labels = [f"{frames} frames, persistence {rho}" for frames in SHOWN for rho in PERSISTENCE]
    kept_holds = all(
        (interval := record.measured[f"kept, {label} (all nine at 95 %)"]).low
        <= record.exact[f"kept by the formula, {label}"]
        <= interval.high
        for label in labels
    )
    if not equal or speed.high < 1:
        return "contradicts"
    actions_show = record.exact["digits that two actions move alike"] == 0 and all(
        record.measured[f"frames that show their action, persistence {rho}"].value >= 0.95 for rho in PERSISTENCE
    )
    return "shows" if speed.low > 1 and kept_holds and actions_show else "does not show"
