"""Judge Decoding's run: which problems each stage reads, which head and temperature each unit has, and levels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from real.papers.lab import judging, relaxed
from real.papers.lab.contract import Lab
from real.papers.lab.introductions import PARTS
from real.papers.lab.judging import Head, Labels
from real.papers.lab.pairs import pair_named
from real.papers.lab.relaxed import Drafts
from real.papers.systems import judge
from real.papers.systems.judge import Result, Task
from specsim.types import Array

# States of one number, so that a head with weight 1 orders labels by it.
STATES = np.linspace(-2, 2, 41)[:, None]
LABELS = Labels(STATES, STATES[:, 0] > 0, np.arange(41), np.ones(41), np.arange(41))
HEAD = Head(np.zeros(1), np.ones(1), np.ones(1), 0.0)


def passing(rule: relaxed.Rule) -> float:
    """Return the share of the labels' states that pass a rule where the standard test never does."""
    none = np.zeros((1, 41))
    drafts = Drafts(np.ones((1, 41, 1)), none, none + 1, none + 1, STATES[None])
    return float(rule(drafts).mean())


def result(on: Task, facts: float) -> Result:
    """Return equal answers to all problems."""
    return Result(*(np.full(len(on.problems), value) for value in (8.0, 4.0, 4.0, facts, -1.0)))


@pytest.mark.parametrize("share", judge.PASSING)
def test_a_judge_passes_the_share_of_mismatches_that_it_is_named_by(share: float) -> None:
    assert passing(judge.judge_of(LABELS, HEAD, share)) == pytest.approx(share, abs=0.03)


def test_heads_after_the_first_are_fitted_to_texts_drawn_with_replacement(monkeypatch: pytest.MonkeyPatch) -> None:
    """All labels of a text come together, as often as the text is drawn."""
    fits: list[Array] = []

    def fitted(labels: Labels) -> Head:
        fits.append(labels.tokens)
        return HEAD

    monkeypatch.setattr(judging, "fitted", fitted)
    of_text = np.repeat(np.arange(8), 3)
    labels = Labels(np.zeros((24, 1)), np.ones(24), of_text, np.ones(24), np.arange(24))
    assert len(judging.refitted(labels, 3, 0)) == 3
    assert fits[0].tolist() == list(range(24))
    for tokens in fits[1:]:
        assert len(tokens) == 24
        assert (tokens.reshape(-1, 3) % 3 == np.arange(3)).all()
        assert len(set(tokens // 3)) < 8, "with replacement"
    assert fits[1].tolist() != fits[2].tolist()


def test_parameters_are_chosen_on_validation_problems_before_facts_fall_by_half_the_test(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Greedy, by rules that lose 4, 7 and 2 points: the first alone may pass."""
    seen: list[tuple[list[Any], float]] = []
    facts = {"plain": 0.8, "strict": 0.76, "lax": 0.73, "laxest": 0.78}

    def solved(lab: Lab, on: Task, rule: Any, temperature: float) -> Result:
        seen.append((on.problems, temperature))
        return result(on, facts[rule])

    monkeypatch.setattr(relaxed, "standard", "plain")
    monkeypatch.setattr(judge, "solved", solved)
    lab, rules = Lab(share=0.01), {"judge": {1.0: "strict", 2.0: "lax", 3.0: "laxest"}}
    assert judge.chosen(lab, rules) == {"judge": 1.0}  # type: ignore[arg-type]
    validation = judge.task(lab, judge.VALIDATED, "validation").problems
    assert seen == [(validation, 0.0)] * 3


def test_a_run_judges_each_head_at_each_temperature_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels are of training problems, tests of test problems; the draft alone answers at the same temperature."""
    heads = [HEAD._replace(bias=float(k)) for k in range(judge.HEADS)]
    mined: list[list[list[int]]] = []
    alone: list[tuple[list[list[int]], float]] = []
    judged: list[tuple[list[Any], float, Any]] = []
    units: list[str] = []

    def mine(both: Any, prompts: list[list[int]], **options: Any) -> Labels:
        mined.append(prompts)
        return LABELS

    def solved(lab: Lab, on: Task, rule: relaxed.Rule, temperature: float) -> Result:
        judged.append((on.problems, temperature, rule))
        return result(on, 0.5)

    def decode_batch(target: Any, draft: Any, prompts: list[list[int]], **options: Any) -> list[Any]:
        alone.append((prompts, options["warping"].temperature))
        assert target is pair_named("tiny").draft
        return [SimpleNamespace(tokens=[]) for _ in prompts]

    def keep(name: str, make: Any) -> Any:
        units.append(name)
        return make()

    monkeypatch.setattr(judging, "mine", mine)
    monkeypatch.setattr(judging, "refitted", lambda labels, count, seed: heads)
    monkeypatch.setattr(judge, "judge_of", lambda labels, head, share: (head.bias, share))
    monkeypatch.setattr(judge, "solved", solved)
    monkeypatch.setattr(judge, "decode_batch", decode_batch)
    lab = Lab(share=0.01, keep=keep)
    record = judge.run(lab)

    # What each stage reads.
    test = {t: judge.task(lab, count, "test") for t, count in judge.TESTED.items()}
    assert mined == [judge.task(lab, judge.MINED, "calibration").prompts]
    assert alone == [(on.prompts, t) for t, on in test.items()]
    for temperature, on in test.items():
        rules = [rule for problems, t, rule in judged if (problems, t) == (on.problems, temperature)]
        assert len(rules) == 3 + judge.HEADS, "standard, lenience, top k, and every judge"
        assert [rule[0] for rule in rules if isinstance(rule, tuple)] == [0.0, 1.0, 2.0]
    assert len(set(units)) == len(units), "no unit has another's name"

    # The draft alone names none of the facts, the others half.
    assert record.measured[f"{judge.DRAFTED}, T = 0"].value == -0.5
    assert record.measured[judge.HEADLINE].value == 0


def test_uniforms_of_parts_and_seeds_are_others() -> None:
    seeds = {judge.task(Lab(seed=seed, share=0.01), 8, part).seed for seed in (0, 1) for part in PARTS}
    assert len(seeds) == 6


def test_the_loss_of_facts_has_a_one_sided_interval_of_95_percent() -> None:
    rng = np.random.default_rng(0)
    plain, ours = (Result(*rng.random((5, 2, 6)) + 1) for _ in range(2))
    found = judge.compared(dict.fromkeys(("standard", "lenience", "top k"), plain) | {"judge": ours}, "")
    ends = found[f"{judge.NAMED}, judge less standard{judge.LOOP}{judge.ONE_SIDED}"]
    assert ends == pytest.approx(judge.mean(ours.facts - plain.facts, 0.9))
