"""Lengths by batch and context: tables are the planner's; an engine gets what it takes, with what that costs."""

from __future__ import annotations

import csv
import io
import json
import shlex
from itertools import pairwise
from typing import Any

import pytest
from helpers.planning import SMALL, run
from typer.testing import CliRunner

import specsim
from specsim.cli import app
from specsim.commands.plan import cells
from specsim.commands.plan.emit import METHODS, emit
from specsim.commands.plan.engines.sglang import ADAPTIVE
from specsim.lengths.acceptance_record import as_acceptance

TIMES = specsim.roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
WORDS = f"0.8 {SMALL} --batch 1,80 --context 16k,1k --max-gamma 6"


def table(kind: str, words: str = WORDS) -> list[dict[str, Any]]:
    text = run(f"{words} --emit {kind}")
    return json.loads(text)["cells"] if kind == "json" else list(csv.DictReader(io.StringIO(text)))


def test_the_table_is_the_planner_s() -> None:
    rows = table("json")
    for context, last in ((1024, 16383), (16384, None)):
        mine = [row for row in rows if row["context_first"] == context]
        schedule = specsim.batch_schedule(TIMES, 0.8, max_batch=80, context=context, max_gamma=6)
        assert [(row["batch_first"], row["batch_last"], row["gamma"]) for row in mine] == schedule
        assert {row["context_last"] for row in mine} == {last}
        for row in mine:
            one = specsim.predict(TIMES, 0.8, gamma=row["gamma"], batch=row["batch_first"], context=context)
            assert (row["tau"], row["speedup"]) == (one.tau.value, one.speedup.value)
            assert (row["speedup_low"], row["speedup_high"]) == one.speedup[1:]
    assert len(rows) == len([row for row in rows if row["context_first"] in (1024, 16384)])
    for shown, row in zip(table("csv"), rows, strict=True):
        assert {k: v for k, v in shown.items() if v} == {k: str(v) for k, v in row.items() if v is not None}
    held = json.loads(run(f"{WORDS} --emit json"))
    assert (held["format"], held["method"], held["level"]) == (cells.FORMAT, "model", 0.95)


def test_low_ends_allow_what_is_not_said() -> None:
    """Without --overhead the low ends are those of a cycle that takes 1.4 ms more, as in the answer."""
    silent = WORDS.replace(" --overhead 0", "")
    shown = json.loads(run(f"{silent} --json"))["points"]
    for row in table("json", silent):
        for point in shown:
            if (point["batch"], point["context"]) == (row["batch_first"], row["context_first"]):
                assert row["speedup_low"] == point["speedup"]["low"] < table("json")[0]["speedup_low"]


def test_an_engine_without_contexts_loses_least_where_it_loses_most() -> None:
    kept, contexts, top, longest = as_acceptance(0.8), [1024, 16384], 300, 6
    found = cells.by_batch(TIMES, kept, contexts, max_batch=top, max_gamma=longest)
    lengths = range(longest + 1)
    worst = (0.0, 0, 0)
    for first, last, gamma in found.schedule:
        for b in {first, (first + last) // 2, last}:
            speed = {
                s: [specsim.predict(TIMES, 0.8, gamma=g, batch=b, context=s).speedup.value for g in lengths]
                for s in contexts
            }
            share = [min(speed[s][g] / max(speed[s]) for s in contexts) for g in lengths]
            assert share[gamma] == pytest.approx(max(share))
            worst = max(worst, *((1 - speed[s][gamma] / max(speed[s]), b, s) for s in contexts))
    assert worst[0] == pytest.approx(found.lost)
    assert worst[1:] == (found.batch, found.context)
    assert found.schedule[0][0] == 1
    assert found.schedule[-1][1] == top
    assert all(b[0] == a[1] + 1 for a, b in pairwise(found.schedule))
    alone = cells.by_batch(TIMES, kept, contexts[:1], max_batch=top, max_gamma=longest)
    assert alone.lost == 0
    assert alone.schedule == specsim.batch_schedule(TIMES, 0.8, max_batch=top, context=1024, max_gamma=longest)


def test_engines_get_what_they_take() -> None:
    words = "0.8 --target llama-3.1-8b --draft eagle3 --hardware h100-sxm --batch 300 --context 1k,16k --max-gamma 6"
    both = {name: CliRunner().invoke(app, ["plan", *shlex.split(f"{words} --emit {name}")]) for name in
            ("vllm", "sglang-adaptive")}  # fmt: skip
    config = json.loads(both["vllm"].stdout)
    schedule = config["num_speculative_tokens_per_batch_size"]
    assert set(config) == {"method", "model", "num_speculative_tokens", "num_speculative_tokens_per_batch_size"}
    assert all(len(entry) == 3 for entry in schedule)  # first batch, last batch, drafts: no context
    steps = json.loads(both["sglang-adaptive"].stdout)
    assert steps == {str(first): {"candidate_steps": [gamma]} for first, _, gamma in schedule}
    for found in both.values():
        assert "no engine takes lengths by context: these lose " in found.stderr
    assert "VLLM_USE_V2_MODEL_RUNNER=0" in both["vllm"].stderr
    assert "VLLM_USE_V2" not in both["sglang-adaptive"].stderr
    assert f"--speculative-num-steps {max(entry[2] for entry in schedule)} " in both["sglang-adaptive"].stderr
    assert "--speculative-adaptive --speculative-adaptive-config FILE" in both["sglang-adaptive"].stderr


@pytest.mark.parametrize("method", list(METHODS))
def test_adaptive_steps_are_of_heads(method: str) -> None:
    schedule = [(1, 8, 4), (9, 64, 1), (65, 128, 0)]
    if method not in ADAPTIVE:
        with pytest.raises(ValueError, match="SGLang changes the length of eagle, eagle3, mtp drafters alone"):
            emit("sglang-adaptive", schedule, 0.8, draft="a", method=method)
        return
    found = json.loads(emit("sglang-adaptive", schedule, 0.8, draft="a", method=method))
    # As its router reads them: the largest key that is not above the batch.
    for first, last, gamma in schedule:
        for b in (first, last):
            key = max(int(k) for k in found if int(k) <= b)
            assert found[str(key)] == {"candidate_steps": [gamma]}


def test_bad_input_is_named() -> None:
    assert "their product may be 262144 at most" in run(
        f"0.8 {SMALL} --batch 16384 --context 1k,2k --max-gamma 16 --emit csv", code=2
    )
    with pytest.raises(ValueError, match=r"^emit 'csv' is unknown; known: vllm, .*, sglang-adaptive$"):
        emit("csv", [(1, 1, 2)], 0.8, draft="a")
    assert "--json and --emit are both given" in run(f"{WORDS} --emit json --json", code=2)
