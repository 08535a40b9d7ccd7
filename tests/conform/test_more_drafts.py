"""Errors that only two or three drafts show: in a batch, under a mask, at an end token, with truncated laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.residuals import drawn, rest

from specsim import warp
from specsim.conform import SamplingParams, Subject, judge, judgement
from specsim.conform.properties import _laws
from specsim.types import Array


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is shrunk, or compared with the museum."""
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)


def block(p: Array, q: Array, drafts: Array, random: Any, *, at: int = -1) -> list[int]:
    """The tokens of a block; the correction of draft `at` comes from the whole target."""
    out = list[int]()
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] >= p[i, x]:
            return [*out, drawn(random, p[i] if i == at else rest(p[i], q[i]))]
        out.append(int(x))
    return [*out, drawn(random, p[-1])]


def judged(run: Any, name: str, kind: Any = "chain", **facts: Any) -> Any:
    subject = Subject("mine", kind, run, **({"returns": "tokens"} | facts))
    (verdict,) = judge(subject, properties=[name]).verdicts
    return verdict


@pytest.mark.parametrize("at", [-1, 1, 2, 3])
def test_a_batch_that_is_wrong_from_a_later_draft_on(at: int) -> None:
    """Alone every block is right."""

    def batch(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        texts = [block(*row, random, at=at) for row in zip(p, q, drafts, strict=True)]
        return np.array([[*text, *[-1] * (p.shape[1] - len(text))] for text in texts])

    verdict = judged(block, "batches", batch=batch)
    assert (verdict.outcome, verdict.evidence) == ("convicted" if at > 0 else "lossless", "scripted")
    if at < 0:
        assert "of the smallest size; 1 row of V=3, 2 drafts; V=3, 3 drafts; V=2, 4 drafts" in verdict.reach


@pytest.mark.parametrize("at", [-1, 1, 2])
def test_a_mask_that_is_left_out_of_a_later_row(at: int) -> None:
    def run(p: Array, q: Array, drafts: Array, random: Any, *, mask: Any) -> Any:
        masks = np.ones_like(p, dtype=bool) if mask is None else np.array(mask)
        if at >= 0 and len(drafts) == at + 1:
            masks[at] = True
        masked = p * masks
        return block(masked / masked.sum(axis=1, keepdims=True), q, drafts, random)

    assert judged(run, "structured", masks=True).outcome == ("convicted" if at > 0 else "lossless")


@pytest.mark.parametrize("at", [-1, 1, 2])
def test_an_end_token_that_is_passed_over_in_a_later_place(at: int) -> None:
    def run(p: Array, q: Array, drafts: Array, random: Any, *, end: int | None, limit: int | None) -> Any:
        text = block(p, q, drafts, random)[:limit]
        ends = [i for i, token in enumerate(text) if token == end and i != at]
        return text[: ends[0] + 1] if ends else text

    assert judged(run, "truncation", stops=True).outcome == ("convicted" if at > 0 else "lossless")


@pytest.mark.parametrize("at", [-1, 1])
def test_top_p_before_top_k_in_a_later_row(at: int) -> None:
    """Among all tokens top-p keeps more than among the three likeliest."""

    def run(p: Array, q: Array, drafts: Array, random: Any, *, sampling_params: SamplingParams) -> Any:
        def filtered(rows: Array) -> Array:
            with np.errstate(divide="ignore"):
                laws: Array = np.asarray(warp(np.log(rows), **sampling_params._asdict()))
            if 0 <= at < len(rows) and sampling_params.top_k:
                with np.errstate(divide="ignore"):
                    first = warp(np.log(rows[at]), **sampling_params._replace(top_k=0)._asdict())
                    laws[at] = warp(np.log(first), top_k=sampling_params.top_k)
            return laws

        return block(filtered(p), filtered(q), drafts, random)

    verdict = judged(run, "parameters", warps=True, sizes=(1, 2))
    assert verdict.outcome == ("convicted" if at > 0 else "lossless"), verdict.words
