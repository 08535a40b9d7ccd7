"""`specsim plan --rate`: the times of requests that arrive at a rate, with and without speculation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from specsim.base.results import as_plain
from specsim.commands.json_form import json_answer, made_here
from specsim.commands.options import Form
from specsim.commands.plan import read
from specsim.commands.plan.answer import with_memory
from specsim.commands.plan.load_options import MOST
from specsim.commands.plan.load_tables import interval_cell, listed, short, times_table
from specsim.commands.plan.loads import Load, read_load, scaled
from specsim.commands.plan.options import PlanOptions, asked_options
from specsim.commands.plan.problem import Problem
from specsim.commands.plan.sentence import counted
from specsim.report import forms as style
from specsim.speed.load.open_loop import OpenLoop, open_loop
from specsim.speed.load.passes import ServedTimes, simulate_arrivals
from specsim.speed.load.rates import harmful_from, largest_within, largest_within_of_any, none_helps_from
from specsim.speed.prediction import Estimate

# Requests that are measured in the simulation of each way to decode at each rate.
REQUESTS = 2000
# Simulated means within this of the closed form agree with it.
AGREE = 0.05


class Line(NamedTuple):
    """Times of requests at one rate.

    gamma: the block length with the least mean time, 0 if none is below that of plain decoding. tried: the length of
    `speculative`, None if none serves the rate. tau: its tokens per cycle. speedup: the mean time of a whole answer
    without drafts over that with them, None unless both serve the rate. plain, speculative: simulated, None where the
    rate cannot be served. plain_s, speculative_s: mean times in closed form.
    """

    rate: float
    gamma: int
    tried: int | None
    tau: float | None
    speedup: Estimate | None
    plain: ServedTimes | None
    speculative: ServedTimes | None
    plain_s: float | None
    speculative_s: float | None


class Answer(NamedTuple):
    """The whole answer of `--rate`; rates per second, times in seconds.

    stable: the largest stable rate, by block length; 0 is plain decoding. gamma: the best length at the first rate at
    which speculation helps, the first that is tried if at none. hurts: the rate from which that length is slower than
    plain decoding, None if at no rate that plain decoding can serve. none_helps: the rate from which no length is
    faster. within: the largest rates whose mean time keeps the bound, for plain decoding and for the length that
    sustains most; None without a bound. prompt: tokens of a prompt, in the mean; None if none.
    """

    sentence: str
    lines: tuple[Line, ...]
    stable: dict[int, float]
    gamma: int
    hurts: float | None
    none_helps: float | None
    within: tuple[float | None, float | None] | None
    prompt: float | None
    notes: tuple[str, ...]
    assumptions: tuple[str, ...]


def shown(result: Answer, options: PlanOptions, form: Form) -> str:
    """Return what to print of an answer."""
    if form == "json":
        fields = made_here() | {"asked": asked_options(options)} | as_plain(result)
        return json_answer("specsim/plan-rates", fields, indent=None, version=2)
    return text(result, form)


def answer(options: PlanOptions, problem: Problem) -> Answer:
    """Answer every rate by the block length with the least mean time; raise ValueError for rates that are wrong."""
    rates = read.numbers(str(options.rate), "rate", "(-inf, inf)")
    if len(rates) > MOST["rate"]:
        raise ValueError(f"rate has {len(rates)} entries; it must have at most {MOST['rate']}")
    limit = options.batch_limit
    load = read_load(options, problem, 1, limit)
    queues = {gamma: open_loop(way, load.server, limit, load.lengths) for gamma, way in load.ways.items()}
    _check_rates(rates, queues)

    # Times of requests at each rate, then the rates at which speculation begins to harm.
    lines = tuple(_line(load, queues, rate, limit) for rate in rates)
    plain, sides = queues[0], [queues[gamma] for gamma in load.drafting]
    gamma = next((line.gamma for line in lines if line.gamma), load.drafting[0])
    hurts, none_helps = harmful_from(plain, queues[gamma]), none_helps_from(plain, sides)
    within = None
    if options.within is not None:
        within = (largest_within(plain, options.within), largest_within_of_any(sides, options.within))
    return Answer(
        sentence=with_memory(problem, _sentence(lines[0], gamma, hurts, none_helps, plain.stable)),
        lines=lines,
        stable={length: queue.stable for length, queue in queues.items()},
        gamma=gamma,
        hurts=hurts,
        none_helps=none_helps,
        within=within,
        prompt=None if load.lengths.prompts is None else load.lengths.prompts.mean,
        notes=(*load.notes, *_notes(lines, options.within, within)),
        assumptions=(
            *load.assumptions,
            f"requests arrive by a Poisson process, whatever happened before; up to {limit} are served together, and "
            "the others wait in order",
        ),
    )


def _check_rates(rates: Sequence[float], queues: dict[int, OpenLoop]) -> None:
    """Raise ValueError for a rate that no way to decode can serve."""
    best = max(queues, key=lambda gamma: queues[gamma].stable)
    top = queues[best].stable
    best_way = counted(best, "draft") + " a block" if best else "plain decoding"
    for i, rate in enumerate(rates):
        if not 0 < rate < top:
            raise ValueError(
                f"rate[{i}] is {rate:g}; it must be above 0 and below the largest stable rate, {top:.4g} requests a "
                f"second, with {best_way} (plain decoding: {queues[0].stable:.4g})"
            )


def _line(load: Load, queues: dict[int, OpenLoop], rate: float, limit: int) -> Line:
    """Return the times at one rate, plain and with the best block length that keeps up with it."""
    able = [gamma for gamma in load.drafting if rate < queues[gamma].stable]
    best = min(able, key=lambda gamma: queues[gamma].total_s(rate)) if able else None
    plain_s = queues[0].total_s(rate) if rate < queues[0].stable else None
    draft_s = None if best is None else queues[best].total_s(rate)
    helps = draft_s is not None and (plain_s is None or draft_s < plain_s)
    plain, speculative = (
        None if way is None else simulate_arrivals(way, load.server, rate, limit, load.lengths, requests=REQUESTS)
        for way in (load.ways[0] if plain_s is not None else None, None if best is None else load.ways[best])
    )
    speedup = None
    if best is not None and plain is not None and speculative is not None:
        batch, ratio = max(round(speculative.running), 1), plain.total_s.mean / speculative.total_s.mean
        speedup = _with_interval(load, queues[best], rate, best, batch, ratio)
    return Line(
        rate=rate,
        gamma=best if helps and best is not None else 0,
        tried=best,
        tau=None if best is None else load.ways[best].kinds.tau,
        speedup=speedup,
        plain=plain,
        speculative=speculative,
        plain_s=plain_s,
        speculative_s=draft_s,
    )


def _with_interval(load: Load, queue: OpenLoop, rate: float, best: int, batch: int, ratio: float) -> Estimate:
    """Return the ratio of mean times with its interval: cycles and tau as far off as their errors say.

    batch: sequences that decode together in the mean, at which errors are taken.
    """
    ends = load.ends(best, batch)
    if ends is None:
        return Estimate(ratio, None, None)
    bounds = []
    for way, factor in ends:
        # Fewer tokens of a cycle are as much more time of a cycle.
        other = open_loop(scaled(way, 1 / factor), load.server, len(queue.between_s), load.lengths)
        bounds.append(ratio * queue.total_s(rate) / other.total_s(rate) if rate < other.stable else 0.0)
    return Estimate(ratio, *bounds)


def _sentence(line: Line, gamma: int, hurts: float | None, none_helps: float | None, top: float) -> str:
    """Return the first sentence: times at the first rate, and the rates from which speculation hurts."""
    where = f"at {line.rate:g} requests a second"
    if line.plain is None or line.speculative is None:
        able = "plain decoding" if line.speculative is None else "speculation"
        first = f"{where} only {able} keeps up"
    else:
        slow, fast = line.plain.total_s.mean, line.speculative.total_s.mean
        drafts = f"with {counted(line.gamma, 'draft')} a block" if line.gamma else "with the best length"
        first = f"{where} a request takes {fast:.2f} s {drafts} and {slow:.2f} s without (predicted means)"
    # Where the length of this plan begins to hurt, and where every length does.
    if hurts == 0:
        then = f"speculation with {counted(gamma, 'draft')} hurts at every rate"
    elif hurts is None:
        then = f"speculation with {counted(gamma, 'draft')} helps up to what plain decoding can serve, {top:.4g}"
    else:
        then = f"speculation with {counted(gamma, 'draft')} hurts from {hurts:.4g} on"
    if none_helps and none_helps != hurts:
        then += f", and no length helps from {none_helps:.4g} on"
    return f"{where[0].upper()}{first[1:]}; {then}."


def _notes(lines: Sequence[Line], bound: float | None, within: tuple[float | None, float | None] | None) -> list[str]:
    """Return notes: where the closed form is rough, and the rates that keep the bound on the mean time."""
    notes = []
    rough = []
    for line in lines:
        pairs = (line.plain, line.plain_s), (line.speculative, line.speculative_s)
        if any(
            seen is not None and mean is not None and abs(seen.total_s.mean / mean - 1) > AGREE for seen, mean in pairs
        ):
            rough.append(f"{line.rate:g}")
    if rough:
        notes.append(
            f"at {listed(rough)} requests a second simulated means are not those in closed form, by which lengths and "
            "rates are chosen: these are rough there"
        )
    if within is not None:
        slow, fast = ("no rate" if reach is None else f"{reach:.4g} a second" for reach in within)
        notes.append(f"a mean time within {bound:g} s holds up to: {slow} without drafts, {fast} with them")
    return notes


def text(report: Answer, form: style.Form = "text") -> str:
    """Return the report as text: the sentence, two tables that fit 80 columns, notes and assumptions."""
    # The first table: sequences that run, and the speedup, by rate.
    rows: list[list[style.Cell]] = [
        ["rate\n1/s", "drafts a\nblock", "plain\nrunning", "with drafts\nrunning", "speedup", "interval"]
    ]
    for line in report.lines:
        running = [
            style.Number("never", None) if way is None else short(way.running) for way in (line.plain, line.speculative)
        ]
        speedup: list[style.Cell] = ["", ""]
        if line.speedup is not None:
            speedup = [style.Number(f"{line.speedup.value:.2f}", line.speedup.value), interval_cell(line.speedup)]
        gamma = style.Number(str(line.gamma) if line.gamma else "off", line.gamma)
        rows.append([style.Number(f"{line.rate:g}", line.rate), gamma, *running, *speedup])
    # The second: for each rate the times of requests, plain and with drafts.
    waits = times_table(
        "rate\n1/s",
        [(style.Number(f"{line.rate:g}", line.rate), line.plain, line.speculative) for line in report.lines],
    )
    lines: list[str | style.Table] = [report.sentence, "", rows, "", waits, ""]
    lines += [f"note: {note}" for note in report.notes]
    if any(line.plain is None or line.speculative is None for line in report.lines):
        lines.append("never: at this rate the queue grows without end")
    lines += [
        "running: sequences that decode together, in the mean; speedup: of the mean time of a whole answer",
        "the tables are simulated; they take for granted:",
        *(f"- {assumption}" for assumption in report.assumptions),
    ]
    return style.page(lines, form)
