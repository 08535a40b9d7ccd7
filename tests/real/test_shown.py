"""What a session shows of texts, scores and comparisons: one line that holds the answer."""

from __future__ import annotations

import math

import numpy as np
import pytest

from real.decode.blocks import DrafterScore, Score
from real.decode.loop import Block
from real.studies.compare.answer import closing
from real.writing import Generation


def test_a_text_is_shown_with_its_tokens_per_call() -> None:
    blocks = [Block(start=5, drafted=3, accepted=3), Block(start=9, drafted=3, accepted=1)]
    run = Generation("a b", list(range(40)), blocks, 0.5)
    assert repr(run) == "Generation(text='a b', tokens_per_call=20, seconds=0.5)"
    assert math.isnan(Generation("", [], [], 0.0).tokens_per_call)


def test_a_score_is_shown_by_its_mean() -> None:
    half = np.full(100, 0.5)
    assert repr(Score(half, half, half / 2)) == "Score(positions=100, mean_acceptance=0.25)"
    assert repr(DrafterScore(np.full((100, 3), 0.5), half)) == "DrafterScore(positions=100)"


@pytest.mark.parametrize(
    ("timed_prompts", "words"),
    [
        (None, "measured by decoding, in turn"),
        (6, "measured by decoding, in turn"),
        (2, "measured by decoding, tau on 6 prompts in one batch, times on 2 of them alone, in turn"),
    ],
)
def test_a_table_says_on_how_many_prompts_times_rest(timed_prompts: int | None, words: str) -> None:
    provenance = {"prompts": 6, "calibrated": [1]}
    if timed_prompts is not None:
        provenance["timed_prompts"] = timed_prompts
    assert words in closing({"pairs": [{"gamma": 1}], "provenance": provenance})
