"""Structured output: the masked law at every position, and no token that the mask forbids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from specsim.conform import Model, SamplingParams, Subject, judge, likeness
from specsim.conform.properties import _laws
from specsim.conform.properties.structured import cases, grammar
from specsim.types import Array


@pytest.fixture(autouse=True)
def unshrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(likeness, "names", lambda folder: [])


def normal(law: Array) -> Array:
    return law / law.sum(axis=-1, keepdims=True)


def chain(wrong: str) -> Any:
    def run(p: Array, q: Array, drafts: Array, random: Any, *, mask: Array | None) -> Any:
        held = p if mask is None else p * mask
        law = held if wrong == "not normalised" else normal(held)
        if wrong == "bonus":
            law = np.concatenate([law[:-1], p[-1:]])
        if wrong == "later rows":
            law = np.concatenate([law[:1], p[1:]])
        if wrong == "first mask":
            law = p if mask is None else normal(p * mask[0])
        tested = p if wrong == "test" else law
        for i, x in enumerate(drafts):
            if not random.random() * q[i, x] <= tested[i, x]:
                left = ((p if wrong == "correction" else law)[i] - q[i]).clip(0)
                return i, random.choice(p.shape[1], p=normal(left if left.sum() > 0 else law[i]))
        return len(drafts), random.choice(p.shape[1], p=normal(law[-1]))

    return run


WRONG = ["", "not normalised", "bonus", "later rows", "first mask", "test", "correction"]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_chain(wrong: str) -> None:
    subject = Subject("chain", "chain", chain(wrong), sizes=(1, 2), masks=True)
    found = judge(subject, properties=["joint", "structured"])
    assert [v.outcome for v in found.verdicts] == ["lossless", "convicted" if wrong else "lossless"]


@pytest.mark.parametrize(("wrong", "outcome"), [(False, "lossless"), (True, "convicted")])
def test_steps_trees_and_decoders(wrong: bool, outcome: str) -> None:
    def step(p: Array, q: Array, drafts: Array, random: Any, *, mask: Any) -> Any:
        law = p if mask is None or wrong else normal(p * mask)
        return random.choice(len(p), p=law)

    def tree(p: Array, q: Array, tree: Any, random: Any, *, mask: Any) -> Any:
        law = p if mask is None or wrong else normal(p * mask)
        return [], random.choice(p.shape[1], p=law[0])

    def decoder(
        target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any, *, mask: Any
    ) -> Any:
        text: list[int] = []
        for place in range(n):
            law = target([*prompt, *text])
            if mask is not None and not (wrong and place == n - 1):
                law = normal(law * mask([*prompt, *text]))
            text.append(int(random.choice(len(law), p=law)))
        return text

    for kind, run in (("step", step), ("tree", tree), ("decoder", decoder)):
        subject = Subject(kind, kind, run, sizes=(1,), shapes=((-1, -1),), masks=True)
        assert judge(subject, properties=["structured"]).outcome == outcome, kind


def test_every_row_has_a_forbidden_token() -> None:
    texts = [(), *((x,) for x in range(3)), *((x, y) for x in range(3) for y in range(3))]
    assert {int(grammar(text, 3).sum()) for text in texts} == {2}
    assert {tuple(grammar(text, 3)) for text in texts[1:4]} == {tuple(grammar(text, 3)) for text in texts[4:7]}
    assert len({tuple(grammar(text, 3)) for text in texts[1:4]}) == 3, "it depends on the text"


def test_one_hot_drafts_are_allowed() -> None:
    """Else none of a subject without q would be kept, and its bonus token never seen."""
    subject, text = Subject("lookup", "chain", chain(""), takes_q=False, masks=True), ()
    case = list(cases(subject))[-1]
    for _ in range(case.length):
        assert case.p(text)[case.q(text).argmax()] > 0
        text = (*text, int(case.q(text).argmax()))


def test_what_takes_no_mask_says_so() -> None:
    (found,) = judge(Subject("chain", "chain", lambda *_: (0, 0)), properties=["structured"]).verdicts
    assert (found.outcome, "takes no mask" in found.words) == ("not available", True)
