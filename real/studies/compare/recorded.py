"""A comparison is measured into its record, for the command and for `real.compare` alike."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from real.pair import Pair
from real.studies.compare import measure, tree_measure
from real.studies.compare.record import Bandwidth, Gain, Scored, Turn, as_json, turn_as_json, turn_of
from real.studies.compare.settings import Settings
from real.studies.compare.subject import spare_prompts
from real.studies.compare.tree_recorded import measure_trees
from real.studies.compare.tree_settings import TreeSettings
from real.studies.costs import Costs
from real.studies.prompting import Prompts
from real.studies.runner import Run


def prepared(
    pair: Pair,
    settings: Settings | TreeSettings,
    prompts: Prompts,
    provenance: dict[str, Any],
    turns: list[dict[str, Any]],
) -> Callable[[Run], None]:
    """Return the function that measures a comparison into the record of a run.

    Raise ValueError where it cannot run on the pair.

    provenance: that of the run, which says from now on whether the target's chat template is applied.
    turns: those of an earlier run of the same comparison, which are not measured again.
    """
    # Trees also need texts by which their shapes are chosen.
    provenance |= prompts.applied(pair.tokenizer)
    ids = prompts.encoded(pair.tokenizer)
    if isinstance(settings, TreeSettings):
        spare, first = spare_prompts(prompts, settings)
        spare_ids = prompts.encoded(pair.tokenizer, spare)
        tree_measure.check_models(pair, [*ids, *spare_ids], settings)
        return partial(measure_trees, pair, ids, spare_ids, first, settings, turns)
    measure.check_models(pair, ids, settings)
    return partial(measure_chains, pair, ids, settings, turns)


def measure_chains(
    pair: Pair,
    ids: list[list[int]],
    settings: Settings,
    turns: list[dict[str, Any]],
    run: Run,
) -> None:
    """Measure, and record every turn and row: one rule's record is flat, several have a run each."""
    # The record before its rows.
    record = run.record
    record["turns"] = turns
    runs: dict[str, dict[str, Any]] = {name: {"rule": name, "pairs": []} for name in settings.rules}
    if len(runs) == 1:
        record["pairs"] = []
        runs = {settings.rules[0]: record}
    else:
        record |= {"runs": list(runs.values()), "gains": []}
    finished = [turn_of(turn) for turn in turns]
    step = run.stages(measure.stages(settings, len(ids), len(finished)))

    def save_turn(turn: Turn) -> None:
        """Save a finished turn."""
        turns.append(turn_as_json(turn))
        run.save()

    # Each result goes to its place in the record.
    results = measure.compare(
        pair,
        ids,
        settings,
        step=step,
        finished=finished,
        keep=save_turn,
    )
    for rule, result in results:
        if isinstance(result, Scored):
            runs[rule]["acceptance"] = as_json(result)
        elif isinstance(result, Costs):
            runs[rule]["costs"] = as_json(result)
        elif isinstance(result, Bandwidth):
            record["bandwidth"] = as_json(result)
        elif isinstance(result, Gain):
            record["gains"].append(as_json(result) | {"rule": rule})
            run.save()
        else:
            runs[rule]["pairs"].append(as_json(result))
            run.save()
    # Turns serve to carry on a run that was stopped.
    del record["turns"]
