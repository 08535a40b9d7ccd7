"""Costs and acceptance that a comparison has measured, from the record that `specsim-real compare --out` writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.reading import MOST_BYTES, read_json
from specsim.commands.plan.read import PlanAcceptance
from specsim.latency import LatencyModel, from_measurements
from specsim.lengths.acceptance_record import from_alpha, from_hazards

CHAINS, RULES, TREES = "specsim-compare/2", "specsim-chains/1", "specsim-compare-trees/1"
PHASES = ("draft", "sample", "verify", "rule", "host")


class Comparison(NamedTuple):
    """Costs and acceptance of a record.

    latency: in plain steps, of passes over up to `most` tokens. steps: the time of a draft step at each level. drafts:
    acceptance, and that of siblings by rank if trees were compared.
    """

    latency: LatencyModel
    steps: tuple[float, ...]
    most: int
    drafts: PlanAcceptance
    notes: tuple[str, ...]


class Timed(NamedTuple):
    """Seconds of the parts of a cycle that drafts a chain or tree of `levels` levels and verifies `tokens` in one pass.

    plain: a whole cycle of plain decoding in the same run.
    """

    levels: int
    tokens: int
    plain: float
    draft: float
    verify: float
    rest: float


def read_comparison(path: Path) -> Comparison:
    """Return the costs and the acceptance of a record of `specsim-real compare`; ValueError if it has none.

    Times are medians over the lines that were timed with the same number of tokens, or of levels: t(m) of a target
    pass, c of a draft step by level, the differences of the times to draft one level more. Between what was timed they
    lie on lines; beyond it there is none.
    """
    content = _record(path)
    # The lines whose cycles were timed.
    run, where = content, ""
    if content["schema"] == RULES:
        run, where = _at(path, _at(path, content, "runs"), 0, "runs"), "runs[0]."
    lines = list(_trees(path, content) if content["schema"] == TREES else _chains(path, run, where))
    if not lines:
        raise ValueError(f"{path.name} has no line whose cycles were timed")
    if not any(line.draft for line in lines):
        raise ValueError(
            f"{path.name}: cycles were timed as a whole, as a GPU's are: draft and pass are not told apart"
        )

    # Medians, in units of a plain target step: t(m) by tokens, draft times by levels, and the rest.
    plain = float(np.median([line.plain for line in lines]))
    passes = {1: 1.0} | {m: seconds / plain for m, seconds in _medians((line.tokens, line.verify) for line in lines)}
    drafts = dict(_medians((line.levels, line.draft / plain) for line in lines))
    rest = float(np.median([line.rest for line in lines])) / plain
    step = float(np.median([line.draft / line.levels for line in lines])) / plain
    latency = from_measurements(passes, {None: step}, overhead=rest, unit="target steps")
    source_words = f"times are those of {path.name}, one text at a time, at the lengths of its texts"
    latency = latency._replace(assumptions=(*latency.assumptions, source_words))

    # Acceptance by rank of a record of trees, else by position.
    acceptance = _ranks(path, content) if content["schema"] == TREES else _hazards(path, run, where)
    notes = [f"{path.name} timed passes over {max(passes)} tokens at most: no larger block is tried"]
    if not acceptance.ranks:
        notes.append(f"{path.name} has no acceptance by rank: trees are planned with --ranks, too")
    return Comparison(latency, _steps(drafts), max(passes), acceptance, tuple(notes))


def _record(path: Path) -> dict[str, Any]:
    """Return the content of a comparison's file; ValueError for any other file."""
    try:
        content = read_json(path, MOST_BYTES, path.name)
    except OSError as error:
        raise ValueError(f"{path.name} cannot be read: {error.strerror}") from None
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema not in (CHAINS, RULES, TREES):
        raise ValueError(f"{path.name} has schema {schema!r}; a comparison has {CHAINS}, {RULES} or {TREES}")
    return content  # type: ignore[no-any-return]


def _chains(path: Path, run: dict[str, Any], where: str) -> Iterator[Timed]:
    """Yield the timed lines of a comparison of chains, one for each block length."""
    costs = _at(path, run, "costs", where)
    for i, gamma in enumerate(_numbers(path, costs, "gammas", f"{where}costs.", "[0, inf)")):
        # The first line is plain decoding.
        if i:
            if not gamma.is_integer():
                raise ValueError(f"{path.name}: {where}costs.gammas[{i}] is {gamma:g}; give a whole number of drafts")
            yield _timed(path, costs, i, int(gamma), int(gamma) + 1, f"{where}costs.")


def _trees(path: Path, held: dict[str, Any]) -> Iterator[Timed]:
    """Yield the timed lines of a comparison of trees, one for each shape."""
    for i, row in enumerate(_at(path, held, "rows")):
        where = f"rows[{i}]."
        tokens = _at(path, _at(path, row, "pass", where), "tokens", f"{where}pass.")
        levels = check.integer(_at(path, row, "levels", where), f"{path.name}: {where}levels", 1)
        read = check.integer(tokens, f"{path.name}: {where}pass.tokens", 2)
        yield _timed(path, _at(path, row, "costs", where), 1, levels, read, f"{where}costs.")


def _timed(path: Path, costs: Any, entry: int, levels: int, tokens: int, where: str) -> Timed:
    """Return one timed line: entry 0 of each list is plain decoding."""
    parts = {name: _numbers(path, costs, f"{name}_s", where, "[0, inf)") for name in (*PHASES, "cycle")}
    for name, values in parts.items():
        if len(values) <= entry:
            raise ValueError(f"{path.name}: {where}{name}_s has {len(values)} entries; entry {entry} is needed")
    plain, draft, sample, verify, rule, host = (
        parts[name][index] for name, index in (("cycle", 0), *((name, entry) for name in PHASES))
    )
    for name, value in (("cycle_s[0]", plain), (f"verify_s[{entry}]", verify)):
        check.scalar(value, f"{path.name}: {where}{name}", "(0, inf)")
    return Timed(levels, tokens, plain, draft + sample, verify, rule + host)


def _medians(pairs: Any) -> list[tuple[int, float]]:
    """Return the median of the values of each key, keys in order."""
    by_key: dict[int, list[float]] = {}
    for key, value in pairs:
        by_key.setdefault(key, []).append(value)
    return [(key, float(np.median(by_key[key]))) for key in sorted(by_key)]


def _steps(drafts: dict[int, float]) -> tuple[float, ...]:
    """Return the time that each level adds to drafting; the total never falls with the number of levels."""
    levels = np.arange(max(drafts) + 1)
    totals = np.interp(levels, [0, *drafts], np.maximum.accumulate([0.0, *drafts.values()]))
    return tuple(float(step) for step in np.diff(totals))


def _hazards(path: Path, run: dict[str, Any], where: str) -> PlanAcceptance:
    """Return the acceptance by position that a record of chains measured."""
    hazards = _numbers(path, _at(path, run, "acceptance", where), "hazards", f"{where}acceptance.", "[0, 1]")
    if not hazards:
        raise ValueError(f"{path.name}: {where}acceptance.hazards is empty")
    rule = f"under rule {run['rule']!r} " if where and isinstance(run.get("rule"), str) else ""
    words = f"hazards {rule}as a decoder of {len(hazards)} drafts meets them along the texts of {path.name}, no error"
    return PlanAcceptance(from_hazards(np.array(hazards), words))


def _ranks(path: Path, content: dict[str, Any]) -> PlanAcceptance:
    """Return the acceptance by rank along the texts that shapes were chosen by.

    Without it, take the ranks of the reported texts; without those, the mean of first drafts.
    """
    texts = _at(path, content, "acceptance")
    for where, home in (("", content), ("acceptance.", texts)):
        name = "ranks" if where else "shape_ranks"
        if isinstance(home, dict) and home.get(name):
            ranks = _numbers(path, home, name, where, "[0, 1]")
            if sum(ranks) > 1 + check.TOLERANCE:
                raise ValueError(f"{path.name}: {where}{name} sums to {sum(ranks):g}; one sibling at most is kept")
            words = f"sibling k is kept as often as along the texts of {path.name}, whatever came before"
            return PlanAcceptance(from_alpha(ranks[0], words), tuple(ranks))
    mean = check.scalar(_at(path, texts, "mean", "acceptance."), f"{path.name}: acceptance.mean", "[0, 1]")
    return PlanAcceptance(
        from_alpha(float(mean), f"the mean acceptance along the texts of {path.name}, at every position")
    )


def _at(path: Path, held: Any, key: str | int, where: str = "") -> Any:
    """Return an entry of an object or of a list; ValueError with its place if it is missing."""
    try:
        return held[key]
    except (KeyError, IndexError, TypeError):
        shown = f"{where}{key}" if isinstance(key, str) else f"{where}[{key}]"
        raise ValueError(f"{path.name} has no {shown}") from None


def _numbers(path: Path, held: Any, key: str, where: str, allowed: str) -> list[float]:
    """Return a list of numbers, each in the interval `allowed`; ValueError with its place."""
    values = _at(path, held, key, where)
    if not isinstance(values, list):
        raise ValueError(f"{path.name}: {where}{key} is no list of numbers")
    return [float(check.scalar(value, f"{path.name}: {where}{key}[{i}]", allowed)) for i, value in enumerate(values)]
