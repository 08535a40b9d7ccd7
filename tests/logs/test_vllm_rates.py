"""Rates of vLLM are printed with three digits: counts by position sum to what was accepted, or are not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from specsim.logs.read import read_log
from specsim.logs.record import EngineLog

LINE = "SpecDecoding metrics: Mean acceptance length: {}, Accepted: {} tokens, Drafted: 10000 tokens, "
LINE += "Per-position acceptance rate: {}"


def read(folder: Path, text: str) -> EngineLog:
    (folder / "on.log").write_text(text, encoding="utf-8")
    (run,) = read_log(folder / "on.log")
    return run


@pytest.mark.parametrize(
    ("mean", "accepted", "rates", "kept"),
    [
        (2.50, 7503, "0.900, 0.600", (4503, 3000)),
        (2.50, 7497, "0.900, 0.600", (4500, 2997)),
        (2.20, 5998, "0.600, 0.600", (3000, 2998)),
        (1.90, 4498, "0.900, 0.000", (4498, 0)),
    ],
)
def test_vllm_counts_are_mended_where_rounding_says_less(
    mean: float, accepted: int, rates: str, kept: tuple[int, int], tmp_path: Path
) -> None:
    """Of 5000 blocks a rate of three digits tells five: the sum is what was printed."""
    run = read(tmp_path, LINE.format(mean, accepted, rates))
    assert (run.blocks, run.accepted, run.kept) == (5000, accepted, kept)


def test_vllm_rates_that_increase_are_refused_and_not_mended(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="4500 blocks kept draft 2, more than the 3000 that came so far"):
        read(tmp_path, LINE.format(2.50, 7497, "0.600, 0.900"))


def test_vllm_rates_that_contradict_the_accepted_tokens_are_not_counted(tmp_path: Path) -> None:
    """The mean agrees with both counts, and the rates are of other blocks."""
    run = read(tmp_path, LINE.format(2.50, 7500, "0.900, 0.500"))
    assert (run.blocks, run.kept) == (None, ())
