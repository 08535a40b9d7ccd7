"""What `specsim-real compare --tree` runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from real.studies.compare import tree_report
from real.studies.compare.record import Bandwidth, Turn, turn_as_json, turn_of
from real.studies.compare.record import as_json as found_as_json
from real.studies.compare.tree_rows import as_json, fastest_as_json, fastest_of, rows_of
from real.studies.compare.tree_settings import PLAIN, TreeSettings
from real.studies.compare.tree_shapes import mean_ranks
from real.studies.keep import begun, finish, kept, place_of, progress_bar
from specsim.base.files import write_json
from specsim.commands.options import Form

if TYPE_CHECKING:
    from collections.abc import Callable

    from real.pair import Pair

SPARE = 16  # texts that shapes are chosen by


def run_trees(
    settings: TreeSettings,
    what: dict[str, Any],
    texts: list[str],
    count: int,
    open_pair: Callable[[], Pair],
    *,
    out: Path | None,
    force: bool,
    wide: bool,
    form: Form,
) -> None:
    """Compare trees with chains after the first `count` of these texts, and shape trees by the texts after them.

    Where there are no more, other texts are written after the same prompts.
    """
    first = min(count, len(texts)) if count < len(texts) else 0
    spare = texts[first : first + SPARE] if settings.shapes_wanted else []
    what |= {
        "trees": list(settings.trees),
        "scheme": settings.scheme,
        "chains": list(settings.gammas),
        "shape_texts": len(spare),
    }
    what |= {name: told for name in ("step", "draws") if (told := getattr(settings, name)) is not None}
    table = partial(tree_report.table, wide=wide)
    out = place_of(out, "compare", tree_report.SCHEMA, what)
    old = begun(out, tree_report.SCHEMA, what, force=force)
    if old is not None and old["complete"]:
        return finish(old, out, Console(), table, tree_report.write_plot, form=form, again=True)
    pair = open_pair()
    from real.studies.compare.tree_measure import check_models

    prompts, others = ([list(pair.tokenizer(text)["input_ids"]) for text in some] for some in (texts[:count], spare))
    check_models(pair, [*prompts, *others], settings)
    turns = (old or {}).get("turns", [])
    record = {"schema": tree_report.SCHEMA, "complete": False, "provenance": what, "rows": [], "turns": turns}
    with kept(record, out), progress_bar() as progress:
        _run(pair, prompts, others, first, settings, out, record, progress)
    finish(record, out, Console(), table, tree_report.write_plot, form=form)


def _run(
    pair: Pair,
    prompts: list[list[int]],
    others: list[list[int]],
    first: int,
    settings: TreeSettings,
    out: Path,
    record: dict[str, Any],
    progress: Any,
) -> None:
    """Run, and record every turn; a run that is stopped leaves the rows of the prompts that were finished."""
    from real.studies.calibrate import copy_bandwidth
    from real.studies.compare.tree_measure import check_models, shape_ranks, take_turns, write_and_score

    turns = [turn_of(turn) for turn in record["turns"]]
    lines = 1 + len(settings.entries())
    total = len(others) + len(prompts) + (len(prompts) - len(turns)) * lines
    task = progress.add_task("", total=total)

    def step(stage: str) -> None:
        progress.update(task, description=stage, advance=1)

    ranks = shape_ranks(pair, others, settings, first, step) if others else None
    record["shape_ranks"] = ranks
    entries = settings.entries(ranks)
    check_models(pair, prompts, settings, ranks)
    texts = write_and_score(pair, prompts, settings, entries, step)
    copied, stopped = copy_bandwidth(pair.target.device), None
    try:
        for turn in take_turns(pair, prompts, settings, entries, len(turns), step):
            turns.append(turn)
            record["turns"].append(turn_as_json(turn))
            write_json(out, record)
    except (KeyboardInterrupt, RuntimeError, MemoryError, ValueError) as error:
        if not turns:
            raise
        stopped = error  # after the rows of the prompts that were finished
    _put_together(pair, entries, texts[: len(turns)], turns, copied, record)
    write_json(out, record)
    if stopped is not None:
        raise stopped
    del record["turns"]  # which serve to carry on a run that was stopped


def _put_together(
    pair: Pair, entries: Any, texts: Any, turns: list[Turn], copied: float, record: dict[str, Any]
) -> None:
    """Rows, who is fastest, acceptance and bandwidth of finished turns."""
    rows = rows_of(entries, texts, turns, PLAIN)
    record["rows"] = [as_json(row) for row in rows]
    record["fastest"] = fastest_as_json(fastest_of(rows, entries, turns))
    record["acceptance"] = {
        "mean": sum(float(text.score.acceptance.sum()) for text in texts) / sum(len(text.score.p) for text in texts),
        "ranks": mean_ranks(texts) if texts[0].ranks.shape[-1] else None,
        "texts": len(texts),
        "tokens": sum(len(text.score.p) for text in texts),
    }
    record["bandwidth"] = found_as_json(Bandwidth(pair.target.weight_bytes / rows[0].plain_s_predicted, copied))
