"""Answers that come in pieces: each event of a stream repeats the counts so far, and the last one has all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from specsim.base.reading import EVENT, is_stream, json_values

# The line that ends a stream of events.
_END = re.compile(rf"^\s*{EVENT}\s*\[DONE\]\s*$", re.MULTILINE)


class Piece(NamedTuple):
    """A value of a file and the answer that it is a piece of: one key for all pieces of one answer."""

    value: Any
    answer: str


class Counts(NamedTuple):
    """The counts of one piece by their names, for the answer of this key."""

    answer: str
    counts: dict[str, float]


def pieces(text: str, source: str) -> list[Piece]:
    """Return the values of a JSON list, of JSON lines or of streams of events, each with the answer it belongs to.

    An answer is known by its `id`. Without one, the events of a stream up to `[DONE]`, and native chunks of llama.cpp
    up to `"stop": true`, are one answer; any other value is an answer of its own.
    """
    streams = [part for part in _END.split(text) if part.strip()] if is_stream(text) else [text]
    values = []
    answer = 0
    for stream in streams:
        for value in json_values(stream, source):
            fields = value if isinstance(value, dict) else {}
            values.append(Piece(value, _name(fields) or f"answer {answer}"))
            is_open = fields.get("stop") is False or (is_stream(text) and fields.get("stop") is not True)
            if not is_open:
                answer += 1
        answer += 1
    return values


def _name(held: dict[str, Any]) -> str:
    """Return the id of an answer or of what holds it, "" without one."""
    inner = held.get("response")
    name = held.get("id") or (inner.get("id") if isinstance(inner, dict) else None)
    return f"answer {name!r:.60}" if isinstance(name, (str, int)) else ""


def choice(value: Any) -> int:
    """Return which of several answers to one prompt a piece belongs to: the index of its first choice, else 0."""
    choices = value.get("choices") if isinstance(value, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else value
    index = first.get("index", 0) if isinstance(first, dict) else 0
    return index if isinstance(index, int) else 0


def last_places(events: Sequence[Counts], source: str) -> list[int]:
    """Return the place of the last piece of each answer, in order; ValueError where the counts of one fall."""
    last: dict[str, int] = {}
    for place, (answer, counts) in enumerate(events):
        before = events[last[answer]].counts if answer in last else {}
        for name, value in before.items():
            if counts.get(name, 0) < value:
                raise ValueError(
                    f"{source}: {name} of {answer} falls from {value:g} to {counts.get(name, 0):g}; expected counts "
                    "that only grow in the events of one answer, and another id for each answer"
                )
        last[answer] = place
    return sorted(last.values())


def note_of(pieces_read: int, answers: int) -> tuple[str, ...]:
    """Return the note that answers came in pieces, none if each was whole."""
    if pieces_read == answers:
        return ()
    whole = "1 answer" if answers == 1 else f"{answers} answers"
    return (f"{pieces_read} events of {whole} repeat the counts so far: the last of each answer is read",)
