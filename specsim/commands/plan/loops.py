"""`specsim plan --concurrency`: tokens per second of a closed loop of clients, with and without speculation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from specsim.base.results import as_plain
from specsim.commands.json_form import json_answer, made_here
from specsim.commands.options import Form
from specsim.commands.plan.answer import with_memory
from specsim.commands.plan.load_options import clients_of
from specsim.commands.plan.load_tables import interval_cell, listed, short, times_table
from specsim.commands.plan.loads import Load, read_load
from specsim.commands.plan.options import PlanOptions, asked_options
from specsim.commands.plan.problem import Problem
from specsim.commands.plan.sentence import counted
from specsim.report import forms as style
from specsim.speed.load.loop import steady
from specsim.speed.load.passes import ServedTimes, simulate_clients
from specsim.speed.prediction import Estimate

# Fixed point and simulation agree within this where the fixed point holds.
AGREE = 0.03


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
    plain: ServedTimes
    speculative: ServedTimes
    is_simulated: bool = False


class Answer(NamedTuple):
    """The whole answer; `prompt` is how many tokens of a prompt the costs rest on, in the mean, None if none."""

    sentence: str
    points: tuple[Point, ...]
    prompt: float | None
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
    clients = clients_of(options)
    # While one prompt is read, fewer sequences decode.
    least = min(clients) if problem.costs.has_reading else 1
    # Logs have an acceptance of their own at each batch.
    load = read_load(options, problem.near(clients[0]), least, max(clients))
    others = [read_load(options, problem.near(n), least, max(clients)) if problem.by_point else load for n in clients]
    points = tuple(_point(other, number) for other, number in zip(others, clients, strict=True))
    return Answer(
        sentence=with_memory(problem, _sentence(points)),
        points=points,
        prompt=None if load.lengths.prompts is None else load.lengths.prompts.mean,
        notes=(*load.notes, *_notes(points)),
        assumptions=(
            *load.assumptions,
            "every client sends its next prompt when its answer ends, and all are served together",
        ),
    )


def _point(load: Load, clients: int) -> Point:
    """Return the answer at one number of clients."""
    exact = {gamma: steady(way, load.server, clients, load.lengths).tokens_per_s for gamma, way in load.ways.items()}
    best = max(load.drafting, key=lambda gamma: exact[gamma])

    # Where prompts wait for each other, or share a pass, tokens per second are those of the simulation.
    times = [simulate_clients(load.ways[gamma], load.server, clients, load.lengths) for gamma in (0, best)]
    rates = [exact[0], exact[best]]
    simulated = [time.tokens_per_s for time in times]
    is_simulated = any(abs(b / a - 1) > AGREE for a, b in zip(rates, simulated, strict=True))
    if is_simulated:
        rates = simulated
    ratio = rates[1] / rates[0]

    # The interval: cycles as much slower or faster as their error says, with tau at the other end of its own.
    speedup = Estimate(ratio, None, None)
    ends = load.ends(best, clients)
    if ends is not None:
        low, high = (
            ratio * factor * steady(way, load.server, clients, load.lengths).tokens_per_s / exact[best]
            for way, factor in ends
        )
        speedup = Estimate(ratio, low, high)
    plain_rate, draft_rate = rates
    tau = load.ways[best].kinds.tau
    return Point(clients, best, tau, plain_rate, draft_rate, speedup, times[0], times[1], is_simulated)


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
        notes.append(f"with {listed(unsure)} clients the interval holds 1: measure before switching it on")
    simulated = [str(point.concurrency) for point in points if point.is_simulated]
    if simulated:
        notes.append(
            f"with {listed(simulated)} clients prompts wait for each other or share passes: tokens/s are simulated"
        )
    return notes


def text(report: Answer, form: style.Form = "text") -> str:
    """Return the report as text: the sentence, two tables that fit 80 columns, notes and assumptions."""
    # The first table: tokens per second and the speedup by clients.
    rows: list[list[style.Cell]] = [
        ["clients", "drafts a\nblock", "plain\ntokens/s", "with drafts\ntokens/s", "speedup", "interval"]
    ]
    for point in report.points:
        rates = [short(point.plain_tokens_per_s), short(point.speculative_tokens_per_s)]
        speedup = style.Number(f"{point.speedup.value:.2f}", point.speedup.value)
        rows.append([str(point.concurrency), str(point.gamma), *rates, speedup, interval_cell(point.speedup)])
    # The second: for each number of clients the times of requests, plain and with drafts.
    waits = times_table(
        "clients", [(str(point.concurrency), point.plain, point.speculative) for point in report.points]
    )
    # Both under the sentence, then notes and assumptions.
    lines: list[str | style.Table] = [report.sentence, "", rows, "", waits, ""]
    lines += [f"note: {note}" for note in report.notes]
    lines += ["tokens/s follow from a fixed point, times of requests from a simulation; both take for granted:"]
    lines += [f"- {assumption}" for assumption in report.assumptions]
    return style.page(lines, form)
