"""CSpD: chains whose law is known, blocks of rows, and a verdict that each part can turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from helpers.records import with_numbers
from scipy import stats
from torch import Tensor

from real.papers.lab.contract import Lab, Record
from real.papers.models.images import rows
from real.papers.systems import cspd
from real.studies.intervals import Estimate


def labels(n: int) -> Tensor:
    return torch.arange(n) % 10


def test_chains_have_the_law_and_the_published_rule_has_not() -> None:
    found = cspd.analytic(60_000, 0).measured
    for name, one in found.items():
        if name.startswith("TV"):
            assert (one.value > one.high) == ("published" in name), name
        if name.startswith("proposals"):
            assert abs(one.value - 1) < 0.02


def test_acceptance_falls_with_the_dimension_as_the_closed_form_says() -> None:
    found = cspd.analytic(40_000, 1)
    forms = [found.exact[f"2 Phi(-gap / 2), d = {d}"] for d in (1, 4, 16)]
    assert forms == pytest.approx([2 * stats.norm.cdf(-0.42 * np.sqrt(d)) for d in (1, 4, 16)])
    for d, form in zip((1, 4, 16), forms, strict=True):
        one = found.measured[f"acceptance, d = {d}"]
        assert abs(one.value - form) < 2 * (one.high - one.low)


def test_the_floor_is_where_draws_of_the_law_are() -> None:
    rng = np.random.default_rng(5)
    sd = np.hypot(0.8, 0.5)
    own = cspd.distance(sd * rng.standard_normal(20_000))
    assert own.low < own.value < own.high
    wider = cspd.distance(1.1 * sd * rng.standard_normal(20_000))
    assert wider.value > wider.high


def test_the_published_factor_is_one_for_equal_variances_only() -> None:
    assert cspd.published_factor(cspd.DRAFTS["equal"], 3) == 1
    assert cspd.published_factor(cspd.DRAFTS["unequal"], 2) == pytest.approx(1.6**2)


@pytest.mark.parametrize("gamma", [1, 2, 3, 4])
def test_a_draft_that_is_the_target_is_never_refused(gamma: int) -> None:
    """Only if it takes the same noise, and is judged at the rows that it saw."""
    target = rows.model("rows_target")
    _, passes = cspd.speculated(target, target, labels(12), gamma, 0)
    assert (passes == -(-8 // (gamma + 1))).all()


def test_noise_of_its_own_is_seen_in_the_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    target, same = rows.model("rows_target"), rows.model("rows_target")
    mean = rows.last_mean
    monkeypatch.setattr(rows, "last_mean", lambda head, c, z: mean(head, c, -z if head is same else z))
    _, passes = cspd.speculated(target, same, labels(12), 1, 0)
    assert passes.mean() > 5


def test_a_row_is_judged_after_the_rows_drafted_before_it_and_by_a_coin_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where all drafts are kept the target saw the rows above as they are emitted."""
    target, same = rows.model("rows_target"), rows.model("rows_target")
    mean, real, seen, coins = rows.last_mean, cspd.emit, list[Tensor](), list[Any]()

    def watched(head: rows.Head, given: Tensor, noise: Tensor) -> Tensor:
        seen.extend([given] if head is target else [])
        return mean(head, given, noise)

    def emit(step: Any, x: Any, u: Any, rng: Any) -> Any:
        coins.append(u)
        return real(step, x, u, rng)

    monkeypatch.setattr(rows, "last_mean", watched)
    monkeypatch.setattr(cspd, "emit", emit)
    known = np.arange(5)
    made, after = cspd.block(target, same, torch.zeros(5, 8, 8), known, labels(5), 3, np.random.default_rng(0))
    assert after.tolist() == (known + 4).tolist()
    for j, given in enumerate(seen[0].reshape(4, 5, -1)):
        assert torch.equal(given, rows.context(made, torch.from_numpy(known + j), labels(5)))
    assert len(np.unique(np.stack(coins))) == 3 * 5


def emitted(gamma: int, n: int = 4_000) -> tuple[Tensor, Tensor]:
    """First rows of digit 3 from blocks, and from the target alone."""
    target, draft, threes = rows.model("rows_target"), rows.model("rows_draft"), torch.full((n,), 3)
    empty, known = torch.zeros(n, 8, 8), np.zeros(n, dtype=np.int64)
    made, after = cspd.block(target, draft, empty, known, threes, gamma, np.random.default_rng(gamma))
    assert after.min() >= 1
    assert after.max() == gamma + 1
    return made[:, 0], rows.ancestral(target, threes, 1)[:, 0]


def farthest(made: Tensor, alone: Tensor) -> float:
    return min(stats.ks_2samp(made[:, i].numpy(), alone[:, i].numpy()).pvalue for i in range(8))


@pytest.mark.parametrize("gamma", [0, 1])
def test_rows_of_a_block_have_the_targets_law(gamma: int) -> None:
    """A row that is kept or mirrored, and the one behind the drafts."""
    assert farthest(*emitted(gamma)) > 1e-3


def test_drafts_that_are_all_kept_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    real = cspd.emit

    def lenient(step: Any, x: Any, u: Any, rng: Any) -> Any:
        return real(step, x, 0 * u, rng)

    monkeypatch.setattr(cspd, "emit", lenient)
    assert farthest(*emitted(1)) < 1e-6


def test_nothing_is_kept_after_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the released code does: it replaces a refused row, and keeps those drafted after it."""
    target, draft = rows.model("rows_target"), rows.model("rows_draft")
    real = cspd.emit

    def refused(step: Any, x: Any, u: Any, rng: Any) -> Any:
        made = real(step, x, u, rng)
        return made._replace(kept=np.zeros_like(made.kept))

    monkeypatch.setattr(cspd, "emit", refused)
    _, after = cspd.block(
        target, draft, torch.zeros(5, 8, 8), np.array([0, 3, 5, 6, 7]), labels(5), 4, np.random.default_rng()
    )
    assert list(after) == [1, 4, 6, 7, 8]


def test_a_block_ends_with_its_image() -> None:
    target = rows.model("rows_target")
    known = np.array([5, 6, 7])
    images, after = cspd.block(
        target, target, torch.full((3, 8, 8), 9.0), known, labels(3), 4, np.random.default_rng(0)
    )
    assert list(after) == [8, 8, 8]
    for image, n in zip(images, known, strict=True):
        assert (image[:n] == 9).all(), "rows that are known stay"
        assert (image[n:] != 9).all(), "and the others are written"


def test_alignment_raises_acceptance() -> None:
    target, draft = rows.model("rows_target"), rows.model("rows_draft")
    aligned, own = (cspd.overlaps(target, draft, 40, 0, aligned=flag).mean() for flag in (True, False))
    assert aligned > 1.5 * own


INSIDE, OUTSIDE = Estimate(1.0, 0.0, 2.0), Estimate(3.0, 0.0, 2.0)
SHOWS = Record(
    {f"2 Phi(-gap / 2), d = {d}": 0.51 for d in (1, 4, 16)},
    {
        cspd.HEADLINE: Estimate(2.0, 1.9, 2.1),
        f"TV, equal variances, reflection {cspd.BESIDE}": INSIDE,
        f"TV, unequal variances, published rule {cspd.BESIDE}": OUTSIDE,
        f"energy distance, gamma 1 {cspd.BESIDE}": INSIDE,
        f"energy distance, the draft's own rows {cspd.BESIDE}": OUTSIDE,
        "proposals a token, equal variances, residual loop": Estimate(1.01, 1.0, 1.02),
        **{f"acceptance, d = {d}": Estimate(0.5, 0.49, 0.51) for d in (1, 4, 16)},
    },
    {},
)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (cspd.HEADLINE, Estimate(2.0, 1.9, 2.1), "shows"),
        (cspd.HEADLINE, Estimate(1.6, 1.4, 1.8), "does not show"),
        (cspd.HEADLINE, Estimate(0.9, 0.8, 0.99), "contradicts"),
        (f"TV, equal variances, reflection {cspd.BESIDE}", OUTSIDE, "does not show"),
        (f"TV, unequal variances, published rule {cspd.BESIDE}", INSIDE, "does not show"),
        (f"energy distance, gamma 1 {cspd.BESIDE}", OUTSIDE, "does not show"),
        (f"energy distance, the draft's own rows {cspd.BESIDE}", INSIDE, "does not show"),
        ("proposals a token, equal variances, residual loop", Estimate(1.03, 1.0, 1.06), "does not show"),
        ("2 Phi(-gap / 2), d = 4", 0.52, "does not show"),
    ],
)
def test_every_part_turns_the_verdict(name: str, value: Estimate | float, said: str) -> None:
    assert cspd.verdict(with_numbers(SHOWS, **{name: value})) == said


@pytest.mark.slow
def test_a_part_of_the_record_runs() -> None:
    record = cspd.run(Lab(share=0.1))
    assert cspd.verdict(record) in ("shows", "does not show")
    assert record.exact["speedup of the paper's numbers, blocks end at a refusal"] == pytest.approx(0.094, abs=1e-3)
    assert record.exact["speedup of the paper's numbers, nothing is dropped"] == pytest.approx(2.43, abs=5e-3)
    assert all(one.high < 1 for one in record.predicted.values())
