"""A coupled rule at every position of a chain: how a decode loop runs it, whose text then depends on no drafter.

Law.         Each position of a text has its own race. The drafter proposes with it what its own law
             makes of it, the target's half makes the token; drafts are kept while they are that
             token, and the first other token, or the one after all drafts, ends the block.
Theorem.     T37, part 1, at every position: the text is that of the races and the target, whoever
             drafts and however long blocks are.
Acceptance.  Given the text y, P(n >= i) is the product over j <= i of b_j = P(y_j was drafted |
             y_j), as the races of different positions are independent.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

from array_api_compat import device

from specsim.base.arrays import array_namespace, at, leading
from specsim.types import Array
from specsim.verify.chain import tokenwise
from specsim.verify.coupled._race import exponentials


class Raced(NamedTuple):
    """A coupled rule as a decode loop uses a chain rule; uniforms belong to positions, and are read twice."""

    rule: ModuleType

    def numbers(self, vocab: int) -> int:
        """Number of uniforms of one position of a text, for a vocabulary of `vocab` tokens."""
        return int(self.rule.races(1)) * vocab

    def draw(self, q: Array, u: Array) -> Array:
        """Draft (...) from its law (..., V) and the uniforms (..., races V) of its position."""
        return self.rule.propose(q, self._variates(q, u), 1)[..., 0]

    def prepare(self, p: Array, q: Array) -> Array:
        """Target rows (..., gamma+1, V); those of the draft are not read."""
        return p

    def verify(self, plan: Array, drafts: Array, u: Array) -> tuple[Array, Array]:
        """(Number accepted, next token), each (...), from drafts (..., gamma), u (..., gamma+1, races V)."""
        xp = array_namespace(plan)
        none = xp.zeros((*plan.shape[:-1], 1), dtype=xp.int64, device=device(plan))
        tokens = self.rule.verify(plan, none, self._variates(plan, u))
        num_accepted = leading(tokens[..., :-1] == drafts)
        return num_accepted, at(tokens, num_accepted)

    def survival(self, posterior: Array) -> Array:
        """P(n >= i | emitted text), i = 1..gamma, from the `posterior` (..., gamma) of its tokens."""
        return tokenwise.survival(posterior)

    def acceptance(self, p: Array, q: Array) -> Array:
        """The probability (...) that the token is the draft, from rows (..., V)."""
        return array_namespace(p).sum(self.rule.hits(p, q, 1), axis=-1)

    def posterior(self, p: Array, q: Array, text: Array) -> Array:
        """b (T,): the probability that a token of a text was its draft, from rows (T, V) along it."""
        xp, p_text = array_namespace(p), at(p, text)
        hit = at(self.rule.hits(p, q, 1), text)
        ratio = hit / xp.where(p_text > 0, p_text, xp.ones_like(p_text))
        return xp.where(p_text > 0, ratio, xp.zeros_like(p_text))

    def _variates(self, rows: Array, u: Array) -> Array:
        """Exponential variates (..., races, V) from uniforms (..., races V), for rows (..., V)."""
        shape = (*rows.shape[:-1], int(self.rule.races(1)), rows.shape[-1])
        return array_namespace(u).reshape(exponentials(u), shape)
