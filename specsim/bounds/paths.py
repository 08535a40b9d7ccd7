r"""Bounds on all verifiers of K drafted paths: the linear program of all of them, and a bound that needs no solver.

A rule that keeps a prefix x of one of its paths and goes on from the target is described by f(T, x), the probability
that the paths T are drafted and exactly x is kept. With A(x) = sum of f(T, z) over all T and all z that begin with x,

.. math:: \max \sum_{x \neq \emptyset} A(x), \qquad \sum_x f(T, x) = D(T), \qquad A(xy) \le A(x)\, p(y \mid x):

losslessness forces the last (T17, 4), and where it holds a lossless rule exists: after x, emit what A(x) p leaves.

The solver is trusted with nothing. Its f is made to obey every limit, by keeping less where too much is kept; and any
prices c(x) >= 0, its own among them, bound every rule by the mean over T of the largest g(x) among the prefixes of T,
with g(x) = |x| - sum of c(z) over the z that x begins with + sum of p(y|z) c(zy) over z = x and its own beginnings.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from specsim.base import check, limits
from specsim.base.results import result
from specsim.bounds._program import solved
from specsim.bounds.optimum import optimal_acceptance
from specsim.types import Array, Model

# Most variables of the program: a minute or two.
MAX_VARIABLES = 2**18
# Most texts whose laws are compared.
MAX_TEXTS = 2**20
Text = tuple[int, ...]
Rows = Callable[[Text], tuple[Array, Array]]


@result("value", "dual")
class PathOptimum(NamedTuple):
    """Drafts kept by the best verifier of K paths, E[n] = tau - 1: ``value <= optimum <= dual``, both up to rounding.

    ``price`` are the c(x) that prove the dual, of every text that can be drafted.
    """

    value: float
    dual: float
    price: dict[Text, float]

    @property
    def gap(self) -> float:
        """How far the value can be from the optimum, whatever the solver did."""
        return self.dual - self.value


class _Texts(NamedTuple):
    """Texts that can be drafted, shorter ones first; the empty text is number 0 and its own parent."""

    texts: list[Text]
    parent: Array
    p: Array  # of the last token given the others
    mass: Array  # probability that a path begins so


@np.errstate(under="ignore")
def path_optimum(
    target: Model | Array, draft: Model | Array, *, num_paths: int, gamma: int, solver: str = "HIGHS"
) -> PathOptimum:
    r"""Largest expected number of drafts that a lossless verifier of K independent paths keeps.

    .. math:: \max \sum_{x \neq \emptyset} A(x), \quad A(xy) \le A(x)\, p(y \mid x)

    Over all verifiers that keep a prefix of one of the paths, emit one more token and go on from the target. With one
    path it is what block verification keeps. For toy models; needs the extra ``solve`` (cvxpy) and runs in float64.

    Parameters
    ----------
    target, draft : Model or array_like, shape (V,)
        Functions from a prefix (a tuple of token ids) to the next-token law; or one law each, the same in every
        context.
    num_paths : int
        Paths K, at least 1, drawn from the draft independently.
    gamma : int
        Tokens of a path, at least 0.
    solver : str
        One of ``cvxpy.installed_solvers()``. "HIGHS" (simplex) and "CLARABEL" (interior point) come with cvxpy.

    Returns
    -------
    PathOptimum
        value, E[n] of a verifier that exists; dual, an upper bound of every one; gap; price, which proves the dual.

    Raises
    ------
    ValueError
        A law is none (names the prefix), the vocabularies differ, the solver is unknown, or the program is too large
        (says how large).
    ImportError
        cvxpy is not installed.
    RuntimeError
        The solver stops without a solution.

    References
    ----------
    Sun et al. 2025, arXiv:2403.10444 (one path); Thomas and Pal 2026, arXiv:2602.16961 (several); T22 in proofs/.

    Examples
    --------
    >>> best = path_optimum([1/3, 2/3], [2/3, 1/3], num_paths=2, gamma=2)
    >>> round(best.value * 81, 6), bool(best.gap < 1e-9)
    (131.0, True)
    """
    num_paths = check.integer(num_paths, "num_paths", 1, limits.MAX_NODES)
    gamma = check.integer(gamma, "gamma", 0, limits.MAX_GAMMA)
    known = _drafted(_rows(target, draft), gamma)
    paths = np.flatnonzero([len(text) == gamma for text in known.texts])
    count, each = math.comb(len(paths) + num_paths - 1, num_paths), num_paths * gamma + 1
    if count * each > MAX_VARIABLES:
        raise ValueError(
            f"the program over {count} sets of {num_paths} paths with {each} places to stop is too large (more than "
            f"{MAX_VARIABLES} variables); path_bound needs no program"
        )
    chosen = np.array(list(itertools.combinations_with_replacement(paths.tolist(), num_paths)))
    return _solve(known, chosen, _masses(known.mass, chosen), solver)


@np.errstate(under="ignore")
def path_bound(target: Model | Array, draft: Model | Array, *, num_paths: int, gamma: int) -> Any:
    r"""Upper bound of the drafts kept by any lossless verifier of K paths: the optimal transport of every length.

    .. math:: F_K = \sum_{t=1}^{\gamma} \alpha^*_K(P_t, Q_t), \quad P_t, Q_t \text{ laws of the first } t \text{ tokens}

    A rule that keeps t tokens or more has the first t tokens of a path in its output. No other limit is looked at, so
    verifiers may reach it only if they change the target after a block; `path_optimum` has the largest value of those
    that do not. With one path it is the full-information bound.

    Parameters
    ----------
    target, draft : Model or array_like, shape (V,)
        Functions from a prefix to the next-token law, or one law each. Laws of Fractions keep the answer exact.
    num_paths : int
        Paths K, at least 1.
    gamma : int
        Tokens of a path, at least 0.

    Returns
    -------
    number
        In [0, gamma].

    Raises
    ------
    ValueError
        A law is none (names the prefix), the vocabularies differ, or there are too many texts (says how many).

    References
    ----------
    Sun et al. 2023, SpecTr, arXiv:2310.15141 (the transport of one step); T22 in proofs/.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> print(path_bound([F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)], num_paths=2, gamma=2))
    134/81
    """
    num_paths = check.integer(num_paths, "num_paths", 1, limits.MAX_NODES)
    gamma = check.integer(gamma, "gamma", 0, limits.MAX_GAMMA)
    rows = _rows(target, draft)
    vocab, bound = rows(())[0].shape[-1], 0
    texts: list[Text] = [()]
    if vocab**gamma > MAX_TEXTS:
        raise ValueError(f"{vocab}^{gamma} texts are too many to compare (more than {MAX_TEXTS}); use a smaller gamma")
    # Level by level: laws of all texts of this length, and the optimal acceptance of one of them.
    p, q = list[Any]([1]), list[Any]([1])
    for _ in range(gamma):
        laws = [rows(text) for text in texts]
        p, q = ([m * v for m, law in zip(w, laws, strict=True) for v in law[i]] for i, w in enumerate((p, q)))
        texts = [(*text, y) for text in texts for y in range(vocab)]
        bound = bound + optimal_acceptance(np.array(p), np.array(q), num_drafts=num_paths)
    return bound


def _rows(target: Model | Array, draft: Model | Array) -> Rows:
    """Validate the models; return the function from a prefix to the laws of target and draft."""
    laws = check.models_or_laws(target, draft)
    return check.models(target, draft) if laws is None else lambda text: laws


def _drafted(rows: Rows, gamma: int) -> _Texts:
    """All texts of at most gamma tokens that can be drafted, parents before children."""
    texts: list[Text] = [()]
    parent, p, mass = [0], [1.0], [1.0]
    # The list grows while the loop runs over it, level by level.
    for i, text in enumerate(texts):
        if len(text) < gamma:
            p_next, q_next = (np.asarray(w, dtype=np.float64) for w in rows(text))
            for y in np.flatnonzero(q_next).tolist():
                texts.append((*text, y))
                parent.append(i)
                p.append(p_next[y])
                mass.append(mass[i] * q_next[y])
            if len(texts) > MAX_VARIABLES:
                raise ValueError(f"more than {MAX_VARIABLES} texts can be drafted; use a smaller vocabulary or gamma")
    return _Texts(texts, *(np.array(w) for w in (parent, p, mass)))


def _masses(mass: Array, chosen: Array) -> Array:
    """Probability of each multiset of paths (n, K), ascending: prod mass, times the number of its orders."""
    # Position of each path in its run of equal paths: their product is that of the runs' factorials.
    place = np.ones(chosen.shape)
    for k in range(1, chosen.shape[-1]):
        place[:, k] += np.where(chosen[:, k] == chosen[:, k - 1], place[:, k - 1], 0)
    return math.factorial(chosen.shape[-1]) * np.prod(mass[chosen] / place, axis=-1)


def _solve(known: _Texts, chosen: Array, mass: Array, solver: str) -> PathOptimum:
    """Solve the program for path multisets (n, K) of probability mass (n,), and certify it by prices."""
    # Variables: where each multiset stops. Limits: a text is reached at most p times as often as its parent.
    depth = np.array([len(text) for text in known.texts])
    ancestors = _ancestors(known.parent, depth.max())
    stop = _places_to_stop(ancestors, chosen)
    reach = _reach(ancestors, stop.text)
    limit = (reach - sparse.diags_array(known.p) @ reach[known.parent])[1:]
    columns = np.arange(len(stop.owner))
    once = sparse.csr_array((np.ones(len(columns)), (stop.owner, columns)), shape=(len(mass), len(columns)))
    flows, (_, price) = solved(
        "path_optimum", solver, len(columns), depth[stop.text], lambda w: [once @ w == mass, limit @ w <= 0]
    )
    # Round the solver's answer to a feasible one, and its prices (0 of the empty text) to a proof.
    flows = _feasible(flows, known, depth, reach, mass, stop)
    price = np.append(0, np.maximum(price, 0))
    value, dual = depth[stop.text] @ flows, _proved(price, known, depth, mass, stop)
    return PathOptimum(float(value), float(dual), dict(zip(known.texts, price.tolist(), strict=True)))


class _Stops(NamedTuple):
    """The program's variables, one for each multiset of paths and each text that it can stop at, multisets in order."""

    owner: Array  # number of the multiset
    text: Array  # number of the text


def _ancestors(parent: Array, longest: int) -> Array:
    """Number of each text's ancestor k tokens up, for k = 0, ..., `longest`: (longest + 1, texts)."""
    ancestors = [np.arange(len(parent))]
    for _ in range(longest):
        ancestors.append(parent[ancestors[-1]])
    return np.stack(ancestors)


def _places_to_stop(ancestors: Array, chosen: Array) -> _Stops:
    """Return the places to stop of each multiset: every prefix of one of its paths, once."""
    prefixes = np.sort(np.concatenate([w[chosen] for w in ancestors], axis=-1), axis=-1)
    owner, place = (np.diff(prefixes, axis=-1, prepend=-1) > 0).nonzero()
    return _Stops(owner, prefixes[owner, place])


def _reach(ancestors: Array, text: Array) -> Any:
    """Sparse 0-1 matrix (texts, variables): 1 where the text is a prefix of the stopping place."""
    passed = ancestors[:, text]
    # Count each ancestor once: the empty text is its own parent.
    fresh = np.concatenate([np.ones((1, len(text)), dtype=bool), passed[1:] != passed[:-1]])
    columns = np.broadcast_to(np.arange(len(text)), passed.shape)[fresh]
    return sparse.csr_array((np.ones(len(columns)), (passed[fresh], columns)), shape=(ancestors.shape[1], len(text)))


def _proved(price: Array, known: _Texts, depth: Array, mass: Array, stop: _Stops) -> Any:
    """The bound that prices prove: the mean over multisets of the largest g, `worth`, at a stop."""
    worth = np.where(depth > 0, 1 - price, 0) + np.bincount(known.parent, known.p * price, len(depth))
    for text in range(1, len(depth)):
        worth[text] += worth[known.parent[text]]
    first = np.flatnonzero(np.diff(stop.owner, prepend=-1))
    return mass @ np.maximum.reduceat(worth[stop.text], first)


def _feasible(flows: Array, known: _Texts, depth: Array, reach: Any, mass: Array, stop: _Stops) -> Array:
    """Return flows that obey every limit: what exceeds a text's limit stops at its parent instead."""
    # Scale each multiset's flows to its mass; what is missing stops at the empty text.
    owner, stopped_at = stop
    total = np.bincount(owner, flows, len(mass))
    flows = flows * np.minimum(1, mass / np.where(total > 0, total, 1))[owner]
    flows[stopped_at == 0] += mass - np.bincount(owner, flows, len(mass))
    # One ascending key for each (multiset, text), so that bisection finds a variable.
    keys = owner * len(depth) + stopped_at
    # Correct the texts level by level, shortest first.
    for level in range(1, depth.max() + 1):
        # The prefix of this length of each variable's text; the text itself if it is shorter.
        prefix = stopped_at
        for _ in range(depth.max() - level):
            prefix = np.where(depth[prefix] > level, known.parent[prefix], prefix)
        # Share of its flows that each text may keep: it is reached p times as often as its parent.
        reached = reach @ flows
        limit = known.p * reached[known.parent]
        is_above = (depth == level) & (reached > limit)
        share = np.where(is_above, limit / np.where(reached > 0, reached, 1), 1)
        # The rest stops at the text's parent, in the same multiset.
        parent_variable = np.searchsorted(keys, owner * len(depth) + known.parent[prefix])
        moved = flows * (1 - share[prefix])
        flows = flows - moved + np.bincount(parent_variable, moved, len(flows))
    return flows
