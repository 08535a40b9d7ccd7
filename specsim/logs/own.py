"""Our own format, for numbers that no reader of an engine's log finds: a CSV of one run a row, or JSON with `runs`.

Columns, each optional but `speculation` (on or off); acceptance needs no time, `specsim diagnose` needs one:

model, batch, length (drafts a block), verified (tokens of one sequence in a verifying pass, for a tree), blocks,
drafted, accepted, kept (blocks that kept draft 1, 2, ...: 80;60;50 in a CSV, a list in JSON), coverage (the share of
decoding steps that had a draft, where blocks are of those only), tau (tokens per target call, where there are no
counts), tokens_per_s (of the whole batch), token_ms (of one sequence), cycle_ms, and parts of a cycle where they were
timed: draft_ms, verify_ms, overhead_ms. A row with the same words and other times is a repetition.

JSON: {"runs": [{...}, ...]} with the same names, `engine` and `model` for all beside it. Any other name is refused.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from specsim.base.reading import parsed_json
from specsim.latency import Timing
from specsim.logs.record import EngineLog, check_counts, fields, number, share, timing, whole

NAME = "own"
EXPECTS = "a CSV with the column speculation, or JSON with runs"
COUNTS = ("blocks", "drafted", "accepted")
TIMES = ("tokens_per_s", "token_ms", "cycle_ms", "draft_ms", "verify_ms", "overhead_ms")
COLUMNS = ("speculation", "model", "batch", "length", "verified", *COUNTS, "kept", "coverage", "tau", *TIMES)
# Names beside the runs in JSON; source and note are for readers.
BESIDE = ("runs", "engine", "model", "source", "note")
_WORDS = {"on": True, "off": False, "true": True, "false": False}


def knows(text: str) -> bool:
    """Return whether a file is of this format."""
    start = text.lstrip()
    if start[:1] == "{":
        return '"runs"' in start and '"speculation"' in start
    names = [name.strip().lower() for name in re.split("[,;\t]", start.splitlines()[0])]
    return "speculation" in names


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    """Return the runs of a CSV or JSON file."""
    if text.lstrip()[:1] == "{":
        return _json(text, source)
    head = text.lstrip().splitlines()[0]
    if "," not in head and re.search("[;\t]", head):
        raise ValueError(f"{source} has its columns separated by {'tabs' if chr(9) in head else ';'}; expected commas")
    # Read the head, whose columns are known and differ, and the lines.
    table = csv.DictReader(text.splitlines())
    try:
        table.fieldnames = [name.strip().lower() for name in table.fieldnames or ()]
        lines = list(_numbered(table))
    except csv.Error as error:
        raise ValueError(f"{source}, line {table.reader.line_num}: {error}") from None
    _check_names(table.fieldnames, COLUMNS, source)
    for name in table.fieldnames:
        if table.fieldnames.count(name) > 1:
            raise ValueError(f"{source} has the column {name} twice; leave out what is not to be read")
    # The fields of each row that are not empty.
    rows = []
    for i, line in lines:
        place = f"{source}, line {i}"
        if None in line or None in line.values():
            raise ValueError(f"{place} has another number of fields than the head, {len(table.fieldnames)}")
        rows.append((place, {name: value.strip() for name, value in line.items() if value.strip()}))
    return _runs(rows, "own", source)


def _numbered(table: csv.DictReader[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a table, each with the number of its line."""
    for line in table:
        yield table.line_num, line


def _json(text: str, source: str) -> tuple[EngineLog, ...]:
    """Return the runs of a JSON file; fields beside `runs` hold for all."""
    content = fields(parsed_json(text, source), source)
    _check_names(content, BESIDE, source)
    if not isinstance(content.get("runs"), list) or not all(isinstance(run, dict) for run in content["runs"]):
        raise ValueError(f"{source}: runs is no list of objects; expected one object for each run")
    # Each run as a row of a CSV; a model beside `runs` is that of every run that names none.
    shared = {"model": content["model"]} if "model" in content else {}
    rows = []
    for i, run in enumerate(content["runs"]):
        place = f"{source}, run {i}"
        _check_names(run, COLUMNS, place)
        rows.append((place, {**shared, **{name: _as_csv_text(value) for name, value in run.items()}}))
    return _runs(rows, str(content.get("engine", "own")), source)


def _as_csv_text(value: Any) -> str:
    """Return a value of JSON as a CSV would have it: a list as 80;60;50."""
    if isinstance(value, list):
        return ";".join(str(entry) for entry in value)
    return str(value)


def _check_names(names: Any, allowed: Sequence[str], place: str) -> None:
    """Raise ValueError for a name that is not allowed, with the nearest one that is."""
    for name in names:
        if name not in allowed:
            near = get_close_matches(str(name), allowed, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; expected some of {', '.join(allowed)}"
            raise ValueError(f"{place}: {name!r} is read by nobody{hint}")


def _runs(rows: Sequence[tuple[str, dict[str, str]]], engine: str, source: str) -> tuple[EngineLog, ...]:
    """Return the runs of all rows (place in the file, fields); rows that differ only in times are one run."""
    if not rows:
        raise ValueError(f"{source} has no run; expected a row for each")
    # Rows with the same fields but for times, in one group.
    groups: dict[tuple[tuple[str, str], ...], list[tuple[str, dict[str, str]]]] = {}
    for place, row in rows:
        key = tuple(sorted((name, value) for name, value in row.items() if name not in TIMES))
        groups.setdefault(key, []).append((place, row))
    return tuple(check_counts(_run(group, engine, source)) for group in groups.values())


def _run(group: Sequence[tuple[str, dict[str, str]]], engine: str, source: str) -> EngineLog:
    """Return the run of a row and its repetitions; ValueError where its numbers contradict each other."""
    # Numbers and counts.
    place, row = group[0]
    word = row.get("speculation", "").lower()
    if word not in _WORDS:
        raise ValueError(f"{place}: speculation is {word!r}; expected on or off")
    numbers = {name: number(row[name], f"{place}: {name}") for name in (*COLUMNS[2:5], *COUNTS, "tau") if name in row}
    counts = {name: whole(numbers[name], f"{place}: {name}") for name in COUNTS if name in numbers}
    batch = numbers.get("batch")
    if batch is not None and batch <= 0:
        raise ValueError(f"{place}: batch is {batch:g}; expected more than 0")
    by_position = tuple(
        whole(number(part, f"{place}: kept[{k}]"), f"{place}: kept[{k}]")
        for k, part in enumerate(row["kept"].split(";") if "kept" in row else ())
    )
    # Times: means over the repetitions.
    times: dict[str, list[float]] = {name: [] for name in TIMES}
    for where, repetition in group:
        for name in TIMES:
            if name in repetition:
                times[name].append(_positive(number(repetition[name], f"{where}: {name}"), f"{where}: {name}", name))
    if times["tokens_per_s"] and times["token_ms"]:
        raise ValueError(f"{place}: tokens_per_s and token_ms are both given; expected one of them")
    seconds = {name: timing([v / 1e3 for v in times[name]]) for name in TIMES[1:]}
    token = timing([(batch or 1.0) / v for v in times["tokens_per_s"]]) or seconds["token_ms"]
    if not _WORDS[word]:
        _check_off(row, numbers, place)
    # The length of a block, or what follows from the counts.
    length = numbers.get("length")
    _check_length(length, counts, by_position, place)
    if length is None and counts.get("drafted") is not None and counts.get("blocks"):
        length = counts["drafted"] / counts["blocks"]
    if length is None and by_position:
        length = float(len(by_position))
    coverage = share(row["coverage"], f"{place}: coverage") if "coverage" in row else 1.0
    if not coverage:
        raise ValueError(f"{place}: coverage is 0; expected more, or speculation with length 0")
    # tau must agree with the counts, and is then left out.
    tau = numbers.get("tau")
    if tau is not None and (tau < 1 or (length is not None and tau > length + 1)):
        most = "" if length is None else f" and at most {length + 1:g}"
        raise ValueError(f"{place}: tau is {tau:g}; expected 1 or more{most}")
    accepted = counts.get("accepted", sum(by_position) if by_position else None)
    if tau is not None and counts.get("blocks") and accepted is not None:
        counted = 1 + accepted / counts["blocks"]
        if abs(counted - tau) > 0.006 * counted:
            raise ValueError(
                f"{place}: tau is {tau:g}, and accepted over blocks give {counted:.4g}; leave out one of them"
            )
        tau = None
    return EngineLog(
        engine,
        source,
        _WORDS[word],
        model=row.get("model", ""),
        batch=batch,
        length=length,
        verified=numbers.get("verified"),
        blocks=counts.get("blocks"),
        drafted=counts.get("drafted"),
        accepted=accepted,
        kept=by_position,
        tau=None if tau is None else Timing(tau, None),
        token=token,
        cycle=seconds["cycle_ms"],
        draft=seconds["draft_ms"],
        verify=seconds["verify_ms"],
        overhead=seconds["overhead_ms"],
        coverage=coverage,
    )


def _check_off(row: Mapping[str, str], numbers: Mapping[str, float], place: str) -> None:
    """Raise ValueError if a run without speculation has drafts, or more than one token a target call."""
    most = {"length": 0.0, "verified": 1.0, "drafted": 0.0, "accepted": 0.0, "tau": 1.0}
    for name, value in most.items():
        if numbers.get(name, 0.0) > value:
            raise ValueError(f"{place}: speculation is off, and {name} is {numbers[name]:g}; expected none")
    if float(row.get("draft_ms", 0)) > 0 or float(row.get("coverage", 1)) < 1:
        raise ValueError(f"{place}: speculation is off, and draft_ms or coverage is of drafts; leave them out")
    if set(row.get("kept", "0")) - set("0.; "):
        raise ValueError(f"{place}: speculation is off, and kept is {row['kept']:.40}; expected none")


def _check_length(length: float | None, counts: dict[str, int], by_position: tuple[int, ...], place: str) -> None:
    """Raise ValueError if a length is below drafted over blocks, or below the positions with accepted drafts."""
    if length is None:
        return
    blocks, drafted = counts.get("blocks"), counts.get("drafted")
    if blocks and drafted is not None and drafted / blocks > 1.006 * length:
        raise ValueError(
            f"{place}: length is {length:g}, and drafted over blocks give {drafted / blocks:.4g}; leave out one of them"
        )
    longest = sum(n > 0 for n in by_position)
    if longest > length and length == round(length) and not (blocks and drafted is not None):
        raise ValueError(f"{place}: kept has {longest} positions, and length is {length:g}; expected no more")


def _positive(value: float, place: str, name: str) -> float:
    """Return the time; ValueError for 0, which only drafting and overhead may take."""
    if value == 0 and name not in ("draft_ms", "overhead_ms"):
        raise ValueError(f"{place} is 0; expected more")
    return value
