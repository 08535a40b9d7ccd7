"""Costs of a cycle: from a record, from measured passes, from numbers, or from models on a device."""

from __future__ import annotations

from specsim.commands.plan import read
from specsim.commands.plan.comparison import Comparison
from specsim.commands.plan.cost_record import Costs
from specsim.commands.plan.declared import compared_costs, declared_costs
from specsim.commands.plan.modelled import modelled_costs
from specsim.commands.plan.options import PlanOptions
from specsim.commands.plan.own_times import measured_costs
from specsim.commands.plan.search import Search
from specsim.commands.plan.share import LOOKED_UP, drafted_share
from specsim.latency import PassTimes, in_one_pass
from specsim.lengths.acceptance_record import Acceptance
from specsim.speed.ssd import cached_drafts

# Kinds of drafters that make a block in one pass, by the kind that drafts one by one with the same model.
IN_ONE_PASS = {"model": "parallel", "eagle3": "peagle"}


def plan_costs(
    options: PlanOptions,
    record: Comparison | None,
    times: PassTimes | None,
    acceptance: Acceptance,
    search: Search,
) -> Costs:
    """Return the costs of a comparison, of measured passes, as declared, or of models on a device.

    Raise ValueError for options that do not go together.
    """
    # Looked-up drafts have target calls without a draft, on which their acceptance says nothing: their share is needed.
    drafter = (options.draft or "").lower()
    if record is not None:
        drafter = "a comparison"
    if options.draft_costs is not None and options.costs is None:
        raise ValueError("--draft-costs goes with --costs, the times of the target's passes: give both")
    share = drafted_share(drafter, options.drafted_share)

    # Costs of a cycle of draft steps and one pass.
    if record is not None:
        costs = compared_costs(options, record, search.batches)
    elif times is not None:
        costs = measured_costs(options, times)
    elif all(name is None for name in (options.target, options.draft, options.hardware)):
        costs = declared_costs(options, search.batches)
    else:
        costs = modelled_costs(options, search.batches, search.contexts)
    costs = costs._replace(share=share)

    # Other ways to draft.
    if costs.method in LOOKED_UP and (options.one_pass or options.cache_hits is not None):
        raise ValueError("drafts that are looked up take no time: leave out --one-pass and --cache-hits")
    if options.one_pass and not costs.latency.one_pass:
        kind = IN_ONE_PASS.get(costs.method, costs.method)
        costs = costs._replace(latency=in_one_pass(costs.latency), method=kind)
    if options.cache_hits is not None:
        hits = read.numbers(options.cache_hits, "cache_hits", "[0, 1]")
        costs = costs._replace(latency=cached_drafts(costs.latency, acceptance, hits))
    return costs
