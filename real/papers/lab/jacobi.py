"""Shared parts of systems on Jacobi's window: images by any process, tests of their law, tables."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from real.models.model import LanguageModel, from_hf
from real.papers.lab.contract import Lab
from real.papers.models.images import raster
from real.papers.models.images.data import CLASSES, LEVELS, PIXELS
from real.process import causal, fill, keyed
from real.studies.intervals import Estimate, bootstrap, ratio
from specsim.discover import Rule
from specsim.exact.process_law import fill as fill_table
from specsim.types import Array

# Images in one batch.
TOGETHER = 256
# Fraction of samples of the target's law that pass `goodness`.
LEVEL = 0.99
# Probability with which a bias of the size `Goodness.detectable` is seen.
POWER = 0.95
# Least expected images of a cell; cells with fewer are put together.
LEAST = 5
# How many times faster a process is than ancestral sampling, one image at a time.
FASTER = "times faster by the clock, batch 1"
# Pixels whose joint law is known.
FIRST = 3
Table = Mapping[tuple[int, ...], list[Fraction]]


class Images(NamedTuple):
    """Images that a process made."""

    # Shape (n, 1 + pixels): the class stands before the pixels.
    texts: Tensor
    # Passes of the target for each image, (n,).
    passes: Array
    seconds: float
    in_model: float


class Goodness(NamedTuple):
    """A chi-square test of a sample of texts, and the bias that it can see."""

    # The interval is that of samples of the law itself, at `LEVEL`.
    statistic: Estimate
    # The TV from which on any bias is seen with probability `POWER`.
    detectable: float


@lru_cache(maxsize=1)
def target() -> LanguageModel:
    """The raster target on the path with a cache."""
    return from_hf(raster.model("raster_target"))


@lru_cache(maxsize=1)
def _whole() -> Any:
    """The raster target as a model that reads whole texts."""
    return raster.model("raster_target")


def labels(number: int, seed: int) -> Tensor:
    """Digits, evenly drawn."""
    return torch.from_numpy(np.random.default_rng([seed, number]).integers(CLASSES, size=number))


def images(
    process: Rule,
    which: Tensor,
    *,
    seed: int,
    rule: Rule = "tokenwise",
    lossy: str | None = None,
    pixels: int = PIXELS,
    **params: Any,
) -> Images:
    """Images of the digits `which` (n,), by a process with its parameters."""
    # Batches, whose images have keys of their own.
    texts, passes, seconds, in_model = [], [], 0.0, 0.0
    for first in range(0, len(which), TOGETHER):
        opening = raster.opening(which[first : first + TOGETHER])
        made = fill(
            process,
            causal(target(), opening, pixels, LEVELS),
            length=pixels,
            vocab=LEVELS,
            batch=len(opening),
            rule=rule,
            lossy=lossy,
            params=params,
            draw=keyed(seed, len(opening), first),
        )
        texts.append(torch.cat([opening, made.tokens], 1))
        passes.append(made.passes)
        seconds, in_model = seconds + made.seconds, in_model + made.in_models
    return Images(torch.cat(texts), np.concatenate(passes), seconds, in_model)


def ancestral(which: Tensor, *, seed: int, pixels: int = PIXELS) -> Images:
    """Images made pixel by pixel, one pass each."""
    return images("left_to_right", which, seed=seed, pixels=pixels, gamma=0)


def energies(made: Images) -> Array:
    """-log p a pixel of each image under the target itself, in nats (n,)."""
    return torch.cat([raster.energy(_whole(), part) for part in torch.split(made.texts, TOGETHER)]).numpy()


def mean(values: Array) -> Estimate:
    """The mean over images, with its interval."""
    return bootstrap((values,), lambda a: a.mean(-1))


def passes_a_pixel(made: Images) -> Estimate:
    """Target passes per pixel, with an interval over images."""
    return mean(made.passes / (made.texts.shape[1] - 1))


def faster(lab: Lab, process: Callable[..., Images]) -> dict[str, Estimate]:
    """Return how many times faster than pixel by pixel a process makes an image, by the clock.

    Both make one image at a time, with a cache, in turn. `process` takes a digit (1,) and a seed.
    """
    which, times = labels(lab.texts(24, 3), lab.seed + 3), []
    # The first image warms up.
    for i in range(-1, len(which)):
        lab.said(f"seconds: image {i + 1} of {len(which)}")
        digit = which[max(i, 0)][None]
        plain, fewer = ancestral(digit, seed=i + 1), process(digit, seed=i + 1)
        times.append((plain.seconds, fewer.seconds, plain.in_model, fewer.in_model))
    plain_s, fewer_s, plain_in, fewer_in = np.array(times[1:]).T
    return {
        f"{FASTER}, everything counted": ratio(plain_s, fewer_s),
        f"{FASTER}, inside the model": ratio(plain_in, fewer_in),
    }


@lru_cache(maxsize=1)
def first_law() -> Array:
    """The target's law of the first three pixels of an image of any digit, (16, 16, 16)."""
    grid = [torch.arange(CLASSES), torch.arange(LEVELS), torch.arange(LEVELS)]
    contexts = torch.cartesian_prod(*grid)
    read = torch.cat([raster.opening(contexts[:, 0]), contexts[:, 1:]], 1)
    rows = raster.laws(_whole(), read).double().reshape(CLASSES, LEVELS, LEVELS, FIRST, LEVELS)
    # Laws of each pixel given those before it, whose product is the joint law.
    first, second, third = rows[:, 0, 0, 0], rows[:, :, 0, 1], rows[:, :, :, 2]
    joint = first[:, :, None, None] * second[:, :, :, None] * third
    return (joint.mean(0) / joint.mean(0).sum()).numpy()


def goodness(texts: Tensor, law: Array) -> Goodness:
    """Chi-square of the first pixels of texts (n, 1 + pixels) against their law.

    A bias of total variation d adds n sum (difference)^2 / p >= 4 n d^2 to the statistic's
    noncentrality, by Cauchy's inequality. So the size of a bias that is seen with probability
    `POWER` does not depend on its shape. Cells that are too rare to be counted one by one are one
    cell, and a bias inside of it is not seen.
    """
    from scipy import stats

    # Observed and expected images of each cell.
    number, flat = len(texts), law.reshape(-1)
    at = np.ravel_multi_index(tuple(texts[:, 1 : 1 + law.ndim].T.numpy()), law.shape)
    seen, due = np.bincount(at, minlength=flat.size), number * flat
    often = due >= LEAST
    seen, due = (np.append(w[often], w[~often].sum()) for w in (seen, due))

    # The statistic, its quantile under the law itself, and the bias that exceeds it.
    freedom = max(len(due) - 1, 1)
    statistic = float(((seen - due) ** 2 / np.maximum(due, np.finfo(float).tiny)).sum())
    high = float(stats.chi2.ppf(LEVEL, freedom))
    return Goodness(Estimate(statistic, 0.0, high), float(np.sqrt(_noncentrality(freedom, high) / number) / 2))


@lru_cache(maxsize=32)
def _noncentrality(freedom: int, high: float) -> float:
    """The noncentrality from which on a chi-square is above `high` with probability `POWER`."""
    from scipy import optimize, stats

    root: float = optimize.brentq(
        lambda n: stats.ncx2.sf(high, freedom, n) - POWER,
        1e-3,
        100 * high,
    )
    return root


def table(vocab: int, length: int, seed: int) -> Table:
    """Laws for every prefix, with no zero among them: the tables of the recorded biases."""
    drawn, out = random.Random(seed), {}
    for prefix in (text for n in range(length) for text in itertools.product(range(vocab), repeat=n)):
        weights = [drawn.randint(1, 9) for _ in range(vocab)]
        out[prefix] = [Fraction(w, sum(weights)) for w in weights]
    return out


def on_table(
    laws: Table,
    length: int,
    process: Rule = "jacobi",
    *,
    rule: Rule = "tokenwise",
    lossy: str | None = None,
    **params: Any,
) -> tuple[Fraction, Fraction]:
    """Bias of the whole text's law, and passes a token, of a process on a table.

    They are exact: every branch is followed.
    """
    # Positional arguments are the oracle of laws and the process.
    filled = fill_table(
        laws.__getitem__,
        process,
        length=length,
        rule=rule,
        lossy=lossy,
        params=params,
    )
    return filled.bias, filled.passes / length
