"""A coin that is exactly 0, or the largest number below 1: no token of probability 0 comes out, whoever draws it."""

from __future__ import annotations

import random as python_random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from specsim.base import clock
from specsim.conform import Subject, judge, judgement
from specsim.conform.cases import make
from specsim.conform.evidence import ends
from specsim.conform.evidence._counter import End
from specsim.conform.properties import _ends
from specsim.conform.toys import plain
from specsim.conform.trial import begin
from specsim.types import Array

LOWEST, HIGHEST = "is exactly 0", "is 1 - ulp, the largest number below 1"
Coin = Callable[[], Any]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody who is convicted is compared with the museum."""
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)


def chain(p: Array, q: Array, drafts: Array, coin: Coin, wrong: str) -> tuple[int, int]:
    """Tokenwise rejection, of which every draw is a uniform; `wrong` at an end of one of them, and nowhere else."""

    def place(law: Array) -> int:
        ends = (law / law.sum()).cumsum()
        u = coin() if wrong == "not scaled" else coin() * ends[-1]
        return int(sum(bool(u > end) if wrong == "from the left" else not bool(u < end) for end in ends))

    for i, x in enumerate(drafts):
        u = coin()
        if not (u * q[i, x] <= p[i, x] if wrong == "not strict" else u * q[i, x] < p[i, x]):
            rest = (p[i] - q[i]).clip(0)
            return i, place(rest if rest.any() else p[i])
    return len(drafts), place(p[-1])


def generator(wrong: str) -> Any:
    return lambda p, q, drafts, random: chain(p, q, drafts, random.random, wrong)


def of_numpy(wrong: str) -> Any:
    return lambda p, q, drafts: chain(p, q, drafts, np.random.rand, wrong)


def of_python(wrong: str) -> Any:
    return lambda p, q, drafts: chain(p, q, drafts, python_random.random, wrong)


def of_torch(wrong: str) -> Any:
    import torch

    return lambda p, q, drafts: chain(p.numpy(), q.numpy(), drafts, lambda: torch.rand((), dtype=p.dtype), wrong)


def as_coins(wrong: str) -> Any:
    def run(p: Array, q: Array, drafts: Array, u: Array) -> tuple[int, int]:
        ahead = iter(u)
        return chain(p, q, drafts, lambda: next(ahead), wrong)

    return run


SOURCES: dict[str, tuple[Any, dict[str, Any]]] = {
    "generator": (generator, {}),
    "numpy": (of_numpy, {"randomness": "global"}),
    "python": (of_python, {"randomness": "global"}),
    "torch": (of_torch, {"randomness": "global", "arrays": "torch"}),
    "coins": (as_coins, {"randomness": "coins"}),
    "float32 coins": (as_coins, {"randomness": "coins", "dtype": "float32"}),
}
WRONG = {"": "", "not strict": LOWEST, "from the left": LOWEST, "not scaled": HIGHEST}


FEW = ("generator", "coins")  # of errors that no type or library makes another


@pytest.mark.parametrize(
    ("wrong", "source"),
    [(wrong, source) for wrong in WRONG for source in (SOURCES if wrong in ("", "not strict") else FEW)],
)
def test_no_token_of_probability_0_comes_out_at_an_end(wrong: str, source: str) -> None:
    """The documentation's own example once was: it kept a draft at `u * q <= p`."""
    made, facts = SOURCES[source]
    if facts.get("arrays") == "torch":
        pytest.importorskip("torch")
    subject = Subject("mine", "chain", made(wrong), sizes=(1,), **facts)
    (found,) = judge(subject, properties=["degenerate"]).verdicts
    outcome = "convicted" if source.endswith("coins") else "measured"
    assert found.outcome == (outcome if wrong else "lossless"), found.words
    assert WRONG[wrong] in found.words
    if wrong:
        assert found.evidence == "one call"
        assert re.search(r", (which has probability 0|outside the vocabulary \(V = \d\)), comes out", found.words)
        assert found.counterexample is not None
        assert found.counterexample.expected == {found.counterexample.outcome: 0.0}
        assert found.words.startswith(f"token {found.counterexample.outcome[-1]},")
    else:
        assert found.reach.endswith("coins at 0 and at 1 - ulp")


def step(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """Several candidates; a rejected one is kept where its coin is 0."""
    for x in drafts.tolist():
        if random.random() * q[x] <= p[x]:
            return int(x)
        p = (p - q).clip(0)
        p = p / p.sum()
    return int(random.choice(len(p), p=p))


def tree(p: Array, q: Array, drafted: Any, random: Any) -> tuple[list[int], int]:
    x = int(drafted.tokens[0])
    if random.random() * q[0, x] <= p[0, x]:
        return [0], int(random.choice(p.shape[1], p=p[1]))
    rest = (p[0] - q[0]).clip(0)
    return [], int(random.choice(p.shape[1], p=rest / rest.sum()))


def decoder(target: Any, draft: Any, prompt: Any, n: int, sampling_params: Any, random: Any) -> list[int]:
    text = list(prompt)
    while len(text) < len(prompt) + n:
        p, q = target(text), draft(text)
        x = int(random.choice(len(q), p=q))
        rest = (p - q).clip(0)
        kept = random.random() * q[x] <= p[x]
        text.append(x if kept else int(random.choice(len(p), p=rest / rest.sum())))
    return text[len(prompt) :]


@pytest.mark.parametrize(("kind", "run"), [("step", step), ("tree", tree), ("decoder", decoder)])
def test_every_kind_is_run_at_the_ends(kind: Any, run: Any) -> None:
    (found,) = judge(Subject("mine", kind, run, sizes=(1,), shapes=((-1,),)), properties=["degenerate"]).verdicts
    assert (found.outcome, found.evidence) == ("measured", "one call")
    assert LOWEST in found.words
    assert found.words.endswith("once in 2^53 draws")


def test_what_is_declared_lossy_is_priced() -> None:
    subject = Subject("mine", "step", step, sizes=(1,), lossless=False)
    assert judge(subject, properties=["degenerate"]).outcome == "lossy by design"


def test_what_breaks_at_an_end_says_where() -> None:
    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        x, rest = int(drafts[0]), (p - q).clip(0)
        if random.random() * q[x] < p[x]:
            return x
        if random.random() <= 0:
            raise ZeroDivisionError("the logarithm of 0")
        return int(random.choice(len(p), p=rest / rest.sum()))

    (found,) = judge(Subject("mine", "step", run, sizes=(1,)), properties=["degenerate"]).verdicts
    assert found.outcome == "measured"
    assert "the logarithm of 0, where coin 2 is exactly 0" in found.words


@pytest.mark.parametrize("upper", [False, True])
def test_each_uniform_is_at_its_end_once(upper: bool) -> None:
    """Of whatever library, shape and type; it is a number that the type holds, and the library may draw."""
    torch = pytest.importorskip("torch")

    def program(random: Any) -> list[float]:
        drawn = [
            random.random(),
            *random.random((1, 2)).ravel(),
            random.uniform(0, 2) / 2,
            *random.random(2, np.float32),
        ]
        drawn += [*np.random.rand(2), np.random.uniform(), python_random.random()]  # noqa: NPY002
        drawn += [*torch.rand(2), torch.rand((), dtype=torch.float64), *torch.rand_like(torch.zeros(2))]
        drawn += [*torch.empty(2).uniform_(), torch.rand((), dtype=torch.bfloat16), np.random.default_rng().random()]
        return [float(u) for u in drawn]

    before = np.random.random, python_random.random, np.random.default_rng
    with ends.trial(0) as run:
        values, count = run(program, None)
        assert len(values) == count == 19
        assert all(0 < u < 1 for u in values)
        for place in range(count):
            found, _ = run(program, End(place, upper))
            assert ends.highest(8) <= found[place] < 1 if upper else found.index(0.0) == place
    assert (np.random.random, python_random.random, np.random.default_rng) == before


def test_both_ends_of_every_coin_are_tried() -> None:
    """A token of probability 0 that only one end of one of three coins brings out."""
    for place in range(3):
        for upper in (False, True):

            def run(p: Array, q: Array, drafts: Array, u: Array, place: int = place, upper: bool = upper) -> int:
                at_end = u[place] == ends.highest(53) if upper else u[place] == 0
                return int(p.argmin() if at_end else p.argmax())

            subject = Subject("mine", "step", run, randomness="coins", coins=lambda _: 3, sizes=(1,))
            trial = begin(subject, deadline=clock.now() + 60, patience=60, delta=1e-6, seed=0)
            case = make(subject, plain(("1/2", "0", "1/2")), plain(("1/3", "1/3", "1/3")), 1, "zeros in p")
            found, _ = _ends.first(subject, trial, [case])
            assert found is not None
            assert found.end == End(place, upper)


def short_arithmetic(where: str) -> Any:
    """A step that is declared float64, and computes one thing in float32."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        x, u, single = int(drafts[0]), random.random(), np.float32
        if single(u) * single(q[x]) < single(p[x]) if where == "the test" else u * q[x] < p[x]:
            return x
        rest = (p - q).clip(0)
        rest = rest / rest.sum()
        if where == "the sum":
            return int(np.searchsorted(rest.astype(single).cumsum(), single(random.random()), side="right"))
        if where == "the logarithm" and not np.isfinite(np.log(single(1) - single(random.random()))):
            raise ValueError("the logarithm of 0")
        return int(random.choice(len(p), p=rest))

    return run


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("where", ["the test", "the sum", "the logarithm"])
def test_how_often_is_counted_in_the_subject_s_own_arithmetic(where: str) -> None:
    """The half of 2^-24 rounds to 1: that is once in 2^25 draws, and "once in 2^53" was said."""
    subject = Subject("short", "step", short_arithmetic(where), sizes=(1,))
    case = make(subject, plain(("0", "1/2", "1/2")), plain(("1", "0", "0")), 1, "apart")
    if where == "the test":
        case = make(subject, plain(("1/2", "1/4", "1/4")), plain(("1/2", "1/4", "1/4")), 1, "p = q")
    trial = begin(subject, deadline=clock.now() + 60, patience=60, delta=1e-6, seed=0)
    found, _ = _ends.first(subject, trial, [case])
    assert found is not None
    assert found.end.upper
    verdict = _ends.verdict_at_end(subject, found, 0)
    assert verdict.outcome == "measured"
    assert verdict.words.endswith(": once in 2^25 draws")
    assert verdict.distance == pytest.approx(2.0**-25)


@pytest.mark.parametrize(("dtype", "draws"), [("float64", 53), ("float32", 24)])
def test_how_often_is_of_the_generator_s_own_numbers(dtype: str, draws: int) -> None:
    """A subject of float32 whose generator gives float64 draws 0 once in 2^53, not in 2^24."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        return int(p.argmin() if random.random(dtype=dtype) <= 0 else p.argmax())

    subject = Subject("mine", "step", run, sizes=(1,), dtype="float32")
    case = make(subject, plain(("1/2", "0", "1/2")), plain(("1/3", "1/3", "1/3")), 1, "zeros in p")
    trial = begin(subject, deadline=clock.now() + 60, patience=60, delta=1e-6, seed=0)
    found, _ = _ends.first(subject, trial, [case])
    assert found is not None
    assert found.share == 2.0**-draws


@pytest.mark.parametrize("token", [3, 4, -1, 1])
def test_a_token_outside_the_vocabulary_is_called_so(token: int) -> None:
    """Token V, where a sum falls off its end, was said to have probability 0: there is no such token."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        return token if random.random() >= ends.highest(53) else int(p.argmax())

    subject = Subject("mine", "step", run, sizes=(1,))
    case = make(subject, plain(("1/2", "0", "1/2")), plain(("1/3", "1/3", "1/3")), 1, "zeros in p")
    trial = begin(subject, deadline=clock.now() + 60, patience=60, delta=1e-6, seed=0)
    found, _ = _ends.first(subject, trial, [case])
    assert found is not None
    what = "which has probability 0" if token == 1 else "outside the vocabulary (V = 3)"
    assert _ends.verdict_at_end(subject, found, 0).words.startswith(f"token {token}, {what}, comes out")
