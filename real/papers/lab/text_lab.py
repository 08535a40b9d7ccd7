"""Shared parts of text systems: the pair, its costs, tau expected or decoded, and intervals.

There are two costs: the pair's own, and that of a target of `WIDE` parameters (cost emulation, see
`real.models.widen`), which every name that rests on it says. Sums are over texts and intervals over
prompts; two systems are compared on the same prompts.
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
from real.models.names import TINY_PAIR
from real.pair import Pair
from real.papers.lab.contract import Lab
from real.papers.lab.pairs import ends, pair_named
from real.papers.lab.texts import Texts
from real.papers.lab.writing import pair
from real.studies.calibrate import calibrate
from real.studies.costs import Costs
from real.studies.intervals import Estimate, bootstrap, ratio
from specsim.base.unknown import unknown
from specsim.types import Array
from specsim.verify.chain import tokenwise

Cost = Literal["own", "widened"]
# Parameters of the emulated target, in a run and in a trial.
WIDE, LESS_WIDE = 100_000_000, 10_000_000
# Kind of cost -> its name in stages and in numbers.
SAID = {
    "own": "at the pair's own cost",
    "widened": f"at the emulated cost of {WIDE // 10**6} M parameters",
}
# Drafts of the cycles that are timed; others lie on lines.
TIMED = (1, 2, 4, 6, 8)
# Visits of each cycle.
VISITS = 15


class Tally(NamedTuple):
    """Tokens and target calls of each prompt, (prompts,): measured, or expected given the texts."""

    tokens: Array
    blocks: Array


def tally(texts: Texts, blocks: Array, tokens: Array | None = None) -> Tally:
    """Sums over the texts of each prompt; by default the tokens are those of the texts."""
    if tokens is None:
        tokens = texts.lengths
    return Tally(by_prompt(texts, tokens), by_prompt(texts, blocks))


def by_prompt(texts: Texts, values: Array) -> Array:
    """Sums (prompts,) of one value a text (n,)."""
    _, which = np.unique(texts.group, return_inverse=True)
    return np.bincount(which, weights=np.asarray(values, dtype=np.float64))


def tau(tally: Tally) -> Estimate:
    """Tokens per target call."""
    return ratio(tally.tokens, tally.blocks)


def gain(new: Tally, old: Tally) -> Estimate:
    """The new tau over the old one, less 1, paired by prompt."""

    def statistic(tokens: Array, blocks: Array, old_tokens: Array, old_blocks: Array) -> Array:
        """The gain of each resample."""
        tau, old_tau = tokens.sum(-1) / blocks.sum(-1), old_tokens.sum(-1) / old_blocks.sum(-1)
        return tau / old_tau - 1

    return bootstrap((*new, *old), statistic)


def along(drafter: Drafter, texts: Texts, gamma: int, temperature: float) -> list[Along]:
    """The probabilities that a drafter gives the tokens of each text."""
    warping, target = Warping(temperature), pair_named(texts.pair).target
    rows = zip(texts.prompts, texts.rows, strict=True)
    return [drafter.along(target, prompt, text, gamma, warping) for prompt, text in rows]


def expected(texts: Texts, drafter: Sequence[Along], gamma: int, rule: Any = tokenwise) -> Tally:
    """Expected target calls by the renewal law, of blocks of a drafter's first `gamma` drafts.

    Parameters
    ----------
    texts : Texts
        Texts that the target wrote.
    drafter : sequence of Along
        The drafter's probabilities along each text, of at least gamma drafts.
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
    if drafter and not 1 <= gamma <= (most := drafter[0].q.shape[1]):
        raise ValueError(f"gamma must be from 1 to {most}, the drafts taken along, got {gamma}")
    shortened = [Along(text.q[:, :gamma], text.p) for text in drafter]
    return tally(texts, np.array([predict_along(text, rule).blocks for text in shortened]))


def decoded(
    texts: Texts,
    drafter: Drafter | None,
    gamma: int,
    temperature: float,
    seed: int,
    length: int,
    **options: Any,
) -> Tally:
    """Tokens and target calls of the decode loop, which writes anew after these texts' prompts.

    The drafter None is the pair's draft; `options` are those of `decode_batch`.
    """
    runs = decode_batch(
        pair_named(texts.pair).target,
        None,
        texts.prompts,
        max_tokens=length,
        gamma=gamma,
        uniforms=[keyed(seed, i) for i in range(len(texts.prompts))],
        warping=Warping(temperature),
        stop=ends(texts.pair),
        proposer=drafter or small(texts.pair),
        **options,
    )
    # Counts of each text.
    num_tokens = np.array([len(run.tokens) for run in runs])
    num_blocks = np.array([len(run.blocks) for run in runs])
    return tally(texts, num_blocks, num_tokens)


@lru_cache(maxsize=2)
def small(name: str = TINY_PAIR) -> Drafter:
    """The draft model of a pair as a drafter."""
    return lm.drafter(pair_named(name).draft)


def costs(lab: Lab, cost: Cost) -> Costs:
    """Seconds of the pair's cycles and their phases, measured once a process unless the lab has them.

    Parameters
    ----------
    lab : Lab
        With `costs`, a mapping from the kind to `Costs`, nothing is measured. In a trial few visits
        are made, and the emulated target is smaller.
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
def _measured(cost: Cost, is_full: bool, visits: int) -> Costs:
    """Measured costs; in a run that is not full the emulated target is smaller."""
    if cost == "own":
        return timed(pair(), visits)
    return timed(pair(WIDE if is_full else LESS_WIDE), visits)


def timed(both: Pair, visits: int) -> Costs:
    """Seconds of a cycle of any pair and of its phases, from so many visits; batch 1 at T = 1."""
    # Any text will do: a step takes as long after any tokens.
    opened = [list(range(5, 69))]
    return calibrate(
        both.target,
        both.draft,
        opened,
        warping=Warping(),
        rule=tokenwise,
        gammas=TIMED,
        repeats=visits,
    )


def cycle(costs: Costs, gamma: int, draft: float = 1.0, more: float = 0.0) -> float:
    """Seconds of a cycle whose drafts cost `draft` times the pair's, with `more` seconds besides."""
    return costs.cycle(gamma) + (draft - 1) * costs.phase("draft", gamma) + more


def speed(
    tally: Tally,
    costs: Costs,
    gamma: int,
    draft: float = 1.0,
    more: float = 0.0,
) -> Estimate:
    """Tokens a second over those of plain decoding, by these costs; the interval is that of tau."""
    factor = costs.cycle(0) / cycle(costs, gamma, draft, more)
    return Estimate(*(factor * value for value in tau(tally)))


def best(values: dict[Any, float]) -> Any:
    """The key with the largest value: the best setting on validation texts."""
    return max(values, key=lambda key: values[key])


def mean(
    texts: Texts,
    values: Array,
    weights: Array | None = None,
    level: float = 0.95,
) -> Estimate:
    """The mean of one value a text, over prompts; with weights, a ratio of sums."""
    weights = np.ones(len(values)) if weights is None else weights
    return ratio(by_prompt(texts, values), by_prompt(texts, weights), level=level)
