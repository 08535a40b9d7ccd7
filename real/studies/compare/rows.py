"""Predictions and measurements of a comparison put together: what the texts say, rows, and what rules gain."""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np

from real.decode.blocks import Score, predict_blocks
from real.decode.clock import PHASES
from real.studies import intervals
from real.studies.compare.record import Gain, Row, Run, Scored
from real.studies.costs import Costs
from specsim.lengths.blocks import Renewal, text_survival
from specsim.types import Array
from specsim.verify.raced import Raced
from specsim.verify.stepwise import Stepwise


class Text(NamedTuple):
    """A text that the target wrote: its scores, and whether it ended of itself."""

    score: Score
    ended: bool


class Side(NamedTuple):
    """One rule at one gamma: what each text predicts, what each prompt's decoding counted, and the rule's costs.

    `timed` are the decodings of one prompt at a time, whose seconds count: the same, or those of the first prompts.
    """

    predicted: list[Renewal]
    runs: list[Run]
    timed: list[Run]
    costs: Costs

    @property
    def blocks(self) -> Array:
        """Target calls, measured."""
        return np.array([len(run.accepted) for run in self.runs])

    @property
    def tokens(self) -> Array:
        """Tokens written, measured."""
        return np.array([run.tokens for run in self.runs])

    @property
    def expected(self) -> Array:
        """Target calls that each scored text stands for."""
        return np.array([float(r.blocks) for r in self.predicted])

    @property
    def cycles(self) -> Array:
        """Median seconds of a full cycle."""
        return np.array([run.cycle for run in self.timed])


def acceptance(texts: list[Text], rule: ModuleType | Stepwise | Raced, gamma: int) -> Scored:
    """Mean acceptance over positions, and the hazards a decoder with this gamma meets."""
    lengths = np.array([len(text.score.p) for text in texts])
    sums = np.array([text.score.of(rule).acceptance.sum() for text in texts])
    runs = [predict_blocks(text.score, gamma, rule, ended=text.ended) for text in texts]
    tried = sum(r.tried for r in runs)
    hazards = sum(r.hazards * r.tried for r in runs) / np.where(tried > 0, tried, 1)
    return Scored(intervals.ratio(sums, lengths), [float(h) for h in hazards], len(texts), int(lengths.sum()))


def row(
    gamma: int,
    texts: list[Text],
    rule: ModuleType | Stepwise | Raced,
    side: Side,
    plain: list[Run],
    phases: dict[str, float],
    level: float,
) -> Row:
    """Put prediction and measurement of one rule and gamma together."""
    text = np.array([len(one.score.p) for one in texts])
    tokens, blocks, expected, cycles, costs = side.tokens, side.blocks, side.expected, side.cycles, side.costs
    seconds, plain_seconds = (np.array([run.seconds for run in runs]) for runs in (side.timed, plain))
    timed_tokens, plain_tokens = (np.array([run.tokens for run in runs]) for runs in (side.timed, plain))
    timed_blocks = sum(len(run.accepted) for run in side.timed)
    tau = intervals.ratio(text, expected)
    cycle = costs.cycle(gamma)
    steps = np.array([run.cycle for run in plain])
    accepted = np.array([kept for run in side.runs for kept in run.accepted])
    return Row(
        gamma=gamma,
        tau_predicted=tau,
        tau_over_positions=over_positions([one.score for one in texts], rule, gamma),
        tau_measured=intervals.ratio(tokens, blocks),
        tau_difference=intervals.jackknife(
            (tokens, blocks, text, expected), lambda a, b, c, d: a / b - c / d, level=level
        ),
        calls_predicted=float(tokens.sum()) / tau.value,
        calls_measured=int(blocks.sum()),
        tokens=int(tokens.sum()),
        tokens_per_s_predicted=tau.value / cycle,
        tokens_per_s_measured=intervals.ratio(timed_tokens, seconds),
        plain_tokens_per_s=intervals.ratio(plain_tokens, plain_seconds),
        speedup_predicted=tau.value * costs.cycle(0) / cycle,
        speedup_measured=measured_speedup(tokens, blocks, steps, cycles),
        cycle_s_predicted=cycle,
        cycle_s_measured=float(np.median(cycles)),
        plain_s_predicted=costs.cycle(0),
        plain_s_measured=float(np.median(steps)),
        kept_predicted=sum(r.hazards * r.tried for r in side.predicted).tolist(),
        kept_measured=[int((accepted >= n).sum()) for n in range(1, gamma + 1)],
        phases_s={name: phases[name] / timed_blocks for name in PHASES if name in phases},
    )


def measured_speedup(tokens: Array, blocks: Array, steps: Array, cycles: Array) -> intervals.Estimate:
    """Return tau times a plain step over a cycle; times are of the same prompts, or of the first ones alone."""
    if len(steps) == len(tokens):
        return intervals.speedup(tokens, blocks, steps, cycles)
    return intervals.speedup_apart(tokens, blocks, steps, cycles)


def gain(gamma: int, base: Side, side: Side, level: float) -> Gain:
    """What a rule has over the first one at this gamma: ratios, prompt paired with prompt."""
    counts = side.tokens, base.tokens, side.blocks, base.blocks

    def kept(new: Array, old: Array, calls: Array, old_calls: Array) -> Array:
        return new * old_calls / (calls * old)  # whole numbers: equal runs give exactly 1

    predicted = intervals.ratio(base.expected, side.expected)
    return Gain(
        gamma=gamma,
        tau_predicted=predicted,
        tau_measured=intervals.bootstrap(counts, lambda *data: kept(*(d.sum(-1) for d in data))),
        tau_difference=intervals.jackknife(
            (*counts, base.expected, side.expected),
            lambda *sums: kept(*sums[:4]) - sums[4] / sums[5],
            level=level,
        ),
        speed_predicted=predicted.value * base.costs.cycle(gamma) / side.costs.cycle(gamma),
        speed_measured=intervals.bootstrap(
            (*counts, base.cycles, side.cycles),
            lambda *data: (
                kept(*(d.sum(-1) for d in data[:4])) * np.median(data[4], axis=-1) / np.median(data[5], axis=-1)
            ),
        ),
    )


def over_positions(scores: list[Score], rule: ModuleType | Stepwise | Raced, gamma: int) -> float | None:
    """tau if a block started at every position equally often: what averaging acceptance amounts to.

    None where every text is shorter than a block.
    """
    totals, positions = 0.0, 0
    for s in scores:
        survival = text_survival(rule.survival, s.of(rule).posterior, gamma)
        full = survival[: max(len(survival) - gamma + 1, 0)]  # windows that end inside the text
        totals, positions = totals + float(full.sum()), positions + len(full)
    return 1 + totals / positions if positions else None
