"""transformers' `generate`, as the adapter calls it: the transformers that is installed, on its cheapest drafts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from specsim.conform import Model, Subject, judge, likeness, registry
from specsim.conform.adapters import _generate
from specsim.conform.properties import _laws
from specsim.conform.toys import plain

LOOKUP = "transformers generate(prompt_lookup_num_tokens=...)"
DECLARED = ("truncation", "structured", "logprobs")


@pytest.fixture
def lookup() -> Subject:
    found = registry.subjects_or_reason(registry.find("transformers"))
    if isinstance(found, str) or found[0].note:
        pytest.skip(found if isinstance(found, str) else found[0].note)
    (one,) = [subject for subject in found if subject.name == LOOKUP]
    return one._replace(sizes=(1,), warps=False)


def outcomes(subject: Subject, *properties: str) -> dict[str, tuple[str, str]]:
    report = judge(subject, properties=properties, budget=300, patience=100)
    return {verdict.property: (verdict.outcome, verdict.evidence) for verdict in report.verdicts}


@pytest.mark.parametrize("name", DECLARED)
def test_what_is_declared_is_judged(lookup: Subject, name: str) -> None:
    """End tokens and limits, masks, log-probabilities."""
    assert outcomes(lookup, name) == {name: ("lossless", "scripted")}


def without(run: Callable[..., Any], what: str) -> Callable[..., Any]:
    """The same, deaf to a keyword."""
    return lambda *told, **named: run(*told, **named | {what: None})


def halved(run: Callable[..., Any]) -> Callable[..., Any]:
    """The same, with other log-probabilities."""

    def other(*told: Any, **named: Any) -> Any:
        tokens, said = run(*told, **named)
        return tokens, said / 2

    return other


def test_what_is_declared_could_convict(lookup: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(likeness, "names", lambda folder: [])
    wrong = {
        "truncation": without(lookup.run, "end"),
        "structured": without(lookup.run, "mask"),
        "logprobs": halved(lookup.run),
    }
    assert {name: outcomes(lookup._replace(run=run), name)[name][0] for name, run in wrong.items()} == dict.fromkeys(
        DECLARED, "convicted"
    )


def test_one_model_serves_in_a_role(lookup: Subject) -> None:
    """And looks up whatever it was told last."""
    two, three = (Model(plain(row).law, len(row)) for row in (("1/2", "1/2"), ("1/4", "1/4", "1/2")))
    made = _generate.table(three)
    assert _generate.table(three) is made
    assert _generate.table(two) is not made
    assert _generate.assistant(three, 2) is not made
    assert _generate.early_exit(three, three) is not made
    other = Model(plain(("1", "0", "0")).law, 3)
    assert (_generate.table(other).toy, made.early) == (other, None)


def test_an_early_exit_that_was_interrupted_is_forgotten(lookup: Subject) -> None:
    """The library puts the number of layers back only where nothing is raised."""
    toy = Model(plain(("1/2", "1/2")).law, 2)
    _generate.early_exit(toy, toy).config.num_hidden_layers = 1
    assert _generate.early_exit(toy, toy).config.num_hidden_layers == 2
