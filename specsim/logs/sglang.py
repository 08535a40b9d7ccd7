"""SGLang: the lines `Decode batch` of its log, and the arguments that it prints when it starts.

Seen in 0.4.5 (sgl-project/sglang#5274), 0.5.3 (#11948) and 0.5.10 (#22331). `accept len` counts the token of the
target, too: it is tau. `accept rate` is divided by three things in as many versions (steps, steps + 1, tokens - 1), so
it is not read: the length comes from the arguments. The line does not count blocks; its spread over lines is the error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from specsim.base.intervals import ratio_error
from specsim.latency import Timing
from specsim.logs.record import EngineLog, check_counts, number, steady_groups, timing

NAME = "SGLang"
EXPECTS = "lines 'Decode batch, #running-req: ..., gen throughput (token/s): ...'"
_LINE = re.compile(r"Decode batch[.,] #running-req: (\d+).*?gen throughput \(token/s\): ([\d.]+)")
_TAU = re.compile(r"accept len: ([\d.]+)")
_ARGUMENT = r"{0}(?:=|['\"]?: |[ =])['\"]?([\w./:-]+)"


def knows(text: str) -> bool:
    return "Decode batch" in text and "gen throughput (token/s)" in text


class Line(NamedTuple):
    """One decode line; rate: None behind a prompt, where its interval began before; tau: None if not printed."""

    running: float
    rate: float | None
    tau: float | None


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    lines = _decode_lines(text, source)
    if not any(one.rate for one in lines):
        raise ValueError(f"{source} has no decode line but those right behind a prompt; expected two or more in a row")
    algorithm = re.search(_ARGUMENT.format(r"speculative[-_]algorithm"), text)
    if algorithm is not None and algorithm[1] != "None" and all(one.tau is None for one in lines):
        raise ValueError(
            f"{source} speculates ({algorithm[0]}), but no decode line has 'accept len: ...'; expected it in each"
        )
    sizes = [one.running if one.rate is not None else 0.0 for one in lines]
    groups, left = steady_groups(sizes) if by_batch else ([], ())
    if len(groups) < 2:
        return (_summary(lines, text, source),)
    runs = []
    for group in groups:
        run = _summary([lines[i] for i in group], text, source)
        if not run.speculating and any(one.tau is not None for one in lines):  # switched off at this batch
            run = run._replace(speculating=True, length=0.0)
        runs.append(run._replace(batch=float(round(run.batch or 0.0)), notes=(*run.notes, *left)))
    return tuple(runs)


def _decode_lines(text: str, source: str) -> list[Line]:
    found = []
    fresh = True
    for i, line in enumerate(text.splitlines(), 1):
        place = f"{source}, line {i}"
        if "Prefill batch" in line:
            fresh = True
        if (decode := _LINE.search(line)) is None:
            continue
        running = number(decode[1], f"{place}: #running-req")
        rate = number(decode[2], f"{place}: gen throughput")
        tau = None
        if (printed := _TAU.search(line)) is not None:
            tau = number(printed[1], f"{place}: accept len")
            if tau < 1:
                raise ValueError(f"{place}: accept len is {tau:g}; expected 1 or more, the target's token")
        found.append(Line(running, None if fresh or not running else rate, tau))
        fresh = False
    return found


def _summary(lines: Sequence[Line], text: str, source: str) -> EngineLog:
    taus = [one.tau for one in lines if one.tau is not None]
    timed = [(one.running, one.rate) for one in lines if one.rate is not None]
    sizes, rates = [size for size, _ in timed], [rate for _, rate in timed]
    if not sum(rates):
        raise ValueError(f"{source}: no token a second with {sizes[0]:g} running requests; expected more")
    steps, top, tokens = (_option(text, name) for name in ("num[-_]steps", "eagle[-_]topk", "num[-_]draft[-_]tokens"))
    notes = ["the first line behind each prompt is left out: its interval began before"]
    if taus and top is not None and top > 1:
        notes.append(f"a tree: {steps or 0:g} steps, top-k {top:g}, {tokens or 0:g} tokens verified")
    of_time = ratio_error(np.array(sizes), np.array(rates)) if len(rates) > 1 else None
    model = re.search(_ARGUMENT.format(r"(?:--)?model(?:[-_]path)?"), text)
    return check_counts(
        EngineLog(
            NAME,
            source,
            bool(taus),
            model=model[1] if model else "",
            batch=sum(sizes) / len(sizes),
            length=steps if taus else None,
            verified=tokens if taus else None,
            tau=timing(taus),
            token=Timing(sum(sizes) / sum(rates), of_time),
            notes=tuple(notes),
        )
    )


def _option(text: str, name: str) -> float | None:
    found = re.search(_ARGUMENT.format(rf"speculative[-_]{name}"), text)
    short = found is not None and found[1].isdecimal() and len(found[1]) <= 6
    return float(found[1]) if found is not None and short else None
