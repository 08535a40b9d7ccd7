"""Results of `vllm bench serve` and SGLang's `bench_serving`: an object of JSON a run, with means of latencies.

Seen in vLLM 0.11 to 0.24 (vllm/benchmarks/serve.py) and in Modular's `benchmark_serving`, which writes the same keys:
`spec_decode_*` are differences of the server's counters over the run, `acceptance_rate` in percent, rates by position
of all blocks. SGLang writes one mean, `accept_length`, null where its server does not speculate. `mean_tpot_ms` is the
mean over requests of an answer's time per further token: with drafts, too.
"""

from __future__ import annotations

import math
import re
from typing import Any

from specsim.base.reading import json_values
from specsim.latency import Timing
from specsim.logs.record import DENSE, EngineLog, check_counts, fields, number, whole

NAME = "serving benchmark"
EXPECTS = "JSON with mean_tpot_ms and total_output_tokens"
COUNTS = ("spec_decode_num_drafts", "spec_decode_draft_tokens", "spec_decode_accepted_tokens")
MEAN = "accept_length"
LENGTH, RATE = "spec_decode_acceptance_length", "spec_decode_acceptance_rate"
# Parts of names of fields that only a run with speculation has, and the fields that are read.
_OTHER_WORDS = re.compile("spec|draft|accept", re.IGNORECASE)
BY_POSITION = "spec_decode_per_position_acceptance_rates"
_READ = {MEAN, LENGTH, RATE, BY_POSITION, *COUNTS}
# Relative difference of a printed mean from that of the counts: posted results are often rounded to three digits.
CLOSE = 5e-3
# The time between chunks over the tokens of a step is the time of a token up to this factor: on 144 public runs of vLLM
# 0.24 it was 0.992 to 0.998 of it, and means over requests that differ in length are other means.
GAPS = 1.15
# Steps without a draft are taken for such only beyond this share of all tokens: fewer may be cut ends of answers.
SURE = 0.02


def knows(text: str) -> bool:
    """Return whether a file is of this format."""
    return '"mean_tpot_ms"' in text and '"total_output_tokens"' in text and text.lstrip()[:1] in "[{"


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    """Return the runs of a file, which holds several if results were appended."""
    values = json_values(text, source)
    many = len(values) > 1
    return tuple(_run(value, f"{source}, run {i}" if many else source) for i, value in enumerate(values, 1))


def _run(value: Any, source: str) -> EngineLog:
    """Return one run from the object that a benchmark wrote."""
    # The tokens of its answers.
    held = fields(value, source)
    completed = whole(_number(held, "completed", source), f"{source}: completed")
    if completed < 1:
        raise ValueError(f"{source}: no request was completed; expected one or more")
    written = _number(held, "total_output_tokens", source)

    # Times: of a further token, as the mean over requests; requests in service by Little's law.
    spread = _number(held, "std_tpot_ms", source) if "std_tpot_ms" in held else None
    error = None if spread is None or completed < 2 else spread / 1e3 / math.sqrt(completed)
    token = Timing(_number(held, "mean_tpot_ms", source) / 1e3, error)
    if "mean_e2el_ms" in held:
        request_ms = _number(held, "mean_e2el_ms", source)
    else:
        further = max(written / completed - 1, 0)
        request_ms = _number(held, "mean_ttft_ms", source) + 1e3 * token.value * further
    duration = _number(held, "duration", source)
    if not duration:
        raise ValueError(f"{source}: duration is 0; expected the seconds of the run")
    batch = completed * request_ms / 1e3 / duration
    notes = ["the time of a token is the mean over requests and includes prompts that were read in between"]
    failed = held.get("failed")
    if failed:
        notes.append(f"{failed} failed requests are left out")
    run = EngineLog(
        NAME,
        source,
        speculating=False,
        model=str(held.get("model_id") or ""),
        batch=batch,
        token=token,
        notes=tuple(notes),
    )
    # Drafts: a mean alone, as SGLang writes it; none; or counts.
    _check_fields(held, source)
    if held.get(MEAN) is not None and not any(held.get(name) is not None for name in COUNTS):
        if _number(held, MEAN, source) < 1:
            raise ValueError(f"{source}: {MEAN} is {held[MEAN]}; a target call gives 1 token or more")
        tau = Timing(_number(held, MEAN, source))
        words = f"{MEAN} is a mean alone: drafts and steps are not counted"
        return check_counts(run._replace(speculating=True, tau=tau, notes=(*run.notes, words), coverage=None))
    if not any(name.startswith("spec_decode_") for name in held):
        return check_counts(run._replace(notes=(*run.notes, *_unlike_gaps(held, (1.0, 1.0), source))))
    return check_counts(_with_drafts(run, held, written, completed))


def _with_drafts(run: EngineLog, held: dict[str, Any], written: float, completed: int) -> EngineLog:
    """Return a run with its counts of drafts; ValueError where they contradict each other.

    held: the fields of the file. written: tokens of all answers. completed: number of answers.
    """
    # Counts of blocks, drafted and accepted tokens.
    missing = [name for name in COUNTS if held.get(name) is None]
    if missing:
        raise ValueError(
            f"{run.source} has spec_decode fields, but not {', '.join(missing)}: without counts nothing is known of "
            "the acceptance's error; expected the file as `vllm bench serve --save-result` writes it"
        )
    blocks, drafted, accepted = (whole(_number(held, name, run.source), f"{run.source}: {name}") for name in COUNTS)
    run = run._replace(speculating=True, blocks=blocks, drafted=drafted, accepted=accepted)
    if not blocks:
        return run._replace(notes=(*run.notes, "speculation is on, and nothing was drafted"))

    # Means and rates in the file must be those of the counts; the rate of acceptance is in percent.
    tau = 1 + accepted / blocks
    percent = 100 * accepted / drafted if drafted else 0.0
    for name, counted in ((LENGTH, tau), (MEAN, tau), (RATE, percent)):
        if held.get(name) is not None and abs(_number(held, name, run.source) - counted) > CLOSE * max(counted, 1):
            raise ValueError(f"{run.source}: {name} is {held[name]}, but the counts give {counted:.4g}; they differ")

    # Blocks that accepted draft 1, 2, ...: the rate at a position is of all blocks, so rate times blocks is a count.
    by_position: tuple[int, ...] = ()
    rates = held.get(BY_POSITION) or []
    if rates:
        place = f"{run.source}: {BY_POSITION}"
        if not isinstance(rates, list):
            raise ValueError(f"{place} is {str(rates)[:40]!r}; expected a list of rates")
        by_position = tuple(round(blocks * number(str(rate), f"{place}[{i}]")) for i, rate in enumerate(rates))
        surplus = sum(by_position) - accepted
        if abs(surplus) > CLOSE * max(accepted, 1):
            words = f"{BY_POSITION} sum to {sum(by_position)} accepted drafts, the count is {accepted}: not read"
            run = run._replace(notes=(*run.notes, words))
            by_position = ()
        elif surplus:
            # Rounding of the rates: the first position takes the difference.
            by_position = (by_position[0] - surplus, *by_position[1:])
    run = check_counts(run._replace(length=drafted / blocks, kept=by_position))
    # Tokens of a step, with a draft or without: fewest and most, as answers may have cut off drafts.
    without = max(written - completed - blocks - accepted, 0)
    of_step = (1 + accepted / (blocks + without + completed * accepted / blocks), 1 + accepted / (blocks + without))
    notes = (*run.notes, *_unlike_gaps(held, of_step, run.source))
    return run._replace(coverage=_coverage(run, written, completed), notes=notes)


def _unlike_gaps(held: dict[str, Any], of_step: tuple[float, float], source: str) -> list[str]:
    """Return what convicts the times: the time between chunks over the tokens of a step is the time of a token.

    of_step: fewest and most tokens of a step. SGLang shares a gap among the tokens of its chunk.
    """
    if held.get("mean_itl_ms") is None or held.get("backend") == "sglang":
        return []
    gap, token = _number(held, "mean_itl_ms", source), _number(held, "mean_tpot_ms", source)
    fewest, most = of_step
    if not gap or not token or fewest / GAPS <= gap / token <= most * GAPS:
        return []
    a_step, likely = "1 token", "drafts that the file does not count, or chunks of several steps"
    if most > 1:
        a_step, likely = f"{most:.3g} tokens", "chunks are no steps, or the counts are of other requests"
    return [
        f"implausible: {gap:.4g} ms pass between chunks (mean_itl_ms), and a step of {a_step} takes "
        f"{token * most:.4g} ms by mean_tpot_ms: {likely}"
    ]


def _check_fields(held: dict[str, Any], source: str) -> None:
    """Raise ValueError for fields about speculation that are not understood: the run would be taken for a plain one."""
    names = [name for name, value in held.items() if _OTHER_WORDS.search(name) and value is not None]
    if names and not any(held.get(name) is not None for name in _READ):
        raise ValueError(
            f"{source} has {', '.join(names)[:80]}, and none of {MEAN}, {', '.join(COUNTS)}: what it says of drafts is "
            "not understood"
        )


def _coverage(run: EngineLog, written: float, completed: int) -> float | None:
    """Return the share of decoding steps that had a draft; None where the file does not say it.

    The first token of an answer comes from its prompt; what blocks did not write came from steps without a draft. An
    answer that ends inside its last block cuts off drafts that were counted: a block's mean of them at most.
    """
    blocks, accepted, length, source = run.blocks or 0, run.accepted or 0, run.length or 0.0, run.source
    # Tokens after the first of each answer, and those of them that no block emitted.
    further = written - completed
    without = further - blocks - accepted
    if -without > completed * length:
        raise ValueError(
            f"{source}: {blocks} blocks and {accepted} accepted drafts are {blocks + accepted} tokens, and the run has "
            f"{further:.0f} after the first of each answer; counts of another run?"
        )
    if without > SURE * further:
        return blocks / (blocks + without)
    # The most steps without a draft, if every answer was cut by a block's mean of accepted drafts.
    most = without + completed * accepted / blocks
    return 1.0 if most <= (1 - DENSE) * blocks else None


def _number(held: dict[str, Any], name: str, source: str) -> float:
    """Return the number in a field; ValueError if the field is missing or no number."""
    if held.get(name) is None or isinstance(held[name], (str, bool, list, dict)):
        raise ValueError(f"{source}: {name} is {str(held.get(name))[:40]}; expected a number")
    return number(str(held[name]), f"{source}: {name}")
