"""`specsim plan --rate`: the latency of requests that arrive at a rate, with and without speculation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from specsim.base.results import as_plain
from specsim.commands.json_form import json_answer, made_here
from specsim.commands.options import Form
from specsim.commands.plan import read
from specsim.commands.plan.answer import EVERYWHERE, with_memory
from specsim.commands.plan.load_options import MOST, sizes_at_rate
from specsim.commands.plan.options import PlanOptions, asked_options
from specsim.commands.plan.problem import Problem
from specsim.commands.plan.sentence import counted
from specsim.report import forms as style
from specsim.speed.load.closed import RequestTimes, request_times, stable_rate
from specsim.speed.load.events import Quantiles, Simulated, simulate_requests
from specsim.speed.load.rates import harmful_rate, largest_rate, largest_rate_of_any, none_helps_from
from specsim.speed.load.service import Service, service_costs

# Requests of a simulation, and simulations, for each line of the table: a tenth of a second.
REQUESTS, RUNS = 1000, 4


class Line(NamedTuple):
    """Latencies at one rate of requests.

    gamma: the block length with the least mean latency, 0 if none is below that of plain decoding. plain, drafts: means
    in closed form. plain_seen, drafts_seen: simulated. None if the rate cannot be served.
    """

    rate: float
    gamma: int
    plain: RequestTimes | None
    plain_seen: Simulated | None
    drafts: RequestTimes | None
    drafts_seen: Simulated | None


class Answer(NamedTuple):
    """The whole answer of `--rate`; rates per second, times in seconds.

    stable: the largest stable rate of each block length, from 0 on. gamma: the best length at the
    first rate at which speculation helps, 1 if at none. hurts: the rate from which that length is
    slower than plain decoding, None if at no rate that plain decoding can serve. none_helps: the
    rate from which no length is faster.
    within: the largest rates whose mean latency keeps the bound, for plain decoding and for the
    length that sustains most; None without a bound.
    """

    sentence: str
    lines: tuple[Line, ...]
    stable: tuple[float, ...]
    gamma: int
    hurts: float | None
    none_helps: float | None
    within: tuple[float | None, float | None] | None
    notes: tuple[str, ...]
    assumptions: tuple[str, ...]


def at_rates(options: PlanOptions, problem: Problem) -> Answer:
    """Return the answer at the rates that are asked for; raise ValueError for wrong ones, before any work."""
    if problem.latency.unit != "s":
        raise ValueError("--rate is in requests a second: give --target, --draft and --hardware, not --cost-ratio")
    rates = read.numbers(str(options.rate), "rate", "(-inf, inf)")
    if len(rates) > MOST["rate"]:
        raise ValueError(f"rate has {len(rates)} entries; it must have at most {MOST['rate']}")

    # A way to decode for each block length, from 0, which is plain decoding.
    prompt, output = sizes_at_rate(options)
    lengths = range(problem.acceptance.most(problem.search.max_gamma) + 1)
    services = [
        service_costs(
            problem.latency,
            problem.acceptance if gamma else None,
            gamma=gamma,
            prompt=prompt,
            output=output,
            limit=options.batch_limit,
        )
        for gamma in lengths
    ]
    result = answer(services, rates, options)
    return result._replace(
        sentence=with_memory(problem, result.sentence),
        notes=(*problem.notes, *result.notes),
        assumptions=(problem.acceptance.words, EVERYWHERE, *problem.latency.assumptions, *result.assumptions),
    )


def shown(result: Answer, options: PlanOptions, form: Form) -> str:
    """Return what to print of an answer."""
    if form == "json":
        fields = made_here() | {"asked": asked_options(options)} | as_plain(result)
        return json_answer("specsim/plan-rates", fields, indent=None)
    return text(result, form)


def answer(services: Sequence[Service], rates: Sequence[float], options: PlanOptions) -> Answer:
    """Answer every rate by the block length with the least mean latency.

    services: the ways to decode, by block length from 0 on.
    """
    # The largest rate at which queues stay finite, for each length.
    stable = tuple(stable_rate(service) for service in services)
    top = max(stable)
    best_length = stable.index(top)
    best_way = counted(best_length, "draft") + " a block" if best_length else "plain decoding"
    for i, rate in enumerate(rates):
        if not 0 < rate < top:
            raise ValueError(
                f"rate[{i}] is {rate:g}; it must be above 0 and below the largest stable rate, {top:.4g} requests a "
                f"second, with {best_way} (plain decoding: {stable[0]:.4g})"
            )

    # Latency of requests at each rate, then the rates at which speculation begins to harm.
    plain = services[0]
    lines = tuple(_line(services, stable, rate, options.level) for rate in rates)
    gamma = next((line.gamma for line in lines if line.gamma), 1 if len(services) > 1 else 0)
    within = None
    if options.within is not None:
        within = (largest_rate(plain, options.within), largest_rate_of_any(services[1:], options.within))
    none_helps = none_helps_from(plain, services[1:])
    hurts = harmful_rate(plain, services[gamma]) if gamma else 0.0
    assumptions = (
        f"requests arrive by a Poisson process, {options.prompt_tokens} tokens in and {options.output_tokens} out",
        f"up to {options.batch_limit} are decoded together; prompts are read one by one, before the next cycle",
        "every cycle costs what it does at the context in the middle of an answer",
        "the draft reads prompts too, at its share of a target step",
    )
    return Answer(
        sentence=_sentence(lines[0], gamma, hurts, none_helps, stable[0]),
        lines=lines,
        stable=stable,
        gamma=gamma,
        hurts=hurts,
        none_helps=none_helps,
        within=within,
        notes=tuple(_notes(lines, options.within, within)),
        assumptions=assumptions,
    )


def _line(services: Sequence[Service], stable: Sequence[float], rate: float, level: float) -> Line:
    """Return the latencies at one rate, plain and with the best block length that keeps up with it."""
    plain = services[0]
    able = [gamma for gamma in range(1, len(services)) if rate < stable[gamma]]
    best = min(able, key=lambda gamma: request_times(services[gamma], rate).total_s) if able else None
    plain_times = request_times(plain, rate) if rate < stable[0] else None
    draft_times = None if best is None else request_times(services[best], rate)
    helps = draft_times is not None and (plain_times is None or draft_times.total_s < plain_times.total_s)
    return Line(
        rate=rate,
        gamma=best if helps and best is not None else 0,
        plain=plain_times,
        plain_seen=None if plain_times is None else _simulated(plain, rate, level),
        drafts=draft_times,
        drafts_seen=None if best is None else _simulated(services[best], rate, level),
    )


def _simulated(service: Service, rate: float, level: float) -> Simulated:
    """Return the simulated times of one line of the table."""
    return simulate_requests(service, rate, requests=REQUESTS, runs=RUNS, level=level)


def _sentence(line: Line, gamma: int, hurts: float | None, none_helps: float | None, top: float) -> str:
    """Return the first sentence: latencies at the first rate, and the rates from which speculation hurts."""
    where = f"at {line.rate:g} requests a second"
    if line.plain is None or line.drafts is None:
        able = "plain decoding" if line.drafts is None else "speculation"
        first = f"{where} only {able} keeps up"
    else:
        slow, fast = line.plain.total_s, line.drafts.total_s
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
    """Return notes: where the closed form is rough, and the rates that keep the bound on the mean latency."""
    notes = []
    rough = [
        f"{line.rate:g}" for line in lines if any(t is not None and not t.holds for t in (line.plain, line.drafts))
    ]
    if rough:
        notes.append(
            f"at {', '.join(rough)} requests a second the closed form's assumptions fail (load, reading, or a full "
            "batch): the length there, and rates beyond, are rougher than the simulated times"
        )
    if within is not None:
        slow, fast = ("no rate" if reach is None else f"{reach:.4g} a second" for reach in within)
        notes.append(f"a mean latency within {bound:g} s holds up to: {slow} without drafts, {fast} with them")
    return notes


def text(report: Answer, form: style.Form = "text") -> str:
    """Return the report as text: the sentence, one table that fits 80 columns, notes and assumptions."""
    head = [
        "rate\n1/s",
        "time, ms",
        "plain\nmean",
        "\nP50",
        "\nP99",
        "gamma",
        "drafts\nmean",
        "\nP50",
        "\nP99",
        "ratio",
    ]

    # Three rows for each rate: times to the first token, between tokens, and to the last token.
    rows = []
    for line in report.lines:
        for name, kind in (("to first token", "first"), ("between tokens", "token"), ("to last token", "total")):
            slow, fast = (
                None if simulated is None else getattr(simulated, kind)
                for simulated in (line.plain_seen, line.drafts_seen)
            )
            gain = None if slow is None or fast is None else slow.mean.value / fast.mean.value
            ratio = "" if gain is None else style.Number(f"{gain:.2f}", gain)
            gamma = style.Number(str(line.gamma) if line.gamma else "off", line.gamma)
            rows.append([style.Number(f"{line.rate:g}", line.rate), name, *_cells(slow), gamma, *_cells(fast), ratio])
    lines: list[str | style.Table] = [report.sentence, "", [head, *rows], ""]
    lines += [f"note: {note}" for note in report.notes]
    lines += [
        "the table is simulated from predicted costs; it takes for granted:",
        *(f"- {assumption}" for assumption in report.assumptions),
    ]
    return style.page(lines, form)


def _cells(quantiles: Quantiles | None) -> list[style.Cell]:
    """Return mean, median and 99 % quantile in ms, shown as "never" if the rate cannot be served."""
    if quantiles is None:
        return [style.Number("never", None)] * 3
    return [_short(1e3 * seconds) for seconds in (quantiles.mean.value, quantiles.p50, quantiles.p99)]


def _short(value: float) -> style.Number:
    """Return a time in ms, shown with a decimal below 100."""
    return style.Number(f"{value:.0f}" if value >= 100 else f"{value:.1f}", value)
