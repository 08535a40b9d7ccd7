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

from specsim.base.intervals import ratio_error
from specsim.latency import Timing
from specsim.logs.record import EngineLog, check_counts, number, whole

NAME = "vLLM"
EXPECTS = "/metrics with vllm:..., or lines 'Avg generation throughput: ...' and 'SpecDecoding metrics: ...'"
SPEC = "vllm:spec_decode_num_"
TOKEN = "vllm:request_time_per_output_token_seconds"
STEP = ("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds")
_SAMPLE = re.compile(r"^(vllm:[a-z_0-9]+)(?:\{([^}]*)\})?\s+(\S+)")
_LABEL = re.compile(r'(\w+)="((?:\\.|[^"\\])*)"')
_ENGINE = re.compile(r"Avg generation throughput: ([\d.]+) tokens/s, Running: (\d+) reqs")
_PROMPT = re.compile(r"Avg prompt throughput: ([\d.]+) tokens/s")
_OLD = re.compile(r"Speculative metrics: |vllm:spec_decode_draft_acceptance_rate|vllm:spec_decode_efficiency")


def knows(text: str) -> bool:
    return bool(
        re.search(r"^vllm:", text, re.MULTILINE)
        or _ENGINE.search(text)
        or "SpecDecoding metrics:" in text
        or _OLD.search(text)
    )


def parse(text: str, source: str) -> tuple[EngineLog, ...]:
    if _OLD.search(text):
        raise ValueError(
            f"{source} is of vLLM before 0.9 ('Speculative metrics'), which counts drafts behind a rejection as "
            "accepted; expected 0.9 or later ('SpecDecoding metrics', vllm:spec_decode_num_drafts_total)"
        )
    found = _metrics(text, source) if re.search(r"^vllm:", text, re.MULTILINE) else _lines(text, source)
    return (check_counts(found),)


def _metrics(text: str, source: str) -> EngineLog:
    """Counters of one scrape since the server's start, or between the first scrape and the last."""
    series: dict[tuple[str, str], list[float]] = {}
    models: set[str] = set()
    for i, line in enumerate(text.splitlines(), 1):
        if (sample := _SAMPLE.match(line)) is None or not _wanted(name := sample[1]):
            continue
        value = number(sample[3], f"{source}, line {i}: {name}")
        labels = dict(_LABEL.findall(sample[2] or ""))
        models |= {labels["model_name"]} if "model_name" in labels else set()
        seen = series.setdefault((name, sample[2] or ""), [])
        if seen and value < seen[-1]:
            raise ValueError(
                f"{source}, line {i}: {name} falls from {seen[-1]:g} to {value:g}; expected a counter that only grows: "
                "the server was started anew"
            )
        seen.append(value)
    if len(models) > 1:
        raise ValueError(f"{source} holds the models {', '.join(sorted(models))}; expected one")
    total: dict[str, float] = {}
    places: dict[int, float] = {}
    for (name, labels_text), values in series.items():
        grown = values[-1] - values[0] if len(values) > 1 else values[-1]
        total[name] = total.get(name, 0.0) + grown
        if name == f"{SPEC}accepted_tokens_per_pos_total":
            place = int(dict(_LABEL.findall(labels_text))["position"])
            places[place] = places.get(place, 0.0) + grown
    if set(places) != set(range(len(places))):
        raise ValueError(f"{source} counts positions {sorted(places)}; expected all from 0 on")
    if not total:
        raise ValueError(
            f"{source} has none of the counters {SPEC}..._total, {TOKEN} or {STEP[0]}; expected vLLM 0.9 or later"
        )
    counts = {
        key: whole(total[f"{SPEC}{name}_total"], f"{source}: {SPEC}{name}_total")
        for key, name in (("blocks", "drafts"), ("drafted", "draft_tokens"), ("accepted", "accepted_tokens"))
        if f"{SPEC}{name}_total" in total
    }
    speculating = bool(counts.get("drafted"))
    step = next((mean for name in STEP if (mean := _mean(total, name)) is not None), None)
    token = _mean(total, TOKEN)
    notes = []
    if speculating and step is not None:
        notes.append("inter_token_latency_seconds is the time of a cycle, as vLLM observes it once a step")
    return EngineLog(
        "vLLM",
        source,
        speculating,
        model=next(iter(models), ""),
        length=counts["drafted"] / counts["blocks"] if speculating and counts.get("blocks") else None,
        blocks=counts.get("blocks") if speculating else None,
        drafted=counts.get("drafted") if speculating else None,
        accepted=counts.get("accepted") if speculating else None,
        kept=tuple(whole(places[i], f"{source}: position {i}") for i in range(len(places))) if speculating else (),
        token=token if speculating or token is not None else step,
        cycle=step if speculating else None,
        notes=tuple(notes),
    )


def _wanted(name: str) -> bool:
    counter = name.startswith(SPEC) and name.endswith("_total")
    return counter or name.removesuffix("_sum").removesuffix("_count") in (TOKEN, *STEP)


def _mean(total: dict[str, float], name: str) -> Timing | None:
    if not total.get(f"{name}_count"):
        return None
    return Timing(total[f"{name}_sum"] / total[f"{name}_count"], None)


def _lines(text: str, source: str) -> EngineLog:
    rates: list[float] = []
    sizes: list[float] = []
    notes = []
    blocks = drafted = accepted = 0
    kept: list[int] = []
    counted = True
    for i, line in enumerate(text.splitlines(), 1):
        if (rate := _ENGINE.search(line)) is not None and float(rate[2]):
            rates.append(number(rate[1], f"{source}, line {i}: throughput"))
            sizes.append(float(rate[2]))
            if (prompt := _PROMPT.search(line)) is not None and float(prompt[1]):
                notes.append(
                    "prompts were read in the intervals timed, so that a token seems to take longer than it does"
                )
        if "SpecDecoding metrics:" not in line:
            continue
        new = {
            name: int(count[1])
            for name in ("Accepted", "Drafted")
            if (count := re.search(rf"{name}: (\d+) tokens", line)) is not None
        }
        if len(new) < 2:
            raise ValueError(f"{source}, line {i}: expected 'Accepted: N tokens, Drafted: N tokens', found neither")
        accepted, drafted = accepted + new["Accepted"], drafted + new["Drafted"]
        places = re.search(r"Per-position acceptance rate: ([\d., ]+\d)", line)
        mean = re.search(r"Mean acceptance length: ([\d.]+)", line)
        shares = [float(v) for v in places[1].split(",")] if places else []
        n = _drafts(new["Accepted"], new["Drafted"], len(shares), float(mean[1]) if mean else None)
        if n is None:
            counted = False
            continue
        blocks += n
        for k, share in enumerate(shares):
            kept += [0] * (k + 1 - len(kept))
            kept[k] += round(share * n)
    if kept and sum(kept) != accepted:  # printed with three digits, too few where an interval has many blocks
        kept = _mended(kept, accepted)
    speculating = drafted > 0
    known = speculating and counted and blocks > 0
    if speculating and not known:
        notes.append("blocks differ in length, so their number, and the rates by position, are not known")
    token = None
    if rates:
        import numpy as np

        of_time = ratio_error(np.array(sizes), np.array(rates)) if len(rates) > 1 else None
        token = Timing(sum(sizes) / sum(rates), of_time) if sum(rates) else None
    return EngineLog(
        "vLLM",
        source,
        speculating,
        batch=sum(sizes) / len(sizes) if sizes else None,
        length=drafted / blocks if known else None,
        blocks=blocks if known else None,
        drafted=drafted if speculating else None,
        accepted=accepted if speculating else None,
        kept=tuple(kept) if known else (),
        token=token,
        notes=tuple(dict.fromkeys(notes)),
    )


def _drafts(accepted: int, drafted: int, length: int, mean: float | None) -> int | None:
    """The number of blocks of a line, where all have one length and the printed mean agrees."""
    if not length or drafted % length:
        return None
    n = drafted // length
    if mean is not None and n and abs(1 + accepted / n - mean) > 0.0051:
        return None
    return n


def _mended(kept: list[int], total: int) -> list[int]:
    """The counts with rounding taken off where it stays within what may be: not increasing, the sum as printed."""
    fixed, off = list(kept), total - sum(kept)
    for k in range(len(fixed)) if off > 0 else reversed(range(len(fixed))):
        low = fixed[k + 1] if k + 1 < len(fixed) else 0
        high = fixed[k - 1] if k else total
        new = min(max(fixed[k] + off, low), high)
        fixed[k], off = new, off - (new - fixed[k])
    return fixed if not off else kept
