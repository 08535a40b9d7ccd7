"""Variants of EAGLE's layer, and FSPAD on the bundled pair: what they start as, learn, and are judged by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from real.draft import _rollout, feature
from real.draft._parts import frozen
from real.papers.lab import aligning
from real.papers.lab import layer_variants as on
from real.papers.lab.contract import Lab, Record, checked
from real.papers.lab.text_lab import Tally, along, by_prompt, expected
from real.papers.lab.texts import Texts, texts
from real.papers.lab.writing import pair
from real.papers.systems import fspad
from real.studies.intervals import Estimate

ABOVE, ACROSS, BELOW = Estimate(0.1, 0.05, 0.2), Estimate(0.1, -0.05, 0.2), Estimate(-0.1, -0.2, -0.05)
PLAN = on.Plan(steps=8, batch=2, unroll=2, rate=3e-3, warmup=2)


def few() -> Texts:
    """Two test texts of 24 tokens."""
    of_test = texts(1.0).of("test", 2)
    return of_test._replace(tokens=of_test.tokens[:, :24])


@pytest.mark.parametrize("name", ["tiny", "smollm2"])
def test_the_control_has_as_many_parameters(name: str) -> None:
    sizes = {}
    for variant, options in on.variants(name).items():
        sizes[variant] = sum(w.numel() for w in feature.network(on.recipe_of(name) | options).parameters())
    assert sizes["control"] == pytest.approx(sizes["both"], rel=0.01)
    assert max(sizes["fs"], sizes["pad"]) < sizes["both"]


def test_a_variant_starts_anew_with_every_seed_and_scores_the_shipped_layers_tokens() -> None:
    first, again, second = (on.untrained("smollm2", {"fuse": 8}, seed) for seed in (1, 1, 2))
    assert torch.equal(first.join, again.join)
    assert not torch.equal(first.join, second.join)
    assert torch.equal(first.tokens, on.shipped("smollm2").tokens)


@pytest.mark.parametrize("temperature", [1.0, 0.0])
@pytest.mark.parametrize("tokens", [None, list(range(0, 2048, 2))])
def test_calls_are_those_of_the_drafter_along_the_texts(temperature: float, tokens: list[int] | None) -> None:
    """From states that are kept, by a head of all tokens or of some; greedy, the target gives its tokens certainty."""
    net: Any = feature.shipped()
    net.tokens = None if tokens is None else torch.tensor(tokens, dtype=torch.int32)
    some, drafter = few(), feature.drafter(net, pair().target)
    rows = along(drafter, some, 3, temperature)
    if temperature == 0:
        rows = [row._replace(p=row.p * 0 + 1) for row in rows]
    whole = expected(some, rows, 3)
    tally = on.tally_of(net, on.judged(some, temperature), 3)
    assert tally.blocks == pytest.approx(whole.blocks, rel=1e-4)
    assert tally.tokens.tolist() == whole.tokens.tolist()


def test_the_loss_is_that_of_the_layers_lesson() -> None:
    """Where its random places are all places of the answer."""
    lesson = aligning.lesson(few()).rows(torch.tensor([1]))
    places = lesson.is_answer[0].nonzero()[:, 0]
    net, recipe = on.untrained("tiny", {}, 0), on.recipe_of("tiny") | {"starts": 1 << 20, "unroll": 1}
    whole = feature.lesson(net, pair().target, recipe)
    # Later places have no weight: at the last one the text has ended.
    rng, weight = torch.Generator(), lesson.is_answer.float()
    by_lesson = whole(lesson.tokens, lesson.states[:, :, None].float(), rng, weight)
    ends = frozen(pair().target, net.hidden, net.tokens)
    assert len(places) == 24
    assert on.loss_of(net, ends, lesson, 1, recipe).item() == pytest.approx(by_lesson.item(), rel=1e-4)


def test_the_loss_of_two_steps_is_that_of_the_layers_lesson(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its blocks begin at all places of the answer but the last, so that both steps lie in it."""
    lesson = aligning.lesson(few()).rows(torch.tensor([1]))
    places = lesson.is_answer[0].nonzero()[:, 0]
    net, recipe = on.untrained("tiny", {}, 0), on.recipe_of("tiny") | {"unroll": 2}
    monkeypatch.setattr(_rollout, "places", lambda *options: places[:-1])
    whole = feature.lesson(net, pair().target, recipe)
    by_lesson = whole(lesson.tokens, lesson.states[:, :, None].float(), torch.Generator())
    ends = frozen(pair().target, net.hidden, net.tokens)
    assert on.loss_of(net, ends, lesson, 2, recipe).item() == pytest.approx(by_lesson.item(), rel=1e-4)


def test_a_seed_decides_the_order_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it begins with the same weights."""
    lesson, begin = aligning.lesson(few()), on.untrained
    monkeypatch.setattr(on, "untrained", lambda pair, options, seed: begin(pair, options, 0))
    first, second = (on.trained(Lab(), {}, lesson, PLAN, seed) for seed in (0, 1))
    assert not torch.equal(first.join, second.join)


def test_training_lowers_the_loss_and_is_the_same_each_time() -> None:
    lesson, options = aligning.lesson(few()), on.variants("tiny")["both"]
    ends, recipe = frozen(pair().target, 256), on.recipe_of("tiny")
    before = on.loss_of(on.untrained("tiny", options, 0), ends, lesson.rows(torch.tensor([0])), 2, recipe)
    nets = [on.trained(Lab(), options, lesson, PLAN, 0) for _ in range(2)]
    after = [on.loss_of(net, ends, lesson.rows(torch.tensor([0])), 2, recipe) for net in nets]
    assert after[0].item() == after[1].item() < 0.99 * before.item()


def test_a_trial_of_fspad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(fspad, "VARIANTS", {name: fspad.VARIANTS[name] for name in ("both", "control")})
    monkeypatch.setattr(fspad, "JUDGED", 4)
    record = checked(fspad.run(Lab(share=0.01)), fspad.HEADLINE)
    assert record.exact["parameters, both"] == pytest.approx(record.exact["parameters, control"], rel=0.01)
    for at in ("T = 0", "T = 1"):
        new, old = (record.predicted[f"tokens a target call, {name}, {at}"].value for name in ("both", "control"))
        assert record.measured[f"{fspad.GAIN}, {at}"].value == pytest.approx(new / old - 1)


def test_fspad_learns_from_training_texts_with_every_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls are made up here: five a prompt of the control, four of all others, which gain a quarter."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    learned: list[Texts] = []
    numbers: list[tuple[dict[str, Any], int]] = []

    def lesson(part: Texts, **options: Any) -> None:
        learned.append(part)

    def trained(lab: Lab, options: dict[str, Any], lesson: Any, plan: on.Plan, seed: int) -> dict[str, Any]:
        numbers.append((options, seed))
        return options

    def tally_of(net: Any, judged: Texts, gamma: int) -> Tally:
        assert set(judged.part) == {"test"}
        calls = 5.0 if net == on.variants("tiny")["control"] else 4.0
        return Tally(np.full(8, 20.0), np.full(len(by_prompt(judged, judged.lengths)), calls))

    monkeypatch.setattr(aligning, "lesson", lesson)
    monkeypatch.setattr(on, "trained", trained)
    monkeypatch.setattr(on, "judged", lambda part, temperature: part)
    monkeypatch.setattr(on, "tally_of", tally_of)
    monkeypatch.setattr(fspad, "JUDGED", 8)
    record = fspad.run(Lab(seed=7, share=0.1))
    assert [set(part.part) for part in learned] == [{"calibration"}]
    for options in on.variants("tiny").values():
        assert [seed for of, seed in numbers if of == options] == [7, 8, 9]
    gains = [record.measured[f"{fspad.ADDED}, {name} over control, T = 1"] for name in ("both", "feature sampling")]
    assert gains == [pytest.approx((0.25, 0.25, 0.25))] * 2


@pytest.mark.parametrize(
    ("greedy", "sampled", "verdict"),
    [
        (ABOVE, ABOVE, "shows"),
        (ABOVE, ACROSS, "does not show"),
        (ACROSS, ABOVE, "does not show"),
        (ABOVE, BELOW, "contradicts"),
    ],
)
def test_verdicts_of_fspad(greedy: Estimate, sampled: Estimate, verdict: str) -> None:
    gains = {f"{fspad.GAIN}, T = 0": greedy, f"{fspad.GAIN}, T = 1": sampled}
    assert fspad.verdict(Record({}, gains, {})) == verdict
