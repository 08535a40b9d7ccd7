"""The transport program against subsets in rationals, closed forms and a second solver; plan and certificate."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import discover, optimal_acceptance, optimal_coupling
from specsim.bounds import transport
from specsim.bounds.transport import Coupling
from specsim.checks.draft import handed
from specsim.testing.strategies import law_pairs
from specsim.verify.hits import draft_tuples

Array = Any
SOLVERS = {"HIGHS": 1e-9, "CLARABEL": 1e-6}  # how close to the optimum: a vertex, and the tolerance of an inner point
SCHEMES = [name for name in discover.names("draft") if name != "distinct"]  # it has a test of its own
PAIRS = st.integers(1, 5).flatmap(law_pairs)
SPREAD = [0.5, 0.3, 0.2]


def table(law: Array, tuples: Array, vocab: int) -> Array:
    """Probabilities of tuples as an array with one axis for each draft."""
    out = np.zeros((vocab,) * tuples.shape[-1])
    out[tuple(tuples.T)] = law
    return out


def least_bound(scheme: str, p: Array, q: Array, num_drafts: int) -> Any:
    """1 + min p(H) - Pr[all drafts in H] over all 2^V sets H: the optimum, by T03, in rationals."""
    module, bounds = discover.find("draft", scheme), []
    for members in np.ndindex(*(2,) * len(p)):
        mask = np.array(members, dtype=bool)
        bounds.append(1 + sum(p[mask], Fraction(0)) - module.within(q, mask, num_drafts))
    return min(bounds)


def scheme_table(scheme: str, q: Array, num_drafts: int) -> Array:
    tuples = draft_tuples(q.shape[-1], num_drafts)
    return table(discover.find("draft", scheme).probability(q, tuples, num_drafts), tuples, q.shape[-1])


def assert_coupling(best: Coupling, p: Array, draft_law: Array) -> None:
    """By plain counting over tuples: the plan is a coupling of p and the draft law, and H proves `dual`."""
    p, members = np.asarray(p, dtype=float), np.flatnonzero(best.certificate)
    by_set: dict[frozenset[int], float] = {}
    for x in np.argwhere(draft_law > 0):
        key = frozenset(x.tolist())
        by_set[key] = by_set.get(key, 0) + draft_law[tuple(x)]
    found = {frozenset(s[s >= 0].tolist()): m for s, m in zip(best.sets, best.mass, strict=True)}
    assert found.keys() == by_set.keys(), "other sets than those that can be drafted"
    assert all(abs(found[s] - by_set[s]) <= 1e-12 for s in found), "sets of another probability"
    assert (best.flow >= 0).all(), "a negative flow"
    assert not best.flow[best.sets < 0].any(), "a flow to no token"
    per_token = np.array([best.flow[best.sets == y].sum() for y in range(len(p))])
    assert (per_token <= p + 1e-12).all(), "more of a token than p has"
    assert (best.flow.sum(axis=-1) <= best.mass + 1e-12).all(), "more from a set than is drafted"
    assert best.flow.sum() == pytest.approx(best.value, abs=1e-12), "a value that is not the flow"
    tuples = np.argwhere(draft_law > 0)
    joint = best.transition(tuples) * draft_law[tuple(tuples.T)][:, None]
    hit = joint[(tuples[..., None] == np.arange(len(p))).any(axis=1)].sum()
    assert np.abs(joint.sum(axis=0) - p).max() <= 1e-9, "an output law that is not p"
    assert best.value - 1e-9 <= hit <= best.dual + 1e-9, "a hit probability outside the two bounds"
    inside = sum(m for s, m in by_set.items() if s <= set(members.tolist()))
    assert best.dual == pytest.approx(1 + p[members].sum() - inside, abs=1e-12), "a dual that H does not prove"
    assert -1e-12 <= best.gap == best.dual - best.value


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=40)
@given(PAIRS, st.integers(1, 3))
def test_equals_the_minimum_over_subsets(scheme: str, solver: str, pair: tuple[Array, Array], num_drafts: int) -> None:
    """The set H found proves the optimum *exactly*, in rationals; the value is that optimum up to the solver."""
    module, p = discover.find("draft", scheme), pair[0]
    num_drafts = min(num_drafts, max(discover.scheme_facts(module).counts or (3,)))
    q = handed(module, pair[1], num_drafts)
    best = optimal_coupling(p, q, num_drafts=num_drafts, scheme=scheme, solver=solver)
    wanted = least_bound(scheme, p, q, num_drafts)
    within = module.within(q, best.certificate, num_drafts)
    assert 1 + sum(p[best.certificate], Fraction(0)) - within == wanted
    assert best.value == pytest.approx(float(wanted), abs=SOLVERS[solver])
    assert best.dual == pytest.approx(float(wanted), abs=1e-12)
    assert_coupling(best, p, scheme_table(scheme, q, num_drafts).astype(float))
    if scheme == "iid":
        assert wanted == optimal_acceptance(p, q, num_drafts=num_drafts)


@settings(max_examples=60)
@given(st.tuples(st.integers(2, 4), st.integers(1, 3)), st.integers(0, 2**32 - 1))
def test_any_draft_law(shape: tuple[int, int], seed: int) -> None:
    """A random table with zeros: two solvers agree, and the value is the minimum over all sets H."""
    (vocab, num_drafts), rng = shape, np.random.default_rng(seed)
    law = rng.random((vocab,) * num_drafts) * (rng.random((vocab,) * num_drafts) < 0.6)
    law.flat[rng.integers(law.size)] += 0.1
    law, p = law / law.sum(), rng.dirichlet(np.full(vocab, 0.5))
    bounds = []
    for members in np.ndindex(*(2,) * vocab):
        mask = np.array(members, dtype=bool)
        bounds.append(1 + p[mask].sum() - law[np.ix_(*[mask] * num_drafts)].sum())
    for solver, error in SOLVERS.items():
        best = optimal_coupling(p, draft_law=law, solver=solver)
        assert best.value == pytest.approx(min(bounds), abs=error)
        assert best.dual == pytest.approx(min(bounds), abs=1e-12)
        assert_coupling(best, p, law)


@pytest.mark.parametrize(("vocab", "num_drafts"), [(40, 2), (128, 2), (12, 3), (6, 5), (1, 3), (2, 9)])
@pytest.mark.parametrize("solver", SOLVERS)
def test_larger_problems(vocab: int, num_drafts: int, solver: str) -> None:
    rng = np.random.default_rng(vocab)
    p, q = rng.dirichlet(np.full(vocab, 0.3), 2)
    wanted = optimal_acceptance(p, q, num_drafts=num_drafts)
    best = optimal_coupling(p, q, num_drafts=num_drafts, solver=solver)
    assert best.value == pytest.approx(wanted, abs=SOLVERS[solver])
    assert best.dual == pytest.approx(wanted, abs=1e-12)
    assert_coupling(best, p, scheme_table("iid", q, num_drafts))


def test_one_hots_disjoint_supports_and_equal_laws() -> None:
    corner = [1.0, 0.0, 0.0]
    for p, q, wanted in ((corner, SPREAD, 0.75), (SPREAD, corner, 0.5), ([0, 1.0, 0], corner, 0), (SPREAD, SPREAD, 1)):
        best = optimal_coupling(p, q, num_drafts=2)
        assert best.value == pytest.approx(wanted, abs=1e-12)
        assert_coupling(best, p, scheme_table("iid", np.array(q, dtype=float), 2))


@pytest.mark.parametrize("num_drafts", [1, 2])
def test_a_random_number_of_draws(num_drafts: int) -> None:
    """`distinct` fills places with -1: its sets, and the minimum over subsets."""
    weights = ((2, 1, 1), (3, 2, 4), (1, 1, 1), (0, 1, 1, 2))
    for row in weights:
        q = np.array([Fraction(w, sum(row)) for w in row], dtype=object)
        p = np.roll(q, 1) if len(row) == 3 else np.array([Fraction(1, 2), Fraction(1, 2), Fraction(0), Fraction(0)])
        best = optimal_coupling(p, q, num_drafts=num_drafts, scheme="distinct")
        wanted = least_bound("distinct", p, q, num_drafts)
        assert best.value == pytest.approx(float(wanted), abs=1e-9)
        assert best.dual == pytest.approx(float(wanted), abs=1e-12)
        assert (best.sets >= 0).sum(axis=-1) @ best.mass == pytest.approx(num_drafts)  # expected number of tokens


def test_rest_of_a_plan_without_rest() -> None:
    """p = q: every drafted tuple is kept."""
    best = optimal_coupling(SPREAD, SPREAD, num_drafts=2)
    assert best.value == pytest.approx(1)
    assert best.transition([0, 0]).tolist() == [1, 0, 0]
    assert best.transition([[0, 1], [2, 1]]).sum(axis=-1) == pytest.approx([1, 1])


class Independent(Coupling):
    """A token that does not look at the drafts: its law is p, but the flow is not followed."""

    def transition(self, drafts: Array) -> Array:
        law = self.rest + np.bincount(self.sets[self.sets >= 0], self.flow[self.sets >= 0], len(self.rest))
        return np.broadcast_to(law, (len(drafts), len(law)))


# Each breaks one thing that `assert_coupling` promises to see.
BROKEN: dict[str, Callable[[Coupling], Coupling]] = {
    "other sets": lambda c: c._replace(sets=(c.sets + (c.sets >= 0)) % 3),
    "sets of another probability": lambda c: c._replace(mass=np.full(len(c.mass), 1 / len(c.mass))),
    "a negative flow": lambda c: c._replace(flow=-c.flow),
    "a flow to no token": lambda c: c._replace(flow=np.where(c.sets < 0, 0.1, c.flow)),
    "more of a token": lambda c: c._replace(flow=np.where(c.sets == 1, 1.0, c.flow)),
    "more from a set": lambda c: c._replace(flow=c.flow + 0.1 * ((c.sets == 2) & (c.sets[:, 1:] < 0))),
    "a value that is not the flow": lambda c: c._replace(value=c.value + 1e-3),
    "an output law that is not p": lambda c: c._replace(rest=c.rest[::-1].copy()),
    "a hit probability outside the two bounds": lambda c: Independent(*c),
    "a dual that H does not prove": lambda c: c._replace(certificate=~c.certificate),
}


@pytest.mark.parametrize("message", BROKEN)
def test_the_checker_sees(message: str) -> None:
    p, q = np.array([0.1, 0.3, 0.6]), np.array([0.7, 0.2, 0.1])
    law = scheme_table("iid", q, 2)
    best = optimal_coupling(p, q, num_drafts=2)
    assert best.rest.max() > 0.01
    assert_coupling(best, p, law)
    with pytest.raises(AssertionError, match=message):
        assert_coupling(BROKEN[message](best), p, law)


def test_solvers_cannot_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flows twice too large and prices of noise: a feasible plan and a true bound all the same, only further apart."""
    import cvxpy

    p, q = np.array([0.1, 0.3, 0.6]), np.array([0.7, 0.2, 0.1])
    wanted = optimal_acceptance(p, q, num_drafts=2)
    honest, rng = cvxpy.Variable.value.fget, np.random.default_rng(0)
    monkeypatch.setattr(cvxpy.Variable, "value", property(lambda v: 2 * honest(v) + 0.1, cvxpy.Variable.value.fset))
    noise = property(lambda c: rng.random(c.size))
    monkeypatch.setattr(cvxpy.constraints.constraint.Constraint, "dual_value", noise)
    for _ in range(5):
        best = optimal_coupling(p, q, num_drafts=2)
        assert_coupling(best, p, scheme_table("iid", q, 2))
        assert best.value <= wanted <= best.dual + 1e-15  # two orders of one sum may differ in the last bit
        assert best.gap > 1e-3


@pytest.mark.parametrize("scheme", ["iid", "without_replacement"])
def test_a_piecewise_enumeration_is_the_whole(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    p, q = np.random.default_rng(5).dirichlet(np.ones(6), 2)
    whole = optimal_coupling(p, q, num_drafts=3, scheme=scheme)
    monkeypatch.setattr(transport, "CELLS", 60)
    pieces = optimal_coupling(p, q, num_drafts=3, scheme=scheme)
    assert (whole.sets == pieces.sets).all()
    assert (whole.mass == pieces.mass).all()
