"""Errors at inputs that no case had: more tokens, other tiles, a fourth draft, rare residuals, long prompts."""

from __future__ import annotations

import io
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers.residuals import drawn, rest

from specsim.conform import SamplingParams, Subject, judge, judgement
from specsim.conform.evidence import montecarlo
from specsim.conform.observation import is_as_large, size_of
from specsim.conform.properties import _laws
from specsim.conform.standard_cases import standard
from specsim.conform.toys import LARGE
from specsim.forking.programs import scripted
from specsim.types import Array


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is shrunk, or compared with the museum."""
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)


def often(p: Array, q: Array, drafts: Array, random: Any, *, at: Any, keeps: float = 1.5) -> int:
    """A step that keeps some of the tokens too often."""
    x = int(drafts[0])
    if random.random() * q[x] <= p[x] * (keeps if at(x, len(p)) else 1):
        return x
    return drawn(random, rest(p, q))


ONLY = {
    "token 3": lambda x, vocab: x == 3,
    "token 6 of eight": lambda x, vocab: (x, vocab) == (6, 8),
    "from token 5 on": lambda x, vocab: x >= 5,
    "the second tile": lambda x, vocab: 128 <= x < 256,
    "the last token of the first tile": lambda x, vocab: x == 127,
    "the third tile": lambda x, vocab: x >= 256,
}


@pytest.mark.parametrize("at", ONLY)
def test_every_token_is_drafted_too_often_somewhere(at: str) -> None:
    """On five tokens only the last one was; and no vocabulary had a second tile."""
    run = partial(often, at=ONLY[at])
    report = judge(Subject(at, "step", run, sizes=(1,)), properties=["marginal"])
    assert (report.outcome, report.verdicts[0].evidence) == ("convicted", "scripted")


def test_a_target_may_be_even() -> None:
    """`lenient_where_flat` of the authors: no case had an even target and another draft."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        return often(p, q, drafts, random, at=lambda x, vocab: p.max() < 1.3 / vocab, keeps=np.inf)

    assert judge(Subject("flat", "step", run, sizes=(1,)), properties=["degenerate"]).outcome == "convicted"


@pytest.mark.parametrize("token", range(8))
def test_every_certain_draft_is_tested(token: int) -> None:
    def run(p: Array, q: Any, drafts: Array, random: Any) -> int:
        x = int(drafts[0])
        if random.random() <= p[x] * (1.5 if (x, len(p)) == (token, 8) else 1):
            return x
        return drawn(random, rest(p, np.eye(len(p))[x] * p[x]))

    subject = Subject("certain", "step", run, sizes=(1,), takes_q=False)
    assert judge(subject, properties=["marginal"]).outcome == "convicted"
    right = subject._replace(run=lambda p, q, drafts, random: drawn(random, p))
    assert judge(right, properties=["marginal"]).outcome == "lossless"


def without_rare(least: float, dtype: str) -> Subject:
    """A residual without tokens of less than some probability."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        p, q = p.astype(float) / p.astype(float).sum(), q.astype(float)
        x = int(drafts[0])
        if random.random() * q[x] < p[x]:
            return x
        left = (p - q).clip(0) * (p >= least)
        return drawn(random, left / left.sum() if left.any() else p)

    return Subject("rare", "step", run, dtype=dtype, sizes=(1,))


@pytest.mark.parametrize("least", [0.0, 5e-5, 1e-3])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_left_over_may_be_rare(least: float, dtype: str) -> None:
    """Small distances convict only in a larger budget."""
    found = judge(without_rare(least, dtype), properties=["degenerate"], budget=8)
    assert (found.outcome == "lossless") is not bool(least)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_left_over_and_rare_is_missed_in_a_whole_budget(dtype: str) -> None:
    assert judge(without_rare(1e-3, dtype), properties=["degenerate"]).outcome == "convicted"


def test_a_case_is_as_large_in_tokens_and_in_drafts() -> None:
    case = next(iter(standard(Subject("it", "chain", often, sizes=(2,)))))
    first, second = size_of(case)
    sizes = [(first, second), (first + 1, second), (first, second + 1)]
    assert [is_as_large(case, size) for size in sizes] == [True, False, False]


def test_a_case_that_takes_too_long_says_nothing_of_fewer_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripted, "MOST", 200)
    monkeypatch.setattr(montecarlo, "WANTED", 0.3)
    monkeypatch.setattr(montecarlo, "UNDECIDED", 0.3)

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        x = int(drafts[0])
        if len(p) == LARGE:
            print(*(bool(random.random() < 0.5) for _ in range(8)), file=io.StringIO())
        return x if random.random() * q[x] < p[x] else drawn(random, rest(p, q))

    found = judge(Subject("long", "step", run, sizes=(1,)), properties=["marginal", "degenerate"]).verdicts
    assert [(one.outcome, one.evidence) for one in found] == [("lossless", "Monte Carlo"), ("lossless", "scripted")]


@pytest.mark.parametrize("wrong", [False, True])
def test_the_fourth_draft(wrong: bool) -> None:
    """Sizes ended at three."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        for i, x in enumerate(drafts):
            if not (wrong and i == 3) and not random.random() * q[i, x] <= p[i, x]:
                return i, drawn(random, rest(p[i], q[i]))
        return len(drafts), drawn(random, p[-1])

    found = judge(Subject("fourth", "chain", run), properties=["joint"])
    assert found.outcome == ("convicted" if wrong else "lossless")
    assert "4 drafts" in found.verdicts[0].reach


@pytest.mark.parametrize("window", [0, 4, 7, 13, 20])
def test_a_context_that_is_cut(window: int) -> None:
    """Toys remembered three tokens, and prompts had two."""

    def run(target: Any, draft: Any, prompt: Any, n: int, sampling_params: SamplingParams, random: Any) -> Any:
        text: list[int] = []
        while len(text) < n:
            seen = [*prompt, *text][-window:]
            p, q = target(seen), draft(seen)
            x = drawn(random, q)
            text.append(x if random.random() * q[x] <= p[x] else drawn(random, rest(p, q)))
        return text

    found = judge(Subject("cut", "decoder", run, sizes=(1,)), properties=["joint"])
    assert found.outcome == ("convicted" if window else "lossless")
