"""Measured passes: what a CSV of them gives, the costs they make, and what they are refused for."""

from __future__ import annotations

from pathlib import Path

import pytest

import specsim
from specsim.base.intervals import median_error
from specsim.latency import PassTimes, from_pass_times, read_pass_times

BOTH = ("batch", "context")


def written(folder: Path, text: str, name: str = "passes.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def read(folder: Path, text: str, name: str = "passes.csv") -> PassTimes:
    return read_pass_times(written(folder, text, name))


def test_rows_of_one_place_are_all_kept(tmp_path: Path) -> None:
    times = read(tmp_path, "ms,tokens,note\n10,1,warm\n11,1,\n90,1,\n20,5,\n")
    assert times.seconds == {(1, 1, 0): (0.010, 0.011, 0.090), (5, 1, 0): (0.020,)}
    assert (times.source, times.unknown) == ("passes.csv", BOTH)
    assert read(tmp_path, "tokens,batch,ms\n1,2,3\n").unknown == ("context",)


def test_medians_make_the_costs_and_their_error(tmp_path: Path) -> None:
    """The median of a point, not its mean: one slow pass changes little; half-way between points the mean of two."""
    times = read(tmp_path, "tokens,ms\n1,10\n1,11\n1,90\n5,20\n5,21\n5,22\n")
    model = from_pass_times(times, 0.1, overhead=0.002)
    assert model.target(1, 1, 0) == (0.011, median_error((0.010, 0.011, 0.090)))
    assert model.target(3, 1, 0).value == pytest.approx(0.016)
    assert model.draft(1, 0).value == pytest.approx(0.0011)
    assert model.overhead(1, 0) == (0.002, 0.0)
    prediction = specsim.predict(model, 0.8, gamma=4)
    assert prediction.speedup.low is not None
    assert prediction.main_error == "time"
    assert any("3 times or more of each point" in words for words in model.assumptions)


def test_fewer_than_three_times_leave_the_error_unknown(tmp_path: Path) -> None:
    times = read(tmp_path, "tokens,ms\n1,10\n1,11\n1,12\n5,20\n5,21\n")
    model = from_pass_times(times, 0.1)
    assert model.target(1, 1, 0).error is not None
    assert model.target(5, 1, 0).error is None
    assert specsim.predict(model, 0.8, gamma=4).speedup.low is None
    assert any("repeat each pass 3 times or more" in words for words in model.assumptions)


def test_a_measured_draft_steps_at_the_targets_points(tmp_path: Path) -> None:
    target = read(tmp_path, "tokens,batch,ms\n1,2,10\n5,2,20\n1,4,12\n5,4,30\n")
    draft = read(tmp_path, "tokens,batch,ms\n1,2,1\n1,4,2\n7,2,9\n", "draft.csv")
    model = from_pass_times(target, draft)
    assert [model.draft(batch, 0).value for batch in (2, 3, 4)] == pytest.approx([0.001, 0.0015, 0.002])
    assert any("of draft.csv the passes of 1 token count" in words for words in model.assumptions)


def test_points_without_a_longer_pass_are_left_out(tmp_path: Path) -> None:
    times = read(tmp_path, "tokens,batch,ms\n1,1,2\n5,1,3\n1,8,3\n")
    model = from_pass_times(times, 0.1)
    assert "passes.csv: left out, for only the plain step was measured there: batch 8, context 0" in model.assumptions
    with pytest.raises(ValueError, match="batch 8 was not measured"):
        model.target(1, 8, 0)


def test_one_point_stands_for_an_axis_that_the_draft_leaves_out(tmp_path: Path) -> None:
    target = read(tmp_path, "tokens,batch,context,ms\n1,8,512,10\n5,8,512,20\n")
    draft = read(tmp_path, "tokens,ms\n1,1\n", "draft.csv")
    model = from_pass_times(target, draft)
    assert model.draft(8, 512).value == 0.001
    assert "draft.csv does not say its batch: taken to be that of passes.csv, 8" in model.assumptions
    # The other way round: the target's point is not said, and the draft's is.
    model = from_pass_times(draft._replace(seconds={(1, 1, 0): (0.01,), (5, 1, 0): (0.02,)}), target)
    assert model.draft(1, 0).value == 0.010


@pytest.mark.parametrize(
    ("target", "draft", "message"),
    [
        ("tokens,ms\n1,2\n", "0.1", "passes.csv has passes of 1 tokens; .* measure a pass of 2 tokens or more, too"),
        ("tokens,ms\n2,2\n3,3\n", "0.1", "measure a pass of 1 token, the plain step, too"),
        ("tokens,batch,ms\n1,1,2\n5,1,3\n1,8,3\n9,8,4\n", "0.1", "no time at tokens 5, batch 8; measure it"),
        ("tokens,ms\n1,2\n5,3\n", "tokens,ms\n2,1\n", "draft.csv has passes of 2 tokens; a draft step is a pass of 1"),
        (
            "tokens,batch,ms\n1,1,2\n5,1,3\n1,8,3\n5,8,4\n",
            "tokens,ms\n1,1\n",
            "draft.csv does not say its batch, and passes.csv has batch 1, 8; add a column batch to draft.csv",
        ),
        (
            "tokens,ms\n1,2\n5,3\n",
            "tokens,batch,ms\n1,1,1\n1,8,1\n",
            "passes.csv does not say its batch, and draft.csv has batch 1, 8; add a column batch to passes.csv",
        ),
    ],
)
def test_passes_that_make_no_costs_are_refused(tmp_path: Path, target: str, draft: str, message: str) -> None:
    times = read(tmp_path, target)
    steps = read(tmp_path, draft, "draft.csv") if "ms" in draft else float(draft)
    with pytest.raises(ValueError, match=message):
        from_pass_times(times, steps)


def test_nothing_is_said_beyond_what_was_measured(tmp_path: Path) -> None:
    model = from_pass_times(read(tmp_path, "tokens,batch,ms\n1,2,10\n5,2,20\n"), 0.1)
    with pytest.raises(
        ValueError, match=r"tokens 6 was not measured: passes.csv has tokens 1, 5; measure passes there"
    ):
        model.target(6, 2, 0)
    with pytest.raises(ValueError, match="batch 3 was not measured"):
        model.target(1, 3, 0)
    with pytest.raises(
        ValueError, match=r"context is 512, and passes.csv does not say at which context it was measured"
    ):
        model.target(1, 2, 512)
    draft = read(tmp_path, "tokens,batch,ms\n1,1,1\n", "draft.csv")
    with pytest.raises(ValueError, match=r"batch 2 was not measured: draft.csv has batch 1"):
        from_pass_times(read(tmp_path, "tokens,batch,ms\n1,2,10\n5,2,20\n"), draft).draft(2, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has columns none"),
        ("tokens,s\n1,2\n", "has columns tokens, s; it needs tokens and ms"),
        ("batch,ms\n1,2\n", "has columns batch, ms"),
        ("tokens,ms,ms\n1,2,3\n", "has columns tokens, ms, ms"),
        ("tokens,ms,gpu\n1,2,3\n", "has columns tokens, ms, gpu"),
        ("tokens,ms\n", "has no rows"),
        ("tokens,ms\n1,2,3\n", "row 1 has 3 fields; the head has 2"),
        ("tokens,ms\n1.5,2\n", "row 1: tokens is '1.5', not a whole number"),
        ("tokens,ms\n0,2\n", "row 1: tokens must be at least 1, got 0"),
        ("tokens,batch,ms\n1,0,2\n", "row 1: batch must be at least 1, got 0"),
        ("tokens,ms\n1,fast\n", "row 1: ms is 'fast', not a number"),
        ("tokens,ms\n1,0\n", "row 1: ms"),
        ("tokens,ms\n1,nan\n", "row 1: ms"),
    ],
)
def test_a_file_that_is_not_understood_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text)
