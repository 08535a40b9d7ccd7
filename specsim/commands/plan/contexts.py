"""Acceptance by context: `--hazards` with a column context, each point by the nearest context of the file."""

from __future__ import annotations

from specsim.commands.plan.load_options import context_of, lengths_of, load_of
from specsim.commands.plan.options import PlanOptions, is_given
from specsim.commands.plan.search import Search
from specsim.lengths.acceptance_record import Acceptance
from specsim.lengths.hazard_files import HazardCurves

# Options that ask for one acceptance at all contexts.
OF_ONE_ACCEPTANCE = ("emit", "plot", "cache_hits")


def curved_search(options: PlanOptions, search: Search, curves: HazardCurves) -> Search:
    """Return the search at the contexts that `--context` or `--costs` name, else at those of the file.

    A load has the acceptance of the context at which its cycles are priced.
    """
    if load := load_of(options):
        if options.ttft_ms is not None and options.prompt_tokens is None and options.context is None:
            raise ValueError(
                f"{curves.source} has hazards by context, and --ttft-ms alone does not say the context: give "
                "--prompt-tokens, or --context"
            )
        context, known = context_of(options, lengths_of(options)), curves.contexts
        if not known[0] <= context <= known[-1]:
            where = "as --context says" if options.context is not None else "in the middle of an answer"
            raise ValueError(
                f"--{load} needs acceptance at context {context}, {where}, and {curves.source} has context "
                f"{', '.join(map(str, known))}: count hazards there, or give --context within"
            )
        return search._replace(contexts=(context,))
    if options.context is None and options.costs is None:
        return search._replace(contexts=curves.contexts)
    return search


def acceptance_by_context(
    options: PlanOptions, search: Search, curves: HazardCurves
) -> tuple[dict[tuple[int, int], Acceptance], tuple[str, ...]]:
    """Return the acceptance of each point, and notes on points that use hazards of another context.

    The dictionary is empty if all points have the same acceptance.

    ValueError for a context beyond those of the file, and for options that take one acceptance at all contexts.
    """
    # The context of the file that is nearest to each context of the plan.
    used = {context: curves.nearest(context) for context in search.contexts}
    notes = tuple(
        f"context {context}: the hazards of context {nearest} are used, the nearest of {curves.source}"
        for context, nearest in used.items()
        if nearest != context
    )
    if len(set(used.values())) == 1:
        return {}, notes
    # Several acceptances: refuse options that take one.
    single = [name for name in OF_ONE_ACCEPTANCE if is_given(options, name)]
    if single:
        raise ValueError(
            f"--{single[0].replace('_', '-')} takes one acceptance, and {curves.source} has another at each context: "
            "give one --context"
        )
    points = {(batch, context): curves.at(context) for batch in search.batches for context in search.contexts}
    return points, notes
