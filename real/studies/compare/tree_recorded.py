"""Trees are compared with chains, and the results recorded turn by turn."""

from __future__ import annotations

from typing import Any

from real.pair import Pair
from real.studies.calibrate import copy_bandwidth
from real.studies.compare.record import Bandwidth, Turn, turn_as_json, turn_of
from real.studies.compare.record import as_json as result_as_json
from real.studies.compare.tree_measure import check_models, shape_ranks, take_turns, write_and_score
from real.studies.compare.tree_rows import as_json, fastest_as_json, fastest_of, rows_of
from real.studies.compare.tree_settings import PLAIN, TreeSettings
from real.studies.compare.tree_shapes import mean_ranks
from real.studies.runner import Run


def measure_trees(
    pair: Pair,
    prompts: list[list[int]],
    others: list[list[int]],
    first: int,
    settings: TreeSettings,
    old_turns: list[dict[str, Any]],
    run: Run,
) -> None:
    """Measure, and record every turn.

    A run that is stopped leaves the rows of the prompts that were finished.
    """
    # Shapes of trees, by acceptance by rank on other texts if they are to be chosen.
    record = run.record
    record |= {"rows": [], "turns": old_turns}
    turns = [turn_of(turn) for turn in old_turns]
    lines = 1 + len(settings.entries())
    step = run.stages(len(others) + len(prompts) + (len(prompts) - len(turns)) * lines)
    ranks = shape_ranks(pair, others, settings, first, step) if others else None
    record["shape_ranks"] = ranks
    entries = settings.entries(ranks)
    check_models(pair, prompts, settings, ranks)

    # Decode prompt by prompt. If that is stopped, the finished prompts have rows all the same.
    texts = write_and_score(pair, prompts, settings, entries, step)
    copied, stopped = copy_bandwidth(pair.target.device), None
    try:
        for turn in take_turns(pair, prompts, settings, entries, len(turns), step):
            turns.append(turn)
            record["turns"].append(turn_as_json(turn))
            run.save()
    except (KeyboardInterrupt, RuntimeError, MemoryError, ValueError) as error:
        if not turns:
            raise
        stopped = error
    _put_together(pair, entries, texts[: len(turns)], turns, copied, record)
    run.save()
    if stopped is not None:
        raise stopped
    # Turns serve to carry on a run that was stopped.
    del record["turns"]


def _put_together(
    pair: Pair,
    entries: Any,
    texts: Any,
    turns: list[Turn],
    copied: float,
    record: dict[str, Any],
) -> None:
    """Write rows, the fastest entries, acceptance and bandwidth of finished turns into the record."""
    # Rows, then means over all positions of the texts, then bytes a second of a plain step.
    rows = rows_of(entries, texts, turns, PLAIN)
    record["rows"] = [as_json(row) for row in rows]
    record["fastest"] = fastest_as_json(fastest_of(rows, entries, turns))
    tokens = sum(len(text.score.p) for text in texts)
    record["acceptance"] = {
        "mean": sum(float(text.score.acceptance.sum()) for text in texts) / tokens,
        "ranks": mean_ranks(texts) if texts[0].ranks.shape[-1] else None,
        "texts": len(texts),
        "tokens": tokens,
    }
    baseline = pair.target.weight_bytes / rows[0].plain_s_predicted
    record["bandwidth"] = result_as_json(Bandwidth(baseline, copied))
