"""Where a Markov chain spends its time in the long run, exactly: elimination without subtractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from specsim.base.arrays import is_exact
from specsim.simulation.toys.models import Automaton, automaton
from specsim.types import Array

MAX_STATES = 2**11  # of a chain that is solved


@np.errstate(under="ignore")
def stationary(model: Automaton | Array) -> Array:
    """How often a model is in each of its states in the long run.

    Parameters
    ----------
    model : Automaton or array_like, shape (V,)
        Rows of Fractions keep the answer exact.

    Returns
    -------
    array, shape (S,)
        A law; 0 for states that are left for ever.

    Raises
    ------
    ValueError
        The text can end up in states that never meet again, or there are too many states.

    References
    ----------
    Grassmann, Taksar and Heyman 1985, "Regenerative analysis and steady state distributions for Markov chains".

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from specsim import markov
    >>> [str(w) for w in stationary(markov([[F(1, 2), F(1, 2)], [F(1), F(0)]]))]
    ['2/3', '1/3']
    """
    found = automaton(model, "model")
    if len(found.rows) > MAX_STATES:
        raise ValueError(f"model has {len(found.rows)} states, more than {MAX_STATES}")
    chain = np.zeros_like(found.rows, shape=(len(found.rows), len(found.rows)))
    np.add.at(chain, (np.arange(len(chain))[:, None], found.step), found.rows)
    return long_run(chain, found.start)


@np.errstate(under="ignore")
def long_run(jump: Array, start: int) -> Array:
    """The law to which the shares of time spent in each state tend, by elimination: exact on Fractions."""
    inside = np.flatnonzero(_last_class(jump, start))
    jump = jump * Fraction(1) if is_exact(jump) else jump  # integers among Fractions would divide to floats
    a = jump[np.ix_(inside, inside)].copy()
    for k in range(len(a) - 1, 0, -1):
        a[:k, k] = a[:k, k] / a[k, :k].sum()
        a[:k, :k] = a[:k, :k] + a[:k, k][:, None] * a[k, :k]
    law = np.zeros_like(jump, shape=len(jump))
    weights = np.ones_like(a[0])
    for k in range(1, len(a)):
        weights[k] = weights[:k] @ a[:k, k]
    law[inside] = weights / weights.sum()
    return law


def _last_class(jump: Array, start: int) -> Array:
    """The states that are visited for ever, as a mask; ValueError if that depends on the course of the text."""
    forth, state = np.asarray(jump > 0).astype(bool), start
    ahead = _reached(forth, state)
    everywhere = ahead
    while (left := ahead & ~_reached(forth.T, state)).any():  # states from which there is no way back
        state = int(np.argmax(left))
        ahead = _reached(forth, state)
    if (everywhere & ~_reached(forth.T, state)).any():
        raise ValueError("the text can end up in contexts that never meet again: there is no one law in the long run")
    return ahead


def _reached(forth: Array, state: int) -> Array:
    known = new = np.arange(len(forth)) == state
    while new.any():
        new = forth[new].any(axis=0) & ~known
        known = known | new
    return known
