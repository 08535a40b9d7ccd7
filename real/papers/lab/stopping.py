"""Settings of controllers on blocks of drafts: how long each block gets, its tokens and time, and the best setting.

Blocks are those of `real.papers.lab.rollouts`, so that every setting is tried on the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from real.papers.lab.rollouts import Rollouts
from real.papers.lab.text_lab import by_prompt
from real.papers.lab.texts import Texts
from real.studies.intervals import Estimate, bootstrap
from specsim.control import block_lengths
from specsim.types import Array


class Setting(NamedTuple):
    """A controller with its parameters, and the longest block that it may draft."""

    name: str
    params: Mapping[str, Any]
    most: int


def lengths(part: Rollouts, setting: Setting) -> Array:
    """Drafts (n, s) of each block under a controller; one that learns sees the blocks in turn."""
    learns = setting.name in ("heuristic", "roc")
    kept = kept_of(part) if learns else None
    found = block_lengths(setting.name, part.signals, params=setting.params, kept=kept)
    return np.minimum(found, setting.most)


def kept_of(part: Rollouts) -> Array:
    """Drafts (n, s) that whole blocks accept, drawn with the same random numbers for all settings."""
    coins = np.random.default_rng(0).random(part.accept.shape)
    return np.cumprod(coins < part.accept, axis=-1).sum(-1)


def totals(part: Rollouts, drafts: Array, times: Array) -> tuple[Array, Array]:
    """Expected tokens, and time (prompts,), of blocks with these numbers of drafts (n, s).

    A block counts as often as its text has tokens for it, so that all tokens of a prompt's texts count the same.
    """
    survival = np.cumprod(part.accept, axis=-1)
    tokens = 1 + np.where(np.arange(part.accept.shape[-1]) < drafts[..., None], survival, 0).sum(-1)
    told = Texts([], part.accept, part.group, part.group)
    return by_prompt(told, part.weight * tokens.sum(-1)), by_prompt(told, part.weight * times[drafts].sum(-1))


def lengths_of(part: Rollouts, family: Sequence[Setting]) -> list[tuple[Setting, Array]]:
    """Every setting with its lengths; settings that differ in the cap alone share one run."""
    found: list[tuple[Setting, Array]] = []
    known: dict[str, Array] = {}
    for setting in family:
        # Weights are the same for a whole family.
        key = repr([value for name, value in setting.params.items() if name != "weights"])
        if key not in known:
            known[key] = lengths(part, setting._replace(most=part.accept.shape[-1]))
        found.append((setting, np.minimum(known[key], setting.most)))
    return found


def tuned(part: Rollouts, tried: Sequence[tuple[Setting, Array]], times: Array) -> Setting:
    """The setting with the most tokens in the time of a plain step."""
    speeds = []
    for _, drafts in tried:
        tokens, time = totals(part, drafts, times)
        speeds.append(tokens.sum() / time.sum())
    return tried[int(np.argmax(speeds))][0]


def gain(part: Rollouts, new: Setting, old: Setting, times: Array, level: float = 0.95) -> Estimate:
    """Speed of the new setting over the old one, less 1, paired by prompt."""
    return gain_of(totals(part, lengths(part, new), times), totals(part, lengths(part, old), times), level)


def gain_of(new: tuple[Array, Array], old: tuple[Array, Array], level: float = 0.95) -> Estimate:
    """The gain from tokens and times of both settings."""

    def statistic(tokens: Array, time: Array, old_tokens: Array, old_time: Array) -> Array:
        """The gain of each resample."""
        speed, old_speed = tokens.sum(-1) / time.sum(-1), old_tokens.sum(-1) / old_time.sum(-1)
        return speed / old_speed - 1

    return bootstrap((*new, *old), statistic, level)


def bound(part: Rollouts, static: Setting, times: Array) -> Estimate:
    """The gain of blocks that stop just before the first refusal, which no controller exceeds."""
    survival = np.cumprod(part.accept, axis=-1)
    chance = -np.diff(
        np.concatenate([np.ones((*survival.shape[:-1], 1)), survival, 0 * survival[..., :1]], -1), axis=-1
    )
    told = Texts([], part.accept, part.group, part.group)
    tokens, time = (by_prompt(told, part.weight * w.sum(-1)) for w in (1 + survival.sum(-1), chance @ times))
    return gain_of((tokens, time), totals(part, lengths(part, static), times))
