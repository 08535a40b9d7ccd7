"""SGLang: the lines `Decode batch` of its log, and the arguments that it prints when it starts.

Seen in 0.4.5 (sgl-project/sglang#5274), 0.5.3 (#11948) and 0.5.10 (#22331). `accept len` counts the token of the
target, too: it is tau. `accept rate` is divided by three things in as many versions (steps, steps + 1, tokens - 1), so
it is not read: the length comes from the arguments. The line does not count blocks; its spread over lines is the error.
"""

from __future__ import annotations

import re

import numpy as np

from specsim.base.intervals import ratio_error
from specsim.latency import Timing
from specsim.logs.record import EngineLog, number, timing

NAME = "SGLang"
EXPECTS = "lines 'Decode batch, #running-req: ..., gen throughput (token/s): ...'"
_LINE = re.compile(r"Decode batch[.,] #running-req: (\d+).*?gen throughput \(token/s\): ([\d.]+)")
_TAU = re.compile(r"accept len: ([\d.]+)")
_ARGUMENT = r"{0}(?:=|['\"]?: |[ =])['\"]?([\w./:-]+)"


def knows(text: str) -> bool:
    return "Decode batch" in text and "gen throughput (token/s)" in text


def parse(text: str, source: str) -> tuple[EngineLog, ...]:
    rates, sizes, taus = [], [], []
    lines = list(text.splitlines())
    fresh = True  # the interval of the first line behind a prompt began before it
    for i, line in enumerate(lines, 1):
        if "Prefill batch" in line:
            fresh = True
        if (found := _LINE.search(line)) is None:
            continue
        if not fresh and float(found[1]):
            rates.append(number(found[2], f"{source}, line {i}: gen throughput"))
            sizes.append(float(found[1]))
        if (tau := _TAU.search(line)) is not None:
            taus.append(number(tau[1], f"{source}, line {i}: accept len"))
            if taus[-1] < 1:
                raise ValueError(
                    f"{source}, line {i}: accept len is {taus[-1]:g}; expected 1 or more, the target's token"
                )
        fresh = False
    steps, top, tokens = (_option(text, name) for name in ("num[-_]steps", "eagle[-_]topk", "num[-_]draft[-_]tokens"))
    notes = ["the first line behind each prompt is left out: its interval began before"] if rates else []
    if not rates or not sum(rates):
        raise ValueError(f"{source} has no decode line but those right behind a prompt; expected two or more in a row")
    if taus and top is not None and top > 1:
        notes.append(f"a tree: {steps:g} steps, top-k {top:g}, {tokens or 0:g} tokens verified")
    of_time = ratio_error(np.array(sizes), np.array(rates)) if len(rates) > 1 else None
    model = re.search(_ARGUMENT.format(r"(?:--)?model(?:[-_]path)?"), text)
    return (
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
        ),
    )


def _option(text: str, name: str) -> float | None:
    found = re.search(_ARGUMENT.format(rf"speculative[-_]{name}"), text)
    return float(found[1]) if found is not None and found[1].isdecimal() else None
