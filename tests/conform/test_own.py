"""Our own rules, draft schemes, processes and decoders: none is convicted."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from helpers.rules import MUTANTS, load

from specsim import discover
from specsim.conform import Subject, declared, judge, judgement, registry, rules
from specsim.conform.judgement import asked
from specsim.conform.properties import _laws
from specsim.types import TokenTree

TREES = [
    (name, scheme)
    for name, rule in discover.rules("tree").items()
    for scheme in discover.facts(rule).schemes
    if scheme not in ("beam", "distinct", "deterministic")  # shapes, numbers or tokens of their own
]
SCHEMES = [name for name in discover.names("draft") if name != "distinct"]
RULES = [(family, name) for family in ("step", "chain", "tree") for name in discover.names(family)]


def assert_lossless(subject: Subject) -> None:
    """Exactly, for as long as that takes; by frequencies, which take what they are given, for three seconds or more."""
    exact = [name for name in asked(subject.kind) if name != "batches"]
    assert judge(subject, properties=exact).outcome == "lossless"
    found = judge(subject, properties=["batches"], budget=3)
    if found.outcome == "inconclusive":
        found = judge(subject, properties=["batches"])
    assert found.outcome == "lossless"


def outcome(rule: ModuleType) -> str:
    return "lossy by design" if discover.facts(rule).bias else "lossless"


@pytest.mark.parametrize("name", ["rejection", "recursive_wor", "greedy_draft", "spechub"])
def test_our_step_rules_are_not_convicted(name: str) -> None:
    assert_lossless(rules.subject(discover.find("step", name)))


@pytest.mark.parametrize("name", ["tokenwise", "block"])
def test_our_chain_rules_are_not_convicted(name: str) -> None:
    assert_lossless(rules.subject(discover.find("chain", name))._replace(sizes=(1, 2)))


@pytest.mark.parametrize(("name", "scheme"), TREES)
def test_our_trees_are_not_convicted(name: str, scheme: str) -> None:
    """Exactly, for two nodes."""
    one = rules.subject(discover.find("tree", name), scheme)
    found = judge(one._replace(shapes=one.shapes[:2]), properties=["joint"])
    assert (found.outcome, found.verdicts[0].evidence) == ("lossless", "scripted")


@pytest.mark.parametrize("name", SCHEMES)
def test_our_schemes_draw_what_they_say(name: str) -> None:
    found = judge(rules.subject(discover.find("draft", name)))
    assert (found.outcome, found.verdicts[0].evidence) == ("lossless", "scripted")


def test_a_scheme_that_draws_from_another_law_is_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    scheme = discover.find("draft", "without_replacement")
    monkeypatch.setattr(scheme, "draw", discover.find("draft", "iid").draw)
    assert judge(rules.subject(scheme)._replace(sizes=(2,))).outcome == "convicted"


def test_our_decoder_is_not_convicted() -> None:
    (one,) = registry.subjects_of(registry.find("greedy_block"))
    found = judge(one, properties=["marginal", "joint"])
    assert (one.kind, found.outcome) == ("decoder", "lossless")
    assert {v.evidence for v in found.verdicts} == {"scripted"}


def test_a_decoder_that_goes_on_from_the_target_is_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the continuation is for."""
    rule = discover.find("chain", "greedy_block")
    monkeypatch.setattr(rule, "continuation", lambda *_: (np.ones(1), np.zeros(1)))
    monkeypatch.setattr(_laws, "SHRINKING", 0.0)
    monkeypatch.setattr(judgement, "resemblance", lambda *_: None)
    assert judge(rules.subject(rule), properties=["joint"]).outcome == "convicted"


@pytest.mark.parametrize("name", discover.names("process"))
def test_our_processes_are_decoders_that_are_not_convicted(name: str) -> None:
    (one,) = registry.subjects_of(registry.find(name))
    found = judge(one, properties=["marginal", "joint"], budget=20)
    assert (one.kind, found.outcome) == ("decoder", "lossless")


@pytest.mark.slow  # a conviction looks for the simplest witness for as long as it may
def test_a_process_that_parts_token_and_law_is_convicted() -> None:
    wrong = rules.subject(load(MUTANTS / "process" / "jacobi_relabel.py"))
    assert judge(wrong, properties=["joint"]).outcome == "convicted"


def test_a_plan_is_of_its_own_input() -> None:
    """The last one is kept, and another is made for other laws, other tokens and another shape."""
    asked: list[int] = []
    prepared = rules._remembered(lambda p, q, drafted: asked.append(1) or len(asked))  # type: ignore[func-returns-value]
    p, q, parents = np.array([0.5, 0.5]), np.array([0.25, 0.75]), np.array([-1, -1])
    tree = TokenTree(parents, np.array([0, 1]), parents + 2, "iid")
    other = [tree._replace(tokens=np.array([1, 1])), tree._replace(parents=np.array([-1, 0]))]
    assert [prepared(p, q, tree), prepared(p.copy(), q, tree)] == [1, 1]
    assert [prepared(q, q, tree), prepared(q, p, tree), *(prepared(q, p, one) for one in other)] == [2, 3, 4, 5]
    assert [prepared(q, p, 1), prepared(q, p, 2), prepared(q, p, 2)] == [6, 7, 7]


def test_what_cannot_be_asked_is_named() -> None:
    with pytest.raises(ValueError, match="'rejection' does not verify drafts of scheme 'hub'; iid"):
        rules.subject(discover.find("step", "rejection"), "hub")
    with pytest.raises(ValueError, match="'distinct' draws a number of drafts"):
        rules.subject(discover.find("draft", "distinct"))


@pytest.mark.parametrize(("family", "name"), RULES)
def test_every_rule_is_a_subject_that_can_be_judged(family: str, name: str) -> None:
    """Whatever scheme its drafts are drawn by: `target_only`, on likeliest tokens, was refused."""
    assert declared.validate(rules.subject(discover.find(family, name)))


def test_trees_have_no_more_siblings_than_their_scheme_draws() -> None:
    """`hub` draws two: a judgement of trees with three ended in an error."""
    shapes = rules.subject(discover.find("tree", "target_only"), "hub").shapes
    assert max(shape.count(parent) for shape in shapes for parent in shape) == 2


@pytest.mark.slow
@pytest.mark.parametrize(("family", "name"), RULES)
def test_none_of_our_rules_is_convicted(family: str, name: str) -> None:
    """Within the default budget."""
    rule = discover.find(family, name)
    assert judge(rules.subject(rule)).outcome == outcome(rule)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scheme"), TREES)
def test_our_trees_are_lossless_for_every_scheme(name: str, scheme: str) -> None:
    assert judge(rules.subject(discover.find("tree", name), scheme)).outcome == "lossless"
