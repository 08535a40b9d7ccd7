"""Lossless: functools.partial of a bound method with a frozen dataclass of settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from specsim.conform import Subject


@dataclass(frozen=True)
class Settings:
    eps: float = 0.0
    names: list[str] = field(default_factory=list)


class Engine:
    def __init__(self, settings: Settings):
        self.settings = settings

    def run(self, settings: Settings, p, q, drafts, random):
        i = 0
        while i < len(drafts) and random.uniform() < min(1.0, p[i, drafts[i]] / (q[i, drafts[i]] + settings.eps)):
            i += 1
        law = p[i] if i == len(drafts) else np.maximum(p[i] - q[i], settings.eps)
        return i, random.choice(np.arange(len(law)), p=law / law.sum())


ENGINE = Engine(Settings())
run = partial(ENGINE.run, ENGINE.settings)


def subject():
    return Subject("partial_of_a_method", "chain", run, sizes=(1, 2, 3))
