"""T45: how texts drift from the target's law, in rationals, beside three bounds; and what is no bound."""

from __future__ import annotations

import itertools
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from specsim import drift_bounds, output_law, text_drift, total_variation
from specsim.base.arrays import one_hot
from specsim.exact.chain import target_law
from specsim.laws.divergences import divergence_of
from specsim.testing.cases import random_laws
from specsim.verify.step import rejection

F = Fraction
LENGTH = 4
LOSSY = ["lenience", "clipped", "typical", "greedy"]


def random_model(seed: int) -> dict[tuple[int, ...], Any]:
    """Two tokens; the law depends on the whole text."""
    texts = [text for n in range(LENGTH) for text in itertools.product(range(2), repeat=n)]
    return dict(zip(texts, random_laws(2, len(texts), seed=seed)[0], strict=True))


def emitted(model: dict[tuple[int, ...], Any], rule: str, draft: dict[tuple[int, ...], Any]) -> Any:
    return {text: output_law(model[text], draft[text], rule=rule) for text in model}


@pytest.mark.parametrize("rule", LOSSY)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_drift_is_that_of_the_texts_laws_and_below_its_bounds(rule: str, seed: int) -> None:
    target, draft = random_model(seed), random_model(seed + 100)
    drift = text_drift(target.__getitem__, draft.__getitem__, rule=rule, length=LENGTH)
    asked, told = (target_law(model, LENGTH) for model in (target, emitted(target, rule, draft)))
    assert drift.tv[-1] == sum(abs(asked[text] - told[text]) for text in asked) / 2
    p, o = (np.array([float(law[text]) for text in asked]) for law in (asked, told))
    assert drift.kl[-1] == pytest.approx(float(divergence_of(o, p, "kl")), abs=1e-12)
    for bound in (drift.by_sum, drift.by_worst):
        assert all(a <= b for a, b in zip(drift.tv, bound, strict=True))
    assert np.all(drift.tv.astype(float) <= drift.by_kl + 1e-12)
    first = total_variation(output_law(target[()], draft[()], rule=rule), target[()])
    assert drift.tv[0] == drift.by_sum[0] == drift.by_worst[0] == first


def emits_drafts() -> ModuleType:
    """Return a rule that keeps every draft: it emits the draft's law, whatever the target says."""
    rule = ModuleType("every_draft_passes")
    vars(rule).update(vars(rejection), transition=lambda plan, drafts: one_hot(drafts[..., 0], plan.p))
    return rule


def model_of(laws: dict[tuple[int, ...], list[Fraction]]) -> Any:
    return lambda text: np.array(laws[text], dtype=object)


def test_sum_and_worst_are_attained_together() -> None:
    """The target may write a 1 once; the rule never does."""
    e = F(1, 3)

    def target(text: tuple[int, ...]) -> Any:
        return np.array([F(1), F(0)] if 1 in text else [1 - e, e], dtype=object)

    def draft(text: tuple[int, ...]) -> Any:
        return np.array([F(1), F(0)], dtype=object)

    drift = text_drift(target, draft, rule=emits_drafts(), length=5)
    assert list(drift.tv) == list(drift.by_sum) == list(drift.by_worst) == [1 - (1 - e) ** n for n in range(1, 6)]


def test_mean_errors_must_not_be_multiplied() -> None:
    """Two tokens and two places: mean errors of 1/2 and 1/2, and texts that never agree."""
    target = model_of({(): [F(1, 2), F(1, 2)], (0,): [F(1), F(0)], (1,): [F(1), F(0)]})
    draft = model_of({(): [F(1), F(0)], (0,): [F(0), F(1)], (1,): [F(1), F(0)]})
    drift = text_drift(target, draft, rule=emits_drafts(), length=2)
    means = [drift.by_sum[0], drift.by_sum[1] - drift.by_sum[0]]
    assert means == [F(1, 2), F(1, 2)]
    assert drift.tv[1] == drift.by_sum[1] == drift.by_worst[1] == 1 > 1 - (1 - means[0]) * (1 - means[1])


def test_places_count_where_both_laws_come() -> None:
    """Errors of 1 behind a token that one of the two laws never writes are no error of a place."""
    fair, sure, other = [F(1, 2), F(1, 2)], [F(1), F(0)], [F(0), F(1)]
    near, far = ([F(1, 2), F(1, 2)], [F(1, 4), F(3, 4)]), (sure, other)
    for first in ((fair, sure), (sure, fair)):
        target, draft = (model_of({(): first[i], (0,): near[i], (1,): far[i]}) for i in range(2))
        drift = text_drift(target, draft, rule=emits_drafts(), length=2)
        assert list(drift.by_worst) == [F(1, 2), 1 - (1 - F(1, 2)) * (1 - F(1, 4))]
        assert drift.by_kl.tolist() == np.minimum(np.sqrt(drift.kl / 2), 1).tolist()


def test_rows_of_all_texts_give_the_exact_sum() -> None:
    """Four equally likely texts as rows: means over rows are means along the target's texts."""
    fair = {text: [F(1, 2), F(1, 2)] for text in [(), (0,), (1,)]}
    skewed = {(): [F(3, 4), F(1, 4)], (0,): [F(1, 4), F(3, 4)], (1,): [F(1), F(0)]}
    drift = text_drift(model_of(fair), model_of(skewed), rule=emits_drafts(), length=2)
    texts = list(itertools.product(range(2), repeat=2))
    errors = [[total_variation(np.array(skewed[t[:i]]), np.array(fair[t[:i]])) for i in range(2)] for t in texts]
    bounds = drift_bounds(np.array(errors, dtype=float))
    assert np.allclose(bounds.by_sum, drift.by_sum.astype(float))
    assert bounds.by_kl.tolist() == [1, 1]


def test_no_bound_on_a_total_variation_is_above_one() -> None:
    """The likeliest token three times over: the sum of the errors is 3/2, and the root of half of KL 1.02."""
    target = model_of({text: [F(1, 2), F(1, 2)] for n in range(3) for text in itertools.product((0, 1), repeat=n)})
    drift = text_drift(target, target, rule="greedy", length=3)
    assert list(drift.tv) == [F(1, 2), F(3, 4), F(7, 8)]
    assert list(drift.by_sum) == [F(1, 2), 1, 1]
    assert np.sqrt(drift.kl[-1] / 2) > 1 == drift.by_kl[-1]


def test_of_the_two_bounds_by_kl_the_lower_counts() -> None:
    by_kl = drift_bounds([[0.1, 0.1]], divergences=[[0.02, 4.0]]).by_kl
    assert by_kl[0] == pytest.approx((0.02 / 2) ** 0.5)
    assert by_kl[1] == pytest.approx((1 - np.exp(-4.02)) ** 0.5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: drift_bounds([0.1, 0.2]), r"errors must have the shape \(texts, n\), got \(2,\)"),
        (lambda: drift_bounds([[1.2]]), r"errors\[0\]\[0\] is 1.2; it must lie in \[0, 1"),
        (lambda: drift_bounds([[0.2]], divergences=[[0.1, 0.2]]), r"divergences has shape \(1, 2\); expected that of"),
        (
            lambda: text_drift(lambda c: [0.5, 0.5], lambda c: [0.5, 0.5], rule="greedy", length=17),
            r"length=17: 2\^17 texts are more than 65,536",
        ),
        (
            lambda: text_drift(lambda c: [0.5, 0.5], lambda c: [0.5, 0.5], rule="greedy", length=10**12),
            "length is 1000000000000; the largest that is sensible is",
        ),
        (
            lambda: text_drift(lambda c: [0.5, 0.5], lambda c: [0.5, 0.5], rule="fly", length=2),
            "rule 'fly' is a lossy chain rule, not a step rule; block_chain and simulate take its module, specsim",
        ),
    ],
)
def test_what_is_refused(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}"):
        call()
