"""Heads over rows: what they see, the schedule that their steps follow, and the weights that are shipped."""

from __future__ import annotations

import pytest
import torch

from real.papers.models.images import rows
from real.papers.models.images.data import digits


class Knows:
    """A head that guesses the row itself: its chain has the law of a known Gaussian."""

    def __init__(self, row: torch.Tensor) -> None:
        self.row = row

    def __call__(self, noisy: torch.Tensor, given: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        return self.row.expand_as(noisy)


def test_sizes_are_those_said() -> None:
    sizes = {name: sum(p.numel() for p in rows._untrained(name).parameters()) for name in rows.RECIPES}
    assert sizes == {"rows_target": 40_584, "rows_draft": 5_192}


def test_a_row_is_made_from_the_two_above_it_and_from_nothing_below() -> None:
    images = rows.scaled(digits().images[:8])
    places, labels = torch.arange(8), digits().labels[:8]
    given = rows.context(images, places, labels)
    assert given.shape == (8, 34)
    for place in range(8):
        changed = images.clone()
        changed[:, place:] = 9.0
        assert torch.equal(rows.context(changed, places, labels)[place], given[place])
    assert torch.equal(given[5, :8], images[5, 4])
    assert torch.equal(given[5, 8:16], images[5, 3])
    assert not given[0, :16].any()
    assert torch.equal(given[1, 8:16], torch.zeros(8))


def test_steps_keep_the_law_of_a_noisy_row() -> None:
    """Where the guess is the row, a step takes sqrt(signal) of it to that of the step after, and ends at the row."""
    row = torch.linspace(-1, 1, 8)
    for step in range(1, rows.STEPS):
        signal, after = rows._SIGNAL[step], rows._SIGNAL[step - 1]
        mean = rows._mean(Knows(row), signal.sqrt() * row[None], torch.zeros(1, 34), step)  # type: ignore[arg-type]
        assert torch.allclose(mean, after.sqrt() * row, atol=1e-6)
        slope = (1 - rows._VARIANCE[step]).sqrt() * (1 - after) / (1 - signal)
        assert slope**2 * (1 - signal) <= 1 - after
    noise = torch.randn(4, rows.STEPS, 8, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(rows.last_mean(Knows(row), torch.zeros(4, 34), noise), row.expand(4, 8))  # type: ignore[arg-type]


def test_last_deviation_is_the_one_stated() -> None:
    assert float(rows._VARIANCE[0].sqrt()) == pytest.approx(rows.LAST_SD)
    assert float(rows._SIGNAL[-1]) < 0.03, "the first step starts from noise"


def test_every_step_takes_its_own_noise() -> None:
    head = rows._untrained("rows_draft")
    noise = torch.randn(1, rows.STEPS, 8, generator=torch.Generator().manual_seed(0))
    given = torch.zeros(1, 34)
    plain = rows.last_mean(head, given, noise)
    for step in range(rows.STEPS):
        other = noise.clone()
        other[:, step] += 1
        assert not torch.equal(rows.last_mean(head, given, other), plain)


@pytest.mark.parametrize(("name", "most"), [("rows_target", 0.135), ("rows_draft", 0.165)])
def test_shipped_weights_are_trained(name: str, most: float) -> None:
    assert rows.held_out(name, rows.model(name)) < most


def test_a_few_steps_train(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rows.RECIPES, "rows_draft", rows.RECIPES["rows_draft"] | {"steps": 40})
    before = rows.held_out("rows_draft", rows._untrained("rows_draft"))
    assert rows.held_out("rows_draft", rows.train("rows_draft")) < 0.9 * before


def test_an_unknown_head_is_said() -> None:
    with pytest.raises(ValueError, match="'rows' is no head of rows; known: rows_target, rows_draft"):
        rows.model("rows")
