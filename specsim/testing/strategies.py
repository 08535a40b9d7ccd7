"""Hypothesis strategies: the laws, tables and uniforms that break verifiers. Needs the extra `testing` when called."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from specsim.base import check, extras
from specsim.testing.cases import LAST_UNIFORM
from specsim.types import Array

# Largest number of prefixes of a table: each has a strategy of its own.
MAX_PREFIXES = 2**16

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def rational_laws(vocab: int, *, denominators: int = 12) -> SearchStrategy[Array]:
    """Return the strategy of laws of Fractions, zeros and one-hots included, shape (vocab,).

    Parameters
    ----------
    vocab : int
        Tokens, at least 1.
    denominators : int
        Largest integer weight.

    Returns
    -------
    SearchStrategy
        Of object arrays that sum to exactly 1.

    Raises
    ------
    ImportError
        hypothesis is not installed; the message names the extra.

    References
    ----------
    None needed.

    Examples
    --------
    >>> from hypothesis import find
    >>> law = find(rational_laws(3), lambda w: w[0] == 0)
    >>> print(sum(law))
    1
    """
    with extras.needed("a strategy of laws"):
        from hypothesis import strategies as st
    weights = st.lists(st.integers(0, denominators), min_size=vocab, max_size=vocab).filter(any)
    one_hots = st.integers(0, vocab - 1).map(lambda i: [int(j == i) for j in range(vocab)])
    return st.one_of(weights, one_hots).map(_law)


def _law(weights: list[int]) -> Array:
    """Return the law of these weights, in Fractions."""
    return np.array([Fraction(w, sum(weights)) for w in weights], dtype=object)


def law_pairs(vocab: int) -> SearchStrategy[tuple[Array, Array]]:
    """Return the strategy of pairs (p, q) of rational laws; p = q and disjoint supports come up often."""
    with extras.needed("a strategy of laws"):
        from hypothesis import strategies as st
    independent = st.tuples(rational_laws(vocab), rational_laws(vocab))
    equal = rational_laws(vocab).map(lambda w: (w, w))
    if vocab < 2:
        return equal
    apart = st.tuples(st.integers(1, vocab - 1), rational_laws(vocab), rational_laws(vocab)).map(_split)
    return st.one_of(independent, independent, equal, apart)


def _split(drawn: tuple[int, Array, Array]) -> tuple[Array, Array]:
    """Return two laws, moved to different sides of a cut."""
    cut, a, b = drawn
    left, right = np.arange(len(a)) < cut, np.arange(len(a)) >= cut
    p, q = a * left, b * right
    p[0] += 1 - sum(p)
    q[-1] += 1 - sum(q)
    return p, q


def float_laws(vocab: int) -> SearchStrategy[Array]:
    """Return the strategy of float64 laws with zeros and entries down to 1e-300, shape (vocab,).

    Parameters
    ----------
    vocab : int
        Tokens, at least 1.

    Returns
    -------
    SearchStrategy
        Of arrays that sum to 1 up to rounding.

    Raises
    ------
    ImportError
        hypothesis is not installed; the message names the extra.

    References
    ----------
    None needed.

    Examples
    --------
    >>> from hypothesis import find
    >>> bool(abs(find(float_laws(4), lambda w: w[0] == 0).sum() - 1) < 1e-12)
    True
    """
    with extras.needed("a strategy of laws"):
        from hypothesis import strategies as st
    entry = st.one_of(st.just(0.0), st.floats(1e-6, 1), st.floats(1e-300, 1e-250))
    rows = st.lists(entry, min_size=vocab, max_size=vocab).filter(lambda w: max(w) >= 1e-6)
    return rows.map(lambda w: np.array(w) / np.sum(w))


def tables(vocab: int, depth: int) -> SearchStrategy[dict[tuple[int, ...], Array]]:
    """Return the strategy of tables: a rational law for every prefix of up to `depth` tokens.

    Parameters
    ----------
    vocab, depth : int
        Tokens, and the longest prefix.

    Returns
    -------
    SearchStrategy
        Of dicts prefix -> law.

    Raises
    ------
    ImportError
        hypothesis is not installed; the message names the extra.

    References
    ----------
    None needed.

    Examples
    --------
    >>> from hypothesis import find
    >>> len(find(tables(2, 2), lambda t: True))
    7
    """
    with extras.needed("a strategy of laws"):
        from hypothesis import strategies as st
    vocab, depth = check.integer(vocab, "vocab", 1), check.integer(depth, "depth", 0)
    if depth * math.log(max(vocab, 2)) > math.log(MAX_PREFIXES):
        raise ValueError(f"vocab is {vocab} and depth {depth}: more than {MAX_PREFIXES} prefixes")
    prefixes = [x for length in range(depth + 1) for x in itertools.product(range(vocab), repeat=length)]
    return st.fixed_dictionaries({prefix: rational_laws(vocab, denominators=6) for prefix in prefixes})


def edge_uniforms(count: int) -> SearchStrategy[Array]:
    """Return the strategy of uniforms in [0, 1), shape (count,), with both ends of the interval drawn often.

    Parameters
    ----------
    count : int
        How many.

    Returns
    -------
    SearchStrategy
        Of float64 arrays.

    Raises
    ------
    ImportError
        hypothesis is not installed; the message names the extra.

    References
    ----------
    None needed.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(edge_uniforms(2), lambda u: u.max() == 0).tolist()
    [0.0, 0.0]
    """
    with extras.needed("a strategy of laws"):
        from hypothesis import strategies as st
    uniform = st.one_of(st.just(0.0), st.just(LAST_UNIFORM), st.floats(0, LAST_UNIFORM))
    return st.lists(uniform, min_size=count, max_size=count).map(lambda u: np.array(u, dtype=np.float64))
