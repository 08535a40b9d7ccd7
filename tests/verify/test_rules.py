"""Step and chain rules on random rational laws: exact laws, reductions to each other, verdicts, published numbers."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import (
    acceptance_rate,
    discover,
    guarantee,
    output_law,
    verify_chain,
    verify_step,
)
from specsim.checks import backends
from specsim.checks.chain import forked_is_transition as chain_forked_is_transition
from specsim.checks.step import assert_bias, forked_is_transition
from specsim.checks.step_cases import best_acceptance, sizes
from specsim.draft import iid
from specsim.exact.chain import strong_law, target_law
from specsim.exact.guarantee import require_lossless
from specsim.exact.step import enumerate_step
from specsim.testing import sampler_law
from specsim.testing.strategies import edge_uniforms, float_laws, law_pairs, tables

Array = Any
STEP, CHAIN = discover.rules("step"), discover.rules("chain")
MULTI = [n for n, r in STEP.items() if discover.facts(r).counts != (1,)]
LOSSLESS_CHAINS = [n for n in CHAIN if guarantee(n).lossless]
TOY_P, TOY_Q = [Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]


def sized_pairs(rule: Any, most: int) -> st.SearchStrategy[tuple[int, tuple[Array, Array]]]:
    """(K, (p, q)) with V <= 4, K <= 3 and at most `most` tuples of drafts."""
    shapes = [(k, v) for k in sizes(rule) for v in (1, 2, 3, 4) if v**k <= most]
    return st.sampled_from(shapes).flatmap(lambda s: st.tuples(st.just(s[0]), law_pairs(s[1])))


@pytest.mark.parametrize("name", STEP)
@settings(max_examples=30)
@given(data=st.data())
def test_forked_law_is_transition(name: str, data: st.DataObject) -> None:
    num_drafts, (p, q) = data.draw(sized_pairs(STEP[name], 27))
    forked_is_transition(STEP[name], p, q, num_drafts)


@pytest.mark.parametrize("name", STEP)
@settings(max_examples=40)
@given(data=st.data())
def test_output_law_bias_and_acceptance_are_exact(name: str, data: st.DataObject) -> None:
    rule = STEP[name]
    num_drafts, (p, q) = data.draw(sized_pairs(rule, 64))
    law, hit = enumerate_step(rule, p, q, num_drafts)
    assert law.sum() == 1
    assert_bias(rule, p, q, law, num_drafts)
    if not discover.facts(rule).bias:
        assert (law == p).all()
        assert (output_law(p, q, rule=name, num_drafts=num_drafts) == p).all()
        assert hit <= best_acceptance(rule, p, q, num_drafts)
    assert acceptance_rate(p, q, rule=name, num_drafts=num_drafts) == hit


@settings(max_examples=80)
@given(data=st.data())
def test_one_recursive_draft_is_rejection_token_for_token(data: st.DataObject) -> None:
    vocab = data.draw(st.integers(1, 6))
    p, q = data.draw(float_laws(vocab)), data.draw(float_laws(vocab))
    u, draft_u = data.draw(edge_uniforms(2)), data.draw(edge_uniforms(1))
    x = iid.draw(q, draft_u, 1)
    one, other = (verify_step(p, q, x, u, rule=name) for name in ("recursive", "rejection"))
    assert (int(one.token), bool(one.hit)) == (int(other.token), bool(other.hit))
    assert p[one.token] > 0


def test_one_recursive_draft_is_rejection_on_a_batch() -> None:
    p, q, rng = backends.laws(vocab=30, rows=3000, seed=1)
    x, u = iid.draw(q, rng.random((3000, 1)), 1), rng.random((3000, 2))
    one, other = (verify_step(p, q, x, u, rule=name) for name in ("recursive", "rejection"))
    assert (one.token == other.token).all()
    assert 0 < one.hit.mean() < 1


@pytest.mark.parametrize("name", LOSSLESS_CHAINS)
def test_a_chain_of_one_draft_is_rejection(name: str) -> None:
    """Same uniforms: the kept draft is rejection's token, and where it is not kept the next token is."""
    p, q, rng = backends.laws(vocab=30, rows=3000, seed=2)
    after = backends.laws(vocab=30, rows=3000, seed=3)[0]
    x, u = iid.draw(q, rng.random((3000, 1)), 1), rng.random((3000, 2))
    kept, token = verify_chain(np.stack([p, after], axis=1), q[:, None], x, u, rule=name)
    step = verify_step(p, q, x, u).token
    assert set(kept) == {0, 1}
    assert (step == np.where(kept == 1, x[:, 0], token)).all()


@pytest.mark.parametrize("name", LOSSLESS_CHAINS)
@settings(max_examples=40)
@given(data=st.data())
def test_a_chain_of_one_draft_is_rejection_at_the_edges(name: str, data: st.DataObject) -> None:
    vocab = data.draw(st.integers(1, 5))
    p, q, after = (data.draw(float_laws(vocab)) for _ in range(3))
    u = data.draw(edge_uniforms(2))
    x = iid.draw(q, data.draw(edge_uniforms(1)), 1)
    kept, token = verify_chain(np.stack([p, after]), q[None], x, u, rule=name)
    assert int(verify_step(p, q, x, u).token) == (int(x[0]) if kept else int(token))


@pytest.mark.parametrize("name", LOSSLESS_CHAINS)
@pytest.mark.parametrize(("vocab", "gamma", "examples"), [(2, 1, 30), (3, 1, 30), (2, 3, 20), (3, 2, 15), (3, 3, 6)])
def test_strongly_lossless(name: str, vocab: int, gamma: int, examples: int) -> None:
    @settings(max_examples=examples)
    @given(tables(vocab, gamma), tables(vocab, gamma))
    def run(target: dict[tuple[int, ...], Array], draft: dict[tuple[int, ...], Array]) -> None:
        law, kept = strong_law(CHAIN[name], target, draft, gamma)
        goal = target_law(target, gamma + 1)
        assert {k: v for k, v in law.items() if v} == {k: v for k, v in goal.items() if v}
        assert 0 <= kept <= gamma

    run()


@pytest.mark.parametrize("name", CHAIN)
@settings(max_examples=20)
@given(data=st.data())
def test_forked_chain_is_transition(name: str, data: st.DataObject) -> None:
    vocab, gamma = data.draw(st.sampled_from([(2, 1), (2, 2), (2, 3), (3, 1), (3, 2)]))
    pairs = [data.draw(law_pairs(vocab)) for _ in range(gamma)]
    p = np.array([a for a, _ in pairs] + [data.draw(law_pairs(vocab))[0]])
    q = np.array([b for _, b in pairs])
    x = np.array([data.draw(st.sampled_from(np.flatnonzero(row).tolist())) for row in q])
    chain_forked_is_transition(CHAIN[name], p, q, x)


def test_lossless_verdicts() -> None:
    for name, num_drafts in (("rejection", 1), ("recursive", 1), ("recursive", 3), ("tokenwise", 1)):
        verdict = guarantee(name, num_drafts=num_drafts)
        assert verdict.lossless
        assert verdict.bias == 0
        assert "exact cases" in verdict.reason
        require_lossless(name, num_drafts=num_drafts)
    assert guarantee("greedy", temperature=0).lossless


@pytest.mark.parametrize("num_drafts", [1, 2])
def test_a_lossy_verdict_has_a_witness_that_convicts(num_drafts: int) -> None:
    verdict = guarantee("greedy", num_drafts=num_drafts)
    assert not verdict.lossless
    rows = [[Fraction(v) for v in row.split(", ")] for row in re.findall(r"\(([\d/, ]+)\)", verdict.reason)]
    p, q, stated = rows
    law = output_law(p, q, rule="greedy", num_drafts=num_drafts)
    assert law.tolist() == stated
    assert sum(max(a - b, 0) for a, b in zip(p, stated, strict=True)) == verdict.bias == Fraction(2, 3)
    with pytest.raises(ValueError, match=r"rule 'greedy' is not lossless at temperature 1: p = \("):
        require_lossless("greedy", num_drafts=num_drafts)


@settings(max_examples=30)
@given(st.integers(2, 4).flatmap(law_pairs))
def test_sampler_law_of_a_correct_user_verifier(pair: tuple[Array, Array]) -> None:
    def correct(p: Array, q: Array, drafts: Array, u: Array) -> int:
        x = int(drafts[0])
        if u[0] * q[x] < p[x]:
            return x
        rest = [max(a - b, 0) for a, b in zip(p, q, strict=True)]
        level = u[1] * sum(rest)
        return next(i for i in range(len(p)) if level < sum(rest[: i + 1]))

    p, q = pair
    assert (sampler_law(correct, p, q) == p).all()


def test_sampler_law_of_incorrect_user_verifiers() -> None:
    def resamples_from_target(p: Array, q: Array, drafts: Array, u: Array) -> int:
        x = int(drafts[0])
        return x if u[0] * q[x] < p[x] else int(u[1] >= p[0])

    def ignores_the_target(p: Array, q: Array, drafts: Array, u: Array) -> int:
        return int(drafts[0])

    # by hand: token 0 drafted (2/3), kept (1/2): 1/3; rejected mass 1/3 goes to p: + 1/3 * 1/3
    assert sampler_law(resamples_from_target, TOY_P, TOY_Q).tolist() == [Fraction(4, 9), Fraction(5, 9)]
    assert sampler_law(ignores_the_target, TOY_P, TOY_Q).tolist() == TOY_Q


def test_sampler_law_of_a_verifier_that_writes_into_its_arguments() -> None:
    """What one call writes must not reach the next, or the caller: by hand 3/8, 5/8, as on copies."""

    def spoils_q(p: Array, q: Array, drafts: Array, u: Array) -> int:
        x = drafts[0]
        kept = u[0] * q[x] < p[x]
        q[x], drafts[0] = 0, 0
        return x if kept else int(u[1] >= Fraction(1, 2))

    def spoils_p(p: Array, q: Array, drafts: Array, u: Array) -> int:
        p -= q
        p[p < 0] = 0
        return int(drafts[0])

    p, q = np.array([Fraction(1, 2)] * 2), np.array([Fraction(1, 4), Fraction(3, 4)])
    assert sampler_law(spoils_q, p, q).tolist() == [Fraction(3, 8), Fraction(5, 8)]
    assert (sampler_law(spoils_p, p, q) == q).all()
    assert p.tolist() == [Fraction(1, 2)] * 2


def drawn_of(draw: Any) -> Array:
    return sampler_law(
        lambda p, q, x, u: int(draw(np.cumsum(p), u)),
        [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)],
        [Fraction(1, 3)] * 3,
    )


@pytest.mark.parametrize(
    "draw",
    [
        lambda cdf, u: np.searchsorted(cdf, u[1], side="right"),
        lambda cdf, u: np.argmax(u[0] < cdf),
        lambda cdf, u: np.argmax(cdf > u[0]),
        lambda cdf, u: np.sum(cdf <= u[0]),
        lambda cdf, u: np.sum(u[0] >= cdf),
        lambda cdf, u: np.argmax(u[0] / Fraction(1, 2) < cdf * 2),
        lambda cdf, u: np.argmax((u[0] * cdf[-1:])[0] < cdf),
    ],
)
def test_sampler_law_of_numpy_searches(draw: Any) -> None:
    assert drawn_of(draw).tolist() == [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda cdf, u: u[0] < u[1],
            "^a uniform was compared with .* a uniform; compare it with one number at a time$",
        ),
        (lambda cdf, u: np.searchsorted(np.sort(u), cdf[0]), "^a uniform was compared with .* a uniform"),
        (lambda cdf, u: 1 - u[0] < cdf[0], "^a uniform was added, subtracted"),
        (lambda cdf, u: u[0] / 0 < cdf[0], "^a forking uniform was divided by 0; divisors must be positive$"),
    ],
)
def test_sampler_law_says_what_a_uniform_cannot_do(draw: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        drawn_of(draw)


@pytest.mark.parametrize("name", MULTI)
def test_sampler_law_agrees_with_output_law_of_shipped_rules(name: str) -> None:
    rule = STEP[name]
    found = sampler_law(
        lambda p, q, x, u: int(rule.verify(rule.prepare(p, q, 2), x, u)),
        TOY_P,
        TOY_Q,
        num_drafts=2,
        uniforms=rule.uniforms(2),
        scheme=rule.DRAFTS,
    )
    assert (found == output_law(TOY_P, TOY_Q, rule=name, num_drafts=2)).all()


def test_published_numbers() -> None:
    """theory/verification.md section 12: recursive rejection (RRS), n = 2: toy 7/9, Zipf V = 32,000 0.83620621."""
    assert acceptance_rate(TOY_P, TOY_Q, rule="recursive", num_drafts=2) == Fraction(7, 9)
    i = np.arange(1, 32_001, dtype=np.float64)
    p, q = i**-1.2 / (i**-1.2).sum(), i**-1.0 / (i**-1.0).sum()
    assert acceptance_rate(p, q, rule="recursive", num_drafts=2) == pytest.approx(0.83620621, abs=5e-9)
    assert acceptance_rate(p, q) == pytest.approx(0.7440738178, abs=5e-11)


def test_published_chain_lengths() -> None:
    """theory/verification.md section 12: the toy, tokenwise E[kept]: 2/3 at gamma = 1, 10/9 at gamma = 2."""
    p, q = np.array(TOY_P, dtype=object), np.array(TOY_Q, dtype=object)
    for gamma, wanted in ((1, Fraction(2, 3)), (2, Fraction(10, 9))):
        prefixes = [x for n in range(gamma + 1) for x in np.ndindex(*(2,) * n)]
        target, draft = dict.fromkeys(prefixes, p), dict.fromkeys(prefixes, q)
        assert strong_law(CHAIN["tokenwise"], target, draft, gamma)[1] == wanted
