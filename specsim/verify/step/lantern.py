"""LANTERN: a draft may also be kept for its neighbours' probability; lossy.

Law.         Of the neighbours of x, in their order, A(x) is the longest beginning with
             p(A(x)) <= delta. x ~ q is kept with probability min(1, (p(x) + p(A(x))) / q(x)); else
             y ~ (p_x - q)+ normalised, where p_x is p with the mass of A(x) moved to x. With
             `zeroed`, y ~ p without x and A(x), normalised.
Theorem.     T30: the bias is acceptance - (1 - TV(p, q)), the least there is at that acceptance;
             with `zeroed` it is more, unless q is one-hot. delta = 0 is `rejection` (but for
             `zeroed`).
Acceptance.  sum min(q, p + p(A)).
Randomness.  u[0] decides; u[1] draws y.
Cost.        O(V k) time and memory for k neighbours; the bias of `zeroed` O(V^2).
Paper.       Jang et al., arXiv:2410.03355: neighbours are the nearest codes of images. `zeroed` is
             no released code: theirs (3a56e45, models/) zeroes the k + 1 nearest of a refused draft
             with A(x) not empty: in p for drafts that were not sampled (ea_model_llamagen.py:773);
             for sampled ones in q before p - q (:654), but in p for Lumina-mGPT
             (ea_model_lumina_mgpt.py:706).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.arrays import (
    accept_probability,
    array_namespace,
    at,
    ids,
    normalize_or,
    one_hot,
    overlap,
    pick,
    residual,
    row_at,
)
from specsim.base.held import held
from specsim.types import Array

DRAFTS: Literal["iid"] = "iid"
COUNTS = (1,)
EXACT = True
BY_ID = True
THEOREM = "T30"
PAPER = "arXiv:2410.03355"


class Plan(NamedTuple):
    p: Array
    q: Array
    lifted: Array  # (..., V): p(x) + p(A(x))
    neighbours: Array  # (V, k): token ids, nearest first
    taken: Array  # (..., V, k): whether A(x) has this neighbour
    zeroed: bool


def prepare(
    p: Array,
    q: Array,
    num_drafts: int = 1,
    neighbours: Array = None,
    delta: Fraction = Fraction(2, 5),
    zeroed: bool = False,
) -> Plan:
    """Plan of rows (..., V) and each token's neighbours (V, k), nearest first.

    By default the neighbours of a token are the two ids beside its own.
    """
    check.scalar(delta, "delta", "[0, 1]")
    vocab, xp = p.shape[-1], array_namespace(p)
    near = held(_beside(vocab) if neighbours is None else _checked(neighbours, vocab), p)
    # A(x): the longest beginning of x's neighbours whose probabilities sum to at most delta.
    around = p[..., near]
    taken = xp.cumulative_sum(around, axis=-1) <= (float(delta) if p.dtype != object else delta)
    lifted = p + xp.sum(xp.where(taken, around, 0 * around), axis=-1)
    return Plan(p, q, lifted, near, taken, zeroed)


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., 1)."""
    x = drafts[..., 0]
    accepted = accept_probability(plan.lifted, plan.q, x)[..., None]
    return accepted * one_hot(x, plan.p) + (1 - accepted) * _replacement(plan, x)


def acceptance(plan: Plan) -> Array:
    """Probability that the token is the draft."""
    return overlap(plan.lifted, plan.q)


def bias(plan: Plan) -> Array:
    """TV distance of the output law from p."""
    if not plan.zeroed:
        return acceptance(plan) - overlap(plan.p, plan.q)
    # With `zeroed` there is no closed form: the output law is summed over the drafts.
    xp = array_namespace(plan.p)
    every = xp.broadcast_to(ids(plan.p), plan.q.shape)
    rows = [plan.q[..., x, None] * transition(plan, every[..., x : x + 1]) for x in range(plan.q.shape[-1])]
    return xp.sum(xp.abs(sum(rows) - plan.p), axis=-1) / 2


def uniforms(num_drafts: int) -> int:
    """One for the test, one for the token that replaces the draft."""
    return 2


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., 1) and u (..., 2)."""
    x = drafts[..., 0]
    accepted = u[..., 0] * at(plan.q, x) < at(plan.lifted, x)
    return array_namespace(x).where(accepted, x, pick(_replacement(plan, x), u[..., 1]))


def _replacement(plan: Plan, x: Array) -> Array:
    """Law (..., V) of the token y that replaces a refused draft x (...)."""
    xp = array_namespace(plan.p)
    near, taken = plan.neighbours[x], _taken_at(plan.taken, x)
    # Mark the tokens of A(x), beginning with an array (..., 1) of False.
    is_in_a = xp.zeros_like(plan.p[..., :1] * x[..., None]) < 0
    for j in range(near.shape[-1]):
        is_in_a = is_in_a | ((ids(plan.p) == near[..., j, None]) & taken[..., j, None])
    # p without A(x); with `zeroed` without x, too.
    rest = xp.where(is_in_a, 0 * plan.p, plan.p)
    is_x = ids(plan.p) == x[..., None]
    if plan.zeroed:
        return normalize_or(xp.where(is_x, 0 * rest, rest), plan.p)
    # (p_x - q)+, where p_x is p with the mass of A(x) moved to x.
    moved = xp.where(is_x, at(plan.lifted, x)[..., None] + 0 * rest, rest)
    return residual(moved, plan.q)


def _taken_at(taken: Array, x: Array) -> Array:
    """taken[..., x, :], shape (..., k), for x (...)."""
    xp = array_namespace(taken, x)
    batch = np.broadcast_shapes(taken.shape[:-2], x.shape)
    return row_at(xp.broadcast_to(taken, (*batch, *taken.shape[-2:])), xp.broadcast_to(x, batch))


def _beside(vocab: int) -> Array:
    """Ids (V, 2) of the tokens above and below each one; at the two ends, of the nearest two."""
    first = np.arange(vocab)
    above = np.where(first + 1 < vocab, first + 1, first - 1)
    below = np.where(first == 0, 2, np.where(first + 1 < vocab, first - 1, first - 2))
    return np.stack([above, below], axis=-1)[:, : vocab - 1]


def _checked(neighbours: Array, vocab: int) -> Array:
    """Return the neighbours as an array (V, k); ValueError unless each row holds other tokens, each once."""
    near = np.asarray(neighbours)
    if near.ndim != 2 or near.shape[0] != vocab or near.dtype.kind not in "iu":
        raise ValueError(f"neighbours must be token ids of shape ({vocab}, k), got {near.dtype} of shape {near.shape}")
    # Mark ids that stand in their row before: equal to the one before them in sorted order.
    order = np.argsort(near, axis=-1, kind="stable")
    ranked = np.take_along_axis(near, order, axis=-1)
    again = np.zeros(near.shape, dtype=bool)
    np.put_along_axis(again, order[:, 1:], ranked[:, 1:] == ranked[:, :-1], axis=-1)
    # Name the first id that is wrong.
    own_ids = np.arange(vocab).reshape(-1, 1)
    for bad, why in (
        ((near < 0) | (near >= vocab), f"is no token of 0..{vocab - 1}"),
        (near == own_ids, "is the token itself"),
        (again, "stands in its row already"),
    ):
        if bad.any():
            i, j = np.unravel_index(int(np.argmax(bad)), bad.shape)
            raise ValueError(f"neighbours[{i}, {j}] is {near[i, j]}, which {why}")
    return near
