"""T33: each point of acceptance beyond the optimum costs a point of bias, and which rules pay no more; in rationals."""

from __future__ import annotations

from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from helpers.rules import MUTANTS, load
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import discover, output_law, total_variation
from specsim.base.arrays import overlap, residual
from specsim.testing.cases import random_laws
from specsim.testing.strategies import law_pairs, rational_laws
from specsim.types import Array

QUICK = settings(max_examples=60, deadline=None)
SIZES = st.integers(2, 5)
SHARES = st.integers(0, 6).map(lambda n: Fraction(n, 6))
LOSSY = [name for name, rule in discover.rules("step").items() if discover.facts(rule).bias]
Params = dict[str, Any]


def step(name: str) -> ModuleType:
    return discover.find("step", name)


def over_the_line(rule: ModuleType, p: Array, q: Array, params: Params | None = None) -> Fraction:
    """What a rule's stated bias is above the price of its stated acceptance."""
    plan = rule.prepare(p, q, 1, **(params or {}))
    found: Fraction = rule.bias(plan) - (rule.acceptance(plan) - overlap(p, q))
    return found


@st.composite
def lenient(draw: st.DrawFn, vocab: int) -> Params:
    return {"epsilon": Fraction(draw(st.integers(1, 12)), 12)}


@st.composite
def judging(draw: st.DrawFn, vocab: int) -> Params:
    return {"judged": np.array(draw(st.lists(st.booleans(), min_size=vocab, max_size=vocab)))}


@st.composite
def lending(draw: st.DrawFn, vocab: int) -> Params:
    k = draw(st.integers(1, vocab - 1))
    near = [draw(st.permutations([y for y in range(vocab) if y != x]))[:k] for x in range(vocab)]
    return {"neighbours": np.array(near), "delta": draw(SHARES)}


ON_THE_LINE = {"clipped": lenient, "lenience": lenient, "judge": judging, "lantern": lending}


def cases(params: Any) -> st.SearchStrategy[tuple[tuple[Array, Array], Params]]:
    return SIZES.flatmap(lambda vocab: st.tuples(law_pairs(vocab), params(vocab)))


def kernels(vocab: int) -> st.SearchStrategy[Array]:
    return st.lists(rational_laws(vocab), min_size=vocab, max_size=vocab).map(np.stack)


@QUICK
@given(SIZES.flatmap(lambda vocab: st.tuples(law_pairs(vocab), kernels(vocab))))
def test_no_kernel_pays_less(case: Any) -> None:
    """1: whatever is done with the draft."""
    (p, q), kernel = case
    output, hit = q @ kernel, q @ np.diagonal(kernel)
    assert hit <= overlap(q, output) <= 1 - total_variation(p, q) + total_variation(output, p)


@pytest.mark.parametrize("name", LOSSY)
def test_no_rule_pays_less(name: str) -> None:
    """1, by what each rule says of itself; that it is so, the conformance checks say."""

    @QUICK
    @given(SIZES.flatmap(law_pairs))
    def check(pair: tuple[Array, Array]) -> None:
        assert over_the_line(step(name), *pair) >= 0

    check()


@st.composite
def kept_and_replaced(draw: st.DrawFn) -> tuple[Array, Array, Array]:
    """p, q, and of each token a share of it that is kept, at least that of the standard test."""
    p, q = draw(law_pairs(draw(SIZES)))
    least = [min(a, b) for a, b in zip(p, q, strict=True)]
    return p, q, np.array([v + draw(SHARES) * (b - v) for v, b in zip(least, q, strict=True)], dtype=object)


@QUICK
@given(kept_and_replaced())
def test_whatever_is_kept_the_residual_is_on_the_line(case: tuple[Array, Array, Array]) -> None:
    """3, and 2 with it."""
    p, q, kept = case
    output = kept + (1 - kept.sum()) * residual(p, q)
    assert total_variation(output, p) == kept.sum() - overlap(p, q)


@pytest.mark.parametrize("name", ON_THE_LINE)
def test_these_pay_no_more(name: str) -> None:
    """3 and 4: the stated bias, and that of the enumerated law."""

    @QUICK
    @given(cases(ON_THE_LINE[name]))
    def check(case: Any) -> None:
        (p, q), params = case
        assert over_the_line(step(name), p, q, params) == 0
        plan = step(name).prepare(p, q, 1, **params)
        assert total_variation(output_law(p, q, rule=name, params=params), p) == step(name).bias(plan)

    check()


PAIRS = [*zip(*random_laws(4, 40, seed=33), strict=True)]
# Parameters with which a rule is one of the others: by default `relaxed` keeps every draft of so few tokens.
MORE: dict[str, Params] = {
    "cascade": {"deferral": "token_v3", "alpha": Fraction(1, 5)},
    "lantern": {"zeroed": True},
    "relaxed": {"relaxed_topk": 2, "relaxed_delta": Fraction(1, 10)},
}


@pytest.mark.parametrize("name", [*sorted(set(LOSSY) - set(ON_THE_LINE)), "lantern"])
def test_others_pay_more_somewhere(name: str) -> None:
    """So equality is a statement about these rules: LANTERN with `zeroed` is one of the others."""
    assert max(over_the_line(step(name), *pair, MORE.get(name)) for pair in PAIRS) > Fraction(1, 50)


@pytest.mark.parametrize("path", ["judge_bias_of_all", "lantern_bias_of_zeroed", "lenience_bias_of_excess"])
def test_a_wrong_bias_is_caught(path: str) -> None:
    """Stated off the line, or on it where the law is not."""
    mutant = load(MUTANTS / "step" / f"{path}.py")

    def wrong(p: Array, q: Array) -> bool:
        stated = mutant.bias(mutant.prepare(p, q, 1))
        return bool(over_the_line(mutant, p, q) != 0 or total_variation(output_law(p, q, rule=mutant), p) != stated)

    assert any(wrong(*pair) for pair in PAIRS)


def test_a_bias_that_is_too_small_to_be_true() -> None:
    """A lossy rule that calls itself lossless is under the line."""
    cheap = ModuleType("cheap")
    vars(cheap).update(vars(step("lenience")), bias=lambda plan: Fraction(0))
    assert min(over_the_line(cheap, *pair) for pair in PAIRS) < 0
