"""Drafts that are tuned: each objective on its own tokens, each source its own texts, and tests that can fail."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy import stats

from real.papers.lab import tuned, writing
from real.papers.lab import tuning as on
from real.papers.lab.contract import Lab
from real.papers.lab.texts import texts
from real.papers.lab.tuned import judging
from real.papers.lab.tuning import Plan
from real.studies.intervals import Estimate
from real.train.recipe import Shape
from real.train.step import build

PLAN = Plan(steps=2, batch=2, window=32, rate=1e-3)
ABOVE, BELOW, ACROSS = Estimate(0.1, 0.05, 0.2), Estimate(-0.1, -0.2, -0.05), Estimate(0.1, -0.05, 0.2)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(writing, "cache", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def small() -> Any:
    return build(Shape(1, 32, 64, 2), 2048, 64, 0)


def batch(draft: Any, step: int) -> torch.Tensor:
    """The same texts at every step."""
    return on.joined(texts(1.0).of("calibration", 2))[:, :32]


def test_tuning_by_a_divergence_lowers_it(small: Any) -> None:
    before = copy.deepcopy(small.state_dict())
    made = on.tune(small, ("fkl", "cross_entropy"), batch, PLAN._replace(steps=6, rate=5e-3), 0)
    ids = batch(small, 0)
    with torch.no_grad():
        p = on.logits(on.model("target"), ids).softmax(-1)
        lost = {
            name: F.kl_div(on.logits(draft.eval(), ids).log_softmax(-1), p, reduction="batchmean").item()
            for name, draft in {"start": small, **made}.items()
        }
    assert lost["fkl"] < lost["start"] - 0.05
    assert lost["fkl"] != lost["cross_entropy"], "each objective has a draft of its own"
    assert all(torch.equal(before[name], weight) for name, weight in small.state_dict().items())


@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
def test_cross_entropy_learns_the_texts_tokens(small: Any, kind: on.Optimizer) -> None:
    """One step is that of the framework's own loss; AdamW's first goes by the gradient's signs."""
    plan = PLAN._replace(steps=1, rate=0.1, optimizer=kind)
    made = on.tune(small, ("cross_entropy",), batch, plan, 0)["cross_entropy"]
    ours, ids = copy.deepcopy(small).train(), batch(small, 0)
    F.cross_entropy(on.logits(ours, ids), ids[:, 1:].flatten()).backward()
    torch.nn.utils.clip_grad_norm_(ours.parameters(), 1.0)
    rate = 0.1 / (on.WARMUP + 1)
    for (name, weight), (_, moved) in zip(ours.named_parameters(), made.named_parameters(), strict=True):
        assert weight.grad is not None
        step = weight.grad if kind == "SGD" else weight.grad / (weight.grad.abs() + 1e-8)
        near = torch.isclose(weight - rate * step, moved, atol=1e-6)
        assert bool(near[weight.grad.abs() > 1e-5].all() if kind == "AdamW" else near.all()), name


def test_texts_to_judge_on_have_prompts_of_one_length() -> None:
    """Four of the 128 test prompts are shorter; a batch of all has no length."""
    with pytest.raises(ValueError, match="different lengths"):
        on.joined(texts(1.0).of("test"))
    told = judging(Lab(), "test", 128)
    assert on.joined(told).shape == (124, 32 + 256)
    assert set(told.part) == {"test"}
    assert len(judging(Lab(), "test", 64).prompts) == 64
    assert judging(Lab(share=0.01), "validation", 64).tokens.shape == (2, 32)


def test_sources_are_their_own_texts(small: Any) -> None:
    told, ids = texts(1.0).of("calibration", 3), torch.arange(400)
    rows = [row.tolist() for row in on.joined(told)]

    def within(window: list[int]) -> bool:
        return any(row[i : i + 32] == window for row in rows for i in range(len(row) - 31))

    by = {name: on.batches_of(name, told, ids, PLAN, 5) for name in ("corpus", "target", "draft", "mixed")}
    found = {name: [make(small, step).tolist() for step in (0, 1)] for name, make in by.items()}
    assert all(row == list(range(row[0], row[0] + 32)) for row in found["corpus"][0] + found["corpus"][1])
    assert all(within(row) for row in found["target"][0] + found["target"][1])
    openings = [row[: on.OPENING] for row in rows]
    assert all(row[: on.OPENING] in openings and not within(row) for row in found["draft"][0] + found["draft"][1])
    assert [within(row) for row in found["mixed"][0]] == [False, True]
    assert all(first != second for first, second in found.values()), "every step has a batch of its own"
    assert by["draft"](small, on.FRESH).tolist() != found["draft"][0]
    assert {len(rows) for both in found.values() for rows in both} == {2}


def test_a_loss_that_is_not_finite_stops_with_its_step(small: Any) -> None:
    with torch.no_grad():
        small.model.norm.weight.fill_(float("nan"))
    with pytest.raises(ValueError, match=r"^the loss cross_entropy is nan at step 0$"):
        on.tune(small, ("cross_entropy",), batch, PLAN, 0)


def test_what_nobody_defined_is_refused(small: Any) -> None:
    told = texts(1.0).of("calibration", 2)
    with pytest.raises(ValueError, match=r"^source 'web' is unknown; sources: corpus, target, draft, mixed$"):
        on.batches_of("web", told, torch.arange(99), PLAN, 0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="do not fill a window of 999"):
        on.batches_of("target", told, torch.arange(99), PLAN._replace(window=999), 0)
    with pytest.raises(ValueError, match="objective 'mse' is unknown"):
        on.tune(small, ("mse",), batch, PLAN, 0)


def test_acceptance_along_texts() -> None:
    rows = on.rows(texts(1.0).of("test", 2)._replace(tokens=texts(1.0).of("test", 2).tokens[:, :8]))
    assert rows.laws.shape == (2, 8, 2048)
    assert np.abs(on.acceptance(on.model("target"), rows) - 1).max() < 1e-5
    drafted = on.acceptance(on.model("draft"), rows)
    by_hand = torch.minimum(on.laws(on.model("draft"), rows), rows.laws).sum(-1).mean(-1)
    assert np.abs(drafted - by_hand.numpy()).max() < 1e-6
    own = on.text_probabilities(on.model("target"), rows)
    assert np.abs(own[1, 3] - float(rows.laws[1, 3, rows.texts.tokens[1, 3]])) < 1e-6


def test_ranks() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((3, 8)), rng.random(8)
    expected = [stats.spearmanr(row, b).statistic for row in a]
    assert np.abs(tuned.correlation(a, b) - expected).max() < 1e-12
