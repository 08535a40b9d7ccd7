"""One acceptance by the definitions of engines and papers, side by side."""

from __future__ import annotations

import math
from typing import NamedTuple

from specsim.base.intervals import Measure
from specsim.lengths.request_estimates import mean_of_requests, measure_of
from specsim.lengths.request_record import stepped
from specsim.logs.measures import LogAcceptance
from specsim.logs.record import EngineLog


class Definition(NamedTuple):
    """A number that is called acceptance: what it is, its value, and who prints it."""

    name: str
    measure: Measure
    printed_by: str


def definitions(run: EngineLog, acceptance: LogAcceptance, level: float = 0.95) -> list[Definition]:
    """Return every definition that a run tells, those of requests only where it has them."""
    measures = acceptance.measures
    tau = measures.get("drafted_tau", measures["tau"])
    low, high = (None if end is None else end - 1 for end in tau[1:])
    # Drafts accepted behind the end of an answer were not emitted.
    accepted = Measure(tau.value - 1, low, high) if "output_share" in measures else measures["kept"]
    rows = [
        Definition("tokens per call, all together", tau, "vLLM, SGLang, TensorRT-LLM, llama.cpp, MBSU"),
        Definition("accepted per call, all together", accepted, "papers: accepted tokens"),
    ]
    named = {
        "draft_rate": ("accepted over drafted, all together", "vLLM, TensorRT-LLM, llama.cpp"),
        "output_share": ("share of the text that was drafted", "LM Studio"),
        "alpha": ("one draft, if all were alike", "Leviathan et al. (alpha)"),
    }
    rows += [Definition(name, measures[kind], who) for kind, (name, who) in named.items() if kind in measures]
    return [*rows, *_of_requests(run, level), *_of_positions(run, acceptance)]


def _of_positions(run: EngineLog, acceptance: LogAcceptance) -> list[Definition]:
    """Return the two definitions of acceptance at the last position."""
    hazards, last = acceptance.hazards, len(run.kept)
    if hazards is None or not run.blocks or last < 2 or len(hazards.hazards) < last:
        return []
    share_of_all = Measure(run.kept[-1] / run.blocks, None, None)
    low, high = (float(end) for end in hazards.intervals[last - 1])
    of_those_that_came = Measure(float(hazards.hazards[last - 1]), low, high)
    return [
        Definition(f"draft {last}, share of all blocks", share_of_all, "vLLM, llama.cpp, speculators"),
        Definition(f"draft {last}, of blocks that came to it", of_those_that_came, "specsim, AIConfigurator"),
    ]


def _of_requests(run: EngineLog, level: float) -> list[Definition]:
    """Return the definitions that average over requests."""
    if run.requests is None or len(stepped(run.requests).requests) < 2:
        return []
    requests = [request for request in run.requests.requests if request.blocks]
    taus = [1 + request.accepted / request.blocks for request in requests]
    rows = [_mean("tokens per call, mean of requests", taus, math.inf, "aiperf", level)]
    # SGLang divides all tokens of an answer, of which the first comes from the prompt's pass.
    if all(request.tokens for request in requests):
        with_first = [(request.tokens or 0) / request.steps for request in requests]
        who = "SGLang (spec_accept_length)"
        rows.append(_mean("with the first token, mean of requests", with_first, math.inf, who, level))
    if all(request.drafted for request in requests):
        rates = [request.accepted / (request.drafted or 1) for request in requests]
        verified = [
            (request.accepted + request.blocks) / ((request.drafted or 0) + request.blocks) for request in requests
        ]
        rows.append(_mean("accepted over drafted, mean of requests", rates, 1.0, "aiperf, SGLang", level))
        rows.append(_mean("emitted over verified, mean of requests", verified, 1.0, "aiperf", level))
    return rows


def _mean(name: str, values: list[float], most: float, printed_by: str, level: float) -> Definition:
    """Return the definition that is a mean of one number for each request."""
    return Definition(name, measure_of(mean_of_requests(values), level, 0.0, most), printed_by)
