"""Conformance checks of step rules. Each raises AssertionError, and each has a mutant in tests/mutants it kills."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import partial
from numbers import Rational
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover
from specsim.base.arrays import at, pick
from specsim.checks import backends
from specsim.checks.contract import same_names
from specsim.checks.outcomes import Check, Skipped, close, in_fractions, written
from specsim.checks.step_cases import (
    LARGEST,
    best_acceptance,
    compared,
    counts,
    drawn,
    enumerated,
    float_grids,
    grids,
    sizes,
)
from specsim.checks.step_edges import edges
from specsim.exact.step import enumerate_step
from specsim.forking import rational
from specsim.testing.cases import drafted_tuples, random_laws, rational_uniforms
from specsim.testing.statistics import assert_law
from specsim.types import Array, Draws, LossyStepRule, StepRule
from specsim.verify.hits import draft_tuples, scheme_of
from specsim.verify.lookup import takes


def contract(rule: ModuleType) -> None:
    """The module has every name of specsim.types.StepRule, with the protocol's parameters."""
    same_names(rule, LossyStepRule if discover.facts(rule).bias else StepRule)
    known = discover.names("draft")
    assert rule.DRAFTS in known, f"DRAFTS is {rule.DRAFTS!r}; known: {', '.join(known)}"
    assert (rule.__doc__ or "").strip(), "a rule's docstring states its law first"
    for num_drafts in counts(rule):
        p = q = np.array([0.5, 0.25, 0.25])
        plan = rule.prepare(p, q, num_drafts)
        x, u = drawn(rule, q, num_drafts, np.random.default_rng(0)), np.full(rule.uniforms(num_drafts), 0.5)
        assert np.shape(rule.transition(plan, x)) == (3,), "transition must return one row over the vocabulary"
        assert np.shape(rule.verify(plan, x, u)) == (), "verify must return one token"


@in_fractions
def transition_is_a_law(rule: ModuleType) -> None:
    """Every row of the kernel is non-negative and sums to exactly 1."""
    for case in enumerated(rule):
        assert (case.kernel >= 0).all(), "a negative probability"
        assert (case.kernel.sum(axis=-1) == 1).all(), "a row that does not sum to 1"
        kinds = {type(entry) for entry in case.kernel.flat}
        assert all(issubclass(kind, Rational) for kind in kinds), "a float among Fractions: nothing it enters is exact"


@in_fractions
def sampler_is_transition(rule: ModuleType) -> None:
    """The forked law of `verify` equals `transition`, as rationals: one plan serves every tuple that can be drafted."""
    for where, num_drafts, p, q in grids(rule):
        for k in range(len(p)):
            plan, count = rule.prepare(p[k], q[k], num_drafts), rule.uniforms(num_drafts)
            tuples = drafted_tuples(q[k], num_drafts, scheme_of(rule, num_drafts))
            laws = rational.laws(partial(_runs, rule, plan, tuples, count), len(tuples))
            for x, law, row in zip(tuples, laws, rule.transition(plan, tuples), strict=True):
                _agree(law, row, p[k], q[k], x, where)


def forked_is_transition(rule: ModuleType, p: Array, q: Array, num_drafts: int | Draws, where: str = "") -> None:
    """The forked law of `verify` equals `transition` for one pair of rational rows, one tuple at a time."""
    plan, count = rule.prepare(p, q, num_drafts), rule.uniforms(num_drafts)
    for x in drafted_tuples(q, num_drafts, scheme_of(rule, num_drafts)):
        _agree(rational.law(partial(_run, rule, plan, x, count)), rule.transition(plan, x), p, q, x, where)


def _agree(law: dict[int, Fraction], row: Array, p: Array, q: Array, drafts: Array, where: str) -> None:
    """Fail if the sampler's law is not the row of `transition` at these drafts."""
    wanted = {token: Fraction(mass) for token, mass in enumerate(row) if mass}
    assert law == wanted, (
        f"{where} p={written(p)} q={written(q)} drafts={drafts}: the sampler's law is {written(law)}, "
        f"transition says {written(wanted)}"
    )


def _runs(
    rule: ModuleType, plan: Any, tuples: Array, count: int, rows: list[int], forks: list[rational.Fork]
) -> list[int]:
    """Return the tokens of the tuples that run together, each with the uniforms of its fork."""
    u = np.stack([fork.uniforms(count) for fork in forks])
    return [int(token) for token in rule.verify(plan, tuples[rows], u)]


def _run(rule: ModuleType, plan: Any, x: Array, count: int, fork: rational.Fork) -> int:
    """Return the token of one run."""
    return int(rule.verify(plan, x, fork.uniforms(count)))


@in_fractions
def output_is_target(rule: ModuleType) -> None:
    """The output law equals p exactly, or misses it by exactly the `bias` that the rule states."""
    for (name, num_drafts, p, q), _, law, _ in enumerated(rule):
        assert_bias(rule, p, q, law, num_drafts, name)


def assert_bias(rule: ModuleType, p: Array, q: Array, law: Array, num_drafts: int | Draws, where: str = "") -> None:
    """TV(law, p) is the rule's stated bias: 0 when it states none."""
    distance = (abs(law - p)).sum(axis=-1) / 2
    stated = rule.bias(rule.prepare(p, q, num_drafts)) if discover.facts(rule).bias else 0 * distance
    off = np.flatnonzero(np.atleast_1d(distance != stated))
    for k in off[:1]:
        raise AssertionError(
            f"{where} K={num_drafts}: p={written(np.atleast_2d(p)[k])} q={written(np.atleast_2d(q)[k])} "
            f"gives {written(np.atleast_2d(law)[k])}; "
            f"TV {np.atleast_1d(distance)[k]}, stated {np.atleast_1d(stated)[k]}"
        )


@in_fractions
def acceptance_is_exact(rule: ModuleType) -> None:
    """The closed form equals the probability, by enumeration, that the token is a draft."""
    if not discover.facts(rule).acceptance:
        raise Skipped("the rule states no acceptance: it is counted by transition wherever it is asked for")
    for (name, num_drafts, p, q), _, _, hit in enumerated(rule):
        stated = rule.acceptance(rule.prepare(p, q, num_drafts))
        for k in np.flatnonzero(np.broadcast_to(stated != hit, hit.shape))[:1]:
            raise AssertionError(
                f"{name} K={num_drafts}: p={written(p[k])} q={written(q[k])} has acceptance "
                f"{written(np.broadcast_to(stated, hit.shape)[k])} as stated, {written(hit[k])} by enumeration"
            )


@in_fractions
def acceptance_below_optimum(rule: ModuleType) -> None:
    """No rule beats the transport optimum by more than its stated bias: not as enumerated, nor as stated."""
    known = discover.facts(rule)
    for (name, num_drafts, p, q), _, _, hit in enumerated(rule):
        plan = rule.prepare(p, q, num_drafts)
        bound = best_acceptance(rule, p, q, num_drafts) + (rule.bias(plan) if known.bias else 0)
        stated = rule.acceptance(plan) if known.acceptance else hit
        for rate, words in ((hit, "lossy"), (stated, "misstated, as no rule has that")):
            for k in np.flatnonzero(np.broadcast_to(rate > bound, hit.shape))[:1]:
                raise AssertionError(
                    f"{name} K={num_drafts}: p={written(p[k])} q={written(q[k])}: acceptance "
                    f"{written(np.broadcast_to(rate, hit.shape)[k])} is above the optimum {written(bound[k])}: {words}"
                )


def batches(rule: ModuleType) -> None:
    """A batch gives what its rows give one by one: verify, transition, and acceptance where it is stated."""
    has_rate = discover.facts(rule).acceptance
    rng = np.random.default_rng(5)
    for num_drafts in counts(rule):
        p, q = rng.dirichlet(np.ones(4), 6), rng.dirichlet(np.ones(4), 6)
        x, u = drawn(rule, q, num_drafts, rng), rng.random((6, rule.uniforms(num_drafts)))
        plan = rule.prepare(p, q, num_drafts)
        token, law = rule.verify(plan, x, u), rule.transition(plan, x)
        rate = rule.acceptance(plan) if has_rate else np.zeros(6)
        for k in range(6):
            row = rule.prepare(p[k], q[k], num_drafts)
            assert int(token[k]) == int(rule.verify(row, x[k], u[k])), "verify mixes the rows of a batch"
            assert np.allclose(law[k], rule.transition(row, x[k])), "transition mixes the rows of a batch"
            assert not has_rate or np.isclose(rate[k], rule.acceptance(row)), "acceptance mixes the rows of a batch"


def frequencies(rule: ModuleType) -> None:
    """In float64 the tokens of two rows of one batch follow the product law: no drift, no shared randomness.

    40,000 pairs over 9 outcomes: false-alarm rate 1e-9, smallest distance detected with that
    certainty 0.05. A rule that says EXACT = False, whose sampler is not forked, is asked at nine
    pairs of laws. Of one draft the tokens of 80,000 rows of 300 tokens follow their law.
    """
    rng, n = np.random.default_rng(11), 40_000
    pairs = [(np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6]))]
    if not rule.EXACT:
        pairs += zip(*(w.astype(float) for w in random_laws(3, 8, seed=11)), strict=True)
    for num_drafts, (p, q) in itertools.product(counts(rule), pairs):
        plan = rule.prepare(np.broadcast_to(p, (2 * n, 3)), np.broadcast_to(q, (2 * n, 3)), num_drafts)
        x = drawn(rule, np.broadcast_to(q, (2 * n, 3)), num_drafts, rng)
        token = rule.verify(plan, x, rng.random((2 * n, rule.uniforms(num_drafts)))).reshape(n, 2)
        law = enumerate_step(rule, p, q, num_drafts)[0]
        assert_law(3 * token[:, 0] + token[:, 1], np.outer(law, law).ravel(), false_alarm=1e-9)
    # Many tokens, one draft: the law of single tokens.
    if takes(rule, 1):
        p, q, rng = backends.laws(LARGEST, 3, seed=11)
        rows_p, rows_q = (np.broadcast_to(w[0], (2 * n, LARGEST)) for w in (p, q))
        x = drawn(rule, rows_q, 1, rng)
        token = rule.verify(rule.prepare(rows_p, rows_q, 1), x, rng.random((2 * n, rule.uniforms(1))))
        assert_law(token, enumerate_step(rule, p[0], q[0], 1)[0], false_alarm=1e-9)


def same_on_every_backend(rule: ModuleType) -> None:
    """NumPy, torch and JAX under jit agree for every number of drafts that is tried, but on boundaries.

    That is for 1, 2 and 3 drafts, and for laws of N where they may be distinct. JAX is asked
    eagerly and under vmap for two drafts only (one, where a rule takes no more): each operation
    compiles by itself, which takes seconds.
    """
    for num_drafts in counts(rule):
        compared(rule, num_drafts, whole=num_drafts == min(2, max(sizes(rule))))


@in_fractions
def floats_follow_fractions(rule: ModuleType) -> None:
    """In float64 the kernel, the closed form, the bias and the sampler's tokens are those of Fractions.

    Laws that nearly agree included; up to K = 5, V = 24 and two leading axes. Values within 1e-12,
    tokens equal.
    """
    shapes: list[tuple[int, int | Draws]] = [
        shape for shape in ((3, 1), (5, 1), (4, 3), (24, 2), (24, 5)) if takes(rule, shape[1])
    ]
    for vocab, num_drafts in [*shapes, *((24, law) for law in counts(rule) if isinstance(law, Draws))]:
        # The same laws and uniforms in rationals and in floats.
        p, q = (w.reshape(2, 15, vocab) for w in random_laws(vocab, 30, seed=vocab))
        x = drawn(rule, q.astype(float), num_drafts, np.random.default_rng(vocab))
        u, exact_u = rational_uniforms((2, 15, rule.uniforms(num_drafts)), seed=vocab)
        exact, plain = rule.prepare(p, q, num_drafts), rule.prepare(p.astype(float), q.astype(float), num_drafts)
        where = f"V={vocab} K={num_drafts}"
        close(rule.transition(plain, x), rule.transition(exact, x), f"{where}: transition")
        # The acceptance without replacement is a sum over V^(K-1) paths.
        summable = rule.DRAFTS != "without_replacement" or num_drafts in (1, 2, 3)
        if discover.facts(rule).acceptance and summable:
            close(rule.acceptance(plain), rule.acceptance(exact), f"{where}: acceptance")
        if discover.facts(rule).bias:
            close(rule.bias(plain), rule.bias(exact), f"{where}: bias")
        tokens, wanted = rule.verify(plain, x, u), rule.verify(exact, x, exact_u)
        assert (np.asarray(tokens) == np.asarray(wanted)).all(), f"{where}: other tokens in float64 than in Fractions"


def laws_in_floats(rule: ModuleType) -> None:
    """In float64: the kernel is a law, the output misses p by the stated `bias`, the acceptance is the enumerated one.

    This asks rules that say EXACT = False, too; within 1e-12, on the laws of the exact checks and on
    random ones of 300 tokens with one draft, of 40 with two.
    """
    for where, num_drafts, p, q in float_grids(rule):
        plan, tuples = rule.prepare(p, q, num_drafts), draft_tuples(p.shape[-1], num_drafts)
        kernel = rule.transition(rule.prepare(p[:, None], q[:, None], num_drafts), tuples)
        assert kernel.min() >= 0, f"{where} K={num_drafts}: a negative probability"
        close(kernel.sum(axis=-1), np.ones(kernel.shape[:-1]), f"{where} K={num_drafts}: a row of transition, summed,")
        # What the rule states beside the law: bias, acceptance, and the optimum.
        law, hit = enumerate_step(rule, p, q, num_drafts)
        stated = rule.bias(plan) if discover.facts(rule).bias else np.zeros(len(p))
        close(abs(law - p).sum(axis=-1) / 2, stated, f"{where} K={num_drafts}: TV(output, p) from the stated bias")
        if discover.facts(rule).acceptance:
            close(rule.acceptance(plan), hit, f"{where} K={num_drafts}: acceptance")
        bound = best_acceptance(rule, p, q, num_drafts) + stated
        assert (hit <= bound + 1e-12).all(), f"{where} K={num_drafts}: acceptance above the optimum: lossy"


def two_numbers_a_draft(rule: ModuleType) -> None:
    """Where a rule has `keeps` and `left_over`, `verify` is what they say: simulations look up the two instead."""
    if not discover.facts(rule).left_over:
        return
    p, q, rng = backends.laws(5, 400, seed=3)
    x, u = discover.find("draft", "iid").draw(q, rng.random((400, 1)), 1), rng.random((400, rule.uniforms(1)))
    accepted = rule.keeps(at(p, x[:, 0]), at(q, x[:, 0]), u[:, 0])
    law = rule.left_over(p, q)
    assert (accepted | (at(law, x[:, 0]) == 0)).all(), "a draft that fails can be drawn from left_over"
    wanted = np.where(accepted, x[:, 0], pick(law, u[:, 1]))
    token = rule.verify(rule.prepare(p, q, 1), x, u)
    assert (wanted == token).all(), "verify is not what keeps and left_over say"


STEP_CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        contract,
        transition_is_a_law,
        sampler_is_transition,
        output_is_target,
        acceptance_is_exact,
        acceptance_below_optimum,
        edges,
        batches,
        frequencies,
        floats_follow_fractions,
        laws_in_floats,
        two_numbers_a_draft,
        same_on_every_backend,
    )
}
