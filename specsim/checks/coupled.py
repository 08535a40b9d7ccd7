"""Conformance checks of coupled rules: is the text the target's, whoever drafts, and how often is it drafted?"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from types import ModuleType

import numpy as np

from specsim import discover
from specsim.checks import backends
from specsim.checks.contract import same_names
from specsim.checks.outcomes import Check, close, in_fractions, written
from specsim.exact import coupled
from specsim.testing.cases import LAST_UNIFORM, edge_laws, grid, random_laws, rational_uniforms
from specsim.types import Array, CoupledRule
from specsim.verify.hits import draft_tuples

F = Fraction
# Largest number of variates for which whole grids are run; beyond, the rule runs on one pair of
# laws.
SYMBOLS = 4
PAIR = np.array([F(1, 6), F(1, 3), F(1, 2)]), np.array([F(3, 4), F(0), F(1, 4)])


def counts(rule: ModuleType, most: int = 3) -> tuple[int, ...]:
    """Return the numbers of drafts that a rule is tried with."""
    return discover.facts(rule).counts or tuple(range(1, most + 1))


def cases(rule: ModuleType) -> Iterator[tuple[Array, Array, int]]:
    """Yield the (p, q, K) on which the sampler is run on symbols."""
    for vocab, denominator in ((2, 3), (3, 2)):
        for p, q in zip(*grid(vocab, denominator), strict=True):
            yield from ((p, q, k) for k in counts(rule, 2) if rule.races(k) * vocab <= SYMBOLS)
    yield from ((*PAIR, k) for k in counts(rule, 2) if rule.races(k) * 3 > SYMBOLS)


def contract(rule: ModuleType) -> None:
    """The module has every name of specsim.types.CoupledRule."""
    same_names(rule, CoupledRule)
    assert (rule.__doc__ or "").strip(), "a rule's docstring states its law first"


@in_fractions
def output_is_target(rule: ModuleType) -> None:
    """The token's law is p, whatever q is: by running the sampler on symbols."""
    for p, q, k in cases(rule):
        law = coupled.sampled(rule, p, q, k)
        masses = [sum((mass for (_, y), mass in law.items() if y == token), F(0)) for token in range(len(p))]
        assert masses == p.tolist(), f"p={written(p)}, q={written(q)}, K={k}: the token has law {written(masses)}"


@in_fractions
def drafts_follow_scheme(rule: ModuleType) -> None:
    """The drafts are drawn as DRAFTS says, tuple by tuple."""
    scheme = discover.find("draft", rule.DRAFTS)
    for p, q, k in cases(rule):
        by_drafts = dict[tuple[int, ...], Fraction]()
        for (drafts, _), mass in coupled.sampled(rule, p, q, k).items():
            by_drafts[drafts] = by_drafts.get(drafts, F(0)) + mass
        tuples = draft_tuples(len(q), k)
        chances = zip(tuples, scheme.probability(q, tuples, k), strict=True)
        wanted = {tuple(map(int, x)): chance for x, chance in chances if chance}
        assert by_drafts == wanted, f"q={written(q)}, K={k}: drafts follow {by_drafts}, not {wanted}"


@in_fractions
def acceptance_is_exact(rule: ModuleType) -> None:
    """P(the token is y, and drafted) is `hits`, for every y, as rationals."""
    for p, q, k in cases(rule):
        law = coupled.sampled(rule, p, q, k)
        hits = [F(0)] * len(p)
        for (drafts, token), mass in law.items():
            if token in drafts:
                hits[token] += mass
        stated = rule.hits(p, q, k).tolist()
        assert hits == stated, f"p={written(p)}, q={written(q)}, K={k}: hits {written(hits)}, not {written(stated)}"


def drafter_invariant(rule: ModuleType) -> None:
    """The token is a function of p and the variates: any drafts, of any drafter, leave it as it is."""
    rng, vocab = np.random.default_rng(37), 4
    for k in counts(rule):
        p, q = (rng.dirichlet(np.ones(vocab), 20) for _ in range(2))
        e = rng.exponential(size=(20, rule.races(k), vocab))
        token = rule.verify(p, rule.propose(q, e, k), e)
        for drafts in draft_tuples(vocab, k):
            other = rule.verify(p, np.broadcast_to(drafts, (20, k)), e)
            assert (other == token).all(), f"K={k}: with drafts {drafts} the token is {other}, not {token}"


@in_fractions
def above_published_bound(rule: ModuleType) -> None:
    """`bound` is below the exact acceptance on whole grids of laws, and reaches it where p = q."""
    for p, q, k in _grids(rule):
        hit, least = rule.hits(p, q, k).sum(axis=-1), rule.bound(p, q, k)
        for at in np.flatnonzero(least > hit):
            raise AssertionError(
                f"p={written(p[at])}, q={written(q[at])}, K={k}: {hit[at]}, and a bound of {least[at]}"
            )
        same = (p == q).all(axis=-1)
        assert (least[same] == 1).all(), f"K={k}: where p = q the bound is not 1"


@in_fractions
def below_optimum(rule: ModuleType) -> None:
    """No more hits than p has mass, nor than a rule that sees both laws can reach with drafts so drawn (T03)."""
    scheme = discover.find("draft", rule.DRAFTS)
    for p, q, k in _grids(rule):
        hits = rule.hits(p, q, k)
        assert (hits <= p).all(), f"K={k}: a token is hit more often than it is emitted"
        members = np.array(list(np.ndindex(*(2,) * p.shape[-1])), dtype=bool)
        inside = np.where(members, p[..., None, :], 0).sum(axis=-1)
        best = 1 + (inside - scheme.within(q[..., None, :], members, k)).min(axis=-1)
        for at in np.flatnonzero(hits.sum(axis=-1) > best):
            raise AssertionError(f"p={written(p[at])}, q={written(q[at])}, K={k}: more than the optimum, {best[at]}")


def _grids(rule: ModuleType) -> Iterator[tuple[Array, Array, int]]:
    """Yield all pairs of laws of a grid, with the numbers of drafts."""
    for vocab, denominator in ((2, 4), (3, 3)):
        yield from ((*grid(vocab, denominator), k) for k in counts(rule))


def edges(rule: ModuleType) -> None:
    """At u = 0 and u = 1 - ulp, and with one variate of each, only tokens of positive probability."""
    for vocab in (1, 2, 5):
        for name, p, q in edge_laws(vocab):
            for k, dtype in itertools.product(counts(rule, min(vocab, 2)), (np.float64, np.float32)):
                # All 1 - ulp; all 0; and 0 for one token, else 1 - ulp.
                shape = (vocab + 2, rule.races(k), vocab)
                u = np.full(shape, LAST_UNIFORM)
                u[0] = 0
                u[1 + np.arange(vocab), :, np.arange(vocab)] = 0
                rows = [np.broadcast_to(w.astype(dtype), (vocab + 2, vocab)) for w in (p, q)]
                drafts = rule.propose(rows[1], -np.log1p(-u), k)
                token = rule.verify(rows[0], drafts, -np.log1p(-u))
                first, where = drafts[:, 0], f"{name}, V={vocab}, K={k}, {dtype.__name__}"
                assert (rows[0][0, token] > 0).all(), f"{where}: token {token} has probability 0"
                assert (rows[1][0, first] > 0).all(), f"{where}: draft {first} has probability 0"


def batches(rule: ModuleType) -> None:
    """A batch gives what its rows give one by one."""
    rng, vocab = np.random.default_rng(3), 5
    for k in counts(rule):
        p, q = (rng.dirichlet(np.ones(vocab), 8) for _ in range(2))
        e = rng.exponential(size=(8, rule.races(k), vocab))
        drafts, hits = rule.propose(q, e, k), rule.hits(p, q, k)
        token = rule.verify(p, drafts, e)
        for i in range(8):
            alone = rule.propose(q[i], e[i], k)
            assert alone.tolist() == drafts[i].tolist(), "propose mixes the rows of a batch"
            assert int(rule.verify(p[i], alone, e[i])) == int(token[i]), "verify mixes the rows of a batch"
            close(rule.hits(p[i], q[i], k), hits[i], "hits of a row, and of a batch")


@in_fractions
def floats_follow_fractions(rule: ModuleType) -> None:
    """In float64 drafts, tokens, hits and bounds are those of Fractions."""
    for vocab in (3, 9):
        p, q = random_laws(vocab, 12, seed=vocab)
        for k in counts(rule):
            # Any positive numbers can be variates.
            u, exact = rational_uniforms((12, rule.races(k), vocab), seed=k)
            u, exact = u + 2.0**-20, exact + F(1, 2**20)
            x, wanted = rule.propose(q.astype(float), u, k), rule.propose(q, exact, k)
            assert (x == wanted).all(), f"V={vocab} K={k}: other drafts in float64 than in Fractions"
            y = rule.verify(p.astype(float), x, u)
            assert (y == rule.verify(p, wanted, exact)).all(), f"V={vocab} K={k}: another token than in Fractions"
            for name in ("hits", "bound"):
                function = getattr(rule, name)
                value = function(p[:4].astype(float), q[:4].astype(float), k)
                close(value, function(p[:4], q[:4], k), f"V={vocab} K={k}: {name}")


def same_on_every_backend(rule: ModuleType) -> None:
    """NumPy, JAX (eager, jit, vmap) and torch give the same drafts and tokens, for the most drafts that are tried."""
    p, q, rng = backends.laws(vocab=7, rows=64, seed=37)
    k = counts(rule)[-1]
    races = rule.races(k)

    def kernel(p: Array, q: Array, u: Array) -> tuple[Array, ...]:
        """Return drafts and token from variates."""
        e = u.reshape((*u.shape[:-1], races, 7))
        drafts = rule.propose(q, e, k)
        return (*(drafts[..., i] for i in range(k)), rule.verify(p, drafts, e))

    backends.assert_same(kernel, p, q, rng.random((64, 7 * races)))


COUPLED_CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        contract,
        output_is_target,
        drafts_follow_scheme,
        drafter_invariant,
        acceptance_is_exact,
        above_published_bound,
        below_optimum,
        edges,
        batches,
        floats_follow_fractions,
        same_on_every_backend,
    )
}
