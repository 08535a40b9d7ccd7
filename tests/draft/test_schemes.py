"""Draft schemes beyond i.i.d., and rules on several drafts: reductions, optima, closed and published numbers."""

from __future__ import annotations

from contextlib import nullcontext
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import acceptance_rate, guarantee, optimal_acceptance, output_law, verify_step, warp
from specsim.checks import backends
from specsim.checks.step_cases import best_acceptance, drawn
from specsim.draft import greedy, iid, without_replacement
from specsim.exact.step import enumerate_step
from specsim.testing import assert_law
from specsim.testing.strategies import law_pairs
from specsim.verify.hits import draft_tuples
from specsim.verify.step import greedy_draft, kseq, naive, recursive_wor

Array = Any
TOY_P, TOY_Q = [Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]
PAIRS = st.integers(1, 4).flatmap(law_pairs)


@given(PAIRS, st.integers(1, 3))
def test_probabilities_of_all_tuples_sum_to_one(pair: tuple[Array, Array], num_drafts: int) -> None:
    q = pair[1]
    tuples = draft_tuples(len(q), num_drafts)
    for scheme in (iid, without_replacement, greedy):
        mass = scheme.probability(q, tuples, num_drafts)
        assert mass.sum() == 1
        assert (q[tuples[mass > 0]] > 0).all()
        assert scheme.within(q, q > 0, num_drafts) == 1


@pytest.mark.parametrize("scheme", [without_replacement, greedy])
@given(pair=PAIRS)
def test_candidates_are_distinct_up_to_the_support(scheme: Any, pair: tuple[Array, Array]) -> None:
    """Every tuple that can be drawn has min(K, support) distinct tokens, then repeats the last one."""
    q = pair[1]
    support = int((q > 0).sum())
    for num_drafts in (1, 2, 3, 4):
        tuples = draft_tuples(len(q), num_drafts)
        for x in tuples[scheme.probability(q, tuples, num_drafts) > 0]:
            assert len(set(x.tolist())) == min(num_drafts, support)
            assert (x[support:] == x[min(num_drafts, support) - 1]).all()


def test_gumbel_top_k_has_the_same_law() -> None:
    """The K largest of log q + Gumbel noise, in decreasing order: false-alarm rate 1e-9, detects a distance of 0.05."""
    q = np.array([0.4, 0.3, 0.2, 0.1, 0.0])
    noise = np.random.default_rng(0).gumbel(size=(60_000, 4))
    drafts = np.argsort(-(np.log(q[:4]) + noise), axis=-1)[:, :2]
    tuples = draft_tuples(5, 2)
    assert_law(drafts @ [5, 1], without_replacement.probability(q, tuples, 2), false_alarm=1e-9)


def test_without_replacement_covers_at_least_as_much_as_iid() -> None:
    """Pr[all in H] is no larger than for i.i.d. drafts (verification.md 3.2), so the optimum is no smaller."""
    p, q, _ = backends.laws(vocab=4, rows=200, seed=2)
    members = np.array(list(np.ndindex(2, 2, 2, 2)), dtype=bool)
    for k in (1, 2, 3):
        wor, other = (scheme.within(q[:, None], members, k) for scheme in (without_replacement, iid))
        assert (wor <= other + 1e-12).all()
        assert (best_acceptance(recursive_wor, p, q, k) >= optimal_acceptance(p, q, num_drafts=k) - 1e-12).all()


@settings(max_examples=30)
@given(pair=PAIRS)
def test_more_drafts_than_support_change_nothing(pair: tuple[Array, Array]) -> None:
    p, q = pair
    support = int((q > 0).sum())
    for rule in (recursive_wor, greedy_draft):
        law, hit = enumerate_step(rule, p, q, support + 1)
        assert (law == p).all()
        covered = p[q > 0].sum()
        assert hit == enumerate_step(rule, p, q, support)[1] == covered
        assert rule.acceptance(rule.prepare(p, q, support + 1)) == covered


@pytest.mark.parametrize("rule", ["recursive_wor", "kseq", "greedy_draft"])
def test_one_draft_is_rejection_token_for_token(rule: str) -> None:
    p, q, rng = backends.laws(vocab=30, rows=3000, seed=1)
    x, u = iid.draw(q, rng.random((3000, 1)), 1), rng.random((3000, 2))
    assert (verify_step(p, q, x, u, rule=rule).token == verify_step(p, q, x, u).token).all()
    assert np.allclose(acceptance_rate(p, q, rule=rule), acceptance_rate(p, q), atol=1e-14, rtol=0)


@given(PAIRS, st.integers(1, 3))
def test_greedy_draft_is_the_optimum_of_its_scheme(pair: tuple[Array, Array], num_drafts: int) -> None:
    p, q = pair
    value = greedy_draft.acceptance(greedy_draft.prepare(p, q, num_drafts))
    assert value == best_acceptance(greedy_draft, p, q, num_drafts)


@given(st.integers(1, 5).flatmap(law_pairs), st.integers(1, 4), st.data())
def test_naive_is_optimal_against_one_hot_laws(pair: tuple[Array, Array], num_drafts: int, data: st.DataObject) -> None:
    law = pair[0]
    corner = np.array([Fraction(int(v)) for v in np.arange(len(law)) == data.draw(st.integers(0, len(law) - 1))])
    for p, q in ((law, corner), (corner, law)):
        value = naive.acceptance(naive.prepare(p, q, num_drafts))
        assert value == optimal_acceptance(p, q, num_drafts=num_drafts)


@settings(max_examples=60)
@given(PAIRS, st.integers(1, 3), st.fractions(Fraction(1, 2), 5, max_denominator=12))
def test_kseq_is_lossless_at_every_valid_rho(pair: tuple[Array, Array], num_drafts: int, rho: Fraction) -> None:
    p, q = pair
    b = sum(np.minimum(q, p / rho))
    c = sum((1 - b) ** k for k in range(num_drafts))
    tuples = draft_tuples(len(p), num_drafts)
    plan = kseq.planned(p[None], q[None], num_drafts, rho=np.array([[rho]]))
    joint = iid.probability(q, tuples, num_drafts)[:, None] * kseq.transition(plan, tuples)
    if c <= rho:
        assert (joint.sum(axis=0) == p).all()
        drafted = (tuples[..., None] == np.arange(len(p))).any(axis=1)
        assert kseq.acceptance(plan)[0] == joint[drafted].sum() >= 1 - (1 - b) ** num_drafts
    else:
        assert (joint.sum(axis=0) != p).any() == ((p > 0) & (p < c * q)).any()


@given(PAIRS, st.integers(1, 3))
def test_kseq_guarantee(pair: tuple[Array, Array], num_drafts: int) -> None:
    """SpecTr's factor 1 - (1 - 1/K)^K of the optimum (T11, 5); and rho is valid on Fractions."""
    p, q = pair
    rho = kseq.smallest_rho(p, q, num_drafts)[0]
    b = sum(np.minimum(q, p / rho))
    assert sum((1 - b) ** k for k in range(num_drafts)) <= rho <= num_drafts
    factor = 1 - (1 - Fraction(1, num_drafts)) ** num_drafts
    value = acceptance_rate(p, q, rule="kseq", num_drafts=num_drafts)
    assert factor * optimal_acceptance(p, q, num_drafts=num_drafts) <= value


def test_sorted_acceptance_sums_equal_the_definition() -> None:
    """_excess against the double sum; the sum over first drafts in `_all_rejected` against rows without them."""
    rng = np.random.default_rng(3)
    p, q, _ = backends.laws(vocab=12, rows=60, seed=4)
    scale = rng.gamma(1, 2, (60, 7))
    wanted = np.maximum(p[:, None] - scale[..., None] * q[:, None], 0).sum(axis=-1)
    assert np.allclose(recursive_wor._excess(p, q, scale), wanted, atol=1e-14, rtol=0)
    exact = recursive_wor.acceptance(recursive_wor.prepare(p, q, 2))
    assert np.allclose(exact, enumerate_step(recursive_wor, p, q, 2)[1], atol=1e-13, rtol=0)
    assert np.allclose(
        recursive_wor.acceptance(recursive_wor.prepare(p, q, 3)),
        enumerate_step(recursive_wor, p, q, 3)[1],
        atol=1e-13,
        rtol=0,
    )


def test_acceptance_without_replacement_keeps_a_rest_that_rounding_would_lose() -> None:
    """q(0) = 1 in floats: the second draft is still a fair choice among the rest."""
    q = np.array([1.0, 1e-30, 3e-30])
    p = np.array([0.0, 0.5, 0.5])
    assert acceptance_rate(p, q, rule="recursive_wor", num_drafts=2) == pytest.approx(0.75, abs=1e-12)


def test_acceptance_without_replacement_refuses_what_does_not_fit() -> None:
    law = np.full(2000, 1 / 2000)
    assert acceptance_rate(law, law, rule="recursive_wor", num_drafts=2) == pytest.approx(1)
    with pytest.raises(ValueError, match=r"num_drafts=4 sums over 1 x 2000\^3 paths, more than 1\.34e\+08; give fewer"):
        acceptance_rate(law, law, rule="recursive_wor", num_drafts=4)


def test_published_numbers() -> None:
    """theory/verification.md section 12, n = 2: the toy, K-SEQ 0.8114195153 at rho 1.4342585459; Zipf, V = 32,000."""
    assert float(acceptance_rate(TOY_P, TOY_Q, rule="kseq", num_drafts=2)) == pytest.approx(0.8114195153, abs=5e-11)
    p, q = (np.array(w, dtype=float) for w in (TOY_P, TOY_Q))
    assert kseq.smallest_rho(p, q, 2)[0] == pytest.approx(1.4342585459, abs=5e-11)
    i = np.arange(1, 32_001, dtype=np.float64)
    p, q = i**-1.2 / (i**-1.2).sum(), i**-1.0 / (i**-1.0).sum()
    for rule, wanted in (("kseq", 0.86761081), ("greedy_draft", 0.88441694)):
        assert acceptance_rate(p, q, rule=rule, num_drafts=2) == pytest.approx(wanted, abs=5e-9)


@pytest.mark.parametrize("num_drafts", [1, 2, 3])
def test_uniform_target_on_a_part_of_a_uniform_draft(num_drafts: int) -> None:
    """theory/verification.md section 3.2: target on d/r of d uniform tokens, r = 3: 1 - (1 - 1/r)^K for K-SEQ."""
    p, q = [Fraction(1, 2)] * 2 + [Fraction(0)] * 4, [Fraction(1, 6)] * 6
    wanted = 1 - (1 - Fraction(1, 3)) ** num_drafts
    assert acceptance_rate(p, q, rule="kseq", num_drafts=num_drafts) == pytest.approx(wanted, abs=1e-11)


def test_verdicts() -> None:
    for rule in ("naive", "kseq", "recursive_wor", "greedy_draft"):
        assert guarantee(rule, num_drafts=3).lossless
        assert guarantee(rule, num_drafts=2, temperature=0).lossless
    for rule, drafts in (("recursive_wor", "without_replacement"), ("greedy_draft", "greedy")):
        assert guarantee(rule, num_drafts=2, scheme=drafts).lossless
        with pytest.raises(ValueError, match=f"rule '{rule}' expects drafts drawn '{drafts}', not 'iid': not lossless"):
            guarantee(rule, num_drafts=2, scheme="iid")
        assert output_law(TOY_P, TOY_Q, rule=rule, num_drafts=2).tolist() == TOY_P


@pytest.mark.parametrize("rule", [naive, kseq, recursive_wor, greedy_draft])
def test_two_tokens_in_a_row_follow_the_joint_law(rule: Any) -> None:
    """A context-dependent target, V = 3, two steps: false-alarm rate 1e-9, detects a joint distance of 0.07."""
    rng = np.random.default_rng(8)
    n = 40_000
    p, q = rng.dirichlet(np.ones(3), 4), rng.dirichlet(np.ones(3), 4)
    tokens, context = [], np.full(n, 3)
    for _ in range(2):
        x = drawn(rule, q[context], 2, rng)
        context = rule.verify(rule.prepare(p[context], q[context], 2), x, rng.random((n, rule.uniforms(2))))
        tokens.append(context)
    assert_law(3 * tokens[0] + tokens[1], (p[3][:, None] * p[:3]).ravel(), false_alarm=1e-9)


@pytest.mark.parametrize("rule", ["naive", "kseq", "recursive_wor", "greedy_draft"])
def test_gradient_in_the_draft_logits_is_the_finite_difference(rule: str) -> None:
    """K = 3 away from ties; through the root rho as well. In torch too."""
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(4)
    p, logits = rng.dirichlet(np.ones(6)), rng.standard_normal(6)

    def rate(x: Array, library: Any = np.asarray) -> Array:
        return acceptance_rate(library(p), warp(x), rule=rule, num_drafts=3)

    slope = jax.grad(partial(rate, library=jax.numpy.asarray))
    compiled = slope if rule == "kseq" else jax.jit(slope)  # XLA takes ten seconds for its fifty halvings at once
    with backends.compiled_plainly() if rule == "kseq" else nullcontext():
        gradient = np.asarray(compiled(jax.numpy.asarray(logits)))
    h = 1e-6
    up, down = (np.array([rate(logits + s * h * e) for e in np.eye(6)]) for s in (1, -1))
    assert np.abs(gradient).max() > 1e-3
    assert np.allclose(gradient, (up - down) / (2 * h), atol=1e-8, rtol=0)
    x = torch.tensor(logits, requires_grad=True)
    rate(x, torch.from_numpy).backward()
    assert np.allclose(x.grad.numpy(), gradient, atol=1e-12, rtol=0)
