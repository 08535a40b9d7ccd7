"""Protocols that modules implement, and the frozen records that functions return.

A rule, a draft scheme or a process is a *module* in its family's folder; the protocols below say which
names the module must have. p is always the target and q the draft, both after warping.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol

Array = Any  # NumPy (float or object of Fraction), JAX or torch; see specsim.base.arrays
Scheme = Literal["iid", "without_replacement", "greedy", "distinct", "hub", "independent"]
Status = Literal["optimal", "upper bound"]


class StepRule(Protocol):
    """K candidates for one position -> one token.

    ``plan = prepare(p, q, K)`` serves many draws; ``transition`` is the exact law of the token given the
    candidates, ``verify`` the sampler, ``acceptance`` the probability that the token is a candidate.

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
    def acceptance(self, plan: Any) -> Array: ...
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

    A rule of one draft x may say, as a `ChainRule` may, that ``verify`` keeps it by ``keeps(p_drawn, q_drawn, u)``, on
    the first uniform, and else draws the token from ``left_over(p, q)``, which never is x, with the second.
    """

    PROVED: dict[str, str]  # "lossless" or "acceptance" (in brackets what falls short of the rule) -> theorem in Coq
    ALSO: tuple[Scheme, ...]  # schemes besides DRAFTS whose drafts it verifies
    COUNTS: tuple[int, ...]  # the numbers of drafts that it verifies, where not all that DRAFTS can draw
    BY_ID: bool  # it goes by which tokens they are, so that rows of a few tokens have to be made whole for it

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

    def survival(self, ratio: Array) -> Array: ...
    def continuation(self, plan: Any, drafts: Array, kept: Array, token: Array) -> tuple[Array, Array]: ...
    def keeps(self, p_drawn: Array, q_drawn: Array, u: Array) -> Array: ...
    def left_over(self, p: Array, q: Array) -> Array: ...


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


class TokenTree(NamedTuple):
    """Drafted tokens that share prefixes. Node i hangs below parents[i] < i, or below the root (the text so far) at -1.

    Siblings stand in the order in which they were drawn. `parents` and `depth` (1 for the root's children) are NumPy
    arrays (n,), the same for a whole batch; `tokens` is (..., n), -1 where a row of the batch has no such node. Only in
    a batch of beams (`specsim.trees.beam.packed`) does each row have `parents` of its own, (..., n).

    >>> import numpy as np
    >>> from specsim import trees
    >>> tree = TokenTree(trees.k_ary((2, 1)), np.array([5, 7, 1, 2]), np.array([1, 1, 2, 2]), "without_replacement")
    >>> trees.leaves(tree.parents).tolist()  # the texts 5 1 and 7 2
    [2, 3]
    """

    parents: Any
    tokens: Array
    depth: Any
    scheme: str  # how siblings were drawn: a draft scheme, "paths" (K i.i.d. paths), "beam" or "deterministic"


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
    CHAIN: str  # the chain rule that it is on one path
    STEPS: dict[str, str]  # scheme -> the step rule that it is on one level


class Process(Protocol):
    """How the places of a text are filled: passes of a model, whose rows a chain rule verifies.

    ``start`` gives a state of `batch` texts with nothing filled; a process' own parameters come after these two, each
    with a default and an annotation. ``ask`` says which rows the next pass has to give (`specsim.base.texts.Asked`);
    ``advance`` makes tokens of them, with `uniforms` numbers for each text (b, n), by ``rule.prepare`` and
    ``rule.verify``. A state is a record with `text` (b, N), `filled` (b,): places filled, N when a text is done, and
    `passes` (b,) of the target. What it does not hold is forgotten: the same state, rows and numbers give the same.
    """

    EXACT: bool
    THEOREM: str
    PAPER: str

    def start(self, length: int, batch: int) -> Any: ...
    def ask(self, state: Any) -> Any: ...
    def uniforms(self, state: Any, rule: Any) -> int: ...
    def advance(self, state: Any, rows: Array, rule: Any, u: Array) -> Any: ...


class ProcessOptions(Protocol):
    """What a process may also have."""

    CASES: tuple[dict[str, Any], ...]  # parameters with which checks and `guarantee` run it, one set after the other


Model = Callable[[tuple[int, ...]], Array]
"""A toy language model: prefix of token ids -> next-token law, shape (V,)."""


class Law(NamedTuple):
    """Rows over `vocab` tokens that are 0 but at `ids`: what engines hand over as top-k or one-hot rows.

    ``ids`` are integers (..., k), each at most once in a row, -1 at places that are not used; ``values`` (..., k) are
    their probabilities, 0 at -1, or booleans where the row is a set of tokens (the certificate of an `Optimum`).

    >>> from specsim import top_k_law, total_variation
    >>> row = top_k_law([[7, 70_000]], [[0.25, 0.75]], vocab=152_000)
    >>> type(row) is Law, total_variation(row, top_k_law([[7, 3]], [[0.5, 0.5]], vocab=152_000)).tolist()
    (True, [0.75])
    """

    ids: Array
    values: Array
    vocab: int


class Draws(NamedTuple):
    """The law of a number N of draws that does not look at what is drawn: N = least, or least + 1 with chance `extra`.

    Both are arrays with the leading axes of q (one law per row), or plain numbers; `limit` is the most draws that
    arrays of tokens have room for, the same for every row.

    >>> from specsim import optimal_acceptance
    >>> law = Draws(least=2, extra=0.5, limit=3)  # two or three i.i.d. drafts, as a coin falls
    >>> float(optimal_acceptance([.5, .3, .2], [.1, .3, .6], num_drafts=law, scheme="distinct").round(4))
    0.7305
    """

    least: Array  # integers, at least 1
    extra: Array  # in [0, 1]
    limit: int


class StepResult(NamedTuple):
    """What `verify_step` returns: the emitted token, and whether it is one of the drafts."""

    token: Array
    hit: Array


class ChainResult(NamedTuple):
    """What `verify_chain` returns: drafts kept (0..gamma), and the token emitted after them."""

    num_accepted: Array
    token: Array


class TreeResult(NamedTuple):
    """What `verify_tree` returns: the kept node (0 for none, i+1 for node i), its depth, and the token after it."""

    node: Array
    num_accepted: Array
    token: Array


class Optimum(NamedTuple):
    """The best acceptance any lossless rule can reach, with the set that proves it.

    ``certificate`` is a boolean mask H over the vocabulary: for every lossless rule,
    acceptance <= 1 + p(H) - Pr[all drafts in H], and ``value`` equals that right-hand side. ``plan`` is a law w of a
    draft chosen among the drafts with sum min(p, w) = ``value``: chosen so, and verified alone against w, it attains
    the value. None where only the value is known. ``error`` bounds how far the method (not rounding) may have moved
    the value: 0 for closed forms.
    """

    value: Array
    certificate: Array
    plan: Array | None
    status: Status
    error: Array
