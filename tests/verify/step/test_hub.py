"""SpecHub against its linear program; instances of errors met in the wild."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers.rules import MUTANTS, load
from hypothesis import assume, given
from hypothesis import strategies as st

from specsim import acceptance_rate, guarantee, output_law, verify_step
from specsim.base.arrays import overlap
from specsim.checks import backends
from specsim.checks.step import forked_is_transition
from specsim.checks.step_cases import best_acceptance
from specsim.draft import greedy, hub, iid, independent
from specsim.exact.step import enumerate_step
from specsim.testing.strategies import law_pairs, rational_laws
from specsim.verify.hits import draft_tuples
from specsim.verify.step import greedy_draft, rejection, spechub

Array = Any
PAIRS = st.integers(1, 5).flatmap(law_pairs)
TOY_P, TOY_Q = (np.array([Fraction(n, 3) for n in w]) for w in ((1, 2), (2, 1)))


def fractions(*numbers: str) -> Array:
    return np.array([Fraction(n) for n in numbers])


@given(PAIRS)
def test_pairs_of_hub(pair: tuple[Array, Array]) -> None:
    """(x, a) with probability q(x), (a, x) with q(a) q(x) / (1 - q(a)); as sets, the two drafts of `greedy`."""
    q = pair[1]
    tuples, top = draft_tuples(len(q), 2), int(q.argmax())
    mass = dict(zip(map(tuple, tuples.tolist()), hub.probability(q, tuples, 2), strict=True))
    assert sum(mass.values()) == 1
    of_greedy = dict(zip(map(tuple, tuples.tolist()), greedy.probability(q, tuples, 2), strict=True))
    for x in range(len(q)):
        if q[top] == 1:
            assert mass[top, top] == 1
        elif x != top:
            assert mass[x, top] == q[x]
            assert mass[top, x] == q[top] * q[x] / (1 - q[top])
            assert mass[x, top] + mass[top, x] == of_greedy[top, x]
    assert (hub.probability(q, draft_tuples(len(q), 1), 1) == q).all()


@given(PAIRS, st.sampled_from([1, 2]))
def test_spechub_is_the_optimum_of_its_pairs(pair: tuple[Array, Array], num_drafts: int) -> None:
    """The minimum over all sets, exactly; which is also what two greedy drafts reach."""
    p, q = pair
    value = acceptance_rate(p, q, rule="spechub", num_drafts=num_drafts)
    assert value == best_acceptance(spechub, p, q, num_drafts)
    assert value == greedy_draft.acceptance(greedy_draft.prepare(p, q, num_drafts))
    law, hit = enumerate_step(spechub, p, q, num_drafts)
    assert (law == p).all()
    assert hit == value
    forked_is_transition(spechub, p, q, num_drafts)


@given(PAIRS)
def test_the_hub_gets_all_that_the_target_gives_it(pair: tuple[Array, Array]) -> None:
    p, q = pair
    plan = spechub.prepare(p, q, 2)
    through_pairs = overlap(p, plan.first) + overlap(plan.rest, plan.second)
    assert spechub.acceptance(plan) == through_pairs + sum(mass[0] for mass in plan.to_hub)
    if q.max() < 1:
        assert sum(mass[0] for mass in plan.to_hub) == p[plan.hub]


def test_one_draft_is_rejection_token_for_token() -> None:
    p, q, rng = backends.laws(vocab=30, rows=3000, seed=1)
    x, u = iid.draw(q, rng.random((3000, 1)), 1), rng.random((3000, 2))
    wanted = verify_step(p, q, x, u).token
    assert (verify_step(p, q, x, u, rule="spechub").token == wanted).all()
    padded = np.concatenate([rng.random((3000, 1)), u], axis=1)  # u[0] has nothing to choose from
    assert (verify_step(p, q, x, padded, rule="importance").token == wanted).all()
    for rule in ("spechub", "importance"):
        assert np.allclose(acceptance_rate(p, q, rule=rule), acceptance_rate(p, q), atol=1e-14, rtol=0)


def test_three_drafts_are_refused() -> None:
    told = "rule 'spechub' verifies 1 or 2 drafts drawn 'hub', got num_drafts=3"
    half, three = [0.5, 0.5], np.zeros((1, 3), dtype=np.int64)
    for call in (
        lambda: acceptance_rate(half, half, rule="spechub", num_drafts=3),
        lambda: output_law(half, half, rule="spechub", num_drafts=3),
        lambda: guarantee("spechub", num_drafts=3),
        lambda: verify_step(half, half, three[0], np.full(4, 0.5), rule="spechub"),
    ):
        with pytest.raises(ValueError, match=told):
            call()
    q = np.array(half)
    for call in (
        lambda: hub.draw(q, np.full(3, 0.5), 3),
        lambda: hub.probability(q, three, 3),
        lambda: hub.within(q, q > 0, 3),
    ):
        with pytest.raises(ValueError, match="scheme 'hub' draws 1 or 2 candidates, got num_drafts=3"):
            call()
    assert guarantee("spechub", num_drafts=2).lossless
    with pytest.raises(ValueError, match="rule 'spechub' expects drafts drawn 'hub', not 'iid': not lossless"):
        guarantee("spechub", num_drafts=2, scheme="iid")


@given(st.integers(1, 4).flatmap(rational_laws), st.integers(1, 3))
def test_independent_drafts_of_one_law_are_iid(q: Array, num_drafts: int) -> None:
    rows, tuples = np.stack([q] * num_drafts), draft_tuples(len(q), num_drafts)
    same = iid.probability(q, tuples, num_drafts)
    assert (independent.probability(rows, tuples, num_drafts) == same).all()
    for members in np.ndindex(*(2,) * len(q)):
        mask = np.array(members, dtype=bool)
        assert independent.within(rows, mask, num_drafts) == iid.within(q, mask, num_drafts)


# Errors met in the wild: theory/verification.md, section 11. The mutant, the instance, and its distance from p.
INSTANCES = {
    "6: repeated drafts skipped": (
        "duplicates_skipped",
        (fractions("0", "1/2", "1/2"), fractions("1/2", "1/6", "1/3")),
        Fraction(1, 12),
    ),
    "7a: q not renormalised": (
        "wor_draft_not_renormalised",
        (fractions("0", "1/2", "1/2"), fractions("1/2", "1/6", "1/3")),
        Fraction(1, 6),
    ),
    "7b: siblings in the order of q": ("wor_sorted_siblings", (TOY_P, TOY_Q), Fraction(1, 6)),
    "9: certain drafts tested against q": ("greedy_draft_tested_as_drawn", (TOY_P, TOY_Q), Fraction(1, 6)),
    "10: rho below the root": ("kseq_rho_below_root", (TOY_P, TOY_Q), Fraction(1, 9)),
    "10: but not if p is one-hot": ("kseq_rho_below_root", (fractions("1", "0"), TOY_Q), Fraction(0)),
}


@pytest.mark.parametrize("error", INSTANCES)
def test_errors_of_several_drafts(error: str) -> None:
    name, (p, q), distance = INSTANCES[error]
    law, _ = enumerate_step(load(MUTANTS / "step" / f"{name}.py"), p, q, 2)
    assert abs(law - p).sum() / 2 == distance


@pytest.mark.parametrize("name", ["duplicates_skipped", "wor_draft_not_renormalised"])
@given(pair=law_pairs(2))
def test_two_tokens_do_not_show_errors_6_and_7a(name: str, pair: tuple[Array, Array]) -> None:
    p, q = pair
    assume((q > 0).all())
    assert (enumerate_step(load(MUTANTS / "step" / f"{name}.py"), p, q, 2)[0] == p).all()


def test_error_8_a_filter_applied_to_one_half() -> None:
    """The residual of the target before its filter emits what the filter took out; so does q before its filter err."""
    before, after, q = fractions("2/5", "2/5", "1/5"), fractions("1/2", "1/2", "0"), fractions("1", "0", "0")
    mixed = rejection.Plan(after, q, rejection.residual(before, q))
    law = (q[:, None] * rejection.transition(mixed, np.arange(3)[:, None])).sum(axis=0)
    assert law.tolist() == fractions("1/2", "1/3", "1/6").tolist()
    drafted = fractions("1", "0")  # top-1 of TOY_Q
    law = (drafted[:, None] * rejection.transition(rejection.prepare(TOY_P, TOY_Q), np.arange(2)[:, None])).sum(axis=0)
    assert law.tolist() == fractions("1/2", "1/2").tolist()
    for p in (before, after):  # one version throughout is lossless for that version
        assert (enumerate_step(rejection, p, q, 1)[0] == p).all()
