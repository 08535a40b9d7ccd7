"""Calibration of confidences: the parts of the score add up, and a head that is right is found to be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from specsim import confidence_calibration, read_confidences


def blocks(rng: np.random.Generator, count: int, power: float) -> tuple[list[list[float]], list[int]]:
    """Blocks whose drafts are kept with probability c ** power, c the confidence."""
    rows, accepted = [], []
    for _ in range(count):
        row = rng.uniform(0.2, 1, int(rng.integers(1, 6)))
        fails = np.flatnonzero(rng.random(len(row)) >= row**power)
        rows.append(row.tolist())
        accepted.append(int(fails[0]) if len(fails) else len(row))
    return rows, accepted


@pytest.mark.parametrize("bins", [1, 7, 10])
def test_the_parts_of_the_score_add_up(bins: int) -> None:
    found = confidence_calibration(*blocks(np.random.default_rng(0), 300, 2), bins=bins)
    for part in found:
        total = part.reliability - part.resolution + part.uncertainty + part.within
        assert part.brier == pytest.approx(total, abs=1e-12)
        assert sum(one.tested for one in part.bins) == part.tested
        assert part.reliability <= part.error**0.5


def test_only_tested_drafts_count_and_all_verified_products() -> None:
    """Of 3 drafts of which 1 is accepted the third is not tested; its product is, and it did not survive."""
    found = confidence_calibration([[0.9, 0.5, 0.2], [0.9]], [1, 1])
    assert found.drafts.tested == 3
    assert found.survival.tested == 4
    assert found.drafts.brier == pytest.approx((0.01 + 0.25 + 0.01) / 3)
    assert found.survival.brier == pytest.approx((0.01 + 0.45**2 + 0.09**2 + 0.01) / 4)


def test_a_head_that_is_right_is_reliable_and_one_that_boasts_is_not() -> None:
    right, boasts = (confidence_calibration(*blocks(np.random.default_rng(1), 6000, power)) for power in (1, 3))
    assert right.drafts.reliability < 5e-4 > right.survival.reliability
    assert boasts.drafts.reliability > 0.02
    assert boasts.survival.reliability > 0.02
    assert right.drafts.error < 0.02 < boasts.drafts.error


def test_the_ends_belong_to_bins() -> None:
    found = confidence_calibration([[0.0], [1.0]], [0, 1], bins=2).drafts
    assert [(one.low, one.high, one.tested, one.kept) for one in found.bins] == [(0, 0.5, 1, 0), (0.5, 1, 1, 1)]
    assert (found.brier, found.resolution, found.uncertainty) == (0, 0.25, 0.25)


def test_a_file_of_blocks(tmp_path: Path) -> None:
    path = tmp_path / "blocks.jsonl"
    path.write_text('{"confidences": [0.9, 0.6], "accepted": 1}\n\n{"confidences": [], "accepted": 0}\n')
    log = read_confidences(path)
    assert (log.confidences, log.accepted) == (((0.9, 0.6), ()), (1, 0))
    assert confidence_calibration(*log).drafts.tested == 2


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[1]", "line 1 is no block"),
        ('{"confidences": [0.9]}', "line 1 is no block"),
        ('{"confidences": 0.9, "accepted": 0}', "confidences is 0.9, not a list"),
        ('{"confidences": [1.5], "accepted": 0}', r"confidences\[0\] is 1.5"),
        ('{"confidences": [0.5], "accepted": 2}', "accepted is 2 of 1 drafts"),
        ('{"confidences": [0.5], "accepted": 0, "kept": 1}', "kept"),
        ("", "has no blocks"),
    ],
)
def test_bad_lines_are_named(line: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "blocks.jsonl"
    path.write_text(line)
    with pytest.raises(ValueError, match=words):
        read_confidences(path)


def test_bad_arguments_are_named() -> None:
    for confidences, accepted, words in (
        ([[0.5]], [2], r"accepted\[0\] is 2 of 1 drafts"),
        ([[0.5]], [], "give both for each block"),
        ([[]], [0], "a calibration needs outcomes"),
    ):
        with pytest.raises(ValueError, match=words):
            confidence_calibration(confidences, accepted)


def test_errors_of_bins_do_not_cancel() -> None:
    found = confidence_calibration([[0.25], [0.25], [0.75], [0.75]], [1, 0, 1, 0], bins=2).drafts
    assert (found.error, found.reliability) == (0.25, 0.0625)
