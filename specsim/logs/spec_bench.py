"""Answers of Spec-Bench, EAGLE, SWIFT and their kin: one question a line, `choices[]` with tokens and times by turn.

Seen in hemingkx/Spec-Bench (evaluation/eval.py: `accept_lengths`, `decoding_steps`, `new_tokens`, `wall_time`) and
SafeAILab/EAGLE (eagle/outputs: `idxs`, `new_tokens`, `wall_time`). `accept_lengths` has a number for each step, with
the target's own token or without it: which of the two, the sum of `new_tokens` tells. `idxs` is the index of the last
step, so steps are one more. How many drafts a block had is not in these files. Times include the pass over the prompt.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from specsim.base.intervals import ratio_error
from specsim.base.reading import json_values
from specsim.latency import Timing
from specsim.lengths.request_record import LengthCounts, RequestAcceptance
from specsim.logs.acceptance_metrics import whole_number
from specsim.logs.record import EngineLog, fields, number
from specsim.logs.request_runs import run_of_requests

NAME = "Spec-Bench"
EXPECTS = "lines with choices[], new_tokens and wall_time"
# The most by which the tokens of a turn may differ from those of its steps: the last block is cut, the first is not
# counted.
LOOSE = 2


class Answer(NamedTuple):
    """One choice: tokens of each step with the target's, None without them; seconds of all turns."""

    prompt: str
    emitted: list[int] | None
    steps: int
    tokens: int
    seconds: float
    turns: int


def knows(text: str) -> bool:
    """Return whether a file is of this format."""
    return '"wall_time"' in text and '"new_tokens"' in text and '"choices"' in text and text.lstrip()[:1] in "[{"


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    """Return the one run of a file, question by question."""
    values = [fields(value, f"{source}, line {i}") for i, value in enumerate(json_values(text, source), 1)]
    answers, failed = list[Answer](), 0
    for i, value in enumerate(values, 1):
        for answer in _answers(value, f"{source}, line {i}"):
            failed += answer is None
            answers += [] if answer is None else [answer]
    answers = [answer for answer in answers if answer.steps]
    if not answers:
        raise ValueError(f"{source} has no choice with decoding steps; expected accept_lengths, decoding_steps or idxs")
    notes: tuple[str, ...] = ("times include the pass over the prompt",)
    notes += (f"{failed} answers that ended with an error are left out",) if failed else ()
    models = list(dict.fromkeys(str(value["model_id"]) for value in values if "model_id" in value))
    if len(models) > 1:
        raise ValueError(f"{source} holds answers of {' and '.join(models[:2])}; split it: one model a file")
    model = models[0] if models else ""
    # Times: of a token, and of a step.
    seconds = np.array([answer.seconds for answer in answers])
    token = _time(seconds, np.array([float(answer.tokens) for answer in answers]))
    if all(answer.tokens == answer.steps for answer in answers):
        return (EngineLog(NAME, source, False, model=model, batch=1.0, token=token, notes=notes),)
    cycle = _time(seconds, np.array([float(answer.steps) for answer in answers]))
    requests = [_request(answer, _has_target(answers, source)) for answer in answers]
    run = run_of_requests(
        requests, NAME, source, model=model, batch=1.0, token=token, cycle=cycle, length=None, notes=notes
    )
    return (run,)


def _answers(value: dict[str, Any], place: str) -> list[Answer | None]:
    """Return the choices of a question; None for one that ended with an error."""
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ValueError(f"{place} has no list of choices; expected one choice or more")
    answers: list[Answer | None] = []
    for k, choice in enumerate(choices):
        held = fields(choice, f"{place}, choice {k}")
        turns = held.get("turns")
        if isinstance(turns, list) and "ERROR" in turns:
            answers.append(None)
            continue
        tokens = _row(held, "new_tokens", f"{place}, choice {k}")
        seconds = held.get("wall_time")
        if not isinstance(seconds, list) or len(seconds) != len(tokens):
            raise ValueError(f"{place}, choice {k}: wall_time needs {len(tokens)} times, one for each turn")
        spent = sum(number(str(time), f"{place}, choice {k}: wall_time") for time in seconds)
        emitted, steps = _steps(held, f"{place}, choice {k}")
        # The baseline of EAGLE writes no tokens: each of its steps made one.
        total = sum(tokens) or steps
        if steps > total + LOOSE * len(tokens):
            raise ValueError(
                f"{place}, choice {k}: {steps} steps made {total} tokens; expected no more steps than new_tokens"
            )
        question = str(value.get("question_id", value.get("sample_id", "")))
        name = f"question {question}, choice {held.get('index', k)}" if question else ""
        answers.append(Answer(name, emitted, steps, total, spent, len(tokens)))
    return answers


def _steps(held: dict[str, Any], place: str) -> tuple[list[int] | None, int]:
    """Return the tokens of each step, if they are there, and the number of steps of all turns."""
    if "accept_lengths" in held:
        lengths = _row(held, "accept_lengths", place)
        return lengths, len(lengths)
    if "decoding_steps" in held:
        return None, sum(_row(held, "decoding_steps", place))
    if "idxs" in held:
        return None, sum(index + 1 for index in _row(held, "idxs", place))
    raise ValueError(f"{place} has neither accept_lengths nor decoding_steps nor idxs; expected one of them")


def _row(held: dict[str, Any], name: str, place: str) -> list[int]:
    """Return a row of whole numbers."""
    row = held.get(name)
    if not isinstance(row, list):
        raise ValueError(f"{place}: {name} is no list; expected one number for each turn or step")
    return [whole_number(value, f"{place}: {name}") for value in row]


def _has_target(answers: list[Answer], source: str) -> bool:
    """Return whether lengths count the target's token, too; ValueError where neither reading gives the tokens."""
    known = [answer for answer in answers if answer.emitted is not None]
    longest = max((max(answer.emitted or [0], default=0) for answer in known), default=0)
    room = sum(answer.turns for answer in known) * (LOOSE + longest)
    tokens = sum(answer.tokens for answer in known)
    lengths, steps = sum(sum(answer.emitted or []) for answer in known), sum(answer.steps for answer in known)
    # The reading that is nearer to the tokens; a step of 0 tokens cannot be.
    no_step_is_empty = all(min(answer.emitted or [1]) > 0 for answer in known)
    with_target = no_step_is_empty and abs(lengths - tokens) <= abs(lengths + steps - tokens)
    if known and min(abs(lengths - tokens), abs(lengths + steps - tokens)) > room:
        raise ValueError(
            f"{source}: accept_lengths sum to {lengths} in {steps} steps, new_tokens to {tokens}; expected the same, "
            "or the same with one token of the target for each step"
        )
    return with_target


def _request(answer: Answer, with_target: bool) -> RequestAcceptance:
    """Return the counts of an answer; blocks are taken to have had as many drafts as the longest accepted."""
    if answer.emitted is None:
        accepted = max(answer.tokens - answer.steps, 0)
        return RequestAcceptance(
            answer.steps, accepted, tokens=answer.tokens, prompt=answer.prompt, seconds=answer.seconds
        )
    accepted_by_step = [length - with_target for length in answer.emitted]
    counts = Counter(accepted_by_step)
    longest = max(counts)
    row = LengthCounts(longest, tuple(counts[n] for n in range(longest + 1)))
    return RequestAcceptance(
        answer.steps,
        sum(accepted_by_step),
        histogram=(row,),
        tokens=answer.tokens,
        prompt=answer.prompt,
        seconds=answer.seconds,
    )


def _time(seconds: Any, counts: Any) -> Timing:
    """Return the time of one of these, with its error over answers."""
    return Timing(float(seconds.sum() / counts.sum()), ratio_error(seconds, counts) if len(counts) > 1 else None)
