"""The best tree shape for known acceptance by rank, under a budget of nodes or under a clock.

Model.       The k-th child tried at any node is the one kept with probability b_k, whatever the
             text: b_1 is the first draft's acceptance, and sum b is the step's. A tree is worth
             F(root), F(x) = 1 + sum_k b_k F(child_k).
Optimum.     T(m, l, k), the best of m nodes and at most l levels (root included) whose root has k
             children, is max_y T(y, l, k-1) + b_k max_k' T(m-y, l-1, k'): the k-th subtree has m -
             y of the nodes.
Cost.        O(n^2 L K) in inner loops of NumPy; without a limit on levels L = 1.
Exact.       Fractions in, Fractions out.
Paper.       Chen et al., Sequoia, arXiv:2402.12374, section 3.1 and 3.3 (their tree size counts the
             root; so does m).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.arrays import array_namespace
from specsim.base.results import result
from specsim.trees import topology
from specsim.trees._shape_program import shape_parents, solve
from specsim.types import Array


@result("value")
class Shape(NamedTuple):
    """A tree shape and its value, the expected tokens per target call (bonus included)."""

    parents: Array
    value: Any


@result("speedup", "value")
class TimedShape(NamedTuple):
    """A tree shape, its value, the seconds of one cycle, and the predicted speedup over plain decoding."""

    parents: Array
    value: Any
    cycle_s: Any
    speedup: Any


@np.errstate(under="ignore")
def tree_value(parents: Array, acceptance: Array) -> Array:
    r"""Expected tokens per target call of a tree shape.

    .. math:: F(x) = 1 + \sum_k b_k F(\text{child}_k(x)), \qquad
              F(\text{root}) = 1 + \sum_{\text{nodes}} \prod_{\text{path}} b_{\text{rank}}

    Parameters
    ----------
    parents : array_like of int, shape (n,)
        The shape: parents[i] < i, -1 for the root; siblings in the order tried.
    acceptance : array_like, shape (..., K)
        b: probability that the k-th child tried is the one kept; rows sum to at most 1.

    Returns
    -------
    array, shape (...)
        F(root), at least 1: the correction or bonus token is counted.

    Raises
    ------
    ValueError
        The shape is no tree, a node has more than K children, or acceptance is negative or sums to
        more than 1.

    References
    ----------
    Chen et al. 2024, Sequoia, arXiv:2402.12374, proposition 3.4.

    Examples
    --------
    >>> float(tree_value([-1, 0, 1], [0.5]))  # a chain: 1 + 1/2 + 1/4 + 1/8
    1.875
    >>> from fractions import Fraction as F
    >>> print(tree_value([-1, -1, 0], [F(1, 2), F(1, 4)]))
    2
    """
    b, parents = _checked_acceptance(acceptance), topology.shape(parents)
    ranks = topology.ranks(parents)
    if len(parents) and ranks.max() >= b.shape[-1]:
        raise ValueError(f"a node has {ranks.max() + 1} children; acceptance has {b.shape[-1]} entries")
    # The probability that each node is accepted, the product along its path; their sum, and 1.
    reach: list[Any] = []
    total = 1 + 0 * array_namespace(b).sum(b, axis=-1)
    for parent, rank in zip(parents.tolist(), ranks.tolist(), strict=True):
        reach.append(b[..., rank] * (reach[parent] if parent >= 0 else 1))
        total = total + reach[-1]
    return total


@np.errstate(under="ignore")
def sequoia_tree(acceptance: Array, *, nodes: int, depth: int | None = None) -> Shape:
    r"""The tree shape of largest value, exactly.

    .. math:: \max_{T : |T| \le N, \; \text{depth}(T) \le D} F_b(T)

    Acceptance need not decrease with the rank. Where it does, the N largest path products are a
    tree, and the optimum.

    Parameters
    ----------
    acceptance : array_like, shape (K,)
        b: probability that the k-th child tried is the one kept; sums to at most 1. No node gets
        more than K children.
    nodes : int
        Drafted tokens N at most, at least 1; the root is not counted.
    depth : int, optional
        Levels D at most below the root: as many draft steps.

    Returns
    -------
    Shape
        parents (n,), level by level, n the fewest nodes that reach the value; value, F(root).

    Raises
    ------
    ValueError
        acceptance is negative or sums to more than 1, or nodes or depth is below 1: no tree.

    References
    ----------
    Chen et al. 2024, Sequoia, arXiv:2402.12374 (their budgets count the root).

    Examples
    --------
    >>> best = sequoia_tree([0.6, 0.2, 0.1], nodes=5)
    >>> best.parents.tolist(), round(best.value, 4)
    ([-1, -1, 0, 2, 3], 2.5056)
    >>> sequoia_tree([0.6, 0.2, 0.1], nodes=5, depth=2).parents.tolist()
    [-1, -1, 0, 0, 1]
    """
    b, n = _row(acceptance), check.integer(nodes, "nodes", 1, limits.MAX_NODES)
    # Levels with the root. A tree of n + 1 nodes has no more than n + 1: then there is no limit.
    levels = None if depth is None else check.integer(depth, "depth", 1, limits.MAX_NODES) + 1
    if levels is not None and levels > n:
        levels = None
    table = solve(b, n + 1, levels)
    # The best tree of any number of nodes m, in the column of most levels.
    column = table.best.shape[1] - 1
    m = int(np.argmax(table.best[:, column]))
    return Shape(shape_parents(table, m, column), _plain(table.best[m, column]))


@np.errstate(under="ignore")
def optimal_tree(
    acceptance: Array,
    *,
    draft_s: float | Sequence[float],
    verify_s: Mapping[int, float] | Sequence[float],
    depth: int = 32,
    overhead_s: float = 0,
) -> TimedShape:
    r"""The tree shape with the largest predicted speed on given hardware.

    .. math:: \min_{m, d} \; \frac{\sum_{l \le d} t_\text{draft}(l) + t(m) + o}{T^*(m, d)}

    Up to m tokens are verified in one target pass, the root's among them, and d levels take d draft
    steps. Plain decoding, m = 1, costs t(1) and is among the choices.

    Parameters
    ----------
    acceptance : array_like, shape (K,)
        As in `sequoia_tree`.
    draft_s : float or sequence
        Seconds of one draft step, the same for every level, or one for each level in turn (which
        bounds the depth).
    verify_s : mapping or sequence
        t(m), seconds of a target pass over up to m tokens: {m: seconds} for the m to choose among,
        1 included, or t(1), t(2), ...
    depth : int
        Most levels below the root, at least 1.
    overhead_s : float
        Everything else per cycle that drafts. The published search charges one draft step more than
        there are levels below the root: overhead_s=draft_s is its rule.

    Returns
    -------
    TimedShape
        parents, value, cycle_s, and speedup: t(1) value / cycle_s, at least 1.

    Raises
    ------
    ValueError
        As in `sequoia_tree`; depth is below 1, t(1) is missing, a time is not positive, or draft_s
        or overhead_s is negative.

    References
    ----------
    Chen et al. 2024, Sequoia, arXiv:2402.12374, section 3.3.

    Examples
    --------
    >>> best = optimal_tree([0.6, 0.2, 0.1], draft_s=0.05, verify_s={1: 1, 4: 1, 8: 1.1, 16: 1.3})
    >>> len(best.parents), round(best.value, 4), round(best.speedup, 4)
    (15, 3.164, 2.1821)
    """
    b, max_depth = _row(acceptance), check.integer(depth, "depth", 1, limits.MAX_NODES)
    overhead = check.scalar(overhead_s, "overhead_s", "[0, inf)")

    # Seconds of each draft step, and of a pass over m tokens for each m.
    if isinstance(draft_s, Sequence):
        max_depth = min(max_depth, len(draft_s))
        step_times = [check.scalar(v, f"draft_s[{level}]", "[0, inf)") for level, v in enumerate(draft_s)]
    else:
        step_times = [check.scalar(draft_s, "draft_s", "[0, inf)")] * max_depth
    pairs = verify_s.items() if isinstance(verify_s, Mapping) else enumerate(verify_s, start=1)
    pass_times = {
        check.integer(m, "verify_s", 1): check.scalar(t, f"verify_s at {m} tokens", "(0, inf)") for m, t in pairs
    }
    if 1 not in pass_times:
        raise ValueError("verify_s has no time for 1 token: t(1), a plain target step, is what speedup is relative to")

    # The best tree for every number of nodes and of levels; column d has d levels below the root.
    max_nodes = max(pass_times)
    table = solve(b, max_nodes, min(max_depth, max_nodes - 1) + 1)

    # Begin with plain decoding, m = 1, and take each tree that gives more tokens per second; on a
    # tie the first stays. `best_cell` is (number of nodes, d) of the best tree.
    best_value, best_cycle, best_cell = 1, pass_times[1], (1, 0)
    for m, d in ((m, d) for m in sorted(pass_times) for d in range(1, table.best.shape[1])):
        # A pass over up to m tokens: the tree may have fewer nodes.
        size = int(np.argmax(table.best[: m + 1, d]))
        value, cycle = table.best[size, d], sum(step_times[:d]) + pass_times[m] + overhead
        if value * best_cycle > best_value * cycle:
            best_value, best_cycle, best_cell = value, cycle, (size, d)
    speedup = pass_times[1] * best_value / best_cycle
    parents = shape_parents(table, *best_cell)
    return TimedShape(parents, _plain(best_value), _plain(best_cycle), _plain(speedup))


def _checked_acceptance(acceptance: Array) -> Array:
    """Return acceptance by rank (..., K); ValueError unless numbers are 0 to 1 and rows sum to at most 1."""
    b = check.real_values(acceptance, "acceptance", 0, 1)
    check.last_axis(b, "acceptance")
    xp = array_namespace(b)
    if check.concrete(b) and bool(xp.any(xp.sum(b, axis=-1) > 1 + check.TOLERANCE)):
        raise ValueError(
            "acceptance sums to more than 1; entry k is the probability that the k-th child is the one kept"
        )
    return b


def _row(acceptance: Array) -> Array:
    """Return acceptance by rank as one NumPy row (K,), checked."""
    b = np.asarray(_checked_acceptance(acceptance))
    if b.ndim != 1:
        raise ValueError(f"acceptance must be one row (K,), got shape {b.shape}")
    return b


def _plain(value: Any) -> Any:
    """Return a number as Python's, if it is one of NumPy's."""
    return value.item() if isinstance(value, np.generic) else value
