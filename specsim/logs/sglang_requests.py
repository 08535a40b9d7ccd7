"""SGLang's answers: `meta_info` of one request each, with `spec_verify_ct` and what was accepted.

Seen in sgl-project/sglang#3152 (`spec_verify_ct`), #11441 (`spec_accept_length`, `spec_accept_rate`), #13754
(`spec_accept_token_num`, `spec_draft_token_num`), #18332 (`spec_accept_histogram`) and #33518, which calls them
`spec_num_correct_drafts`, `spec_num_proposed_drafts` and `spec_correct_drafts_histogram`. `spec_accept_length` is
completion tokens over verifying passes, so it counts the first token, which comes from the prompt's pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from specsim.base.reading import is_stream
from specsim.lengths.request_record import LengthCounts, RequestAcceptance
from specsim.logs.acceptance_metrics import named, whole_number
from specsim.logs.printed import check_printed, contradiction
from specsim.logs.record import EngineLog, number
from specsim.logs.request_runs import run_of_requests
from specsim.logs.streams import Counts, choice, last_places, note_of, pieces

NAME = "SGLang answers"
EXPECTS = "JSON of an answer with spec_verify_ct"
STEPS = "spec_verify_ct"
ACCEPTED = ("spec_num_correct_drafts", "spec_accept_token_num", "spec_accepted_drafts", "spec_accepted_tokens")
DRAFTED = ("spec_num_proposed_drafts", "spec_draft_token_num", "spec_proposed_drafts", "spec_draft_tokens")
HISTOGRAMS = ("spec_correct_drafts_histogram", "spec_accept_histogram")
# The most drafts of a block that are tried for a rate.
MAX_LENGTH = 64
# Levels of an answer at which meta_info may stand.
DEEPEST = 6


def knows(text: str) -> bool:
    """Return whether a file is of this format."""
    return f'"{STEPS}"' in text and (text.lstrip()[:1] in "[{" or is_stream(text))


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    """Return the one run of a file: the last counts of every answer."""
    counts, requests, fitting = list[Counts](), list[RequestAcceptance](), list[set[int] | None]()
    for event, (answer, name) in enumerate(pieces(text, source)):
        for place, held in enumerate(_meta_infos(answer, DEEPEST)):
            request = _request(held, f"{source}: answer {event}")
            key = str(held.get("id", f"{name}, choice {choice(answer) + place}"))
            requests.append(request)
            fitting.append(_fitting_lengths(held, request))
            counts.append(Counts(key, {STEPS: request.blocks, "accepted drafts": request.accepted}))
    answers = [requests[i] for i in last_places(counts, source)]
    if not sum(request.blocks for request in answers):
        raise ValueError(f"{source} has no verifying pass ({STEPS} is 0); expected answers with speculation")
    _check_counted(answers, source)
    notes = note_of(len(requests), len(answers))
    # Lengths that fit the rate of every answer which has one, and no count of drafts.
    of_rates = [lengths for lengths in fitting if lengths is not None]
    fit = tuple(sorted(set.intersection(*of_rates))) if of_rates else None
    return (run_of_requests(answers, "SGLang", source, notes=notes, fitting_lengths=fit),)


def _fitting_lengths(held: dict[str, Any], request: RequestAcceptance) -> set[int] | None:
    """Return the drafts of a block with which the printed rate is that of the counts; None without a rate to fit."""
    rate = held.get("spec_accept_rate")
    if not rate or request.drafted is not None or not request.blocks:
        return None
    top = (request.accepted, request.accepted + request.blocks)
    return {
        drafts
        for drafts in range(1, MAX_LENGTH + 1)
        if not contradiction(
            "spec_accept_rate",
            str(rate),
            [above / (request.blocks * over) for above in top for over in (drafts, drafts + 1)],
            "",
        )
    }


def _check_counted(answers: Sequence[RequestAcceptance], source: str) -> None:
    """Raise ValueError if accepted drafts follow from the tokens alone, and there are fewer tokens than passes."""
    behind = [(request.tokens or 1) - 1 for request in answers]
    passes = sum(request.blocks for request in answers)
    if not sum(request.accepted for request in answers) and None not in {r.tokens for r in answers}:
        counted = any(request.drafted is not None or request.histogram for request in answers)
        if not counted and sum(behind) < passes:
            raise ValueError(
                f"{source} has {passes} passes and {sum(behind)} tokens behind the first of each answer: answers end "
                "inside their blocks, and what these accepted is not known; expected accepted drafts, or longer answers"
            )


def _meta_infos(value: Any, deepest: int) -> Iterator[dict[str, Any]]:
    """Yield every object of an answer that counts verifying passes."""
    if isinstance(value, dict) and STEPS in value:
        yield value
    elif deepest and isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _meta_infos(part, deepest - 1)


def _request(held: dict[str, Any], place: str) -> RequestAcceptance:
    """Return the counts of one answer from its meta_info; ValueError where they contradict each other."""
    # Counts that are printed; None for one that is not.
    blocks = whole_number(held[STEPS], f"{place}: {STEPS}")
    tokens = named(held, ("completion_tokens",), place)
    accepted, drafted = named(held, ACCEPTED, place), named(held, DRAFTED, place)
    # The histogram, which leaves out the zeros behind its last count.
    name = next((name for name in HISTOGRAMS if held.get(name)), None)
    rows: tuple[LengthCounts, ...] = ()
    if name is not None:
        if not isinstance(held[name], list):
            raise ValueError(f"{place}: {name} is no list; expected passes that accepted 0, 1, ... drafts")
        counts = [whole_number(count, f"{place}: {name}") for count in held[name]]
        total = sum(n * count for n, count in enumerate(counts))
        if sum(counts) != blocks or accepted not in (None, total):
            raise ValueError(
                f"{place}: {name} has {sum(counts)} passes and {total} accepted drafts, the answer {blocks} and "
                f"{accepted if accepted is not None else 'no number'}; they differ"
            )
        accepted = total
        length = drafted // blocks if drafted and blocks and drafted % blocks == 0 else len(counts) - 1
        counts += [0] * (length + 1 - len(counts))
        rows = (LengthCounts(len(counts) - 1, tuple(counts)),) if blocks else ()
    # Without a count, each pass emitted its accepted drafts and one token; the first token is of the prompt's pass.
    if accepted is None:
        if tokens is None:
            raise ValueError(f"{place} has neither accepted drafts nor completion_tokens beside {STEPS}")
        accepted = max(tokens - 1 - blocks, 0)
    _check_tokens(tokens, blocks, accepted, len(rows[0].counts) if rows else accepted, place)
    _check_means(held, blocks, accepted, drafted, place)
    # The prompt, the passes without a draft, and the time.
    context = named(held, ("prompt_tokens",), place)
    plain = None if tokens is None else max(tokens - 1 - blocks - accepted, 0)
    latency = held.get("e2e_latency")
    seconds = None if latency is None else number(str(latency), f"{place}: e2e_latency")
    return RequestAcceptance(
        blocks, accepted, drafted, rows, plain_steps=plain, tokens=tokens, context=context, seconds=seconds
    )


def _check_tokens(tokens: int | None, blocks: int, accepted: int, room: int, place: str) -> None:
    """Raise ValueError if passes emitted more tokens than the answer has, by more than its last block may be cut."""
    if tokens is not None and blocks + accepted > tokens + room:
        raise ValueError(
            f"{place}: {blocks} passes with {accepted} accepted drafts emit {blocks + accepted} tokens, and the answer "
            f"has {tokens}; expected no more, so what is counted is not known"
        )


def _check_means(held: dict[str, Any], blocks: int, accepted: int, drafted: int | None, place: str) -> None:
    """ValueError if the printed length or rate is that of the counts by no version's definition; 0 is not printed."""
    tokens = named(held, ("completion_tokens",), place)
    length, rate = (held.get(name) for name in ("spec_accept_length", "spec_accept_rate"))
    if length and blocks:
        # All tokens, the first among them, over passes; or those of the passes, with the target's or without it.
        counted = [1 + accepted / blocks, accepted / blocks]
        counted += [] if tokens is None else [tokens / blocks, (tokens - 1) / blocks]
        check_printed("spec_accept_length", str(length), counted, place)
    if rate and drafted:
        # Before #13754 the target's token was counted above, below or on both sides.
        top, bottom = (accepted, accepted + blocks), (drafted, drafted + blocks)
        check_printed("spec_accept_rate", str(rate), [above / below for above in top for below in bottom], place)
