"""Two logs compared: over requests where both have them, else over blocks taken as independent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from specsim.base.intervals import Measure
from specsim.lengths.request_comparison import DIFFERENCES, PromptsNeeded, compare_records, prompts_needed
from specsim.lengths.request_record import AcceptanceRecord, stepped
from specsim.logs.measures import counted_run, log_acceptance, log_tau
from specsim.logs.record import EngineLog, is_sparse, per_step, shown
from specsim.logs.request_measures import INDEPENDENT


class LogComparison(NamedTuple):
    """The acceptance of a second log over that of a first: names, numbers, what they rest on, and notes.

    unit: what `needed` counts, prompts or blocks.
    """

    first: str
    second: str
    first_tau: Measure
    second_tau: Measure
    ratio: Measure
    mean_ratio: Measure | None
    basis: str
    needed: tuple[PromptsNeeded, ...]
    unit: str
    notes: tuple[str, ...]


def pairs_of_runs(first: Sequence[EngineLog], second: Sequence[EngineLog]) -> list[tuple[EngineLog, EngineLog]]:
    """Return the runs to compare: one against each, or each against the one at its place."""
    if len(first) == 1:
        return [(first[0], run) for run in second]
    if len(first) != len(second):
        raise ValueError(
            f"{first[0].source} is one of {len(first)} runs and {second[0].source} of {len(second)}; expected one run, "
            "or as many in both"
        )
    return list(zip(first, second, strict=True))


def compare_logs(
    first: EngineLog, second: EngineLog, *, length: int | None = None, level: float = 0.95
) -> LogComparison:
    """Return the acceptance of the second run over that of the first.

    Requests that have the same prompt are paired. A run without requests is compared by its blocks, as if these were
    independent.
    """
    runs = [counted_run(run, length) for run in (first, second)]
    # Names that differ, also of files with one name in two folders.
    names = [run.source for run in runs]
    if names[0] == names[1]:
        names = [f"{names[0]} (first)", f"{names[1]} (second)"]
    taus = [log_acceptance(run, length=length, level=level).measures["tau"] for run in runs]
    records = [run.requests for run in runs]
    notes = _notes(runs)
    if all(record is not None and len(stepped(record).requests) > 1 for record in records):
        return _over_requests(records, names, taus, level, notes)
    # Blocks taken as independent.
    logs = [log_tau(per_step(run), length=length) for run in runs]
    ratio = logs[1].value / logs[0].value
    notes.append(INDEPENDENT)
    measure, needed = Measure(ratio, None, None), tuple[PromptsNeeded, ...]()
    if all(log.error is not None for log in logs):
        relative = [(log.error or 0.0) / log.value for log in logs]
        z = NormalDist().inv_cdf((1 + level) / 2)
        half = z * math.hypot(*relative)
        measure = Measure(ratio, ratio * math.exp(-half), ratio * math.exp(half))
        blocks = [run.blocks for run in runs]
        needed = _blocks_needed(relative, [n for n in blocks if n], level)
    return LogComparison(
        names[0], names[1], taus[0], taus[1], measure, None, "blocks independent", needed, "blocks", tuple(notes)
    )


def _over_requests(
    records: Sequence[AcceptanceRecord | None], names: list[str], taus: list[Measure], level: float, notes: list[str]
) -> LogComparison:
    """Return the comparison of two records of requests."""
    first, second = records
    assert first is not None
    assert second is not None
    found = compare_records(first, second, level=level)
    of_each = [len(stepped(record).requests) for record in (first, second)]
    if found.paired:
        basis = f"paired over {found.prompts[0]} shared prompts"
        left_out = [total - found.prompts[0] for total in of_each]
        if any(left_out):
            notes.append(f"{left_out[0]} and {left_out[1]} requests whose prompt the other log lacks are left out")
    else:
        basis = f"over {found.prompts[0]} and {found.prompts[1]} requests"
        notes.append("no prompt is known to be in both logs: with the same prompts, paired, far fewer are needed")
    # Long answers weigh more where all requests are taken together.
    if (found.ratio.value - 1) * (found.mean_ratio.value - 1) < 0:
        certain = all(_is_certain(ratio) for ratio in (found.ratio, found.mean_ratio))
        words = "long answers go the other way" if certain else "which may be noise"
        notes.append(f"all requests together and the mean of requests disagree: {words}")
    # Logs that are alike in every prompt do not say how much prompts differ.
    needed = found.needed
    if found.ratio.low == found.ratio.high:
        needed = ()
        notes.append("the ratio is the same in every prompt, so how many prompts a difference needs is not known")
    return LogComparison(
        names[0],
        names[1],
        taus[0],
        taus[1],
        found.ratio,
        found.mean_ratio,
        basis,
        needed,
        "prompts",
        tuple(notes),
    )


def _is_certain(ratio: Measure) -> bool:
    """Return whether the interval of a ratio leaves out 1."""
    return ratio.low is not None and ratio.high is not None and not ratio.low <= 1 <= ratio.high


def _blocks_needed(relative: list[float], blocks: list[int], level: float) -> tuple[PromptsNeeded, ...]:
    """Return the blocks of each run with which a difference is seen; () where a run does not count them."""
    if len(blocks) < 2:
        return ()
    spread = math.sqrt(sum(error**2 * count for error, count in zip(relative, blocks, strict=True)))
    return tuple(PromptsNeeded(d, prompts_needed(spread, d, level)) for d in DIFFERENCES)


def _notes(runs: Sequence[EngineLog]) -> list[str]:
    """Return what a reader must know before comparing two runs."""
    notes = []
    lengths = [run.length for run in runs]
    if lengths[0] != lengths[1]:
        words = " and of ".join("an unknown number of" if n is None else shown(n) for n in lengths)
        notes.append(f"blocks of {words} drafts: a longer block costs more time, which `specsim diagnose` compares")
    if any(is_sparse(run) for run in runs):
        notes.append("tokens are per step of the target, with a draft or without")
    if any(run.coverage is None for run in runs):
        notes.append("a log does not say how many steps had no draft: its tokens are per step that had one")
    models = {run.model for run in runs if run.model}
    if len(models) > 1:
        notes.append(f"the logs are of the models {' and '.join(sorted(models))}")
    return notes
