"""A record whose tau rests on a few long answers says so: a sample without them does not know of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specsim.logs.read import read_log
from specsim.logs.request_measures import counted_requests, request_notes

WORDS = "tau rests on few long answers"


def notes_of(tmp_path: Path, tokens: list[int]) -> list[str]:
    """The notes on a trace of requests with so many tokens, whose blocks of two keep none, one or two drafts."""
    lines = [
        json.dumps({"id": str(i), "acc": {"acc_len": [1 + (i + t) % 3 for t in range(n)]}})
        for i, n in enumerate(tokens)
    ]
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    (run,) = read_log(path)
    return request_notes(counted_requests(run, 2))


def test_one_long_answer_among_short_ones_is_named(tmp_path: Path) -> None:
    (note,) = [note for note in notes_of(tmp_path, [40] * 30 + [2000]) if WORDS in note]
    assert note.startswith("1 of 31 requests has 66% of the steps")


def test_of_many_requests_the_longest_hundredth_is_named(tmp_path: Path) -> None:
    (note,) = [note for note in notes_of(tmp_path, [40] * 200 + [3000, 2000]) if WORDS in note]
    assert note.startswith("2 of 202 requests have 3")


@pytest.mark.parametrize("tokens", [[40] * 30, list(range(20, 120)), [40, 2000]])
def test_alike_answers_and_short_records_have_no_such_note(tmp_path: Path, tokens: list[int]) -> None:
    assert not [note for note in notes_of(tmp_path, tokens) if WORDS in note]
