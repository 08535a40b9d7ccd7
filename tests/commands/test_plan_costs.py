"""`specsim plan --costs`: plans from the user's own times, within what was measured and no further."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.calls_of_logs import DRAFT, PASSES
from helpers.planning import as_json, run

import specsim

TIMES = specsim.read_pass_times(PASSES)


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    path = tmp_path / "draft.csv"
    path.write_text(DRAFT)
    return path


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Times that say neither batch nor context."""
    path = tmp_path / "bare.csv"
    path.write_text("tokens,ms\n" + "".join(f"{m},{ms}\n" for m, ms in ((1, 20), (5, 24), (9, 31)) * 1))
    return path


def test_the_plan_is_that_of_the_library(draft: Path) -> None:
    """At every batch and context of the file, with the interval of the medians."""
    answer = as_json(f"0.8 --costs {PASSES} --draft-costs {draft} --overhead 0")
    model = specsim.from_pass_times(TIMES, specsim.read_pass_times(draft))
    expected = specsim.plan(model, 0.8, batches=[1, 8], contexts=[1024], max_gamma=8)
    assert [point["gamma"] for point in answer["points"]] == list(expected.gammas)
    assert [point["speedup"] for point in answer["points"]] == [best.speedup._asdict() for best in expected]
    assert answer["asked"]["batch"] == [1, 8]
    assert answer["boundaries"] == []
    assert answer["points"][0]["speedup"]["low"] < answer["points"][0]["speedup"]["value"]


def test_a_ratio_is_of_the_measured_step_at_each_batch() -> None:
    answer = as_json(f"0.8 --costs {PASSES} --cost-ratio 0.1 --batch 8 --overhead 0")
    (point,) = answer["points"]
    assert point["draft"] == pytest.approx(point["gamma"] * 0.1 * point["plain"])
    assert point["plain"] == pytest.approx(0.0221)


def test_times_of_an_unknown_point_are_of_that_point_alone(bare: Path) -> None:
    words = f"0.8 --costs {bare} --cost-ratio 0.05"
    text = run(words)
    assert "(predicted, batch unknown, context unknown)" in text
    assert "the batch and context of the passes is not said" in text
    (point,) = as_json(words)["points"]
    assert (point["batch"], point["context"]) == (None, None)
    for axis in ("batch", "context"):
        assert f"bare.csv does not say at which {axis} it was measured: add a column {axis}" in run(
            f"{words} --{axis} 8", 2
        )
    assert "--emit vllm gives lengths by batch, and the times of --costs do not say" in run(f"{words} --emit vllm", 2)
    assert "lengths by batch" in run(f"{words} --emit csv", 2)
    assert "batch 1" not in run(f"{words} --emit llamacpp")


def test_a_table_ends_where_the_times_end() -> None:
    rows = run(f"0.8 --costs {PASSES} --cost-ratio 0.1 --emit csv").splitlines()
    assert {row.split(",")[3] for row in rows[1:]} == {"1024"}


def test_trees_and_blocks_stay_within_the_measured_passes() -> None:
    answer = as_json(f"--ranks 0.8,0.1 --costs {PASSES} --cost-ratio 0.01 --batch 1")
    assert answer["asked"]["nodes"] == 8
    assert answer["asked"]["max_gamma"] == 8
    assert "passes.csv timed passes over 9 tokens at most: no larger block is tried" in answer["notes"]


def test_without_an_overhead_the_low_end_allows_for_one() -> None:
    with_none, without = (
        as_json(f"0.8 --costs {PASSES} --cost-ratio 0.1 --batch 1{words}") for words in (" --overhead 0", "")
    )
    assert with_none["points"][0]["speedup"]["low"] > without["points"][0]["speedup"]["low"]
    assert with_none["points"][0]["speedup"]["high"] == without["points"][0]["speedup"]["high"]


BAD = [
    ("--costs {p}", "--costs has no time of a draft step: give --draft-costs, or --cost-ratio"),
    ("--costs {p} --draft-costs {d} --cost-ratio 0.1", "one of them"),
    ("--draft-costs {d} --cost-ratio 0.1", "--draft-costs goes with --costs"),
    ("--costs {p} --cost-ratio 0.1 --max-gamma 9", "which takes a pass of 10 tokens, and passes.csv has 9 at most"),
    ("--costs {p} --cost-ratio 0.1 --batch 64", "batch 64 was not measured: passes.csv has batch 1, 8"),
    ("--costs {p} --cost-ratio 0.1 --context 1k,2k", "context 2048 was not measured: passes.csv has context 1024"),
    ("--costs {p} --cost-ratio 0.1 --verify-cost 1,1.1", "--costs has the times of passes; leave out --verify-cost"),
    ("--costs {p} --cost-ratio 0.1 --target llama-3.1-8b --tp 2", "leave out --target, --tp"),
    ("--costs {p} --cost-ratio 0.1 --rate 2", "--rate needs the time of reading prompts"),
    ("--costs {p} --cost-ratio 0.1 --concurrency 2", "--concurrency needs the time of reading prompts"),
    ("--costs gone.csv --cost-ratio 0.1", "gone.csv cannot be read: No such file or directory"),
    ("--costs {p} --cost-ratio -1", "cost_ratio is -1.0; it must lie in [0, inf)"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[words for words, _ in BAD])
def test_what_does_not_go_together_is_refused(draft: Path, words: str, message: str) -> None:
    assert message in run(f"0.8 {words.format(p=PASSES, d=draft)}", 2)
