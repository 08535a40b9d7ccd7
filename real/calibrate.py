"""What one cycle's parts cost on this machine: the time half of a prediction, from a few micro-measurements."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

from real.decode import keyed
from real.draft.lm import LMDraft
from real.load import Pair
from real.warp import Sampling, probabilities
from specsim._dist import pick
from specsim.types import ChainRule


class Costs(NamedTuple):
    """Seconds: one draft step, and a target pass over m = 1..M tokens with warping and the rule; index m-1."""

    draft_s: float
    verify_s: list[float]

    def cycle_s(self, gamma: int) -> float:
        """Predicted seconds of one cycle with gamma drafts; gamma = 0 is a step of plain decoding."""
        return gamma * self.draft_s + self.verify_s[gamma]


def calibrate(
    pair: Pair, prompt: list[int], *, sampling: Sampling, rule: ChainRule, max_gamma: int, repeats: int = 15
) -> Costs:
    """Time the parts of a decode cycle at the length of `prompt`, interleaved; medians.

    Parameters
    ----------
    pair : Pair
        Target and draft.
    prompt : list of int
        A text of the length to be timed at.
    sampling : Sampling
        As in decoding.
    rule : ChainRule
        As in decoding.
    max_gamma : int
        Largest speculation length to be predicted.
    repeats : int
        Measurements of each part; two more are run and dropped.

    Returns
    -------
    Costs
        draft_s, verify_s.
    """
    text = torch.tensor(prompt, device=pair.target.device)
    u = keyed(0, 0)(0, 2 * max_gamma + 1).to(pair.target.device)
    cache, draft = pair.target.cache(), LMDraft(pair.draft, sampling, pick)
    cache.forward(text[:-1], 0)
    drafts, q = draft.propose(text, max_gamma, u[:max_gamma])

    def verify(gamma: int) -> Callable[[], object]:
        def run() -> object:
            cache.rollback(len(prompt) - 1)
            logits = cache.forward(torch.cat([text[-1:], drafts[:gamma]]), gamma + 1)
            p = probabilities(logits, sampling)
            return int(rule.verify(rule.prepare(p, q[:gamma]), drafts[:gamma], u[: gamma + 1])[0])

        return run

    parts: list[Callable[[], object]] = [verify(gamma) for gamma in range(max_gamma + 1)]
    parts.append(lambda: draft.propose(text, max_gamma, u[:max_gamma]))
    seconds = np.array([[_timed(part, pair) for part in parts] for _ in range(repeats + 2)])
    medians = np.median(seconds[2:], axis=0)
    return Costs(float(medians[-1]) / max_gamma, [float(s) for s in medians[:-1]])


def _timed(part: Callable[[], object], pair: Pair) -> float:
    began = time.perf_counter()
    part()
    if pair.target.device.type == "cuda":
        torch.cuda.synchronize(pair.target.device)
    return time.perf_counter() - began
