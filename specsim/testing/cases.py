"""The standard cases of exact checks: full grids of rational laws, and the edges of float arithmetic."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from specsim import discover
from specsim.base import check, limits
from specsim.exact.small_laws import rational_laws
from specsim.types import Array, Draws
from specsim.verify.hits import draft_tuples

# (vocabulary, denominator) of the grids: all their laws, with zeros, one-hots and p = q.
GRIDS = ((2, 4), (3, 3), (4, 2))
# The largest float64 uniform.
LAST_UNIFORM = 1 - 2.0**-53
# Largest number of rows that are tried in search of those that sum to 1, which takes seconds.
MAX_LAWS = 2**20
# Laws of the number of distinct drafts, few enough to enumerate.
LAWS_OF_N = (Draws(1, Fraction(1, 3), 2), Draws(2, Fraction(1, 2), 3))


def grid(vocab: int, denominator: int) -> tuple[Array, Array]:
    """Return every pair (p, q) of laws with this denominator, as Fractions: two arrays (n, vocab).

    Parameters
    ----------
    vocab, denominator : int
        At least 1.

    Returns
    -------
    tuple of array
        p and q, paired row by row.

    Raises
    ------
    ValueError
        A number is below 1, or the laws are too many to try.

    References
    ----------
    Compositions of an integer.

    Examples
    --------
    >>> grid(2, 2)[0].shape
    (9, 2)
    """
    number = check.integer(vocab, "vocab", 1, MAX_LAWS), check.integer(denominator, "denominator", 1, MAX_LAWS)
    if (denominator + 1) ** vocab > MAX_LAWS:
        raise ValueError(f"vocab and denominator are {number}; {MAX_LAWS} rows are tried at most, not (d + 1)^V")
    laws = rational_laws(vocab, denominator)
    n = len(laws)
    return np.repeat(laws, n, axis=0), np.tile(laws, (n, 1))


@np.errstate(under="ignore")
def drafted_tuples(q: Array, num_drafts: int | Draws, scheme: str = "iid") -> Array:
    """Return the tuples of candidates that a scheme can draw from q, shape (n, num_drafts).

    Parameters
    ----------
    q : array, shape (V,)
        Draft law.
    num_drafts : int or Draws
        At least 1, or the law of the number of distinct drafts.
    scheme : str
        The draft scheme.

    Returns
    -------
    integer array
        Tuples of positive probability; -1 stands for no draft.

    Raises
    ------
    ValueError
        Too many tuples to enumerate, or the scheme is unknown.

    References
    ----------
    None needed.

    Examples
    --------
    >>> drafted_tuples([0.5, 0.0, 0.5], 2).tolist()
    [[0, 0], [0, 2], [2, 0], [2, 2]]
    """
    row = np.asarray(check.law(q, "q"))
    if row.ndim != 1:
        raise ValueError(f"q must be one law, got shape {row.shape}")
    if not isinstance(num_drafts, Draws):
        check.integer(num_drafts, "num_drafts", 1, limits.MAX_DRAFTS)
    support = np.flatnonzero(row > 0)
    tuples = draft_tuples(len(support), num_drafts)
    tuples = np.where(tuples < 0, -1, support[tuples])
    return tuples[discover.find("draft", scheme).probability(row, tuples, num_drafts) > 0]


def corners(count: int) -> Array:
    """Return every vector of `count` uniforms from {0, 1 - ulp}, shape (2**count, count)."""
    return np.array(list(itertools.product([0.0, LAST_UNIFORM], repeat=count))).reshape(2**count, count)


def random_laws(vocab: int, count: int, seed: int) -> tuple[Array, Array]:
    """Return pairs of laws with weights up to 9, zeros included, as Fractions (count, vocab).

    A coarse grid misses such laws. Every third q is within 2^-k of p, k up to 40: there float
    guards decide.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(2 * count):
        weights = rng.integers(0, 10, vocab)
        weights[rng.integers(vocab)] += 1
        rows.append([Fraction(int(w), int(weights.sum())) for w in weights])
    p, q = np.array(rows[:count], dtype=object), np.array(rows[count:], dtype=object)
    # Drafts that share a coin show only where residuals of several tokens are positive in turn.
    if vocab == 4:
        p[-1], q[-1] = ([Fraction(w, sum(row)) for w in row] for row in ((6, 5, 6, 8), (4, 2, 8, 5)))
    for k in range(0, count - 1, 3):
        near = Fraction(1, 2 ** int(rng.integers(1, 41)))
        q[k] = (1 - near) * p[k] + near * q[k]
    return p, q


def rational_uniforms(shape: tuple[int, ...], seed: int) -> tuple[Array, Array]:
    """Return equal uniforms as float64 and as Fractions: multiples of 2^-53, so that both are exact."""
    u = np.random.default_rng(seed).random(shape)
    return u, fractions(u)


def fractions(w: Array) -> Array:
    """Return floats as the Fractions that they are."""
    exact = np.empty(w.size, dtype=object)
    exact[:] = [Fraction(value) for value in w.ravel().tolist()]
    return exact.reshape(w.shape)


def edge_laws(vocab: int) -> Iterator[tuple[str, Array, Array]]:
    """Yield (words, p, q), float64 laws where samplers go wrong."""
    # Laws of one token, of all, of the first half, and of falling masses.
    certain, spread = np.eye(vocab)[0], np.full(vocab, 1 / vocab)
    half = np.where(np.arange(vocab) < (vocab + 1) // 2, 1.0, 0.0)
    half /= half.sum()
    peaked = 0.1 ** np.arange(vocab, dtype=np.float64)
    peaked /= peaked.sum()
    # Equal laws, one-hots, zeros, and disjoint supports.
    yield "p = q", peaked, peaked
    yield "p one-hot", certain, spread
    yield "q one-hot", spread, certain
    yield "zeros in p", half, spread
    yield "zeros in q", peaked, half
    if vocab > 1:
        yield "disjoint supports", certain, np.roll(certain, 1)
        yield "last token impossible", peaked * (np.arange(vocab) < vocab - 1) / peaked[:-1].sum(), spread
        yield "first token impossible", peaked * (np.arange(vocab) > 0) / peaked[1:].sum(), spread

    # The product of three tiny masses is still a float.
    tiny = np.full(vocab, 1e-100)
    tiny[0] = 1.0
    yield "tiny mass", tiny, spread
    yield "almost equal", peaked, np.nextafter(peaked, 1)
