"""Subjects that are right in a way of their own, and were convicted once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from specsim.conform import Model, SamplingParams, Subject, judge
from specsim.conform.cases import truncates
from specsim.conform.properties.parameters import SAMPLING_PARAMS
from specsim.conform.toys import toy


def cut(law: Any, sampling_params: SamplingParams, wrong: bool) -> Any:
    """Temperature, then the k likeliest, of equals the first; then the fewest of these that have the mass of top-p."""
    if sampling_params.temperature == 0:
        return np.eye(len(law))[law.argmax()]
    law = law ** (1 / sampling_params.temperature)
    law = law / law.sum()
    order = np.argsort(-law, kind="stable")
    kept = np.ones(len(law), dtype=bool)
    if sampling_params.top_k:
        kept[order[sampling_params.top_k + wrong :]] = False
        law = law * kept / law[kept].sum()
    if sampling_params.top_p < 1:
        before = np.cumsum(law[order]) - law[order]
        kept[order[before >= sampling_params.top_p]] = False
    return law * kept / law[kept].sum()


def step(p: Any, q: Any, drafts: Any, random: Any, *, sampling_params: SamplingParams, wrong: bool = False) -> int:
    p, q = cut(p, sampling_params, wrong), cut(q, sampling_params, wrong)
    x = int(drafts[0])
    if random.random() * q[x] < p[x]:
        return x
    rest = (p - q).clip(0)
    return int(random.choice(len(p), p=rest / rest.sum()))


@pytest.mark.parametrize(("wrong", "outcome"), [(False, "lossless"), (True, "convicted")])
def test_which_of_equals_go_is_nobodys_error(wrong: bool, outcome: str) -> None:
    subject = Subject("cut", "step", lambda *a, **k: step(*a, **k, wrong=wrong), sizes=(1,), warps=True)
    assert judge(subject, budget=60, properties=["parameters"]).outcome == outcome


@pytest.mark.parametrize(
    "words", [words for words, sampling_params in SAMPLING_PARAMS.items() if truncates(sampling_params)]
)
def test_laws_that_are_truncated_have_no_equals(words: str) -> None:
    for seed in (0, 1, 10, 11):
        for positive in (False, True):
            for law in toy(3, seed, positive=positive, untied=True).table.values():
                live = [v for v in law if v > 0]
                assert len(set(live)) == len(live), words


def plain(target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any) -> list[int]:
    """The target alone, a pass for every token."""
    text: list[int] = []
    for _ in range(n):
        law = target([*prompt, *text])
        text.append(int(random.choice(len(law), p=law)))
    return text


def test_the_bound_is_of_one_pass() -> None:
    subject = Subject("plain", "decoder", plain, sizes=(1, 2), block=True)
    found = {v.property: v.outcome for v in judge(subject, budget=60, properties=["joint", "bound"]).verdicts}
    assert found == {"joint": "lossless", "bound": "not available"}
