"""Conformance checks of draft schemes: are the tokens draws from the law that is reported?"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from types import ModuleType

import numpy as np

from specsim import forking
from specsim.exact import draft_tuples
from specsim.guarantee import rational_laws
from specsim.testing import backends
from specsim.testing.cases import LAST_UNIFORM, random_laws, rational_uniforms
from specsim.testing.step_checks import close, same_names
from specsim.types import Array, DraftScheme


def contract(scheme: ModuleType) -> None:
    """The module has every name of specsim.types.DraftScheme."""
    same_names(scheme, DraftScheme)


def draws_follow_probability(scheme: ModuleType) -> None:
    """The forked law of `draw` equals `probability`, tuple by tuple."""
    for vocab, num_drafts in ((2, 1), (2, 3), (3, 1), (3, 2)):
        for q in rational_laws(vocab, 3):
            law = forking.law(partial(_draw, scheme, q, num_drafts))
            tuples = draft_tuples(vocab, num_drafts)
            wanted = {tuple(map(int, x)): scheme.probability(q, x, num_drafts) for x in tuples}
            assert law == {x: Fraction(m) for x, m in wanted.items() if m}, f"q={q}: draws follow {law}, not {wanted}"


def _draw(scheme: ModuleType, q: Array, num_drafts: int, fork: forking.Fork) -> tuple[int, ...]:
    return tuple(int(t) for t in scheme.draw(q, fork.uniforms(scheme.uniforms(num_drafts)), num_drafts))


def inside_is_exact(scheme: ModuleType) -> None:
    """Pr[all drafts in H] equals the sum over tuples, for every set H."""
    for q in rational_laws(3, 3):
        for num_drafts in (1, 2, 3):
            tuples = draft_tuples(3, num_drafts)
            for members in np.ndindex(2, 2, 2):
                mask = np.array(members, dtype=bool)
                total = sum(scheme.probability(q, tuples, num_drafts)[mask[tuples].all(axis=-1)], Fraction(0))
                assert scheme.within(q, mask, num_drafts) == total, f"q={q}, H={members}: {total}"


def edges(scheme: ModuleType) -> None:
    """At u = 0 and u = 1 - ulp no token of probability 0 is drawn."""
    for q in ([0.0, 1.0], [1.0, 0.0], [0.0, 0.5, 0.5, 0.0], [1.0], [1e-300, 1.0, 1e-300, 0.0]):
        row = np.array(q)
        for u in (0.0, LAST_UNIFORM):
            tokens = scheme.draw(row, np.full(scheme.uniforms(2), u), 2)
            assert (row[np.minimum(tokens, len(q) - 1)] > 0).all(), f"q={q}, u={u} draws {tokens}"
            assert (tokens < len(q)).all(), f"q={q}, u={u} draws {tokens}"


def floats_follow_fractions(scheme: ModuleType) -> None:
    """In float64 the tokens, their probability and Pr[all in H] are those of Fractions."""
    for vocab, num_drafts in ((3, 2), (24, 5)):
        q, _ = random_laws(vocab, 30, seed=vocab)
        u, exact_u = rational_uniforms((30, scheme.uniforms(num_drafts)), seed=vocab)
        tokens, wanted = scheme.draw(q.astype(float), u, num_drafts), scheme.draw(q, exact_u, num_drafts)
        assert (tokens == wanted).all(), f"V={vocab} K={num_drafts}: other tokens in float64 than in Fractions"
        close(
            scheme.probability(q.astype(float), wanted, num_drafts),
            scheme.probability(q, wanted, num_drafts),
            "probability",
        )
        members, few = np.arange(vocab) % 3 < 2, min(num_drafts, 3)  # a sum over tuples, for some schemes
        close(scheme.within(q.astype(float), members, few), scheme.within(q, members, few), "within")


def same_on_every_backend(scheme: ModuleType) -> None:
    """NumPy, JAX and torch draw the same tokens."""
    q, _, rng = backends.laws(vocab=19, rows=64, seed=3)
    backends.assert_same(partial(scheme.draw, num_drafts=3), q, rng.random((64, scheme.uniforms(3))))


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
