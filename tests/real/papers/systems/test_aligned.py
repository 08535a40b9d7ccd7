"""Aligned drafts: each objective on its own tokens, each source its own texts, intervals with seeds, and verdicts."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy import stats

from real.decode.warp import Warping
from real.draft import lowrank
from real.papers.lab import aligned, aligning, writing
from real.papers.lab.aligning import Lesson, Plan
from real.papers.lab.answers import texts_of
from real.papers.lab.contract import Lab, Record
from real.papers.lab.pairs import pair_named
from real.papers.lab.seeds import crossed
from real.papers.lab.text_lab import along as along_texts
from real.papers.lab.text_lab import expected
from real.papers.lab.texts import Texts, texts
from real.papers.systems import tvdpp
from real.studies.intervals import Estimate, jackknife

PLAN = Plan(steps=2, batch=2, warmup=1)
ABOVE, BELOW, ACROSS = Estimate(0.1, 0.05, 0.2), Estimate(-0.1, -0.2, -0.05), Estimate(0.1, -0.05, 0.2)


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give these tests a cache folder of their own."""
    folder: Path = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "cache", lambda: folder)
        yield


def ragged() -> Texts:
    """Two texts of the bundled target, the second of fewer tokens, after prompts of two lengths."""
    both = texts(1.0).of("calibration", 2)
    tokens = both.tokens[:, :9].copy()
    tokens[1, 6:] = -1
    return both._replace(prompts=[both.prompts[0], both.prompts[1][:5]], tokens=tokens)


def ends(net: Any) -> Any:
    return aligning.ends_of("tiny", net)


def with_few_tokens(net: Any) -> Any:
    """The same network, whose head has every other token."""
    net = copy.deepcopy(net)
    net.tokens = torch.arange(0, 2048, 2, dtype=torch.int32)
    return net


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_lesson_marks_the_places_before_the_tokens_of_answers(is_stored: bool) -> None:
    some = ragged()
    lesson = aligning.lesson(some, is_stored=is_stored)
    for i, (prompt, text) in enumerate(zip(some.prompts, some.rows, strict=True)):
        places = lesson.is_answer[i].nonzero()[:, 0]
        assert lesson.tokens[i, places + 1].tolist() == text
        assert int(places[0]) == len(prompt) - 1
    head = aligning.ends_of("tiny", aligning.started("tiny"))
    logits = head.rows(lesson.states[lesson.is_answer].float())
    target = pair_named("tiny").target
    rows = [row for prompt, text in zip(some.prompts, some.rows, strict=True) for row in _laws(target, prompt, text)]
    assert (logits.softmax(-1) - torch.stack(rows)).abs().max() < 0.02, "states are stored in 16 bits"


def _laws(target: Any, prompt: list[int], text: list[int]) -> torch.Tensor:
    from real.draft._contract import target_laws

    return target_laws(target, prompt, text, Warping())


@pytest.mark.parametrize("has_all", [True, False])
def test_cross_entropy_learns_the_texts_tokens_that_the_head_has(has_all: bool) -> None:
    """One step of AdamW goes by the signs of the gradient of the framework's own loss."""
    start = aligning.started("tiny")
    start = start if has_all else with_few_tokens(start)
    lesson = aligning.lesson(ragged())
    plan = Plan(steps=1, batch=2, warmup=1)
    moved = aligning.tuned(start, ends(start), "cross_entropy", lambda net, step: lesson, plan, 1e-3, 0)
    ours = copy.deepcopy(start)
    narrow = lowrank.on_texts(ours, ends(ours), lesson.tokens)[lesson.is_answer]
    logits = ends(ours).logits(F.linear(narrow, ours.write.T))
    tokens = torch.tensor([token for row in ragged().rows for token in row])
    is_known = torch.ones_like(tokens, dtype=torch.bool) if has_all else tokens % 2 == 0
    assert bool(is_known.any())
    F.cross_entropy(logits[is_known], tokens[is_known]).backward()  # type: ignore[no-untyped-call]
    for weight, after in zip(ours.parameters(), moved.parameters(), strict=True):
        step = (after - weight).sign()
        is_clear = weight.grad.abs() > 1e-5
        assert bool((step == -weight.grad.sign())[is_clear].all())


@pytest.mark.parametrize("has_all", [True, False])
@pytest.mark.parametrize("name", ["fkl", "rkl", "jsd", "tvd"])
def test_aligning_by_a_divergence_lowers_it(name: str, has_all: bool) -> None:
    from specsim import discover

    start = aligning.started("tiny")
    start = start if has_all else with_few_tokens(start)
    lesson = aligning.lesson(ragged())
    before = copy.deepcopy(start.state_dict())
    plan = Plan(steps=6, batch=2, warmup=1)
    net = aligning.tuned(start, ends(start), name, lambda net, step: lesson, plan, 3e-3, 0)

    @torch.no_grad()
    def divergence(net: Any) -> float:
        p = ends(net).rows(lesson.states[lesson.is_answer].float()).softmax(-1)
        narrow = lowrank.on_texts(net, ends(net), lesson.tokens)[lesson.is_answer]
        log_q = ends(net).rows(F.linear(narrow, net.write.T)).log_softmax(-1)
        return float(discover.find("objective", name).loss(p, log_q).mean())

    assert divergence(net) < divergence(start) - 1e-3
    assert all(torch.equal(before[key], weight) for key, weight in start.state_dict().items()), "it is a copy"


def test_sampled_objectives_get_tokens_of_the_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws are from the draft's law, the same for the same seed; others differ."""
    from specsim import discover

    start, lesson = aligning.started("tiny"), aligning.lesson(ragged())
    drawn: list[torch.Tensor] = []
    objective = discover.find("objective", "tvd_sampled")
    whole = objective.loss
    monkeypatch.setattr(objective, "loss", lambda p, log_q, tokens: drawn.append(tokens) or whole(p, log_q, tokens))
    for seed in (3, 3, 4):
        aligning.tuned(start, ends(start), "tvd_sampled", lambda net, step: lesson, PLAN, 1e-9, seed)
    assert len(drawn) == 3 * PLAN.steps
    assert torch.equal(drawn[0], drawn[2])
    assert not torch.equal(drawn[0], drawn[4])
    assert len(drawn[0].unique()) > 8, "an untrained draft draws many tokens"


def test_sources_are_their_own_texts() -> None:
    """Texts of the target are random ones of those that it wrote; a draft writes its own, anew now and then."""
    some, start = ragged(), aligning.started("tiny")
    whole = aligning.lesson(some)
    source = aligning.of_target(whole, PLAN._replace(batch=8), 5)
    rows = {tuple(row) for row in whole.tokens.tolist()}
    assert {tuple(row) for row in source(start, 0).tokens.tolist()} == rows
    assert source(start, 0).tokens.tolist() != source(start, 1).tokens.tolist()

    own = aligning.of_draft("tiny", some.prompts, PLAN, 5)
    lessons: list[Lesson] = [own(start, step) for step in (0, 1, aligning.FRESH)]
    assert all(len(lesson.tokens) == PLAN.batch for lesson in lessons)
    prompts = {tuple(prompt) for prompt in some.prompts}

    def written(lesson: Lesson) -> set[tuple[int, ...]]:
        ids = [
            row[: int(mark.nonzero()[-1]) + 2].tolist()
            for row, mark in zip(lesson.tokens, lesson.is_answer, strict=True)
        ]
        firsts = [int(mark.nonzero()[0]) + 1 for mark in lesson.is_answer]
        assert {tuple(row[:first]) for row, first in zip(ids, firsts, strict=True)} <= prompts
        return {tuple(row) for row in ids}

    texts_by_step = [written(lesson) for lesson in lessons]
    assert not texts_by_step[0] & texts_by_step[2], "written anew"
    assert not texts_by_step[0] & rows


def test_mixed_texts_are_half_the_targets_and_half_the_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of the draft are shorter here: both are filled up, and the filling is not learned."""
    monkeypatch.setattr(aligning, "WRITTEN", 4)
    some, start = ragged(), aligning.started("tiny")
    whole, plan = aligning.lesson(some), PLAN._replace(batch=4)
    mixed = aligning.source_named("mixed", whole, some, plan, 5)(start, 0)
    half = plan._replace(batch=2)
    of_target = aligning.source_named("target", whole, some, half, 5)(start, 0)
    assert all(torch.equal(part[:2], alone) for part, alone in zip(mixed, of_target, strict=True))

    # The draft's half is filled up after its end.
    of_draft = aligning.source_named("draft", whole, some, half, 5)(start, 0)
    width = of_draft.tokens.shape[1]
    assert width < of_target.tokens.shape[1] == mixed.tokens.shape[1]
    assert all(torch.equal(part[2:, :width], alone) for part, alone in zip(mixed, of_draft, strict=True))
    assert not any(bool(part[2:, width:].any()) for part in mixed)


def test_a_source_that_nobody_defined_is_refused() -> None:
    some = ragged()
    with pytest.raises(ValueError, match=r"^source 'corpus' is unknown; sources: target, draft, mixed$"):
        aligning.source_named("corpus", aligning.lesson(some), some, PLAN, 0)


@pytest.mark.parametrize("has_all", [True, False])
def test_calls_are_those_that_the_drafter_predicts(has_all: bool) -> None:
    """The same as by `Drafter.along`, at both temperatures; a text's own target needs no call but each fourth."""
    lab = Lab(share=0.01)
    net = aligning.started("tiny") if has_all else with_few_tokens(aligning.started("tiny"))
    drafter = lowrank.drafter(net, pair_named("tiny").target)
    for temperature in aligned.TEMPERATURES:
        judged = aligned._judged(lab, temperature, "validation")
        along = along_texts(drafter, judged.texts, aligned.GAMMA, temperature)
        by_hand = expected(judged.texts, along, aligned.GAMMA)
        tally = aligned.tally_of(lab, net, judged)
        assert np.allclose(tally.blocks, by_hand.blocks, atol=1e-6)
        assert tally.tokens.tolist() == by_hand.tokens.tolist()


def test_intervals_hold_the_spread_of_prompts_and_of_seeds() -> None:
    rng = np.random.default_rng(0)
    one, calls = rng.random((1, 9)) + 2, rng.random((1, 9)) + 1

    def statistic(a: Any, b: Any) -> Any:
        return a / b

    alone = crossed((one, calls), statistic)
    assert alone == pytest.approx(jackknife((one[0], calls[0]), statistic, level=0.95))
    alike = crossed((np.tile(one, (3, 1)), np.tile(calls, (3, 1))), statistic)
    assert alike == pytest.approx(alone), "seeds that agree add nothing"

    # Prompts that agree: the interval is Student's of three seeds.
    by_seed = np.array([1.0, 1.5, 1.1])
    apart = crossed((np.tile(by_seed[:, None], (1, 9)), np.ones((3, 9))), statistic, 0.9)
    half = stats.t.ppf(0.95, 2) * by_seed.std(ddof=1) / 3**0.5
    assert apart == pytest.approx((by_seed.mean(), by_seed.mean() - half, by_seed.mean() + half))
    assert crossed((np.ones((3, 1)), np.ones((3, 1))), statistic)[1:] == (float("-inf"), float("inf"))
    assert crossed((np.ones((3, 4)), np.ones((3, 4))), statistic) == (1, 1, 1)


def test_the_first_seed_chooses_the_rate_on_validation_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab(share=0.01)
    bench = aligned.bench(lab)._replace(seeds=2)
    made: list[tuple[float, int]] = []
    real_net = aligned.net_of

    def net_of(on: Any, name: str, source: str, rate: float, seed: int) -> Any:
        made.append((rate, seed))
        return real_net(on, name, source, rate, seed)

    monkeypatch.setattr(aligned, "net_of", net_of)
    found = aligned.trained(bench, "fkl", "target", (1e-9, 3e-3))
    assert found.rate == 3e-3
    assert made == [(1e-9, 0), (3e-3, 0), (3e-3, 1)]
    assert found.calls["test", 0.0].shape == (2, 8)
    assert not np.array_equal(*found.calls["test", 1.0]), "seeds have texts of their own"
    before = aligned.before(bench)
    assert aligned.gain(bench, found.calls["test", 1.0], before.calls["test", 1.0]).value > 0


def test_what_was_trained_is_not_trained_again(monkeypatch: pytest.MonkeyPatch) -> None:
    units: dict[str, Any] = {}

    def keep(name: str, make: Any) -> Any:
        if name not in units:
            units[name] = make()
        return units[name]

    lab = Lab(share=0.01, keep=keep)
    first = tvdpp.run(lab)
    monkeypatch.setattr(aligned, "net_of", lambda *some: pytest.fail("it was trained before"))
    assert tvdpp.run(lab) == first
    assert tvdpp.HEADLINE in first.measured


def test_texts_to_learn_from_are_of_both_temperatures() -> None:
    lab = Lab(share=0.01)
    bench = aligned.bench(lab)
    halves = [texts_of(lab, t, "calibration", count) for t, count in aligned.TO_LEARN.items()]
    assert bench.texts.rows == [row for half in halves for row in half.rows]
    assert set(bench.texts.part) == {"calibration"}


def test_verdicts_follow_the_tests() -> None:
    def of_tvdpp(sampled: Estimate, divergence: Estimate, speedup: Estimate) -> str:
        names = (tvdpp.HEADLINE, tvdpp.OVER_DIVERGENCE, tvdpp.MBSU)
        return tvdpp.verdict(Record({}, dict(zip(names, (sampled, divergence, speedup), strict=True)), {}))

    fast, slow, either = Estimate(1.6, 1.5, 1.7), Estimate(0.8, 0.7, 0.9), Estimate(1.1, 0.9, 1.3)
    assert of_tvdpp(ABOVE, ABOVE, fast) == "shows"
    for others in ((ACROSS, ABOVE, fast), (ABOVE, ACROSS, fast), (ABOVE, ABOVE, either)):
        assert of_tvdpp(*others) == "does not show"
    for others in ((BELOW, ABOVE, fast), (ABOVE, BELOW, fast), (ABOVE, ABOVE, slow)):
        assert of_tvdpp(*others) == "contradicts"
