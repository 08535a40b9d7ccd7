"""A step rule of one draft at every position: by its forked sampler, by whole texts, by the renewal of its blocks."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import partial
from types import ModuleType

import numpy as np
import pytest

from specsim import discover
from specsim.exact.chain import blocks, expected_blocks, strong_law, target_law
from specsim.exact.small_laws import rational_table
from specsim.forking.forked_rules import kept_and_token
from specsim.lengths.blocks import renewal, text_survival
from specsim.verify.chain import tokenwise
from specsim.verify.lookup import chain_rule, takes
from specsim.verify.stepwise import Stepwise

ONE = [n for n, r in discover.rules("step").items() if takes(r, 1) and r.EXACT and not discover.facts(r).bias]


def table(seed: int, vocab: int = 3, depth: int = 2) -> tuple[dict, dict]:  # type: ignore[type-arg]
    rng = np.random.default_rng(seed)
    return rational_table(rng, vocab, depth), rational_table(rng, vocab, depth)


two = ModuleType("rules.two")  # one's own rule, of two drafts
vars(two).update(vars(discover.find("step", "recursive")), COUNTS=(2,), __name__="rules.two")


def test_the_rules_are_those_of_one_draft() -> None:
    assert {"rejection", "naive", "recursive", "kseq", "optimal"} <= set(ONE)
    with pytest.raises(ValueError, match=r"^rule 'two' verifies 2 drafts drawn 'iid', got num_drafts=1$"):
        chain_rule(two)
    assert chain_rule("tokenwise") is tokenwise


@pytest.mark.parametrize("name", ONE)
def test_the_sampler_is_the_transition(name: str) -> None:
    rule, (target, draft) = chain_rule(name), table(0)
    assert isinstance(rule, Stepwise)
    for x in [(0, 1), (2, 2), (1, 0)]:
        p, q = (np.array([w[x[:i]] for i in range(n)]) for w, n in ((target, 3), (draft, 2)))
        plan, drafts = rule.prepare(p, q), np.array(x)
        joint = rule.transition(plan, drafts)
        law = kept_and_token(partial(rule.verify, plan, drafts), rule.uniforms(2))
        assert law == {(int(i), int(y)): joint[i, y] for i, y in zip(*np.nonzero(joint), strict=True)}


@pytest.mark.parametrize("name", ONE)
def test_whole_texts_have_the_law_of_the_target(name: str) -> None:
    target, draft = table(1)
    assert strong_law(chain_rule(name), target, draft, 2)[0] == {  # type: ignore[arg-type]
        text: mass for text, mass in target_law(target, 3).items() if mass
    }


def test_rejection_is_tokenwise() -> None:
    target, draft = table(2)
    assert blocks(chain_rule("rejection"), target, draft, 2) == blocks(tokenwise, target, draft, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ONE)
def test_texts_tell_how_many_blocks_they_take(name: str) -> None:
    """The mean over the target's texts of what `posterior` and `renewal` say is the number of target calls, exactly."""
    rule, (target, draft), total = chain_rule(name), table(3, vocab=2, depth=3), Fraction(0)
    assert isinstance(rule, Stepwise)
    for text in itertools.product(range(2), repeat=3):
        p, q = (np.array([w[text[:i]] for i in range(3)]) for w in (target, draft))
        chance = np.prod([p[i, y] for i, y in enumerate(text)])
        rows = text_survival(rule.survival, rule.posterior(p, q, np.array(text)), 2)
        total += chance * renewal(rows).blocks
    assert total == expected_blocks(rule, target, draft, 2, 3)  # type: ignore[arg-type]


def test_plain_decoding_draws_from_the_target() -> None:
    rule = chain_rule("kseq")
    plan = rule.prepare(np.array([[0.25, 0.75]]), np.zeros((0, 2)))
    kept, token = rule.verify(plan, np.zeros(0, dtype=np.int64), np.array([0.5]))
    assert (int(kept), int(token), rule.uniforms(0)) == (0, 1, 1)


def test_parameters_and_what_is_no_number() -> None:
    with pytest.raises(ValueError, match=r"^rule 'typical' has no parameter 'rho'; known: epsilon, delta$"):
        chain_rule("typical", {"rho": 2})
    with pytest.raises(ValueError, match=r"^rule 'tokenwise' has no parameter 'rho'; known: none$"):
        chain_rule("tokenwise", {"rho": 2})
    rule = chain_rule("typical", {"epsilon": 1.0, "delta": 0.7})
    p, q = np.array([[0.5, 0.3, 0.2]] * 2), np.array([[0.1, 0.3, 0.6]])
    kept, _ = rule.verify(rule.prepare(p, q), np.array([2]), np.array([0.0, 0.0]))
    plain = chain_rule("typical")
    assert (int(kept), int(plain.verify(plain.prepare(p, q), np.array([2]), np.array([0.0, 0.0]))[0])) == (0, 1)


def test_a_token_that_rounded_to_zero_counts_if_it_can_be_drafted() -> None:
    rule = chain_rule("rejection")
    assert isinstance(rule, Stepwise)
    p, q = np.array([[0.0, 1.0], [0.0, 1.0], [0.5, 0.5]]), np.array([[0.5, 0.5], [0.0, 1.0], [0.25, 0.75]])
    assert rule.posterior(p, q, np.array([0, 0, 0])).tolist() == [1.0, 0.0, 0.5]
