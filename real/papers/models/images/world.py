"""A small world that answers to actions: each of four moves a digit on a 16x16 torus one pixel.

On a torus every action moves every digit, and no two move it alike: a frame and the one before it
tell the action.

A network makes a frame in four steps. Each sees what was made of the frame so far and the *frame
before as the same step left it*. So the first step can begin on a frame as soon as it is done with
the frame before, while the others are still at work there: the frames of a block are made along its
diagonals, n frames in n + 3 passes. Made one by one, they take four passes each, and are the same
frames to the last bit. Were each step to see the frame before as the *last* one left it, nothing
could be made at once; were it to see the last frame that is known, the law would be another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from real.papers.models import store
from real.papers.models.images.data import LEVELS, SIDE, digits
from real.train.loop import Schedule, fit, silent

UNIT = "squared error a pixel"
# Pixels a side.
FRAME = 16
STEPS = 4
ACTIONS = 4
# Rows down and columns right, of each action.
MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1))
# Deviation of the noise before each step; the first step sees nothing else of its frame.
NOISE = (1.0, 0.5, 0.25, 0.1)
# Deviation of the noise in training on the first frame that a step goes on from.
BLUR = 0.05
RECIPES: dict[str, dict[str, Any]] = {
    "world": {
        "width": 16,
        "steps": 400,
        "batch": 24,
        "rate": 6e-3,
        "seed": 0,
        "ahead": 8,
        "blur": BLUR,
        "noise": list(NOISE),
    }
}


class Denoiser(nn.Module):
    """A network that guesses a frame from a step's start, the frame before and the action."""

    def __init__(self, width: int) -> None:
        super().__init__()

        def convolution(before: int, after: int) -> nn.Conv2d:
            """A convolution on a frame whose opposite sides touch."""
            return nn.Conv2d(before, after, 3, padding=1, padding_mode="circular")

        self.embed_action, self.embed_step = nn.Embedding(ACTIONS, width), nn.Embedding(STEPS, width)
        self.first, self.last = convolution(2, width), convolution(width, 1)
        self.inner = nn.ModuleList(convolution(width, width) for _ in range(2))

    def forward(self, start: Tensor, before: Tensor, actions: Tensor, steps: Tensor) -> Tensor:
        """Frames (n, 16, 16), from starts and frames before of the same shape, actions (n,) and steps (n,)."""
        embedded = self.embed_action(actions) + self.embed_step(steps)
        inside = self.first(torch.stack([start, before], 1)) + embedded[..., None, None]
        for convolution in self.inner:
            inside = inside + F.silu(convolution(F.silu(inside)))
        guess: Tensor = self.last(F.silu(inside))
        return guess[:, 0]


def placed(images: Tensor, corners: Tensor) -> Tensor:
    """Grey levels (n, 64) on empty frames (n, 16, 16), their upper left corner at (n, 2)."""
    frames = torch.zeros(len(images), FRAME, FRAME)
    frames[:, :SIDE, :SIDE] = images.view(-1, SIDE, SIDE) / LEVELS
    pairs = zip(frames, corners, strict=True)
    return torch.stack([torch.roll(f, tuple(corner.tolist()), (0, 1)) for f, corner in pairs])


def moved(frames: Tensor, action: int) -> Tensor:
    """Frames (..., 16, 16) moved by an action, as the world itself moves them."""
    return torch.roll(frames, MOVES[action], (-2, -1))


def noise(seed: int, text: int, time: int) -> Tensor:
    """The noise of a frame (4 steps, 16, 16), which depends on its time and not on its block."""
    drawn = np.random.default_rng([seed, text, time])
    return torch.from_numpy(drawn.standard_normal((STEPS, FRAME, FRAME), dtype=np.float32))


def opened(frame: Tensor) -> Tensor:
    """A given frame (16, 16) as the result of every step, (4, 16, 16)."""
    return frame.expand(STEPS, FRAME, FRAME).clone()


@contextmanager
def frame_by_frame() -> Iterator[None]:
    """Compute convolutions of a batch as those of each frame alone.

    oneDNN adds in another order for another size of batch.
    """
    before = torch.backends.mkldnn.set_flags(False, _fp32_precision=None)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        torch.backends.mkldnn.set_flags(before[0], _fp32_precision=None)  # type: ignore[no-untyped-call]


def block(model: Denoiser, before: Tensor, action: int, noises: Tensor) -> Tensor:
    """Frames under one action, made along diagonals; one frame is a block of one.

    Parameters
    ----------
    model : Denoiser
        The network.
    before : Tensor, shape (4 steps, 16, 16)
        The frame before them, as each step left it.
    action : int
        Action under which they are made.
    noises : Tensor, shape (n, 4 steps, 16, 16)
        Noise of each frame.

    Returns
    -------
    Tensor, shape (n, 4 steps, 16, 16)
        Each frame as each step left it; the last is the one that is shown.

    Raises
    ------
    ValueError
        The action is none of the four, or there is no frame to make.
    """
    # Refuse other actions, and blocks without a frame.
    n = len(noises)
    if not 0 <= action < ACTIONS:
        raise ValueError(f"action is {action}; the world has 0 to {ACTIONS - 1}")
    if n < 1:
        raise ValueError("frames must be at least 1, got noise for 0")
    made = torch.empty(n, STEPS, FRAME, FRAME)

    # The result of the latest step of the frame before and of each frame; a frame that begins is 0.
    latest = torch.zeros(n + 1, FRAME, FRAME)
    scaled = noises * torch.tensor(NOISE)[:, None, None]
    with torch.no_grad(), frame_by_frame():
        # Along a diagonal each frame takes the step after the one that the next frame takes.
        for diagonal in range(n + STEPS - 1):
            low, high = max(0, diagonal - STEPS + 1), min(n, diagonal + 1)
            frames = torch.arange(low, high)
            steps = diagonal - frames
            latest[0] = before[min(diagonal, STEPS - 1)]
            start = latest[low + 1 : high + 1] + scaled[frames, steps]
            left = model(start, latest[low:high], torch.full((high - low,), action), steps)
            made[frames, steps] = latest[low + 1 : high + 1] = left
    return made


def train(name: str, show_stage: Callable[[str], None] = silent) -> Denoiser:
    """Train the network on the images that are not held out, each moved a few times by the network itself."""
    model, recipe = _untrained(name), RECIPES[name]
    drawn = torch.Generator().manual_seed(recipe["seed"])

    def loss(step: int) -> Tensor:
        """The loss of a frame after a random number of frames."""
        ahead = int(torch.randint(recipe["ahead"] + 1, (), generator=drawn))
        return _loss(model, digits().learned().images, recipe["batch"], ahead, drawn)

    fit(model, loss, Schedule(recipe["steps"], recipe["rate"]), show_stage=show_stage)
    return model


def held_out(name: str, module: Denoiser) -> float:
    """The error of the first frame on images held out, over all steps and actions."""
    with torch.no_grad():
        return float(_loss(module, digits().held_out().images, 400, 0, torch.Generator().manual_seed(0)))


def model(name: str = "world") -> Denoiser:
    """The network with the weights that are shipped."""
    return store.load(name, _untrained(name), RECIPES[name])


def _untrained(name: str) -> Denoiser:
    """The network of a recipe, untrained."""
    if name not in RECIPES:
        raise ValueError(f"name {name!r} is no world; known: {', '.join(RECIPES)}")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(RECIPES[name]["seed"])
        return Denoiser(RECIPES[name]["width"])


def _loss(model: Denoiser, images: Tensor, batch: int, ahead: int, drawn: torch.Generator) -> Tensor:
    """The squared error of a frame that one step makes, after it has made some frames before it.

    A step that is taught on clean frames alone blurs each frame, and after forty frames no action
    can be seen.
    """
    after = placed(images[torch.randint(len(images), (batch,), generator=drawn)], _drawn(FRAME, (batch, 2), drawn))
    before = after + BLUR * torch.randn(after.shape, generator=drawn)
    steps = _drawn(STEPS, (batch,), drawn)
    for frame in range(ahead + 1):
        actions = _drawn(ACTIONS, (batch,), drawn)
        after = torch.stack(
            [moved(frame_before, int(action)) for frame_before, action in zip(after, actions, strict=True)]
        )
        noisy = torch.randn(after.shape, generator=drawn) * torch.tensor(NOISE)[steps, None, None]
        start = after * (steps > 0)[:, None, None] + noisy
        with torch.set_grad_enabled(frame == ahead and torch.is_grad_enabled()):
            before = model(start, before, actions, steps)
    return F.mse_loss(before, after)


def _drawn(most: int, shape: tuple[int, ...], drawn: torch.Generator) -> Tensor:
    """Whole numbers below `most`, evenly drawn."""
    return torch.randint(most, shape, generator=drawn)
