"""What the exact checks of a step rule look at: grids of pairs of laws, and every tuple of drafts, summed over once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from specsim import discover
from specsim.checks import backends
from specsim.testing.cases import GRIDS, LAWS_OF_N, grid, random_laws
from specsim.types import Array, Draws
from specsim.verify.hits import draft_tuples, scheme_of, summed
from specsim.verify.lookup import takes

HELD = 24  # grids at a time: those of one rule
ROWS, VOCAB = 2000, 50  # of what is compared across libraries


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
    """The numbers of drafts a rule is tried with."""
    return tuple(k for k in (1, 2, 3) if takes(rule, k))


def counts(rule: ModuleType) -> tuple[int | Draws, ...]:
    """The same, and the laws of the number of drafts where the rule says ALSO that it verifies distinct ones."""
    return sizes(rule) + (LAWS_OF_N if "distinct" in discover.facts(rule).schemes else ())


def grids(rule: ModuleType) -> tuple[Grid, ...]:
    """Every pair on coarse grids, few tokens where there are many drafts; and random pairs. The smallest come first."""
    return _grids(counts(rule))


@cache
def _grids(these: tuple[int | Draws, ...]) -> tuple[Grid, ...]:
    tried = [(k, k.limit, 27) if isinstance(k, Draws) else (k, k, 64) for k in these]
    found = [Grid(f"V={v} in steps of 1/{d}", k, *grid(v, d)) for k, n, most in tried for v, d in GRIDS if v**n <= most]
    found += [Grid("random, V=4", k, *random_laws(4, 10, seed=n)) for k, n, _ in tried]
    return tuple(sorted(found, key=_work))


def _work(grid: Grid) -> int:
    """Pairs and tuples of drafts: what is wrong may show on little."""
    most = grid.num_drafts.limit if isinstance(grid.num_drafts, Draws) else grid.num_drafts
    return int(len(grid.p) * grid.p.shape[-1] ** most)


def enumerated(rule: ModuleType) -> Iterator[Enumerated]:
    """The rule on each grid in turn; what one check has enumerated, the next need not."""
    these = counts(rule)
    for number, found in enumerate(_grids(these)):
        yield _enumerated(rule.prepare, rule.transition, scheme_of(rule, found.num_drafts), these, number)


@lru_cache(maxsize=HELD)
def _enumerated(
    prepare: Callable[..., Any],
    transition: Callable[..., Array],
    scheme: str,
    these: tuple[int | Draws, ...],
    number: int,
) -> Enumerated:
    """By the rule's own functions, so that what is patched is asked anew."""
    found = _grids(these)[number]
    p, q, tuples = (
        found.p[:, None],
        found.q[:, None],
        draft_tuples(found.p.shape[-1], found.num_drafts, found.p.shape[:-1]),
    )
    kernel = transition(prepare(p, q, found.num_drafts), tuples)
    law, hits = summed(kernel, q, tuples, found.num_drafts, scheme)
    return Enumerated(found, kernel, law, hits.sum(axis=-1))


def best_acceptance(rule: ModuleType, p: Array, q: Array, num_drafts: int | Draws) -> Array:
    """1 + min p(H) - Pr[all drafts in H] over all sets H: the optimum for any draft law, by T03, on a few tokens."""
    members = np.array(list(np.ndindex(*(2,) * p.shape[-1])), dtype=bool)
    p_mass = np.where(members, p[..., None, :], 0).sum(axis=-1)
    drafts_within = discover.find("draft", scheme_of(rule, num_drafts)).within(q[..., None, :], members, num_drafts)
    return 1 + (p_mass - drafts_within).min(axis=-1)


def drawn(rule: ModuleType, q: Array, num_drafts: int | Draws, rng: np.random.Generator) -> Array:
    """Candidates (..., num_drafts) as the rule expects them."""
    return drafted(scheme_of(rule, num_drafts), q, num_drafts, rng)


def drafted(name: str, q: Array, num_drafts: int | Draws, rng: np.random.Generator) -> Array:
    """The same of a scheme."""
    scheme = discover.find("draft", name)
    return scheme.draw(q, rng.random((*q.shape[:-1], scheme.uniforms(num_drafts))), num_drafts)


def compared(rule: ModuleType, num_drafts: int | Draws, *, whole: bool = True) -> backends.Compared:
    """The rule's tokens on every library, or AssertionError. Compiling takes seconds, so a rule is compared once."""
    asked = rule.uniforms(num_drafts), scheme_of(rule, num_drafts), num_drafts, whole
    return _compared(rule.prepare, rule.verify, *asked, tuple(backends.backends(rule.verify)))


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
    """By the rule's own functions, and the libraries that there are."""
    p, q, rng = backends.laws(VOCAB, ROWS, seed=num_drafts.limit if isinstance(num_drafts, Draws) else num_drafts)
    x, u = drafted(scheme, q, num_drafts, rng), rng.random((ROWS, count))
    return backends.assert_same(lambda p, q, x, u: verify(prepare(p, q, num_drafts), x, u), p, q, x, u, whole=whole)
