"""The exact law of the token that a verifier returns, by forking its uniforms."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from specsim import discover
from specsim.base import check, limits
from specsim.forking import rational
from specsim.testing.cases import drafted_tuples
from specsim.types import Array

# How often every call is repeated: a fair coin inside the verifier is missed in 1 of 8 calls, and
# there are many calls.
REPEATS = 3


@np.errstate(under="ignore")
def sampler_law(
    verify: Callable[[Array, Array, Array, Array], int],
    p: Array,
    q: Array,
    *,
    num_drafts: int = 1,
    uniforms: int = 2,
    scheme: str = "iid",
) -> Array:
    """Return the exact law of the token that a verifier emits on drafts of a scheme, with no sampling.

    The verifier is run on object arrays of Fractions; its uniforms fork at every comparison. The
    code may add, multiply and compare numbers, but a uniform may only be multiplied by a
    non-negative number, divided by a positive one and compared with numbers (not with another
    uniform). Equality with p, by ==, is losslessness at these laws.

    Parameters
    ----------
    verify : callable
        verify(p, q, drafts, u) -> token id, with p, q of shape (V,), drafts (num_drafts,) and u (uniforms,).
    p, q : sequence of Fraction, shape (V,)
        Target and draft laws.
    num_drafts, uniforms : int
        Candidates, and how many uniforms the verifier takes.
    scheme : str
        The draft scheme.

    Returns
    -------
    array of Fraction, shape (V,)
        The law of the token.

    Raises
    ------
    ValueError
        A row is not a law, the scheme is unknown, verify returns no token id, or does not return the same one when it
        is called again: its randomness must come from u; TypeError if a row does not hold
        Fractions, or verify adds to a uniform or compares two.

    References
    ----------
    proofs/README.md; specsim.forking.rational.

    Examples
    --------
    A verifier that forgets the residual and falls back on p:

    >>> from fractions import Fraction as F
    >>> def biased(p, q, drafts, u):
    ...     x = drafts[0]
    ...     return x if u[0] * q[x] < p[x] else int(u[1] >= p[0])
    >>> p, q = [F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)]
    >>> [str(v) for v in sampler_law(biased, p, q)]  # should be 1/3, 2/3
    ['4/9', '5/9']
    """
    # One pair of rational rows.
    p, q = check.laws(p, q)
    check.integer(num_drafts, "num_drafts", 1, limits.MAX_DRAFTS)
    check.integer(uniforms, "uniforms", 0, limits.MAX_DRAFTS)
    if p.dtype != object or p.ndim != 1:
        raise TypeError("sampler_law needs one pair of rows of Fractions")

    # Mix the laws of the token given the drafts, each of them over all uniforms.
    token_law, scheme_module = np.zeros_like(p), discover.find("draft", scheme)
    for drafts in drafted_tuples(q, num_drafts, scheme):
        weight = scheme_module.probability(q, drafts, num_drafts)
        law = rational.law(partial(_reproducible_token, verify, p, q, drafts, uniforms))
        for token, mass in law.items():
            if not 0 <= token < len(p):
                raise ValueError(f"verify returned token {token}, outside the vocabulary 0..{len(p) - 1}")
            token_law[token] += weight * mass
    return token_law


def _reproducible_token(
    verify: Callable[..., int], p: Array, q: Array, drafts: Array, uniforms: int, fork: rational.Fork
) -> int:
    """Return the token that a verifier emits in one run of a fork.

    Raises ValueError if the verifier, called again, returns another token or compares its uniforms
    with other numbers.
    """
    u = fork.uniforms(uniforms)

    def once() -> int:
        """Return the token of one call, on copies: a call may write into its arguments."""
        return _token(verify(p.copy(), q.copy(), drafts.copy(), u.copy()))

    # The first call narrows the fork's box, an interval for each uniform, until every comparison
    # has one answer in it. A function of u then makes the same comparisons, which cut the box no
    # further, and returns the same token.
    token, box = once(), list(fork.box)
    for _ in range(REPEATS):
        again = once()
        if again != token or fork.box != box:
            raise ValueError(
                f"verify gave token {token}, and {again} when called again on drafts {drafts.tolist()} "
                "and the same u: it has randomness of its own, so its law is not known exactly; "
                "take every random number from u, and ask for as many by uniforms="
            )
    return token


def _token(value: Any) -> int:
    """Return a whole number as an int; ValueError for anything else: int() would cut 0.7 to 0."""
    number = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    try:
        return operator.index(number)
    except TypeError:
        raise ValueError(f"verify returned {check.shown(value)}, which is no token id") from None
