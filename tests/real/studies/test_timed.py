"""Tau on many prompts in one batch, times on few alone: `compare --timed`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import real
import real.cli
from real import TINY
from real.options import read_prompts
from real.studies import intervals
from real.studies.compare import measure
from real.studies.compare.record import Run
from real.studies.compare.rows import Side

PROMPTS = read_prompts(TINY / "prompts.json")[:4]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the second that a copy of memory takes."""
    monkeypatch.setattr(measure, "copy_bandwidth", lambda device: 1e10)


def compared(**options: Any) -> dict[str, Any]:
    import torch

    pair = real.load(TINY / "target", TINY / "draft", dtype=torch.float64)
    return real.compare(pair, PROMPTS, gammas=[1, 3], max_tokens=12, **options).record


def test_counts_are_those_of_the_prompts_decoded_alone(quick: None) -> None:
    """Predicted and measured tau, calls and kept drafts to the last digit; tokens a second are of one prompt alone."""
    alone, apart = compared(), compared(timed=1)
    assert apart["provenance"]["timed_prompts"] == 1
    assert "timed_prompts" not in alone["provenance"]
    assert apart["acceptance"]["texts"] == 4
    for one, two in zip(alone["pairs"], apart["pairs"], strict=True):
        for name in ("predicted", "measured", "interval", "difference_interval"):
            assert two["tau"][name] == pytest.approx(one["tau"][name], rel=1e-9), name
        assert two["target_calls"] == pytest.approx(one["target_calls"], rel=1e-9)
        kept, alone_kept = (row["blocks_keeping_at_least"] for row in (two, one))
        assert kept["measured"] == alone_kept["measured"]
        assert kept["predicted"] == pytest.approx(alone_kept["predicted"], rel=1e-9)
    assert apart["costs"].keys() == alone["costs"].keys()


def test_the_speedup_is_tau_of_all_times_the_times_of_the_first(quick: None) -> None:
    for row in compared(timed=2)["pairs"]:
        speedup, price = row["speedup"], row["cycle_s"]["plain_measured"] / row["cycle_s"]["measured"]
        low, high = speedup["interval"]
        assert low < speedup["measured"] < high
        # The geometric mean over two prompts, and the ratio of two medians of two.
        assert speedup["measured"] == pytest.approx(row["tau"]["measured"] * price, rel=0.5)
        both = (1 + speedup["error_tau"]) * (1 + speedup["error_time"])
        assert both == pytest.approx(speedup["predicted"] / speedup["measured"], rel=1e-9)
    assert all(row["speedup"]["interval"] is None for row in compared(timed=1)["pairs"]), "one prompt has no spread"


def test_as_many_as_there_are_is_all(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is decoded in a batch besides."""
    monkeypatch.setattr(measure, "count_in_batch", lambda *arguments: pytest.fail("a batch was counted"))
    assert len(compared(timed=9)["pairs"]) == 2


def test_batches_have_a_limit(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompts that do not fit into one are decoded in several, and count the same."""
    together = compared(timed=1)
    monkeypatch.setattr(measure, "_TOGETHER", 3)
    apart = compared(timed=1)
    for one, two in zip(together["pairs"], apart["pairs"], strict=True):
        assert two["target_calls"] == pytest.approx(one["target_calls"], rel=1e-9)


def test_a_speedup_is_tau_of_many_times_the_times_of_few() -> None:
    found = intervals.speedup_apart(np.array([6.0, 4.0]), np.array([2.0, 3.0]), np.array([1.0, 4.0]), np.ones(2))
    assert found.value == pytest.approx(10 / 5 * 2)


def test_a_stopped_run_keeps_the_prompts_that_were_timed(
    tmp_path: Path, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "compare.json"
    words = ["compare", "tiny", "--count", "4", "--timed", "2", "--max-tokens", "6", "--gamma", "1", "--widen", "0"]
    honest = measure.take_turns

    def stopped(*arguments: Any) -> Any:
        turns = honest(*arguments)
        yield next(turns)
        raise KeyboardInterrupt

    monkeypatch.setattr(measure, "take_turns", stopped)
    ended = CliRunner().invoke(real.cli.app, [*words, "--out", str(out)])
    assert ended.exit_code == 130
    record = json.loads(out.read_text())
    assert (record["complete"], len(record["turns"])) == (False, 1)
    begun: list[int] = []

    def watched(*arguments: Any) -> Any:
        begun.append(arguments[3])
        return honest(*arguments)

    monkeypatch.setattr(measure, "take_turns", watched)
    assert CliRunner().invoke(real.cli.app, [*words, "--out", str(out)]).exit_code == 0
    assert json.loads(out.read_text())["complete"] is True
    assert begun == [1], "the first prompt is not timed again"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--timed 0", "timed must be at least 1"),
        ("--timed 2 --rule tokenwise,block", "timed=2 is for one rule, and 2 are compared"),
        ("--timed 2 --tree 2,1", "timed=2 is for chains: with --tree every prompt is timed"),
    ],
)
def test_what_it_does_not_go_with_is_one_line(words: str, reason: str, tmp_path: Path) -> None:
    ended = CliRunner().invoke(real.cli.app, ["compare", "tiny", *words.split(), "--out", str(tmp_path / "out.json")])
    assert ended.exit_code == 2
    assert ended.stderr.strip().splitlines()[-1].startswith(f"error: {reason}")


def test_intervals_of_speedups_hold() -> None:
    """95 % intervals contain the truth in 93 to 97 of 100 runs: 32 prompts for tau, 4 for times."""
    rng, held, runs = np.random.default_rng(0), 0, 4000
    for _ in range(runs):
        blocks = rng.poisson(20, 32) + 5.0
        tokens = rng.gamma(shape=9, scale=1.8 / 9, size=32) * blocks
        plain, cycle = np.exp(0.05 * rng.standard_normal((2, 4))) * [[1.0], [1.4]]
        found = intervals.speedup_apart(tokens, blocks, plain, cycle)
        held += found.low <= 1.8 / 1.4 <= found.high
    assert 0.93 <= held / runs <= 0.97


def test_no_spread_is_an_interval_of_one_point() -> None:
    found = intervals.speedup_apart(np.full(5, 4.0), np.full(5, 2.0), np.ones(3), np.full(3, 1.6))
    assert found == pytest.approx((1.25, 1.25, 1.25))


def test_times_are_those_of_prompts_alone() -> None:
    """The batch's seconds say nothing of one prompt."""
    side = Side([], [Run(4, [1, 1], [1, 1], [9.0, 9.0], 18.0)], [Run(2, [1], [1], [1.5], 1.5)], None)  # type: ignore[arg-type]
    assert side.cycles.tolist() == [1.5]
    assert (side.tokens.tolist(), side.blocks.tolist()) == ([4], [2])
