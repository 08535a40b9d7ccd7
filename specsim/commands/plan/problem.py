"""The inputs of a plan: costs, acceptance, and the points and lengths to try. Each is read once, here."""

from __future__ import annotations

from typing import NamedTuple

from specsim.commands.plan import read
from specsim.commands.plan.comparison import Comparison, read_comparison
from specsim.commands.plan.contexts import acceptance_by_context, curved_search
from specsim.commands.plan.cost_record import Costs
from specsim.commands.plan.costs import plan_costs
from specsim.commands.plan.engine_logs import logged_acceptance, logged_costs, logged_search, read_engine_logs
from specsim.commands.plan.one_pass import one_pass_notes
from specsim.commands.plan.options import PlanOptions
from specsim.commands.plan.own_times import measured_search
from specsim.commands.plan.read import PlanAcceptance
from specsim.commands.plan.search import Search, read_search
from specsim.commands.plan.share import mixed_acceptance, mixed_costs
from specsim.latency import LatencyModel, read_pass_times
from specsim.latency.times.record import with_blocks
from specsim.lengths.acceptance_record import Acceptance
from specsim.speed.log_costs import LogCosts


class Problem(NamedTuple):
    """Everything that a plan is computed from.

    costs, drafts: of target calls that have a draft. latency, acceptance: of the mean target call, if some have none.
    notes: remarks on the costs for the reader. by_point: acceptance of calls that have a draft at each (batch,
    context), where it is not the same everywhere; drafts and acceptance are then those of the first point.
    """

    costs: Costs
    drafts: PlanAcceptance
    latency: LatencyModel
    acceptance: Acceptance
    search: Search
    notes: tuple[str, ...]
    by_point: dict[tuple[int, int], Acceptance]

    def drafted_at(self, batch: int, context: int) -> Acceptance:
        """Return the acceptance of target calls that have a draft, at a point."""
        return self.by_point.get((batch, context), self.drafts.acceptance)

    def near(self, batch: int) -> Problem:
        """Return the problem with the acceptance of the nearest batch that has one of its own."""
        if not self.by_point:
            return self
        nearest = min(self.by_point, key=lambda point: abs(point[0] - batch))
        return self._replace(acceptance=self.acceptance_at(*nearest))

    def acceptance_at(self, batch: int, context: int) -> Acceptance:
        """Return the acceptance of the mean target call at a point."""
        if (batch, context) not in self.by_point:
            return self.acceptance
        return mixed_acceptance(self.by_point[batch, context], self.costs.share)


def read_problem(options: PlanOptions) -> Problem:
    """Read the problem from the options; raise ValueError for anything that is wrong, before any work."""
    # The points, and a record that may hold times and acceptance.
    search = read_search(options)
    logs = None if not options.log else read_engine_logs(options, options.log)
    if isinstance(logs, LogCosts):
        return _logged_problem(options, search, logs)
    times = logs if options.costs is None else read_pass_times(options.costs)
    if times is not None:
        times = with_blocks(times)
        search = measured_search(options, search, times)
    record = None if options.comparison is None else read_comparison(options.comparison)

    # Acceptance and costs of target calls that have a draft.
    drafts = _drafts(options, record)
    by_point: dict[tuple[int, int], Acceptance] = {}
    notes: tuple[str, ...] = ()
    if drafts.curves is not None:
        search = curved_search(options, search, drafts.curves)
        by_point, notes = acceptance_by_context(options, search, drafts.curves)
        drafts = drafts._replace(acceptance=drafts.curves.at(search.contexts[0]))
    costs = plan_costs(options, record, times, drafts.acceptance, search)
    if drafts.ranks and costs.share < 1:
        raise ValueError("drafts that are looked up are chains: give --hazards or ALPHA instead of --ranks")

    # The search stays within what the costs cover.
    notes += (*costs.notes, *one_pass_notes(options, costs, drafts))
    if costs.latency.unit != "s" and len(search.batches) * len(search.contexts) > 1:
        if not by_point:
            notes += ("the costs given are the same at every batch and context: one point says all",)
        elif len(search.batches) > 1:
            notes += ("the costs given are the same at every batch: the first says all",)
    return Problem(
        costs=costs,
        drafts=drafts,
        latency=mixed_costs(costs.latency, costs.share),
        acceptance=mixed_acceptance(drafts.acceptance, costs.share),
        search=_limited(search, costs, by_context=bool(by_point)),
        notes=notes,
        by_point=by_point,
    )


def _logged_problem(options: PlanOptions, search: Search, logs: LogCosts) -> Problem:
    """Return the problem of an engine's own logs, which have costs and acceptance at each of their batches."""
    search = logged_search(options, search, logs)
    drafts, by_point = logged_acceptance(options, search, logs)
    costs = logged_costs(logs)
    return Problem(
        costs=costs,
        drafts=drafts,
        latency=costs.latency,
        acceptance=drafts.acceptance,
        search=_limited(search, costs, by_context=bool(by_point)),
        notes=costs.notes,
        by_point=by_point,
    )


def _drafts(options: PlanOptions, record: Comparison | None) -> PlanAcceptance:
    """Return the acceptance that the options give, else that of the comparison."""
    sources = (options.alpha, options.ranks, options.hazards, options.histogram, options.rows)
    if record is not None and all(source is None for source in sources):
        return record.drafts
    return read.acceptance(options)


def _limited(search: Search, costs: Costs, *, by_context: bool) -> Search:
    """Return the search within the sizes that costs are known of, without points that differ in nothing.

    by_context: acceptance depends on the context.
    """
    # The longest block and the largest tree of which costs are known.
    max_gamma, nodes = search.max_gamma, search.nodes
    for limit in (costs.max_drafts, costs.latency.longest):
        if limit is not None:
            max_gamma = min(max_gamma, limit)
    if costs.max_nodes is not None:
        nodes = min(nodes, costs.max_nodes)

    # Costs in plain steps are the same at every batch and context: one batch is enough, and one context unless
    # acceptance depends on it.
    if costs.latency.unit != "s":
        search = search._replace(
            batches=search.batches[:1], contexts=search.contexts if by_context else search.contexts[:1]
        )
    return search._replace(max_gamma=max_gamma, nodes=nodes)
