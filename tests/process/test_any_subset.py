"""Any-subset under prompts: each text of a batch has its own order, and the law of its prompt, by ==."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from specsim.base.texts import Asked
from specsim.exact.process_law import Filled, fill, text_law
from specsim.forking.rational import Fork, laws
from specsim.process import any_subset
from specsim.types import Array
from specsim.verify.chain import block, tokenwise

Text = tuple[int, ...]
PROMPTS: list[dict[int, int]] = [{}, {2: 1}, {0: 0, 1: 1}, {1: 0}]
WEIGHTS = {(a, b, c): Fraction(1 + (3 * a + 5 * b * c + 2 * c) % 7) for a, b, c in itertools.product((0, 1), repeat=3)}
JOINT = {text: weight / sum(WEIGHTS.values()) for text, weight in WEIGHTS.items()}


def given(prompt: dict[int, int]) -> dict[Text, Fraction]:
    """The law of the texts that have the prompt."""
    held = {text: mass for text, mass in JOINT.items() if all(text[place] == token for place, token in prompt.items())}
    return {text: mass / sum(held.values()) for text, mass in held.items()}


def rows(asked: Asked) -> Array:
    out = np.empty((*asked.places.shape, 2), dtype=object)
    for i, j in np.ndindex(*asked.places.shape):
        seen = {int(k): int(asked.tokens[i, k]) for k in np.flatnonzero(asked.seen[i, j])}
        law = given(seen)
        for token in range(2):
            out[i, j, token] = sum((m for text, m in law.items() if text[asked.places[i, j]] == token), Fraction(0))
    return out


def filled(prompts: list[dict[int, int]], rule: ModuleType, **params: Any) -> list[dict[tuple[Text, int], Fraction]]:
    """The law of each text and its passes, of all of them filled together."""

    def program(which: list[int], forks: list[Fork]) -> list[tuple[Text, int]]:
        told = [prompts[i] for i in which]
        state = any_subset.start(3, len(which), given=told, **params)
        while (state.filled < 3).any():
            count = any_subset.uniforms(state, rule)
            u = np.concatenate([fork.uniforms(1, count) for fork in forks])
            state = any_subset.advance(state, rows(any_subset.ask(state)), rule, u)
        texts = [tuple(int(token) for token in text) for text in state.text]
        return list(zip(texts, state.passes.tolist(), strict=True))

    return laws(program, len(prompts))


@pytest.mark.parametrize("rule", [tokenwise, block], ids=["tokenwise", "block"])
@pytest.mark.parametrize("bonus", [True, False])
@pytest.mark.parametrize(("slots", "order"), [(1, None), (2, (2, 0, 1)), (3, None)])
def test_each_text_has_the_law_of_its_own_prompt(
    slots: int, order: tuple[int, ...] | None, bonus: bool, rule: ModuleType
) -> None:
    together = filled(PROMPTS, rule, slots=slots, order=order, bonus=bonus)
    for prompt, found in zip(PROMPTS, together, strict=True):
        texts: dict[Text, Fraction] = {}
        for (text, passes), mass in found.items():
            texts[text] = texts.get(text, Fraction(0)) + mass
            assert passes <= 3 - len(prompt) or (slots == 1 and not bonus)
        assert texts == given(prompt)
        assert found == filled([prompt], rule, slots=slots, order=order, bonus=bonus)[0]


def test_each_text_has_its_own_order_in_which_the_prompt_comes_first() -> None:
    state = any_subset.start(4, 3, order=(3, 1, 2, 0), given=[{}, {0: 5, 2: 6}, {3: 7}])
    assert (state.slots, state.bonus) == (5, True)
    assert state.order.tolist() == [[3, 1, 2, 0], [2, 0, 3, 1], [3, 1, 2, 0]]
    assert state.filled.tolist() == [0, 2, 1]
    assert state.text.tolist() == [[0, 0, 0, 0], [5, 0, 6, 0], [0, 0, 0, 7]]
    asked = any_subset.ask(state)
    assert asked.places[:, 0].tolist() == [3, 3, 1]
    assert [np.flatnonzero(seen).tolist() for seen in asked.seen[:, 0]] == [[], [0, 2], [3]]


@pytest.mark.parametrize(("bonus", "places"), [(True, 3), (False, 2)])
def test_a_second_pass_scores_one_place_more_for_the_bonus_alone(bonus: bool, places: int) -> None:
    state = any_subset.start(4, slots=2, bonus=bonus)
    drafted = any_subset.advance(state, np.full((1, 2, 2), 0.5), tokenwise, np.zeros((1, 2)))
    assert any_subset.ask(state).places.tolist() == [[0, 1]]
    assert any_subset.ask(drafted).places.tolist() == [list(range(places))]


def test_one_prompt_is_that_of_all_texts() -> None:
    one = any_subset.start(3, 2, given={1: 4})
    each = any_subset.start(3, 2, given=[{1: 4}, {1: 4}])
    assert one.order.tolist() == each.order.tolist() == [[1, 0, 2]] * 2
    assert one.text.tolist() == each.text.tolist() == [[0, 4, 0]] * 2
    assert one.filled.tolist() == each.filled.tolist() == [1, 1]


def on_coins(slots: int, bonus: bool, length: int = 4) -> Filled:
    """Coins that like to fall as the one before, the first of which is not fair."""

    def target(text: Text) -> list[Fraction]:
        if not text:
            return [Fraction(1, 4), Fraction(3, 4)]
        return [Fraction(3 if text[-1] == token else 1, 4) for token in range(2)]

    found = fill(target, "any_subset", length=length, params={"slots": slots, "bonus": bonus})
    assert found.law == text_law(target, length)
    return found


def test_passes_of_rounds_with_and_without_the_bonus() -> None:
    """Two passes a round: by hand, and never more with the bonus than without it."""
    assert on_coins(1, bonus=False).passes == 7  # two for each place, one for the last
    assert on_coins(1, bonus=True).passes == 4  # each round fills two places
    assert on_coins(2, bonus=False).passes == 4  # so does each of these
    for slots in (2, 3):
        assert on_coins(slots, bonus=True).passes <= on_coins(slots, bonus=False).passes
    # With two slots and the bonus a round fills three places, and leaves one, if the second draft is kept.
    # Its law is (3, 5) / 8 when it is drafted, and (3, 1) / 4 or (1, 3) / 4 when it is judged.
    kept = Fraction(1, 4) * Fraction(5, 8) + Fraction(3, 4) * Fraction(7, 8)
    assert on_coins(2, bonus=True).passes == kept * 3 + (1 - kept) * 4


BAD: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: any_subset.start(3, slots=0), ValueError, "slots must be at least 1, got 0"),
    (lambda: any_subset.start(3, order=(0, 1, 1)), ValueError, r"order \(0, 1, 1\) is no permutation of 0..2"),
    (lambda: any_subset.start(3, order=(0, 1)), ValueError, r"order \(0, 1\) is no permutation of 0..2"),
    (lambda: any_subset.start(3, order=(0, 1.5, 2)), TypeError, r"order\[1\] must be an integer"),
    (lambda: any_subset.start(3, given={3: 0}), ValueError, "given has place 3; places are 0..2"),
    (lambda: any_subset.start(3, given={-1: 0}), ValueError, "a place of given must be at least 0, got -1"),
    (lambda: any_subset.start(3, given=[{"a": 0}]), TypeError, r"a place of given\[0\] must be an integer, got 'a'"),
    (lambda: any_subset.start(3, given={1: -1}), ValueError, r"given\[1\] must be at least 0, got -1"),
    (lambda: any_subset.start(1, given={0: 1}), ValueError, "given fills all 1 places: nothing is left to decode"),
    (lambda: any_subset.start(3, given=[[1, 2]]), TypeError, r"given\[0\] must be a dict, got \[1, 2\]"),
    (lambda: any_subset.start(3, 2, given=[{}]), ValueError, "given holds 1 prompts for 2 texts"),
    (lambda: any_subset.start(3, 2, given=[]), ValueError, "given holds 0 prompts for 2 texts"),
    (lambda: any_subset.start(3, 2, given=[{}, {3: 0}]), ValueError, r"given\[1\] has place 3; places are 0..2"),
    (lambda: any_subset.start(1, 2, given=[{}, {0: 0}]), ValueError, r"given\[1\] fills all 1 places"),
    (lambda: fill([0.5, 0.5], "any_subset", length=2, params={"given": [{0: 1}]}), TypeError, "given must be a dict"),
]


@pytest.mark.parametrize(("call", "kind", "words"), BAD)
def test_what_is_no_prompt_is_refused(call: Callable[[], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        call()
