"""Speculative Jacobi decoding and Lumina's sampler on digits: a small part of each, and verdicts that can fail."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from real.papers.lab import jacobi as on
from real.papers.lab.contract import AXES, Lab, Record
from real.papers.models.images import raster
from real.papers.models.images.data import LEVELS, PIXELS, SIDE
from real.papers.systems import lumina_mgpt2, sjd
from real.studies.intervals import Estimate
from specsim.types import Array
from specsim.verify.lossy import lumina


@pytest.mark.parametrize("system", [sjd, lumina_mgpt2])
def test_a_system_says_what_it_is(system: Any) -> None:
    assert tuple(system.AXES) == AXES
    assert system.PAPER.startswith("arXiv:")
    assert all(mark in system.TEST for mark in ("interval", "0.5"))


def test_biases_on_a_table() -> None:
    """Sums over everything that can happen: what keeps the law keeps it exactly, and the errors are told."""
    found = sjd._tables()
    bias, passes = "bias on a table of 3 positions, ", "passes a token on that table, "
    for name in ("tokenwise", "block", "old laws kept"):
        assert found[bias + name] == 0
    assert f"{found[bias + 'old tokens under the newest law']:.3f}" == "0.138"
    assert f"{found[passes + 'tokenwise']:.3f}" == f"{found[passes + 'block']:.3f}" == "0.740"
    assert f"{found[passes + 'old tokens under the newest law']:.3f}" == "0.632"
    shipped = lumina_mgpt2._tables()
    assert shipped[bias + "lossless"] == 0 < shipped[bias + "as shipped"]
    assert shipped["bias of one token, p = (1/4, 3/4), q = (3/4, 1/4)"] == 1 / 8


def test_images_are_those_of_their_digits_and_number() -> None:
    """An image depends on its digit and its place in the run, not on the images beside it."""
    which = torch.tensor([3, 8, 1])
    few, fewer = (on.images("jacobi", digits, seed=4, window=8) for digits in (which, which[:2]))
    assert few.texts[:, 0].tolist() == raster.opening(which)[:, 0].tolist()
    assert few.texts[:2].tolist() == fewer.texts.tolist()
    assert few.texts.shape == (3, 1 + PIXELS)
    assert bool((few.texts[:, 1:] < LEVELS).all())
    assert bool((few.passes < PIXELS).all())
    assert on.ancestral(which[:1], seed=0).passes.tolist() == [PIXELS]


def test_a_batch_is_split_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    which = on.labels(5, 0)
    whole = on.images("jacobi", which, seed=1, pixels=6, window=4)
    monkeypatch.setattr(on, "TOGETHER", 2)
    parts = on.images("jacobi", which, seed=1, pixels=6, window=4)
    assert parts.texts.tolist() == whole.texts.tolist()
    assert parts.passes.tolist() == whole.passes.tolist()


def test_up_is_the_pixel_above() -> None:
    """And beside it where a row is one pixel wide."""
    told: dict[str, Any] = {"seed": 0, "window": 16}
    left, above, narrow = (
        on.images("jacobi", on.labels(3, 0), first=first, width=width, **told).texts.tolist()
        for first, width in (("left", 1), ("up", SIDE), ("up", 1))
    )
    assert narrow == left != above


def test_the_law_of_the_first_pixels_is_the_models() -> None:
    law = on.first_law()
    assert law.sum() == pytest.approx(1)
    digits = torch.arange(10)
    triple = torch.tensor([0, 0, 5])
    texts = torch.cat([raster.opening(digits), triple.expand(10, 3)], 1)
    one_by_one = torch.exp(-3 * raster.energy(on._whole(), texts)).mean()
    assert law[0, 0, 5] == pytest.approx(float(one_by_one), rel=1e-4)


def sampled(law: Array, number: int, seed: int) -> torch.Tensor:
    """Texts whose pixels after the class have a law of three."""
    cells = np.random.default_rng(seed).choice(law.size, size=number, p=law.ravel())
    pixels = np.stack(np.unravel_index(cells, law.shape), 1)
    return torch.from_numpy(np.concatenate([np.zeros((number, 1), dtype=np.int64), pixels], 1))


def test_what_the_chi_square_test_finds() -> None:
    """Samples of the law pass; of one as far from it as is said to be found, nearly all are found."""
    rng, number = np.random.default_rng(0), 4000
    law = rng.dirichlet(np.ones(60)).reshape(3, 4, 5)
    law = (law + 0.01) / (law + 0.01).sum()
    found = on.goodness(sampled(law, number, 0), law).detectable
    assert 0.01 < found < 0.2
    tilt = np.where(rng.random(law.shape) < 0.5, 1, -1) * law
    tilt = tilt / np.abs(tilt).sum()
    tilt -= tilt.sum() * law  # a bias that is as even as any, thus as hard to see
    biased = law + 2 * found * tilt / np.abs(tilt).sum()
    assert biased.min() > 0
    passed, missed = 0, 0
    for seed in range(40):
        fair, other = (on.goodness(sampled(w, number, seed), law).statistic for w in (law, biased))
        passed, missed = passed + (fair.value <= fair.high), missed + (other.value <= other.high)
    assert passed >= 38
    assert missed <= 6


def test_the_bias_along_a_run_is_that_of_the_judged_drafts() -> None:
    """Of drafts that all before them were kept, and of no others: against the same sum by hand."""
    seen: list[tuple[Array, Array]] = []
    process, texts = lumina_mgpt2.watched(seen), on.labels(4, 0)
    sums, tests, states = np.zeros(4), np.zeros(4), []
    honest = process.advance

    def advance(state: Any, rows: Any, rule: Any, u: Any) -> Any:
        after = honest(state, rows, rule, u)
        states.append((state, rows, after))
        return after

    process.advance = advance  # type: ignore[attr-defined]
    made = on.images(process, texts, seed=0, rule="lumina", lossy="lumina", window=4, pixels=12)
    for state, rows, after in states[1:]:
        for i in range(4):
            filled = int(after.filled[i] - state.filled[i])
            for j in range(min(filled, 12 - 1 - int(state.filled[i]), 4) if filled else 0):
                sums[i] += float(lumina.bias(rows[i, j].numpy(), state.laws[i, j].numpy()))
                tests[i] += 1
    assert np.allclose(seen[0][0], sums)
    assert seen[0][1].tolist() == tests.tolist()
    assert made.passes.sum() < tests.sum()


def test_rare_cells_are_counted_together() -> None:
    """A hundred cells of one expected text each are one of a hundred: 130 of 1,000 are too many, 100 are not."""
    law = np.full((1, 1, 101), 1e-3)
    law[..., 0] = 0.9
    for rare, found in ((100, False), (130, True)):
        texts = torch.zeros(1000, 4, dtype=torch.int64)
        texts[:rare, 3] = 1 + torch.arange(rare) % 100
        statistic = on.goodness(texts, law).statistic
        assert (statistic.value > statistic.high) == found


def test_passes_saved_and_lost_are_those_of_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of runs that take 64 passes over their window, and twice as many with old laws."""

    def images(process: Any, which: torch.Tensor, *, window: int = 1, carry: str = "pass", **told: Any) -> on.Images:
        passes = np.full(len(which), PIXELS // window * (2 if carry == "old" else 1))
        return on.Images(torch.zeros(len(which), 1 + PIXELS), passes, 0.0, 0.0)

    monkeypatch.setattr(on, "images", images)
    monkeypatch.setattr(on, "energies", lambda made: made.passes / PIXELS)
    measured: dict[str, Estimate] = {}
    sjd._variants(Lab(share=0.0), measured, sjd._passes(Lab(share=0.0), measured))
    assert measured[sjd.SAVED].value == 0.5
    assert measured["passes a pixel, W = 8, up"].value == 1 / 8
    assert measured["passes a pixel, W = 16, left, old laws kept"].value == 2 / 16
    assert measured["passes with old laws kept over passes drawn anew"].value == 2
    assert measured[sjd.OF_RELABELLED].value == 1 / 16 - 1


SHOWN = {
    sjd.PASSES: (0.29, 0.28, 0.30),
    sjd.SAVED: (0.02, 0.01, 0.03),
    sjd.ENERGY: (0.0, -0.02, 0.02),
    sjd.OF_RELABELLED: (0.5, 0.4, 0.6),
    sjd.CHI: (50, 30, 80),
}


@pytest.mark.parametrize(
    ("name", "found", "verdict"),
    [
        (sjd.PASSES, (0.29, 0.28, 0.30), "shows"),
        (sjd.PASSES, (0.49, 0.48, 0.51), "does not show"),
        (sjd.PASSES, (0.6, 0.55, 0.65), "contradicts"),
        (sjd.SAVED, (0.08, 0.05, 0.11), "does not show"),
        (sjd.ENERGY, (0.04, 0.02, 0.06), "does not show"),
        (sjd.ENERGY, (-0.04, -0.06, -0.02), "does not show"),
        (sjd.ENERGY, (0.08, 0.06, 0.10), "contradicts"),
        (sjd.ENERGY, (-0.08, -0.10, -0.06), "contradicts"),
        (sjd.OF_RELABELLED, (0.1, 0.04, 0.2), "does not show"),
        (sjd.CHI, (81, 30, 80), "does not show"),
    ],
)
def test_verdict_of_sjd(name: str, found: tuple[float, float, float], verdict: str) -> None:
    measured = {key: Estimate(*value) for key, value in (SHOWN | {name: found}).items()}
    assert sjd.verdict(Record({}, measured, {})) == verdict


@pytest.mark.parametrize(
    ("bias", "passes", "verdict"),
    [
        ((0.001, 0.0, 0.002), (0.3, 0.29, 0.31), "shows"),
        ((0.05, 0.04, 0.06), (0.3, 0.29, 0.31), "contradicts"),
        ((0.01, 0.005, 0.02), (0.3, 0.29, 0.31), "does not show"),
        ((0.001, 0.0, 0.002), (0.5, 0.49, 0.51), "does not show"),
        ((0.001, 0.0, 0.002), (0.6, 0.55, 0.65), "contradicts"),
    ],
)
def test_verdict_of_lumina(bias: tuple[float, ...], passes: tuple[float, ...], verdict: str) -> None:
    measured = {lumina_mgpt2.BIAS: Estimate(*bias), lumina_mgpt2.PASSES: Estimate(*passes)}
    assert lumina_mgpt2.verdict(Record({}, measured, {})) == verdict


def test_faster_is_time_over_time_without_the_first_image(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ancestral image takes ten times as long; everything counted is not what the model takes."""

    def made(digit: Any, seed: int, seconds: float, first: float) -> on.Images:
        taken = first if seed == 0 else seconds
        return on.Images(digit, np.ones(1), taken, taken**2)

    monkeypatch.setattr(on, "ancestral", partial(made, seconds=6.0, first=60.0))
    ratios = on.faster(Lab(share=0.1), partial(made, seconds=2.0, first=2.0))
    assert [ratio.value for ratio in ratios.values()] == pytest.approx([3, 9])


def test_both_ways_make_the_same_digits_with_numbers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: dict[str, list[tuple[int, int]]] = {"plain": [], "fewer": []}

    def made(digit: Any, seed: int, name: str) -> on.Images:
        calls[name].append((int(digit), seed))
        return on.Images(digit, np.ones(1), 1.0, 1.0)

    monkeypatch.setattr(on, "ancestral", partial(made, name="plain"))
    on.faster(Lab(), partial(made, name="fewer"))
    assert calls["plain"] == calls["fewer"]
    assert [digit for digit, _ in calls["plain"][1:]] == on.labels(24, 3).tolist()
    assert len({seed for _, seed in calls["plain"]}) == 25
