"""Edges of what logs say: ends of rounding, shares of steps, and intervals of a few lines."""

from __future__ import annotations

from specsim.logs.llamacpp import _blocks
from specsim.logs.record import steady_groups
from specsim.logs.vllm import STEP, _coverage_of
from specsim.logs.vllm_lines import _intervals, read_lines

LINE = "INFO 01-01 00:{:02}:{:02} x: Avg generation throughput: 100.0 tokens/s, Running: {} reqs\n"


def test_rates_by_position_decide_what_a_mean_leaves_open() -> None:
    """A mean of 2.00 allows 299 to 301 blocks for 300 accepted drafts, and rates of three digits one of them."""
    assert _blocks(300, 2.0, []) is None
    assert _blocks(300, 2.0, [0.6, 0.4]) == 300


def test_no_more_than_all_steps_have_a_draft() -> None:
    assert _coverage_of({f"{STEP[0]}_count": 90.0}, {"blocks": 100}) == 1.0
    assert _coverage_of({f"{STEP[0]}_count": 200.0}, {"blocks": 100}) == 0.5
    assert _coverage_of({f"{STEP[0]}_count": 60.0}, {"blocks": 100}) is None


def test_batches_that_last_for_one_interval_of_few_are_kept() -> None:
    assert steady_groups([1, 8]) == ([[0], [1]], ())


def test_two_batches_are_two_runs() -> None:
    text = "".join(LINE.format(0, i, size) for i, size in enumerate([1, 1, 1, 8, 8, 8]))
    assert [run.batch for run in read_lines(text, "on.log", True)] == [1, 8]
    assert len(read_lines(text, "on.log", False)) == 1


def test_an_interval_half_as_long_again_is_as_long_as_it_says() -> None:
    text = "".join(LINE.format(second // 60, second % 60, 1) for second in (0, 10, 20, 30, 45, 65))
    assert [one.seconds for one in _intervals(text, "on.log")] == [None, 10, 10, 10, 15, 10]
