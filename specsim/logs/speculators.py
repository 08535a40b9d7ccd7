"""speculators' `acceptance.csv`: counts of vLLM by subset of a benchmark, one row each.

Written by vllm-project/speculators, scripts/evaluate/perf_utils.py: `subset`, `num_drafts` (blocks),
`num_draft_tokens`, `num_accepted_tokens`, `acceptance_length`, `acceptance_at_pos_0`, ... (shares of
all blocks, from position 0 on).
"""

from __future__ import annotations

import csv
import math
import re

from specsim.logs.printed import check_means
from specsim.logs.record import EngineLog, check_counts, mended, number, share, whole

NAME = "speculators"
EXPECTS = "a CSV with num_drafts and acceptance_at_pos_0"
COUNTS = ("num_drafts", "num_draft_tokens", "num_accepted_tokens")
_POSITION = re.compile(r"acceptance_at_pos_(\d+)")


def knows(text: str) -> bool:
    """Return whether a file is of this format."""
    names = text.lstrip().splitlines()[0].split(",")
    return "num_drafts" in names and "acceptance_length" in names


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    """Return the runs of a file: one for each subset."""
    table = csv.DictReader(text.strip().splitlines())
    names = table.fieldnames or ()
    positions = sorted(int(match[1]) for name in names if (match := _POSITION.fullmatch(name)))
    if positions != list(range(len(positions))):
        raise ValueError(f"{source} has acceptance at positions {positions}; expected 0, 1, ...")
    missing = [name for name in COUNTS if name not in names]
    if missing:
        raise ValueError(f"{source} has no column {missing[0]}; expected {', '.join(COUNTS)}")
    runs = []
    for row in table:
        place = f"{source}, line {table.line_num}"
        if None in row or None in row.values():
            raise ValueError(f"{place} has another number of fields than the head, {len(names)}")
        runs.append(_run(row, len(positions), source, place))
    if not runs:
        raise ValueError(f"{source} has no row; expected one for each subset")
    return tuple(runs)


def _run(row: dict[str, str], positions: int, source: str, place: str) -> EngineLog:
    """Return the run of a row; ValueError where the printed length is not that of its counts."""
    blocks, drafted, accepted = (whole(number(row[name], f"{place}: {name}"), f"{place}: {name}") for name in COUNTS)
    if not blocks:
        raise ValueError(f"{place}: num_drafts is 0; expected blocks with drafts")
    check_means(row, blocks, drafted, accepted, place)
    # Blocks that accepted each position; a cell may be empty for a shorter run.
    names = [f"acceptance_at_pos_{i}" for i in range(positions)]
    shares = [share(row[name], f"{place}: {name}") for name in names if row[name].strip()]
    kept = [round(part * blocks) for part in shares]
    notes: tuple[str, ...] = ()
    if kept and sum(kept) != accepted and abs(sum(kept) - accepted) <= math.ceil(0.001 * blocks * len(kept)):
        kept = mended(kept, accepted)
    if sum(kept) != accepted:
        kept, notes = [], ("acceptance by position does not sum to the accepted tokens, so hazards are not known",)
    subset = row.get("subset", "").strip()
    return check_counts(
        EngineLog(
            "vLLM",
            f"{source}, {subset}" if subset else source,
            True,
            length=drafted / blocks,
            blocks=blocks,
            drafted=drafted,
            accepted=accepted,
            kept=tuple(kept),
            coverage=None,
            notes=notes,
        )
    )
