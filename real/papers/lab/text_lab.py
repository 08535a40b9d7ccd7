"""What text systems share: the pair, what its steps cost, tau from survival or decoded, and intervals over prompts.

Two costs are told side by side: the pair's own, and that of a target of `WIDE` parameters (cost emulation, see
`real.models.widen`), which every name that rests on it says. Sums are over texts and intervals over prompts; two
things that are compared are compared on the same prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from real.decode.blocks import predict_along
from real.decode.given_text import Along
from real.decode.loop import decode_batch, keyed
from real.decode.proposer import Drafter
from real.decode.warp import Warping
from real.draft import lm
from real.pair import Pair
from real.papers.lab.contract import Lab
from real.papers.lab.texts import Texts
from real.papers.lab.writing import pair
from real.studies.calibrate import calibrate
from real.studies.costs import Costs
from real.studies.intervals import Estimate, bootstrap, ratio
from specsim.base.unknown import unknown
from specsim.types import Array
from specsim.verify.chain import tokenwise

Cost = Literal["own", "widened"]
WIDE, LESS_WIDE = 100_000_000, 10_000_000  # parameters of the emulated target; in a trial
SAID = {"own": "at the pair's own cost", "widened": f"at the emulated cost of {WIDE // 10**6} M parameters"}
TIMED = (1, 2, 4, 6, 8)  # drafts of the cycles that are timed; others lie on lines
VISITS = 15


class Tally(NamedTuple):
    """Tokens and target calls of each prompt, (prompts,): measured, or expected given the texts."""

    tokens: Array
    blocks: Array


def tally(texts: Texts, blocks: Array, tokens: Array | None = None) -> Tally:
    """Sum over the texts of each prompt."""
    told = np.full(len(texts.tokens), texts.tokens.shape[1]) if tokens is None else tokens
    return Tally(by_prompt(texts, told), by_prompt(texts, blocks))


def by_prompt(texts: Texts, values: Array) -> Array:
    """Sums (prompts,) of one value a text (n,)."""
    _, which = np.unique(texts.group, return_inverse=True)
    return np.bincount(which, weights=np.asarray(values, dtype=np.float64))


def tau(found: Tally) -> Estimate:
    """Tokens per target call."""
    return ratio(found.tokens, found.blocks)


def gain(new: Tally, old: Tally) -> Estimate:
    """By which share tau of the new is larger, paired by prompt."""
    return bootstrap((*new, *old), lambda a, b, c, d: (a.sum(-1) / b.sum(-1)) / (c.sum(-1) / d.sum(-1)) - 1)


def along(drafter: Drafter, texts: Texts, gamma: int, temperature: float) -> list[Along]:
    """A drafter along each of the texts."""
    warping, target = Warping(temperature), pair().target
    rows = zip(texts.prompts, texts.tokens.tolist(), strict=True)
    return [drafter.along(target, prompt, text, gamma, warping) for prompt, text in rows]


def expected(texts: Texts, found: Sequence[Along], gamma: int, rule: Any = tokenwise) -> Tally:
    """Target calls by the renewal law, of blocks with the first `gamma` of the drafts that were taken along.

    Parameters
    ----------
    texts : Texts
        That the target wrote.
    found : sequence of Along
        One a text, of at least gamma drafts.
    gamma : int
        Drafts a block, at least 1.
    rule : module
        A chain rule with `survival`.

    Returns
    -------
    Tally
        By prompt.

    Raises
    ------
    ValueError
        Fewer drafts than gamma, or a text that the target would not write.
    """
    if found and not 1 <= gamma <= (most := found[0].q.shape[1]):
        raise ValueError(f"gamma must be from 1 to {most}, the drafts taken along, got {gamma}")
    return tally(texts, np.array([predict_along(Along(one.q[:, :gamma], one.p), rule).blocks for one in found]))


def decoded(
    texts: Texts, drafter: Drafter | None, gamma: int, temperature: float, seed: int, length: int, **more: Any
) -> Tally:
    """Target calls of the decode loop, which writes anew after the prompts of these texts; None is the pair's draft."""
    runs = decode_batch(
        pair().target,
        None,
        texts.prompts,
        max_tokens=length,
        gamma=gamma,
        uniforms=[keyed(seed, i) for i in range(len(texts.prompts))],
        warping=Warping(temperature),
        proposer=drafter or small(),
        **more,
    )
    written, blocks = (
        np.array([len(part) for part in parts]) for parts in zip(*(run[:2] for run in runs), strict=True)
    )
    return tally(texts, blocks, written)


@lru_cache(maxsize=1)
def small() -> Drafter:
    """The pair's draft model as a drafter."""
    return lm.drafter(pair().draft)


def costs(lab: Lab, cost: Cost) -> Costs:
    """Seconds of a cycle of the pair and of its phases; measured once a process, unless the lab tells them.

    Parameters
    ----------
    lab : Lab
        With `costs`, a mapping from the kind to `Costs`, nothing is measured. In a trial few visits are made, and the
        emulated target is smaller.
    cost : str
        "own" or "widened".

    Returns
    -------
    Costs
        Batch 1, float32, at T = 1.

    Raises
    ------
    ValueError
        Another kind of cost.
    """
    if cost not in get_args(Cost):
        raise unknown("cost", cost, get_args(Cost), "costs")
    if lab.costs is not None:
        return lab.costs[cost]
    lab.said(f"time of cycles {SAID[cost]}")
    return _measured(cost, lab.share >= 0.1, lab.texts(VISITS, 2))


@lru_cache(maxsize=8)
def _measured(cost: Cost, whole: bool, visits: int) -> Costs:
    return timed(pair(None if cost == "own" else WIDE if whole else LESS_WIDE), visits)


def timed(both: Pair, visits: int) -> Costs:
    """Seconds of a cycle of any pair and of its phases, of so many visits; batch 1 at T = 1."""
    opened = [list(range(5, 69))]  # whatever the tokens are, a step takes as long
    return calibrate(both.target, both.draft, opened, warping=Warping(), rule=tokenwise, gammas=TIMED, repeats=visits)


def cycle(found: Costs, gamma: int, draft: float = 1.0, more: float = 0.0) -> float:
    """Seconds of a cycle whose drafts cost `draft` times those of the pair's draft, and `more` seconds besides."""
    return found.cycle(gamma) + (draft - 1) * found.phase("draft", gamma) + more


def step_cost(found: Costs) -> float:
    """A step of the pair's draft over a plain step of its target."""
    return found.phase("draft", 1) / found.cycle(0)


def speed(told: Tally, found: Costs, gamma: int, draft: float = 1.0, more: float = 0.0) -> Estimate:
    """Tokens a second over those of plain decoding, by these costs; the interval is that of tau."""
    factor = found.cycle(0) / cycle(found, gamma, draft, more)
    return Estimate(*(factor * value for value in tau(told)))


def best(values: dict[Any, float]) -> Any:
    """The key with the largest value: of settings, tuned on validation texts."""
    return max(values, key=lambda key: values[key])


def mean(texts: Texts, values: Array, weights: Array | None = None, level: float = 0.95) -> Estimate:
    """A mean of one value a text, over prompts; with weights, a ratio of sums."""
    each = np.ones(len(values)) if weights is None else weights
    return ratio(by_prompt(texts, values), by_prompt(texts, each), level=level)
