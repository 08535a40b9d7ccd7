"""The server that clients of a closed loop and requests at a rate share, and the ways to decode on it."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from specsim.base import check
from specsim.commands.plan import requests
from specsim.commands.plan.answer import EVERYWHERE
from specsim.commands.plan.load_options import context_of, lengths_of, load_of, server_of
from specsim.commands.plan.load_prompts import read_prompts
from specsim.commands.plan.options import PlanOptions, is_given
from specsim.commands.plan.problem import Problem
from specsim.latency.times.record import listed
from specsim.speed.load.request_lengths import Lengths
from specsim.speed.load.ways import MEASURED_HOST, NO_HOST, Host, Server, Way, alike, way_of

# Relative standard error of a predicted cycle over a plain step where the costs have none of their own: the logarithms
# of the speedup were off by 0.03 in the root mean square on four measured cells (vLLM 0.24, one A100), and this is
# twice it.
UNKNOWN_ERROR = 0.06
# Beginnings of assumptions about costs that a load replaces by its own.
NOT_OF_LOADS = ("host and sampling", "no interval")
# Options that say how prompts are read, or batches padded: times of a log have both in them.
OF_READING = ("prompt_tokens", "ttft_ms", "prefix_share", "captured", "unchunked")


class Load(NamedTuple):
    """A load on a server.

    ways: to decode, by block length; 0 is plain decoding. slower: the same, with overhead that is in no value. context:
    tokens before a block, at which cycles are priced. notes, assumptions: for the reader.
    """

    problem: Problem
    ways: dict[int, Way]
    slower: dict[int, Way]
    server: Server
    lengths: Lengths
    context: int
    level: float
    notes: tuple[str, ...]
    assumptions: tuple[str, ...]

    @property
    def drafting(self) -> tuple[int, ...]:
        """Return the block lengths with drafts."""
        return tuple(gamma for gamma in self.ways if gamma)

    def ends(self, gamma: int, batch: int) -> tuple[tuple[Way, float], tuple[Way, float]] | None:
        """Return a way to decode and a factor of its tau, at the low end of the interval and at the high end.

        Cycles are as much slower, or faster, as their error says, and tau is at the other end of its own interval. None
        where the error is not known.
        """
        error = self._error(gamma, batch)
        if error is None:
            return None
        factor = exp(NormalDist().inv_cdf((1 + self.level) / 2) * error)
        mean = self.problem.acceptance.tau(gamma).value
        low_tau, high_tau = self.problem.acceptance.interval(gamma, self.level)
        return (scaled(self.slower[gamma], factor), low_tau / mean), (
            scaled(self.ways[gamma], 1 / factor),
            high_tau / mean,
        )

    def _error(self, gamma: int, batch: int) -> float | None:
        """Return the relative standard error of a cycle over a plain step, at a number of sequences."""
        latency = self.problem.latency
        if not self.problem.costs.is_measured:
            error = latency.error(batch * (gamma + 1))
            return UNKNOWN_ERROR if error is None else error
        # Measured times have errors of their own, if they were repeated.
        timings = latency.cycle(gamma, batch, self.context), latency.target(1, batch, self.context)
        squares = [(timing.error / timing.value) ** 2 for timing in timings if timing.error is not None]
        return sqrt(sum(squares)) if len(squares) == len(timings) else None


def scaled(way: Way, factor: float) -> Way:
    """Return the way to decode with cycles that take `factor` times as long."""
    return way._replace(cycle_s=lambda batch: factor * way.cycle_s(batch))


def read_load(options: PlanOptions, problem: Problem, least: int, most: int) -> Load:
    """Return the load that the options describe, for cycles of `least` to `most` sequences."""
    name, costs = load_of(options), problem.costs
    if costs.latency.unit != "s":
        raise ValueError(
            f"--{name} is in seconds: give --target, --draft and --hardware, or --costs, not --cost-ratio alone"
        )
    lengths = lengths_of(options)
    if costs.has_reading:
        _check_of_log(options)
        lengths = lengths._replace(prompts=None)
    server, host = server_of(options), _host(options, problem)
    lengths, reading, notes = read_prompts(options, problem, server, lengths, host)
    context = context_of(options, lengths)
    if costs.is_measured:
        context = 0 if "context" in costs.unknown else context
        _check_measured(options, problem, least, most, context)

    # The ways to decode, by block length.
    longest = problem.acceptance.most(problem.search.max_gamma)
    if options.gamma is not None and check.integer(options.gamma, "gamma", 1) > longest:
        raise ValueError(
            f"gamma is {options.gamma}, and the acceptance, the drafter or --max-gamma goes up to {longest} drafts"
        )
    gammas = range(1, longest + 1) if options.gamma is None else [options.gamma]
    kinds, words = requests.kinds_of(problem.acceptance, gammas)
    ways: dict[int, Way] = {}
    slower: dict[int, Way] = {}
    hidden_s = costs.hidden_overhead if costs.is_measured else 0.0
    for gamma in (0, *gammas):
        of_requests = kinds[gamma] if gamma else alike(np.ones(1))
        latency = problem.latency if gamma else costs.latency
        for held, hidden in ((ways, 0.0), (slower, hidden_s)):
            more = host._replace(drafting_s=host.drafting_s + hidden)
            held[gamma] = way_of(latency, of_requests, server, reading, context=context, host=more)
    return Load(
        problem=problem,
        ways=ways,
        slower=slower,
        server=server,
        lengths=lengths,
        context=context,
        level=options.level,
        notes=(*problem.notes, *notes),
        assumptions=(
            problem.acceptance.words,
            # A log has its own acceptance: no other is taken beside it.
            words.partition(" (--hazards")[0] if options.log else words,
            where_it_holds(problem, name),
            *of_costs(problem),
            *_assumptions(options, problem, lengths, server, host, context),
        ),
    )


def of_costs(problem: Problem) -> list[str]:
    """Return the assumptions of a load about costs, without those that it replaces by its own."""
    return [
        words
        for words in problem.latency.assumptions
        if problem.costs.is_measured or not words.startswith(NOT_OF_LOADS)
    ]


def where_it_holds(problem: Problem, load: str) -> str:
    """Return at which batches an acceptance is taken to hold."""
    if len(problem.by_point) < 2:
        return EVERYWHERE
    if load == "rate":
        return "the acceptance of the largest logged batch is taken at all"
    return "each number of clients has the acceptance of the nearest logged batch"


def _host(options: PlanOptions, problem: Problem) -> Host:
    """Return the host's work beside predicted times of the device; measured times have it in them."""
    if problem.costs.is_measured:
        return NO_HOST
    return MEASURED_HOST if options.overhead is None else MEASURED_HOST._replace(drafting_s=0.0)


def _check_of_log(options: PlanOptions) -> None:
    """Raise ValueError for options about what the times of a server's log have in them."""
    beside = [name for name in OF_READING if is_given(options, name)]
    if beside:
        raise ValueError(
            f"--log has the reading of its prompts in its times: leave out --{beside[0].replace('_', '-')} (with "
            "--costs prompts are read apart)"
        )


def _check_measured(options: PlanOptions, problem: Problem, least: int, most: int, context: int) -> None:
    """Raise ValueError if a load needs cycles at a batch or a context at which none was measured."""
    costs, name = problem.costs, load_of(options)
    source, more = ("--log", "logs") if options.log else ("--costs", "passes")
    if "batch" in costs.unknown:
        raise ValueError(f"--{name} needs the batch of every pass, which {source} does not say: add a column batch")
    batches = list(costs.batches)
    if least < batches[0] or most > batches[-1]:
        missing = least if least < batches[0] else most
        wanted = f"{least} to {most} sequences" if least < most else f"{most} sequence{'s' if most > 1 else ''}"
        fewer = "--batch-limit" if name == "rate" else "--concurrency"
        limit = f", or give {fewer} {batches[-1]}" if least >= batches[0] else ""
        raise ValueError(
            f"--{name} needs cycles of {wanted}, and {source} has batch {listed(batches)}: give {more} of batch "
            f"{missing}, too{limit}"
        )
    contexts = list(costs.contexts)
    if "context" not in costs.unknown and not contexts[0] <= context <= contexts[-1]:
        where = "as --context says" if options.context is not None else "in the middle of an answer"
        within = f"--context {contexts[0]}" if len(contexts) == 1 else "--context within"
        raise ValueError(
            f"--{name} needs cycles at context {context}, {where}, and --costs has context {listed(contexts)}: measure "
            f"passes there, or give {within}"
        )


def _assumptions(
    options: PlanOptions, problem: Problem, lengths: Lengths, server: Server, host: Host, context: int
) -> Sequence[str]:
    """Return what every load takes for granted of its server."""
    words = []
    if problem.costs.is_measured:
        words.append("intervals have the errors of measured times and of tau")
    else:
        words.append(
            f"{options.level:.0%} intervals: where no recorded passes say better, a cycle in plain steps has a "
            f"relative standard error of {UNKNOWN_ERROR:.0%} (3% was measured, on four cells)"
        )
    if lengths.prompts is None:
        words.append(
            "the times of --log have the reading of prompts in them: prompts and answers are taken to be in the "
            f"proportion of the logged runs; answers have {lengths.outputs.words}"
        )
        return words
    words.append(f"prompts have {lengths.prompts.words}, answers {lengths.outputs.words}")
    words.append(
        f"passes have up to {server.budget} tokens, prompts included"
        if server.chunked
        else "a pass reads one prompt alone, and nobody decodes meanwhile"
    )
    if host != NO_HOST:
        words.append(
            f"the host works {1e3 * host.pass_s:g} ms in every pass, {1e3 * host.drafting_s:g} ms more in a cycle with "
            f"drafts, and {1e3 * host.sequence_s:g} ms more for each sequence"
            + (": as vLLM 0.24 on one A100" if host == MEASURED_HOST else "")
        )
    else:
        words.append("reading a prompt adds to a cycle what it takes alone beyond a plain step, as its tokens say")
    if "context" in problem.costs.unknown:
        words.append("every cycle costs what it does at the context of the measured passes, which is not said")
    else:
        where = "as --context says" if options.context is not None else "in the middle of an answer"
        words.append(f"every cycle costs what it does at context {context}, {where}")
    words.append("the draft reads prompts too, at its share of a target step")
    if server.cached_share:
        words.append(f"a prefix cache holds {server.cached_share:.0%} of the tokens of each prompt")
    return words
