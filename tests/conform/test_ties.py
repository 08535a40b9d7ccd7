"""Near ties: rounding between decoding and verifying decides some tokens, and excuses no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from specsim.conform import Model, SamplingParams, Subject, judge, likeness
from specsim.conform.near_ties import Difference, first_difference
from specsim.conform.properties import _laws


@pytest.fixture(autouse=True)
def unshrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(likeness, "names", lambda folder: [])


def logits(law: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.log(law)


def noisy(size: float) -> Any:
    """What verifying computes: the logits, and a little more for the tokens that come first."""
    return lambda target, text: (logits(target(text)), logits(target(text)) + size * np.array([2, 1, 0]))


def decoder(size: float, wrong: str = "") -> Any:
    """Greedy at temperature 0, by the logits of verifying."""

    def run(
        target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
    ) -> list[int]:
        text: list[int] = []
        for place in range(n):
            row = noisy(size)(target, [*prompt, *text])[1]
            if wrong == "second" and place == 1:
                row[row.argmax()] = -np.inf
            text.append(int(row.argmax()))
        return text

    return run


def subject(size: float, wrong: str = "", told: float | None = None) -> Subject:
    paths = None if told is None else noisy(told)
    return Subject("decoder", "decoder", decoder(size, wrong), sizes=(1, 2), warps=True, paths=paths)


@pytest.mark.parametrize(("margin", "near"), [(1.5, True), (2.0, True), (2.5, False)])
def test_each_of_two_logits_may_be_off(margin: float, near: bool) -> None:
    """One up and the other down by the distance of the paths: a margin of twice that is what rounding explains."""
    assert Difference(0, (0, 1), margin, 1.0).near == near


@pytest.mark.parametrize(
    ("size", "wrong", "told", "outcome", "words"),
    [
        (0.0, "", None, "lossless", ""),
        (0.0, "", 0.02, "lossless", ""),  # it could round, and did not
        (0.02, "", 0.02, "inconclusive", "a near tie: at token"),
        (0.02, "", None, "convicted", "no tie: at token"),  # paths that agree excuse nothing
        (0.02, "", 0.001, "convicted", "no tie: at token"),
        (0.0, "second", 0.02, "convicted", "no tie: at token 1"),
        (0.02, "second", 0.02, "convicted", "no tie: at token 1"),
    ],
)
def test_a_tie_is_told_from_a_bug(size: float, wrong: str, told: float | None, outcome: str, words: str) -> None:
    (found,) = judge(subject(size, wrong, told), properties=["greedy"]).verdicts
    assert found.outcome == outcome
    assert words in found.words


def test_the_laws_have_near_ties() -> None:
    """Some margin at temperature 0 is so small that the noise above decides it, and most are not."""
    (found,) = judge(subject(0.02, "", 0.02), properties=["greedy"]).verdicts
    margin = float(found.words.partition("margin ")[2].split()[0])
    assert 0 < margin < 0.04


def test_rounding_of_the_type_is_known() -> None:
    """Laws in a short type differ from the exact ones by their own rounding, which needs no declaration."""

    def run(p: Any, q: Any, drafts: Any, random: Any, *, sampling_params: SamplingParams) -> Any:
        for i, x in enumerate(drafts):
            if p[i].argmax() != x:
                return i, int(p[i].argmax())
        return len(drafts), int(p[-1].argmax())

    for wrong, outcome in ((False, "lossless"), (True, "convicted")):

        def turned(p: Any, *told: Any, wrong: bool = wrong, **more: Any) -> Any:
            return run(p[:, ::-1] if wrong else p, *told, **more)

        short = Subject("short", "chain", turned, dtype="float32", sizes=(1,), warps=True)
        assert judge(short, properties=["greedy"]).outcome == outcome


def test_where_texts_part() -> None:
    decode, verify = (
        {(): [0.0, 1.0], (9,): [0.0, 1.0], (9, 1): [0.5, 0.4]},
        {(): [0, 1], (9,): [5, 6], (9, 1): [0.4, 0.5]},
    )
    found = first_difference([1, 0], [1, 1], decode.__getitem__, verify.__getitem__, prompt=[9])
    assert found is not None
    assert (found.place, found.tokens, found.near) == (1, (0, 1), True)
    assert found.margin == pytest.approx(0.1)
    assert found.paths == pytest.approx(0.1, rel=0.1), "a constant that is added to all logits is no difference"
    assert first_difference([1, 0], [1], decode.__getitem__, verify.__getitem__) is None
    with pytest.raises(ValueError, match=r"decode gives logits of shape \(2,\) after \(\), verify \(3,\)"):
        first_difference([0], [1], decode.__getitem__, lambda text: [0, 1, 2])
