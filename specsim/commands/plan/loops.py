"""`specsim plan --concurrency`: tokens per second of a closed loop of clients, with and without speculation."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.results import as_plain
from specsim.commands.json_form import json_answer, made_here
from specsim.commands.options import Form
from specsim.commands.plan.answer import EVERYWHERE, with_memory
from specsim.commands.plan.load_options import MOST, clients_of, lengths_of, server_of
from specsim.commands.plan.options import PlanOptions, asked_options
from specsim.commands.plan.problem import Problem
from specsim.commands.plan.sentence import counted
from specsim.lengths.blocks import accepted_length_law
from specsim.report import forms as style
from specsim.speed.load.loop import (
    CYCLE_S,
    HOST_S,
    SEQUENCE_S,
    Server,
    Steady,
    Way,
    alone_s,
    prompt_of,
    steady,
    way_of,
)
from specsim.speed.load.loop_events import LoopTimes, simulate_loop
from specsim.speed.load.request_lengths import LengthLaw, Lengths
from specsim.speed.prediction import Estimate

# Fixed point and simulation agree within this where the fixed point holds.
AGREE = 0.03
# Relative standard error of a cycle over a plain step where the costs have none of their own: the logarithms of the
# speedup were off by 0.03 in the root mean square on four measured cells (vLLM 0.24, one A100), and this is twice it.
UNKNOWN_ERROR = 0.06
# Beginnings of assumptions about costs that a loop replaces by its own.
NOT_OF_LOOPS = ("host and sampling", "no interval")


class Point(NamedTuple):
    """One number of clients: tokens per second of all of them, plainly and with `gamma` drafts a block.

    speedup: of the tokens per second. tau: tokens per cycle. plain, speculative: what requests see, simulated.
    is_simulated: whether tokens per second are those of the simulation, since the fixed point does not hold.
    """

    concurrency: int
    gamma: int
    tau: float
    plain_tokens_per_s: float
    speculative_tokens_per_s: float
    speedup: Estimate
    plain: LoopTimes
    speculative: LoopTimes
    is_simulated: bool = False


class Answer(NamedTuple):
    """The whole answer; `prompt` is how many tokens of a prompt the costs rest on, in the mean."""

    sentence: str
    points: tuple[Point, ...]
    prompt: float
    notes: tuple[str, ...]
    assumptions: tuple[str, ...]


def shown(result: Answer, options: PlanOptions, form: Form) -> str:
    """Return what to print of an answer."""
    if form == "json":
        fields = made_here() | {"asked": asked_options(options)} | as_plain(result)
        fields["loop"] = fields.pop("points")
        return json_answer("specsim/plan-loop", fields, indent=None)
    return text(result, form)


def answer(options: PlanOptions, problem: Problem) -> Answer:
    """Answer every number of clients by the block length that writes most, or by the one that is asked for."""
    if problem.latency.unit != "s":
        raise ValueError("--concurrency is in seconds: give --target, --draft and --hardware, not --cost-ratio")
    # The loop: clients, lengths, the server, and the time of a prompt if it was measured.
    clients, server = clients_of(options), server_of(options)
    host_s, more_s = HOST_S, CYCLE_S if options.overhead is None else 0.0
    lengths, reading, notes = _prompts(options, problem, server)
    context = round(lengths.prompts.mean + lengths.outputs.mean / 2)

    # The ways to decode, by block length.
    longest = problem.acceptance.most(problem.search.max_gamma)
    if options.gamma is not None and check.integer(options.gamma, "gamma", 1) > longest:
        raise ValueError(
            f"gamma is {options.gamma}, and the acceptance, the drafter or --max-gamma goes up to {longest} drafts"
        )
    gammas = range(1, longest + 1) if options.gamma is None else [options.gamma]
    laws = {0: np.ones(1)}
    for gamma in gammas:
        laws[gamma] = np.asarray(accepted_length_law(np.array(problem.acceptance.hazards(gamma))))
    costs = problem.costs.latency
    ways = {
        gamma: way_of(
            problem.latency if gamma else costs,
            law,
            server,
            context=context,
            host_s=host_s,
            more_s=more_s,
            reading=costs,
        )._replace(scale=reading.scale, wait_s=reading.wait_s)
        for gamma, law in laws.items()
    }
    points = tuple(_point(problem, ways, server, number, lengths, options.level) for number in clients)
    return Answer(
        sentence=with_memory(problem, _sentence(points)),
        points=points,
        prompt=lengths.prompts.mean,
        notes=(*problem.notes, *notes, *_notes(points)),
        assumptions=(
            problem.acceptance.words,
            EVERYWHERE,
            *(words for words in problem.latency.assumptions if not words.startswith(NOT_OF_LOOPS)),
            f"{options.level:.0%} intervals: where no recorded passes say better, a cycle in plain steps has a "
            f"relative standard error of {UNKNOWN_ERROR:.0%} (3% was measured, on four cells)",
            *_assumptions(lengths, server, host_s, more_s, options.overhead is None),
        ),
    )


class Reading(NamedTuple):
    """The time of reading a prompt over the predicted one, and a request's wait that occupies no device."""

    scale: float = 1.0
    wait_s: float = 0.0


def _prompts(options: PlanOptions, problem: Problem, server: Server) -> tuple[Lengths, Reading, list[str]]:
    """Return the lengths of requests, how prompts are read, and notes.

    With `--ttft-ms` (the measured time to the first token) but no `--prompt-tokens`, prompts have as many tokens as are
    read in that time. With both, prompts are read faster than predicted if the time is shorter; if it is longer, the
    difference is a wait, which occupies no device.
    """
    # Without a measured time, reading takes what is predicted.
    lengths = lengths_of(options)
    if options.ttft_ms is None:
        return lengths, Reading(), []
    measured_s = float(check.scalar(options.ttft_ms, "ttft_ms", "(0, inf)")) / 1e3
    plain = way_of(problem.costs.latency, np.ones(1), server, context=0, host_s=HOST_S, more_s=0.0)

    # The length of prompts is an option: a longer measured time is a wait, a shorter one a scale.
    if options.prompt_tokens is not None:
        alone = float(np.dot(lengths.prompts.weights, [alone_s(plain, server, int(n)) for n in lengths.prompts.values]))
        if measured_s <= HOST_S:
            raise ValueError(f"ttft_ms is {options.ttft_ms:g}, shorter than the host's work of {1e3 * HOST_S:g} ms")
        if measured_s >= alone:
            note = f"{1e3 * (measured_s - alone):.3g} ms of --ttft-ms are no reading: a wait that occupies no device"
            return lengths, Reading(wait_s=measured_s - alone), [note]
        scale = (measured_s - HOST_S) / (alone - HOST_S)
        return lengths, Reading(scale), [f"prompts are read in {scale:.2f} of the predicted time, as --ttft-ms says"]

    # It is not: the prompt has as many tokens as are read in the measured time.
    tokens = prompt_of(plain, server, measured_s, MOST["prompt_tokens"])
    if tokens in (0, MOST["prompt_tokens"]):
        size = "shorter than a pass over one token" if tokens == 0 else f"the time of more than {tokens} tokens"
        raise ValueError(f"ttft_ms is {options.ttft_ms:g}, {size} at the costs of this plan: give --prompt-tokens, too")
    note = (
        f"--prompt-tokens is not given: {options.ttft_ms:g} ms to the first token read {tokens} tokens at the costs of "
        "this plan, which is taken for the prompt"
    )
    prompts = LengthLaw(np.array([tokens]), np.ones(1), f"{tokens} tokens")
    return Lengths(prompts, lengths.outputs), Reading(wait_s=measured_s - alone_s(plain, server, tokens)), [note]


def _point(
    problem: Problem, ways: dict[int, Way], server: Server, clients: int, lengths: Lengths, level: float
) -> Point:
    """Return the answer at one number of clients."""

    def fixed_point(way: Way, slower: float = 1.0) -> Steady:
        """Return the steady state of a way to decode, its cycles `slower` times as long."""
        scaled = way if slower == 1 else way._replace(cycle_s=lambda batch: slower * way.cycle_s(batch))
        return steady(scaled, server, clients, lengths)

    plain = fixed_point(ways[0])
    written = {gamma: fixed_point(way) for gamma, way in ways.items() if gamma}
    best = max(written, key=lambda gamma: written[gamma].tokens_per_s)

    # Where prompts wait for each other, or share a pass, tokens per second are those of the simulation.
    times = [simulate_loop(ways[gamma], server, clients, lengths) for gamma in (0, best)]
    exact = [plain.tokens_per_s, written[best].tokens_per_s]
    simulated = [time.tokens_per_s for time in times]
    is_simulated = any(abs(b / a - 1) > AGREE for a, b in zip(exact, simulated, strict=True))
    plain_rate, draft_rate = simulated if is_simulated else exact
    ratio = draft_rate / plain_rate

    # The interval: cycles as much slower or faster as their error says, with tau at the other end of its own.
    error = problem.latency.error(clients * (best + 1))
    factor = float(np.exp(NormalDist().inv_cdf((1 + level) / 2) * (UNKNOWN_ERROR if error is None else error)))
    low_tau, high_tau = problem.acceptance.interval(best, level)
    best_way, best_exact = ways[best], written[best].tokens_per_s
    ends = [
        ratio * fixed_point(best_way, slower).tokens_per_s / best_exact * tau / best_way.tau
        for slower, tau in ((factor, low_tau), (1 / factor, high_tau))
    ]
    speedup = Estimate(ratio, *ends)
    plain_times, draft_times = times
    return Point(clients, best, ways[best].tau, plain_rate, draft_rate, speedup, plain_times, draft_times, is_simulated)


def _sentence(points: Sequence[Point]) -> str:
    """Return the first sentence: where speculation helps, and where it does not."""
    first = points[0]
    verb = "helps" if first.speedup.value > 1 else "does not help"
    words = (
        f"With {counted(first.concurrency, 'client')} speculation {verb}: {first.speedup.value:.2f} times the tokens "
        f"per second with {counted(first.gamma, 'draft')} a block (predicted)"
    )
    last = points[-1]
    if len(points) > 1:
        words += f"; with {last.concurrency} it is {last.speedup.value:.2f} with {counted(last.gamma, 'draft')}"
    return words + "."


def _notes(points: Sequence[Point]) -> list[str]:
    """Return notes: points whose interval does not tell whether speculation helps."""
    unsure = []
    for point in points:
        low, high = point.speedup.low, point.speedup.high
        if low is not None and high is not None and low <= 1 <= high:
            unsure.append(str(point.concurrency))
    notes = []
    if unsure:
        notes.append(f"with {_listed(unsure)} clients the interval holds 1: measure before switching it on")
    simulated = [str(point.concurrency) for point in points if point.is_simulated]
    if simulated:
        notes.append(
            f"with {_listed(simulated)} clients prompts wait for each other or share passes: tokens/s are simulated"
        )
    return notes


def _listed(numbers: Sequence[str]) -> str:
    """Return numbers as a list in words."""
    return " and ".join(filter(None, [", ".join(numbers[:-1]), numbers[-1]]))


def _assumptions(lengths: Lengths, server: Server, host_s: float, more_s: float, is_usual_host: bool) -> list[str]:
    """Return what the loop takes for granted."""
    words = [
        f"every client sends its next prompt when its answer ends; prompts have {lengths.prompts.words}, answers "
        f"{lengths.outputs.words}",
        f"all clients are decoded together, in passes of up to {server.budget} tokens, prompts included"
        if server.chunked
        else "a pass reads one prompt alone, and nobody decodes meanwhile",
        f"the host works {1e3 * host_s:g} ms in every pass, {1e3 * more_s:g} ms more in a cycle with drafts, and "
        f"{1e3 * SEQUENCE_S:g} ms more for each sequence" + (": as vLLM 0.24 on one A100" if is_usual_host else ""),
        "every cycle costs what it does at the context in the middle of an answer",
        "the draft reads prompts too, at its share of a target step",
    ]
    if server.cached_share:
        words.append(f"a prefix cache holds {server.cached_share:.0%} of the tokens of each prompt")
    return words


def text(report: Answer, form: style.Form = "text") -> str:
    """Return the report as text: the sentence, two tables that fit 80 columns, notes and assumptions."""
    # The first table: tokens per second and the speedup by clients.
    rows: list[list[style.Cell]] = [
        ["clients", "drafts a\nblock", "plain\ntokens/s", "with drafts\ntokens/s", "speedup", "interval"]
    ]
    for point in report.points:
        rates = [_short(point.plain_tokens_per_s), _short(point.speculative_tokens_per_s)]
        ratio, low, high = point.speedup
        interval = style.Number(f"[{low:.2f}, {high:.2f}]", None, low, high)
        speedup = style.Number(f"{ratio:.2f}", ratio)
        rows.append([str(point.concurrency), str(point.gamma), *rates, speedup, interval])
    # The second: for each number of clients the times of requests, plain and with drafts.
    waits: list[list[style.Cell]] = [
        ["clients", "time, ms", "plain\nmean", "\nP50", "\nP95", "\nP99", "drafts\nmean", "\nP50", "\nP95", "\nP99"]
    ]
    for point in report.points:
        for name, kind in (("first token", "ttft_s"), ("per token", "tpot_s"), ("whole answer", "total_s")):
            cells: list[style.Cell] = []
            for way in (point.plain, point.speculative):
                times = getattr(way, kind)
                cells += [""] * 4 if times is None else [_short(1e3 * value) for value in times]
            waits.append([str(point.concurrency), name, *cells])
    # Both under the sentence, then notes and assumptions.
    lines: list[Any] = [report.sentence, "", rows, "", waits, ""]
    lines += [f"note: {note}" for note in report.notes]
    lines += ["tokens/s follow from a fixed point, times of requests from a simulation; both take for granted:"]
    lines += [f"- {assumption}" for assumption in report.assumptions]
    return style.page(lines, form)


def _short(value: float) -> style.Number:
    """Return a number that is shown with a decimal below 100."""
    return style.Number(f"{value:.0f}" if value >= 100 else f"{value:.1f}", value)
