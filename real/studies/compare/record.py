"""What a comparison finds, and its JSON form."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from real.studies.costs import Costs, Visit
from real.studies.intervals import Estimate

if TYPE_CHECKING:
    from real.decode.loop import Decoded


class Job(NamedTuple):
    """What is decoded, counted and timed: a speculation length (0: plain decoding) with a rule."""

    gamma: int
    rule: str


class Run(NamedTuple):
    """What one decoding leaves: tokens written, drafts proposed and accepted block by block, and seconds."""

    tokens: int
    drafted: list[int]
    accepted: list[int]
    cycles: list[float]
    seconds: float

    @property
    def cycle(self) -> float:
        """Median seconds of a full cycle: blocks at a text's end draft fewer tokens and are cheaper."""
        longest = max(self.drafted)
        return float(np.median([s for s, n in zip(self.cycles, self.drafted, strict=True) if n == longest]))


class Turn(NamedTuple):
    """One prompt, decoded by every job in turn, and timed in between."""

    runs: dict[Job, Run]
    phases: dict[Job, dict[str, float]]  # seconds over the run
    visits: dict[Job, Visit]


def run_of(decoded: Decoded) -> Run:
    """What is kept of a decoding."""
    blocks = decoded.blocks
    return Run(
        len(decoded.tokens), [b.drafted for b in blocks], [b.accepted for b in blocks], decoded.cycles, decoded.seconds
    )


def turn_as_json(turn: Turn) -> dict[str, Any]:
    """The JSON form of a turn, so that a stopped run can be carried on."""
    return {name: [[*job, value] for job, value in jobs.items()] for name, jobs in turn._asdict().items()}


def turn_of(found: dict[str, Any]) -> Turn:
    """The turn that `turn_as_json` wrote."""
    jobs = {name: {Job(*entry[:2]): entry[2] for entry in entries} for name, entries in found.items()}
    return Turn({job: Run(*run) for job, run in jobs["runs"].items()}, jobs["phases"], jobs["visits"])


@dataclass(frozen=True)
class Scored:
    """What the scored texts say: mean acceptance per position, hazards at the largest gamma, texts and tokens."""

    mean: Estimate
    hazards: list[float]
    texts: int
    tokens: int


@dataclass(frozen=True)
class Bandwidth:
    """Bytes a second: weights a plain step reads over its time, beside what a copy moves here."""

    baseline: float
    copy: float


@dataclass(frozen=True)
class Row:
    """One gamma: predictions, measurements, and what parts them."""

    gamma: int
    tau_predicted: Estimate
    tau_over_positions: float | None  # every position counted alike: biased, shown to show it
    tau_measured: Estimate
    tau_difference: Estimate  # measured - predicted, simultaneous over all gammas of the run
    calls_predicted: float
    calls_measured: int
    tokens: int
    tokens_per_s_predicted: float
    tokens_per_s_measured: Estimate
    plain_tokens_per_s: Estimate
    speedup_predicted: float
    speedup_measured: Estimate
    cycle_s_predicted: float
    cycle_s_measured: float
    plain_s_predicted: float
    plain_s_measured: float
    kept_predicted: list[float]  # expected number of blocks that keep 1, 2, ... drafts or more
    kept_measured: list[int]
    phases_s: dict[str, float]  # of a cycle, measured; empty on a GPU, where a clock would slow the loop

    @property
    def error_tau(self) -> float:
        """The acceptance half of the speedup's error: predicted over measured tau, less 1."""
        return self.tau_predicted.value / self.tau_measured.value - 1

    @property
    def error_time(self) -> float:
        """The time half: what the acceptance half leaves of the speedup's error."""
        return self.speedup_predicted / self.speedup_measured.value / (1 + self.error_tau) - 1

    @property
    def outside(self) -> float | None:
        """Share of a cycle spent outside the two models."""
        if not self.phases_s:
            return None
        return 1 - (self.phases_s["draft"] + self.phases_s["verify"]) / sum(self.phases_s.values())


@dataclass(frozen=True)
class Gain:
    """A rule over the first rule of the run at one gamma: ratios, above 1 where it is better."""

    gamma: int
    tau_predicted: Estimate
    tau_measured: Estimate
    tau_difference: Estimate  # measured - predicted, simultaneous with those of the rows
    speed_predicted: float
    speed_measured: Estimate


Found = Scored | Costs | Bandwidth | Row | Gain


def as_json(found: Found) -> dict[str, Any]:
    """The JSON form of what `compare` yields; see real/results/README.md for the schema."""
    if isinstance(found, Scored):
        return asdict(found) | {"mean": {"predicted": found.mean.value, "interval": span_of(found.mean)}}
    if isinstance(found, (Costs, Bandwidth)):
        return asdict(found)
    tau = {
        "predicted": found.tau_predicted.value,
        "predicted_interval": span_of(found.tau_predicted),
        "measured": found.tau_measured.value,
        "interval": span_of(found.tau_measured),
        "difference_interval": span_of(found.tau_difference),
    }
    if isinstance(found, Gain):
        speed = found.speed_measured
        return {
            "gamma": found.gamma,
            "tau": tau,
            "speed": {"predicted": found.speed_predicted, "measured": speed.value, "interval": span_of(speed)},
        }
    return {
        "gamma": found.gamma,
        "tau": tau | {"predicted_over_positions": found.tau_over_positions},
        "target_calls": {"predicted": found.calls_predicted, "measured": found.calls_measured, "tokens": found.tokens},
        "tokens_per_s": {
            "predicted": found.tokens_per_s_predicted,
            "measured": found.tokens_per_s_measured.value,
            "interval": span_of(found.tokens_per_s_measured),
            "plain_measured": found.plain_tokens_per_s.value,
        },
        "speedup": {
            "predicted": found.speedup_predicted,
            "measured": found.speedup_measured.value,
            "interval": span_of(found.speedup_measured),
            "error_tau": found.error_tau,
            "error_time": found.error_time,
        },
        "cycle_s": {
            "predicted": found.cycle_s_predicted,
            "measured": found.cycle_s_measured,
            "plain_predicted": found.plain_s_predicted,
            "plain_measured": found.plain_s_measured,
            "phases_measured": found.phases_s,
            "outside_models": found.outside,
        },
        "blocks_keeping_at_least": {"predicted": found.kept_predicted, "measured": found.kept_measured},
    }


def span_of(e: Estimate) -> list[float] | None:
    """The ends of an interval; None where there is none."""
    return [e.low, e.high] if np.isfinite([e.low, e.high]).all() else None
