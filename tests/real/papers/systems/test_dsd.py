"""DSD: cut drafts keep the laws that they have room for, scores are the drafter's, intervals hold all spreads."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import torch

from real.decode.clock import PHASES
from real.decode.warp import Warping
from real.draft import lowrank
from real.papers.lab import aligning, cut_drafts, draft_scores, draft_turns
from real.papers.lab.aligned import Judged
from real.papers.lab.contract import Record
from real.papers.lab.draft_turns import Times, estimate
from real.papers.lab.pairs import pair_named
from real.papers.lab.text_lab import along, expected
from real.papers.lab.texts import Texts, texts
from real.papers.systems import dsd
from real.studies.intervals import Estimate, jackknife
from specsim.base.arrays import at

SIZES = {"hidden": 256, "width": 32, "heads": 4, "ffn": 64, "layers": 3}


def donor(**sizes: int) -> Any:
    """A draft of the bundled target whose layers and norms do something, with a head of every other token."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        net: Any = lowrank.network(SIZES | sizes)
        with torch.no_grad():
            for name, weight in net.named_parameters():
                if "norm" in name:
                    weight.uniform_(0.5, 1.5)
                elif "out" in name or "down" in name:
                    weight.mul_(5)
    net.tokens = torch.arange(0, 2048, 2, dtype=torch.int32)
    return net


def some() -> Texts:
    """Three texts of the bundled target, of two lengths, after prompts of two lengths."""
    part = texts(1.0).of("calibration", 3)
    tokens = part.tokens[:, :9].copy()
    tokens[1, 6:] = -1
    return part._replace(prompts=[part.prompts[0], part.prompts[1][:5], part.prompts[2]], tokens=tokens)


def cut(whole: Any, sizes: dict[str, int]) -> Any:
    """A draft cut along the texts."""
    lesson = aligning.lesson(some())
    return cut_drafts.cut(whole, sizes, cut_drafts.principal_axes(whole, aligning.ends_of("tiny", whole), lesson), 0)


@torch.no_grad()
def logits(net: Any) -> torch.Tensor:
    ends = aligning.ends_of("tiny", net)
    return ends.rows(lowrank.on_texts(net, ends, torch.arange(40).view(2, 20)) @ net.write)


def test_a_draft_of_the_donors_sizes_has_its_laws() -> None:
    whole = donor()
    same = cut(whole, SIZES)
    assert (logits(same) - logits(whole)).abs().max() < 1e-3 * logits(whole).abs().max()
    assert same.tokens is whole.tokens


def test_a_narrow_draft_keeps_the_leading_directions() -> None:
    """Maps of rank 16, and layers that do nothing: half the width has room for all of it."""
    whole = donor()
    with torch.no_grad():
        basis = torch.linalg.qr(torch.randn(32, 16, generator=torch.Generator().manual_seed(0)))[0]
        whole.norm.fill_(1)
        for weight in (whole.read, whole.write):
            weight.copy_(basis @ basis.T @ weight)
        for weight in (*whole.out, *whole.down):
            weight.zero_()
    narrow = cut(whole, SIZES | {"width": 16, "heads": 2, "ffn": 20})
    assert (logits(narrow) - logits(whole)).abs().max() < 1e-3 * logits(whole).abs().max()


def test_a_shallow_draft_keeps_the_donors_last_layer() -> None:
    """A donor whose second layer of three does nothing has the laws of its first and last."""
    whole = donor()
    with torch.no_grad():
        for weight in (whole.out[1], whole.down[1]):
            weight.zero_()
    shallow = cut(whole, SIZES | {"layers": 2})
    assert (logits(shallow) - logits(whole)).abs().max() < 1e-3 * logits(whole).abs().max()


def test_a_wide_or_deep_draft_begins_near_the_donor() -> None:
    whole, untrained = donor(), logits(donor(width=40, heads=5))
    for sizes in (SIZES | {"width": 48, "heads": 6, "ffn": 90}, SIZES | {"layers": 6}):
        apart = (logits(cut(whole, sizes)) - logits(whole)).square().mean()
        assert apart < 0.2 * (untrained - logits(whole)).square().mean()


def test_drafts_have_the_parameters_that_are_asked_for() -> None:
    """Also of the donor that is shipped, by its sizes."""
    whole = lowrank.network({"hidden": 576, "width": 256, "heads": 4, "ffn": 704, "layers": 3})
    widths = []
    for size in dsd.SIZES["smollm2"]:
        for layers in dsd.DEPTHS:
            sizes = cut_drafts.recipe(whole, size, layers)
            widths.append(sizes["width"])
            assert sizes["width"] == 64 * sizes["heads"]
            assert cut_drafts.inside(lowrank.network(sizes)) == pytest.approx(size, rel=0.002)
    assert widths == [256, 192, 128, 128, 512, 384, 256, 192]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_scores_and_calls_are_those_of_the_drafter(temperature: float) -> None:
    net, part, target = donor(), some(), pair_named("tiny").target
    scores = draft_scores.scores(net, aligning.ends_of("tiny", net), part)
    drafter = lowrank.drafter(net, target)
    assert drafter.rows is not None
    for q, prompt, text in zip(scores.q(temperature), part.prompts, part.rows, strict=True):
        laws = drafter.rows(target, prompt, text, Warping(temperature))
        assert q == pytest.approx(at(laws, torch.tensor(text)).double().numpy(), rel=1e-3, abs=1e-9)
    assert any((q == 0).any() for q in scores.q(1.0)), "the head lacks some tokens"

    # The target's probabilities are not needed to be right here, but the same.
    p = [np.full(len(row), 0.5) for row in part.rows]
    texts_along = [text._replace(p=w) for text, w in zip(along(drafter, part, 3, temperature), p, strict=True)]
    by_hand = [expected(part, texts_along, gamma).blocks for gamma in (1, 3)]
    assert draft_scores.calls(Judged(part, temperature, p), scores, (1, 3)) == [
        pytest.approx(row, rel=1e-4) for row in by_hand
    ]


def test_losses_are_over_the_tokens_of_the_head() -> None:
    net, part = donor(), some()
    nats, known = draft_scores.losses(draft_scores.scores(net, aligning.ends_of("tiny", net), part))
    assert known.tolist() == [sum(token % 2 == 0 for token in row) for row in part.rows]
    assert (nats > 0).all()
    assert np.isfinite(nats).all()


def test_the_target_knows_its_texts() -> None:
    part = some()
    assert draft_scores.target_along(part, 0.0) == [[1.0] * len(row) for row in part.rows]
    rows = draft_scores.target_along(part, 1.0)
    assert [len(row) for row in rows] == part.lengths.tolist()
    assert all(0 < p < 1 for row in rows for p in row)


def test_waiting_takes_no_time_of_the_processor() -> None:
    clock = draft_turns.ProcessorClock()
    time.sleep(0.2)
    clock.mark("draft")
    assert clock.seconds["draft"] < 0.1
    ended = time.process_time() + 0.05
    while time.process_time() < ended:
        pass
    clock.mark("")
    clock.mark("rule")
    assert set(clock.seconds) == {"draft", "rule"}
    assert clock.seconds["rule"] < 0.05


def test_drafts_and_cycles_are_timed_in_every_turn() -> None:
    both = pair_named("tiny")
    shapes = [SIZES | {"layers": layers} for layers in (1, 12)]
    drafts = [lowrank.model_of(both.target, lowrank.network(sizes)) for sizes in shapes]
    turns = draft_turns.taken(both, drafts, (1, 2), 3)
    assert len(turns) == 3
    assert all(turn["steps"][0] < turn["steps"][1] for turn in turns)
    assert all(np.array(visits).shape == (draft_turns.BLOCKS, len(PHASES)) for visits in turns[0]["visits"].values())
    times = draft_turns.drawn(turns, (1, 2), 0)
    assert times.steps.shape == (1 + draft_turns.DRAWN, 2)
    assert times.others.shape == (1 + draft_turns.DRAWN, 2)
    assert times.steps[0].tolist() == np.median([turn["steps"] for turn in turns], axis=0).tolist()
    assert (times.plain > 0).all()


def still(draws: int = 3) -> Times:
    """Times of two drafts without spread: steps of 1 and 2 s, and 10 s and 12 s besides, of 1 and 4 drafts."""
    return Times(np.tile([1.0, 2.0], (draws, 1)), np.tile([10.0, 12.0], (draws, 1)), np.full(draws, 9.0))


def test_throughput_by_hand() -> None:
    tokens, calls = np.array([20.0, 30.0]), np.array([[[10.0, 15.0]], [[5.0, 5.0]]])
    found = draft_turns.resampled(tokens, calls, 2 * calls, np.array([10.0, 10.0]), still(), (4, 1), (1, 4))
    assert found.tokens_a_call[0].tolist() == [2.0, 5.0]
    assert found.cycles[0].tolist() == [4 * 1 + 12, 2 + 10]
    assert found.throughput[0].tolist() == [2 / 16, 5 / 12]
    assert found.loss[0].tolist() == [2.5, 1.0]
    assert found.plain[0].tolist() == [9.0]


@pytest.mark.parametrize("spread", ["prompts", "seeds", "turns"])
def test_each_of_the_three_spreads_is_in_the_interval(spread: str) -> None:
    rng = np.random.default_rng(0)
    tokens, calls, times = np.full(20, 8.0), np.full((2, 3, 20), 4.0), still(400)
    if spread == "prompts":
        calls = calls + rng.random(20)
    elif spread == "seeds":
        calls = calls + np.array([0.0, 0.5, 1.0])[:, None]
    else:
        times = times._replace(others=times.others + rng.random((400, 1)))
    found = draft_turns.resampled(tokens, calls, calls, tokens, times, (1, 1), (1, 4))
    value, low, high = estimate(found.throughput[:, 0])
    assert low < value < high
    if spread == "prompts":
        alone = jackknife((tokens, calls[0, 0]), lambda a, b: a / b / 11, level=0.95)
        assert high - low == pytest.approx(alone.high - alone.low, rel=0.15)
    elif spread == "seeds":
        assert (low, high) == pytest.approx((8 / 5 / 11, 8 / 4 / 11)), "of single trainings"
    both = draft_turns.resampled(tokens, np.full((2, 3, 20), 4.0), calls, tokens, still(400), (1, 1), (1, 4))
    assert len(set(both.throughput[:, 0])) == 1


def test_shallow_drafts_over_deep_ones() -> None:
    assert float(dsd.shallow_over_deep(np.array([2.0, 1, 1, 0.5, 1, 3, 2, 1]))) == 1.75


def test_a_steps_time_is_split_into_layers_and_parameters() -> None:
    nets = [donor(layers=layers, width=width) for layers, width in ((1, 32), (2, 32), (4, 16), (8, 48))]
    millions = [(cut_drafts.inside(net) + 1024 * net.read.shape[0]) / 1e6 for net in nets]
    seconds = np.array([1e-3 * (0.2 * len(net.qkv) + 3 * m + 0.5) for net, m in zip(nets, millions, strict=True)])
    assert list(dsd.fitted(seconds, nets, 1024).values()) == pytest.approx([0.2, 3, 0.5])


def test_verdicts_follow_the_test() -> None:
    above, across, below = Estimate(0.2, 0.1, 0.3), Estimate(0.1, -0.1, 0.3), Estimate(-0.2, -0.3, -0.1)
    wide, either, narrow = Estimate(1.2, 1.1, 1.3), Estimate(1.1, 0.9, 1.3), Estimate(0.9, 0.8, 0.95)
    none, some_of_it, strong = Estimate(0.2, -0.1, 0.4), Estimate(0.4, 0.1, 0.7), Estimate(0.8, 0.6, 0.9)

    def of(*values: Estimate) -> str:
        names = (dsd.HEADLINE, *(f"{name}, T = 1{dsd.OF_THREE}" for name in (dsd.SHALLOW, dsd.QUALITY)))
        return dsd.verdict(Record({}, dict(zip(names, values, strict=True)), {}))

    assert of(above, wide, none) == "shows"
    for others in ((across, wide, none), (above, either, none), (above, wide, some_of_it)):
        assert of(*others) == "does not show"
    for others in ((below, wide, none), (above, narrow, none), (above, wide, strong)):
        assert of(*others) == "contradicts"
