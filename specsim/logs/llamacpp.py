"""llama.cpp: the timings that llama-server, llama-cli and llama-speculative print, and the `timings` of a response.

Seen from August 2023 (ggml-org/llama.cpp#2926) to August 2026 (#27151): `draft acceptance rate = ...` became `draft
acceptance = ...` in June 2026 (#24536), with the mean length and rates by position behind it. The first of a request's
tokens comes from the pass over its prompt; the others are its accepted drafts and one of the target for each cycle, so
cycles are their difference. `statistics NAME: ... dur(b,g,a)` is the drafter's own time since the server's start:
begin, generate, accept (milliseconds); of several drafters the last line of each is added up.

mlx-vlm answers with the same names (Blaizzy/mlx-vlm#1788), and counts rounds and the drafts accepted behind the end of
an answer (#2324): there tokens are divided by `draft_rounds`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from specsim.latency import Timing
from specsim.lengths.request_record import AcceptanceRecord
from specsim.logs.llamacpp_printed import unlike_accept, unlike_counts
from specsim.logs.llamacpp_responses import read_responses, record_of_totals
from specsim.logs.llamacpp_totals import Totals, run_of_totals
from specsim.logs.record import DISAGREE, EngineLog, check_counts, mended, number, share

NAME = "llama.cpp"
EXPECTS = "lines 'eval time = ... ms / N tokens', or JSON with predicted_ms"
_EVAL = re.compile(r"(?<!prompt )\beval time =\s*([\d.]+) ms /\s*(\d+) (tokens|runs)")
_KEPT = re.compile(
    r"draft acceptance(?: rate)? = (?:[\d.]+|-?nan(?:\(ind\))?) \(\s*(\d+) accepted /\s*(\d+) generated\)"
    r"(?:, mean acceptance length =\s*([\d.]+))?(?:, acceptance rate per position = \(([\d., ]*)\))?"
)
_STATS = re.compile(
    r"statistics\s+(\S+): #calls.*?= *\d+ +(\d+) .*?#gen tokens =\s*(\d+)"
    r".*?dur\(b,g,a\) = ([\d.]+), ([\d.]+), ([\d.]+) ms"
)
_COUNTS = re.compile(
    r"statistics\s+(\S+): #calls.*?#gen drafts =\s*(\d+).*?#gen tokens =\s*(\d+)(?:.*?#acc rate/pos = \(([\d., ]*)\))?"
)
_DECODED = re.compile(r"(?:decoded|generated)\s+(\d+) tokens in\s+([\d.]+) seconds")
# Words that only a run with speculation prints.
_DRAFTING = re.compile(
    r"\bn_drafted\b|\bn_accept\b|\bdraft_n\b|(?-i:^draft:)|statistics\s+\S+: #calls|draft acceptance"
    r"|\baccept(?:ed|ance)?[ _](?:rate|len\w*|tokens)\b|\bdraft(?:ed)?[ _]tokens\b"
    # A count of drafts in any words, and what a server says when it begins to speculate.
    r"|\bdraft\w*\b[^\n]{0,60}?\baccept\w*\b[^\n]{0,20}?\d|\baccept\w*\b[^\n]{0,60}?\bdraft\w*\b[^\n]{0,20}?\d"
    r"|\b(?:draft\w*|accepted|specul\w*)(?: \w+){0,2} ?[=:] ?[1-9]|\bn_draft\b\s*=|\bdraft\w*[ _]stat(?:s|istics)?\b"
    r"|\bspeculative decoding (?:context initialized|will use|is enabled)|adding speculative implementation"
    r"|\b(?:loading|creating|loaded) (?:\w+ )?draft\b",
    re.MULTILINE | re.IGNORECASE,
)


def knows(text: str) -> bool:
    """Return whether a file is of this format."""
    return bool(_EVAL.search(text) or _DECODED.search(text) or '"predicted_ms"' in text)


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    """Return the one run of a file: responses, llama-speculative, or a server's log."""
    if '"predicted_ms"' in text:
        return (check_counts(read_responses(text, source)),)
    if _DECODED.search(text):
        return (check_counts(_example(text, source)),)
    return (check_counts(_server(text, source)),)


def _server(text: str, source: str) -> EngineLog:
    """Return the run of a server's log, or of a program that prints the same lines."""
    # Times, tokens and drafts, summed over the requests.
    totals = _eval_totals(text, source)
    requests = _KEPT.findall(text)
    if len(requests) < len(re.findall(r"draft acceptance", text)):
        raise ValueError(
            f"{source} has 'draft acceptance' in a line without '(N accepted / N generated)'; expected both counts"
        )
    accepted = drafted = 0.0
    for i, (accepted_count, drafted_count, *_) in enumerate(requests, 1):
        accepted += number(accepted_count, f"{source}: accepted drafts {i}")
        drafted += number(drafted_count, f"{source}: drafts {i}")
    if not requests and (word := _DRAFTING.search(text)) is not None:
        return _without_counts(text, source, word[0], totals)

    # Blocks with drafts, and accepted drafts by position: of each drafter, else of each request.
    counted = _counts_by_drafter(text, drafted, source) or _by_request(requests, source)
    blocks, by_position = counted or (None, ())
    # Rates have three digits, and each request's counts are rounded to whole ones: their sum may be off by `room`.
    room = len(by_position) * (0.00051 * (blocks or 0.0) + 0.5 * max(len(requests), 1))
    if by_position and 0 < abs(sum(by_position) - accepted) <= room:
        by_position = tuple(mended(list(by_position), int(accepted)))
    totals = totals._replace(
        drafted=drafted,
        accepted=accepted,
        blocks=blocks,
        kept=by_position if sum(by_position) == accepted else (),
        answers=len(requests),
    )
    run = run_of_totals(source, totals)
    run = run._replace(requests=_by_answer(text, run, source), notes=(*run.notes, *unlike_counts(text, source)))
    if sum(by_position) not in (0, accepted):
        run = run._replace(notes=(*run.notes, f"{DISAGREE}, so hazards are not known"))

    # Speculation was on without a draft; or the time that drafting a block took.
    draft_time = _draft_time(text, source)
    if requests and not drafted:
        return run._replace(speculating=True, length=0.0, drafted=0, accepted=0)
    if drafted and draft_time is not None:
        words = "drafting is timed since the server's start, over all requests"
        run = run._replace(draft=draft_time, notes=(*run.notes, words))
    return run


def _eval_totals(text: str, source: str) -> Totals:
    """Return the milliseconds and tokens of all `eval time` lines, and how many of these tokens cycles emitted.

    A server counts "tokens", the first of which comes from the pass over the prompt; other programs count "runs" of the
    target after it.
    """
    ms = tokens = emitted = 0.0
    for i, (span, count, unit) in enumerate(_EVAL.findall(text), 1):
        ms += number(span, f"{source}: eval time {i}")
        n = number(count, f"{source}: tokens {i}")
        tokens, emitted = tokens + n, emitted + (max(n - 1, 0.0) if unit == "tokens" else n)
    return Totals(ms, tokens, emitted)


def _draft_time(text: str, source: str) -> Timing | None:
    """Return the mean time of drafting a block since the server's start; None without statistics of drafters."""
    # The last statistics of each drafter: calls, drafted tokens, and milliseconds of begin, generate and accept.
    last = {name: [number(v, f"{source}: statistics") for v in rest] for name, *rest in _STATS.findall(text)}
    calls = sum(calls for calls, drafted, *_ in last.values() if drafted)
    if not calls:
        return None
    ms = sum(begin + generate + accept for _, _, begin, generate, accept in last.values())
    return Timing(ms / 1e3 / calls, None)


def _by_answer(text: str, run: EngineLog, source: str) -> AcceptanceRecord | None:
    """Return the record of a server's requests; None if its lines do not tell requests apart, or lack some steps."""
    times, counts = _EVAL.findall(text), _KEPT.findall(text)
    if len(times) != len(counts) or any(unit != "tokens" for _, _, unit in times):
        return None
    requests = []
    for (ms, tokens, _), (accepted, drafted, mean, rates) in zip(times, counts, strict=True):
        n = float(tokens)
        blocks = _blocks(float(accepted), float(mean or 0), _shares(rates, source))
        requests.append(Totals(float(ms), n, max(n - 1, 0.0), float(drafted), float(accepted), blocks))
    # Blocks are known of all requests, or taken for none.
    if any(totals.blocks is None for totals in requests):
        requests = [totals._replace(blocks=None) for totals in requests]
    record = record_of_totals(requests)
    return record if record is not None and record.blocks == run.blocks else None


def _without_counts(text: str, source: str, word: str, totals: Totals) -> EngineLog:
    """Return a run without counts of accepted drafts if nothing was drafted; ValueError otherwise."""
    drafts = [number(tokens, f"{source}: gen tokens") for _, _, tokens, _ in _COUNTS.findall(text)]
    if drafts and not sum(drafts):
        return run_of_totals(source, totals)._replace(speculating=True, length=0.0, drafted=0, accepted=0)
    raise ValueError(
        f"{source} speculates (it has {word.strip()!r}), but says neither 'draft acceptance = ...' "
        "nor 'decoded N tokens in S seconds' beside n_drafted; expected one of them"
    )


def _counts_by_drafter(text: str, drafted: float, source: str) -> tuple[float, tuple[int, ...]] | None:
    """Return blocks, and accepted drafts by position, of all drafters; None if they do not cover the `drafted` tokens.

    llama.cpp calls a block a draft: "#gen drafts" counts blocks, "#gen tokens" counts drafts.
    """
    last = {name: rest for name, *rest in _COUNTS.findall(text)}
    counts = {name: [number(v, f"{source}: statistics") for v in rest[:2]] for name, rest in last.items()}
    if not last or sum(tokens for _, tokens in counts.values()) != drafted:
        return None
    accepted: list[int] = []
    for name, (*_, rates) in last.items():
        _add(accepted, _shares(rates, source), counts[name][0])
    blocks = sum(n for n, _ in counts.values())
    return (blocks, tuple(accepted)) if blocks else None


def _by_request(requests: Sequence[Sequence[str]], source: str) -> tuple[float, tuple[int, ...]] | None:
    """Return blocks and accepted drafts by position, from the mean length and rates of each request.

    None if a request lacks a mean length from which its blocks follow.
    """
    blocks, by_position = 0.0, list[int]()
    for accepted, drafted, mean, rates in requests:
        if not float(drafted):
            continue
        shares = _shares(rates, source)
        n = _blocks(float(accepted), number(mean or "0", f"{source}: mean acceptance length"), shares)
        if n is None:
            return None
        blocks += n
        _add(by_position, shares, n)
    return (blocks, tuple(by_position)) if blocks else None


def _shares(rates: str, source: str) -> list[float]:
    """Return the rates by position in a printed list, such as "0.8, 0.5"."""
    return [share(v, f"{source}: rate of position {k}") for k, v in enumerate(rates.split(","), 1) if v.strip()]


def _add(by_position: list[int], shares: Sequence[float], blocks: float) -> None:
    """Add to the counts by position the drafts that some blocks accepted, from the share accepted at each position."""
    for k, rate in enumerate(shares):
        by_position += [0] * (k + 1 - len(by_position))
        by_position[k] += round(rate * blocks)


def _blocks(accepted: float, mean: float, shares: Sequence[float]) -> int | None:
    """Return the number of blocks, if only one agrees with the printed mean (two digits) and rates (three); else None.

    Blocks are accepted / (mean - 1), and also accepted / sum(shares): the rounding of both bounds them.
    """
    if mean <= 1.005 or not accepted:
        return None
    low, high = accepted / (mean - 1 + 0.0051), math.inf
    if mean > 1.0052:
        high = accepted / (mean - 1 - 0.0051)
    if shares and sum(shares) > 0.0006 * len(shares):
        half = 0.00051 * len(shares)
        low, high = max(low, accepted / (sum(shares) + half)), min(high, accepted / (sum(shares) - half))
    return math.floor(high) if math.ceil(low) == math.floor(high) else None


def _example(text: str, source: str) -> EngineLog:
    """Return the run of a llama-speculative log: all that it decoded, and behind `draft:` the steps of the draft."""
    # The last line of tokens and seconds, and the counts of drafts.
    count, span = _DECODED.findall(text)[-1]
    tokens, seconds = number(count, f"{source}: tokens"), number(span, f"{source}: seconds")
    counts = {name: re.search(rf"{name}\s*=\s*(\d+)(?=\s)", text) for name in ("n_drafted", "n_accept")}
    if not all(counts.values()):
        raise ValueError(f"{source}: expected n_drafted and n_accept beside 'decoded ... tokens in', found not both")
    drafted, accepted = (number(match[1], f"{source}: {name}") for name, match in counts.items() if match is not None)
    run = run_of_totals(source, Totals(1e3 * seconds, tokens, tokens, drafted, accepted))
    run = run._replace(notes=(*run.notes, *unlike_accept(text, drafted, accepted, source)))
    # An EAGLE-3 draft has two contexts, its encoder and its decoder: all that stands before `target:`.
    part = text[text.rfind("draft:") :].split("target:")[0] if "draft:" in text else ""
    spans = [number(span, f"{source}: eval time of the draft") for span, _, _ in _EVAL.findall(part)]
    if spans and run.blocks:
        run = run._replace(draft=Timing(math.fsum(spans) / 1e3 / run.blocks, None))
    return run
