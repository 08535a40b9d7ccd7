"""Rounds: what is carried from one to the next, though each of them is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from specsim.conform import Model, SamplingParams, Subject, judge, likeness
from specsim.conform.evidence import montecarlo
from specsim.conform.properties import _laws
from specsim.types import Array


@pytest.fixture(autouse=True)
def unshrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(likeness, "names", lambda folder: [])


def rest(p: Array, q: Array) -> Array:
    left = (p - q).clip(0)
    return left / left.sum()


def chain(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    """Tokenwise rejection."""
    for i, x in enumerate(drafts):
        if not random.random() * q[i, x] < p[i, x]:
            return i, random.choice(p.shape[1], p=rest(p[i], q[i]))
    return len(drafts), random.choice(p.shape[1], p=p[-1])


def stateful(wrong: str) -> Callable[[], Callable[..., Any]]:
    """The same, which remembers: nothing, the residual, the coins, the row of the bonus, or how often it was called."""

    def begin() -> Callable[..., Any]:
        kept: dict[str, Any] = {"calls": 0}

        def run(p: Array, q: Array, drafts: Array, random: Any) -> Any:
            kept["calls"] += 1
            u = kept.setdefault("coin", random.random()) if wrong == "coins" else random.random()
            if wrong == "third" and kept["calls"] > 2:
                return len(drafts), int(drafts[0])
            if u * q[0, drafts[0]] < p[0, drafts[0]]:
                law = kept.setdefault("row", p[1]) if wrong == "row" else p[1]
                return 1, random.choice(len(law), p=law)
            left = rest(p[0], q[0])
            return 0, random.choice(len(left), p=kept.setdefault("rest", left) if wrong == "residual" else left)

        return run

    return begin


@pytest.mark.parametrize("wrong", ["", "residual", "coins", "row", "third"])
def test_a_chain_that_remembers(wrong: str) -> None:
    """Each round by itself is right."""
    subject = Subject("remembers", "chain", stateful(wrong), sizes=(1,), stateful=True)
    found = judge(subject, properties=["joint", "degenerate", "rounds"])
    outcomes = {v.property: v.outcome for v in found.verdicts}
    last = "convicted" if wrong else "lossless"
    assert outcomes == {"joint": "lossless", "degenerate": "lossless", "rounds": last}
    assert {v.evidence for v in found.verdicts} == {"scripted"}
    assert ("over 2 rounds" in found.verdicts[-1].words) is (last == "convicted")
    said = {"coins": "random numbers are used again", "residual": "used in the next", "row": "used in the next"}
    assert said.get(wrong, "") in found.verdicts[-1].words


HELD: dict[str, Any] = {}


def remembers_for_ever(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    """Its memory outlives the text, so that two runs along one path differ: frequencies decide."""
    HELD["calls"] = HELD.get("calls", 0) + 1
    if HELD["calls"] % 2 == 0:
        return len(drafts), int(drafts[0])
    return chain(p, q, drafts, random)


@pytest.mark.parametrize("rule", [chain, remembers_for_ever])
def test_rounds_by_frequencies(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(montecarlo, "WANTED", 0.5)  # a first look, which sees a large error only
    monkeypatch.setattr(montecarlo, "UNDECIDED", 0.5)

    def hidden(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        return rule(p, q, drafts, np.random.Generator(np.random.PCG64(int(float(random.random()) * 2**53))))

    (found,) = judge(Subject("hidden", "chain", hidden, sizes=(1,)), budget=60, properties=["rounds"]).verdicts
    assert (found.outcome, found.evidence) == ("lossless" if rule is chain else "convicted", "Monte Carlo")


def step(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    return random.choice(len(p), p=p)


def tree(p: Array, q: Array, tree: Any, random: Any) -> Any:
    return [], random.choice(p.shape[1], p=p[0])


def untested(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    return 0, random.choice(p.shape[1], p=p[0])


@pytest.mark.parametrize(("kind", "run"), [("step", step), ("tree", tree), ("chain", untested)])
def test_what_says_that_it_remembers_is_asked(kind: Any, run: Any) -> None:
    """Two runs along a path of the others agreed."""
    subject = Subject("plain", kind, run, sizes=(1,), shapes=((-1, -1),))
    (found,) = judge(subject, properties=["rounds"]).verdicts
    assert (found.outcome, "stateful" in found.words) == ("not available", True)

    def begin() -> Any:
        held: list[int] = []

        def again(*told: Any) -> Any:
            answer = run(*told)
            held.append(answer if kind == "step" else answer[1])
            return held[0] if kind == "step" else (answer[0], held[0])

        return again

    for what, outcome in ((lambda: run, "lossless"), (begin, "convicted")):
        assert judge(subject._replace(run=what, stateful=True), properties=["rounds"]).outcome == outcome


def decoder(late: bool) -> Any:
    """Blocks of one draft; the second round reads the target one position early, if it is late."""

    def run(
        target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
    ) -> tuple[int, ...]:
        text, rounds = tuple(prompt), 0
        while len(text) < len(prompt) + n:
            rounds += 1
            seen = text[:-1] if late and rounds == 3 else text
            p, q = target(seen), draft(text)
            x = int(random.choice(len(q), p=q))
            kept = random.random() * q[x] < p[x]
            text = (*text, x if kept else int(random.choice(len(q), p=rest(p, q))))
        return text[len(prompt) :]

    return run


@pytest.mark.parametrize(("late", "outcome"), [(False, "lossless"), (True, "convicted")])
def test_a_decoder_is_asked_for_more_than_a_block(late: bool, outcome: str) -> None:
    """A third position that is wrong is beyond the joint law of a block of one draft."""
    found = judge(Subject("decoder", "decoder", decoder(late), sizes=(1,)), properties=["joint", "rounds"])
    assert [v.outcome for v in found.verdicts] == ["lossless", outcome]


def one_block(late: bool) -> Any:
    def run(target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any) -> Any:
        q = draft(prompt)
        x = int(random.choice(len(q), p=q))
        kept, token = chain(target.rows((*prompt, x), len(prompt) - (late and len(prompt) == 1)), q[None], [x], random)
        return [x, token][1 - kept :]

    return run


@pytest.mark.parametrize(("late", "outcome"), [(False, "lossless"), (True, "convicted")])
def test_a_block_decoder_goes_on_from_its_own_text(late: bool, outcome: str) -> None:
    """The first round has no prompt; the second is told what the first wrote, which may be one token."""
    subject = Subject("block", "decoder", one_block(late), sizes=(1,), block=True)
    found = judge(subject, properties=["joint", "rounds"])
    assert [v.outcome for v in found.verdicts] == ["lossless", outcome]
