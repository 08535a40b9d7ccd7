"""Times of passes by llama.cpp's llama-bench, as `-o csv`, `-o json` or `-o jsonl` prints them.

A test pp m (n_prompt = m) decodes m tokens of one sequence behind n_depth tokens: one pass over m tokens, if they fit
one micro-batch. A test tg n (n_gen = n) decodes n tokens one by one: n plain steps. The forms are those of llama.cpp
of 2023 to 2026 (tools/llama-bench).
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from typing import Any

from specsim.base import check
from specsim.base.reading import json_values
from specsim.latency.times.record import MOST_TOKENS, PassTimes, Place

# Fields that belong to one test; all others say on which model, build and machine it ran.
OF_A_TEST = (
    *("n_prompt", "n_gen", "n_depth", "test_time", "avg_ns", "stddev_ns", "avg_ts", "stddev_ts"),
    *("samples_ns", "samples_ts", "n_gen_warmup"),
)
# Words of errors on how to time the passes that are missing.
REMEDY = "as llama-bench -p 2,3,5,9 -n 128 -o json does"
LAST_TOKEN = (
    "passes of 2 tokens or more score their last token only, as a prompt's do: verifying scores all, which takes a "
    "little longer"
)
# Nanoseconds by which the printed mean may differ from that of the samples: it is a whole number.
ROUNDING = 1.0


def knows(text: str) -> bool:
    """Return whether a text is of llama-bench in a form that is read."""
    head = text[:4096]
    return "avg_ns" in head and "n_prompt" in head


def parse(text: str, source: str) -> PassTimes:
    """Return the passes of one sequence in the output of llama-bench; ValueError for what is not understood."""
    rows = _rows(text, source)
    _check_one_setup(rows, source)

    # Seconds of each (tokens, batch, context): of passes over a prompt, and of plain steps.
    prompt_s: dict[Place, tuple[float, ...]] = {}
    step_s: dict[Place, tuple[float, ...]] = {}
    # Seconds of longer prompts that a load reads, behind nothing.
    alone_s: dict[int, tuple[float, ...]] = {}
    unused: list[str] = []
    generated_lengths = set()
    for number, row in enumerate(rows, 1):
        where = f"{source}, row {number}"
        prompt, generated = (_whole(row, name, where) for name in ("n_prompt", "n_gen"))
        depth = _whole(row, "n_depth", where) if "n_depth" in row else 0
        samples_ns = _samples(row, where)
        # A prompt behind the depth is one pass; tokens one by one are plain steps; both together
        # are neither.
        if generated and not prompt:
            place = 1, 1, depth
            step_s[place] = (*step_s.get(place, ()), *(sample / (1e9 * generated) for sample in samples_ns))
            generated_lengths.add(generated)
        elif prompt and not generated and prompt <= min(MOST_TOKENS, _micro_batch(row, where)):
            place = prompt, 1, depth
            prompt_s[place] = (*prompt_s.get(place, ()), *(sample / 1e9 for sample in samples_ns))
        else:
            unused.append(f"pp{prompt}" if not generated else f"pp{prompt}+tg{generated}")
            if not generated and not depth:
                alone_s[prompt] = (*alone_s.get(prompt, ()), *(sample / 1e9 for sample in samples_ns))

    # Plain steps are those of generation; where there is none, a prompt of one token counts as one.
    seconds = prompt_s | step_s

    # Notes on what the numbers leave out.
    notes = [LAST_TOKEN] if any(tokens > 1 for tokens, _, _ in seconds) else []
    if generated_lengths:
        lengths = _listed(sorted(generated_lengths))
        notes.append(f"plain steps are means over the {lengths} tokens behind their context, without sampling")
    if unused:
        notes.append(
            f"{_listed(list(dict.fromkeys(unused)))} are not used in a plan of batches: a pass that verifies has "
            f"{MOST_TOKENS} tokens at most, in one micro-batch"
        )
    if "samples_ns" not in rows[0]:
        notes.append("the CSV has means alone, so the error of times is not known: -o json has every repetition")
    sized = tuple(sorted(alone_s.items()))
    return PassTimes(source, seconds, notes=tuple(f"{source}: {note}" for note in notes), remedy=REMEDY, prompts=sized)


def _rows(text: str, source: str) -> list[dict[str, Any]]:
    """Return the tests of a JSON list, of JSON lines or of a CSV, each as a dictionary of its fields."""
    # JSON.
    if text.lstrip()[:1] in ("[", "{"):
        rows = json_values(text, source)
        for number, row in enumerate(rows, 1):
            if not isinstance(row, dict):
                raise ValueError(f"{source}, row {number} is a {type(row).__name__}; expected an object of JSON")
        return rows

    # A CSV, whose values are texts.
    try:
        lines = list(csv.reader(text.splitlines(), strict=True))
    except csv.Error as error:
        raise ValueError(f"{source} is no CSV: {error}") from None
    names = lines[0]
    for number, line in enumerate(lines[1:], 1):
        if len(line) != len(names):
            raise ValueError(f"{source}, row {number} has {len(line)} fields; the head has {len(names)}")
    if len(lines) < 2:
        raise ValueError(f"{source} has no rows; give one test of llama-bench or more")
    return [dict(zip(names, line, strict=True)) for line in lines[1:]]


def _check_one_setup(rows: Sequence[dict[str, Any]], source: str) -> None:
    """Raise ValueError for tests of several models, builds, machines or settings, whose times differ."""
    names = dict.fromkeys(name for row in rows for name in row if name not in OF_A_TEST)
    for name in names:
        values = dict.fromkeys(str(row.get(name)) for row in rows)
        if len(values) > 1:
            first, second = list(values)[:2]
            raise ValueError(
                f"{source} has tests of {name} {first[:40]} and of {name} {second[:40]}; split it: one setting a file"
            )


def _samples(row: dict[str, Any], where: str) -> list[float]:
    """Return the nanoseconds of every repetition of a test, or their mean alone where no more is printed."""
    mean = _number(row, "avg_ns", where)
    samples = row.get("samples_ns")
    if samples is None:
        return [mean]
    if not isinstance(samples, list) or not samples:
        raise ValueError(f"{where}: samples_ns is {str(samples)[:40]}; expected a list of times")
    # The printed mean must be that of the samples.
    times = [float(check.scalar(sample, f"{where}: samples_ns[{i}]", "(0, inf)")) for i, sample in enumerate(samples)]
    samples_mean = math.fsum(times) / len(times)
    if abs(samples_mean - mean) > ROUNDING + 1e-6 * mean:
        raise ValueError(f"{where}: avg_ns is {mean:g}, and the mean of samples_ns {samples_mean:g}; they differ")
    return times


def _micro_batch(row: dict[str, Any], where: str) -> int:
    """Return the most tokens that one pass of a test takes."""
    sizes = [_whole(row, name, where) for name in ("n_batch", "n_ubatch") if name in row]
    if not sizes:
        raise ValueError(f"{where} has no n_batch, so whether a prompt is one pass is not known; print all fields")
    return min(sizes)


def _number(row: dict[str, Any], name: str, where: str) -> float:
    """Return a number above 0 of a row, which a CSV has as text; ValueError with its place."""
    value = row.get(name)
    try:
        number = float(value) if isinstance(value, str) else value
    except ValueError:
        number = None
    if number is None or isinstance(number, (bool, list, dict)):
        raise ValueError(f"{where}: {name} is {value!r}, not a number")
    return float(check.scalar(number, f"{where}: {name}", "(0, inf)"))


def _whole(row: dict[str, Any], name: str, where: str) -> int:
    """Return a whole number of a row, which a CSV has as text; ValueError with its place."""
    value = row.get(name)
    if isinstance(value, str):
        if not value.isdecimal():
            raise ValueError(f"{where}: {name} is {value!r}, not a whole number")
        value = int(value)
    if value is None:
        raise ValueError(f"{where} has no {name}; expected a test of llama-bench")
    return check.integer(value, f"{where}: {name}", 0)


def _listed(values: Sequence[object]) -> str:
    """Return values as text, separated by commas."""
    return ", ".join(map(str, values))
