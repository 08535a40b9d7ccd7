"""llama.cpp: the timings that llama-server, llama-cli and llama-speculative print, and the `timings` of a response.

Seen from October 2023 (ggml-org/llama.cpp#3649) to August 2026 (#27151): `draft acceptance rate = ...` became `draft
acceptance = ...` in June 2026 (#24536), with the mean length and rates by position behind it. A request's tokens are
its accepted drafts and one of the target for each cycle, so cycles are their difference. `statistics NAME: ...
dur(b,g,a)` is the drafter's own time since the server's start: begin, generate, accept (milliseconds); of several
drafters the last line of each is added up.
"""

from __future__ import annotations

import json
import re

from specsim.latency import Timing
from specsim.logs.record import EngineLog, check_counts, number, whole

NAME = "llama.cpp"
EXPECTS = "lines 'eval time = ... ms / N tokens', or JSON with predicted_ms"
_EVAL = re.compile(r"(?<!prompt )\beval time =\s*([\d.]+) ms /\s*(\d+) (?:tokens|runs)")
_KEPT = re.compile(r"draft acceptance(?: rate)? = [\d.]+ \(\s*(\d+) accepted /\s*(\d+) generated\)")
_STATS = re.compile(
    r"statistics\s+(\S+): #calls.*?= *\d+ +(\d+) .*?#gen tokens =\s*(\d+)"
    r".*?dur\(b,g,a\) = ([\d.]+), ([\d.]+), ([\d.]+) ms"
)
_DECODED = re.compile(r"decoded\s+(\d+) tokens in\s+([\d.]+) seconds")


def knows(text: str) -> bool:
    return bool(_EVAL.search(text) or _DECODED.search(text) or '"predicted_ms"' in text)


def parse(text: str, source: str) -> tuple[EngineLog, ...]:
    if _DECODED.search(text):
        found = _example(text, source)
    elif '"predicted_ms"' in text:
        found = _response(text, source)
    else:
        found = _server(text, source)
    return (check_counts(found),)


def _server(text: str, source: str) -> EngineLog:
    ms = tokens = accepted = drafted = 0.0
    spans = _EVAL.findall(text)
    for i, (span, count) in enumerate(spans):
        ms += number(span, f"{source}: eval time {i + 1}")
        tokens += number(count, f"{source}: tokens {i + 1}")
    for one, other in _KEPT.findall(text):
        accepted, drafted = accepted + float(one), drafted + float(other)
    run = _run(source, ms, tokens, drafted, accepted)
    last = {name: tuple(map(float, rest)) for name, *rest in _STATS.findall(text)}
    calls = sum(one[0] for one in last.values() if one[1])
    if drafted and calls:
        spent = sum(one[2] + one[3] + one[4] for one in last.values())
        run = run._replace(
            draft=Timing(spent / 1e3 / calls, None),
            notes=(*run.notes, "drafting is timed since the server's start, over all requests"),
        )
    return run


def _response(text: str, source: str) -> EngineLog:
    """One response, a list of them, or one a line."""
    try:
        held = json.loads(text)
    except ValueError:
        try:
            held = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise ValueError(f"{source} is no JSON: {error}") from None
    spans = [one.get("timings", one) for one in (held if isinstance(held, list) else [held]) if isinstance(one, dict)]
    total = dict.fromkeys(("predicted_ms", "predicted_n", "draft_n", "draft_n_accepted"), 0.0)
    for i, one in enumerate(spans):
        for name in total:
            total[name] += number(str(one.get(name, 0)), f"{source}: {name} of response {i}")
    return _run(source, *(total[name] for name in ("predicted_ms", "predicted_n", "draft_n", "draft_n_accepted")))


def _example(text: str, source: str) -> EngineLog:
    """What llama-speculative prints: all it decoded, and behind `draft:` the draft's own steps."""
    tokens, seconds = (float(v) for v in _DECODED.findall(text)[-1])
    counts = {name: re.search(rf"{name}\s*=\s*(\d+)", text) for name in ("n_drafted", "n_accept")}
    if not all(counts.values()):
        raise ValueError(f"{source}: expected n_drafted and n_accept beside 'decoded ... tokens in', found not both")
    drafted, accepted = (float(found[1]) for found in counts.values() if found is not None)
    run = _run(source, 1e3 * seconds, tokens, drafted, accepted)
    part = text[text.rfind("draft:") :].split("target:")[0] if "draft:" in text else ""
    if (span := _EVAL.search(part)) is not None and run.blocks:
        run = run._replace(draft=Timing(float(span[1]) / 1e3 / run.blocks, None))
    return run


def _run(source: str, ms: float, tokens: float, drafted: float, accepted: float) -> EngineLog:
    if not tokens or not ms:
        raise ValueError(f"{source} says of {tokens:g} tokens in {ms:g} ms; expected some of both")
    token = Timing(ms / 1e3 / tokens, None)
    if not drafted:
        return EngineLog(NAME, source, False, batch=1.0, token=token)
    blocks = tokens - accepted
    if blocks < 1:
        raise ValueError(f"{source}: {accepted:g} drafts accepted among {tokens:g} tokens; expected fewer")
    return EngineLog(
        NAME,
        source,
        True,
        batch=1.0,
        length=drafted / blocks,
        blocks=whole(blocks, f"{source}: blocks"),
        drafted=whole(drafted, f"{source}: drafted"),
        accepted=whole(accepted, f"{source}: accepted"),
        token=token,
        notes=("cycles are tokens less accepted drafts",),
    )
