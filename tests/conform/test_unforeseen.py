"""What a script cannot follow, it refuses: no program that uses its randomness in an unforeseen way is mis-scored."""

from __future__ import annotations

import hashlib
import os
import secrets
import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from specsim.conform import Subject, judge
from specsim.forking.programs import scripted


def adds(random: Any) -> bool:
    return bool(random.random() + random.random() < 1)


def converts(random: Any) -> int:
    try:
        return int(float(random.random()) * 3)
    except Exception:  # a program that catches everything is not scored by what it falls back on
        return 0


def reflects(random: Any) -> bool:
    return bool(0.75 - random.random() < 0.25)


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


@pytest.mark.parametrize("name", ["second_view", "part", "maximum", "where", "overlapping", "own_generator", "half"])
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

    def overlapping(random: Any) -> tuple[int, int]:
        noise = torch.empty(3).exponential_()
        halves = torch.tensor([0.5, 0.5])
        return int((halves / noise[:2]).argmax()), int((halves / noise[1:]).argmax())

    def own_generator(random: Any) -> bool:
        return bool(torch.rand(1, generator=torch.Generator().manual_seed(0)) < 0.25)

    def half(random: Any) -> bool:
        return bool(torch.rand(1).half() < 0.25)

    programs = (second_view, part, maximum, where, overlapping, own_generator, half)
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
        if u * q[x] < p[x]:
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
        assert "not scripted" in verdict.words or "not reproducible" in verdict.words or wrong
