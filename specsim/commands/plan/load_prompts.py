"""How the prompts of a load are read: by predicted passes, by measured ones, or in a measured time to first token."""

from __future__ import annotations

import numpy as np

from specsim.base import check
from specsim.commands.plan.load_options import MOST, load_of
from specsim.commands.plan.options import PlanOptions
from specsim.commands.plan.problem import Problem
from specsim.speed.load.request_lengths import LengthLaw, Lengths
from specsim.speed.load.ways import (
    Host,
    Reading,
    Server,
    alike,
    alone_s,
    measured_reading,
    predicted_reading,
    prompt_of,
    way_of,
)


def read_prompts(
    options: PlanOptions, problem: Problem, server: Server, lengths: Lengths, host: Host
) -> tuple[Lengths, Reading, list[str]]:
    """Return the lengths of requests, how prompts are read, and notes.

    With `--ttft-ms` (the measured time to the first token) but no `--prompt-tokens`, prompts have as many tokens as are
    read in that time. With both, prompts are read faster than predicted if the time is shorter; if it is longer, the
    difference is a wait, which occupies no device.
    """
    # Where cycles have the reading in them, prompts are not read.
    if lengths.prompts is None:
        return lengths, Reading(lambda tokens: 0.0), []
    # By measured passes, or by predicted ones.
    measured_s = None
    if options.ttft_ms is not None:
        measured_s = float(check.scalar(options.ttft_ms, "ttft_ms", "(0, inf)")) / 1e3
    if problem.costs.is_measured:
        reading, is_told = _measured_reading(options, problem, lengths.prompts, measured_s)
        if is_told:
            return lengths, reading, []
    else:
        reading = predicted_reading(problem.costs.latency)
    if measured_s is None:
        return lengths, reading, []
    context = problem.costs.contexts[0] if problem.costs.is_measured else 0
    plain = way_of(problem.costs.latency, alike(np.ones(1)), server, reading, context=context, host=host)
    # The length of prompts is an option: a longer measured time is a wait, a shorter one a scale.
    if options.prompt_tokens is not None:
        alone = float(np.dot(lengths.prompts.weights, [alone_s(plain, server, int(n)) for n in lengths.prompts.values]))
        if measured_s <= host.pass_s:
            raise ValueError(
                f"ttft_ms is {options.ttft_ms:g}, shorter than the host's work of {1e3 * host.pass_s:g} ms"
            )
        if measured_s >= alone:
            note = f"{1e3 * (measured_s - alone):.3g} ms of --ttft-ms are no reading: a wait that occupies no device"
            return lengths, reading._replace(wait_s=measured_s - alone), [note]
        scale = (measured_s - host.pass_s) / (alone - host.pass_s)
        note = f"prompts are read in {scale:.2f} of the predicted time, as --ttft-ms says"
        return lengths, reading._replace(scale=scale), [note]
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
    return (
        lengths._replace(prompts=prompts),
        reading._replace(wait_s=measured_s - alone_s(plain, server, tokens)),
        [note],
    )


def _measured_reading(
    options: PlanOptions, problem: Problem, prompts: LengthLaw, measured_s: float | None
) -> tuple[Reading, bool]:
    """Return how prompts are read by measured times, and whether --ttft-ms alone says it.

    ValueError where no time of a prompt is known, or prompts are longer than those that were timed.
    """
    costs, name = problem.costs, load_of(options)
    batch, context = costs.batches[0], costs.contexts[0]
    step_s = costs.latency.target(1, batch, context).value
    share = costs.latency.draft(batch, context).value / step_s
    if costs.prompts:
        longest = max(costs.prompts)
        if prompts.values[-1] > longest:
            raise ValueError(
                f"prompt_tokens goes up to {prompts.values[-1]}, and --costs has prompts of {longest} tokens at most: "
                f"measure a pass over {prompts.values[-1]}, or give --prompt-tokens within"
            )
        return measured_reading({1: step_s} | costs.prompts, share), False
    if measured_s is None or options.prompt_tokens is None:
        raise ValueError(
            f"--{name} needs the time of reading prompts, and --costs has no pass over more than 64 tokens at batch 1: "
            "measure one, or give --ttft-ms with the --prompt-tokens that were read in it"
        )
    mean = round(prompts.mean)
    if measured_s <= step_s or mean < 2:
        raise ValueError(
            f"ttft_ms is {options.ttft_ms:g} for a prompt of {mean} tokens, and a plain step takes {1e3 * step_s:.3g} "
            "ms; expected a longer time, of 2 tokens or more"
        )
    return measured_reading({1: step_s, mean: measured_s}, share), True
