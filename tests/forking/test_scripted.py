"""Scripted randomness: the law of specsim's own forking, on unmodified programs; what it cannot follow, it refuses."""

from __future__ import annotations

import contextlib
import math
import random as python_random
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from specsim import discover
from specsim.conform import rules
from specsim.conform.standard_cases import standard
from specsim.conform.subject_call import call, inputs
from specsim.forking import rational
from specsim.forking.programs import scripted, shared_generators

FORKED = [
    (family, name)
    for family in ("step", "chain")
    for name, rule in discover.rules(family).items()
    if rule.EXACT and not discover.facts(rule).continuation and name not in ("optimal", "importance")
]


@pytest.mark.parametrize(("family", "name"), FORKED)
def test_our_rules_have_the_law_of_forking(family: str, name: str) -> None:
    """`optimal` and `importance` subtract uniforms, or take long: tests/conform/test_judge.py has them."""
    rule = discover.find(family, name)
    subject = rules.subject(rule)._replace(sizes=(2,) if 2 in (discover.facts(rule).counts or (2,)) else (1,))
    for case in list(standard(subject))[:1]:
        for given in inputs(subject, case)[:4]:
            found = scripted.law(partial(call, subject, case, given)).law
            assert given.tree is not None
            assert subject.coins is not None
            p, q = given.p if family == "chain" else given.p[0], given.q[:-1] if family == "chain" else given.q[0]
            count, tokens = subject.coins(case.size), np.asarray(given.tree.tokens)

            def program(fork: rational.Fork, p: Any = p, q: Any = q, tokens: Any = tokens, count: int = count) -> Any:
                u = fork.uniforms(count)
                if family == "step":
                    return (int(rule.verify(rule.prepare(p, q, len(tokens)), tokens, u)),)
                kept, token = rule.verify(rule.prepare(p, q), tokens, u)
                return (*tokens[: int(kept)].tolist(), int(token))

            exact: dict[Any, float] = {}
            for text, mass in rational.law(program).items():
                exact[text] = exact.get(text, 0.0) + float(mass)
            ours: dict[Any, float] = {}
            for answer, mass in found.items():
                ours[answer.text] = ours.get(answer.text, 0.0) + mass
            for text in exact.keys() | ours.keys():
                assert ours.get(text, 0.0) == pytest.approx(exact.get(text, 0.0), abs=1e-12)


def of_torch(torch: Any) -> dict[str, tuple[Callable[[Any], Any], dict[Any, float]]]:
    """Programs that use torch's random numbers as verifiers do, and their laws by hand."""
    p, q = torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64), torch.tensor([0.25, 0.5, 0.25], dtype=torch.float64)

    def race(random: Any) -> Any:
        noise = torch.empty_like(p)
        noise.exponential_()
        return int(p.clone().div_(noise).argmax())

    def shared_race(random: Any) -> Any:
        """x / (x + y) is uniform on [0, 1]: the first wins one race below 0.5, the other below 0.9."""
        inverse = torch.empty(2).exponential_().reciprocal()
        return tuple((torch.tensor([[0.5, 0.5], [0.9, 0.1]]) * inverse).argmax(-1).tolist())

    def race_without_one(random: Any) -> Any:
        scores = p * torch.empty_like(p).exponential_().reciprocal()
        return int(scores.scatter_(-1, torch.tensor([1]), 0.0).argmax())

    def gumbel(random: Any) -> Any:
        return int((p.log() - torch.log(-torch.log(torch.rand(3)))).argmax())

    def accept(random: Any) -> Any:
        u = torch.rand(1, 2)
        return tuple((u * q[1:] <= torch.tensor([[0.25, 0.125]])).flatten().tolist())

    def in_logarithms(random: Any) -> Any:
        return bool(torch.log(torch.rand(())) + q[1].log() < p[1].log())

    def rows_again(random: Any) -> Any:
        u = torch.empty(2).uniform_()
        u[1:].uniform_()
        return tuple((u < 0.25).tolist())

    def by_inverse(random: Any) -> Any:
        return int(torch.searchsorted(p.cumsum(0), torch.rand(1, dtype=torch.float64)))

    def without_replacement(random: Any) -> Any:
        return tuple(torch.multinomial(p, 2).tolist())

    def methods(random: Any) -> Any:
        u = torch.rand(2)
        return tuple(u.mul(0.5).lt(0.25).tolist()) if u[0].ge(0.0) else ()

    law = dict(enumerate(p.tolist()))
    halves = {(a, b): v * w for a, v in ((True, 0.5), (False, 0.5)) for b, w in ((True, 0.5), (False, 0.5))}
    quarters = {(a, b): v * w for a, v in ((True, 0.25), (False, 0.75)) for b, w in ((True, 0.25), (False, 0.75))}
    pairs = {(i, j): law[i] * law[j] / (1 - law[i]) for i in law for j in law if i != j}
    return {
        "race": (race, law),
        "shared_race": (shared_race, {(0, 0): 0.5, (1, 0): 0.4, (1, 1): 0.1}),
        "race_without_one": (race_without_one, {0: 2 / 3, 2: 1 / 3}),
        "gumbel": (gumbel, law),
        "accept": (accept, halves),
        "in_logarithms": (in_logarithms, {True: 0.5, False: 0.5}),
        "rows_again": (rows_again, quarters),
        "by_inverse": (by_inverse, law),
        "without_replacement": (without_replacement, pairs),
        "methods": (methods, halves),
    }


NAMES = (
    "race shared_race race_without_one gumbel accept in_logarithms rows_again by_inverse without_replacement methods"
)


@pytest.mark.parametrize("name", NAMES.split())
def test_torch_programs(name: str) -> None:
    program, law = of_torch(pytest.importorskip("torch"))[name]
    found = scripted.law(program).law
    assert found.keys() == law.keys()
    for result, mass in law.items():
        assert found[result] == pytest.approx(mass, abs=1e-7)


def test_trials_integers_and_gumbels_are_followed() -> None:
    """`multinomial_counts` and `four_levels` of the authors: frequencies took longer than a budget."""

    def trial(random: Any) -> Any:
        return tuple(np.random.binomial(1, [0.25, 1.0])), int(random.binomial(1, 0.5))  # noqa: NPY002

    def level(random: Any) -> Any:
        level = np.random.randint(4)  # noqa: NPY002
        return level, int(random.integers(1, 3)), python_random.randint(1, 2), python_random.randrange(2)

    def gumbel(random: Any) -> Any:
        return int(np.argmax(np.log([0.5, 0.25, 0.25]) + random.gumbel(size=3)))

    halves = {1: 0.5, 0: 0.5}
    assert scripted.law(trial).law == {((a, 1), b): v * 0.5 for a, v in ((1, 0.25), (0, 0.75)) for b in halves}
    found = scripted.law(level).law
    assert found == {(a, b, c, d): 1 / 32 for a in range(4) for b in (1, 2) for c in (1, 2) for d in (0, 1)}
    assert scripted.law(gumbel).law == {0: 0.5, 1: 0.25, 2: 0.25}


@pytest.mark.parametrize(
    "program",
    [
        lambda random: random.binomial(2, 0.5),
        lambda random: random.integers(2**31),
        lambda random: random.integers(0, 2, size=3),
        lambda random: random.gumbel(0.5, 1.0, 3),
    ],
)
def test_other_trials_are_refused(program: Callable[[Any], Any]) -> None:
    with pytest.raises(scripted.NotScriptable):
        scripted.law(program)


def test_numpy_and_python_programs() -> None:
    def program(random: Any) -> Any:
        one = np.random.default_rng().choice(3, p=[0.5, 0.25, 0.25])
        two = bool(python_random.random() * 2 < 0.5)
        three = python_random.choices("ab", weights=[1, 3])[0]
        four = int(np.searchsorted(np.cumsum([0.5, 0.5]), random.random()))
        return one, two, three, four

    found = scripted.law(program)
    assert found.leaves == 24
    assert math.fsum(found.law.values()) == pytest.approx(1, abs=1e-12)
    assert found.law[0, True, "a", 0] == pytest.approx(0.5 * 0.25 * 0.25 * 0.5, abs=1e-12)


def test_one_minus_a_uniform_is_the_other_side_of_it() -> None:
    """Comparisons of u and of 1 - u hang together; what races over one may not race over the other."""

    def sides(random: Any) -> Any:
        u = random.random()
        return u < 0.3, 1 - u < 0.3, 1.0 - u >= 0.5

    def race(random: Any) -> Any:
        return int((np.log([0.5, 0.3, 0.2]) - np.log(-np.log(1 - random.random(3)))).argmax())

    def two_races(random: Any) -> Any:
        u, scores = random.random(3), np.log([0.5, 0.3, 0.2])
        return int((scores - np.log(-np.log(1 - u))).argmax()), int((scores - np.log(-np.log(u))).argmax())

    law = {(True, False, True): 0.3, (False, False, True): 0.2, (False, False, False): 0.2, (False, True, False): 0.3}
    assert scripted.law(sides).law == pytest.approx(law)
    assert scripted.law(race).law == pytest.approx({0: 0.5, 1: 0.3, 2: 0.2})
    with pytest.raises(scripted.NotScriptable, match="one exponential in two races"):
        scripted.law(two_races)


def test_a_uniform_rounded_to_an_integer_is_one_of_few() -> None:
    """As `int(u * n)` and `floor` do it, of which the last integer may have a smaller share."""
    thirds = pytest.approx({0: 1 / 3, 1: 1 / 3, 2: 1 / 3})
    assert scripted.law(lambda random: int(random.random() * 3)).law == thirds
    assert scripted.law(lambda random: int((random.random(2) * 3).astype(int)[1])).law == thirds
    assert scripted.law(lambda random: float(np.floor(random.random(1) * 3)[0])).law == thirds
    assert scripted.law(lambda random: math.floor(2.5 * random.random())).law == pytest.approx({0: 0.4, 1: 0.4, 2: 0.2})


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (lambda random: 0.5 - random.random(), "subtracted, but not from 1"),
        (lambda random: 1 - 2 * random.random(), "subtracted, but not from 1"),
        (lambda random: int(random.random() * 100), "rounded to an integer, of more than 64"),
        (lambda random: random.random() ** 2, "taken a power of"),
        (lambda random: random.random() == 0.5, "tested for equality"),
    ],
)
def test_what_is_not_followed_is_refused_in_words(program: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(scripted.NotScriptable, match=f"uniforms: {words}"):
        scripted.law(program)


def test_races_over_the_same_exponentials() -> None:
    """Against draws: the law of several winners; each alone has its own weights, whatever the others have."""
    weights = np.array([[0.5, 0.3, 0.2, 0.1], [0.0, 0.5, 0.3, 0.2], [0.1, 0.1, 0.1, 0.7]])
    found = scripted.law(lambda random: tuple((weights / random.exponential(size=4)).argmax(-1).tolist())).law
    for race, row in enumerate(weights):
        alone = [math.fsum(mass for winners, mass in found.items() if winners[race] == i) for i in range(4)]
        assert alone == pytest.approx(row / row.sum(), abs=1e-12)
    drawn = (weights / np.random.default_rng(0).exponential(size=(100_000, 1, 4))).argmax(-1)
    counts = Counter(map(tuple, drawn.tolist()))
    assert sum(abs(found.get(key, 0) - counts[key] / 100_000) for key in found.keys() | counts.keys()) / 2 < 0.01


def test_what_was_replaced_is_put_back() -> None:
    before = np.random.rand, python_random.random, np.random.default_rng
    with pytest.raises(ZeroDivisionError):
        scripted.law(lambda random: 1 // 0)
    assert (np.random.rand, python_random.random, np.random.default_rng) == before


@pytest.mark.parametrize("fails", [False, True])
def test_the_generators_of_a_process_go_on_where_they_were(fails: bool) -> None:
    """Judging somebody's verifier in one's own program changes none of its draws, also if the verifier raises."""

    def program(random: Any) -> int:
        if fails:
            raise KeyError("its own error")
        return int(random.random() < 0.5)

    before = shared_generators.states()
    with pytest.raises(KeyError) if fails else contextlib.nullcontext():
        assert scripted.law(program).law == {0: 0.5, 1: 0.5}
    assert shared_generators.alike(before, shared_generators.states())
