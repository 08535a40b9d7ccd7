"""Prediction and measurement of trees and chains put together: rows, who is fastest, and their JSON form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from real.decode.clock import PHASES
from real.studies import intervals
from real.studies.compare.record import Run, Turn, span_of
from real.studies.compare.tree_shapes import Entry, Text, predicted
from real.studies.costs import Costs, costs_of
from real.studies.intervals import Estimate
from specsim.lengths.tree_texts import jackknife_error
from specsim.types import Array

SIMULTANEOUS = 0.99  # level at which all intervals of differences hold at once


@dataclass(frozen=True)
class TreeRow:
    """A chain or a tree under one rule: predictions (None where no law given the text is known) and measurements."""

    name: str
    rule: str
    tree: bool
    parents: tuple[int, ...]
    nodes: int
    levels: int
    tau_predicted: Estimate | None
    tau_sampled: float  # standard error of the prediction by sampled siblings; the interval is over texts
    tau_measured: Estimate
    tau_difference: Estimate | None  # measured - predicted, simultaneous over all that are predicted
    calls_measured: int
    tokens: int
    speedup_predicted: float | None
    speedup_measured: Estimate
    cycle_s_predicted: float
    cycle_s_measured: float
    plain_s_predicted: float
    plain_s_measured: float
    pass_steps: float | None  # t(m): the pass over m = nodes + 1 tokens in plain steps; None where no phase is timed
    costs: Costs
    phases_s: dict[str, float]


@dataclass(frozen=True)
class Fastest:
    """The tree and the chain that were measured fastest, (place in the rows), and the tree's speed over the chain's."""

    tree: int
    chain: int
    measured: Estimate


def rows_of(entries: Sequence[Entry], texts: Sequence[Text], turns: Sequence[Turn], plain_job: Any) -> list[TreeRow]:
    """A row for each entry, from finished turns and the texts of the same prompts."""
    found = [[predicted(entry, text) for text in texts] for entry in entries]
    number = sum(each[0] is not None for each in found)
    level = 1 - (1 - SIMULTANEOUS) / max(number, 1)
    plain, visits = [turn.runs[plain_job] for turn in turns], [turn.visits[plain_job] for turn in turns]
    lengths = np.array([len(text.score.p) for text in texts])
    return [_row(entry, each, lengths, turns, plain, visits, level) for entry, each in zip(entries, found, strict=True)]


def _row(
    entry: Entry, found: list[Any], lengths: Array, turns: Sequence[Turn], plain: list[Run], visits: Any, level: float
) -> TreeRow:
    runs = [turn.runs[entry.job] for turn in turns]
    tokens, blocks = np.array([run.tokens for run in runs]), np.array([len(run.accepted) for run in runs])
    steps, cycles = (np.array([run.cycle for run in each]) for each in (plain, runs))
    costs = costs_of({0: visits, entry.length: [turn.visits[entry.job] for turn in turns]})
    cycle, step = costs.cycle(entry.length), costs.cycle(0)
    tau, difference, sampled = None, None, 0.0
    if found[0] is not None:
        expected = np.array([float(renewed.blocks) for renewed, _ in found])
        tau = intervals.ratio(lengths, expected)
        difference = intervals.jackknife(
            (tokens, blocks, lengths, expected), lambda a, b, c, d: a / b - c / d, level=level
        )
        # Texts have siblings of their own: the variances of their target calls add up.
        variance = sum(jackknife_error(np.array(without)) ** 2 for _, without in found)
        sampled = tau.value * float(variance) ** 0.5 / float(expected.sum())
    phases = [turn.phases[entry.job] for turn in turns if entry.job in turn.phases]
    return TreeRow(
        name=entry.name,
        rule=entry.rule,
        tree=entry.is_tree,
        parents=entry.parents,
        nodes=entry.nodes,
        levels=entry.length,
        tau_predicted=tau,
        tau_sampled=sampled,
        tau_measured=intervals.ratio(tokens, blocks),
        tau_difference=difference,
        calls_measured=int(blocks.sum()),
        tokens=int(tokens.sum()),
        speedup_predicted=None if tau is None else tau.value * step / cycle,
        speedup_measured=intervals.speedup(tokens, blocks, steps, cycles),
        cycle_s_predicted=cycle,
        cycle_s_measured=float(np.median(cycles)),
        plain_s_predicted=step,
        plain_s_measured=float(np.median(steps)),
        pass_steps=costs.phase("verify", entry.length) / costs.phase("verify", 0) if phases else None,
        costs=costs,
        phases_s={name: sum(each[name] for each in phases) / float(blocks.sum()) for name in PHASES if phases},
    )


def fastest_of(rows: Sequence[TreeRow], entries: Sequence[Entry], turns: Sequence[Turn]) -> Fastest:
    """The fastest tree beside the fastest chain, prompt paired with prompt."""
    best = {
        tree: max((i for i, row in enumerate(rows) if row.tree == tree), key=lambda i: rows[i].speedup_measured.value)
        for tree in (True, False)
    }
    data = []
    for place in best.values():
        runs = [turn.runs[entries[place].job] for turn in turns]
        data += [
            np.array([run.tokens for run in runs]),
            np.array([len(run.accepted) for run in runs]),
            np.array([run.cycle for run in runs]),
        ]

    def faster(*each: Array) -> Array:
        kept = each[0].sum(-1) * each[4].sum(-1) / (each[1].sum(-1) * each[3].sum(-1))
        return kept * np.median(each[5], axis=-1) / np.median(each[2], axis=-1)

    return Fastest(best[True], best[False], intervals.bootstrap(tuple(data), faster))


def as_json(row: TreeRow) -> dict[str, Any]:
    """The JSON form of a row; see real/results/README.md for the schema."""
    tau, speed = row.tau_measured, row.speedup_measured
    return {
        "name": row.name,
        "rule": row.rule,
        "tree": row.tree,
        "parents": list(row.parents),
        "nodes": row.nodes,
        "levels": row.levels,
        "tau": {
            "predicted": None if row.tau_predicted is None else row.tau_predicted.value,
            "predicted_interval": None if row.tau_predicted is None else span_of(row.tau_predicted),
            "predicted_error": row.tau_sampled,
            "measured": tau.value,
            "interval": span_of(tau),
            "difference_interval": None if row.tau_difference is None else span_of(row.tau_difference),
        },
        "target_calls": {"measured": row.calls_measured, "tokens": row.tokens},
        "speedup": {"predicted": row.speedup_predicted, "measured": speed.value, "interval": span_of(speed)},
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


def fastest_as_json(found: Fastest) -> dict[str, Any]:
    """The JSON form of who is fastest."""
    return {
        "tree": found.tree,
        "chain": found.chain,
        "measured": found.measured.value,
        "interval": span_of(found.measured),
    }
