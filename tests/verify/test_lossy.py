"""Rules that were shipped and change the target: samplers and laws agree, bias is exact, nobody meets them unasked."""

from __future__ import annotations

import importlib
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import specsim
from specsim import discover, total_variation
from specsim.checks.contract import missing
from specsim.exact.small_laws import rational_laws
from specsim.forking import rational
from specsim.types import ChainRule
from specsim.verify.lookup import lossy_rules
from specsim.verify.lossy import all_kept, lumina

RULES = {name: importlib.import_module(f"specsim.verify.lossy.{name}") for name in lossy_rules()}
LAWS = rational_laws(3, 3)
CLAMPS = (Fraction(1), Fraction(99, 100), Fraction(1, 2))


@pytest.mark.parametrize("name", RULES)
def test_they_have_the_names_of_a_chain_rule(name: str) -> None:
    assert missing(RULES[name], ChainRule) in ("", "function advance is missing")
    assert RULES[name].__doc__


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("gamma", [0, 1, 2])
def test_the_sampler_follows_its_law(name: str, gamma: int) -> None:
    rule, rng = RULES[name], np.random.default_rng(gamma)
    for _ in range(10):
        p, q = LAWS[rng.integers(len(LAWS), size=gamma + 1)], LAWS[rng.integers(len(LAWS), size=gamma)]
        drafts = np.array([rng.choice(np.flatnonzero(row)) for row in q], dtype=np.int64)
        plan = rule.prepare(p, q)

        def program(fork: rational.Fork, plan: Any = plan, drafts: Any = drafts) -> tuple[int, int]:
            kept, token = rule.verify(plan, drafts, fork.uniforms(rule.uniforms(gamma)))
            return int(kept), int(token)

        law = np.full((gamma + 1, 3), Fraction(0))
        for outcome, weight in rational.law(program).items():
            law[outcome] += weight
        assert (rule.transition(plan, drafts) == law).all()


@pytest.mark.parametrize("clamp", CLAMPS)
def test_the_bias_is_that_of_the_law(clamp: Fraction) -> None:
    for p, q in ((p, q) for p in LAWS for q in LAWS):
        rows = np.stack([p, p])
        output = np.full(3, Fraction(0))
        for x in np.flatnonzero(q):
            law = lumina.transition(lumina.prepare(rows, q[None], clamp), np.array([x]))
            output = output + q[x] * law[0]  # refused: the token after none kept
            output[x] += q[x] * law[1].sum()
        assert output.sum() == 1
        assert lumina.bias(p, q, clamp) == total_variation(output, p)


def test_the_bias_is_at_most_a_quarter() -> None:
    found = [lumina.bias(p, q, Fraction(1)) for p in LAWS for q in LAWS]
    kept = [np.minimum(p, q).sum() for p in LAWS for q in LAWS]
    assert all(bias <= mass * (1 - mass) for bias, mass in zip(found, kept, strict=True))
    half, first = (np.array([Fraction(a, 2) for a in row], dtype=object) for row in ((1, 1), (2, 0)))
    assert lumina.bias(half, first, Fraction(1)) == Fraction(1, 4)


@pytest.mark.parametrize("clamp", CLAMPS)
def test_a_greedy_target_is_kept(clamp: Fraction) -> None:
    assert all(lumina.bias(p, q, clamp) == 0 for p in LAWS if max(p) == 1 for q in LAWS)


def test_batches_in_floats_follow_fractions() -> None:
    rng = np.random.default_rng(1)
    p, q = LAWS[rng.integers(len(LAWS), size=(20, 3))], LAWS[rng.integers(len(LAWS), size=(20, 2))]
    drafts, u = np.argmax(q, axis=-1), rng.random((20, 3))
    exact = np.vectorize(Fraction, otypes=[object])(u)
    for rule in (lumina, all_kept):
        found = rule.verify(rule.prepare(p.astype(float), q.astype(float)), drafts, u)
        wanted = rule.verify(rule.prepare(p, q), drafts, exact)
        assert [part.tolist() for part in found] == [part.tolist() for part in wanted]


@pytest.mark.parametrize("name", RULES)
def test_nobody_meets_them_unasked(name: str) -> None:
    assert name not in [one for family in discover.FAMILIES for one in discover.names(family)]
    for call in (
        lambda: specsim.expected_tokens([0.5, 0.5], [0.5, 0.5], gamma=1, rule=name),
        lambda: specsim.verify_chain([[0.5, 0.5]] * 2, [[0.5, 0.5]], [0], [0.5, 0.5], rule=name),
        lambda: specsim.guarantee(name),
    ):
        with pytest.raises(ValueError, match=f"^rule '{name}' changes the target; block_chain and simulate take its"):
            call()


@pytest.mark.parametrize("clamp", [0, 1.5, -1])
def test_a_bad_clamp_ends_in_one_line(clamp: float) -> None:
    with pytest.raises(ValueError, match=r"^clamp is .*; it must lie in \(0, 1\]$"):
        lumina.prepare(LAWS[:2], LAWS[:1], clamp)


def test_every_rule_is_listed_with_those_that_stand_apart() -> None:
    listed = {(rule.family, rule.name) for rule in specsim.algorithms()}
    assert {("coupled", "race"), ("chain", "lumina"), ("tree", "spectr_gbv"), ("step", "rejection")} <= listed
    assert {name for family, name in listed if family == "chain"} >= set(RULES)


P, Q = LAWS[0], LAWS[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: specsim.acceptance_rate(P, Q, rule="race"), "a coupled rule, not a step rule; .*emit take it$"),
        (lambda: specsim.acceptance_rate(P, Q, rule="block"), "a chain rule, not a step rule; expected_tokens"),
        (lambda: specsim.expected_kept(P, Q, rule="race", parents=[-1]), "a coupled rule, not a tree rule;"),
        (lambda: specsim.expected_tokens(P, Q, gamma=1, rule="optimal"), "a step rule, not a chain rule; acceptance_"),
        (
            lambda: specsim.simulate(*[specsim.context_free(P)] * 2, rule="race", gamma=1, blocks=1),
            "a coupled rule, not a chain rule or a step rule; ",
        ),
    ],
)
def test_a_rule_of_another_family_is_named_with_the_functions_that_take_it(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^rule '.*' is {message}"):
        call()


def test_a_rule_without_weights_is_refused_where_they_are_needed() -> None:
    with pytest.raises(ValueError, match=r"^rule 'lumina' states no weights of drafts \(advance\), .*block_chain$"):
        specsim.expected_tokens(P, Q, gamma=1, rule=lumina)
