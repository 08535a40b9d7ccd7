"""llama-server's `/metrics`: counters of drafts since the start, as vLLM names them.

Merged in ggml-org/llama.cpp#26389 (2026): `llamacpp:spec_decode_num_drafts` (blocks), `..._num_draft_tokens`,
`..._num_accepted_tokens`, and `..._num_accepted_tokens_per_pos{position="N"}`, absent before the first request with
drafts; `_total` may stand behind each. `tokens_predicted_total` and `tokens_predicted_seconds_total` have the time of a
token. Of several scrapes in one file the difference between the first and the last counts.
"""

from __future__ import annotations

import re

from specsim.latency import Timing
from specsim.logs.printed import check_emitted, check_gauges
from specsim.logs.record import MISCOUNTED, EngineLog, check_counts, number, whole

NAME = "llama.cpp metrics"
EXPECTS = "counters llamacpp:spec_decode_num_drafts"
_COUNTER = re.compile(r"^llamacpp:(\w+?)(?:_total)?(?:\{([^}]*)\})?\s+(\S+)", re.MULTILINE)
_POSITION = re.compile(r'position="(\d+)"')
DRAFTS, TOKENS, ACCEPTED = (f"spec_decode_num_{name}" for name in ("drafts", "draft_tokens", "accepted_tokens"))
BY_POSITION = "spec_decode_num_accepted_tokens_per_pos"


def knows(text: str) -> bool:
    """Return whether a file is of this format."""
    return f"llamacpp:{DRAFTS}" in text


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    """Return the one run of a file."""
    grown = _grown(text, source)
    missing = [name for name in (TOKENS, ACCEPTED) if (name, None) not in grown]
    if missing:
        raise ValueError(f"{source} has no llamacpp:{missing[0]}; expected it beside llamacpp:{DRAFTS}")
    blocks, drafted, accepted = (
        whole(grown[name, None], f"{source}: llamacpp:{name}") for name in (DRAFTS, TOKENS, ACCEPTED)
    )
    tokens, seconds = grown.get(("tokens_predicted", None)), grown.get(("tokens_predicted_seconds", None))
    token = Timing(seconds / tokens, None) if tokens and seconds else None
    if tokens is not None:
        check_emitted(tokens, blocks, accepted, (1 - MISCOUNTED) * blocks, source)
    if not blocks:
        return (EngineLog("llama.cpp", source, True, length=0.0, drafted=0, accepted=0, token=token),)
    if len(re.findall(rf"^llamacpp:{DRAFTS}(?:_total)?[ {{]", text, re.MULTILINE)) == 1:
        check_gauges(text, blocks, drafted, accepted, source)
    # Blocks that accepted draft 1, 2, ...
    positions = sorted(place for name, place in grown if name == BY_POSITION and place is not None)
    if positions != list(range(len(positions))):
        raise ValueError(f"{source} has accepted tokens at positions {positions}; expected 0, 1, ...")
    kept = tuple(whole(grown[BY_POSITION, place], f"{source}: position {place}") for place in positions)
    return (
        check_counts(
            EngineLog(
                "llama.cpp",
                source,
                True,
                length=drafted / blocks,
                blocks=blocks,
                drafted=drafted,
                accepted=accepted,
                kept=kept,
                token=token,
                notes=_cut(blocks, accepted, tokens),
                coverage=None,
            )
        ),
    )


def _cut(blocks: int, accepted: int, tokens: float | None) -> tuple[str, ...]:
    """Return the note that blocks emitted somewhat more tokens than were generated, none otherwise."""
    if not tokens or blocks + accepted <= tokens:
        return ()
    return (
        f"{blocks} blocks with {accepted} accepted drafts emit {blocks + accepted} tokens, and {tokens:g} were "
        "generated: answers that end inside a block",
    )


def _grown(text: str, source: str) -> dict[tuple[str, int | None], float]:
    """Return how much each counter grew between the first scrape and the last; a single scrape counts from 0.

    Keys are (name, position), with position None for a counter without one.
    """
    # All values of each counter, in order.
    seen: dict[tuple[str, int | None], list[float]] = {}
    for name, labels, value in _COUNTER.findall(text):
        place = _POSITION.search(labels)
        key = (name, int(place[1]) if place else None)
        count = number(value, f"{source}: llamacpp:{name}")
        counts = seen.setdefault(key, [])
        if counts and name.startswith("spec_decode") and count < counts[-1]:
            raise ValueError(
                f"{source}: llamacpp:{name} falls from {counts[-1]:g} to {count:g}; expected scrapes of one server, in "
                "order"
            )
        counts.append(count)
    # A position may appear only in later scrapes: then it was 0 before.
    scrapes = len(seen.get((DRAFTS, None), []))
    return {
        key: counts[-1] - (counts[0] if scrapes > 1 and len(counts) == scrapes else 0.0) for key, counts in seen.items()
    }
