"""Protocols of rules and draft schemes: the names that a module must have. p is the target and q the draft, warped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol

from specsim.types.records import Array, Draws, TokenTree

Scheme = Literal["iid", "without_replacement", "greedy", "distinct", "hub", "independent"]


class StepRule(Protocol):
    """K candidates for one position -> one token.

    ``plan = prepare(p, q, K)`` serves many draws; ``transition`` is the exact law of the token given the
    candidates, ``verify`` the sampler.

    A lossy rule also has a `bias`: see `LossyStepRule`. One that needs exp or log, or another function that no Fraction
    has, says EXACT = False: checks in Fractions are skipped, and say so; those in floats run.

    The names that a rule may have besides are those of `StepOptions`, as `ChainOptions`, `TreeOptions` and
    `DraftOptions` for the other families. ``prepare`` may take parameters of the rule's own after these three, each
    with a default and an annotation: what `params` of the public functions names.
    """

    DRAFTS: Scheme  # how the candidates must be drawn from q
    EXACT: bool  # only + - * / and comparisons: runs on Fractions
    THEOREM: str  # file in proofs/, or "open"
    PAPER: str

    def prepare(self, p: Array, q: Array, num_drafts: int) -> Any: ...
    def transition(self, plan: Any, drafts: Array) -> Array: ...
    def uniforms(self, num_drafts: int) -> int: ...
    def verify(self, plan: Any, drafts: Array, u: Array) -> Array: ...


class LossyStepRule(StepRule, Protocol):
    """A step rule whose output law is not p, and that says by how much: lossless rules have no `bias`.

    ``bias(plan)`` (...) is the exact total variation distance 1/2 sum |output - p| of the token's law from p, for
    drafts drawn as DRAFTS says. Without it a rule is held to p itself; with it, to this number, by `output_is_target`
    in Fractions and `laws_in_floats` in float64, and its acceptance to the optimum of lossless rules plus the bias.
    """

    def bias(self, plan: Any) -> Array: ...


class StepOptions(Protocol):
    """What a step rule may also have; `specsim.discover.facts` reads it, and `contract` holds it to these parameters.

    ``acceptance`` is the probability that the token is a candidate, in closed form: without it the hits are counted.
    A rule of one draft x may say, as a `ChainRule` may, that ``verify`` keeps it by ``keeps(p_drawn, q_drawn, u)``, on
    the first uniform, and else draws the token from ``left_over(p, q)``, which never is x, with the second.
    """

    PROVED: dict[str, str]  # "lossless" or "acceptance" (in brackets what falls short of the rule) -> theorem in Coq
    ALSO: tuple[Scheme, ...]  # schemes besides DRAFTS whose drafts it verifies
    COUNTS: tuple[int, ...]  # the numbers of drafts that it verifies, where not all that DRAFTS can draw
    BY_ID: bool  # it goes by which tokens they are, so that rows of a few tokens have to be made whole for it

    def acceptance(self, plan: Any) -> Array: ...
    def bias(self, plan: Any) -> Array: ...
    def keeps(self, p_drawn: Array, q_drawn: Array, u: Array) -> Array: ...
    def left_over(self, p: Array, q: Array) -> Array: ...


class NoClosedForm(ValueError):
    """What ``acceptance`` of a `StepRule` raises where its sum would not fit: the hits can still be counted."""


class ChainRule(Protocol):
    """gamma drafted tokens in a row -> how many are kept, and the token after them.

    ``transition`` is the exact joint law of (kept, next token) given the drafts. A rule after whose blocks the target
    goes on as it is has ``survival(ratio)``: from the ratios q(y)/p(y) along an emitted text y, P(kept >= i | y) for a
    block that starts there. One that changes the tokens to come has ``continuation(plan, drafts, kept, token)``
    instead: columns (above, below) such that they come from (above p - below q)+, normalised. ``advance`` gives the
    weights w_i, w_0 = 1, from the ratios p/q along the drafts: P(kept >= i | drafts drawn up to i) = min(1, w_i).

    A rule that reads no more than p(x) and q(x) of its drafts, and whose token after them depends on one position,
    may say so: ``keeps(p_drawn, q_drawn, u)`` is how many drafts are kept, ``left_over(p, q)`` the law of the token
    where a draft failed (p where none did). ``verify`` in the same file is then made of the two.

    One that decides as `block` does, by rows (a_i p_i - b_i q_i)+ with sums S_i, may say ``scales(p_drawn, q_drawn)``,
    the a and b (..., gamma+1): draft i passes if u[i] (S_i + b_i - a_i) < S_i, always if b_i <= a_i, the last one by
    a and b alone; the last that passes is the last kept, and the token comes from its row, p after all. a_0 = b_0.
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
    """What a chain rule may also have: one of `survival` and `continuation` it must have."""

    PROVED: dict[str, str]
    SAME_AS: str  # the chain rule that makes the same decisions

    def survival(self, ratio: Array) -> Array: ...
    def continuation(self, plan: Any, drafts: Array, kept: Array, token: Array) -> tuple[Array, Array]: ...
    def keeps(self, p_drawn: Array, q_drawn: Array, u: Array) -> Array: ...
    def left_over(self, p: Array, q: Array) -> Array: ...
    def scales(self, p_drawn: Array, q_drawn: Array) -> tuple[Array, Array]: ...


class DraftScheme(Protocol):
    """How K candidates are drawn from q.

    ``within`` is the probability that all K candidates lie in a set, given by its
    indicator: what bounds every lossless rule (T03).
    """

    def draw(self, q: Array, u: Array, num_drafts: int) -> Array: ...
    def probability(self, q: Array, drafts: Array, num_drafts: int) -> Array: ...
    def within(self, q: Array, members: Array, num_drafts: int) -> Array: ...
    def uniforms(self, num_drafts: int) -> int: ...


class DraftOptions(Protocol):
    """What a draft scheme may also have; one with ``draws`` draws a random number of candidates, K on average."""

    COUNTS: tuple[int, ...]  # the numbers of drafts that it can draw, where not every number will do
    PER_DRAFT: bool  # whether q has a row for each candidate: (..., K, V)

    def draws(self, q: Array, num_drafts: int) -> Draws: ...


class TreeRule(Protocol):
    """A tree of drafted tokens -> the node up to which they are kept, and the token after it.

    p and q are (..., n+1, V): row 0 after the root, row i+1 after node i (rows of q after leaves, and of both at nodes
    that are absent, are laws that are not read). ``verify`` returns the kept node (0 for none, i+1 for node i) and the
    next token; ``transition`` is their exact joint law (..., n+1, V) given the tree. Where nodes have the same text the
    first of them is kept.

    """

    CHILDREN: tuple[str, ...]  # the schemes of a TokenTree that the rule verifies
    EXACT: bool
    THEOREM: str
    PAPER: str

    def prepare(self, p: Array, q: Array, tree: TokenTree) -> Any: ...
    def transition(self, plan: Any) -> Array: ...
    def uniforms(self, tree: TokenTree) -> int: ...
    def verify(self, plan: Any, u: Array) -> tuple[Array, Array]: ...


class TreeOptions(Protocol):
    """What a tree rule may also have. What it says it is on the smallest trees, it is held to."""

    PROVED: dict[str, str]
    ALSO: tuple[str, ...]  # schemes besides CHILDREN whose trees it verifies
    SAME_AS: str  # the tree rule that makes the same decisions
    CHAIN: str  # the chain rule that it is on one path
    STEPS: dict[str, str]  # scheme -> the step rule that it is on one level


Model = Callable[[tuple[int, ...]], Array]
"""A toy language model: prefix of token ids -> next-token law, shape (V,)."""
