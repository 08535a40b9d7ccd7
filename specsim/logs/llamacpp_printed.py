"""Means that lines of llama.cpp print beside their counts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from specsim.logs.printed import contradiction, half_unit

_RATE = re.compile(r"draft acceptance(?: rate)? = ([\d.]+) \(\s*(\d+) accepted /\s*(\d+) generated\)")
_MEAN = re.compile(r"draft acceptance[^\n]*\), mean acceptance length =\s*([\d.]+)")
_RATES = re.compile(r", acceptance rate per position = \(([\d., ]*)\)")
_EACH = re.compile(r"(?<!prompt )\beval time =\s*([\d.]+) ms /\s*(\d+) (?:tokens|runs)\s*\(\s*([\d.]+) ms per token")
_STATISTICS = re.compile(
    r"statistics\s+(\S+):.*?#gen drafts =\s*(\d+).*?#acc tokens =\s*(\d+).*?#mean acc len =\s*([\d.]+)"
)
_ACCEPT = re.compile(r"^accept\s*=\s*([\d.]+)%", re.MULTILINE)


def unlike_counts(text: str, source: str) -> tuple[str, ...]:
    """Return a note on each printed rate, mean length or time of a token that is not that of the counts beside it."""
    return tuple(dict.fromkeys(note for note in (*_of_lines(text, source), *_mean_lengths(text, source)) if note))


def _of_lines(text: str, source: str) -> Iterator[str]:
    """Yield what contradicts the counts of its own line, "" for what does not."""
    for rate, accepted, drafted in _RATE.findall(text):
        if int(drafted):
            yield contradiction("draft acceptance", rate, [int(accepted) / int(drafted)], source)
    for ms, tokens, each in _EACH.findall(text):
        if int(tokens):
            yield contradiction("ms per token", each, [float(ms) / int(tokens)], source)
    for name, blocks, accepted, mean in _STATISTICS.findall(text):
        if int(blocks):
            yield contradiction(f"mean acc len of {name}", mean, [1 + int(accepted) / int(blocks)], source)


def _mean_lengths(text: str, source: str) -> Iterator[str]:
    """Yield that the mean length of a request is not that of its rates by position."""
    for line in text.splitlines():
        mean, rates = _MEAN.search(line), _RATES.search(line)
        shares = [share.strip() for share in (rates[1] if rates else "").split(",") if share.strip()]
        if mean is None or not shares:
            continue
        by_rates, room = 1 + sum(map(float, shares)), half_unit(mean[1]) + sum(map(half_unit, shares))
        if abs(float(mean[1]) - by_rates) > room:
            yield contradiction("mean acceptance length", mean[1], [by_rates], source)


def unlike_accept(text: str, drafted: float, accepted: float, source: str) -> tuple[str, ...]:
    """Return the note that the percentage of llama-speculative is not that of its counts, none where it is."""
    printed = _ACCEPT.search(text)
    if printed is None or not drafted:
        return ()
    note = contradiction("accept, in %,", printed[1], [100 * accepted / drafted], source)
    return (note,) if note else ()
