"""vLLM: the text of /metrics (one scrape, or several one after the other), or the lines of its log.

Seen in 0.9 to 0.33 (V1): counters `vllm:spec_decode_num_drafts_total` and their like since vllm-project/vllm#16665, the
line `SpecDecoding metrics:` since #15902, its order of today since #24127.

`inter_token_latency_seconds` is one observation for each engine step of a request, not for each token: with
speculation it is the time of a *cycle* (vllm/v1/metrics/stats.py). `request_time_per_output_token_seconds` is the
mean of each request.
V0 (before 0.9) counted drafts behind a rejection as accepted, too (#9565), so its rate is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from specsim.latency import Timing
from specsim.logs.printed import check_emitted, check_gauges
from specsim.logs.record import MISCOUNTED, EngineLog, check_counts, number, whole
from specsim.logs.vllm_lines import ENGINE, read_lines
from specsim.logs.vllm_server import METHOD

NAME = "vLLM"
EXPECTS = "/metrics with vllm:..., or lines 'Avg generation throughput: ...' and 'SpecDecoding metrics: ...'"
SPEC = "vllm:spec_decode_num_"
TOKENS = "vllm:generation_tokens_total"
BESIDE = (TOKENS, "vllm:time_to_first_token_seconds_count")
TOKEN = "vllm:request_time_per_output_token_seconds"
STEP = ("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds")
_SAMPLE = re.compile(r'^(vllm:[\w:]+)(?:\{((?:[^"}]|"(?:\\.|[^"\\])*")*)\})?\s+(\S+)')
# Names of counters that only a server with speculation has.
_SPECULATION = re.compile(r"^vllm:\w*(?:spec_?dec|speculat|draft|accepted)\w*", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:\\.|[^"\\])*)"')
# Words of lines that only a server with speculation logs while it runs.
_OTHER_LINES = re.compile(
    r"\bSpec(?:ulative)?[ _]?Decod(?:ing|e)[ _](?:metrics|stats|statistics|throughput)"
    r"|\bnum_(?:draft|accepted)_tokens\b|\baccept(?:ed|ance)?[ _](?:rate|len\w*|tokens|throughput)\b"
    r"|\bdraft(?:ed)?[ _](?:tokens|throughput|acceptance)\b|\b(?:Accepted|Drafted): ?\d"
    r"|\bLoading drafter\b",
    re.IGNORECASE,
)
# Arguments of a server that speculates, in words without the name of its method.
_ARGUMENTS = re.compile(
    r"\bnum_spec(?:ulative)?_tokens\W{1,4}[1-9]|\bspeculative[-_]model\W{1,4}(?!None|null)[\w./-]+", re.IGNORECASE
)
# The labels of a counter and their values, sorted: their order in a line means nothing.
Labels = tuple[tuple[str, str], ...]
_OLD = re.compile(r"Speculative metrics: |vllm:spec_decode_draft_acceptance_rate|vllm:spec_decode_efficiency")


def knows(text: str) -> bool:
    """Return whether a file is of this format."""
    return bool(
        re.search(r"^vllm:", text, re.MULTILINE)
        or ENGINE.search(text)
        or "SpecDecoding metrics:" in text
        or _OLD.search(text)
    )


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    """Return the runs of counters, or of a log's lines."""
    if _OLD.search(text):
        raise ValueError(
            f"{source} is of vLLM before 0.9 ('Speculative metrics'), which counts drafts behind a rejection as "
            "accepted; expected 0.9 or later ('SpecDecoding metrics', vllm:spec_decode_num_drafts_total)"
        )
    if re.search(r"^vllm:", text, re.MULTILINE):
        return (check_counts(_metrics(text, source)),)
    _check_lines(text, source)
    return tuple(check_counts(run) for run in read_lines(text, source, by_batch))


def _check_lines(text: str, source: str) -> None:
    """Raise ValueError if no line has the counts of drafts, and some line speaks of them in other words."""
    words = (_OTHER_LINES,) if METHOD.search(text) else (_OTHER_LINES, _ARGUMENTS)
    word = next((match for pattern in words if (match := pattern.search(text)) is not None), None)
    if "SpecDecoding metrics:" not in text and word is not None:
        raise ValueError(
            f"{source} speculates (it has {word[0]!r}), but no line 'SpecDecoding metrics: ... Accepted: N tokens, "
            "Drafted: N tokens'; expected it beside each line of throughput"
        )


def _metrics(text: str, source: str) -> EngineLog:
    """Return the run that counters describe: since the server's start, or from the first scrape to the last."""
    # The values of every counter, in order.
    series: dict[tuple[str, Labels], list[float]] = {}
    models: set[str] = set()
    for i, line in enumerate(text.splitlines(), 1):
        if (sample := _SAMPLE.match(line)) is None or not _wanted(name := sample[1]):
            continue
        value = number(sample[3], f"{source}, line {i}: {name}")
        labels = dict(_LABEL.findall(sample[2] or ""))
        models |= {labels["model_name"]} if "model_name" in labels else set()
        seen = series.setdefault((name, tuple(sorted(labels.items()))), [])
        if seen and value < seen[-1]:
            raise ValueError(
                f"{source}, line {i}: {name} falls from {seen[-1]:g} to {value:g}; expected a counter that only grows: "
                "the server was started anew"
            )
        seen.append(value)
    if len(models) > 1:
        raise ValueError(f"{source} holds the models {', '.join(sorted(models))}; expected one")
    _check_pairs(series, source)
    # What each has grown by; accepted drafts by position.
    total: dict[str, float] = {}
    places: dict[int, float] = {}
    for (name, pairs), values in series.items():
        grown = values[-1] - values[0] if len(values) > 1 else values[-1]
        total[name] = total.get(name, 0.0) + grown
        if name == f"{SPEC}accepted_tokens_per_pos_total":
            place = _position(dict(pairs), source)
            places[place] = places.get(place, 0.0) + grown
    if set(places) != set(range(len(places))):
        raise ValueError(f"{source} counts positions {sorted(places)}; expected all from 0 on")
    if not set(total) - set(BESIDE):
        raise ValueError(
            f"{source} has none of the counters {SPEC}..._total, {TOKEN} or {STEP[0]}; expected vLLM 0.9 or later"
        )
    # Blocks, drafted and accepted tokens: all of them, or none.
    counts = {
        key: whole(total[f"{SPEC}{name}_total"], f"{source}: {SPEC}{name}_total")
        for key, name in (("blocks", "drafts"), ("drafted", "draft_tokens"), ("accepted", "accepted_tokens"))
        if f"{SPEC}{name}_total" in total
    }
    if (word := _SPECULATION.search(text)) is not None and {"blocks", "drafted", "accepted"} - set(counts):
        raise ValueError(
            f"{source} speculates (it has {word[0]!r}), but not all of {SPEC}drafts_total, {SPEC}draft_tokens_total "
            f"and {SPEC}accepted_tokens_total; expected them"
        )
    # The counters exist where speculation is configured: with none drafted it is on all the same.
    speculating = "drafted" in counts
    drafting = bool(counts.get("drafted"))
    step = next((mean for name in STEP if (mean := _mean(total, name)) is not None), None)
    token = _mean(total, TOKEN)
    length = 0.0 if speculating else None
    if drafting:
        length = counts["drafted"] / counts["blocks"] if counts.get("blocks") else None
    notes = []
    if drafting:
        if all(len(values) == 1 for values in series.values()):
            check_gauges(text, counts.get("blocks", 0), counts["drafted"], counts.get("accepted", 0), source)
        notes += _unlike_tokens(total, counts, source)
    if speculating and step is not None:
        notes.append("inter_token_latency_seconds is the time of a cycle, as vLLM observes it once a step")
    return EngineLog(
        "vLLM",
        source,
        speculating,
        model=next(iter(models), ""),
        length=length,
        blocks=counts.get("blocks") if drafting else None,
        drafted=counts.get("drafted") if speculating else None,
        accepted=counts.get("accepted") if speculating else None,
        kept=tuple(whole(places[i], f"{source}: position {i}") for i in range(len(places))) if drafting else (),
        token=token if speculating or token is not None else step,
        cycle=step if speculating else None,
        notes=tuple(notes),
        coverage=_coverage_of(total, counts) if drafting else 1.0,
    )


def _check_pairs(series: Mapping[tuple[str, Labels], Sequence[float]], source: str) -> None:
    """Raise ValueError if scrapes do not pair: a counter is in fewer of them than another, or with other labels."""
    of_name: dict[str, tuple[str, ...]] = {}
    first = next(iter(series), None)
    for (name, pairs), values in series.items():
        names = tuple(label for label, _ in pairs)
        if of_name.setdefault(name, names) != names:
            both = " and with ".join(", ".join(labels) or "none" for labels in (of_name[name], names))
            raise ValueError(f"{source} has {name} with the labels {both}; expected scrapes of one server and version")
        if first is not None and len(values) != len(series[first]):
            raise ValueError(
                f"{source} has {_shown(*first)} {len(series[first])} times and {_shown(name, pairs)} {len(values)} "
                "times; expected every counter in each scrape"
            )


def _shown(name: str, labels: Labels) -> str:
    """Return a counter with its labels, as in a message."""
    return f"{name}{{{','.join(f'{label}={value}' for label, value in labels)}}}" if labels else name


def _position(labels: Mapping[str, str], source: str) -> int:
    """Return the draft position, from 0, that the label `position` of a counter names; ValueError for any other."""
    position = labels.get("position", "")
    if not position.isdecimal() or len(position) > 4:
        raise ValueError(
            f"{source}: accepted_tokens_per_pos has the position {position[:40]!r}; expected a whole number"
        )
    return int(position)


def _coverage_of(total: dict[str, float], counts: dict[str, int]) -> float | None:
    """Return the share of steps that had a draft; None where counters do not say it, or contradict it.

    Steps are those observed. Else they follow from tokens: a step emits its accepted drafts and one token more.
    """
    steps = next((total[f"{name}_count"] for name in STEP if total.get(f"{name}_count")), 0.0)
    if not steps and total.get(TOKENS):
        first = total.get(BESIDE[1], 0.0)
        steps = total[TOKENS] - counts.get("accepted", 0) - first
    blocks = counts.get("blocks")
    if not blocks or steps < blocks * MISCOUNTED:
        return None
    return min(blocks / steps, 1.0)


def _unlike_tokens(total: dict[str, float], counts: dict[str, int], source: str) -> list[str]:
    """Return a note if blocks emitted more tokens than were generated, by no more than ends of answers cut.

    Raise ValueError beyond that; also if the observed steps, each of which emits its accepted drafts and one token
    more, do not give the tokens that were generated.
    """
    # No more blocks with drafts than steps.
    blocks, accepted, tokens = counts.get("blocks", 0), counts.get("accepted", 0), total.get(TOKENS)
    observed = next((total[f"{name}_count"] for name in STEP if f"{name}_count" in total), None)
    if observed is not None and blocks * MISCOUNTED > observed:
        raise ValueError(
            f"{source} has {blocks} blocks with drafts and {observed:g} decoding steps; expected no fewer steps: "
            "likely counters of other requests, or of another time"
        )
    if not blocks or tokens is None:
        return []
    # An answer that ends inside a block cuts it; the first token of each is of its prompt's pass.
    answers = total.get(BESIDE[1], 0.0)
    behind, room = tokens - answers, answers * counts.get("drafted", 0) / blocks
    check_emitted(behind, blocks, accepted, max(room, (1 - MISCOUNTED) * blocks), source)
    # Without the count of answers, tokens beyond those of the steps may be their first ones.
    surplus = behind - accepted - (observed or 0.0)
    surplus = surplus if BESIDE[1] in total else min(surplus, 0.0)
    if observed and abs(surplus) > room + (1 - MISCOUNTED) * observed:
        raise ValueError(
            f"{source}: {observed:g} decoding steps with {accepted} accepted drafts emit {observed + accepted:g} "
            f"tokens, and {behind:g} were generated behind the first of each answer; they differ: likely counters of "
            "other requests, or of another time"
        )
    if blocks + accepted <= behind + room:
        return []
    return [
        f"{blocks} blocks with {accepted} accepted drafts emit {blocks + accepted} tokens, and {behind:g} were "
        "generated: answers that end inside a block, or counters of another time"
    ]


def _wanted(name: str) -> bool:
    """Return whether a counter is one that this file reads."""
    if name in BESIDE:
        return True
    counts_drafts = name.startswith(SPEC) and name.endswith("_total")
    return counts_drafts or name.removesuffix("_sum").removesuffix("_count") in (TOKEN, *STEP)


def _mean(total: dict[str, float], name: str) -> Timing | None:
    """Return the mean of a histogram from its sum and count; None without observations."""
    if not total.get(f"{name}_count"):
        return None
    return Timing(total.get(f"{name}_sum", 0.0) / total[f"{name}_count"], None)
