"""Costs that are given: as numbers, or by the record of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from specsim.base.unknown import unknown
from specsim.commands.plan import read
from specsim.commands.plan.comparison import Comparison
from specsim.commands.plan.cost_record import Costs
from specsim.commands.plan.options import PlanOptions, is_given
from specsim.latency import constant, weight_only

# Types of weights whose passes are recorded, for --cost-ratio, and the longest block in these passes.
TIMED = ("int8", "int4")
TIMED_DRAFTS = 16
# Options about models on a device, and options about costs of any kind: a comparison has its own.
ON_A_DEVICE = ("tp", "draft_tp", "dtype", "draft_vocab", "kv_dtype")
OF_COSTS = (
    *("target", "draft", "hardware", "cost_ratio", "verify_cost", "overhead", "weights", "draft_weights", "one_pass"),
    *("cache_hits", "experts_overhead", "costs", "draft_costs"),
)


def _refuse_on_a_device(options: PlanOptions, source: str) -> None:
    """Raise ValueError for options about models on a device, beside another source of costs."""
    misplaced = [f"--{name.replace('_', '-')}" for name in ON_A_DEVICE if is_given(options, name)]
    if misplaced:
        raise ValueError(f"{', '.join(misplaced)}: it says nothing of a {source}; leave it out")


def compared_costs(options: PlanOptions, record: Comparison, batches: Sequence[int]) -> Costs:
    """Return the costs of a comparison."""
    refused = [f"--{name.replace('_', '-')}" for name in OF_COSTS if is_given(options, name)]
    if refused:
        raise ValueError(f"--comparison has costs of its own; leave out {', '.join(refused)}")
    _refuse_on_a_device(options, "--comparison")
    if tuple(batches) != (1,):
        raise ValueError(f"--comparison has the costs of one text at a time; leave out --batch, got {_listed(batches)}")
    limit = record.most - 1
    return Costs(record.latency, notes=record.notes, level_steps=record.steps, max_drafts=limit, max_nodes=limit)


def declared_costs(options: PlanOptions, batches: Sequence[int]) -> Costs:
    """Return costs that are given as numbers."""
    # Options that numbers include, or that belong to models.
    if options.cost_ratio is None:
        raise ValueError(
            "costs are missing: give --target, --draft and --hardware, or --cost-ratio (0: drafts are free)"
        )
    _refuse_on_a_device(options, "--cost-ratio")
    if options.experts_overhead is not None:
        raise ValueError("--experts-overhead is of models on a device; with --cost-ratio it is part of --verify-cost")
    if options.draft_weights is not None:
        raise ValueError("--draft-weights is of models on a device; with --cost-ratio it is part of that number")
    overhead = 0 if options.overhead is None else options.overhead

    # Passes take the times that are given, or those recorded for quantised weights.
    if options.weights is None:
        curve = None if options.verify_cost is None else read.verify_curve(options.verify_cost)
        latency = constant(options.cost_ratio, verify_cost=curve, overhead=overhead)
        max_drafts = None if curve is None else len(curve) - 1
    else:
        if options.weights not in TIMED:
            raise unknown("--weights", options.weights, TIMED, "with --cost-ratio")
        if options.verify_cost is not None:
            raise ValueError("--weights and --verify-cost both say what passes cost; give one of them")
        if batches[0] != 1:
            raise ValueError(
                f"--weights with --cost-ratio was timed for one sequence; leave out --batch, got {_listed(batches)}"
            )
        latency = weight_only(options.weights, options.cost_ratio, overhead=overhead)
        max_drafts = TIMED_DRAFTS

    if options.overhead is None:
        words = "nothing but passes and steps costs time (--overhead is not given)"
        latency = latency._replace(assumptions=(*latency.assumptions, words))
    return Costs(latency, max_drafts=max_drafts)


def _listed(values: Sequence[int]) -> str:
    """Return a list of numbers as it is typed."""
    return ",".join(map(str, values))
