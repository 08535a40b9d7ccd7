"""Costs from times of passes that the user measured: `--costs`, with `--draft-costs` or `--cost-ratio`."""

from __future__ import annotations

from statistics import median

from specsim.base import check
from specsim.commands.plan import doubts
from specsim.commands.plan.cost_record import Costs
from specsim.commands.plan.load_options import load_of
from specsim.commands.plan.options import PlanOptions, is_given
from specsim.commands.plan.search import Search, check_size
from specsim.latency import PassTimes, from_pass_times, read_pass_times
from specsim.latency.times.record import axis_values, check_inside

# Options that say what passes cost, or of which models: measured times stand instead of them.
INSTEAD = (
    *("target", "draft", "hardware", "tp", "draft_tp", "dtype", "weights", "draft_weights", "draft_vocab", "kv_dtype"),
    *("experts_overhead", "verify_cost"),
)


def measured_search(options: PlanOptions, search: Search, times: PassTimes) -> Search:
    """Return the search at the points asked for, all of which were measured, or at every measured batch and context.

    ValueError for a point or a block beyond what was measured. A load has no points: `loads` says what it needs.
    """
    load = load_of(options)
    # Batches and contexts: those asked for, else all of the file.
    points = {"batch": search.batches, "context": search.contexts}
    for axis, values in points.items():
        if load:
            continue
        if not is_given(options, axis):
            points[axis] = tuple(axis_values(times, axis))
            continue
        if axis in times.unknown:
            raise ValueError(
                f"--{axis} is {getattr(options, axis)}, and {times.source} does not say at which {axis} it was "
                f"measured: add a column {axis}, or leave out --{axis}"
            )
        for value in values:
            check_inside(times, {axis: value})
    # Blocks: a block of g drafts is verified by a pass over g + 1 tokens.
    most = axis_values(times, "tokens")[-1]
    if is_given(options, "max_gamma") and search.max_gamma >= most:
        raise ValueError(
            f"--max-gamma is {search.max_gamma}, which takes a pass of {search.max_gamma + 1} tokens, and "
            f"{times.source} has {most} at most; measure that pass, or give --max-gamma {max(most - 1, 1)}"
        )
    search = search._replace(batches=points["batch"], contexts=points["context"])
    check_size(search, whole_schedule=False, all_contexts=True)
    return search


def measured_costs(options: PlanOptions, times: PassTimes) -> Costs:
    """Return the costs of measured passes; ValueError for options that say the same, and for what is missing."""
    # One source of each time.
    beside = [f"--{name.replace('_', '-')}" for name in INSTEAD if is_given(options, name)]
    if options.log:
        beside = [name for name in beside if name != "--verify-cost"]
    if beside:
        raise ValueError(f"--costs has the times of passes; leave out {', '.join(beside)}")
    if (options.draft_costs is None) == (options.cost_ratio is None):
        raise ValueError(
            "--costs has no time of a draft step: give --draft-costs, or --cost-ratio in plain steps (0: drafts are "
            "free), one of them"
        )
    draft: PassTimes | float
    if options.draft_costs is not None:
        draft = read_pass_times(options.draft_costs)
    else:
        draft = float(check.scalar(options.cost_ratio, "cost_ratio", "[0, inf)"))
    overhead_ms = 0.0 if options.overhead is None else options.overhead
    overhead_s = float(check.scalar(overhead_ms, "overhead", "[0, inf)")) / 1e3
    latency = from_pass_times(times, draft, overhead=overhead_s)

    # Without --overhead it is in no value, but the low ends of intervals allow for it.
    hidden_overhead = 0.0
    if options.overhead is None:
        hidden_overhead = doubts.OVERHEAD_S
        latency = latency._replace(assumptions=(*latency.assumptions, doubts.hidden_words(hidden_overhead)))
    most = axis_values(times, "tokens")[-1]
    return Costs(
        latency,
        notes=(f"{times.source} timed passes over {most} tokens at most: no larger block is tried",),
        hidden_overhead=hidden_overhead,
        max_drafts=most - 1,
        max_nodes=most - 1,
        is_measured=True,
        unknown=times.unknown,
        batches=tuple(axis_values(times, "batch")),
        contexts=tuple(axis_values(times, "context")),
        prompts={tokens: median(seconds) for tokens, seconds in times.prompts},
        has_reading=bool(options.log),
    )
