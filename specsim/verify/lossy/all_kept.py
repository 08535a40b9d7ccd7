"""Every draft is kept: tokens of several places drawn at once, each as if the others were not there.

Law.         n = gamma; the token after the drafts is drawn from p_{gamma+1}. Decoding in parallel
             without correction, as diffusion samplers do, and frames of a block that are denoised
             jointly given the last clean frame.
Theorem.     open: no more is claimed than the bias, which `specsim.fill` computes.
Acceptance.  1.
Randomness.  u[gamma] draws the token after the drafts.
Cost.        O(V).
Paper.       What arXiv:2504.20456 and arXiv:2506.01380 compare with, or warn of.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.base.arrays import array_namespace, pick
from specsim.types import Array

EXACT = True
THEOREM = "open"
PAPER = "arXiv:2504.20456"


class Plan(NamedTuple):
    p: Array  # (..., gamma+1, V)


def prepare(p: Array, q: Array) -> Plan:
    """Target rows (..., gamma+1, V) and draft rows (..., gamma, V) along the drafted tokens."""
    return Plan(p)


def transition(plan: Plan, drafts: Array) -> Array:
    """Joint law (..., gamma+1, V) of (number accepted, next token) given drafts (..., gamma)."""
    last = np.arange(plan.p.shape[-2]) == drafts.shape[-1]
    xp = array_namespace(plan.p)
    return xp.where(xp.asarray(last)[:, None], plan.p, 0 * plan.p)


def uniforms(gamma: int) -> int:
    """The last, for the token after the drafts."""
    return gamma + 1


def verify(plan: Plan, drafts: Array, u: Array) -> tuple[Array, Array]:
    """(Number accepted (...), next token (...)) from drafts (..., gamma) and u (..., gamma+1)."""
    token = pick(plan.p[..., -1, :], u[..., -1])
    return 0 * token + drafts.shape[-1], token
