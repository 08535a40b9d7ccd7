"""The results of a comparison, and their JSON form."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from real.studies.costs import Costs, Visit
from real.studies.intervals import Estimate

if TYPE_CHECKING:
    from real.decode.loop import Decoded


class Job(NamedTuple):
    """A job that is decoded, counted and timed: a speculation length (0: plain) with a rule."""

    gamma: int
    rule: str


class Run(NamedTuple):
    """Counts of one decoding: tokens, drafts proposed and accepted block by block, and seconds."""

    tokens: int
    drafted: list[int]
    accepted: list[int]
    cycles: list[float]
    seconds: float

    @property
    def cycle(self) -> float:
        """Return the median seconds of a full cycle: blocks at a text's end draft fewer tokens and are cheaper."""
        longest = max(self.drafted)
        cycles = zip(self.cycles, self.drafted, strict=True)
        return float(np.median([seconds for seconds, drafted in cycles if drafted == longest]))


class Turn(NamedTuple):
    """One prompt, decoded by every job in turn, and timed in between."""

    runs: dict[Job, Run]
    # Seconds of each phase over the run.
    phases: dict[Job, dict[str, float]]
    visits: dict[Job, Visit]


def run_of(decoded: Decoded) -> Run:
    """Return the counts of a decoding."""
    blocks = decoded.blocks
    return Run(
        tokens=len(decoded.tokens),
        drafted=[block.drafted for block in blocks],
        accepted=[block.accepted for block in blocks],
        cycles=decoded.cycles,
        seconds=decoded.seconds,
    )


def turn_as_json(turn: Turn) -> dict[str, Any]:
    """Return the JSON form of a turn, so that a stopped run can be carried on."""
    # Each field of a turn is a list of [gamma, rule, value].
    parts = turn._asdict().items()
    return {name: [[*job, value] for job, value in jobs.items()] for name, jobs in parts}


def turn_of(turn: dict[str, Any]) -> Turn:
    """Return the turn that `turn_as_json` wrote."""
    parts = {name: {Job(gamma, rule): value for gamma, rule, value in entries} for name, entries in turn.items()}
    runs = {job: Run(*run) for job, run in parts["runs"].items()}
    return Turn(runs, parts["phases"], parts["visits"])


@dataclass(frozen=True)
class Scored:
    """Acceptance in the scored texts: its mean over positions, and hazards at the largest gamma."""

    mean: Estimate
    hazards: list[float]
    texts: int
    tokens: int


@dataclass(frozen=True)
class Bandwidth:
    """Bytes a second: of weights that a plain step reads, and of a copy on this machine."""

    baseline: float
    copy: float


@dataclass(frozen=True)
class Row:
    """One gamma: predictions, measurements, and their differences."""

    gamma: int
    tau_predicted: Estimate
    # tau if every position counted alike: it is biased, and stands here to show that.
    tau_over_positions: float | None
    tau_measured: Estimate
    # Measured - predicted; the intervals of all gammas of the run hold at once.
    tau_difference: Estimate
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
    # Number of blocks that accept at least 1, 2, ... drafts, expected and counted.
    kept_predicted: list[float]
    kept_measured: list[int]
    # Measured phases of a cycle; empty on a GPU, where a clock would slow the loop.
    phases_s: dict[str, float]

    @property
    def error_tau(self) -> float:
        """Return the part of acceptance in the speedup's error: predicted over measured tau, less 1."""
        return self.tau_predicted.value / self.tau_measured.value - 1

    @property
    def error_time(self) -> float:
        """Return the part of time in the speedup's error, which acceptance does not explain."""
        return self.speedup_predicted / self.speedup_measured.value / (1 + self.error_tau) - 1

    @property
    def outside(self) -> float | None:
        """Return the share of a cycle spent outside the two models."""
        if not self.phases_s:
            return None
        inside = self.phases_s["draft"] + self.phases_s["verify"]
        return 1 - inside / sum(self.phases_s.values())


@dataclass(frozen=True)
class Gain:
    """A rule over the first rule of the run at one gamma: ratios, above 1 where it is better."""

    gamma: int
    tau_predicted: Estimate
    tau_measured: Estimate
    # Measured - predicted; this interval holds at once with those of the rows.
    tau_difference: Estimate
    speed_predicted: float
    speed_measured: Estimate


# A result that `compare` yields.
Result = Scored | Costs | Bandwidth | Row | Gain


def as_json(result: Result) -> dict[str, Any]:
    """Return the JSON form of a result of `compare`; see real/results/README.md for the schema."""
    if isinstance(result, Scored):
        mean = {"predicted": result.mean.value, "interval": span_of(result.mean)}
        return asdict(result) | {"mean": mean}
    if isinstance(result, (Costs, Bandwidth)):
        return asdict(result)

    # Rows and gains have the same entry for tau.
    tau = {
        "predicted": result.tau_predicted.value,
        "predicted_interval": span_of(result.tau_predicted),
        "measured": result.tau_measured.value,
        "interval": span_of(result.tau_measured),
        "difference_interval": span_of(result.tau_difference),
    }
    if isinstance(result, Gain):
        speed = {
            "predicted": result.speed_predicted,
            "measured": result.speed_measured.value,
            "interval": span_of(result.speed_measured),
        }
        return {"gamma": result.gamma, "tau": tau, "speed": speed}
    return {
        "gamma": result.gamma,
        "tau": tau | {"predicted_over_positions": result.tau_over_positions},
        "target_calls": {
            "predicted": result.calls_predicted,
            "measured": result.calls_measured,
            "tokens": result.tokens,
        },
        "tokens_per_s": {
            "predicted": result.tokens_per_s_predicted,
            "measured": result.tokens_per_s_measured.value,
            "interval": span_of(result.tokens_per_s_measured),
            "plain_measured": result.plain_tokens_per_s.value,
        },
        "speedup": {
            "predicted": result.speedup_predicted,
            "measured": result.speedup_measured.value,
            "interval": span_of(result.speedup_measured),
            "error_tau": result.error_tau,
            "error_time": result.error_time,
        },
        "cycle_s": {
            "predicted": result.cycle_s_predicted,
            "measured": result.cycle_s_measured,
            "plain_predicted": result.plain_s_predicted,
            "plain_measured": result.plain_s_measured,
            "phases_measured": result.phases_s,
            "outside_models": result.outside,
        },
        "blocks_keeping_at_least": {
            "predicted": result.kept_predicted,
            "measured": result.kept_measured,
        },
    }


def span_of(estimate: Estimate) -> list[float] | None:
    """Return the ends of an interval; None where there is no interval."""
    ends = [estimate.low, estimate.high]
    return ends if np.isfinite(ends).all() else None
