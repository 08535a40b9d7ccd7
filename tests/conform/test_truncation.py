"""Truncation: an end token ends a text wherever it stands, and a limit leaves the law of what is kept."""

from __future__ import annotations

from typing import Any

import pytest

from specsim.conform import Model, SamplingParams, Subject, judge, likeness
from specsim.conform.properties import _laws
from specsim.types import Array


@pytest.fixture(autouse=True)
def unshrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(likeness, "names", lambda folder: [])


def rest(p: Array, q: Array) -> Array:
    left = (p - q).clip(0)
    return left / left.sum()


def cut(text: list[int], end: int | None, wrong: str) -> list[int]:
    if wrong == "last":  # only what was drawn last can end the text
        return text
    if wrong == "falsy":  # token 0 is taken for none
        end = end or None
    if wrong == "swallowed" and end in text:
        return text[: text.index(end)]
    return text[: text.index(end) + 1] if end in text else text


def chain(wrong: str) -> Any:
    def run(p: Array, q: Array, drafts: Array, random: Any, *, end: int | None, limit: int | None) -> Any:
        out = []
        for i, x in enumerate(drafts):
            if not random.random() * q[i, x] < p[i, x]:
                out.append(int(random.choice(p.shape[1], p=rest(p[i], q[i]))))
                break
            out.append(int(x))
        else:
            out.append(int(random.choice(p.shape[1], p=p[-1])))
        if wrong == "front":
            return cut(out[-limit:] if limit else out, end, wrong)
        return cut(out if wrong == "unlimited" else out[:limit], end, wrong)

    return run


WRONG = ["", "last", "falsy", "swallowed", "front", "unlimited"]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_chain(wrong: str) -> None:
    subject = Subject("chain", "chain", chain(wrong), sizes=(1, 2), returns="tokens", stops=True)
    found = judge(subject, properties=["joint", "truncation"])
    assert [v.outcome for v in found.verdicts] == ["lossless", "convicted" if wrong else "lossless"]


def pair(wrong: bool) -> Any:
    """(kept, next token): None where a kept draft ends the text."""

    def run(p: Array, q: Array, drafts: Array, random: Any, *, end: int | None, limit: int | None) -> Any:
        for i, x in enumerate(drafts):
            if i == limit or (i and drafts[i - 1] == end and not wrong):
                return i, None
            if not random.random() * q[i, x] < p[i, x]:
                return i, random.choice(p.shape[1], p=rest(p[i], q[i]))
        if drafts[-1] == end or len(drafts) == limit:
            return len(drafts), None
        return len(drafts), random.choice(p.shape[1], p=p[-1])

    return run


@pytest.mark.parametrize(("wrong", "outcome"), [(False, "lossless"), (True, "convicted")])
def test_no_next_token_after_an_end(wrong: bool, outcome: str) -> None:
    """An end token in the middle of a block ends it, not that in its last place only."""
    subject = Subject("pair", "chain", pair(wrong), sizes=(2,), stops=True)
    found = judge(subject, properties=["joint", "truncation"])
    assert [v.outcome for v in found.verdicts] == ["lossless", outcome]


def tree(wrong: bool) -> Any:
    """Down the only branch; None after an end token or at the limit."""

    def run(p: Array, q: Array, tree: Any, random: Any, *, end: int | None, limit: int | None) -> Any:
        kept, token = pair(wrong)(p, q[:-1], tree.tokens, random, end=end, limit=limit)
        return list(range(kept)), token

    return run


@pytest.mark.parametrize(("wrong", "outcome"), [(False, "lossless"), (True, "convicted")])
def test_a_tree(wrong: bool, outcome: str) -> None:
    subject = Subject("tree", "tree", tree(wrong), shapes=((-1, 0),), stops=True)
    found = judge(subject, properties=["joint", "truncation"])
    assert [v.outcome for v in found.verdicts] == ["lossless", outcome]


def test_a_missing_token_elsewhere_is_broken() -> None:
    subject = Subject("none", "chain", lambda p, q, drafts, random, end, limit: (0, None), sizes=(2,), stops=True)
    assert judge(subject, properties=["joint"]).outcome == "broken"


def decoder(wrong: str) -> Any:
    def run(
        target: Model,
        draft: Model,
        prompt: Any,
        n: int,
        sampling_params: SamplingParams,
        random: Any,
        *,
        end: int | None = None,
    ) -> Any:
        text: list[int] = []
        while len(text) < n:
            p, q = target([*prompt, *text]), draft([*prompt, *text])
            x = int(random.choice(len(q), p=q))
            if random.random() * q[x] < p[x]:
                law = target([*prompt, *text, x])
                block = [x, int(random.choice(len(law), p=law))]
            else:
                block = [int(random.choice(len(q), p=rest(p, q)))]
            if wrong == "whole blocks" and len(text) + len(block) > n:
                return text  # what does not fit is dropped
            block = block[-(n - len(text)) :] if wrong == "front" else block[: n - len(text)]
            text += cut(block, end, wrong)
            if wrong != "goes on" and end in block:
                return text
        return text

    return run


@pytest.mark.parametrize("wrong", ["", "front", "whole blocks"])
def test_the_limit_of_a_decoder(wrong: str) -> None:
    """Which every decoder has."""
    subject = Subject("decoder", "decoder", decoder(wrong), sizes=(1,))
    assert judge(subject, properties=["truncation"]).outcome == ("convicted" if wrong else "lossless")


@pytest.mark.parametrize("wrong", ["", "last", "falsy", "swallowed", "goes on"])
def test_the_end_of_a_decoder(wrong: str) -> None:
    subject = Subject("decoder", "decoder", decoder(wrong), sizes=(1,), stops=True)
    assert judge(subject, properties=["joint"]).outcome == "lossless"
    assert judge(subject, properties=["truncation"]).outcome == ("convicted" if wrong else "lossless")


def block(wrong: str) -> Any:
    def run(
        target: Model,
        draft: Model,
        prompt: Any,
        n: int,
        sampling_params: SamplingParams,
        random: Any,
        *,
        end: int | None,
    ) -> Any:
        return cut(decoder("")(target, draft, prompt, n, sampling_params, random), end, wrong)

    return run


@pytest.mark.parametrize("wrong", ["", "last"])
def test_the_end_of_a_block(wrong: str) -> None:
    subject = Subject("block", "decoder", block(wrong), sizes=(1,), block=True, stops=True)
    assert judge(subject, properties=["truncation"]).outcome == ("convicted" if wrong else "lossless")


def test_what_ends_no_texts_says_so() -> None:
    subject = Subject("chain", "chain", lambda *_: (0, 0), sizes=(1,))
    (found,) = judge(subject, properties=["truncation"]).verdicts
    assert (found.outcome, found.words) == (
        "not available",
        "its caller ends texts: it takes no end token and no limit (stops)",
    )
