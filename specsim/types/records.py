"""The frozen records that functions take and return: laws, trees, results, signals."""

from __future__ import annotations

from typing import Any, NamedTuple

# NumPy (float or object of Fraction), JAX or torch; see specsim.base.arrays.
Array = Any


class TokenTree(NamedTuple):
    """Drafted tokens that share prefixes.

    Node i hangs below parents[i] < i, or below the root (the text so far) at -1. Siblings stand in
    the order in which they were drawn. `parents` and `depth` (1 for the root's children) are NumPy
    arrays (n,), the same for a whole batch; `tokens` is (..., n), -1 where a row of the batch has
    no such node. Only in a batch of beams (`specsim.trees.beam.packed`) does each row have
    `parents` of its own, (..., n). `scheme` says how siblings were drawn: a draft scheme, "paths"
    (K i.i.d. paths), "beam" or "deterministic".

    >>> import numpy as np
    >>> from specsim import trees
    >>> tree = TokenTree(trees.k_ary((2, 1)), np.array([5, 7, 1, 2]), np.array([1, 1, 2, 2]), "without_replacement")
    >>> trees.leaves(tree.parents).tolist()  # the texts 5 1 and 7 2
    [2, 3]
    """

    parents: Any
    tokens: Array
    depth: Any
    scheme: str


class Law(NamedTuple):
    """Rows over ``vocab`` tokens that are 0 except at ``ids``, as engines' top-k or one-hot rows.

    ``ids`` are integers (..., k), each at most once in a row, -1 at places that are not used;
    ``values`` (..., k) are their probabilities, 0 at -1, or booleans where the row is a set of
    tokens (the certificate of an `optimum`).

    >>> from specsim import top_k_law, total_variation
    >>> row = top_k_law([[7, 70_000]], [[0.25, 0.75]], vocab=152_000)
    >>> type(row) is Law, total_variation(row, top_k_law([[7, 3]], [[0.5, 0.5]], vocab=152_000)).tolist()
    (True, [0.75])
    """

    ids: Array
    values: Array
    vocab: int


class Draws(NamedTuple):
    """A random number of draws: ``least``, or ``least`` + 1 with probability ``extra``.

    It does not depend on the tokens drawn. ``least`` holds integers, at least 1, and ``extra``
    numbers in [0, 1]; both are arrays with the leading axes of q (one law per row), or plain
    numbers. ``limit`` is the most draws that arrays of tokens have room for, the same for every
    row.

    >>> from specsim import optimal_acceptance
    >>> law = Draws(least=2, extra=0.5, limit=3)  # two or three i.i.d. drafts, as a coin falls
    >>> float(optimal_acceptance([.5, .3, .2], [.1, .3, .6], num_drafts=law, scheme="distinct").round(4))
    0.7305
    """

    least: Array
    extra: Array
    limit: int


class StepResult(NamedTuple):
    """Result of `verify_step`: the emitted token, and whether it is one of the drafts."""

    token: Array
    hit: Array


class ChainResult(NamedTuple):
    """Result of `verify_chain`: drafts accepted (0..gamma), and the token emitted after them."""

    num_accepted: Array
    token: Array


class TreeResult(NamedTuple):
    """Result of `verify_tree`: the last accepted node, its depth, and the token after it.

    `node` is 0 for none, i+1 for node i.
    """

    node: Array
    num_accepted: Array
    token: Array


class Signals(NamedTuple):
    """Signals of the draft's own rows after a draft: all that a `Controller` sees of a block.

    Leading axes are texts. `top` (..., 10) holds the largest probabilities of the draft's row
    before warping, falling, and zeros where there are fewer; `entropy` (...) is that row's, in
    nats; `position` (...) counts the drafts of this block so far, 1 after the first; `own` (...) is
    the probability of the token that was drawn. `specsim.control.row_signals` makes signals of
    rows.
    """

    top: Array
    entropy: Array
    position: Array
    own: Array
