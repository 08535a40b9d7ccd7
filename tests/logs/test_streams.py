"""Answers in pieces: each event repeats the counts so far, and the last one of each answer is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specsim.logs.measures import log_acceptance
from specsim.logs.read import read_log
from specsim.logs.record import EngineLog

# Tokens, milliseconds, drafts and accepted drafts after each event.
COUNTS = ((1, 0.01, 0, 0), (11, 200, 10, 9), (21, 400, 20, 18), (101, 5000, 120, 40))
NAMES = ("predicted_n", "predicted_ms", "draft_n", "draft_n_accepted")
TIMINGS = [dict(zip(NAMES, counts, strict=True)) for counts in COUNTS]
HISTOGRAMS = ([5, 2, 1], [10, 5, 3], [15, 10, 5])


def read(text: str, folder: Path) -> EngineLog:
    (folder / "on.log").write_text(text)
    (run,) = read_log(folder / "on.log")
    return run


def events(values: list[dict[str, object]]) -> str:
    return "".join(f"data: {json.dumps(value)}\n\n" for value in values) + "data: [DONE]\n"


def lines(values: list[dict[str, object]]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def named(name: str) -> list[dict[str, object]]:
    return [{"id": name, "timings": one} for one in TIMINGS]


NATIVE: list[dict[str, object]] = [{"stop": i == 3, "timings": one} for i, one in enumerate(TIMINGS)]
CHOICES: list[dict[str, object]] = [
    {"id": "1", "choices": [{"index": i}], "timings": one} for one in TIMINGS for i in (0, 1)
]
# Every case has answers of 60 blocks that keep 40 drafts of 120.
STREAMS = {
    "timings per token, of one stream": (events(named("chatcmpl-1")), 1),
    "timings per token, a line each": (lines(named("chatcmpl-1")), 1),
    "timings per token, as a list": (json.dumps(named("chatcmpl-1")), 1),
    "streams one after the other": (events(named("1")) + events(named("2")), 2),
    "answers whose events alternate": (lines([v for k in range(4) for v in (named("1")[k], named("2")[k])]), 2),
    "events without an id": (events([{"timings": one} for one in TIMINGS]) * 2, 2),
    "native chunks up to stop": (lines(NATIVE) * 2, 2),
    "native events without an end": (events(NATIVE).replace("data: [DONE]\n", "") * 2, 2),
    "two choices of one prompt": (events(CHOICES), 2),
    "an answer inside a response": (events([{"response": one} | one for one in named("1")]), 1),
}


@pytest.mark.parametrize("case", STREAMS)
def test_the_last_event_of_an_answer_has_its_counts(case: str, tmp_path: Path) -> None:
    text, answers = STREAMS[case]
    run = read(text, tmp_path)
    assert (run.blocks, run.drafted, run.accepted) == (60 * answers, 120 * answers, 40 * answers)
    found = log_acceptance(run).measures
    assert (round(found["tau"].value, 3), round(found["draft_rate"].value, 3)) == (1.667, 0.333)
    assert any(f"{4 * answers} events of {answers} answer" in note for note in run.notes)


def test_answers_that_are_whole_are_added_up(tmp_path: Path) -> None:
    run = read(lines([{"timings": one} for one in (TIMINGS[3], TIMINGS[3])]), tmp_path)
    assert (run.blocks, len(run.notes)) == (120, 1)


@pytest.mark.parametrize("write", [events, lines])
def test_the_last_histogram_of_an_answer_is_read(write: object, tmp_path: Path) -> None:
    """30 blocks and not 48; the tokens stand in an event of their own: 30 steps and 20 accepted drafts."""
    values = [{"id": "1", "metrics": {"acceptance_histogram": one}} for one in HISTOGRAMS]
    text = write([*values, {"id": "1", "choices": [], "usage": {"completion_tokens": 50}}])  # type: ignore[operator]
    run = read(text, tmp_path)
    assert (run.blocks, run.accepted, run.kept) == (30, 20, (15, 5))


FALLING = {
    "timings of two answers with one id": (
        lines(named("1") * 2),
        "predicted_ms of answer '1', choice 0 falls from 5000",
    ),
    "events of two answers in one stream": (events([{"timings": one} for one in TIMINGS * 2]), "of answer 0, choice 0"),
    "histograms of two answers with one id": (
        lines([{"id": "1", "metrics": {"acceptance_histogram": one}} for one in HISTOGRAMS[::-1]]),
        r"acceptance_histogram\[0\] of answer '1', choice 0 falls from 15 to 10",
    ),
}


@pytest.mark.parametrize("case", FALLING)
def test_counts_that_fall_are_of_several_answers(case: str, tmp_path: Path) -> None:
    text, words = FALLING[case]
    with pytest.raises(ValueError, match=words):
        read(text, tmp_path)
