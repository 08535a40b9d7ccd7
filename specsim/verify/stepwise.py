"""A step rule of one draft at every position of a chain: how a decode loop that drafts chains runs it.

Law.         The step rule turns draft x_i into a token y_i of its own at each position; drafts are
             kept while y_i = x_i. The first other y_i is the token after them; where all are kept
             one is drawn from p_{gamma+1}.
Theorem.     T02's argument: given the tokens before it, each token has the law of the step rule, p
             if that is lossless.
Acceptance.  Given the text y, P(n >= i) is the product over j <= i of b_j = q_j(y_j) T_j(y_j |
             y_j) / p_j(y_j), T being the step rule's transition.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

from specsim.base.arrays import array_namespace, at, ids, leading, pick
from specsim.types import Array
from specsim.verify.chain import tokenwise
from specsim.verify.hits import acceptance


class Plan(NamedTuple):
    p: Array  # (..., gamma+1, V)
    step: Any  # the step rule's plan for all positions at once; None where there are none


class Stepwise(NamedTuple):
    """A step rule as a decode loop uses a chain rule; `survival` takes b in the place of q/p."""

    step: ModuleType

    def prepare(self, p: Array, q: Array) -> Plan:
        """Target rows (..., gamma+1, V) and draft rows (..., gamma, V)."""
        return Plan(p, self.step.prepare(p[..., :-1, :], q, 1) if q.shape[-2] else None)

    def transition(self, plan: Plan, drafts: Array) -> Array:
        """Joint law (..., gamma+1, V) of (number accepted, next token) given drafts (..., gamma)."""
        p, gamma = plan.p, drafts.shape[-1]
        xp = array_namespace(p)
        reached, rows = xp.ones_like(p[..., 0, :1]), []
        law = self.step.transition(plan.step, drafts[..., None]) if gamma else p
        for i in range(gamma):
            # The draft is accepted if the step rule emits it.
            is_draft = ids(p) == drafts[..., i, None]
            rows.append(reached * xp.where(is_draft, 0, law[..., i, :]))
            reached = reached * xp.sum(xp.where(is_draft, law[..., i, :], 0), axis=-1, keepdims=True)
        return xp.stack([*rows, reached * p[..., gamma, :]], axis=-2)

    def survival(self, posterior: Array) -> Array:
        """P(n >= i | emitted text), i = 1..gamma, from the `posterior` (..., gamma) of its tokens."""
        return tokenwise.survival(posterior)

    def uniforms(self, gamma: int) -> int:
        """As many as the step rule needs at every position, and one draw after them."""
        return gamma * int(self.step.uniforms(1)) + 1

    def verify(self, plan: Plan, drafts: Array, u: Array) -> tuple[Array, Array]:
        """(Number accepted, next token), each (...), from drafts (..., gamma) and u (..., uniforms)."""
        xp, gamma = array_namespace(plan.p), drafts.shape[-1]
        last = pick(plan.p[..., gamma, :], u[..., -1])
        if gamma == 0:
            return xp.zeros_like(last), last
        step_uniforms = xp.reshape(u[..., :-1], (*drafts.shape, int(self.step.uniforms(1))))
        tokens = self.step.verify(plan.step, drafts[..., None], step_uniforms)
        # The first token that is not its draft follows the
        # accepted ones, or `last` if all are accepted.
        num_accepted = leading(tokens == drafts)
        is_refused = num_accepted < gamma
        token = at(tokens, xp.where(is_refused, num_accepted, gamma - 1))
        return num_accepted, xp.where(is_refused, token, last)

    def acceptance(self, p: Array, q: Array) -> Array:
        """The probability (...) that a draft is the step rule's token, from rows (..., V)."""
        return acceptance(self.step, p, q, 1)

    def posterior(self, p: Array, q: Array, text: Array) -> Array:
        """b (T,): the probability that a token of a text was its draft, from rows (T, V) along it.

        Rounding can emit a token with p = 0; its b is 1 if it can be drafted, else 0.
        """
        xp, p_text, q_text = array_namespace(p), at(p, text), at(q, text)
        certain, never = xp.ones_like(p_text), xp.zeros_like(p_text)
        # q T / p, at most 1.
        law = self.step.transition(self.step.prepare(p, q, 1), text[..., None])
        accepted = q_text * at(law, text)
        ratio = accepted / xp.where(p_text > 0, p_text, certain)
        ratio = xp.where(ratio < 1, ratio, certain)
        return xp.where(p_text > 0, ratio, xp.where(q_text > 0, certain, never))
