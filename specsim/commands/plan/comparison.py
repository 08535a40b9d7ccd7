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

    latency: in plain steps, of passes over up to `most` tokens. steps: the time in plain steps that each further level
    adds to drafting. drafts: acceptance, and that of siblings by rank if trees were compared. notes: remarks for the
    reader on what the record limits.
    """

    latency: LatencyModel
    steps: tuple[float, ...]
    most: int
    drafts: PlanAcceptance
    notes: tuple[str, ...]


class Timed(NamedTuple):
    """Seconds of the parts of a cycle that drafts a chain or tree of `levels` levels and verifies `tokens` in one pass.

    plain: a whole cycle of plain decoding in the same run. draft: drafting and sampling. verify: the target's pass.
    rest: the rule and the host.
    """

    levels: int
    tokens: int
    plain: float
    draft: float
    verify: float
    rest: float


def read_comparison(path: Path) -> Comparison:
    """Return the costs and the acceptance of a record of `specsim-real compare`; ValueError if it has none.

    t(m), the time of a target pass over m tokens, is the median over the lines that verify m tokens. The time to draft
    a number of levels is the median over the lines with so many; c of a level is what it adds to the time of the level
    before. Times between those that were measured are interpolated linearly; there is none beyond them.
    """
    # The run in the file, and the place of its fields in messages.
    content = _record(path)
    run, where = content, ""
    if content["schema"] == RULES:
        run, where = _at(path, _at(path, content, "runs"), 0, "runs"), "runs[0]."

    # The lines of the comparison whose cycles were timed.
    has_trees = content["schema"] == TREES
    lines = list(_timed_trees(path, content) if has_trees else _timed_chains(path, run, where))
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
    acceptance = _ranks(path, content) if has_trees else _hazards(path, run, where)
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


def _timed_chains(path: Path, run: dict[str, Any], where: str) -> Iterator[Timed]:
    """Yield the times of a comparison of chains, one record for each block length gamma above the first.

    Each list in `costs` has one entry for each block length; entry 0 is plain decoding.
    """
    costs = _at(path, run, "costs", where)
    for entry, gamma in enumerate(_numbers(path, costs, "gammas", f"{where}costs.", "[0, inf)")):
        if entry == 0:
            continue
        if not gamma.is_integer():
            raise ValueError(f"{path.name}: {where}costs.gammas[{entry}] is {gamma:g}; give a whole number of drafts")
        yield _timed(path, costs, entry, int(gamma), int(gamma) + 1, f"{where}costs.")


def _timed_trees(path: Path, content: dict[str, Any]) -> Iterator[Timed]:
    """Yield the times of a comparison of trees, one record for each shape.

    Each shape has its own `costs`, whose lists have two entries: plain decoding, and this shape.
    """
    for i, row in enumerate(_at(path, content, "rows")):
        where = f"rows[{i}]."
        costs, pass_record = _at(path, row, "costs", where), _at(path, row, "pass", where)
        levels = check.integer(_at(path, row, "levels", where), f"{path.name}: {where}levels", 1)
        tokens = _at(path, pass_record, "tokens", f"{where}pass.")
        tokens = check.integer(tokens, f"{path.name}: {where}pass.tokens", 2)
        yield _timed(path, costs, 1, levels, tokens, f"{where}costs.")


def _timed(path: Path, costs: Any, entry: int, levels: int, tokens: int, where: str) -> Timed:
    """Return the times of one line of a comparison, from this entry of each list; entry 0 is plain decoding."""
    # The lists of seconds, long enough.
    parts = {name: _numbers(path, costs, f"{name}_s", where, "[0, inf)") for name in (*PHASES, "cycle")}
    for name, values in parts.items():
        if len(values) <= entry:
            raise ValueError(f"{path.name}: {where}{name}_s has {len(values)} entries; entry {entry} is needed")
    # Seconds of plain decoding and of the parts of this line's cycle.
    plain = parts["cycle"][0]
    draft, sample, verify, rule, host = (parts[name][entry] for name in PHASES)
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
    """Return the time that each level adds to drafting, from the total times by number of levels.

    Totals between measured levels are interpolated, and are raised where noise lets them fall with more levels.
    """
    levels = np.arange(max(drafts) + 1)
    totals = np.interp(levels, [0, *drafts], np.maximum.accumulate([0.0, *drafts.values()]))
    return tuple(float(step) for step in np.diff(totals))


def _hazards(path: Path, run: dict[str, Any], where: str) -> PlanAcceptance:
    """Return the acceptance by position that a record of chains measured.

    Records of several rules name the rule of each run; the words about the source repeat it.
    """
    hazards = _numbers(path, _at(path, run, "acceptance", where), "hazards", f"{where}acceptance.", "[0, 1]")
    if not hazards:
        raise ValueError(f"{path.name}: {where}acceptance.hazards is empty")
    rule = f"under rule {run['rule']!r} " if isinstance(run.get("rule"), str) else ""
    words = f"hazards {rule}as a decoder of {len(hazards)} drafts meets them along the texts of {path.name}, no error"
    return PlanAcceptance(from_hazards(np.array(hazards), words))


def _ranks(path: Path, content: dict[str, Any]) -> PlanAcceptance:
    """Return the acceptance by rank along the texts that shapes were chosen by.

    Without it, take the ranks of the reported texts; without those, the mean of first drafts.
    """
    # The first of two fields that is there: `shape_ranks` of the record, `ranks` of its acceptance.
    texts = _at(path, content, "acceptance")
    for where, name, holder in (("", "shape_ranks", content), ("acceptance.", "ranks", texts)):
        if isinstance(holder, dict) and holder.get(name):
            ranks = _numbers(path, holder, name, where, "[0, 1]")
            if sum(ranks) > 1 + check.TOLERANCE:
                raise ValueError(f"{path.name}: {where}{name} sums to {sum(ranks):g}; one sibling at most is kept")
            words = f"sibling k is kept as often as along the texts of {path.name}, whatever came before"
            return PlanAcceptance(from_alpha(ranks[0], words), tuple(ranks))
    # Without either: one acceptance for all positions.
    mean = check.scalar(_at(path, texts, "mean", "acceptance."), f"{path.name}: acceptance.mean", "[0, 1]")
    return PlanAcceptance(
        from_alpha(float(mean), f"the mean acceptance along the texts of {path.name}, at every position")
    )


def _at(path: Path, container: Any, key: str | int, where: str = "") -> Any:
    """Return an entry of an object or of a list; ValueError with its place if it is missing."""
    try:
        return container[key]
    except (KeyError, IndexError, TypeError):
        shown = f"{where}{key}" if isinstance(key, str) else f"{where}[{key}]"
        raise ValueError(f"{path.name} has no {shown}") from None


def _numbers(path: Path, container: Any, key: str, where: str, allowed: str) -> list[float]:
    """Return an entry that is a list of numbers in the interval `allowed`; ValueError with the place of any other."""
    values = _at(path, container, key, where)
    if not isinstance(values, list):
        raise ValueError(f"{path.name}: {where}{key} is no list of numbers")
    return [float(check.scalar(value, f"{path.name}: {where}{key}[{i}]", allowed)) for i, value in enumerate(values)]
