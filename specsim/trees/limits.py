"""Bounds on deterministic trees: the tree of the target's own likeliest texts, and entropy.

Value.       A deterministic tree is worth at most 1 + the sum over nodes of the target's
             probability of the node's text, whatever lossless rule verifies it, and following the
             target's own draws attains that: given the target's text, a rule keeps no node that is
             off it. So the target's heap tree is the optimum.
Entropy.     Let every text of the tree go on to each of the V tokens. The (N+1)(V-1) + 1 ends are
             what one cycle can emit; their entropy is at most the log of their number, and by the
             chain rule it is the sum over the root and the nodes of (probability of the text) times
             (entropy of the next token). If that entropy is at least mu everywhere, the value is at
             most log((N+1)(V-1) + 1) / mu. For i.i.d. tokens this is Tunstall's parsing.
Paper.       Pankratov and Alistarh, arXiv:2512.11718, prove (mu + mu_2) log(N) / mu^2 + O(1), mu
             the expected entropy and mu_2 the expected squared log-probability; Tunstall 1967,
             "Synthesis of noiseless compression codes".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from specsim.base import check, limits
from specsim.trees import validity
from specsim.trees.drawn import law_after
from specsim.trees.likeliest import heap_tree
from specsim.types import Array, Model, TokenTree


@np.errstate(under="ignore")
def speed_of_light(
    target: Model | Array,
    *,
    nodes: int,
    depth: int | None = None,
    prefix: tuple[Any, ...] = (),
) -> Any:
    r"""Most tokens per target call that a deterministic tree of N nodes can be expected to give.

    .. math:: 1 + \max_{|T| = N} \sum_{x \in T} \prod_j p(x_j \mid x_{<j})

    Parameters
    ----------
    target : Model or array_like, shape (V,)
        A function from a text (a tuple of token ids) to the next-token law; or one law, the same in
        every context. Laws of Fractions keep the answer exact.
    nodes : int
        Drafted tokens N, at least 1.
    depth : int, optional
        Most levels below the root.
    prefix : tuple
        The text so far.

    Returns
    -------
    number
        The value of the oracle tree, the bonus token included; a Fraction for Fractions.

    Raises
    ------
    ValueError
        nodes or depth is below 1: no tree; or the model returns a row that is not a law.

    References
    ----------
    Pankratov and Alistarh 2026, arXiv:2512.11718 (the oracle tree and its growth in N).

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> print(speed_of_light([F(1, 2), F(1, 4), F(1, 4)], nodes=3))
    2
    """
    law = None if callable(target) else check.law(target, "target")
    model: Model = target if law is None else lambda text: law
    return 1 + heap_tree(model, nodes=nodes, depth=depth, prefix=prefix).reach.sum()


@np.errstate(under="ignore")
def deterministic_tokens(model: Model, tree: TokenTree, *, prefix: tuple[Any, ...] = ()) -> Any:
    """Expected tokens per target call of a deterministic tree (one, not a batch) under a target model.

    Parameters
    ----------
    model : callable
        The target: text, a tuple of token ids -> law of the next token, shape (V,).
    tree : TokenTree
        Of n nodes, with tokens (n,).
    prefix : tuple
        The text so far.

    Returns
    -------
    number
        1 + the sum over nodes of the target's probability of the node's text; a Fraction for
        Fractions.

    Raises
    ------
    ValueError, TypeError
        The tree is none (see `check`), or a row of the model is no law.

    Examples
    --------
    >>> tree = heap_tree(lambda text: np.array([0.6, 0.3, 0.1]), nodes=2).tree  # 0, and 0 0
    >>> deterministic_tokens(lambda text: np.array([0.5, 0.5, 0.0]), tree)
    np.float64(1.75)
    """
    prefix = check.text(prefix, "prefix")
    root = law_after(model, prefix, ())
    validity.check(tree, root.shape[-1])
    # Texts of the root and the nodes, and the target's probability of each; absent nodes have 0.
    texts, reach = [prefix], [1]
    for parent, token in zip(np.asarray(tree.parents).tolist(), tree.tokens.tolist(), strict=True):
        parent_text, parent_reach = texts[parent + 1], reach[parent + 1]
        texts.append((*parent_text, token))
        is_present = token >= 0
        reach.append(parent_reach * law_after(model, parent_text, (), root)[token] if is_present else 0)
    return sum(reach)


def entropy_bound(entropy: float, *, vocab: int, nodes: int) -> float:
    """log((N+1)(V-1) + 1) / mu, a bound on the value of deterministic trees of N nodes.

    It holds if every next token has entropy mu or more.

    Parameters
    ----------
    entropy : float
        mu > 0, in nats: a lower bound on the entropy of every next token.
    vocab : int
        Tokens V, at least 2.
    nodes : int
        Drafted tokens N, at least 0.

    Returns
    -------
    float
        Tokens per target call.

    Raises
    ------
    ValueError
        A number outside its range.

    Examples
    --------
    >>> entropy_bound(math.log(2), vocab=2, nodes=2)  # three nodes' worth of fair coins: two levels in full
    2.0
    """
    mu = float(check.scalar(entropy, "entropy", "(0, inf)"))
    nodes = check.integer(nodes, "nodes", 0, limits.MAX_NODES)
    vocab = check.integer(vocab, "vocab", 2)
    ends = (nodes + 1) * (vocab - 1) + 1
    return math.log(ends) / mu


@np.errstate(under="ignore")
def light_rate(law: Array) -> float:
    """(mu + mu_2) / mu^2 of i.i.d. tokens: Pankratov and Alistarh's tokens per unit of log N.

    Parameters
    ----------
    law : array_like, shape (V,)
        Of every token.

    Returns
    -------
    float
        Tokens per unit of log N.

    Raises
    ------
    ValueError
        No law, or a point mass, whose entropy is 0.

    Examples
    --------
    >>> round(light_rate(np.array([0.5, 0.5])), 4)  # mu = log 2, mu_2 = log(2)^2
    2.4427
    """
    p = np.asarray(check.law(law, "law"), dtype=np.float64)
    p = p[p > 0]
    # The mean of -log p, which is the entropy, and the mean of its square.
    surprise = -np.log(p)
    mu, mu_2 = float((p * surprise).sum()), float((p * surprise**2).sum())
    if not mu * mu > 0:
        raise ValueError(
            "law is a point mass, or as good as one: its entropy is 0, and a tree can be worth any number of tokens"
        )
    return (mu + mu_2) / mu**2
