"""The options of a load: sizes of requests at a rate, clients of a closed loop, and how their server batches."""

from __future__ import annotations

from specsim.base import check
from specsim.commands.plan import lists
from specsim.commands.plan.options import PlanOptions, is_given
from specsim.speed.load.loop import Server
from specsim.speed.load.request_lengths import Lengths, length_law
from specsim.speed.load.service import MAX_OUTPUT

# The most of each that is sensible.
MOST = {"rate": 16, "prompt_tokens": 1 << 20, "output_tokens": MAX_OUTPUT, "batch_limit": 1024}
MOST_POINTS, MOST_CLIENTS = 16, 1024
# Tokens of a prompt where nothing is told.
PROMPT = "512"
# Options that --rate and --concurrency share, and those that one of them reads.
OF_LOADS = ("prompt_tokens", "output_tokens")
OF_RATES = ("batch_limit", "within")
OF_LOOPS = ("gamma", "tau", "ttft_ms", "prefix_share", "captured", "unchunked")
# Options that neither can take into account, and one that --rate cannot.
NOT_OF_LOADS = ("comparison", "batch", "context", "nodes")
NOT_OF_RATES = ("emit",)


def check_together(options: PlanOptions) -> None:
    """Raise ValueError for options of loads that do not go together, or with others."""
    at_rates, in_loops = options.rate is not None, options.concurrency is not None
    if at_rates and in_loops:
        raise ValueError("--rate is of requests that arrive, --concurrency of clients that wait: give one of them")
    # Options without the load that reads them.
    needs: list[tuple[tuple[str, ...], bool, str]] = [(OF_LOADS, at_rates or in_loops, "--rate or --concurrency")]
    of_loops = tuple(name for name in OF_LOOPS if name != "gamma" or not options.log)
    needs += [(OF_RATES, at_rates, "--rate"), (of_loops, in_loops, "--concurrency")]
    for names, is_there, needed in needs:
        misplaced = [] if is_there else [name for name in names if is_given(options, name)]
        if misplaced:
            raise ValueError(f"--{misplaced[0].replace('_', '-')} goes with {needed}")
    # Options that say nothing of a load.
    excluded = (*NOT_OF_LOADS, *(NOT_OF_RATES if at_rates else ()))
    conflicts = [name for name in excluded if is_given(options, name)]
    if conflicts and (at_rates or in_loops):
        load = "--rate" if at_rates else "--concurrency"
        raise ValueError(f"{load} says nothing of --{conflicts[0]}; leave out one of them")
    if at_rates:
        sizes_at_rate(options)
        for_limit = check.integer(options.batch_limit, "batch_limit", 1)
        if for_limit > MOST["batch_limit"]:
            raise ValueError(f"batch_limit is {for_limit}; it must be at most {MOST['batch_limit']}")
        if options.within is not None:
            check.scalar(options.within, "within", "(0, inf)")
    if in_loops and options.ranks is not None:
        raise ValueError("--ranks plans trees, and a closed loop is planned for chains: give ALPHA, the first rank")
    if options.tau is not None and options.gamma is None:
        raise ValueError("--tau is measured at one block length: give --gamma, too")


def _written(options: PlanOptions, name: str) -> str:
    """Return a length of requests as it is typed, or the default."""
    written = getattr(options, name)
    return PROMPT if written is None else str(written).strip()


def sizes_at_rate(options: PlanOptions) -> tuple[int, int]:
    """Return the tokens of each prompt and each answer at a rate, where all requests are alike."""
    sizes = []
    for name in OF_LOADS:
        written = _written(options, name)
        if not written.removeprefix("-").isdecimal() or len(written) > 15:
            raise ValueError(
                f"{name} is {written[:40]!r}; with --rate all requests are alike: write a whole number "
                "(--concurrency takes spreads and files)"
            )
        value = check.integer(int(written), name, 1)
        if value > MOST[name]:
            raise ValueError(f"{name} is {value}; it must be at most {MOST[name]}")
        sizes.append(value)
    return sizes[0], sizes[1]


def clients_of(options: PlanOptions) -> tuple[int, ...]:
    """Return the numbers of clients of closed loops."""
    clients = lists.whole_numbers(str(options.concurrency), "concurrency", 1)
    if len(clients) > MOST_POINTS:
        raise ValueError(f"concurrency has {len(clients)} entries; it must have at most {MOST_POINTS}")
    return tuple(dict.fromkeys(clients))


def lengths_of(options: PlanOptions) -> Lengths:
    """Return the lengths of prompts and answers in a closed loop."""
    prompts, outputs = (length_law(_written(options, name), name, MOST[name]) for name in OF_LOADS)
    return Lengths(prompts, outputs)


def server_of(options: PlanOptions) -> Server:
    """Return how the server batches, as the options say."""
    captured: tuple[int, ...] = ()
    if options.captured is not None:
        captured = lists.whole_numbers(options.captured, "captured", 1)
        if list(captured) != sorted(set(captured)):
            raise ValueError(f"captured is {options.captured}; write the sizes in increasing order, each once")
    share = float(check.scalar(options.prefix_share, "prefix_share", "[0, 1)"))
    return Server(captured, chunked=not options.unchunked, cached_share=share)
