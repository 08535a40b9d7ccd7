"""Answers of llama.cpp and mlx-vlm: the `timings` of each, and the record of acceptance that they make."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from specsim.lengths.request_record import AcceptanceRecord, RequestAcceptance
from specsim.logs.llamacpp_totals import Totals, run_of_totals
from specsim.logs.record import EngineLog, fields, number
from specsim.logs.streams import Counts, choice, last_places, note_of, pieces

# Fields of a response that only a run with speculation has.
_DRAFT_FIELDS = re.compile("draft|accept|specul", re.IGNORECASE)
_TIMES = ("predicted_ms", "predicted_n", "draft_n", "draft_n_accepted", "draft_rounds")


def read_responses(text: str, source: str) -> EngineLog:
    """Return the run of one response, a list of them, one a line, or a stream, whose last event has all counts."""
    # The times and counts of every event.
    events = pieces(text, source)
    timings = [_timings(event.value, f"response {i}", source) for i, event in enumerate(events)]
    spans = [
        {name: number(_text(event.get(name, 0)), f"{source}: {name} of response {i}") for name in _TIMES}
        for i, event in enumerate(timings)
    ]
    # The last event of each answer; events before the first token have no timings.
    with_timings = [i for i, event in enumerate(timings) if set(_TIMES) & set(event)]
    keys = [f"{events[i].answer}, choice {choice(events[i].value)}" for i in with_timings]
    last = last_places([Counts(key, spans[i]) for key, i in zip(keys, with_timings, strict=True)], source)
    read = [with_timings[place] for place in last]
    for i in read:
        _check_drafts(timings[i], spans[i], f"{source}: response {i}")
    # Sum over the answers.
    spans = [spans[i] for i in read]
    total = {name: math.fsum(span[name] for span in spans) for name in _TIMES}
    rounds = all(span["draft_rounds"] for span in spans if span["draft_n"])
    emitted = sum(max(span["predicted_n"] - 1, 0.0) for span in spans)
    blocks = total["draft_rounds"] if rounds and total["draft_n"] else None
    ms, tokens, drafted, accepted = (total[name] for name in _TIMES[:4])
    run = run_of_totals(source, Totals(ms, tokens, emitted, drafted, accepted, blocks))
    contexts = [timings[i].get("prompt_n") for i in read]
    totals = [_totals(span) for span in spans]
    run = run._replace(
        notes=(*run.notes, *note_of(len(with_timings), len(read))),
        requests=record_of_totals(totals, [n if isinstance(n, int) else None for n in contexts]),
    )
    if not run.speculating and any("draft_n" in timings[i] for i in read):
        return run._replace(speculating=True, length=0.0, drafted=0, accepted=0)
    return run


def _timings(value: Any, name: str, source: str) -> dict[str, Any]:
    """The timings of a response, which may be the whole of it."""
    response = fields(value, f"{source}: {name}")
    return fields(response.get("timings", response), f"{source}: timings of {name}")


def _check_drafts(timings: dict[str, Any], counts: dict[str, float], place: str) -> None:
    """ValueError if a response has a count of drafts, and not both that were drafted and accepted."""
    words = [name for name in timings if _DRAFT_FIELDS.search(name) and timings[name]]
    missing = [name for name in ("draft_n", "draft_n_accepted") if name not in timings]
    if words and missing:
        raise ValueError(
            f"{place} speculates (it has {words[0][:40]!r}), but has no {missing[0]}; expected draft_n and "
            "draft_n_accepted"
        )
    if counts["draft_n_accepted"] > counts["draft_n"]:
        raise ValueError(
            f"{place}: draft_n_accepted is {counts['draft_n_accepted']:g}, draft_n {counts['draft_n']:g}; "
            "expected no more"
        )


def _text(value: Any) -> str:
    """A value of JSON as text from which `number` reads it or refuses it."""
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else json.dumps(value)


def _totals(span: dict[str, float]) -> Totals:
    """Return the sums of one answer."""
    tokens = span["predicted_n"]
    blocks = span["draft_rounds"] or None
    return Totals(span["predicted_ms"], tokens, max(tokens - 1, 0.0), span["draft_n"], span["draft_n_accepted"], blocks)


def record_of_totals(
    requests: Sequence[Totals], contexts: Sequence[int | None] | None = None
) -> AcceptanceRecord | None:
    """Return the record of requests of which only the totals are known; None where one does not tell its steps.

    Steps are counted rounds, or emitted tokens less accepted drafts. Drafts accepted behind the end of an answer are
    counted, and not emitted.
    """
    read = []
    places = contexts or [None] * len(requests)
    for totals, context in zip(requests, places, strict=True):
        steps = totals.emitted - totals.accepted
        blocks = steps if totals.blocks is None else totals.blocks
        if blocks < 0 or (blocks < 1 and totals.drafted):
            return None
        plain = 0.0 if totals.blocks is None else max(steps - totals.blocks, 0.0)
        cut = totals.accepted + blocks > totals.emitted
        read.append(
            RequestAcceptance(
                round(blocks),
                round(totals.accepted),
                round(totals.drafted),
                plain_steps=round(plain),
                emitted=round(totals.emitted) if cut else None,
                tokens=round(totals.tokens),
                context=context,
                seconds=totals.ms / 1e3,
            )
        )
    return AcceptanceRecord(tuple(read))
