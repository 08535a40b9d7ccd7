"""Predictions and measurements of a comparison put together: acceptance, rows, and rules' gains."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from real.decode.blocks import Score, predict_blocks
from real.decode.clock import PHASES
from real.studies import intervals
from real.studies.compare.record import Bandwidth, Gain, Job, Result, Row, Run, Scored, Turn
from real.studies.costs import Costs, costs_of
from specsim.lengths.blocks import Renewal, text_survival
from specsim.types import Array
from specsim.verify.raced import Raced
from specsim.verify.stepwise import Stepwise

if TYPE_CHECKING:
    from real.studies.compare.settings import Settings

# Level at which all intervals of differences hold at once.
SIMULTANEOUS = 0.99


class Text(NamedTuple):
    """A text that the target wrote: its scores, and whether it ended of itself."""

    score: Score
    ended: bool


class Side(NamedTuple):
    """One rule at one gamma: predictions by text, counts by prompt, and the rule's costs.

    `timed` are the decodings of one prompt at a time, whose seconds count: the same, or those of
    the first prompts.
    """

    predicted: list[Renewal]
    runs: list[Run]
    timed: list[Run]
    costs: Costs

    @property
    def blocks(self) -> Array:
        """Return the target calls of each prompt, measured."""
        return np.array([len(run.accepted) for run in self.runs])

    @property
    def tokens(self) -> Array:
        """Return the tokens written after each prompt, measured."""
        return np.array([run.tokens for run in self.runs])

    @property
    def expected(self) -> Array:
        """Return the target calls that are expected on each scored text."""
        return np.array([float(renewal.blocks) for renewal in self.predicted])

    @property
    def cycles(self) -> Array:
        """Return the median seconds of a full cycle, of each prompt that was timed."""
        return np.array([run.cycle for run in self.timed])


def rows_of(
    texts: list[Text],
    turns: Sequence[Turn],
    settings: Settings,
    weight_bytes: int,
    copied: float,
    counted: dict[Job, list[Run]] | None = None,
) -> Iterator[tuple[str, Result]]:
    """Yield costs, bandwidth, rows and gains of finished turns and of their prompts' texts.

    With `counted` the texts and the counts are those of all prompts, of which the turns are the
    first.
    """
    # Costs of each rule, and bytes a second of a plain step.
    plain_job = settings.plain
    costs = {}
    for name in settings.rules:
        visits = {g: [turn.visits[Job(g, name)] for turn in turns] for g in (0, *settings.timed)}
        costs[name] = costs_of(visits)
    yield from costs.items()
    yield plain_job.rule, Bandwidth(weight_bytes / costs[plain_job.rule].cycle(0), copied)

    # Predictions and counts of each job.
    sides = {}
    for job in settings.jobs:
        rule = settings.verifier(job.rule)
        timed = [turn.runs[job] for turn in turns]
        sides[job] = Side(
            [predict_blocks(text.score, job.gamma, rule, ended=text.ended) for text in texts],
            timed if counted is None else counted[job],
            timed,
            costs[job.rule],
        )

    # Rows, then gains over the first rule; all intervals of differences hold at once.
    level = 1 - (1 - SIMULTANEOUS) / settings.intervals
    plain = [turn.runs[plain_job] for turn in turns]
    for name, g in itertools.product(settings.rules, settings.gammas):
        job = Job(g, name)
        timings = [turn.phases[job] for turn in turns if job in turn.phases]
        phases = {phase: sum(seconds[phase] for seconds in timings) for phase in PHASES if timings}
        yield name, row(g, texts, settings.verifier(name), sides[job], plain, phases, level)
    for name, g in itertools.product(settings.rules[1:], settings.gammas):
        yield name, gain(g, sides[Job(g, settings.rules[0])], sides[Job(g, name)], level)


def acceptance(texts: list[Text], rule: ModuleType | Stepwise | Raced, gamma: int) -> Scored:
    """Return mean acceptance over positions, and the hazards in the blocks of a decoder with this gamma."""
    lengths = np.array([len(text.score.p) for text in texts])
    acceptance_sums = np.array([text.score.of(rule).acceptance.sum() for text in texts])
    # Expected trials of each draft of a block, and the share of them that is accepted.
    renewals = [predict_blocks(text.score, gamma, rule, ended=text.ended) for text in texts]
    tried = sum(renewal.tried for renewal in renewals)
    accepted = sum(renewal.hazards * renewal.tried for renewal in renewals)
    hazards = [float(hazard) for hazard in accepted / np.where(tried > 0, tried, 1)]
    mean = intervals.ratio(acceptance_sums, lengths, most=1.0)
    return Scored(mean, hazards, len(texts), int(lengths.sum()))


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
    # Tokens and target calls: predicted from texts, and counted on prompts.
    lengths = np.array([len(text.score.p) for text in texts])
    tokens, blocks, expected = side.tokens, side.blocks, side.expected
    tau = intervals.ratio(lengths, expected, most=gamma + 1)
    accepted = np.array([n for run in side.runs for n in run.accepted])
    difference = intervals.jackknife(
        (tokens, blocks, lengths, expected),
        lambda tokens, blocks, lengths, expected: tokens / blocks - lengths / expected,
        level=level,
    )

    # Seconds: predicted from costs, and measured in the decodings that were timed.
    cycle, plain_step = side.costs.cycle(gamma), side.costs.cycle(0)
    cycles, steps = side.cycles, np.array([run.cycle for run in plain])
    seconds, plain_seconds = (np.array([run.seconds for run in runs]) for runs in (side.timed, plain))
    timed_tokens, plain_tokens = (np.array([run.tokens for run in runs]) for runs in (side.timed, plain))
    timed_blocks = sum(len(run.accepted) for run in side.timed)
    return Row(
        gamma=gamma,
        tau_predicted=tau,
        tau_over_positions=over_positions([text.score for text in texts], rule, gamma),
        tau_measured=intervals.ratio(tokens, blocks, most=gamma + 1),
        tau_difference=difference,
        calls_predicted=float(tokens.sum()) / tau.value,
        calls_measured=int(blocks.sum()),
        tokens=int(tokens.sum()),
        tokens_per_s_predicted=tau.value / cycle,
        tokens_per_s_measured=intervals.ratio(timed_tokens, seconds),
        plain_tokens_per_s=intervals.ratio(plain_tokens, plain_seconds),
        speedup_predicted=tau.value * plain_step / cycle,
        speedup_measured=measured_speedup(tokens, blocks, steps, cycles),
        cycle_s_predicted=cycle,
        cycle_s_measured=float(np.median(cycles)),
        plain_s_predicted=plain_step,
        plain_s_measured=float(np.median(steps)),
        kept_predicted=sum(renewal.hazards * renewal.tried for renewal in side.predicted).tolist(),
        kept_measured=[int((accepted >= n).sum()) for n in range(1, gamma + 1)],
        phases_s={name: phases[name] / timed_blocks for name in PHASES if name in phases},
    )


def measured_speedup(tokens: Array, blocks: Array, steps: Array, cycles: Array) -> intervals.Estimate:
    """Return tau times a plain step over a cycle.

    Times are of the same prompts, or of the first ones alone.
    """
    if len(steps) == len(tokens):
        return intervals.speedup(tokens, blocks, steps, cycles)
    return intervals.speedup_apart(tokens, blocks, steps, cycles)


def gain(gamma: int, base: Side, side: Side, level: float) -> Gain:
    """Return the gain of a rule (`side`) over the first one (`base`) at this gamma.

    Gains are ratios, prompt paired with prompt.
    """
    # Whole numbers by prompt, from which ratios of sums are formed: tokens, then target calls.
    counts = side.tokens, base.tokens, side.blocks, base.blocks

    def tau_ratio(tokens: Array, base_tokens: Array, calls: Array, base_calls: Array) -> Array:
        """Return the ratio of tau from sums of tokens and target calls.

        The products are of whole numbers, so that equal runs give exactly 1.
        """
        return tokens * base_calls / (calls * base_tokens)

    def measured_tau(*counts: Array) -> Array:
        """Return the ratio of tau of each resample."""
        return tau_ratio(*(count.sum(-1) for count in counts))

    def measured_speed(*data: Array) -> Array:
        """Return the ratio of tokens a second of each resample; data: the four counts, then cycles."""
        *counts, base_seconds, seconds = data
        base_cycle, cycle = np.median(base_seconds, axis=-1), np.median(seconds, axis=-1)
        return measured_tau(*counts) * base_cycle / cycle

    def tau_difference(*sums: Array) -> Array:
        """Return measured less predicted ratio of tau; sums: the four counts, then expected blocks."""
        *counts, base_expected, expected = sums
        return tau_ratio(*counts) - base_expected / expected

    # Measured ratios have intervals over prompts, their difference from predictions as well.
    predicted = intervals.ratio(base.expected, side.expected)
    return Gain(
        gamma=gamma,
        tau_predicted=predicted,
        tau_measured=intervals.bootstrap(counts, measured_tau),
        tau_difference=intervals.jackknife(
            (*counts, base.expected, side.expected),
            tau_difference,
            level=level,
        ),
        speed_predicted=predicted.value * base.costs.cycle(gamma) / side.costs.cycle(gamma),
        speed_measured=intervals.bootstrap(
            (*counts, base.cycles, side.cycles),
            measured_speed,
        ),
    )


def over_positions(
    scores: list[Score],
    rule: ModuleType | Stepwise | Raced,
    gamma: int,
) -> float | None:
    """Return tau if a block started at every position equally often, as averaging acceptance assumes.

    None where every text is shorter than a block.
    """
    total, positions = 0.0, 0
    for score in scores:
        survival = text_survival(rule.survival, score.of(rule).posterior, gamma)
        # Blocks that end inside the text.
        full = survival[: max(len(survival) - gamma + 1, 0)]
        total, positions = total + float(full.sum()), positions + len(full)
    return 1 + total / positions if positions else None
