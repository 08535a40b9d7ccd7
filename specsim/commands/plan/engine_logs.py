"""Costs and acceptance from an engine's own logs: `--log off.log`, and `--log on.log` with speculation."""

from __future__ import annotations

from pathlib import Path

from specsim.commands.plan import read
from specsim.commands.plan.contexts import OF_ONE_ACCEPTANCE
from specsim.commands.plan.cost_record import Costs
from specsim.commands.plan.load_options import load_of
from specsim.commands.plan.options import PlanOptions, is_given
from specsim.commands.plan.own_times import INSTEAD
from specsim.commands.plan.read import PlanAcceptance
from specsim.commands.plan.search import Search
from specsim.latency import PassTimes
from specsim.latency.times.record import Place
from specsim.lengths.acceptance_record import Acceptance
from specsim.logs.read import read_log
from specsim.logs.record import EngineLog, shown
from specsim.speed.log_costs import LogCosts, log_costs
from specsim.speed.runs import NOISE, plain_step_of

# What logs with speculation say: how drafts are accepted, and what a whole cycle costs.
OF_LOGS = (
    *("alpha", "ranks", "hazards", "histogram", "rows", "tau", "comparison"),
    *(*INSTEAD, "cost_ratio", "overhead", "costs", "draft_costs", "one_pass", "cache_hits"),
)


def read_engine_logs(options: PlanOptions, paths: list[Path]) -> LogCosts | PassTimes:
    """Return the costs of logs of both kinds; of logs without speculation alone, plain steps and declared passes."""
    runs = [run for path in paths for run in _runs(path)]
    off = [run for run in runs if not run.speculating]
    on = [run for run in runs if run.speculating]
    if not off:
        names = ", ".join(path.name for path in paths)
        raise ValueError(f"{names}: no run without speculation; a plan needs its time: give --log OFF --log ON")
    if options.costs is not None:
        raise ValueError("--log and --costs both say what passes cost; give one of them")
    if not on:
        return _plain_times(options, off)
    beside = [f"--{name.replace('_', '-')}" for name in OF_LOGS if is_given(options, name)]
    # The acceptance rate is an argument.
    beside = ["ALPHA" if name == "--alpha" else name for name in beside]
    if beside:
        raise ValueError(f"--log has costs and acceptance of its own; leave out {', '.join(beside)}")
    if options.drafted_share not in (None, 1):
        raise ValueError("--drafted-share below 1 says that some steps had no draft: --log plans runs without such")
    return log_costs(off, on, length=options.gamma, every_step=options.drafted_share is not None)


def logged_search(options: PlanOptions, search: Search, costs: LogCosts) -> Search:
    """Return the search at the batches that `--batch` names, by default at all batches of the logs."""
    # Logs do not say contexts.
    if options.context is not None:
        raise ValueError(
            f"--context is {options.context}, and logs do not say the contexts of their requests; leave it out"
        )
    if load_of(options):
        return search._replace(contexts=(0,), max_gamma=min(search.max_gamma, costs.lengths[-1]))
    # Only batches that the logs have.
    batches = costs.batches
    if options.batch is not None:
        missing = [batch for batch in search.batches if batch not in costs.batches]
        if missing:
            raise ValueError(
                f"batch {missing[0]} is of no pair of logs, which have {', '.join(map(str, costs.batches))}; give logs "
                "of that batch"
            )
        batches = search.batches
    # No block is longer than the longest of the logs.
    longest = costs.lengths[-1]
    if is_given(options, "max_gamma") and search.max_gamma > longest:
        raise ValueError(
            f"--max-gamma is {search.max_gamma}, and the logs ran {longest} drafts at most; give a log of that length"
        )
    return search._replace(batches=batches, contexts=(0,))


def logged_acceptance(
    options: PlanOptions, search: Search, costs: LogCosts
) -> tuple[PlanAcceptance, dict[tuple[int, int], Acceptance]]:
    """Return the acceptance of the first batch, and that of every point if there are several."""
    if load_of(options):
        # Requests at a rate pass through many batches: they take the acceptance of the largest that was logged.
        largest = PlanAcceptance(costs.acceptance[costs.batches[-1]])
        return largest, {(batch, 0): acceptance for batch, acceptance in costs.acceptance.items()}
    first = PlanAcceptance(costs.acceptance[search.batches[0]])
    if len(search.batches) == 1:
        return first, {}
    single = [name for name in OF_ONE_ACCEPTANCE if is_given(options, name)]
    if single:
        raise ValueError(
            f"--{single[0].replace('_', '-')} takes one acceptance, and the logs have another at each batch: give one "
            "--batch"
        )
    return first, {(batch, 0): costs.acceptance[batch] for batch in search.batches}


def logged_costs(costs: LogCosts) -> Costs:
    """Return the record of costs of logs of both kinds."""
    longest = costs.lengths[-1]
    return Costs(
        costs.latency,
        notes=(*costs.notes, f"the logs ran blocks of {longest} drafts at most: no larger block is tried"),
        max_drafts=longest,
        is_measured=True,
        is_whole_cycle=True,
        unknown=("context",),
        batches=costs.batches,
        contexts=(0,),
        has_reading=True,
    )


def _runs(path: Path) -> list[EngineLog]:
    """Return the runs of a log by batch; ValueError if it cannot be read."""
    try:
        return list(read_log(path, by_batch=True))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None


def _plain_times(options: PlanOptions, off: list[EngineLog]) -> PassTimes:
    """Return plain steps as logged, and longer passes as declared in plain steps."""
    # Refuse logs or options that do not give both.
    source = ", ".join(dict.fromkeys(run.source for run in off))
    if options.verify_cost is None or options.cost_ratio is None:
        raise ValueError(
            f"{source} has plain steps alone, and says nothing of drafting and verifying: give a log with speculation, "
            "too (--log ON), or --cost-ratio and --verify-cost in plain steps"
        )
    curve = read.verify_curve(options.verify_cost)
    if curve[0] != 1:
        raise ValueError(f"verify_cost[0] is {curve[0]:g}; t(1) is one plain step, 1")
    untimed = [run.source for run in off if run.token is None]
    if untimed:
        raise ValueError(f"{untimed[0]} has no time per token; expected the time of plain steps")

    # A pass over n tokens takes entry n - 1 of the curve times the plain step of its batch.
    by_batch: dict[int, list[EngineLog]] = {}
    for run in off:
        by_batch.setdefault(max(round(run.batch or 1.0), 1), []).append(run)
    seconds: dict[Place, tuple[float, ...]] = {
        (tokens, batch, 0): (cost * plain_step_of(runs, NOISE).value,)
        for batch, runs in by_batch.items()
        for tokens, cost in enumerate(curve, 1)
    }

    # What is declared, not measured.
    notes = [f"passes over 2 tokens or more take what --verify-cost declares, in plain steps of {source}"]
    if len(by_batch) > 1:
        listed = ", ".join(shown(batch) for batch in by_batch)
        notes.append(f"--verify-cost is taken to be the same at batches {listed}, though passes grow with the batch")
    return PassTimes(source, seconds, ("context",), tuple(notes))
