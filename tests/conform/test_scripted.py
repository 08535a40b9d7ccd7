"""Scripted randomness: the law of specsim's own forking, on unmodified programs; what it cannot follow, it refuses."""

from __future__ import annotations

import hashlib
import math
import os
import random as python_random
import secrets
import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest

from specsim import discover
from specsim.conform import Subject, judge, rules
from specsim.conform.calls import call, inputs
from specsim.conform.cases import standard
from specsim.conform.evidence import scripted
from specsim.exact import forking

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

            def program(fork: forking.Fork, p: Any = p, q: Any = q, tokens: Any = tokens, count: int = count) -> Any:
                u = fork.uniforms(count)
                if family == "step":
                    return (int(rule.verify(rule.prepare(p, q, len(tokens)), tokens, u)),)
                kept, token = rule.verify(rule.prepare(p, q), tokens, u)
                return (*tokens[: int(kept)].tolist(), int(token))

            exact: dict[Any, float] = {}
            for text, mass in forking.law(program).items():
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

    law = dict(enumerate(p.tolist()))
    halves = {(a, b): v * w for a, v in ((True, 0.5), (False, 0.5)) for b, w in ((True, 0.5), (False, 0.5))}
    quarters = {(a, b): v * w for a, v in ((True, 0.25), (False, 0.75)) for b, w in ((True, 0.25), (False, 0.75))}
    pairs = {(i, j): law[i] * law[j] / (1 - law[i]) for i in law for j in law if i != j}
    return {
        "race": (race, law),
        "gumbel": (gumbel, law),
        "accept": (accept, halves),
        "in_logarithms": (in_logarithms, {True: 0.5, False: 0.5}),
        "rows_again": (rows_again, quarters),
        "by_inverse": (by_inverse, law),
        "without_replacement": (without_replacement, pairs),
    }


@pytest.mark.parametrize(
    "name", ["race", "gumbel", "accept", "in_logarithms", "rows_again", "by_inverse", "without_replacement"]
)
def test_torch_programs(name: str) -> None:
    program, law = of_torch(pytest.importorskip("torch"))[name]
    found = scripted.law(program).law
    assert found.keys() == law.keys()
    for result, mass in law.items():
        assert found[result] == pytest.approx(mass, abs=1e-7)


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


def adds(random: Any) -> bool:
    return bool(random.random() + random.random() < 1)


def converts(random: Any) -> int:
    try:
        return int(float(random.random()) * 3)
    except Exception:  # a program that catches everything is not scored by what it falls back on
        return 0


def reflects(random: Any) -> bool:
    return bool(1 - random.random() < 0.25)


def sorts(random: Any) -> bool:
    return bool(max(random.random(), random.random()) < 0.25)


def normal(random: Any) -> bool:
    return bool(np.random.normal() < 0.25)  # noqa: NPY002 - what it must refuse


def seeded(random: Any) -> bool:
    return bool(np.random.default_rng(0).random() < 0.25)


def branches(random: Any) -> int:
    return 1 if random.random() else 0


def squares(random: Any) -> bool:
    return bool(np.sqrt(random.random(2))[0] < 0.25)


def sorts_an_array(random: Any) -> bool:
    return bool(np.sort(random.random(2))[1] < 0.25)


def reads_bits(random: Any) -> bool:
    return bool(struct.unpack("<q", struct.pack("<d", random.random()))[0] % 2)


def views_bits(random: Any) -> bool:
    try:
        return bool(random.random(2).view(np.uint64)[0] % 2)
    except TypeError:  # what a shape of that name would raise
        return True


def of_the_system(random: Any) -> bool:
    return bool(os.urandom(1)[0] % 2)


def of_secrets(random: Any) -> bool:
    return bool(secrets.randbelow(2))


def reads_words(random: Any) -> bool:
    return bool(hashlib.sha256(f"{random.random()}".encode()).digest()[0] % 2)


def seeds_a_generator(random: Any) -> bool:
    return bool(np.random.Generator(np.random.PCG64(int(random.random() * 2**32))).random() < 0.25)


def seeds_an_old_generator(random: Any) -> bool:
    return bool(np.random.RandomState(int(random.choice(64))).random_sample() < 0.25)


def in_a_thread(random: Any) -> bool:
    with ThreadPoolExecutor(1) as pool:
        return bool(pool.submit(random.random).result() < 0.25)


def in_a_thread_that_says_nothing(random: Any) -> bool:
    found: list[bool] = []

    def ask() -> None:
        try:
            found.append(random.random() < 0.25)
        except BaseException:
            found.append(True)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return found[0]


OLD, OLDER = np.random.default_rng(3), np.random.RandomState(3)
UNFORESEEN = [
    adds,
    converts,
    reflects,
    sorts,
    normal,
    seeded,
    branches,
    squares,
    sorts_an_array,
    reads_bits,
    views_bits,
    of_the_system,
    of_secrets,
    reads_words,
    seeds_a_generator,
    seeds_an_old_generator,
    in_a_thread,
    in_a_thread_that_says_nothing,
]


@pytest.mark.parametrize("program", UNFORESEEN)
def test_unforeseen_uses_are_refused(program: Callable[[Any], Any]) -> None:
    with pytest.raises(scripted.NotScriptable):
        scripted.law(program)


@pytest.mark.parametrize("name", ["second_view", "part", "maximum", "where", "two_races", "own_generator", "half"])
def test_unforeseen_uses_of_torch_are_refused(name: str) -> None:
    torch = pytest.importorskip("torch")

    def second_view(random: Any) -> bool:
        held = torch.empty(3)
        view = held[0]
        held.uniform_()
        return bool(view < 0.25)

    def part(random: Any) -> bool:
        held = torch.zeros(3)
        held[1:].uniform_()
        return bool(held[1] < 0.25)

    def maximum(random: Any) -> bool:
        return bool(torch.rand(2).max() < 0.25)

    def where(random: Any) -> bool:
        return bool(torch.where(torch.tensor([True]), torch.rand(1), 0.0)[0] < 0.25)

    def two_races(random: Any) -> tuple[int, int]:
        noise = torch.empty(2).exponential_()
        return int((torch.tensor([0.5, 0.5]) / noise).argmax()), int((torch.tensor([0.9, 0.1]) / noise).argmax())

    def own_generator(random: Any) -> bool:
        return bool(torch.rand(1, generator=torch.Generator().manual_seed(0)) < 0.25)

    def half(random: Any) -> bool:
        return bool(torch.rand(1).half() < 0.25)

    programs = (second_view, part, maximum, where, two_races, own_generator, half)
    with pytest.raises(scripted.NotScriptable):
        scripted.law({program.__name__: program for program in programs}[name])


def of_the_clock() -> float:
    return hashlib.blake2b(str(time.perf_counter_ns()).encode()).digest()[0] / 256


FOREIGN: dict[str, Callable[[], Any]] = {
    "old generator": lambda: OLD.random() < 0.5,
    "RandomState": lambda: OLDER.random_sample() < 0.5,
    "clock": lambda: of_the_clock() < 0.5,
}


@pytest.mark.parametrize("source", FOREIGN)
def test_other_randomness_is_not_reproducible(source: str) -> None:
    with pytest.raises(scripted.NotReproducible):
        scripted.law(lambda random: (random.choice(64, p=np.full(64, 1 / 64)), FOREIGN[source]()))


@pytest.mark.parametrize("source", FOREIGN)
def test_a_first_path_is_run_again(source: str) -> None:
    """One bit of somebody else's randomness is the same in two runs every other time."""
    with pytest.raises(scripted.NotReproducible):
        scripted.law(lambda random: FOREIGN[source](), replays=60)
    calls: list[int] = []
    assert scripted.law(lambda random: calls.append(random.choice(2, p=[0.5, 0.5])), replays=60).replays == 60
    assert (calls.count(0), calls.count(1)) == (62, 2)


def test_a_draw_kept_from_another_run_is_not_reproducible() -> None:
    kept: dict[str, bool] = {}

    def caches(random: Any) -> bool:
        if "coin" not in kept:
            kept["coin"] = random.random() < 0.25
        return kept["coin"]

    with pytest.raises(scripted.NotReproducible):
        scripted.law(caches)


def test_a_seed_of_the_programs_own_is_seen_whatever_was_there_before() -> None:
    torch = pytest.importorskip("torch")

    def seeds(random: Any) -> bool:
        torch.manual_seed(0)
        return bool(torch.rand(()) < 0.25)

    before = torch.get_rng_state()
    torch.manual_seed(0)
    try:
        with pytest.raises(scripted.NotScriptable):
            scripted.law(seeds)
    finally:
        torch.set_rng_state(before)


def step_with(coin: Callable[[Any], float], wrong: bool) -> Callable[..., int]:
    """Rejection of one draft, or a rule that asks for no law."""

    def run(p: Any, q: Any, drafts: Any, random: Any) -> int:
        x = int(drafts[0])
        u = coin(random)
        if wrong:
            return x if u < 0.5 else 0
        if u * q[x] <= p[x]:
            return x
        rest = (p - q).clip(0)
        return int(random.choice(len(p), p=rest / rest.sum()))

    return run


POOL = ThreadPoolExecutor(1)
COINS: dict[str, Callable[[Any], float]] = {
    "sorted": lambda random: np.sort(random.random(2))[1] ** 2,
    "bits": lambda random: struct.unpack("<d", struct.pack("<d", random.random()))[0],
    "words": lambda random: float(str(random.random())),
    "a seed": lambda random: np.random.Generator(np.random.PCG64(int(random.random() * 2**32))).random(),
    "a thread": lambda random: POOL.submit(random.random).result(),
    "RandomState": lambda random: OLDER.random_sample(),
    "the clock": lambda random: of_the_clock(),
    "the system": lambda random: os.urandom(1)[0] / 256,
    "secrets": lambda random: secrets.randbelow(997) / 997,
}


@pytest.mark.parametrize("coin", COINS)
def test_unforeseen_coins_are_never_mis_scored(coin: str) -> None:
    """A right rule is not convicted, a wrong one not acquitted: frequencies decide, and the report says why."""
    for wrong in (False, True):
        subject = Subject(coin, "step", step_with(COINS[coin], wrong), sizes=(1,))
        (verdict,) = judge(subject, budget=1, properties=["marginal"]).verdicts
        assert verdict.evidence in ("Monte Carlo", "none"), "none: a slow machine had no time for it"
        assert verdict.convicted is (wrong and verdict.evidence != "none")
        assert "not scripted" in verdict.words or wrong


def test_what_was_replaced_is_put_back() -> None:
    before = np.random.rand, python_random.random, np.random.default_rng
    with pytest.raises(ZeroDivisionError):
        scripted.law(lambda random: 1 // 0)
    assert (np.random.rand, python_random.random, np.random.default_rng) == before
