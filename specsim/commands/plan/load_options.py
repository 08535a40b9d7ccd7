"""The options of a load: its requests, its clients or rates, and how the server batches."""

from __future__ import annotations

from specsim.base import check
from specsim.commands.plan import lists
from specsim.commands.plan.options import PlanOptions, is_given
from specsim.speed.load.request_lengths import Lengths, length_law
from specsim.speed.load.service import MAX_OUTPUT
from specsim.speed.load.ways import Server

# The most of each that is sensible.
MOST = {"rate": 16, "prompt_tokens": 1 << 20, "output_tokens": MAX_OUTPUT, "batch_limit": 1024}
MOST_POINTS, MOST_CLIENTS = 16, 1024
# Tokens of a prompt where nothing is told.
PROMPT = "512"
# The options that make a load, options of its requests and its server, and those of requests that arrive.
LOADS = ("rate", "concurrency")
OF_LOADS = ("prompt_tokens", "output_tokens", "gamma", "tau", "ttft_ms", "prefix_share", "captured", "unchunked")
OF_RATES = ("batch_limit", "within")
# Options that a load cannot take into account.
NOT_OF_LOADS = ("comparison", "batch", "nodes")


def load_of(options: PlanOptions) -> str:
    """Return the option that asks for a load, "" without one."""
    return next((name for name in LOADS if is_given(options, name)), "")


def check_together(options: PlanOptions) -> None:
    """Raise ValueError for options of loads that do not go together, or with others."""
    load = load_of(options)
    if all(is_given(options, name) for name in LOADS):
        raise ValueError("--rate is of requests that arrive, --concurrency of clients that wait: give one of them")
    # Options without the load that reads them.
    of_loads = tuple(name for name in OF_LOADS if name != "gamma" or not options.log)
    needs = [(of_loads, load != "", "--concurrency or --rate"), (OF_RATES, load == "rate", "--rate")]
    for names, is_there, needed in needs:
        misplaced = [] if is_there else [name for name in names if is_given(options, name)]
        if misplaced:
            raise ValueError(f"--{misplaced[0].replace('_', '-')} goes with {needed}")
    if options.tau is not None and options.gamma is None:
        raise ValueError("--tau is measured at one block length: give --gamma, too")
    if not load:
        return
    # Options that say nothing of a load.
    conflicts = [name for name in NOT_OF_LOADS if is_given(options, name)]
    if conflicts:
        raise ValueError(f"--{load} says nothing of --{conflicts[0]}; leave out one of them")
    if options.ranks is not None:
        raise ValueError(f"--ranks plans trees, and --{load} is planned for chains: give ALPHA, the first rank")
    for_limit = check.integer(options.batch_limit, "batch_limit", 1)
    if for_limit > MOST["batch_limit"]:
        raise ValueError(f"batch_limit is {for_limit}; it must be at most {MOST['batch_limit']}")
    if options.within is not None:
        check.scalar(options.within, "within", "(0, inf)")


def _written(options: PlanOptions, name: str) -> str:
    """Return a length of requests as it is typed, or the default."""
    written = getattr(options, name)
    return PROMPT if written is None else str(written).strip()


def clients_of(options: PlanOptions) -> tuple[int, ...]:
    """Return the numbers of clients of closed loops."""
    clients = lists.whole_numbers(str(options.concurrency), "concurrency", 1)
    if len(clients) > MOST_POINTS:
        raise ValueError(f"concurrency has {len(clients)} entries; it must have at most {MOST_POINTS}")
    return tuple(dict.fromkeys(clients))


def lengths_of(options: PlanOptions) -> Lengths:
    """Return the lengths of prompts and answers."""
    prompts, outputs = (length_law(_written(options, name), name, MOST[name]) for name in OF_LOADS[:2])
    return Lengths(prompts, outputs)


def context_of(options: PlanOptions, lengths: Lengths) -> int:
    """Return the tokens before a block at which cycles are priced: --context, else the middle of an answer."""
    if options.context is not None:
        contexts = lists.whole_numbers(options.context, "context", 0)
        if len(contexts) > 1:
            raise ValueError(f"context is {options.context}; a load is planned at one context: give one")
        return contexts[0]
    before = 0.0 if lengths.prompts is None else lengths.prompts.mean
    return round(before + lengths.outputs.mean / 2)


def server_of(options: PlanOptions) -> Server:
    """Return how the server batches, as the options say."""
    captured: tuple[int, ...] = ()
    if options.captured is not None:
        captured = lists.whole_numbers(options.captured, "captured", 1)
        if list(captured) != sorted(set(captured)):
            raise ValueError(f"captured is {options.captured}; write the sizes in increasing order, each once")
    share = float(check.scalar(options.prefix_share, "prefix_share", "[0, 1)"))
    return Server(captured, chunked=not options.unchunked, cached_share=share)
