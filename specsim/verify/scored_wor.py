"""The optimum for three or four drafts without replacement: the one of the highest score is verified alone.

A rule that is given as a module, ``acceptance_rate(p, q, rule=scored_wor, num_drafts=3)``, and not by name: it plans by
a search on NumPy, so it is not captured, compiled or differentiated, and no table of all rules waits for it.

Law.         Let w be as near to p as the law of one of K such drafts can be: max(c q, min(p, d q)).
             Each token has a level and a share. A draft scores uniformly in [level, level + 1), or,
             with the probability `share`, in the next level. The draft of the highest score is
             chosen, kept with probability min(1, p/w), else replaced by y ~ (p - w)+. Here w is the
             law that these scores do give; its distance from what was wanted bounds the loss
             (`gap`). Where all tokens that can be drafted are drafted, the token is y ~ p.
Theorem.     T38: the output law is p for any levels and shares; with scores of the right law no
             lossless rule hits more often.
Acceptance.  sum min(p, w) that the chosen draft is kept, and the chance that the replacement is
             another draft.
Randomness.  u[0] chooses the draft; u[1] decides; u[2] draws y.
Cost.        prepare O(n V N) on NumPy, row by row, for N = 50 to 100 nodes in time (more for peaked
             q) and about 30 laws w; wherever the rows are. verify O(V).
Paper.       None: this project's. For two drafts there is `optimal_wor`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from specsim.base.arrays import (
    accept_probability,
    accepts,
    array_namespace,
    one_hot,
    pick,
    residual,
    wide,
)
from specsim.types import Array
from specsim.verify.step import _chosen, _scores

DRAFTS: Literal["without_replacement"] = "without_replacement"
COUNTS = (3, 4)
EXACT = True
THEOREM = "T38"
PROVED = {"lossless (whatever is chosen)": "winner_lossless"}
PAPER = "this project"


class Plan(NamedTuple):
    """Rows (..., V), but for those (...)."""

    p: Array
    level: Array
    share: Array
    winners: Array  # w
    left_over: Array
    rate: Array  # (...): the acceptance
    gap: Array  # (...): the optimum less sum min(p, w); the rule loses at most this
    all_drafted: Array  # (...): at most K tokens can be drafted
    num_drafts: int


def prepare(p: Array, q: Array, num_drafts: int) -> Plan:
    """Plan with the levels and shares of the tokens, and the law w of the chosen draft."""
    xp = array_namespace(p, q)
    p, q = xp.broadcast_arrays(wide(p), wide(q))
    all_drafted = xp.sum(xp.where(q > 0, 1, 0), axis=-1) <= num_drafts
    level, share, winners, rate, gap = _chosen.planned(p, q, num_drafts)
    return Plan(p, level, share, winners, residual(p, winners), rate, gap, all_drafted, num_drafts)


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., K)."""
    xp = array_namespace(plan.p)
    law: Array = 0
    replaced: Array = 0
    for k, chance in enumerate(_scores.chosen(plan.level, plan.share, drafts)):
        # A single Fraction is no array.
        accepted = xp.asarray(chance * accept_probability(plan.p, plan.winners, drafts[..., k]))
        law = law + accepted[..., None] * one_hot(drafts[..., k], plan.p)
        replaced = replaced + xp.asarray(chance - accepted)[..., None]
    return xp.where(plan.all_drafted[..., None], plan.p, law + replaced * plan.left_over)


def acceptance(plan: Plan) -> Array:
    """Probability that the token is one of the drafts."""
    return plan.rate


def uniforms(num_drafts: int) -> int:
    """The choice, one test, one residual draw."""
    return 3


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., K) and u (..., 3)."""
    # Choose the draft.
    xp = array_namespace(drafts)
    token, reached = drafts[..., 0], 0
    for k, chance in enumerate(_scores.chosen(plan.level, plan.share, drafts)[:-1]):
        reached = reached + chance
        token = xp.where(u[..., 0] < reached, token, drafts[..., k + 1])
    # Verify it alone against the law of winners; where nothing else can be drafted, draw from p.
    accepted = accepts(plan.p, plan.winners, token, u[..., 1])
    replaced = pick(xp.where(plan.all_drafted[..., None], plan.p, plan.left_over), u[..., 2])
    return xp.where(accepted & ~plan.all_drafted, token, replaced)
