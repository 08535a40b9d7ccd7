"""Drafts of one pass: blocks whose tokens do not see each other, or only the last few before them.

Law.         Order 0: x_i ~ q_i whatever was drafted before it, so Q(x) = prod q_i(x_i), a product of
             marginals (DFlash, PARD, P-EAGLE, Medusa). Order k: x_i ~ q_i( . | the k drafts before
             it), as a Markov head draws it (DSpark, TreeFlash). Order gamma - 1 sees every draft.
Kept.        Tokenwise E[n] = sum_i sum_x prod_{j <= i} min(p_j(x_j | x_<j), q_j(x_j)); block
             verification E[n] = sum_i sum_x m_i(x), m_i = min(Q(x_1..x_i), p_i(x_i | x_<i) m_{i-1}),
             m_0 = 1. `expected_tokens` computes both for the models that are made here.
Theorem.     T60: the loss against the drafts' own conditionals, when block verification recovers
             some of it, and the best drafts of one pass.
Paper.       Chen et al., DFlash, arXiv:2602.06036; An et al., PARD, arXiv:2504.18583; Cai et al.,
             Medusa, arXiv:2401.10774; Cheng et al., DSpark, arXiv:2607.05147.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from specsim.base import check, limits
from specsim.types import Array, Model

# Most texts whose laws are read to find the law at one position.
MAX_TEXTS = 2**13

Text = tuple[int, ...]


def one_pass_draft(target: Model, *, gamma: int, order: int = 0, prefix: Text = ()) -> Model:
    r"""Return the draft that knows the target's law at each position, given only the last `order` drafts.

    .. math:: q_i(v \mid x_{i-k}, \dots, x_{i-1}) = \Pr_p[X_i = v \mid X_{i-k}, \dots, X_{i-1}], \quad k = \text{order}

    Order 0 gives the marginals: what a drafter of one pass becomes when each position is trained to convergence with
    cross-entropy. Order 1 adds an exact Markov head. Hand the model to `expected_tokens`, `expected_kept` or
    `heap_tree` in place of a draft.

    Parameters
    ----------
    target : Model
        A function from a text (a tuple of token ids) to the next-token law. Laws of Fractions keep the draft exact.
    gamma : int
        Drafts of a block, at least 1.
    order : int
        Drafts that a draft sees before it, from 0 to gamma - 1.
    prefix : tuple of int
        The text before the block.

    Returns
    -------
    Model
        A function of the texts that begin with the prefix, for fewer than gamma drafts. After drafts that the target
        never writes, the law given the longest end of them that it does write.

    Raises
    ------
    ValueError
        gamma or order is out of range, there are too many texts to enumerate, or a law is none (names the text).
        The model itself raises it for a text that does not begin with the prefix or holds gamma drafts.

    References
    ----------
    Chen et al. 2026, DFlash, arXiv:2602.06036 (order 0); Cheng et al. 2026, DSpark, arXiv:2607.05147 (order 1).

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> coin = [F(1, 2), F(1, 2)]
    >>> same = lambda text: [F(text[-1] == v) for v in (0, 1)] if text else coin  # all tokens alike
    >>> draft = one_pass_draft(same, gamma=2)
    >>> [str(v) for v in draft((0,))]
    ['1/2', '1/2']
    >>> from specsim import expected_tokens
    >>> print(expected_tokens(same, draft, gamma=2))
    5/2
    """
    gamma = check.integer(gamma, "gamma", 1, limits.MAX_SUMMED)
    order = check.integer(order, "order", 0, gamma - 1)
    prefix = checked_prefix(target, prefix)
    laws = _laws_given_ends(checked_target(target), gamma, order, prefix)

    def draft(text: Text) -> Array:
        """Return the law of the draft after the prefix and the drafts before it."""
        place = len(text) - len(prefix)
        if tuple(text[: len(prefix)]) != prefix or not 0 <= place < gamma:
            raise ValueError(f"text {text} is not the prefix {prefix} with fewer than gamma={gamma} drafts")
        known = laws[place]
        end = tuple(text[len(prefix) :])[-order:] if order else ()
        while end not in known:
            end = end[1:]
        return known[end]

    return draft


def product_draft(rows: Array) -> Model:
    """Return the draft of given marginals: row i of `rows` is the law of draft i + 1, whatever was drafted before it.

    Parameters
    ----------
    rows : array_like, shape (gamma, V)
        One law for each position of the block.

    Returns
    -------
    Model
        A function of the drafts so far, fewer than gamma.

    Raises
    ------
    ValueError
        A row is no law, or there is another number of axes; the model itself raises it for gamma drafts or more.

    References
    ----------
    Chen et al. 2026, DFlash, arXiv:2602.06036.

    Examples
    --------
    >>> draft = product_draft([[0.9, 0.1], [0.5, 0.5]])
    >>> draft(()).tolist(), draft((1,)).tolist()
    ([0.9, 0.1], [0.5, 0.5])
    """
    w = check.law(rows, "rows")
    if w.ndim != 2:
        raise ValueError(f"rows has shape {tuple(w.shape)}; give one law for each position, (gamma, V)")

    def draft(text: Text) -> Array:
        """Return the law at the position after these drafts."""
        if len(text) >= len(w):
            raise ValueError(f"text {text} holds {len(text)} drafts; rows has laws for {len(w)} positions")
        return w[len(text)]

    return draft


def one_pass_tokens(first: Array, steps: Array, rows: Array) -> Any:
    r"""Return the expected tokens of a block of marginals against a target that looks back one token, tokenwise.

    .. math:: \tau = 1 + \sum_{i=1}^{\gamma} \min(f, q_1) \, M_2 \cdots M_i \, 1, \quad
        M_i(a, b) = \min(p_i(b \mid a), q_i(b))

    A closed form in gamma V^2 operations, where `expected_tokens` sums over V^gamma blocks.

    Parameters
    ----------
    first : array_like, shape (V,)
        The target's law f of the first token.
    steps : array_like, shape (gamma - 1, V, V), or (V, V) for the same at every position
        Row a is the target's law of a token after token a.
    rows : array_like, shape (gamma, V)
        The marginals that are drafted.

    Returns
    -------
    number
        tau, in [1, gamma + 1]; a Fraction for Fractions.

    Raises
    ------
    ValueError
        A row is no law, or the shapes do not fit together.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192 (the rule); T60 in proofs/.

    Examples
    --------
    >>> coin, same = [0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]]
    >>> float(one_pass_tokens(coin, same, [coin, coin, coin]))  # marginals of a coin that is copied
    2.75
    >>> float(one_pass_tokens(coin, same, [coin, [1.0, 0.0], [1.0, 0.0]]))  # betting on one side keeps more
    3.0
    """
    # Check the laws f, p and q, and their shapes.
    f, p, q = (check.law(value, name) for value, name in ((first, "first"), (steps, "steps"), (rows, "rows")))
    gamma, vocab = q.shape if q.ndim == 2 else (0, 0)
    shared = p.ndim == 2
    if f.shape != (vocab,) or p.shape != ((vocab, vocab) if shared else (gamma - 1, vocab, vocab)):
        raise ValueError(
            f"shapes do not fit: first {tuple(f.shape)}, steps {tuple(p.shape)}, rows {tuple(q.shape)}; give (V,), "
            "(gamma - 1, V, V) or (V, V), and (gamma, V)"
        )

    # accepted[v]: probability that all drafts so far are accepted and the last of them is v.
    accepted = np.minimum(f, q[0])
    tau = 1 + accepted.sum()
    for i in range(1, gamma):
        step = p if shared else p[i - 1]
        accepted = (accepted[:, None] * np.minimum(step, q[i])).sum(axis=0)
        tau = tau + accepted.sum()
    return tau


def reached(target: Model, gamma: int, prefix: Text = ()) -> list[dict[Text, Any]]:
    """Return, for 0, ..., gamma - 1 tokens after the prefix, the texts that can be written and their probabilities."""
    levels: list[dict[Text, Any]] = [{(): 1}]
    for _ in range(gamma - 1):
        longer: dict[Text, Any] = {}
        for text, mass in levels[-1].items():
            law = target((*prefix, *text))
            longer |= {(*text, int(v)): mass * law[v] for v in np.flatnonzero(law)}
            if len(longer) > MAX_TEXTS:
                raise ValueError(
                    f"gamma is {gamma}: the target writes more than {MAX_TEXTS} texts of {len(levels)} tokens, too "
                    "many to enumerate; use a smaller vocabulary or gamma, or one_pass_bound on sampled rows"
                )
        levels.append(longer)
    return levels


def checked_prefix(target: Model, prefix: Text) -> Text:
    """Return the prefix as a tuple; ValueError if the target cannot be asked after it."""
    text, model = check.text(prefix, "prefix"), check.model(target, "target")
    try:
        model(text)
    except (IndexError, KeyError, ValueError) as error:
        raise ValueError(
            f"prefix is {check.shown(text)}, after which target has no law ({type(error).__name__}: {error}); give a "
            "text of its tokens"
        ) from error
    return text


def checked_target(target: Model) -> Callable[[Text], Array]:
    """Return the target with every law checked: one row each, over one vocabulary."""
    model = check.model(target, "target")
    first: list[tuple[Text, Array]] = []

    def law(text: Text) -> Array:
        """Return the target's law after a text."""
        p = check.law(model(text), f"target{text}")
        if p.ndim != 1:
            raise ValueError(f"target{text} has shape {tuple(p.shape)}; give one probability for each token")
        # The first law that is asked for sets the vocabulary.
        first.append((text, p))
        del first[1:]
        check.same_vocabulary(p, first[0][1], f"target{text}", f"target{first[0][0]}")
        return p

    return law


def _laws_given_ends(target: Model, gamma: int, order: int, prefix: Text) -> list[dict[Text, Array]]:
    """Return for each position the law of its token given the last 0, ..., `order` tokens before it."""
    laws = []
    for level in reached(target, gamma, prefix):
        # Joint masses of the end of a text and the token after it, summed over what came before.
        joint: dict[Text, Array] = {}
        for text, mass in level.items():
            row = mass * np.asarray(target((*prefix, *text)))
            for length in range(min(order, len(text)) + 1):
                end = text[len(text) - length :]
                joint[end] = joint[end] + row if end in joint else row
        laws.append({end: row / row.sum() for end, row in joint.items()})
    return laws
