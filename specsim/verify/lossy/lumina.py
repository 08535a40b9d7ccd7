"""The rule of Lumina-mGPT 2.0's sampler: a refused draft is replaced by a draw from the target itself.

Law.         Draft x_i is kept with probability min(1, p_i(x_i) / min(q_i(x_i), clamp)) while all
             before it were; after n kept drafts the next token is drawn from p_{n+1}, whether or
             not a draft was refused there.
Theorem.     T32: at one position the output is m + (1 - M) p with m = q a, M = sum m, a the
             probability to keep; the bias is 1/2 sum |m - M p|, at most 1/4 without a clamp, and 0
             for a one-hot p.
Acceptance.  P(n >= i | drafts) = prod_{j<=i} min(1, p_j / min(q_j, clamp))(x_j).
Randomness.  u[i] decides draft i; u[gamma] draws the token after them.
Cost.        O(gamma) for the tests, O(V) for the token.
Paper.       Lumina-mGPT 2.0, arXiv:2507.17801. Its code (f44a4d7) tests p/q and draws from p, as
             clamp = 1 does; its clamp at 0.99 is in a residual that it then replaces. The clamp
             here, 0.99 by default, is in the test: an earlier reading of that code, kept because
             the record was made with it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from specsim.base import check
from specsim.base.arrays import array_namespace, at, is_exact, leading, overlap, pick, row_at
from specsim.types import Array

EXACT = True
THEOREM = "T32"
PAPER = "arXiv:2507.17801"


class Plan(NamedTuple):
    p: Array  # (..., gamma+1, V)
    q: Array  # (..., gamma, V)
    clamped: Array  # (..., gamma, V): min(q, clamp)


def prepare(p: Array, q: Array, clamp: Fraction = Fraction(99, 100)) -> Plan:
    """Target rows (..., gamma+1, V) and draft rows (..., gamma, V) along the drafted tokens; clamp in (0, 1]."""
    check.scalar(clamp, "clamp", "(0, 1]")
    most = clamp if is_exact(q) else float(clamp)
    return Plan(p, q, array_namespace(q).where(q < most, q, 0 * q + most))


def bias(p: Array, q: Array, clamp: Fraction = Fraction(99, 100)) -> Array:
    """TV distance (...) from p (..., V) of the token at one position, drafted from q (..., V)."""
    plan = prepare(p[..., None, :], q[..., None, :], clamp)
    accepted = _accepted(plan, plan.p)[..., 0, :]
    refused = 1 - array_namespace(p).sum(accepted, axis=-1, keepdims=True)
    return 1 - overlap(accepted + refused * p, p)


def transition(plan: Plan, drafts: Array) -> Array:
    """Joint law (..., gamma+1, V) of (number accepted, next token) given drafts (..., gamma)."""
    p, gamma = plan.p, drafts.shape[-1]
    xp = array_namespace(p)
    # Probability that each draft passes its test.
    accepted, drafted = at(_accepted(plan, p[..., :gamma, :]), drafts), at(plan.q, drafts)
    passes = accepted / xp.where(drafted > 0, drafted, xp.ones_like(drafted))
    # The block ends at the first draft that fails, with a token from p.
    reached, rows = xp.ones_like(p[..., 0, :1]), []
    for i in range(gamma):
        rows.append(reached * (1 - passes[..., i, None]) * p[..., i, :])
        reached = reached * passes[..., i, None]
    return xp.stack([*rows, reached * p[..., gamma, :]], axis=-2)


def uniforms(gamma: int) -> int:
    """One for each test, one for the token after them."""
    return gamma + 1


def verify(plan: Plan, drafts: Array, u: Array) -> tuple[Array, Array]:
    """(Number accepted (...), next token (...)) from drafts (..., gamma) and u (..., gamma+1)."""
    gamma = drafts.shape[-1]
    passed = u[..., :gamma] * at(plan.clamped, drafts) < at(plan.p[..., :gamma, :], drafts)
    num_accepted = leading(passed)
    return num_accepted, pick(row_at(plan.p, num_accepted), u[..., gamma])


def _accepted(plan: Plan, p: Array) -> Array:
    """Probability q(x) min(1, p(x) / min(q(x), clamp)) that token x is drafted and accepted."""
    xp = array_namespace(p)
    is_less = p < plan.clamped
    return xp.where(is_less, plan.q * p / xp.where(is_less, plan.clamped, xp.ones_like(p)), plan.q)
