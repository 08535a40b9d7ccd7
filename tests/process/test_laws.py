"""Whatever fills a text, its law is the target's: every branch followed, on random tables, in rationals, by ==."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from specsim import discover, fill, guarantee, text_law
from specsim.base.texts import host
from specsim.exact.process_branches import Joint
from specsim.exact.small_laws import rational_table
from specsim.forking import rational

SHAPES = ((2, 3), (3, 3), (2, 4))  # tokens and places
TABLES = 54  # every case meets every shape
CASES: dict[str, list[dict[str, Any]]] = {
    "left_to_right": [{"gamma": gamma} for gamma in (1, 2, 3, 0)],
    "jacobi": [
        {"window": window, "first": first, "width": 2} for window in (1, 2, 3) for first in ("left", "up", "uniform")
    ],
    "any_subset": [
        {"slots": slots, "bonus": bonus, "order": order}
        for slots in (1, 2, 3)
        for bonus in (False, True)
        for order in (None, (2, 0, 1), (1, 2, 0))
    ],
    "frames": [{"frames": frames} for frames in (1, 2, 3)],
}


def told(name: str, case: int, length: int) -> dict[str, Any]:
    """Parameters of a process; an order of three places is one of four by its last."""
    params = dict(CASES[name][case % len(CASES[name])])
    if params.get("order"):
        params["order"] = (*params["order"], *range(3, length))
    return params


def table(seed: int, vocab: int, length: int, which: int = 0) -> Any:
    return rational_table(np.random.default_rng([seed, vocab, length, which]), vocab, length - 1).__getitem__


def assert_kept(name: str, rule: str, seed: int, vocab: int, length: int, params: dict[str, Any]) -> None:
    target, draft = (table(seed, vocab, length, which) for which in (0, 1))
    told = {"draft": draft} if name == "left_to_right" else {}
    found = fill(target, name, length=length, rule=rule, params=params, **told)
    assert found.law == text_law(target, length), (seed, params)
    assert found.bias == 0
    assert 1 <= found.passes + (name == "frames") <= found.most + 1


def test_every_process_has_cases() -> None:
    assert set(CASES) == set(discover.names("process"))


@pytest.mark.parametrize("times", [1, 3])  # a shape each
@pytest.mark.parametrize("rule", ["tokenwise", "block"])
@pytest.mark.parametrize("name", CASES)
def test_the_law_is_the_targets(name: str, rule: str, times: int) -> None:
    for seed in range(len(CASES[name]) if times == 1 else TABLES):
        vocab, length = SHAPES[seed // len(CASES[name]) % len(SHAPES)]
        assert_kept(name, rule, seed, vocab, length, told(name, seed, length))


@pytest.mark.slow
@pytest.mark.parametrize("vocab", [2, 3])
@pytest.mark.parametrize("rule", ["tokenwise", "block"])
@pytest.mark.parametrize("name", CASES)
def test_the_law_is_the_targets_on_four_places(name: str, rule: str, vocab: int) -> None:
    for seed in range(50):
        assert_kept(name, rule, seed, vocab, 4, told(name, seed, 4))


@pytest.mark.parametrize("slots", [2, 3])
@pytest.mark.parametrize("bonus", [True, False])
def test_any_subset_takes_no_more_passes_than_tokens(slots: int, bonus: bool) -> None:
    """On every path; the first draft is kept, and a place that is left alone needs no judge."""
    for seed in range(12):
        (vocab, length), params = SHAPES[seed % 3], {"slots": slots, "bonus": bonus}
        assert fill(table(seed, vocab, length), "any_subset", length=length, params=params).most <= length
    alone = fill(table(0, 2, 3), "any_subset", length=3, params={"slots": 1, "bonus": False})
    assert alone.most == 5, "one draft a round costs two passes, the last place one"
    assert fill(table(0, 2, 3), "any_subset", length=3, params={"slots": 1}).most == 3


@pytest.mark.parametrize("order", [(2, 1, 0), (1, 0, 2), (0, 2, 1)])
def test_as_many_places_as_come_before_need_not_be_those(order: tuple[int, ...]) -> None:
    """In the order (2, 1, 0) place 1 is asked for with one place seen, which is not place 0."""
    for slots in (1, 2):
        assert_kept("any_subset", "tokenwise", 7, 2, 3, {"slots": slots, "bonus": True, "order": order})


def test_what_is_given_stays_and_the_rest_follows_it() -> None:
    target = table(3, 2, 4)
    goal = {text: weight for text, weight in text_law(target, 4).items() if text[2] == 1}
    for bonus in (True, False):
        found = fill(target, "any_subset", length=4, params={"given": {2: 1}, "slots": 2, "bonus": bonus})
        assert found.law == {text: weight / sum(goal.values()) for text, weight in goal.items()}
        assert found.bias == 0
        assert found.most <= 3


@pytest.mark.parametrize("name", CASES)
def test_states_alike_may_be_followed_together(name: str) -> None:
    """Law and passes are those of the whole program run once along every path, as `rational.law` does."""
    target, draft = table(1, 2, 3, 0), table(1, 2, 3, 1)
    models = {"target": Joint(target, 2, 3), "draft": Joint(draft, 2, 3)}
    process, rule, params = discover.find("process", name), discover.find("chain", "block"), told(name, 1, 3)

    def program(fork: rational.Fork) -> tuple[tuple[int, ...], int]:
        state = process.start(3, **params)
        while state.filled[0] < 3:
            asked = process.ask(state)
            u = fork.uniforms(1, process.uniforms(state, rule))
            state = process.advance(state, models[asked.model].rows(asked), rule, u)
        return tuple(host(state.text)[0].tolist()), int(state.passes[0])

    law: dict[tuple[int, ...], Fraction] = {}
    passes = Fraction(0)
    for (text, number), weight in rational.law(program).items():
        law[text], passes = law.get(text, Fraction(0)) + weight, passes + number * weight
    found = fill(target, name, length=3, rule="block", draft=draft, params=params)
    assert (found.law, found.passes) == (law, passes)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("rule", ["tokenwise", "block", "rejection"])
def test_the_verdict_is_lossless(name: str, rule: str) -> None:
    verdict = guarantee(rule, process=name)
    assert verdict.lossless
    assert verdict.cases == 3 * len(discover.process_cases(discover.find("process", name)))
    assert verdict.reason.endswith(f"in general by {discover.find('process', name).THEOREM}")
