"""The points and lengths that a plan tries."""

from __future__ import annotations

from typing import NamedTuple

from specsim.base import check
from specsim.commands.plan import lists, load_options
from specsim.commands.plan.options import PlanOptions

# A schedule predicts every batch and length: so many predictions take some seconds.
MAX_PREDICTIONS = 1 << 18
# The point that is planned if none is asked for.
BATCH, CONTEXT = "1", "1k"


class Search(NamedTuple):
    """The points to plan, and the limits of what is tried at each.

    batches, contexts: the points are all pairs of them. max_gamma: longest block, and deepest tree. nodes: largest
    tree. level: confidence level of the intervals.
    """

    batches: tuple[int, ...]
    contexts: tuple[int, ...]
    max_gamma: int
    nodes: int
    level: float


def read_search(options: PlanOptions) -> Search:
    """Read the points and limits. Under a load there is one point: the largest batch at the end of an answer."""
    # Limits of what is tried at each point.
    max_gamma = lists.bounded(options.max_gamma, "max_gamma", 1)
    nodes = lists.bounded(options.nodes, "nodes", 1)
    level = float(check.scalar(options.level, "level", "(0, 1)"))
    # Points: of requests by rate, of clients in a loop, or as the options name them.
    batches: tuple[int, ...]
    contexts: tuple[int, ...]
    if load := load_options.load_of(options):
        lengths = load_options.lengths_of(options)
        batches = (options.batch_limit,) if load == "rate" else tuple(sorted(load_options.clients_of(options)))
        contexts = (load_options.context_of(options, lengths) + round(lengths.outputs.mean / 2),)
    else:
        batches = lists.whole_numbers(BATCH if options.batch is None else options.batch, "batch", 1)
        contexts = lists.whole_numbers(CONTEXT if options.context is None else options.context, "context", 0)
    return Search(batches, contexts, max_gamma, nodes, level)


def check_size(search: Search, *, whole_schedule: bool, all_contexts: bool) -> None:
    """Raise ValueError if so many points and lengths would take too long.

    whole_schedule: every batch up to the largest is predicted. all_contexts: at every context, not at the first alone.
    """
    points = max(search.batches) if whole_schedule else len(search.batches)
    points *= len(search.contexts) if all_contexts else 1
    if points * search.max_gamma > MAX_PREDICTIONS:
        raise ValueError(
            f"{points} points of {search.max_gamma} lengths are too many; their product may be {MAX_PREDICTIONS} at "
            "most"
        )
