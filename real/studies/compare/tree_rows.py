"""Prediction and measurement of trees and chains put together: rows, the fastest, and their JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from real.decode.clock import PHASES
from real.studies import intervals
from real.studies.compare.record import Run, Turn, span_of
from real.studies.compare.rows import SIMULTANEOUS
from real.studies.compare.tree_shapes import Entry, Text, predicted
from real.studies.costs import Costs, costs_of
from real.studies.intervals import Estimate
from specsim.lengths.tree_texts import jackknife_error
from specsim.types import Array


@dataclass(frozen=True)
class TreeRow:
    """A chain or a tree under one rule: predictions and measurements.

    Predictions are None where no law given the text is known.
    """

    name: str
    rule: str
    tree: bool
    parents: tuple[int, ...]
    nodes: int
    levels: int
    tau_predicted: Estimate | None
    # Standard error of the prediction by sampled siblings; the interval is over texts.
    tau_sampled: float
    tau_measured: Estimate
    # Measured - predicted; the intervals of all predictions hold at once.
    tau_difference: Estimate | None
    calls_measured: int
    tokens: int
    speedup_predicted: float | None
    speedup_measured: Estimate
    cycle_s_predicted: float
    cycle_s_measured: float
    plain_s_predicted: float
    plain_s_measured: float
    # t(m): the pass over m = nodes + 1 tokens in plain steps; None where no phase is timed.
    pass_steps: float | None
    costs: Costs
    phases_s: dict[str, float]


@dataclass(frozen=True)
class Fastest:
    """The fastest measured tree and chain, and the ratio of their speeds.

    `tree` and `chain` are places in the rows; the ratio is the tree's speed over the chain's.
    """

    tree: int
    chain: int
    measured: Estimate


def rows_of(
    entries: Sequence[Entry],
    texts: Sequence[Text],
    turns: Sequence[Turn],
    plain_job: Any,
) -> list[TreeRow]:
    """Return a row for each entry, from finished turns and the texts of the same prompts."""
    # All intervals of differences hold at once. An entry is predicted on all texts or on none.
    predictions = [[predicted(entry, text) for text in texts] for entry in entries]
    num_predicted = sum(of_texts[0] is not None for of_texts in predictions)
    level = 1 - (1 - SIMULTANEOUS) / max(num_predicted, 1)

    # A row for each entry, beside plain decoding of the same prompts.
    plain = [turn.runs[plain_job] for turn in turns]
    visits = [turn.visits[plain_job] for turn in turns]
    lengths = np.array([len(text.score.p) for text in texts])
    return [
        _row(entry, of_texts, lengths, turns, plain, visits, level)
        for entry, of_texts in zip(entries, predictions, strict=True)
    ]


def _row(
    entry: Entry,
    predictions: list[Any],
    lengths: Array,
    turns: Sequence[Turn],
    plain: list[Run],
    visits: Any,
    level: float,
) -> TreeRow:
    """Return the row of an entry, from its predictions by text, and its turns beside plain decoding."""
    # Counts and seconds of each prompt, and costs.
    runs = [turn.runs[entry.job] for turn in turns]
    tokens = np.array([run.tokens for run in runs])
    blocks = np.array([len(run.accepted) for run in runs])
    steps, cycles = np.array([run.cycle for run in plain]), np.array([run.cycle for run in runs])
    costs = costs_of({0: visits, entry.length: [turn.visits[entry.job] for turn in turns]})
    cycle, step = costs.cycle(entry.length), costs.cycle(0)

    # Predicted tau, if a law is known.
    tau, difference, sampled, speedup = None, None, 0.0, None
    if predictions[0] is not None:
        expected = np.array([float(renewed.blocks) for renewed, _ in predictions])
        tau = intervals.ratio(lengths, expected, most=entry.length + 1)
        speedup = tau.value * step / cycle
        difference = intervals.jackknife(
            (tokens, blocks, lengths, expected),
            lambda tokens, blocks, lengths, expected: tokens / blocks - lengths / expected,
            level=level,
        )
        # Texts have siblings of their own: the variances of their target calls add up.
        variance = sum(jackknife_error(np.array(without)) ** 2 for _, without in predictions)
        sampled = tau.value * float(variance) ** 0.5 / float(expected.sum())

    # Phases, if they were timed.
    phases = [turn.phases[entry.job] for turn in turns if entry.job in turn.phases]
    pass_steps = None
    if phases:
        pass_steps = costs.phase("verify", entry.length) / costs.phase("verify", 0)
    num_blocks = float(blocks.sum())
    return TreeRow(
        name=entry.name,
        rule=entry.rule,
        tree=entry.is_tree,
        parents=entry.parents,
        nodes=entry.nodes,
        levels=entry.length,
        tau_predicted=tau,
        tau_sampled=sampled,
        tau_measured=intervals.ratio(tokens, blocks, most=entry.length + 1),
        tau_difference=difference,
        calls_measured=int(blocks.sum()),
        tokens=int(tokens.sum()),
        speedup_predicted=speedup,
        speedup_measured=intervals.speedup(tokens, blocks, steps, cycles),
        cycle_s_predicted=cycle,
        cycle_s_measured=float(np.median(cycles)),
        plain_s_predicted=step,
        plain_s_measured=float(np.median(steps)),
        pass_steps=pass_steps,
        costs=costs,
        phases_s={name: sum(seconds[name] for seconds in phases) / num_blocks for name in PHASES if phases},
    )


def fastest_of(rows: Sequence[TreeRow], entries: Sequence[Entry], turns: Sequence[Turn]) -> Fastest:
    """Return the fastest tree beside the fastest chain, prompt paired with prompt."""
    # The places of both in the rows.
    tree, chain = (
        max(
            (i for i, row in enumerate(rows) if row.tree == is_tree),
            key=lambda i: rows[i].speedup_measured.value,
        )
        for is_tree in (True, False)
    )

    # Tokens, target calls and seconds of a cycle by prompt, of the tree and then of the chain.
    data = []
    for place in (tree, chain):
        runs = [turn.runs[entries[place].job] for turn in turns]
        data += [
            np.array([run.tokens for run in runs]),
            np.array([len(run.accepted) for run in runs]),
            np.array([run.cycle for run in runs]),
        ]

    def speed_ratio(
        tokens: Array,
        calls: Array,
        cycle: Array,
        chain_tokens: Array,
        chain_calls: Array,
        chain_cycle: Array,
    ) -> Array:
        """Return the tree's tokens a second over the chain's, for each resample of prompts."""
        tau_ratio = tokens.sum(-1) * chain_calls.sum(-1) / (calls.sum(-1) * chain_tokens.sum(-1))
        return tau_ratio * np.median(chain_cycle, axis=-1) / np.median(cycle, axis=-1)

    return Fastest(tree, chain, intervals.bootstrap(tuple(data), speed_ratio))


def as_json(row: TreeRow) -> dict[str, Any]:
    """Return the JSON form of a row; see real/results/README.md for the schema."""
    # Predictions are None where no law is known.
    tau, speed = row.tau_measured, row.speedup_measured
    predicted, predicted_span, difference = None, None, None
    if row.tau_predicted is not None:
        predicted, predicted_span = row.tau_predicted.value, span_of(row.tau_predicted)
    if row.tau_difference is not None:
        difference = span_of(row.tau_difference)

    # The row, predictions beside measurements.
    return {
        "name": row.name,
        "rule": row.rule,
        "tree": row.tree,
        "parents": list(row.parents),
        "nodes": row.nodes,
        "levels": row.levels,
        "tau": {
            "predicted": predicted,
            "predicted_interval": predicted_span,
            "predicted_error": row.tau_sampled,
            "measured": tau.value,
            "interval": span_of(tau),
            "difference_interval": difference,
        },
        "target_calls": {"measured": row.calls_measured, "tokens": row.tokens},
        "speedup": {
            "predicted": row.speedup_predicted,
            "measured": speed.value,
            "interval": span_of(speed),
        },
        "cycle_s": {
            "predicted": row.cycle_s_predicted,
            "measured": row.cycle_s_measured,
            "plain_predicted": row.plain_s_predicted,
            "plain_measured": row.plain_s_measured,
            "phases_measured": row.phases_s,
        },
        "pass": {"tokens": row.nodes + 1, "plain_steps": row.pass_steps},
        "costs": asdict(row.costs),
    }


def fastest_as_json(fastest: Fastest) -> dict[str, Any]:
    """Return the JSON form of the fastest entries."""
    return {
        "tree": fastest.tree,
        "chain": fastest.chain,
        "measured": fastest.measured.value,
        "interval": span_of(fastest.measured),
    }
