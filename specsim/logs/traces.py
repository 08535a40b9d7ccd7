"""Traces by position: `acc_len`, tokens that a block emits if it starts there and drafts without end.

Seen in SpecDecode-Bench/simulator (arXiv:2601.11580), data/llama3.1-8B/combined_*.jsonl: one request a line, with
`acc_eagle` and `acc_ngram`, or `acc`, each an object with `acc_len`, which may end before `generated_token_ids` do. An
entry counts the target's token, so it is 1 or more. Each drafter is a run; blocks of one length follow from `--gamma`.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from specsim.base.reading import json_values
from specsim.lengths.request_record import AcceptanceRecord, RequestAcceptance
from specsim.logs.acceptance_metrics import whole_number
from specsim.logs.record import EngineLog, fields

NAME = "traces"
EXPECTS = "lines with acc_len by position"
_DRAFTER = re.compile(r"acc(?:_(\w+))?")


def knows(text: str) -> bool:
    """Return whether a file is of this format."""
    return '"acc_len"' in text and text.lstrip()[:1] in "[{"


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    """Return a run for each drafter of the trace."""
    requests: dict[str, list[RequestAcceptance]] = {}
    values = json_values(text, source)
    for i, value in enumerate(values, 1):
        place = f"{source}, line {i}"
        held = fields(value, place)
        for key, trace in held.items():
            name = _DRAFTER.fullmatch(key)
            if name is None or not isinstance(trace, dict) or "acc_len" not in trace:
                continue
            requests.setdefault(name[1] or "", []).append(_request(held, trace["acc_len"], f"{place}: {key}.acc_len"))
    if not requests:
        raise ValueError(
            f"{source} has acc_len, but not in acc, acc_eagle or acc_ngram; expected an object with it there"
        )
    for drafter, read in requests.items():
        if len(read) < len(values):
            raise ValueError(f"{source}: {len(read)} of {len(values)} lines have acc_{drafter}; expected it in each")
    return tuple(
        EngineLog(NAME, f"{source}, {drafter}" if drafter else source, True, requests=AcceptanceRecord(tuple(read)))
        for drafter, read in requests.items()
    )


def _request(held: dict[str, Any], lengths: Any, place: str) -> RequestAcceptance:
    """Return a request with the accepted drafts from each position on."""
    if not isinstance(lengths, list):
        raise ValueError(f"{place} is no list; expected the tokens of a block from each position on")
    reach = [whole_number(length, f"{place}[{t}]") - 1 for t, length in enumerate(lengths)]
    if reach and min(reach) < 0:
        raise ValueError(f"{place}[{reach.index(min(reach))}] is 0; expected 1 or more, the target's token")
    prompt = held.get("prompt_token_ids")
    return RequestAcceptance(
        0,
        0,
        tokens=len(reach),
        prompt=_prompt_name(held.get("id", ""), prompt),
        context=len(prompt) if isinstance(prompt, list) else None,
        reach=tuple(reach),
    )


def _prompt_name(name: Any, tokens: Any) -> str:
    """Return what names a prompt: its tokens where they are there, since ids of two data sets may be the same."""
    if not isinstance(tokens, list):
        return str(name)
    return f"{name} {hashlib.blake2b(json.dumps(tokens).encode(), digest_size=8).hexdigest()}"
