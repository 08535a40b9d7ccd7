"""Log-probabilities: those of the target, of the tokens emitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from specsim.conform import Model, SamplingParams, Subject, judge, likeness
from specsim.conform import budget as time_budget
from specsim.conform.cases import warped
from specsim.conform.properties import _laws
from specsim.types import Array


@pytest.fixture(autouse=True)
def unshrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(likeness, "names", lambda folder: [])


def chain(reported: str) -> Any:
    """Tokenwise rejection on warped laws, with the logarithms of one kind or other."""

    def run(p: Array, q: Array, drafts: Array, random: Any, *, sampling_params: SamplingParams) -> Any:
        raw, law, other = p, *(np.stack([warped(row, sampling_params) for row in w]) for w in (p, q))
        out: list[int] = []
        for i, x in enumerate(drafts):
            if not random.random() * other[i, x] <= law[i, x]:
                left = (law[i] - other[i]).clip(0)
                out.append(int(random.choice(p.shape[1], p=left / left.sum())))
                break
            out.append(int(x))
        else:
            out.append(int(random.choice(p.shape[1], p=law[-1])))
        table = {"raw": raw, "warped": law, "base 2": law, "draft": np.concatenate([other, law[-1:]])}.get(
            reported, law
        )
        tokens = [*drafts, out[-1]] if reported == "drafts" else out
        with np.errstate(divide="ignore"):
            values = [float(np.log(table[i, x])) for i, x in enumerate(tokens[: len(out)])]
        if reported == "base 2":
            values = [value / np.log(2) for value in values]
        if reported == "late":
            values = [values[-1], *values[:-1]]
        return out, values[:-1] if reported == "short" else [*values, 0.0] if reported == "long" else values

    return run


@pytest.mark.parametrize(("off", "outcome"), [(1e-6, "lossless"), (1e-4, "convicted")])
def test_a_small_error_is_one(off: float, outcome: str) -> None:
    def run(*given: Any, **named: Any) -> Any:
        text, values = chain("warped")(*given, **named)
        return text, [value + off for value in values]

    subject = Subject("off", "chain", run, sizes=(1,), returns="tokens", warps=True, logprobs="warped")
    assert judge(subject, properties=["logprobs"]).outcome == outcome


@pytest.mark.parametrize(("off", "outcome"), [(1e-5, "lossless"), (1e-3, "convicted")])
def test_an_error_of_shorter_floats_is_as_large_as_their_rounding(off: float, outcome: str) -> None:
    """Logarithms of float32 laws are right to a few units of 1e-5: none of a thousandth is."""

    def run(p: Array, q: Array, drafts: Array, random: Any) -> Any:
        token = int(random.choice(p.shape[1], p=p[0] / p[0].sum()))
        return [token], [float(np.log(p[0, token])) + off]

    subject = Subject("off", "chain", run, sizes=(1,), returns="tokens", logprobs="raw", dtype="float32")
    assert judge(subject, properties=["logprobs"]).outcome == outcome


@pytest.mark.parametrize(
    ("reported", "declared", "outcome"),
    [
        ("raw", "raw", "lossless"),
        ("warped", "warped", "lossless"),
        ("raw", "warped", "convicted"),
        ("warped", "raw", "convicted"),
        ("draft", "warped", "convicted"),
        ("drafts", "warped", "convicted"),
        ("late", "warped", "convicted"),
        ("base 2", "warped", "convicted"),
        ("short", "warped", "convicted"),
        ("long", "warped", "convicted"),
    ],
)
def test_a_chain(reported: str, declared: Any, outcome: str) -> None:
    subject = Subject("chain", "chain", chain(reported), sizes=(1, 2), returns="tokens", warps=True, logprobs=declared)
    found = judge(subject, properties=["joint", "logprobs"])
    assert [v.outcome for v in found.verdicts] == ["lossless", outcome]
    if outcome == "convicted":
        assert f"is its {declared} logarithm" in found.verdicts[-1].words
        assert found.verdicts[-1].distance > 0.01


def decoder(of_next: bool) -> Any:
    def run(target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any) -> Any:
        text: list[int] = []
        said: list[float] = []
        for _ in range(n):
            law = target([*prompt, *text])
            text.append(int(random.choice(len(law), p=law)))
            said.append(float(np.log((target([*prompt, *text]) if of_next else law)[text[-1]])))
        return text, said

    return run


@pytest.mark.parametrize(("of_next", "outcome"), [(False, "lossless"), (True, "convicted")])
def test_a_decoder_by_single_calls(of_next: bool, outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer shows by itself; where no law can be had, the answers that were drawn do."""
    monkeypatch.setattr(time_budget, "MONTE_CARLO", 1000)  # of the time: a first look is enough

    def hidden(*told: Any) -> Any:
        random = np.random.Generator(np.random.PCG64(int(float(told[-1].random()) * 2**53)))
        return decoder(of_next)(*told[:-1], random)

    for run, evidence in ((decoder(of_next), "scripted"), (hidden, "one call")):
        subject = Subject("decoder", "decoder", run, sizes=(1,), logprobs="raw")
        (found,) = judge(subject, budget=60, properties=["logprobs"]).verdicts
        assert (found.outcome, found.evidence) == (outcome, evidence)


@pytest.mark.parametrize(
    ("said", "words"),
    [(None, "not a pair"), ([float("nan")], "as log-probabilities"), ("low", "as log-probabilities")],
)
def test_what_is_none_is_broken(said: Any, words: str) -> None:
    subject = Subject(
        "broken",
        "chain",
        lambda p, q, drafts, random: [0] if said is None else ([0], said),
        returns="tokens",
        logprobs="raw",
    )
    (found,) = judge(subject, properties=["logprobs"]).verdicts
    assert (found.outcome, words in found.words) == ("broken", True)


def test_what_reports_none_says_so() -> None:
    """And does not pass."""
    report = judge(Subject("chain", "chain", lambda *_: (0, 0)), properties=["logprobs"])
    assert (report.outcome, report.status) == ("not available", 2)
    assert report.verdicts[0].words == "it reports no log-probabilities (logprobs)"
