"""Answers of llama.cpp and mlx-vlm: the `timings` of each, and the record of acceptance that they make.

Rounds are `draft_rounds` in mlx-vlm (Blaizzy/mlx-vlm#1788) and mlxcel (lablup/mlxcel#1588), for every `draft_kind`, and
`draft_n_verif_steps` in builds of llama.cpp with ggml-org/llama.cpp#27676. mlx-vlm's counters are of one answer only
where one is decoded at a time; without a drafter they are null.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from specsim.lengths.request_record import AcceptanceRecord, RequestAcceptance
from specsim.logs.llamacpp_totals import Totals, run_of_totals
from specsim.logs.printed import check_printed
from specsim.logs.record import EngineLog, fields, number
from specsim.logs.streams import Counts, choice, last_places, note_of, pieces

# Fields of a response that only a run with speculation has.
_DRAFT_FIELDS = re.compile("draft|accept|specul|round|verif", re.IGNORECASE)
ROUNDS = ("draft_rounds", "draft_n_verif_steps")
_TIMES = ("predicted_ms", "predicted_n", "draft_n", "draft_n_accepted", "draft_rounds")
# Fields of drafts that are read; the kind says which engine counts.
KIND = "draft_kind"
_READ = ("draft_n", "draft_n_accepted", KIND, *ROUNDS)


def read_responses(text: str, source: str) -> EngineLog:
    """Return the run of one response, a list of them, one a line, or a stream, whose last event has all counts."""
    # The times and counts of every event.
    events = pieces(text, source)
    timings = [_timings(event.value, f"response {i}", source) for i, event in enumerate(events)]
    spans = [
        {name: number(_text(event.get(name) or 0), f"{source}: {name} of response {i}") for name in _TIMES}
        for i, event in enumerate(timings)
    ]
    # The last event of each answer; events before the first token have no timings.
    with_timings = [i for i, event in enumerate(timings) if set(_TIMES) & set(event)]
    keys = [f"{events[i].answer}, choice {choice(events[i].value)}" for i in with_timings]
    last = last_places([Counts(key, spans[i]) for key, i in zip(keys, with_timings, strict=True)], source)
    read = [with_timings[place] for place in last]
    for i in read:
        _check_drafts(timings[i], spans[i], f"{source}: response {i}")
    kinds = _kinds([timings[i] for i in read], source)
    # Sum over the answers.
    spans = [spans[i] for i in read]
    total = {name: math.fsum(span[name] for span in spans) for name in _TIMES}
    rounds = all(span["draft_rounds"] for span in spans if span["draft_n"])
    emitted = sum(max(span["predicted_n"] - 1, 0.0) for span in spans)
    blocks = total["draft_rounds"] if rounds and total["draft_n"] else None
    ms, tokens, drafted, accepted = (total[name] for name in _TIMES[:4])
    run = run_of_totals(source, Totals(ms, tokens, emitted, drafted, accepted, blocks, answers=len(read)))
    contexts = [timings[i].get("prompt_n") for i in read]
    totals = [_totals(span) for span in spans]
    run = run._replace(
        notes=(*run.notes, *kinds, *note_of(len(with_timings), len(read))),
        requests=record_of_totals(totals, [n if isinstance(n, int) else None for n in contexts]),
    )
    if not run.speculating and any(timings[i].get("draft_n") is not None for i in read):
        return run._replace(speculating=True, length=0.0, drafted=0, accepted=0)
    return run


def _timings(value: Any, name: str, source: str) -> dict[str, Any]:
    """The timings of a response, which may be the whole of it."""
    response = fields(value, f"{source}: {name}")
    timings = fields(response.get("timings", response), f"{source}: timings of {name}")
    # Counts that stand beside the timings are not theirs.
    beside = "" if timings is response else _count_of_drafts(response, DEEPEST)
    if beside:
        raise ValueError(
            f"{source}: {name} has {beside[:40]!r} beside its timings, which is not read; expected counts of drafts "
            f"in timings, as {', '.join(_READ)}"
        )
    rounds = [key for key in ROUNDS if timings.get(key)]
    return {**timings, ROUNDS[0]: timings[rounds[0]]} if rounds else timings


# Objects of a response that hold its settings, or what is read; levels at which counts of drafts are looked for.
_SETTINGS = ("timings", "generation_settings", "settings", "params")
DEEPEST = 4


def _count_of_drafts(held: dict[str, Any], deepest: int) -> str:
    """Return the name of a count above 0 that speaks of drafts, at any level but in the settings; "" without one."""
    for key, value in held.items():
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if is_number and value > 0 and _DRAFT_FIELDS.search(key):
            return key
        if isinstance(value, dict) and deepest and key not in _SETTINGS:
            inner = _count_of_drafts(value, deepest - 1)
            if inner:
                return inner
    return ""


def _kinds(timings: Sequence[dict[str, Any]], source: str) -> tuple[str, ...]:
    """Return the note that rounds are counted; ValueError where answers are of several kinds of drafts."""
    drafting = [event for event in timings if event.get("draft_n")]
    kinds = sorted({str(event[KIND]) for event in drafting if event.get(KIND)})
    if len(kinds) > 1:
        raise ValueError(
            f"{source} holds answers of {' and '.join(repr(kind)[:40] for kind in kinds[:2])} ({KIND}); split it: one "
            "kind of drafts a file"
        )
    counted = [bool(event.get(ROUNDS[0])) for event in drafting]
    if any(counted) and not all(counted):
        raise ValueError(
            f"{source} has {ROUNDS[0]} in {sum(counted)} of {len(counted)} answers with drafts; expected it in all"
        )
    if not any(counted):
        return ()
    return (f"a block is a round ({ROUNDS[0]})" + (f" of drafts by {kinds[0][:40]}" if kinds else ""),)


def _check_drafts(timings: dict[str, Any], counts: dict[str, float], place: str) -> None:
    """ValueError if a response has a count of drafts, and not both that were drafted and accepted."""
    words = [name for name in timings if _DRAFT_FIELDS.search(name) and timings[name]]
    unread = [name for name in words if name not in _READ]
    missing = [name for name in ("draft_n", "draft_n_accepted") if timings.get(name) is None]
    if words and missing:
        raise ValueError(
            f"{place} speculates (it has {words[0][:40]!r}), but has no {missing[0]}; expected draft_n and "
            "draft_n_accepted"
        )
    if unread:
        raise ValueError(
            f"{place} has {unread[0][:40]!r}, which is not read; expected no counts of drafts but {', '.join(_READ)}"
        )
    if timings.get(KIND) and counts["draft_n"] and not counts["draft_rounds"]:
        raise ValueError(
            f"{place} has {KIND} {str(timings[KIND])[:40]!r} and no {ROUNDS[0]}: mlx-vlm counts drafts accepted behind "
            f"the end of an answer, so steps do not follow from its tokens; expected {ROUNDS[0]}"
        )
    _check_rounds(counts, place)
    for name, value in (("predicted_per_token_ms", _ratio(counts)), ("predicted_per_second", _ratio(counts, 1e3))):
        if timings.get(name) and value:
            check_printed(name, str(timings[name]), [value], place)
    if counts["draft_n_accepted"] > counts["draft_n"]:
        raise ValueError(
            f"{place}: draft_n_accepted is {counts['draft_n_accepted']:g}, draft_n {counts['draft_n']:g}; "
            "expected no more"
        )


def _ratio(counts: dict[str, float], second: float = 0.0) -> float:
    """Return milliseconds of a token, or tokens of a second of so many milliseconds; 0 where they are not known."""
    ms, tokens = counts["predicted_ms"], counts["predicted_n"]
    if not ms or not tokens:
        return 0.0
    return second * tokens / ms if second else ms / tokens


def _check_rounds(counts: dict[str, float], place: str) -> None:
    """ValueError if the rounds of an answer cannot have made its tokens."""
    rounds, emitted = counts["draft_rounds"], max(counts["predicted_n"] - 1, 0.0)
    if not rounds or not counts["draft_n"]:
        return
    # A round that ends at once may emit nothing that is counted.
    if rounds > emitted + 1:
        raise ValueError(f"{place}: {rounds:g} blocks emitted {emitted:g} tokens; expected no fewer")
    # The last round alone may accept drafts behind the end.
    behind = counts["draft_n_accepted"] + rounds - emitted
    if behind > counts["draft_n"] / rounds:
        raise ValueError(
            f"{place}: {rounds:g} rounds and {counts['draft_n_accepted']:g} accepted drafts are {behind:g} tokens more "
            f"than the {emitted:g} behind the first, and the last round has {counts['draft_n'] / rounds:.3g} drafts; "
            "likely several answers were decoded at once, and share their counts"
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
