"""The standard cases of step checks: grids of pairs of laws, and every tuple of drafts, summed over once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from specsim import discover
from specsim.checks import backends
from specsim.exact.small_laws import REPEATING, lasting_laws, pairs
from specsim.testing.cases import GRIDS, LAWS_OF_N, grid, random_laws
from specsim.types import Array, Draws
from specsim.verify.hits import draft_tuples, scheme_of, summed
from specsim.verify.lookup import takes

# Enumerated grids that are remembered: those of one rule.
HELD = 40
# Numbers of drafts that are tried on a few pairs alone.
MORE = (4, 5)
# Most tokens of which all sets are listed.
FEW = 6
# Tokens of the largest laws that are enumerated, for one draft.
MANY = 24
# Tokens of the largest laws in floats, for one and for two drafts.
LARGEST, LARGEST_OF_TWO = 300, 40
# Rows and vocabulary of what is compared across libraries.
ROWS, VOCAB = 2000, 50


class Grid(NamedTuple):
    """Pairs of rational laws (n, V), and how many drafts."""

    where: str
    num_drafts: int | Draws
    p: Array
    q: Array


class Enumerated(NamedTuple):
    """A rule on a grid: its kernel (n, tuples, V), its output law (n, V), and the probability (n,) of a hit."""

    grid: Grid
    kernel: Array
    law: Array
    hit: Array


def sizes(rule: ModuleType) -> tuple[int, ...]:
    """Return the numbers of drafts that a rule is tried with."""
    return tuple(k for k in (1, 2, 3) if takes(rule, k))


def counts(rule: ModuleType) -> tuple[int | Draws, ...]:
    """Return `sizes`, and laws of the number of drafts if the rule says ALSO that it verifies distinct ones."""
    return sizes(rule) + (LAWS_OF_N if "distinct" in discover.facts(rule).schemes else ())


def exact_counts(rule: ModuleType) -> tuple[int | Draws, ...]:
    """Return `counts`, and four and five drafts if the rule takes so many."""
    return counts(rule) + tuple(k for k in MORE if takes(rule, k))


def grids(rule: ModuleType) -> tuple[Grid, ...]:
    """Return every pair on coarse grids, few tokens where there are many drafts, and random pairs.

    The smallest come first.
    """
    return _grids(discover.drafts_of(rule), exact_counts(rule))


@cache
def _grids(scheme: str, counts: tuple[int | Draws, ...]) -> tuple[Grid, ...]:
    """Return the grids for these numbers of drafts of a scheme."""
    # The largest number of drafts of each, and how many tuples of them are enumerated.
    sizes = [(k, k.limit, 27) if isinstance(k, Draws) else (k, k, 64) for k in counts if k not in MORE]
    cases = [
        Grid(f"V={vocab} in steps of 1/{denominator}", k, *grid(vocab, denominator))
        for k, size, most in sizes
        for vocab, denominator in GRIDS
        if vocab**size <= most
    ]
    cases += [Grid("random, V=4", k, *random_laws(4, 10, seed=size)) for k, size, _ in sizes]
    # Residuals that last until the last candidate, and one draft on many tokens.
    lasting = [k for k in (3, 4) if k in counts]
    cases += [Grid(f"lasting residuals, V={k + 2}", k, *lasting_laws(k, scheme)) for k in lasting]
    # With more than three drafts only the pair of which two tokens are left.
    p, q = pairs()
    edges = [(k, -1 if k in MORE else 0) for k in counts if scheme in REPEATING]
    cases += [Grid("edges, V=3", k, p[first:], q[first:]) for k, first in edges]
    cases += [Grid(f"random, V={MANY}", 1, *random_laws(MANY, 3, seed=MANY))] if 1 in counts else []
    return tuple(sorted(cases, key=lambda case: (case.p.shape[-1] > 2, _work(case))))


def float_grids(rule: ModuleType) -> Iterator[Grid]:
    """Yield the grids in float64, and pairs on many tokens."""
    yield from (grid._replace(p=grid.p.astype(float), q=grid.q.astype(float)) for grid in grids(rule))
    for vocab, num_drafts in ((LARGEST, 1), (LARGEST_OF_TWO, 2)):
        if takes(rule, num_drafts):
            p, q, _ = backends.laws(vocab, 6, seed=vocab)
            yield Grid(f"random, V={vocab}", num_drafts, p, q)


def _work(grid: Grid) -> int:
    """Return the number of pairs times that of tuples: an error may show on little."""
    most = grid.num_drafts.limit if isinstance(grid.num_drafts, Draws) else grid.num_drafts
    return int(len(grid.p) * grid.p.shape[-1] ** most)


def enumerated(rule: ModuleType) -> Iterator[Enumerated]:
    """Yield the rule on each grid in turn; checks share what is enumerated."""
    drawn_by, numbers = discover.drafts_of(rule), exact_counts(rule)
    for place, case in enumerate(grids(rule)):
        scheme = scheme_of(rule, case.num_drafts)
        yield _enumerated(rule.prepare, rule.transition, scheme, drawn_by, numbers, place)


@lru_cache(maxsize=HELD)
def _enumerated(
    prepare: Callable[..., Any],
    transition: Callable[..., Array],
    scheme: str,
    drawn_by: str,
    counts: tuple[int | Draws, ...],
    place: int,
) -> Enumerated:
    """Return the law and the hits of a rule on the grid number `place`, summed over all drafts.

    Results are cached by the rule's functions, not its module: a patched function gets its own.
    """
    case = _grids(drawn_by, counts)[place]
    tuples = draft_tuples(case.p.shape[-1], case.num_drafts, case.p.shape[:-1])
    p, q = case.p[:, None], case.q[:, None]
    kernel = transition(prepare(p, q, case.num_drafts), tuples)
    law, hits = summed(kernel, q, tuples, case.num_drafts, scheme)
    return Enumerated(case, kernel, law, hits.sum(axis=-1))


def best_acceptance(rule: ModuleType, p: Array, q: Array, num_drafts: int | Draws) -> Array:
    """Return the optimum for any draft law on a few tokens, by T03.

    It is 1 + min p(H) - Pr[all drafts in H] over all sets H of tokens. Of many tokens there are too
    many sets: 1, which bounds every acceptance.
    """
    if p.shape[-1] > FEW:
        return np.ones(p.shape[:-1])
    members = np.array(list(np.ndindex(*(2,) * p.shape[-1])), dtype=bool)
    p_mass = np.where(members, p[..., None, :], 0).sum(axis=-1)
    drafts_within = discover.find("draft", scheme_of(rule, num_drafts)).within(q[..., None, :], members, num_drafts)
    return 1 + (p_mass - drafts_within).min(axis=-1)


def drawn(rule: ModuleType, q: Array, num_drafts: int | Draws, rng: np.random.Generator) -> Array:
    """Return candidates (..., num_drafts) as the rule expects them."""
    return drafted(scheme_of(rule, num_drafts), q, num_drafts, rng)


def drafted(name: str, q: Array, num_drafts: int | Draws, rng: np.random.Generator) -> Array:
    """Return candidates (..., num_drafts) of a scheme."""
    scheme = discover.find("draft", name)
    return scheme.draw(q, rng.random((*q.shape[:-1], scheme.uniforms(num_drafts))), num_drafts)


def compared(rule: ModuleType, num_drafts: int | Draws, *, whole: bool = True) -> backends.Compared:
    """Return how the rule's tokens compare on every library, or raise AssertionError.

    Compiling takes seconds, so a rule is compared once.
    """
    libraries = tuple(backends.backends(rule.verify))
    count, scheme = rule.uniforms(num_drafts), scheme_of(rule, num_drafts)
    return _compared(rule.prepare, rule.verify, count, scheme, num_drafts, whole, libraries)


@lru_cache(maxsize=64)
def _compared(
    prepare: Callable[..., Any],
    verify: Callable[..., Array],
    count: int,
    scheme: str,
    num_drafts: int | Draws,
    whole: bool,
    libraries: tuple[str, ...],
) -> backends.Compared:
    """Return how the tokens of a rule compare on every library, or raise AssertionError.

    Results are cached by the rule's functions and by the libraries that are installed.
    """
    p, q, rng = backends.laws(VOCAB, ROWS, seed=num_drafts.limit if isinstance(num_drafts, Draws) else num_drafts)
    x, u = drafted(scheme, q, num_drafts, rng), rng.random((ROWS, count))
    return backends.assert_same(lambda p, q, x, u: verify(prepare(p, q, num_drafts), x, u), p, q, x, u, whole=whole)
