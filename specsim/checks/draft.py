"""Conformance checks of draft schemes: are the tokens draws from the law that is reported?"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover
from specsim.checks import backends
from specsim.checks.contract import same_names
from specsim.checks.outcomes import close, written
from specsim.exact.small_laws import rational_laws
from specsim.forking import rational
from specsim.testing.cases import LAST_UNIFORM, LAWS_OF_N, random_laws, rational_uniforms
from specsim.types import Array, DraftScheme, Draws
from specsim.verify.hits import draft_tuples


def counts(scheme: ModuleType, most: int = 3) -> tuple[Any, ...]:
    """Return the numbers of drafts that a scheme is tried with, or laws of N where it draws their number."""
    facts = discover.scheme_facts(scheme)
    return LAWS_OF_N if facts.random_number else facts.counts or tuple(range(1, most + 1))


def handed(scheme: ModuleType, q: Array, num_drafts: Any) -> Array:
    """Return what the scheme draws from: q, or a law for each draft, (..., K, V), if the scheme says PER_DRAFT."""
    if not discover.scheme_facts(scheme).per_draft:
        return q
    return np.stack([np.roll(q, k, axis=-1) for k in range(num_drafts)], axis=-2)


def arrays_of_tokens(vocab: int, num_drafts: Any) -> Array:
    """Return every array that might be drawn: K tokens, or up to `limit` of them, where none is -1."""
    if isinstance(num_drafts, Draws):
        return draft_tuples(vocab + 1, num_drafts.limit) - 1
    return draft_tuples(vocab, num_drafts)


def contract(scheme: ModuleType) -> None:
    """The module has every name of specsim.types.DraftScheme."""
    same_names(scheme, DraftScheme)


def draws_follow_probability(scheme: ModuleType) -> None:
    """The forked law of `draw` equals `probability`, tuple by tuple."""
    for vocab, num_drafts in itertools.product((2, 3), counts(scheme)):
        for row in rational_laws(vocab, 3):
            q = handed(scheme, row, num_drafts)
            law = rational.law(partial(_draw, scheme, q, num_drafts))
            tuples = arrays_of_tokens(vocab, num_drafts)
            wanted = {tuple(map(int, x)): scheme.probability(q, x, num_drafts) for x in tuples}
            assert law == {x: Fraction(mass) for x, mass in wanted.items() if mass}, (
                f"q={q}: draws follow {law}, not {wanted}"
            )


def _draw(scheme: ModuleType, q: Array, num_drafts: Any, fork: rational.Fork) -> tuple[int, ...]:
    """Return the drafts of one run."""
    return tuple(int(t) for t in scheme.draw(q, fork.uniforms(scheme.uniforms(num_drafts)), num_drafts))


def inside_is_exact(scheme: ModuleType) -> None:
    """Pr[all drafts in H] equals the sum over tuples, for every set H."""
    for row, num_drafts in itertools.product(rational_laws(3, 3), counts(scheme)):
        q, tuples = handed(scheme, row, num_drafts), arrays_of_tokens(3, num_drafts)
        mass = scheme.probability(q, tuples, num_drafts)
        for members in np.ndindex(2, 2, 2):
            mask = np.array(members, dtype=bool)
            total = sum(mass[(mask[tuples] | (tuples < 0)).all(axis=-1)], Fraction(0))
            assert scheme.within(q, mask, num_drafts) == total, f"q={q}, H={members}: {total}"


def edges(scheme: ModuleType) -> None:
    """At u = 0 and u = 1 - ulp no token of probability 0 is drawn."""
    for weights in ([0.0, 1.0], [1.0, 0.0], [0.0, 0.5, 0.5, 0.0], [1.0], [1e-300, 1.0, 1e-300, 0.0]):
        num_drafts = counts(scheme, 2)[-1]
        q = handed(scheme, np.array(weights), num_drafts)
        for u in (0.0, LAST_UNIFORM):
            tokens = scheme.draw(q, np.full(scheme.uniforms(num_drafts), u), num_drafts)
            assert (tokens < len(weights)).all(), f"q={written(q)}, u={written(u)} draws {tokens}"
            chance = q[..., tokens] if q.ndim == 1 else np.take_along_axis(q, tokens[:, None], axis=-1)[:, 0]
            assert ((chance > 0) | (tokens < 0)).all(), f"q={written(q)}, u={written(u)} draws {tokens}"


def floats_follow_fractions(scheme: ModuleType) -> None:
    """In float64 the tokens, their probability and Pr[all in H] are those of Fractions."""
    for vocab, most in ((3, 2), (24, 5)):
        num_drafts = counts(scheme, most)[-1]
        q = handed(scheme, random_laws(vocab, 30, seed=vocab)[0], num_drafts)
        u, exact_u = rational_uniforms((30, scheme.uniforms(num_drafts)), seed=vocab)
        tokens, wanted = scheme.draw(q.astype(float), u, num_drafts), scheme.draw(q, exact_u, num_drafts)
        assert (tokens == wanted).all(), f"V={vocab} K={num_drafts}: other tokens in float64 than in Fractions"
        plain, exact = (scheme.probability(rows, wanted, num_drafts) for rows in (q.astype(float), q))
        close(plain, exact, "probability")
        # `within` is a sum over tuples, for some schemes.
        few = counts(scheme)[-1]
        q, members = handed(scheme, random_laws(vocab, 30, seed=vocab)[0], few), np.arange(vocab) % 3 < 2
        close(scheme.within(q.astype(float), members, few), scheme.within(q, members, few), "within")


def same_on_every_backend(scheme: ModuleType) -> None:
    """NumPy, JAX (eager, jit, vmap) and torch draw the same tokens, for the largest number of drafts that is tried."""
    q, _, rng = backends.laws(vocab=19, rows=64, seed=3)
    num_drafts = counts(scheme)[-1]
    u = rng.random((64, scheme.uniforms(num_drafts)))
    backends.assert_same(partial(scheme.draw, num_drafts=num_drafts), handed(scheme, q, num_drafts), u)


DRAFT_CHECKS: dict[str, Callable[[ModuleType], None]] = {
    check.__name__: check
    for check in (
        contract,
        draws_follow_probability,
        inside_is_exact,
        edges,
        floats_follow_fractions,
        same_on_every_backend,
    )
}
