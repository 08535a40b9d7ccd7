"""LANTERN's rule in the decode loop: images of digits are completed pixel by pixel, with blocks of drafts.

The laws of the raster models are cut to grey levels: a model gives a little to the tokens of
classes, which stand before an image and never in it. So the loop's own warping stays as it is, and
temperature 0 is a part of the rule and of the draw.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch

from real.decode.loop import Decoded, decode_batch, keyed
from real.models.model import LanguageModel, from_hf
from real.papers.models.images import raster
from real.papers.models.images.data import LEVELS, PIXELS, SIDE, Digits, digits
from specsim.base.arrays import at, leading, pick
from specsim.types import Array
from specsim.verify.chain import tokenwise
from specsim.verify.step import lantern

# The first row of an image is there; the others are written.
FIRST_ROW, WRITTEN = SIDE, PIXELS - SIDE


class Relaxed(NamedTuple):
    """LANTERN's rule, draft after draft, as a chain rule of the decode loop.

    Greedy, p is of temperature 1 all the same: a draft is kept if it is the likeliest token once
    the mass of its neighbours is moved to it, as in the released code (3a56e45,
    models/ea_model_llamagen.py:789).
    """

    # Of each level (16, k), nearest first.
    neighbours: Array
    # The most probability that neighbours lend a draft.
    delta: float
    greedy: bool

    def prepare(self, p: Array, q: Array) -> tuple[Array, Array]:
        """Target rows (b, n + 1, 16) and draft rows (b, n, 16)."""
        return _cut(p), _cut(q)

    def uniforms(self, gamma: int) -> int:
        """Two for each draft, one for the token after all of them."""
        return 2 * gamma + 1

    def verify(self, plan: tuple[Array, Array], drafts: Array, u: Array) -> tuple[Array, Array]:
        """Drafts accepted (b,) and next token (b,)."""
        p, q = plan
        gamma = drafts.shape[1]
        step = lantern.prepare(p[:, :gamma], q, neighbours=self.neighbours, delta=self.delta)  # type: ignore[arg-type]
        # What stands at each draft's place if all before it are kept, and behind the last.
        if self.greedy:
            likeliest = p.argmax(-1)
            is_kept = at(step.lifted, drafts) >= p[:, :gamma].max(-1)
            tokens = np.where(is_kept, drafts, likeliest[:, :gamma])
            last = likeliest[:, gamma]
        else:
            pairs = u[:, : 2 * gamma].reshape(len(u), gamma, 2)
            tokens = lantern.verify(step, drafts[..., None], pairs)
            last = pick(p[:, gamma], u[:, 2 * gamma])
        accepted = leading(tokens == drafts)
        rows = np.concatenate([tokens, last[:, None]], axis=1)
        return accepted, rows[np.arange(len(rows)), accepted]


class Exact(NamedTuple):
    """Exact speculation: tokenwise verification, or greedy the target's likeliest token at each place."""

    greedy: bool

    def prepare(self, p: Array, q: Array) -> tuple[Array, Array]:
        """Target rows (b, n + 1, 16) and draft rows (b, n, 16)."""
        return _cut(p), _cut(q)

    def uniforms(self, gamma: int) -> int:
        """As many as tokenwise verification reads."""
        return tokenwise.uniforms(gamma)

    def verify(self, plan: tuple[Array, Array], drafts: Array, u: Array) -> tuple[Array, Array]:
        """Drafts accepted (b,) and next token (b,)."""
        if not self.greedy:
            return tokenwise.verify(tokenwise.Plan(*plan), drafts, u)
        likeliest = plan[0].argmax(-1)
        accepted = leading(likeliest[:, : drafts.shape[1]] == drafts)
        return accepted, likeliest[np.arange(len(likeliest)), accepted]


Way = Relaxed | Exact


def _cut(laws: Array) -> Array:
    """Laws (..., 16) of grey levels, from those (..., 32) of all tokens."""
    levels = laws[..., :LEVELS]
    return levels / levels.sum(-1, keepdims=True)


def _likeliest(law: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """The likeliest grey level (b,) of laws (b, 32)."""
    return law[:, :LEVELS].argmax(-1)


def _drawn(law: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """A grey level (b,) drawn from laws (b, 32)."""
    token: torch.Tensor = pick(law[:, :LEVELS], u)
    return token


@lru_cache(maxsize=2)
def models() -> tuple[LanguageModel, LanguageModel]:
    """The raster target and its draft, on the path with a cache."""
    return from_hf(raster.model("raster_target")), from_hf(raster.model("raster_draft"))


def openings(images: Digits) -> list[list[int]]:
    """Return the texts that the loop completes: the class of each image, and its first row of pixels."""
    return [text[: 1 + FIRST_ROW] for text in raster.texts(images).tolist()]


def complete(prompts: list[list[int]], way: Way, gamma: int, seed: int, first: int = 0) -> list[Decoded]:
    """Complete images in one batch; image i has the uniforms of number `first` + i. gamma = 0 is plain decoding."""
    target, draft = models()
    rule: Any = way
    return decode_batch(
        target,
        draft if gamma else None,
        prompts,
        max_tokens=WRITTEN,
        gamma=gamma,
        uniforms=[keyed(seed, first + i) for i in range(len(prompts))],
        rule=rule,
        draw=_likeliest if way.greedy else _drawn,
        fixed=False,
    )


class Timed(NamedTuple):
    """Images completed one after another: seconds of processor time (ways, n), and passes of the target (ways, n)."""

    seconds: Array
    passes: Array


def timed(prompts: list[list[int]], ways: list[tuple[Way, int]], seed: int, turns: int) -> Timed:
    """Complete each image by every way and gamma in turn, `turns` times; its seconds are the least of its turns.

    Other work on the machine adds to the time of a turn, and takes nothing away.
    """
    seconds = np.full((len(ways), len(prompts), turns), np.inf)
    passes = np.zeros((len(ways), len(prompts)))
    for i, prompt in enumerate(prompts):
        for turn in range(turns):
            for j in np.roll(np.arange(len(ways)), turn):
                way, gamma = ways[j]
                began = time.process_time()
                (image,) = complete([prompt], way, gamma, seed, first=i)
                seconds[j, i, turn] = time.process_time() - began
                passes[j, i] = len(image.blocks)
    return Timed(seconds.min(-1), passes)


def read_digits(images: torch.Tensor) -> torch.Tensor:
    """The digit (n,) of each image (n, 64): that of the nearest image that the models learned from."""
    learned = digits().learned()
    nearest = torch.cdist(images.double(), learned.images.double()).argmin(-1)
    return learned.labels[nearest]
