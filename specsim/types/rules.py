"""Protocols of rules and draft schemes: the names that a module must have.

p is the target and q the draft, both warped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from specsim.types.records import Array, Draws, TokenTree

Scheme = Literal["iid", "without_replacement", "greedy", "distinct", "hub", "independent"]


class StepRule(Protocol):
    """A step rule makes one token of K candidates for one position.

    ``plan = prepare(p, q, K)`` serves many draws; ``transition`` is the exact law of the token
    given the candidates, ``verify`` the sampler.

    A lossy rule also has a `bias`: see `LossyStepRule`. One that needs exp or log, or another
    function that no Fraction has, says EXACT = False: checks in Fractions are skipped, and say so;
    those in floats run.

    The names that a rule may have besides are those of `StepOptions`, as `ChainOptions`,
    `TreeOptions` and `DraftOptions` for the other families. ``prepare`` may take parameters of the
    rule's own after these three, each with a default and an annotation: what `params` of the public
    functions names.
    """

    # How the candidates must be drawn from q.
    DRAFTS: Scheme
    # True if it runs on Fractions: only + - * / and comparisons.
    EXACT: bool
    # A file in proofs/, or "open".
    THEOREM: str
    PAPER: str

    def prepare(self, p: Array, q: Array, num_drafts: int) -> Any: ...
    def transition(self, plan: Any, drafts: Array) -> Array: ...
    def uniforms(self, num_drafts: int) -> int: ...
    def verify(self, plan: Any, drafts: Array, u: Array) -> Array: ...


class LossyStepRule(StepRule, Protocol):
    """A step rule whose output law is not p, with its bias: lossless rules have no `bias`.

    ``bias(plan)`` (...) is the exact total variation distance 1/2 sum |output - p| of the token's
    law from p, for drafts drawn as DRAFTS says. Without it a rule is held to p itself; with it, to
    this number, by `output_is_target` in Fractions and `laws_in_floats` in float64, and its
    acceptance to the optimum of lossless rules plus the bias.
    """

    def bias(self, plan: Any) -> Array: ...


class StepOptions(Protocol):
    """Names that a step rule may also have.

    `specsim.discover.facts` reads them, and the check `contract` requires these parameters.
    ``acceptance`` is the probability that the token is a candidate, in closed form: without it the
    hits are counted. A rule of one draft x may say, as a `ChainRule` may, that ``verify`` accepts
    it by ``keeps(p_drawn, q_drawn, u)``, on the first uniform, and else draws the token from
    ``left_over(p, q)``, which never is x, with the second.
    """

    # The theorem in Coq that proves "lossless" or "acceptance"; brackets name a restriction.
    PROVED: dict[str, str]
    # Schemes besides DRAFTS whose drafts it verifies.
    ALSO: tuple[Scheme, ...]
    # The numbers of drafts that it verifies, where not all that DRAFTS can draw.
    COUNTS: tuple[int, ...]
    # True if it depends on token ids, so that rows of a few tokens must be made dense for it.
    BY_ID: bool

    def acceptance(self, plan: Any) -> Array: ...
    def bias(self, plan: Any) -> Array: ...
    def keeps(self, p_drawn: Array, q_drawn: Array, u: Array) -> Array: ...
    def left_over(self, p: Array, q: Array) -> Array: ...


class NoClosedForm(ValueError):
    """Raised by ``acceptance`` of a `StepRule` where its sum would not fit; hits can be counted."""


class ChainRule(Protocol):
    """A chain rule accepts a prefix of gamma drafted tokens, and emits the token after it.

    ``transition`` is the exact joint law of (kept, next token) given the drafts, where kept counts
    the accepted ones. A rule after whose blocks the target goes on as it is has
    ``survival(ratio)``: from the ratios q(y)/p(y) along an emitted text y, P(kept >= i | y) for a
    block that starts there. One that changes the tokens to come has ``continuation(plan, drafts,
    kept, token)`` instead: columns (above, below) such that they come from (above p - below q)+,
    normalised. ``advance`` returns the weights w_i, w_0 = 1, from the ratios p/q along the drafts:
    P(kept >= i | drafts drawn up to i) = min(1, w_i).

    A rule that reads no more than p(x) and q(x) of its drafts, and whose token after them depends
    on one position, may have two functions more: ``keeps(p_drawn, q_drawn, u)`` is how many drafts
    are accepted, ``left_over(p, q)`` the law of the token where a draft failed (p where none did).
    ``verify`` in the same file is then made of the two.

    A rule that decides as `block` does, by rows (a_i p_i - b_i q_i)+ with sums S_i, may have
    ``scales(p_drawn, q_drawn)``, the a and b (..., gamma+1): draft i passes if u[i] (S_i + b_i -
    a_i) < S_i, always if b_i <= a_i, the last one by a and b alone. The last that passes is the
    last accepted, and the token comes from its row, p after all. a_0 = b_0.
    """

    EXACT: bool
    THEOREM: str
    PAPER: str

    def prepare(self, p: Array, q: Array) -> Any: ...
    def transition(self, plan: Any, drafts: Array) -> Array: ...
    def advance(self, weight: Array, ratio: Array) -> Array: ...
    def uniforms(self, gamma: int) -> int: ...
    def verify(self, plan: Any, drafts: Array, u: Array) -> tuple[Array, Array]: ...


class ChainOptions(Protocol):
    """Names that a chain rule may also have; it must have `survival` or `continuation`."""

    PROVED: dict[str, str]
    # The chain rule that makes the same decisions.
    SAME_AS: str

    def survival(self, ratio: Array) -> Array: ...
    def continuation(self, plan: Any, drafts: Array, kept: Array, token: Array) -> tuple[Array, Array]: ...
    def keeps(self, p_drawn: Array, q_drawn: Array, u: Array) -> Array: ...
    def left_over(self, p: Array, q: Array) -> Array: ...
    def scales(self, p_drawn: Array, q_drawn: Array) -> tuple[Array, Array]: ...


class DraftScheme(Protocol):
    """A draft scheme says how K candidates are drawn from q.

    ``within`` is the probability that all K candidates lie in a set, given by its
    indicator: what bounds every lossless rule (T03).
    """

    def draw(self, q: Array, u: Array, num_drafts: int) -> Array: ...
    def probability(self, q: Array, drafts: Array, num_drafts: int) -> Array: ...
    def within(self, q: Array, members: Array, num_drafts: int) -> Array: ...
    def uniforms(self, num_drafts: int) -> int: ...


class DraftOptions(Protocol):
    """Names that a draft scheme may also have.

    One with ``draws`` draws a random number of candidates, K on average.
    """

    # The numbers of drafts that it can draw, where not every number will do.
    COUNTS: tuple[int, ...]
    # True if q has a row for each candidate: (..., K, V).
    PER_DRAFT: bool

    def draws(self, q: Array, num_drafts: int) -> Draws: ...


class TreeRule(Protocol):
    """A tree rule accepts a path from the root of a drafted tree, and emits the token after it.

    p and q are (..., n+1, V): row 0 after the root, row i+1 after node i. Rows of q after leaves,
    and rows of both at absent nodes, are laws that are not read. ``verify`` returns the last
    accepted node (0 for none, i+1 for node i) and the next token; ``transition`` is their exact
    joint law (..., n+1, V) given the tree. Where nodes have the same text the first of them is
    accepted.
    """

    # The schemes of a TokenTree that the rule verifies.
    CHILDREN: tuple[str, ...]
    EXACT: bool
    THEOREM: str
    PAPER: str

    def prepare(self, p: Array, q: Array, tree: TokenTree) -> Any: ...
    def transition(self, plan: Any) -> Array: ...
    def uniforms(self, tree: TokenTree) -> int: ...
    def verify(self, plan: Any, u: Array) -> tuple[Array, Array]: ...


class TreeOptions(Protocol):
    """Names that a tree rule may also have. Checks compare it with CHAIN and STEPS."""

    PROVED: dict[str, str]
    # Schemes besides CHILDREN whose trees it verifies.
    ALSO: tuple[str, ...]
    # The tree rule that makes the same decisions.
    SAME_AS: str
    # The chain rule that it equals on one path.
    CHAIN: str
    # The step rule that it equals on one level, for each scheme.
    STEPS: dict[str, str]


Model = Callable[[tuple[int, ...]], Array]
"""A toy language model: prefix of token ids -> next-token law, shape (V,)."""
