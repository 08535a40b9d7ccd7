"""`specsim plan --rate`: the latency of requests that arrive at a rate, with and without speculation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from specsim.base import check
from specsim.commands.plan import read
from specsim.commands.plan.answer import EVERYWHERE
from specsim.commands.plan.costs import Told, of
from specsim.commands.plan.sentence import counted
from specsim.commands.plan.share import mixed_acceptance, mixed_costs
from specsim.report import text as style
from specsim.speed.load.closed import RequestTimes, request_times, stable_rate
from specsim.speed.load.events import Quantiles, Simulated, simulate_requests
from specsim.speed.load.rates import harmful_rate, largest_rate, largest_rate_of_any, none_helps_from
from specsim.speed.load.service import MAX_OUTPUT, Service, service_costs

REQUESTS, RUNS = 1000, 4  # simulated for each line: a tenth of a second
MOST = {"rate": 16, "prompt_tokens": 1 << 20, "output_tokens": MAX_OUTPUT, "batch_limit": 1024}


class Asked(NamedTuple):
    """What `--rate` is told beside it."""

    rate: str
    prompt_tokens: int
    output_tokens: int
    batch_limit: int
    within: float | None


class Line(NamedTuple):
    """One rate: gamma, the length with the least mean latency there, 0 where none is below that of plain decoding.

    plain and drafts: means in closed form; plain_seen and drafts_seen: simulated. None where that cannot be served.
    """

    rate: float
    gamma: int
    plain: RequestTimes | None
    plain_seen: Simulated | None
    drafts: RequestTimes | None
    drafts_seen: Simulated | None


class Answer(NamedTuple):
    """All that it says; rates a second, times in seconds.

    stable: the largest stable rate of each length from 0 on. hurts: for gamma, the best length at the first rate, from
    which rate it is slower than plain decoding (None: at no rate that plain decoding can serve); none_helps: from which
    no length is faster. within: the largest rate whose mean latency stays in the bound, for plain decoding and for the
    best length, where a bound was given.
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


def run(
    asked: Asked, given: read.Given, told: Told, *, max_gamma: int, level: float, as_markdown: bool, as_json: bool
) -> str:
    """What to print; ValueError for anything that is wrong, before the work."""
    rates = read.numbers(asked.rate, "rate", "(-inf, inf)")
    if len(rates) > MOST["rate"]:
        raise ValueError(f"rate has {len(rates)} entries; it must have at most {MOST['rate']}")
    sizes = {}
    for name in ("prompt_tokens", "output_tokens", "batch_limit"):
        value = getattr(asked, name)
        sizes[name] = check.integer(value, name, 1)
        if value > MOST[name]:
            raise ValueError(f"{name} is {value}; it must be at most {MOST[name]}")
    if asked.within is not None:
        check.scalar(asked.within, "within", "(0, inf)")
    check.scalar(level, "level", "(0, 1)")
    costs = of(told, None, given.acceptance, [asked.batch_limit], [asked.prompt_tokens + asked.output_tokens])
    if costs.latency.unit != "s":
        raise ValueError("--rate is in requests a second: give --target, --draft and --hardware, not --cost-ratio")
    kept = mixed_acceptance(given.acceptance, costs.share)
    costs = costs._replace(latency=mixed_costs(costs.latency, costs.share))
    size: Any = {"prompt": asked.prompt_tokens, "output": asked.output_tokens, "limit": asked.batch_limit}
    longest = costs.latency.longest
    lengths = range(kept.most(max_gamma if longest is None else min(max_gamma, longest)) + 1)
    sides = [service_costs(costs.latency, kept if g else None, gamma=g, **size) for g in lengths]
    found = answer(sides, rates, asked, level=level)
    found = found._replace(
        notes=(*costs.notes, *found.notes),
        assumptions=(kept.words, EVERYWHERE, *costs.latency.assumptions, *found.assumptions),
    )
    if as_json:
        return json.dumps({"asked": asked._asdict() | told._asdict()} | _plain(found), allow_nan=False)
    return text(found, as_markdown)


def answer(sides: Sequence[Service], rates: Sequence[float], asked: Asked, *, level: float) -> Answer:
    """Every rate by the best length; sides: the ways to decode, by gamma from 0 on."""
    stable = tuple(stable_rate(side) for side in sides)
    top = max(stable)
    with_drafts = counted(stable.index(top), "draft") + " a block" if stable.index(top) else "plain decoding"
    for i, rate in enumerate(rates):
        if not 0 < rate < top:
            raise ValueError(
                f"rate[{i}] is {rate:g}; it must be above 0 and below the largest stable rate, {top:.4g} requests a "
                f"second, with {with_drafts} (plain decoding: {stable[0]:.4g})"
            )
    plain = sides[0]
    lines = []
    for rate in rates:
        able = [g for g in range(1, len(sides)) if rate < stable[g]]
        best = min(able, key=lambda g: request_times(sides[g], rate).total_s) if able else None
        slow = request_times(plain, rate) if rate < stable[0] else None
        fast = request_times(sides[best], rate) if best is not None else None
        helps = fast is not None and (slow is None or fast.total_s < slow.total_s)
        lines.append(
            Line(
                rate,
                best if helps and best is not None else 0,
                slow,
                None if slow is None else _seen(plain, rate, level),
                fast,
                None if best is None else _seen(sides[best], rate, level),
            )
        )
    gamma = next((line.gamma for line in lines if line.gamma), 1 if len(sides) > 1 else 0)
    within = None
    if asked.within is not None:
        within = (largest_rate(plain, asked.within), largest_rate_of_any(sides[1:], asked.within))
    none_helps = none_helps_from(plain, sides[1:])
    hurts = harmful_rate(plain, sides[gamma]) if gamma else 0.0
    notes = tuple(_notes(lines, asked, within))
    taken = (
        f"requests arrive by a Poisson process, {asked.prompt_tokens} tokens in and {asked.output_tokens} out",
        f"up to {asked.batch_limit} are decoded together; prompts are read one by one, before the next cycle",
        "every cycle costs what it does at the context in the middle of an answer",
        "the draft reads prompts too, at its share of a target step",
    )
    said = _sentence(lines[0], gamma, hurts, none_helps, stable[0])
    return Answer(said, tuple(lines), stable, gamma, hurts, none_helps, within, notes, taken)


def _seen(service: Service, rate: float, level: float) -> Simulated:
    return simulate_requests(service, rate, requests=REQUESTS, runs=RUNS, level=level)


def _sentence(line: Line, gamma: int, hurts: float | None, none_helps: float | None, top: float) -> str:
    where = f"at {line.rate:g} requests a second"
    if line.plain is None or line.drafts is None:
        able = "plain decoding" if line.drafts is None else "speculation"
        first = f"{where} only {able} keeps up"
    else:
        slow, fast = line.plain.total_s, line.drafts.total_s
        drafts = f"with {counted(line.gamma, 'draft')} a block" if line.gamma else "with the best length"
        first = f"{where} a request takes {fast:.2f} s {drafts} and {slow:.2f} s without (predicted means)"
    if hurts == 0:
        then = f"speculation with {counted(gamma, 'draft')} hurts at every rate"
    elif hurts is None:
        then = f"speculation with {counted(gamma, 'draft')} helps up to what plain decoding can serve, {top:.4g}"
    else:
        then = f"speculation with {counted(gamma, 'draft')} hurts from {hurts:.4g} on"
    if none_helps and none_helps != hurts:
        then += f", and no length helps from {none_helps:.4g} on"
    return f"{where[0].upper()}{first[1:]}; {then}."


def _notes(lines: Sequence[Line], asked: Asked, within: tuple[float | None, float | None] | None) -> list[str]:
    said = []
    rough = [
        f"{line.rate:g}" for line in lines if any(t is not None and not t.holds for t in (line.plain, line.drafts))
    ]
    if rough:
        said.append(
            f"at {', '.join(rough)} requests a second the closed form's assumptions fail (load, reading, or a full "
            "batch): the length there, and rates beyond, are rougher than the simulated times"
        )
    if within is not None:
        slow, fast = ("no rate" if reach is None else f"{reach:.4g} a second" for reach in within)
        said.append(f"a mean latency within {asked.within:g} s holds up to: {slow} without drafts, {fast} with them")
    return said


def text(found: Answer, as_markdown: bool = False) -> str:
    """What a person reads; one table, which fits 80 columns."""
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
    rows = []
    for line in found.lines:
        for name, kind in (("to first token", "first"), ("between tokens", "token"), ("to last token", "total")):
            slow, fast = (None if s is None else getattr(s, kind) for s in (line.plain_seen, line.drafts_seen))
            ratio = "" if slow is None or fast is None else f"{slow.mean.value / fast.mean.value:.2f}"
            gamma = str(line.gamma) if line.gamma else "off"
            rows.append([f"{line.rate:g}", name, *_cells(slow), gamma, *_cells(fast), ratio])
    lines = [found.sentence, "", style.table([head, *rows], as_markdown), ""]
    lines += [f"note: {note}" for note in found.notes]
    lines += [
        "the table is simulated from predicted costs; it takes for granted:",
        *(f"- {s}" for s in found.assumptions),
    ]
    return style.paragraphs(lines, as_markdown)


def _cells(found: Quantiles | None) -> list[str]:
    if found is None:
        return ["never"] * 3
    return [_short(1e3 * v) for v in (found.mean.value, found.p50, found.p99)]


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {key: _plain(v) for key, v in value._asdict().items()}
    return [_plain(v) for v in value] if isinstance(value, tuple) else value
